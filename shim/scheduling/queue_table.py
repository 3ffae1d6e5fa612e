"""Pending requests of one queue's attempts on real clusters, and the cycles that plan them.

Ledgers publish their pending requests (`put`), and tell of grants, containers and calls. A cycle (`run_cycle`) orders
the requests and places what has no tentative allocation on what is free. The rest may wait in a scheduler's queue only
where no other attempt goes first, as the ResourceManager would serve by an order of its own.

It never reads a clock: times are told, in seconds by one clock.

Turnover of a queue's containers: how many come free before whoever is next could be told.

Between the end of a container and the grant that takes its place lie four heartbeats, as news goes with the calls of
ApplicationMasters: one hears of the end, the first in line is told what it was granted, the call of the next carries
its ask, and a node allocates. What comes free meanwhile would stay idle if nobody else waited for it.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from shim.domain.allocations import AskKey, PendingRequest, PlacementConstraint, TaggedSpot
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, SubClusterId
from shim.domain.placement_rules import NO_RULES, PlacementRules
from shim.domain.resources import ResourceVector
from shim.domain.wishes import JobTimes, WorkLeft
from shim.scheduling.capacity import Capacity
from shim.scheduling.durations import RecurringJobModels
from shim.scheduling.global_master.waiting_table import WaitingTable
from shim.scheduling.job_outlines import OutlineOf
from shim.scheduling.placements import PolicyRandom
from shim.scheduling.queue_planner import QueuePlanner, QueuePlans
from shim.scheduling.queue_rows import QueueRows
from shim.scheduling.reading_costs import NOTHING_SHARED, DataRules
from shim.scheduling.shadow_plans import ShadowPlans
from shim.scheduling.solving import StatedProblems


class QueueTable:
    """See the module.

    Args:
        subclusters: In a fixed order.
        starvation_s: An attempt that was overtaken for longer goes before those that were not.
        durations: What applications of the queue have taught.
        recurring_key: By what an application is recognised; empty if that is not known (yet).
        times_of: When an application was submitted, and its deadline; None if that is not known.
        outline_of: The graphs of jobs.
        data: What it costs to read data across sub-clusters.
        rules_of: What operators want of places now.
    """

    def __init__(
        self,
        subclusters: Sequence[SubClusterId],
        starvation_s: float,
        durations: RecurringJobModels,
        recurring_key: Callable[[ApplicationId], str],
        rng: PolicyRandom,
        times_of: Callable[[ApplicationId], JobTimes | None] = lambda _: None,
        outline_of: OutlineOf = lambda _: None,
        data: DataRules = NOTHING_SHARED,
        *,
        rules_of: Callable[[], PlacementRules] = lambda: NO_RULES,
    ) -> None:
        self._attempts = WaitingTable(starvation_s, durations, recurring_key, times_of)
        self._rows = QueueRows(subclusters, data)
        self._turnover = Turnover()
        self._masters: Mapping[SubClusterId, int] = {}
        self._by_arrival = frozenset[SubClusterId]()
        told = starvation_s, outline_of, self._soon, lambda: self._by_arrival, rules_of
        self._in_force = QueuePlanner(self._attempts, self._rows, rng, *told)
        self._shadow = QueuePlanner(self._attempts, self._rows, rng, *told)

    # ------------------------------------------------------------------ what ledgers tell

    @property
    def is_waiting(self) -> bool:
        return bool(self._rows)

    def others_wait(self, attempt: ApplicationAttemptId) -> bool:
        return self._rows.others_wait(attempt)

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
                self._attempts.tell(attempt, PendingRequest(key, 0), at_s)
        for request in requests:
            self._attempts.tell(attempt, request, at_s)
            self._rows.put(attempt, self._attempts.row_of(attempt), request, at_s)

    def heard(self, attempt: ApplicationAttemptId, at_s: float) -> None:
        """The ApplicationMaster of an attempt calls: it would take a container."""
        self._attempts.heard(attempt, at_s)

    def granted(self, attempt: ApplicationAttemptId, subcluster: SubClusterId, at_s: float) -> None:
        """A scheduler gave an attempt a container: it is overtaken no longer."""
        self._attempts.granted(attempt, at_s)
        self._turnover.granted(subcluster, at_s)

    def began(
        self,
        attempt: ApplicationAttemptId,
        container: ContainerId,
        since_s: float,
        resource: ResourceVector | None = None,
        spot: TaggedSpot | None = None,
    ) -> None:
        """An attempt has a container since then; its ApplicationMaster's own is none of these."""
        self._attempts.begun(attempt, container, since_s, resource, spot)

    def ended(self, attempt: ApplicationAttemptId, container: ContainerId, at_s: float, *, is_whole: bool) -> None:
        """The attempt has it no more; `is_whole` says whether it ran for as long as it was wanted."""
        self._attempts.ended(attempt, container, at_s, is_whole=is_whole)
        self._turnover.ended(at_s)

    def work_left(self, attempt: ApplicationAttemptId) -> WorkLeft | None:
        """Return what is left of an attempt's containers, as far as it was learnt."""
        return self._attempts.work_left(attempt)

    def services(self) -> Iterator[PlacementConstraint]:
        """What waits, and what runs, wants of its places."""
        waiting = (key.placement for _, key in self._rows.by_row().values())
        yield from (each for each in waiting if each is not None)
        yield from (spot.placement for spots in self._attempts.tagged().values() for spot in spots)

    def leave(self, attempt: ApplicationAttemptId) -> None:
        self._rows.leave(attempt)
        self._attempts.leave(attempt)

    # ------------------------------------------------------------------ a cycle

    @property
    def again_at_s(self) -> float | None:
        """Return when the policy in force wants another cycle even if nothing changes; None if it does not."""
        return self._in_force.again_at_s

    def state_problems(self, capacity: Capacity, order: str, at_s: float) -> StatedProblems | None:
        """State what a solver may answer before the next cycle; see `QueuePlanner.state_problems`."""
        return self._in_force.state_problems(capacity, order, at_s)

    def plan(
        self,
        capacity: Capacity | None,
        order: str,
        at_s: float,
        *,
        only: ApplicationAttemptId | None = None,
        stated: StatedProblems | None = None,
        is_solving: bool = False,
        masters: Mapping[SubClusterId, int] | None = None,
        by_arrival: frozenset[SubClusterId] | None = None,
    ) -> QueuePlans:
        """Plan what waits, to be carried out; see `QueuePlanner.plan` for the other arguments.

        `masters` are how many containers that come free next are left to ApplicationMasters at each sub-cluster;
        `by_arrival` are those that serve the queue in the order of applications' ids. Both stay as the last cycle was
        told where they are not given: an allocate measures no queues.
        """
        self._masters = self._masters if masters is None else masters
        self._by_arrival = self._by_arrival if by_arrival is None else by_arrival
        return self._in_force.plan(capacity, order, at_s, only=only, stated=stated, is_solving=is_solving)

    def plan_in_shadow(self, capacity: Capacity, order: str, at_s: float) -> QueuePlans:
        """Plan what waits by another policy, to be told and not carried out; no solver is asked."""
        return self._shadow.plan(capacity, order, at_s)

    def state_in_shadow(self, capacity: Capacity, order: str, at_s: float) -> ShadowPlans | None:
        """Plan likewise, and state what a solver may better; None where the policy asks none, or has no choice."""
        return ShadowPlans.of(self._shadow, self._rows, capacity, order, at_s)

    def _soon(self, at_s: float) -> Mapping[SubClusterId, float]:
        """Return how many containers come free that the queue may ask for before they do."""
        soon = self._turnover.soon(at_s)
        left = {name: count - self._masters.get(name, 0) for name, count in soon.items()}
        return {name: count for name, count in left.items() if count > 0.0}


