"""Who may start now: queues of the whole federation by their shares, their applications in each queue's own order.

A queue may start an application while it holds less than it is entitled to. Entitlement is what the weights give it
among those that want something: what nobody wants is everybody's, so that idle capacity is lent freely. Beyond its
entitlement a queue may start what fits into free capacity, and a few more that wait at the sub-clusters themselves, as
long as no other queue is owed anything. What is taken back is not decided here.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from shim.domain.ids import ApplicationId
from shim.domain.shares import FederatedQueue, SharePolicy
from shim.queues.core.share_load import FederationLoad, QueueLoad
from shim.queues.core.share_round import Applicant, Division, Shares, ShareSettings, Standing

__all__ = [
    "Applicant",
    "Division",
    "Round",
    "ShareSettings",
    "Standing",
    "decide_starts",
    "division_of",
    "standings_of",
]


@dataclass(slots=True)
class Round:
    """What a look at everybody says.

    Attributes:
        starters: Who may start, in this order.
        queues: In the order in which the others will start, by queue.
        reasons: Why the first that waits in each queue does.
        standings: Of every sharing queue, after the starters have started.
    """

    starters: list[ApplicationId] = field(default_factory=list)
    queues: dict[str, list[ApplicationId]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    standings: dict[str, Standing] = field(default_factory=dict)


def decide_starts(
    policy: SharePolicy,
    load: FederationLoad,
    applicants: Sequence[Applicant],
    settings: ShareSettings | None = None,
) -> Round:
    """Let start whoever may, and say why the others wait. The loads grow by those that start."""
    shares = Shares(policy, load, _by_queue(applicants), settings or ShareSettings())
    outcome = Round()
    for queue in shares.most_owed_first():
        _take_turns(shares, queue, outcome)
    outcome.standings = shares.standings()
    return outcome


def standings_of(
    policy: SharePolicy,
    load: FederationLoad,
    applicants: Sequence[Applicant],
    settings: ShareSettings | None = None,
) -> dict[str, Standing]:
    """How every sharing queue stands before anybody starts."""
    return Shares(policy, load, _by_queue(applicants), settings or ShareSettings()).standings()


def division_of(
    policy: SharePolicy,
    load: FederationLoad,
    applicants: Sequence[Applicant],
    settings: ShareSettings | None = None,
) -> Division:
    """What every sharing queue is entitled to and holds before anybody starts."""
    return Shares(policy, load, _by_queue(applicants), settings or ShareSettings()).division()


def _by_queue(applicants: Sequence[Applicant]) -> dict[str, list[Applicant]]:
    queues: dict[str, list[Applicant]] = {}
    for applicant in sorted(applicants, key=lambda one: (one.since_ms, one.application_id)):
        queues.setdefault(applicant.queue, []).append(applicant)
    return queues


def _take_turns(shares: Shares, queue: FederatedQueue, outcome: Round) -> None:
    """Applications of one queue in its order, until it is at a limit; those of a user at a limit are passed over."""
    waiting = shares.waiting[queue.path]
    passed: set[int] = set()
    kept: list[Applicant] = []
    for place in _in_turn(queue, shares.load.queues[queue.path], waiting):
        applicant = waiting[place]
        passed.add(place)
        objection = shares.objection(queue, applicant)
        if objection:
            outcome.reasons.setdefault(queue.path, objection)
            kept += [applicant, *(one for at, one in enumerate(waiting) if at not in passed)]
            break
        objection = shares.objection_to_user(queue, applicant)
        if objection:
            outcome.reasons.setdefault(queue.path, objection)
            kept.append(applicant)
            continue
        shares.start(queue, applicant)
        outcome.starters.append(applicant.application_id)
    shares.end_turn(queue, kept)
    if kept:
        outcome.queues[queue.path] = [applicant.application_id for applicant in kept]


def _in_turn(queue: FederatedQueue, load: QueueLoad, waiting: Sequence[Applicant]) -> Iterator[int]:
    """Places of those that wait, the next one last decided: by then the one before may have started.

    By fair order the user who runs least is next, and of users with as many the one whose application is oldest.
    """
    if queue.order == "fifo":
        yield from range(len(waiting))
        return
    places: dict[str, deque[int]] = {}
    for place, applicant in enumerate(waiting):
        places.setdefault(applicant.user, deque()).append(place)
    users = [(load.users[user], left[0], user) for user, left in places.items()]
    heapify(users)
    while users:
        _, place, user = heappop(users)
        left = places[user]
        left.popleft()
        yield place
        if left:
            heappush(users, (load.users[user], left[0], user))
