"""Bringing a submission to its home.

What an answer means is a table. The line that matters runs between a request that provably is not on its way and one
that may be: only the first may go to another sub-cluster.
"""

from dataclasses import dataclass

from shim.domain.same_application import differences
from shim.domain.submissions import Submission
from shim.errors import NeverReachedError, ResourceManagerError, StandbyError
from shim.federation.home_questions import Uncertain, ask_home
from shim.ports.resource_manager import ResourceManager, RestAnswer, RestRequest

__all__ = ["Delivery", "NotSent", "Refused", "Taken", "deliver"]

_BASE = "/ws/v1/cluster"
_TAKEN = frozenset({200, 202})
_REFUSED = frozenset({400, 401, 403, 405, 406, 411, 413, 415})
_NOT_FOUND, _SERVER_ERROR = 404, 500
_FROM_A_GATEWAY = frozenset({408, 502, 503, 504})
"""Statuses that something between may answer while the ResourceManager still has the request."""


@dataclass(frozen=True, slots=True)
class Taken:
    """The home acknowledged the application."""

    answer: RestAnswer


@dataclass(frozen=True, slots=True)
class Refused:
    """The home looked at the application and does not want it; its own answer says why."""

    answer: RestAnswer


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
        manager: The home's.
        submission: What to send.
        timeout_s: Seconds for the whole exchange.
        accept: In which representation the home should refuse, if it does.
    """
    if not submission.body:
        return Uncertain("its context does not open: is security.secret_file the one that it was sealed with?")
    request = RestRequest(
        "POST",
        f"{_BASE}/apps",
        user=submission.user,
        headers=(("Accept", accept), ("Content-Type", submission.content_type)),
        body=submission.body,
    )
    try:
        answer = await manager.exchange(request, timeout_s=timeout_s)
    except (NeverReachedError, StandbyError) as exc:
        return NotSent(str(exc))
    except ResourceManagerError as exc:
        return Uncertain(str(exc))
    return await _understood(manager, submission, answer, timeout_s)


async def _understood(
    manager: ResourceManager, submission: Submission, answer: RestAnswer, timeout_s: float
) -> Delivery:
    """What an answer to a submission means."""
    if answer.status in _TAKEN:
        return Taken(answer)
    if answer.status in _REFUSED or (answer.status == _NOT_FOUND and b"RemoteException" in answer.body):
        return Refused(answer)  # 404 is what a reservation id that is none gets
    if answer.status >= _SERVER_ERROR and b"RemoteException" in answer.body:
        return await _after_its_own_failure(manager, submission, answer, timeout_s)
    reason = f"sub-cluster {manager.subcluster} answered {answer.status} to a submission"
    return Uncertain(reason, is_answered=answer.status not in _FROM_A_GATEWAY)


async def _after_its_own_failure(
    manager: ResourceManager, submission: Submission, answer: RestAnswer, timeout_s: float
) -> Delivery:
    """A ResourceManager answers 503 also to contexts that it cannot read: whether it has the application decides."""
    knows = await ask_home(manager, [submission.application_id], timeout_s=timeout_s)
    if isinstance(knows, Uncertain):
        return Uncertain(knows.reason, is_answered=True)
    seen = knows.applications.get(submission.application_id)
    return Refused(answer) if seen is None or differences(submission, seen) else Taken(answer)
