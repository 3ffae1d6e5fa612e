"""The request rows of one queue on real clusters, and the snapshots that its cycles start from.

Sub-clusters near the data of one queue's requests: where each goes first, and how long it waits for them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shim.domain.allocations import NEAR_DATA, AskKey, PendingRequest, RequestPlan, TaggedSpot
from shim.domain.ids import ApplicationAttemptId, NodeId, SubClusterId
from shim.domain.resources import Need, ResourceVector
from shim.scheduling.capacity import FIRST_TYPES, Capacity, NodeRows, need_of
from shim.scheduling.durations import FloatArray
from shim.scheduling.job_outlines import JobOutline
from shim.scheduling.node_index import SharedNodes
from shim.scheduling.policy import Fact, Policy
from shim.scheduling.reading_costs import NOTHING_SHARED, DataRules, ReadingCost, reading_costs, waits_s
from shim.scheduling.snapshot import (
    Clusters,
    Column,
    IntArray,
    JobColumns,
    JobTable,
    Preferred,
    Queues,
    RequestColumn,
    Requests,
    RequestTable,
    RequestTime,
    Running,
    Scope,
    Snapshot,
    cluster_number,
)
from shim.scheduling.tag_constraints import NO_TAG_BOUNDS, TagBook, TagBounds, TentativeByTags, slots_at


@dataclass(frozen=True, slots=True)
class DataWait:
    """A request waits for room near its data.

    Attributes:
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
                numbers[RequestColumn.CLUSTERS, row] = cluster_number(requests.clusters(row) & near)
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


# Running containers of a queue's attempts, as rows of a snapshot.


class HeldContainer(NamedTuple):
    """A container that an attempt has.

    Attributes:
        job: The attempt's row in the table of jobs.
        node: Where; None where no scheduler has told.
    """

    job: int
    since_s: float
    resource: ResourceVector
    node: NodeId | None = None


def running_of(
    containers: Iterable[HeldContainer],
    container_s: FloatArray,
    types: Sequence[str],
    nodes: Mapping[NodeId, int] = MappingProxyType({}),
) -> Running:
    """Containers of the queue's attempts.

    Args:
        container_s: How long those of each job run. One of which it tells nothing does not end.
        nodes: Rows of nodes; a container on another, or on one that is not known, is on -1.
    """
    of_job, since_s, resources, places = [list(each) for each in zip(*containers, strict=True)] or ([], [], [], [])
    rows = np.array(of_job, dtype=np.int64)
    expected_s = container_s[rows]
    demands = [need_of(each, "", (), types).demand for each in resources]
    nowhere = np.full(len(rows), -1, dtype=np.int64)
    return Running(
        job=rows,
        cluster=nowhere,
        node=np.array([nodes.get(place, -1) for place in places], dtype=np.int64),
        demand=np.array(demands, dtype=np.int64).reshape(len(rows), len(types)),
        since_s=np.array(since_s, dtype=np.float64),
        expected_s=np.where(expected_s > 0.0, expected_s, np.inf),
    )


RowKey = tuple[ApplicationAttemptId, AskKey]
"""What a row stands for."""


