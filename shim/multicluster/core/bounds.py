"""Refusal of an ApplicationMaster's call that is about another application, or is more than a ledger may keep.

A ResourceManager bounds nothing of this. A ledger is gone through in one turn of the event loop, beside others.
"""

from collections.abc import Iterable

from shim.domain.allocations import AllocateCall, Ask
from shim.domain.ids import ApplicationAttemptId
from shim.domain.limits import TextKind, count_objection, objection
from shim.multicluster.core.asks import AskBook
from shim.multicluster.core.events import RefuseAM

__all__ = ["refusal_of"]

_MOST_CONSTRAINT_BYTES = 16 * 1024
"""Most bytes of one `SchedulingRequest` beside what was registered for its tags, and of both constraints together."""

_YARN = "org.apache.hadoop.yarn.exceptions"
_INVALID_RELEASE = f"{_YARN}.InvalidContainerReleaseException"
_INVALID_BLACKLIST = f"{_YARN}.InvalidResourceBlacklistRequestException"
_INVALID_RESOURCE = f"{_YARN}.InvalidResourceRequestException"
_INVALID_CALL = f"{_YARN}.InvalidApplicationMasterRequestException"


def refusal_of(call: AllocateCall, asks: AskBook, attempt: ApplicationAttemptId) -> RefuseAM | None:
    """Reason why a call cannot be taken, in the words of `RMServerUtils` where it has some; None if it can.

    Nothing of a call that is refused is kept.

    Args:
        call: Not taken in yet.
        asks: What is kept from earlier calls.
        attempt: Who calls.
    """
    for container in call.releases:
        if container.attempt.application != attempt.application:
            said = f"Cannot release container : {container} not belonging to this application attempt : {attempt}"
            return RefuseAM(_INVALID_RELEASE, said)
    for update in call.updates:
        if update.container.attempt.application != attempt.application:
            said = f"Cannot update container : {update.container} not belonging to this application attempt : {attempt}"
            return RefuseAM(_INVALID_CALL, said)
    if said := count_objection(TextKind.NODE, (*call.blacklist_additions, *call.blacklist_removals)):
        return RefuseAM(_INVALID_BLACKLIST, said)
    texts = (
        (TextKind.NODE, {ask.place for ask in call.asks}),
        (TextKind.LABEL_EXPRESSION, {ask.key.label for ask in call.asks}),
    )
    for kind, named in texts:
        if said := _first(objection(kind, text) for text in named):
            return RefuseAM(_INVALID_RESOURCE, said)
    said = asks.objection(call.asks) or _first(map(_too_long, call.asks))
    return RefuseAM(_INVALID_RESOURCE, said) if said else None


def _too_long(ask: Ask) -> str:
    placement = ask.key.placement
    size = 0 if placement is None else max(len(ask.raw), len(placement.constraint))
    if size <= _MOST_CONSTRAINT_BYTES:
        return ""
    return f"a scheduling request with {size} bytes of tags and constraints: at most {_MOST_CONSTRAINT_BYTES} are taken"


def _first(said: Iterable[str]) -> str:
    return next(filter(None, said), "")
