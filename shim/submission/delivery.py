"""Bringing a submission to its home.

What an answer means is a table: `shim/protocol/rest/submission_context.py`. The line that matters runs between a
request that provably is not on its way and one that may be: only the first may go to another sub-cluster.
"""

from dataclasses import dataclass

from shim.domain.submissions import Refusal, Submission, SubmitReply, SubmitVerdict, differences
from shim.errors import NeverReachedError, ResourceManagerError, StandbyError
from shim.federation.home_questions import Uncertain, ask_home
from shim.ports.resource_manager import ResourceManager


@dataclass(frozen=True, slots=True)
class Taken:
    """The home acknowledged the application."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The home looked at the application and does not want it; its own words say why."""

    refusal: Refusal


@dataclass(frozen=True, slots=True)
class NotSent:
    """The request provably is not on its way."""

    reason: str


Delivery = Taken | Refused | NotSent | Uncertain


async def deliver(
    manager: ResourceManager, submission: Submission, *, timeout_s: float, accept: str = "application/json"
) -> Delivery:
    """Send a submission to its home, as its user.

    Args:
        timeout_s: Seconds for the whole exchange.
        accept: In which representation the home should refuse, if it does.
    """
    if not submission.body:
        return Uncertain("its context does not open: is security.secret_file the one that it was sealed with?")
    try:
        reply = await manager.submit(submission, timeout_s=timeout_s, accept=accept)
    except (NeverReachedError, StandbyError) as exc:
        return NotSent(str(exc))
    except ResourceManagerError as exc:
        return Uncertain(str(exc))
    if reply.verdict is SubmitVerdict.FAILED:
        return await _after_its_own_failure(manager, submission, reply.refusal, timeout_s)
    return _understood(manager, reply)


def _understood(manager: ResourceManager, reply: SubmitReply) -> Delivery:
    match reply.verdict:
        case SubmitVerdict.TAKEN:
            return Taken()
        case SubmitVerdict.REFUSED:
            return Refused(reply.refusal)
    reason = f"sub-cluster {manager.subcluster} answered {reply.refusal.status} to a submission"
    return Uncertain(reason, is_answered=reply.verdict is not SubmitVerdict.FROM_A_GATEWAY)


async def _after_its_own_failure(
    manager: ResourceManager, submission: Submission, refusal: Refusal, timeout_s: float
) -> Delivery:
    """Meaning of a failure: a ResourceManager fails also by contexts that it cannot read, so it is asked."""
    knows = await ask_home(manager, [submission.application_id], timeout_s=timeout_s)
    if isinstance(knows, Uncertain):
        return Uncertain(knows.reason, is_answered=True)
    seen = knows.applications.get(submission.application_id)
    return Refused(refusal) if seen is None or differences(submission, seen) else Taken()