_WINDOW_S = 10.0
_EXCHANGE_S = 4.0
"""Four heartbeats of a second, as most ApplicationMasters have them."""
_MOST = 1024


class _Lately:
    """Counts what happened in the last seconds; of very many the newest are remembered."""

    def __init__(self) -> None:
        self._at_s: deque[float] = deque(maxlen=_MOST)

    def note(self, at_s: float) -> None:
        self._at_s.append(at_s)

    def rate(self, at_s: float) -> float:
        """Number of them in a second."""
        times = self._at_s
        while times and times[0] < at_s - _WINDOW_S:
            times.popleft()
        whole_s = at_s - times[0] if len(times) == _MOST else _WINDOW_S
        return len(times) / max(whole_s, 1e-3)


class Turnover:
    """Grants by sub-cluster, and ends of containers, of one queue.

    Grants alone would count room that was free before, and ends do not tell where they were: what ends is taken to have
    been where schedulers grant.
    """

    def __init__(self) -> None:
        self._grants: dict[SubClusterId, _Lately] = {}
        self._ends = _Lately()

    def granted(self, subcluster: SubClusterId, at_s: float) -> None:
        """A scheduler granted a container."""
        self._grants.setdefault(subcluster, _Lately()).note(at_s)

    def ended(self, at_s: float) -> None:
        self._ends.note(at_s)

    def soon(self, at_s: float) -> Mapping[SubClusterId, float]:
        """Return how many containers come free at each sub-cluster before whoever is next could be told."""
        rates = {name: lately.rate(at_s) for name, lately in self._grants.items()}
        granted, ended = sum(rates.values()), self._ends.rate(at_s)
        part = min(1.0, ended / granted) if granted else 0.0
        return {name: rate * part * _EXCHANGE_S for name, rate in rates.items()}