class QueueRows:
    """Rows of requests: which row stands for which request.

    Args:
        subclusters: In the order of their rows.
        data: What it costs to read data across them.
    """

    def __init__(self, subclusters: Sequence[SubClusterId], data: DataRules = NOTHING_SHARED) -> None:
        self._subclusters = tuple(subclusters)
        self._near_data = NearData(self._subclusters, data)
        self._bits = {name: 1 << number for number, name in enumerate(self._subclusters)}
        self._types: tuple[str, ...] = FIRST_TYPES
        self._table = RequestTable()
        self._nodes = NodeRows()
        self._requests: dict[ApplicationAttemptId, dict[AskKey, PendingRequest]] = {}
        self._rows: dict[RowKey, int] = {}
        self._with_rows: dict[ApplicationAttemptId, Sequence[tuple[PendingRequest, int]]] = {}
        self._since_s: dict[RowKey, float] = {}
        self._jobs: dict[ApplicationAttemptId, int] = {}
        self._named: Counter[Need] = Counter()
        self._named_by: dict[int, Mapping[str, int]] = {}
        self._weights: Mapping[SubClusterId, float] = {}
        self._tag_bounds: Mapping[int, TagBounds] = NO_TAG_BOUNDS
        self._left_out: frozenset[int] = frozenset()
        self._promised = TentativeByTags(self.of)

    def __bool__(self) -> bool:
        return bool(self._requests)

    @property
    def attempts(self) -> Iterable[ApplicationAttemptId]:
        return self._requests.keys()

    def others_wait(self, attempt: ApplicationAttemptId) -> bool:
        return any(name != attempt for name in self.attempts)

    def others_lack(self, attempt: ApplicationAttemptId) -> bool:
        """Return whether another attempt waits for something that is not even allocated tentatively."""
        others = (requests.values() for name, requests in self._requests.items() if name != attempt)
        return any(request.unallocated for each in others for request in each)

    def of(self, attempt: ApplicationAttemptId) -> Iterable[PendingRequest]:
        return self._requests.get(attempt, {}).values()

    def with_rows(self, attempt: ApplicationAttemptId) -> Sequence[tuple[PendingRequest, int]]:
        known = self._with_rows.get(attempt)
        if known is None:  # kept until one of them changes: a cycle of thousands asks several times
            requests = self._requests.get(attempt, {})
            known = tuple((request, self._rows[attempt, key]) for key, request in requests.items())
            self._with_rows[attempt] = known
        return known

    def by_row(self) -> Mapping[int, RowKey]:
        """Return what each row stands for, which is another thing once it was given back."""
        return {row: key for key, row in self._rows.items()}

    def closed_by_tags(self, attempt: ApplicationAttemptId, request: PendingRequest) -> frozenset[SubClusterId]:
        """Name the sub-clusters where a request's placement constraint leaves no room beside what is promised."""
        promised = self._promised.of(attempt, request) if request.most_at else {}
        return frozenset(name for name, most in request.most_at.items() if most <= promised.get(name, 0))

    def since_s(self, attempt: ApplicationAttemptId, key: AskKey) -> float:
        """Since when a request waits, in seconds."""
        return self._since_s.get((attempt, key), 0.0)

    def put(self, attempt: ApplicationAttemptId, job: int, request: PendingRequest, at_s: float) -> None:
        """Take in a request; it takes the place of the one with its key, and waits since that began to."""
        others = set(request.key.resource.others) - set(self._types)
        since_s = self._since_s.get((attempt, request.key), at_s)
        self.drop(attempt, request.key)
        if request.unallocated:
            self._since_s[attempt, request.key] = since_s
        self._promised.forget(attempt)
        self._requests.setdefault(attempt, {})[request.key] = request
        self._jobs[attempt] = job
        self._weights = request.weights
        if others:
            self._types = (*self._types, *sorted(others))
            for each, requests in self._requests.items():
                for known in requests.values():
                    self._write(each, known)
        else:
            self._write(attempt, request)

    def drop(self, attempt: ApplicationAttemptId, key: AskKey) -> bool:
        """Forget a request; return whether it was known."""
        requests = self._requests.get(attempt, {})
        self._since_s.pop((attempt, key), None)
        self._promised.forget(attempt)
        self._with_rows.pop(attempt, None)
        if requests.pop(key, None) is None:
            return False
        self._remove(self._rows.pop((attempt, key)))
        if not requests:
            del self._requests[attempt]
        return True

    def leave(self, attempt: ApplicationAttemptId) -> None:
        for key in tuple(self._requests.get(attempt, ())):
            self.drop(attempt, key)
        self._with_rows.pop(attempt, None)
        self._jobs.pop(attempt, None)

    def _write(self, attempt: ApplicationAttemptId, request: PendingRequest) -> None:
        """Write a request's row anew: what is queued or wanted in a sub-cluster by name is placed there first."""
        key = request.key
        self._with_rows.pop(attempt, None)
        known = self._rows.pop((attempt, key), None)
        if known is not None:
            self._remove(known)
        may_start = request.may_use - request.avoided
        need = need_of(key.resource, key.label, request.places, self._types)
        if request.places:
            self._named[need] += 1
        row = self._rows[attempt, key] = self._table.add(
            self._jobs[attempt],
            need,
            request.unallocated,
            since_s=self.since_s(attempt, key),
            priority=key.priority,
            gang=self._jobs[attempt] + 1 if request.gang else 0,
            clusters=sum(bit for name, bit in self._bits.items() if name in may_start),
        )
        self._table.prefer(row, self._near_data.note(row, request, self.since_s(attempt, key)))
        self._named_by[row] = request.named

    def _remove(self, row: int) -> None:
        need = self._table.needs[row]
        self._table.remove(row)
        del self._named_by[row]
        self._near_data.forget(row)
        if need in self._named:
            self._named[need] -= 1
            self._named = +self._named

    # ------------------------------------------------------------------ snapshots

    def nodes(self, capacity: Capacity) -> SharedNodes:
        """Return the free nodes, with the bit-vectors that the waiting requests need."""
        nodes = self._nodes.index(capacity, self._types, self._weights)
        self._nodes.admit(self._named)
        return nodes

    def bound_by_tags(
        self,
        nodes: SharedNodes,
        planned: Iterable[ApplicationAttemptId],
        tagged: Mapping[ApplicationAttemptId, Sequence[TaggedSpot]],
        left_out: frozenset[int] = frozenset(),
    ) -> None:
        """Count what constraints leave to the requests of a cycle by where attempts have containers with tags.

        Rows that are `left_out` are not planned.
        """
        self._left_out = left_out
        self._tag_bounds = found = dict[int, TagBounds]()
        rows = [(attempt, *each) for attempt in planned for each in self.with_rows(attempt) if each[0].most_at]
        if not rows:
            return
        book = TagBook(self._subclusters, nodes, self.node_names(), tagged)
        for attempt, request, row in rows:
            promised = self._promised.of(attempt, request)
            found[row] = book.bounds_of(attempt, request, self._table.needs[row], promised)

    @property
    def n_types(self) -> int:
        return len(self._types)

    @property
    def total(self) -> ResourceVector:
        """Return what the nodes of the newest index have in all, whoever holds it."""
        return self._nodes.total

    def node_names(self) -> tuple[NodeId, ...]:
        """The nodes of the newest index, in the order of their rows."""
        return self._nodes.names()

    def host(self, node: int) -> str:
        """The host of a node of the newest index, by its row."""
        return self._nodes.host(node)

    def snapshots(
        self,
        nodes: SharedNodes,
        capacity: Capacity,
        jobs: JobTable,
        planned: Iterable[ApplicationAttemptId],
        at_s: float,
        policy: Policy,
        container_s: FloatArray | None = None,
        outlines: Mapping[ApplicationAttemptId, JobOutline] = MappingProxyType({}),
    ) -> Mapping[bool, Snapshot]:
        """One snapshot for nodes without a label, one for those with labels; none where nobody waits.

        `container_s` is how long containers of each job run, if not what the table of jobs expects; `outlines` tell
        which stage an ask is for.

        No request may have nodes of both kinds. The limits of queues that reports tell are those of nodes without a
        label (`AbstractCSQueue.getUsedResources`), so that they bound the first alone.
        """
        live: tuple[list[int], list[int]] = ([], [])
        for attempt in planned:
            for request, row in self.with_rows(attempt):
                if request.unallocated and row not in self._left_out:
                    live[bool(request.key.label)].append(row)
        columns = jobs.all_columns.copy()
        if container_s is not None:
            columns[Column.EXPECTED_S] = container_s
        everything = self._as_read_by(policy, nodes, columns, [*live[False], *live[True]])
        if outlines:
            everything = replace(everything, numbers=self._with_stages(everything.numbers, outlines))
        everything = self._near_data.bounded(everything, at_s)
        names = tuple(map(str, self._subclusters))
        clusters = Clusters(names, np.full(len(names), at_s), np.ones(len(names), dtype=np.bool_))
        columns[Column.QUEUE] = 0.0
        found: dict[bool, Snapshot] = {}
        bounds = Queues.bounded(capacity.limits(self._types)), Queues()
        for has_label, rows, queues in zip((False, True), live, bounds, strict=True):
            if rows:
                order: NDArray[np.intp] = np.array(rows, dtype=np.intp)
                wanted: set[Need] = {everything.needs[row] for row in rows}
                requests = replace(everything, live=order, distinct=wanted, tag_bounds=self._tag_bounds)
                found[has_label] = Snapshot(at_s, nodes, columns, requests, clusters, queues)
            columns = columns.copy()
            columns[Column.QUEUE] = -1.0
        return found

    def running(self, containers: Iterable[HeldContainer], container_s: FloatArray) -> Running:
        """See `running_of`; nodes are those of the newest index."""
        nodes = {name: row for row, name in enumerate(self.node_names())}
        return running_of(containers, container_s, self._types, nodes)

    def wait_for_data(self, row: int, request: PendingRequest, at_s: float) -> DataWait | None:
        """Return what a request waits for near its data; None if it may start anywhere."""
        return self._near_data.wait_of(row, request, at_s)

    def _as_read_by(self, policy: Policy, nodes: SharedNodes, columns: JobColumns, live: Sequence[int]) -> Requests:
        """The requests as a policy reads them.

        One that places by itself is told how long containers are expected to run, and when all should have ended. One
        that goes by places has those that the asks name, and nothing of where something is queued.
        """
        everything = self._table.requests()
        if policy.placement.kernel is None:
            return everything
        times, of_jobs = everything.times.copy(), everything.numbers[RequestColumn.JOB]
        times[RequestTime.EXPECTED_S] = columns[Column.EXPECTED_S, of_jobs]
        deadlines_s = columns[Column.DEADLINE_S, of_jobs]
        times[RequestTime.DEADLINE_S] = np.where(deadlines_s > 0.0, deadlines_s, np.inf)
        preferred: list[tuple[Preferred, ...]] = [()] * len(self._table.needs)
        if policy.goes_by(Fact.CONSTRAINTS) or policy.goes_by(Fact.LOCALITY):
            nodes.racks = self._nodes.places.racks
        if policy.goes_by(Fact.LOCALITY):
            for row in live:
                preferred[row] = self._nodes.places.preferred(self._named_by[row])
        return replace(everything, times=times, preferred=preferred)

    def _with_stages(self, numbers: IntArray, outlines: Mapping[ApplicationAttemptId, JobOutline]) -> IntArray:
        """The numbers of requests with the stage of each; -1 for an ask that is of no stage that is known."""
        found = numbers.copy()
        for attempt, outline in outlines.items():
            for request, row in self.with_rows(attempt):
                found[RequestColumn.STAGE, row] = outline.by_priority.get(request.key.priority, -1)
        return found

    def capacity_for(
        self, nodes: SharedNodes, attempts: Iterable[ApplicationAttemptId]
    ) -> Mapping[int, Mapping[SubClusterId, int]]:
        """Containers of each request that the sub-clusters have capacity for, whoever goes first; by row."""
        counted: dict[Need, list[int]] = {}
        shared: dict[tuple[Need, frozenset[SubClusterId]], Mapping[SubClusterId, int]] = {}
        found: dict[int, Mapping[SubClusterId, int]] = {}
        for request, row in (each for attempt in attempts for each in self.with_rows(attempt)):
            need, bounds = self._table.needs[row], self._tag_bounds.get(row)
            if need not in counted:
                counted[need] = slots_at(nodes, need)
            if bounds is not None:
                found[row] = self._usable(request, np.minimum(counted[need], bounds.at_cluster).tolist())
                continue
            kind = need, request.may_use
            if kind not in shared:
                shared[kind] = self._usable(request, counted[need])
            found[row] = shared[kind]
        return found

    def _usable(self, request: PendingRequest, counts: Sequence[int]) -> Mapping[SubClusterId, int]:
        by_place = zip(self._subclusters, counts, strict=True)
        return {name: count for name, count in by_place if count and name in request.may_use}
