"""What the attempts of one queue wait for on real clusters, and what a cycle plans for each.

Ledgers publish their pending requests (`put`), and tell of grants, containers and calls. A cycle (`run_cycle`) orders
the requests and places what has no tentative allocation on what is free. The rest may wait in a scheduler's queue only
where no other attempt goes first, as the ResourceManager would serve by an order of its own.

It never reads a clock: times are told, in seconds by one clock.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from shim.domain.allocations import AskKey
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, SubClusterId
from shim.domain.launches import Waiting
from shim.domain.requests import PendingRequest, RequestPlan
from shim.scheduling.capacity import Capacity
from shim.scheduling.cycle import CycleState, run_cycle
from shim.scheduling.global_master.recurring_jobs import RecurringJobModels
from shim.scheduling.global_master.waiting_table import CONTAINER_ORDERS, WaitingTable
from shim.scheduling.placements import RandomSource
from shim.scheduling.policies.fifo import FIFO
from shim.scheduling.policy import World
from shim.scheduling.queue_rows import QueueRows
from shim.scheduling.registry import policy_for

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


class QueueTable:
    """See the module.

    Args:
        subclusters: In a fixed order.
        starvation_s: An attempt that was overtaken for longer goes before those that were not.
        durations: What applications of the queue have taught.
        recurring_key: By what an application is recognised; empty if that is not known (yet).
        rng: What a policy draws from.
    """

    def __init__(
        self,
        subclusters: Sequence[SubClusterId],
        starvation_s: float,
        durations: RecurringJobModels,
        recurring_key: Callable[[ApplicationId], str],
        rng: RandomSource,
    ) -> None:
        self._attempts = WaitingTable(starvation_s, durations, recurring_key)
        self._rows = QueueRows(subclusters)
        self._state = CycleState(rng)
        self._ahead = _Ahead()

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
        is_ordered = order in CONTAINER_ORDERS
        attempts = self._attempts.in_order(order if is_ordered else FIFO.name, at_s)
        if only is None or not self.others_wait(only):
            self._ahead = self._look_ahead(attempts if is_ordered else ())
        planned = attempts if only is None else [only]
        starts, capacities = self._place(capacity, order, at_s, planned)
        plans: dict[ApplicationAttemptId, tuple[RequestPlan, ...]] = {}
        for attempt in planned:
            estimate = self._attempts.estimate(attempt, order, at_s) if is_ordered else None
            plans[attempt] = tuple(
                RequestPlan(
                    key=request.key,
                    starts=starts.get(row, {}),
                    may_queue=(may_queue := self._ahead.may_queue(attempt, _spot(request))),
                    behind=() if may_queue == request.may_use else self._ahead.names(attempt, _spot(request)),
                    capacity=capacities.get(row, {}),
                    estimate=estimate,
                )
                for request, row in self._rows.with_rows(attempt)
            )
        return plans

    def _look_ahead(self, attempts: Iterable[ApplicationAttemptId]) -> _Ahead:
        ahead = _Ahead()
        for attempt in attempts:
            for request in self._rows.of(attempt):
                ahead.note(attempt, _waits_at(request))
        return ahead

    def _place(
        self, capacity: Capacity | None, order: str, at_s: float, planned: Sequence[ApplicationAttemptId]
    ) -> tuple[Mapping[int, _Counts], Mapping[int, _Counts]]:
        """What starts where, and what there is capacity for, by row."""
        if capacity is None:
            return {}, {}
        policy = policy_for(order if order in CONTAINER_ORDERS else FIFO.name, World.YARN)
        nodes = self._rows.nodes(capacity)
        names = tuple(capacity.nodes)
        starts: dict[int, dict[SubClusterId, int]] = {}
        for snapshot in self._rows.snapshots(nodes, capacity, self._attempts.jobs, planned, at_s):
            for grant in run_cycle(snapshot, policy, self._state).grants:
                at_row, name = starts.setdefault(grant.request, {}), names[grant.place]
                at_row[name] = at_row.get(name, 0) + grant.count
        return starts, self._rows.capacity_for(nodes, planned)


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
