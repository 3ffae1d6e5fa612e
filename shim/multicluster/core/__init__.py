"""The relay's ledger: to an ApplicationMaster one scheduler, to several schedulers one ApplicationMaster.

Synchronous and pure: events in, effects out. Imports values of the domain only; messages are decoded in
`shim.protocol.yarn.allocations`, calls are made by `shim.multicluster.attempt`.
"""

from shim.multicluster.core.events import (
    AMCalled,
    AMRegistered,
    AnswerAM,
    AskedBackNow,
    Beat,
    CallSession,
    CloseSession,
    Effect,
    Event,
    Fate,
    Finished,
    FoundAtHome,
    OpenSession,
    Recall,
    RefuseAM,
    Remember,
    Restrained,
    RoomsChanged,
    SessionAnswered,
    SessionForgotten,
    SessionLost,
    SessionOpened,
    SessionRefused,
    Spared,
    TakenBack,
)
from shim.multicluster.core.ledger import AskLedger
from shim.multicluster.core.recalls import Standing
from shim.multicluster.core.splitter import AskSplitter, CapacitySplitter, Demand, Room

__all__ = [
    "AMCalled",
    "AMRegistered",
    "AnswerAM",
    "AskLedger",
    "AskSplitter",
    "AskedBackNow",
    "Beat",
    "CallSession",
    "CapacitySplitter",
    "CloseSession",
    "Demand",
    "Effect",
    "Event",
    "Fate",
    "Finished",
    "FoundAtHome",
    "OpenSession",
    "Recall",
    "RefuseAM",
    "Remember",
    "Restrained",
    "Room",
    "RoomsChanged",
    "SessionAnswered",
    "SessionForgotten",
    "SessionLost",
    "SessionOpened",
    "SessionRefused",
    "Spared",
    "Standing",
    "TakenBack",
]
