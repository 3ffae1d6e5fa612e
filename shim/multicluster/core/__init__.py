"""The relay's ledger: to an ApplicationMaster one scheduler, to several schedulers one ApplicationMaster.

Synchronous and pure: events in, effects out. Imports values of the domain only; messages are decoded in
`shim.protocol.yarn.allocations`, calls are made by `shim.multicluster.attempt`.
"""

from shim.multicluster.core.cluster_capacity import ClusterCapacity
from shim.multicluster.core.events import (
    AMCalled,
    AMRegistered,
    AnswerAM,
    AskRunning,
    Beat,
    CallSession,
    CapacityChanged,
    CloseSession,
    DemandCap,
    Fate,
    Finished,
    FoundAtHome,
    HeldBack,
    LedgerEffect,
    LedgerEvent,
    NotRunning,
    OpenSession,
    PreemptionCancelled,
    PreemptionRequested,
    Recall,
    RefuseAM,
    ReleaseOrder,
    Remember,
    SessionAnswered,
    SessionForgotten,
    SessionLost,
    SessionOpened,
    SessionRefused,
)
from shim.multicluster.core.ledger import AskLedger
from shim.multicluster.core.recalls import AttemptHoldings
from shim.multicluster.core.splitter import AskSplitter, CapacitySplitter, Demand

__all__ = [
    "AMCalled",
    "AMRegistered",
    "AnswerAM",
    "AskLedger",
    "AskRunning",
    "AskSplitter",
    "AttemptHoldings",
    "Beat",
    "CallSession",
    "CapacityChanged",
    "CapacitySplitter",
    "CloseSession",
    "ClusterCapacity",
    "Demand",
    "DemandCap",
    "Fate",
    "Finished",
    "FoundAtHome",
    "HeldBack",
    "LedgerEffect",
    "LedgerEvent",
    "NotRunning",
    "OpenSession",
    "PreemptionCancelled",
    "PreemptionRequested",
    "Recall",
    "RefuseAM",
    "ReleaseOrder",
    "Remember",
    "SessionAnswered",
    "SessionForgotten",
    "SessionLost",
    "SessionOpened",
    "SessionRefused",
]
