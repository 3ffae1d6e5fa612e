"""Differences between the plans in force in a queue and those of another policy on the same snapshots.

Each request that waits is compared by what a cycle would start of it. A difference counts once for as long as it
stands: a request that the other policy would hold for ten cycles is one.
"""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from shim.domain.allocations import AskKey, RequestPlan
from shim.domain.ids import ApplicationAttemptId, SubClusterId
from shim.scheduling.queue_planner import QueuePlans

MOST_REMEMBERED = 50
"""Differences of a queue that are told one by one; the newest of them."""


class DifferenceKind(Enum):
    """Kinds of differences."""

    HELD = "held"
    """The other policy starts fewer containers of a request."""
    GRANTED = "granted"
    """The other policy starts more of them."""
    OTHER_CLUSTER = "other-cluster"
    """Both start as many, in other sub-clusters."""
    ORDER = "order"
    """Another attempt is first in line."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Two plans of one request that are not the same.

    Attributes:
        at_s: When it began, in seconds since the epoch.
        attempt: Whose request it is; of an order, who would be first.
        key: Of the request; None for an order.
        in_force: Containers that the policy in force starts, by sub-cluster, and `in_force_why` its reason.
        shadow: Those of the other policy, and `shadow_why` its reason.
    """

    at_s: float
    kind: DifferenceKind
    attempt: ApplicationAttemptId
    key: AskKey | None
    in_force: Mapping[SubClusterId, int]
    in_force_why: str
    shadow: Mapping[SubClusterId, int]
    shadow_why: str


_What = tuple[DifferenceKind, ApplicationAttemptId, AskKey | None]


@dataclass(slots=True)
class ShadowReport:
    """Account of one queue since it has this pair of policies.

    Attributes:
        in_force: The policy whose plans are carried out.
        since_s: Since when, in seconds since the epoch.
        skipped: Cycles that only the policy in force planned, as the other had taken its part of the time, or its
            solver was busy.
        newest: The newest of them, the oldest first.
        solved: Cycles that were compared by what a solver answered.
        unsolved: Those for which it was asked and had no answer in time: the greedy plan was compared.
    """

    in_force: str
    shadow: str
    since_s: float
    cycles: int = 0
    skipped: int = 0
    counts: Counter[DifferenceKind] = field(default_factory=Counter)
    newest: deque[Difference] = field(default_factory=lambda: deque(maxlen=MOST_REMEMBERED))
    solved: int = 0
    unsolved: int = 0
    _standing: set[_What] = field(default_factory=set)

    def compare(self, in_force: QueuePlans, shadow: QueuePlans, at_s: float) -> None:
        self.cycles += 1
        found = list(differences(in_force, shadow, at_s))
        for each in found:
            if _what(each) not in self._standing:
                self.counts[each.kind] += 1
                self.newest.append(each)
        self._standing = {_what(each) for each in found}


def differences(in_force: QueuePlans, shadow: QueuePlans, at_s: float) -> Iterator[Difference]:
    """List how the plans of one cycle differ."""
    first, other = next(iter(in_force), None), next(iter(shadow), None)
    if other is not None and first is not None and other != first:
        names = (f"{each.application} is first" for each in (first, other))
        yield Difference(at_s, DifferenceKind.ORDER, other, None, {}, next(names), {}, next(names))
    for attempt, plans in in_force.items():
        others = {plan.key: plan for plan in shadow.get(attempt, ())}
        for plan in plans:
            another = others.get(plan.key)
            kind = None if another is None else _kind(plan, another)
            if another is not None and kind is not None:
                yield Difference(at_s, kind, attempt, plan.key, plan.starts, _why(plan), another.starts, _why(another))


def _kind(plan: RequestPlan, another: RequestPlan) -> DifferenceKind | None:
    started, would_start = sum(plan.starts.values()), sum(another.starts.values())
    if started != would_start:
        return DifferenceKind.HELD if would_start < started else DifferenceKind.GRANTED
    return DifferenceKind.OTHER_CLUSTER if dict(plan.starts) != dict(another.starts) else None


def _why(plan: RequestPlan) -> str:
    if plan.reason:
        return plan.reason
    if plan.behind:
        return f"behind {', '.join(plan.behind[:2])}"
    return "there is room" if plan.starts else "no room is left for it"


def _what(difference: Difference) -> _What:
    return difference.kind, difference.attempt, difference.key
