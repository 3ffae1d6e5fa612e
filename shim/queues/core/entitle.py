"""Starts of waiting applications: queues by their shares of the federation, applications in each queue's own order.

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
from shim.domain.queues import FederatedQueue, SharePolicy
from shim.queues.core.share_load import FederationLoad, QueueLoad
from shim.queues.core.share_round import Division, PendingApplication, QueueShareStatus, Shares, ShareSettings

__all__ = [
    "Division",
    "PendingApplication",
    "QueueShareStatus",
    "Round",
    "ShareSettings",
    "decide_starts",
    "division_of",
    "share_status_of",
]

_MOST_HELD = 100
"""Applications of a queue that are held for others' sake: so many are looked at in one round, no more."""


@dataclass(slots=True)
class Round:
    """Outcome of a look at all queues and applications.

    Attributes:
        starters: Who may start, in this order.
        queues: In the order in which the others will start, by queue.
        reasons: Why the first that waits in each queue does.
        statuses: Of every sharing queue, after the starters have started.
    """

    starters: list[ApplicationId] = field(default_factory=list)
    queues: dict[str, list[ApplicationId]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    statuses: dict[str, QueueShareStatus] = field(default_factory=dict)


def decide_starts(
    policy: SharePolicy,
    load: FederationLoad,
    applications: Sequence[PendingApplication],
    settings: ShareSettings,
) -> Round:
    """Let start whoever may, and say why the others wait. The loads grow by those that start."""
    shares = Shares(policy, load, _by_queue(applications), settings)
    outcome = Round()
    for queue in shares.most_owed_first():
        _take_turns(shares, queue, outcome)
    outcome.statuses = shares.statuses()
    return outcome


def share_status_of(
    policy: SharePolicy,
    load: FederationLoad,
    applications: Sequence[PendingApplication],
    settings: ShareSettings,
) -> dict[str, QueueShareStatus]:
    """State of every sharing queue before anything starts."""
    return Shares(policy, load, _by_queue(applications), settings).statuses()


def division_of(
    policy: SharePolicy,
    load: FederationLoad,
    applications: Sequence[PendingApplication],
    settings: ShareSettings,
) -> Division:
    """Entitlement and holdings of every sharing queue before anything starts."""
    return Shares(policy, load, _by_queue(applications), settings).division()


def _by_queue(applications: Sequence[PendingApplication]) -> dict[str, list[PendingApplication]]:
    queues: dict[str, list[PendingApplication]] = {}
    for application in sorted(applications, key=lambda one: (one.since_ms, one.application_id)):
        queues.setdefault(application.queue, []).append(application)
    return queues


def _take_turns(shares: Shares, queue: FederatedQueue, outcome: Round) -> None:
    """Applications of one queue in its order, until it is at a limit.

    Those of a user at a limit, and those before whom others with less work go on, are passed over.
    """
    waiting = shares.waiting[queue.path]
    kept: list[PendingApplication] = []
    held = 0
    turns = _in_turn(queue, shares.load.queues[queue.path], waiting, shares.load.capacity.memory_mib)
    for place in turns:
        application = waiting[place]
        objection = shares.objection(queue, application)
        is_end = bool(objection) or held >= _MOST_HELD
        if not is_end and not (objection := shares.objection_to_user(queue, application)):
            objection = shares.objection_to_work(queue, application)
            held += bool(objection)
        if objection:
            outcome.reasons.setdefault(queue.path, objection)
        if is_end:
            later = [waiting[at] for at in (turns if queue.order == "work" else sorted(turns))]
            kept += [application, *later]
            break
        if objection:
            kept.append(application)
            continue
        shares.start(queue, application)
        outcome.starters.append(application.application_id)
    shares.end_turn(queue, kept)
    if kept:
        outcome.queues[queue.path] = [application.application_id for application in kept]


def _in_turn(
    queue: FederatedQueue, load: QueueLoad, waiting: Sequence[PendingApplication], capacity_mib: int
) -> Iterator[int]:
    """Places of those that wait, the next one last decided: by then the one before may have started.

    By work who is expected to be the least, behind those that have a deadline to meet, the nearest first, and those
    that have been overtaken for too long, in their order. What has waited counts as less: a large one does not wait
    until there are no others.
    By fair order the user who runs least is next, and of users with as many the one whose application is oldest.
    """
    if queue.order == "fifo":
        yield from range(len(waiting))
        return
    if queue.order == "work":
        yield from sorted(range(len(waiting)), key=lambda place: _by_work(waiting[place], place, capacity_mib))
        return
    places: dict[str, deque[int]] = {}
    for place, application in enumerate(waiting):
        places.setdefault(application.user, deque()).append(place)
    users = [(load.users[user], left[0], user) for user, left in places.items()]
    heapify(users)
    while users:
        _, place, user = heappop(users)
        left = places[user]
        left.popleft()
        yield place
        if left:
            heappush(users, (load.users[user], left[0], user))


def _by_work(application: PendingApplication, place: int, capacity_mib: int) -> tuple[float, bool, float, int]:
    """The nearest deadline, then who is overdue, then the least that what is expected counts as."""
    is_overdue = application.is_overdue
    counted = 0.0 if is_overdue else application.counted_mib_s(capacity_mib)
    return application.due_s, not is_overdue, counted, place
