"""Who may start now: queues of the whole federation by their shares, their applications in each queue's own order.

A queue may start an application while it holds less than it is entitled to. Entitlement is what the weights give it
among those that want something: what nobody wants is everybody's, so that idle capacity is lent freely. Beyond its
entitlement a queue may start what fits into free capacity, and a few more that wait at the sub-clusters themselves, as
long as no other queue is owed anything. What is taken back is not decided here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

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
    load = shares.load.queues[queue.path]
    left = shares.waiting[queue.path]
    kept: list[Applicant] = []
    while left:
        applicant = _next(queue, load, left)
        left.remove(applicant)
        objection = shares.objection(queue, applicant)
        if objection:
            outcome.reasons.setdefault(queue.path, objection)
            kept += [applicant, *left]
            break
        objection = shares.objection_to_user(queue, applicant)
        if objection:
            outcome.reasons.setdefault(queue.path, objection)
            kept.append(applicant)
            continue
        shares.start(queue, applicant)
        outcome.starters.append(applicant.application_id)
    shares.waiting[queue.path] = kept
    if kept:
        outcome.queues[queue.path] = [applicant.application_id for applicant in kept]


def _next(queue: FederatedQueue, load: QueueLoad, left: Sequence[Applicant]) -> Applicant:
    if queue.order == "fifo":
        return left[0]
    return min(left, key=lambda one: load.users[one.user])  # the first of equals is the oldest
