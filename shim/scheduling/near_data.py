"""Sub-clusters near the data of one queue's requests: where each goes first, and how long it waits for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shim.domain.ids import SubClusterId
from shim.domain.requests import NEAR_DATA, PendingRequest, RequestPlan
from shim.scheduling.reading_costs import DataRules, IntArray, ReadingCost, reading_costs, waits_s
from shim.scheduling.snapshot import Preferred, RequestColumn, Requests, Scope


@dataclass(frozen=True, slots=True)
class DataWait:
    """A request waits for room near its data.

    Attributes:
        near: Where it may start meanwhile.
        until_s: When it may start in one sub-cluster more.
        text: The same, for people.
    """

    near: frozenset[SubClusterId]
    until_s: float
    text: str


@dataclass(frozen=True, slots=True)
class _Noted:
    """A request with what reading costs at each sub-cluster, and when each opens to it."""

    request: PendingRequest
    costs: IntArray
    since_s: float
    opens_s: Mapping[SubClusterId, float]


class NearData:
    """Costs of reading, for requests of one queue.

    Args:
        subclusters: In the order of their rows.
        rules: What operators say.
    """

    def __init__(self, subclusters: Sequence[SubClusterId], rules: DataRules) -> None:
        self._names = tuple(subclusters)
        self._between = rules.costs_between(self._names)
        self._noted: dict[int, _Noted] = {}

    def note(self, row: int, request: PendingRequest, since_s: float) -> Sequence[Preferred]:
        """Take in a request that waits since then; return the sub-clusters that it goes to first."""
        costs = self._costs_of(request)
        if costs is not None:
            opens_s = (since_s + waits_s(costs)).tolist()
            self._noted[row] = _Noted(request, costs, since_s, dict(zip(self._names, opens_s, strict=True)))
        return self._preferred(request, costs)

    def forget(self, row: int) -> None:
        """The row is another's."""
        self._noted.pop(row, None)

    def _costs_of(self, request: PendingRequest) -> IntArray | None:
        """Costs at each sub-cluster: int64 array of shape (n_clusters,); None where all are the same.

        Named places that alone will do, and constraints, say already where a request goes.
        """
        if not request.local or request.places or request.key.placement is not None:
            return None
        holds = np.array([[request.local.get(name, 0) > 0 for name in self._names]])
        return reading_costs(holds, self._between)[0] if holds.any() else None

    def _preferred(self, request: PendingRequest, costs: IntArray | None) -> Sequence[Preferred]:
        """Preferred are sub-clusters where it is queued or names data, then those where reading it costs less.

        Hosts of several sub-clusters may count one container, once for each replica of its block. So each gets its part
        first, and only then what the others have no room for.
        """
        counts = [
            max(request.queued.get(name, 0), request.local.get(name, 0) - request.tentative.get(name, 0))
            for name in self._names
        ]
        total, most = sum(counts), request.unallocated
        rounds = [counts]
        if costs is not None and 0 < most < total:
            rounds = [[count * most // total for count in counts], counts]
        rounds += [] if costs is None else _by_cost(costs.tolist(), min(total, most))
        found = (Preferred(Scope.CLUSTER, place, count) for each in rounds for place, count in enumerate(each))
        return [each for each in found if each.count > 0]

    def bounded(self, requests: Requests, at_s: float) -> Requests:
        """The requests with what reading costs; those that wait for room near their data are kept to clusters there."""
        if not self._noted:
            return requests
        numbers = requests.numbers.copy()
        for row, noted in self._noted.items():
            if (wait := self.wait_of(row, noted.request, at_s)) is not None:
                near = sum(1 << place for place, name in enumerate(self._names) if name in wait.near)
                numbers[RequestColumn.CLUSTERS, row] &= near
        by_row = {row: noted.costs for row, noted in self._noted.items()}
        return replace(requests, numbers=numbers, reading_costs=by_row)

    def wait_of(self, row: int, request: PendingRequest, at_s: float) -> DataWait | None:
        """Return where a request may start while it waits for room near its data; None if it may start anywhere.

        It does not where more is wanted than names data, as nobody knows which containers do; for a gang, which has to
        start together; and where nothing near its data may be asked.
        """
        noted = self._noted.get(row)
        if noted is None or request.gang or not request.unallocated:
            return None
        opens_s = noted.opens_s
        if not noted.since_s <= at_s < max(opens_s.values()) or sum(request.local.values()) < request.wanted:
            return None
        near = frozenset(name for name, opened_s in opens_s.items() if opened_s <= at_s)
        if near.isdisjoint(request.may_use - request.avoided) or request.may_use <= near:
            return None
        until_s = min(opens_s[name] for name in request.may_use - near)
        told = ", ".join(sorted(near & request.may_use))
        text = f"{NEAR_DATA}: it waits up to {until_s - at_s:.1f} s for room near its data ({told})"
        return DataWait(near, until_s, text)


def _by_cost(costs: Sequence[int], count: int) -> list[list[int]]:
    """A count for the sub-clusters of each cost, the lowest first; none for where the data is, nor for the dearest."""
    levels = sorted(set(costs) - {ReadingCost.HERE})
    dearest = max(levels, default=ReadingCost.HERE)
    wanted = [level for level in levels if level == ReadingCost.SHARED or level < dearest]
    return [[count if cost == level else 0 for cost in costs] for level in wanted]


def kept_near(plan: RequestPlan, wait: DataWait | None) -> RequestPlan:
    """The plan of a request that is queued near its data alone while it waits; what was drawn stays."""
    if wait is None or plan.is_late_bound:
        return plan
    at_most = {name: most for name, most in plan.at_most.items() if name in wait.near}
    return replace(plan, may_queue=plan.may_queue & wait.near, at_most=at_most, reason=plan.reason or wait.text)
