"""What the attempts of one queue wait for on real clusters, and what a cycle plans for each.

Ledgers publish their pending requests (`put`), and tell of grants, containers and calls. A cycle (`run_cycle`) orders
the requests and places what has no tentative allocation on what is free. The rest may wait in a scheduler's queue only
where no other attempt goes first, as the ResourceManager would serve by an order of its own.

It never reads a clock: times are told, in seconds by one clock.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple, TypeVar

from shim.domain.allocations import AskKey
from shim.domain.deadlines import JobTimes
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, SubClusterId
from shim.domain.launches import Waiting
from shim.domain.requests import PendingRequest, RequestPlan
from shim.domain.work_left import WorkLeft
from shim.scheduling.capacity import Capacity
from shim.scheduling.cycle import CycleState, run_cycle
from shim.scheduling.global_master.recurring_jobs import RecurringJobModels
from shim.scheduling.global_master.waiting_table import WaitingTable
from shim.scheduling.knowledge import NOTHING_KNOWN
from shim.scheduling.placements import RandomSource
from shim.scheduling.policies.fifo import FIFO
from shim.scheduling.policy import Fact, Policy
from shim.scheduling.queue_policies import QUEUE_POLICIES
from shim.scheduling.queue_rows import QueueRows
from shim.scheduling.snapshot import Scope

__all__ = ["QueueTable"]

_MOST_NAMED = 16

_Counts = Mapping[SubClusterId, int]


class _Spot(NamedTuple):
    """Nodes of one label in some sub-clusters: where a request waits, or may have its containers."""

    subclusters: frozenset[SubClusterId]
    label: str


@dataclass(slots=True)
class _Ahead:
    """Which attempts go first at each sub-cluster, on nodes of each label, among those that wait there.

    Attributes:
        waiting: Attempts in their order, with where each waits for something.
    """

    waiting: list[tuple[ApplicationAttemptId, _Spot]] = field(default_factory=list)
    _first: dict[tuple[SubClusterId, str], ApplicationAttemptId] = field(default_factory=dict)
    _firsts: set[ApplicationAttemptId] = field(default_factory=set)
    _seen: set[_Spot] = field(default_factory=set)
    _open: dict[_Spot, frozenset[SubClusterId]] = field(default_factory=dict)
    _names: dict[_Spot, tuple[str, ...]] = field(default_factory=dict)

    def note(self, attempt: ApplicationAttemptId, spot: _Spot) -> None:
        """Take in where an attempt waits for something; attempts come in their order."""
        self.waiting.append((attempt, spot))
        if spot in self._seen:  # somebody is first at each of these
            return
        self._seen.add(spot)
        for name in spot.subclusters:
            if self._first.setdefault((name, spot.label), attempt) == attempt:
                self._firsts.add(attempt)

    def may_queue(self, attempt: ApplicationAttemptId, spot: _Spot) -> frozenset[SubClusterId]:
        """Where nobody goes before an attempt that waits for something there."""
        if attempt in self._firsts:
            mine = (name for name in spot.subclusters if self._first.get((name, spot.label), attempt) == attempt)
            return frozenset(mine)
        found = self._open.get(spot)
        if found is None:
            nobodys = (name for name in spot.subclusters if (name, spot.label) not in self._first)
            found = self._open[spot] = frozenset(nobodys)
        return found

    def names(self, attempt: ApplicationAttemptId, spot: _Spot) -> tuple[str, ...]:
        """Applications that go before an attempt somewhere, the first of them first."""
        names = self._names.get(spot)
        if names is None:
            matching = (
                str(each.application)
                for each, there in self.waiting
                if there.label == spot.label and not there.subclusters.isdisjoint(spot.subclusters)
            )
            names = self._names[spot] = tuple(islice(dict.fromkeys(matching), _MOST_NAMED))
        own = str(attempt.application)
        return names[: names.index(own)] if own in names else names


@dataclass(slots=True)
class _Placed:
    """Placements of a cycle, by row.

    Attributes:
        starts: Containers by sub-cluster.
        hosts: Those of them at hosts that the asks name.
        capacities: Containers that there is capacity for, by sub-cluster.
        reasons: Why the rest of a request waits on purpose.
    """

    starts: dict[int, dict[SubClusterId, int]] = field(default_factory=dict)
    hosts: dict[int, dict[SubClusterId, dict[str, int]]] = field(default_factory=dict)
    capacities: Mapping[int, _Counts] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)


class QueueTable:
    """See the module.

    Args:
        subclusters: In a fixed order.
        starvation_s: An attempt that was overtaken for longer goes before those that were not.
        durations: What applications of the queue have taught.
        recurring_key: By what an application is recognised; empty if that is not known (yet).
        rng: What a policy draws from.
        times_of: When an application was submitted, and its deadline; None if that is not known.

    Attributes:
        again_at_s: When a policy wants another cycle even if nothing changes; None if it does not.
    """

    def __init__(
        self,
        subclusters: Sequence[SubClusterId],
        starvation_s: float,
        durations: RecurringJobModels,
        recurring_key: Callable[[ApplicationId], str],
        rng: RandomSource,
        times_of: Callable[[ApplicationId], JobTimes | None] = lambda _: None,
    ) -> None:
        self._attempts = WaitingTable(starvation_s, durations, recurring_key, times_of)
        self._rows = QueueRows(subclusters)
        self._states = {has_label: CycleState(rng) for has_label in (False, True)}
        self._ahead = _Ahead()
        self._overdue: ApplicationAttemptId | None = None
        self.again_at_s: float | None = None

    # ------------------------------------------------------------------ what ledgers tell

    @property
    def is_waiting(self) -> bool:
        """Whether anybody waits for anything."""
        return bool(self._rows)

    def others_wait(self, attempt: ApplicationAttemptId) -> bool:
        """Whether another attempt waits for something."""
        return any(name != attempt for name in self._rows.attempts)

    def put(
        self,
        attempt: ApplicationAttemptId,
        requests: Iterable[PendingRequest],
        dropped: Iterable[AskKey],
        at_s: float,
    ) -> None:
        """Take in rows of an attempt; each takes the place of the one with its key."""
        for key in dropped:
            if self._rows.drop(attempt, key):
                self._attempts.tell(attempt, key, Waiting(), at_s)
        for request in requests:
            self._attempts.tell(attempt, request.key, _as_waiting(request), at_s)
            self._rows.put(attempt, self._attempts.row_of(attempt), request)

    def heard(self, attempt: ApplicationAttemptId, at_s: float) -> None:
        """The ApplicationMaster of an attempt calls: it would take a container."""
        self._attempts.heard(attempt, at_s)

    def granted(self, attempt: ApplicationAttemptId, at_s: float) -> None:
        """A scheduler gave an attempt a container: it is overtaken no longer."""
        self._attempts.granted(attempt, at_s)

    def began(self, attempt: ApplicationAttemptId, container: ContainerId, since_s: float) -> None:
        """An attempt has a container since then; its ApplicationMaster's own is none of these."""
        self._attempts.begun(attempt, container, since_s)

    def ended(self, attempt: ApplicationAttemptId, container: ContainerId, at_s: float, *, is_whole: bool) -> None:
        """The attempt has it no more; `is_whole` says whether it ran for as long as it was wanted."""
        self._attempts.ended(attempt, container, at_s, is_whole=is_whole)

    def work_left(self, attempt: ApplicationAttemptId) -> WorkLeft | None:
        """Tell what is left of an attempt's containers, as far as it was learnt."""
        return self._attempts.work_left(attempt)

    def leave(self, attempt: ApplicationAttemptId) -> None:
        """An attempt wants nothing any more."""
        self._rows.leave(attempt)
        self._attempts.leave(attempt)

    # ------------------------------------------------------------------ a cycle

    def plan(
        self,
        capacity: Capacity | None,
        order: str,
        at_s: float,
        *,
        only: ApplicationAttemptId | None = None,
    ) -> Mapping[ApplicationAttemptId, tuple[RequestPlan, ...]]:
        """Plan what waits.

        Args:
            capacity: What is free; None where nothing new is to start.
            order: A key of `CONTAINER_ORDERS`; anything else leaves the order to the sub-clusters.
            at_s: Now.
            only: The attempt to plan for, by itself; None for all of them. Who goes before it was last cycle's to say.
        """
        policy = QUEUE_POLICIES.get(order)
        attempts = self._attempts.in_order(order if policy else FIFO.name, at_s)
        if only is None or not self.others_wait(only):
            self._ahead = self._look_ahead(attempts if policy else ())
            self._overdue = next((each for each in attempts[:1] if self._attempts.is_overdue(each)), None)
        elif policy and policy.placement.kernel:
            capacity = None  # it weighs all that waits: what is new is the next cycle's
        planned = attempts if only is None else [only]
        placed = self._place(capacity, policy or FIFO, at_s, planned)
        plans: dict[ApplicationAttemptId, tuple[RequestPlan, ...]] = {}
        for attempt in planned:
            estimate = self._attempts.estimate(attempt, order, at_s) if policy else None
            plans[attempt] = tuple(
                replace(
                    self._rest(policy, attempt, request, placed.reasons.get(row, "")),
                    starts=placed.starts.get(row, {}),
                    hosts=placed.hosts.get(row, {}) if policy and Fact.LOCALITY in policy.needs else None,
                    capacity=placed.capacities.get(row, {}),
                    estimate=estimate,
                )
                for request, row in self._rows.with_rows(attempt)
            )
        return plans

    def _rest(
        self, policy: Policy | None, attempt: ApplicationAttemptId, request: PendingRequest, reason: str
    ) -> RequestPlan:
        """Decide where the rest of a request may wait: at a scheduler if nobody goes first there, else here."""
        rule = policy.name if policy else ""
        if policy and policy.placement.kernel:
            may_queue = self._may_queue(policy, attempt, request)
            told = "" if may_queue == request.may_use else reason or "nothing is free that it is the best choice for"
            return RequestPlan(request.key, may_queue=may_queue, reason=told, rule=rule)
        may_queue = self._ahead.may_queue(attempt, _spot(request))
        behind = () if may_queue == request.may_use else self._ahead.names(attempt, _spot(request))
        return RequestPlan(request.key, may_queue=may_queue, behind=behind, rule=rule)

    def _may_queue(
        self, policy: Policy, attempt: ApplicationAttemptId, request: PendingRequest
    ) -> frozenset[SubClusterId]:
        """Name the schedulers that may choose though a policy places by itself: they serve by their own rules.

        That is where nobody is there to choose among, and nothing to wait for; for whoever was overtaken too long, and
        the longest; and where a scheduler did not grant what there was room for: it knows something that no report
        tells.
        """
        has_choice = self.others_wait(attempt) or (Fact.LOCALITY in policy.needs and bool(request.named))
        return request.avoided if has_choice and attempt != self._overdue else request.may_use

    def _look_ahead(self, attempts: Iterable[ApplicationAttemptId]) -> _Ahead:
        ahead = _Ahead()
        for attempt in attempts:
            for request in self._rows.of(attempt):
                ahead.note(attempt, _waits_at(request))
        return ahead

    def _place(
        self, capacity: Capacity | None, policy: Policy, at_s: float, planned: Sequence[ApplicationAttemptId]
    ) -> _Placed:
        """Run the policy's cycle on what is free."""
        placed = _Placed()
        if capacity is None:
            return placed
        nodes, names = self._rows.nodes(capacity), tuple(capacity.nodes)
        named = {row: request.named for attempt in planned for request, row in self._rows.with_rows(attempt)}
        knowledge = self._attempts.knowledge() if Fact.DEADLINES in policy.needs else NOTHING_KNOWN
        ends_s: list[float] = []
        for has_label, snapshot in self._rows.snapshots(
            nodes, capacity, self._attempts.jobs, planned, at_s, policy
        ).items():
            plan = run_cycle(replace(snapshot, knowledge=knowledge), policy, self._states[has_label])
            for grant in plan.grants:
                at_node = grant.scope is Scope.NODE
                name = names[nodes.cells[nodes.cell_of(grant.place)].cluster if at_node else grant.place]
                _count(placed.starts.setdefault(grant.request, {}), name, grant.count)
                if at_node and (host := self._rows.host(grant.place)) in named[grant.request]:
                    _count(placed.hosts.setdefault(grant.request, {}).setdefault(name, {}), host, grant.count)
            for hold in plan.holds:
                placed.reasons[hold.request] = hold.reason.text
                ends_s += [] if hold.until_s is None else [hold.until_s]
        self.again_at_s = min(ends_s, default=None)
        placed.capacities = self._rows.capacity_for(nodes, planned)
        return placed


_KeyT = TypeVar("_KeyT")


def _count(counts: dict[_KeyT, int], key: _KeyT, count: int) -> None:
    counts[key] = counts.get(key, 0) + count


def _spot(request: PendingRequest) -> _Spot:
    return _Spot(request.may_use, request.key.label)


def _waits_at(request: PendingRequest) -> _Spot:
    """Where a request goes before later ones: where it is allocated something, or could have what it lacks."""
    places = request.may_use if request.unallocated else frozenset(request.tentative)
    return _Spot(places - request.unresponsive if request.unresponsive else places, request.key.label)


def _as_waiting(request: PendingRequest) -> Waiting:
    committed = sum(request.tentative.values()) + sum(request.queued.values())
    return Waiting(
        wanted=request.wanted,
        unpromised=request.unallocated,
        withheld=max(0, request.wanted - committed),
        held=request.held,
    )
