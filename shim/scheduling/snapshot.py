"""Snapshot that a scheduling cycle starts from: immutable arrays with their age.

A *row number* is the only identity here: which attempt, ask or task a row stands for is known to whoever keeps the
tables. Arrays are kept up to date by their owner between cycles and are not written during one, so that a snapshot is
made in microseconds.

There is no true duration in it, in any world: no field holds one. `RequestTime.EXPECTED_S` and `Column.EXPECTED_S` are
learnt from what has ended, or stated by the submitter.

The table of jobs (attempts): what is known and learnt of each, column by column.

Whoever places their tasks keeps it up to date; a snapshot is a look at it. Identities stay with the keeper.

The table of pending requests: kept up to date by whoever hears of them, and looked at by snapshots.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum
from typing import Self

import numpy as np
from numpy.typing import NDArray

from shim.domain.messages import Rank
from shim.domain.resources import Need
from shim.scheduling.durations import ENOUGH_FINISHED, DurationModel, FloatArray, Resemblance, log2_of
from shim.scheduling.knowledge import NOTHING_KNOWN, Knowledge
from shim.scheduling.node_index import Cell, NodeIndex, SharedNodes
from shim.scheduling.tag_constraints import NO_TAG_BOUNDS, TagBounds

JobColumns = FloatArray
"""float64 array of shape (len(Column), n_jobs)."""

_FIRST_ROWS = 64
_HOLDS_FOR = 0.05
_HOLDS_AT_LEAST_S = 0.01
_OUT_OF_DATE = float("-inf")
_FEW = 4
"""Rows of which each is looked at by itself: one operation on an array costs as much as two of them."""


class Column(IntEnum):
    """Columns of the job table."""

    TASKS = 0
    WAITING = 1
    """Tasks that are neither running nor on their way to a node."""
    RUNNING = 2
    FINISHED = 3
    FINISHED_S = 4
    """Seconds that the finished tasks ran in all."""
    STARTED_S = 5
    """Sum of the launch times of the running tasks."""
    ESTIMATE_S = 6
    """Mean task time that the submitter stated; 0 for none."""
    ARRIVED_S = 7
    PRIORITY = 8
    """Larger goes first."""
    QUEUE = 9
    """Row of its queue in `Queues`; -1 for a queue without a share."""
    FINISHED_LOG2 = 10
    """Sum of the binary logarithms of the seconds that the finished tasks ran."""
    EXPECTED_S = 11
    """What a task is expected to run, if the policy learns durations."""
    EXPECTED_UNTIL_S = 12
    """When `EXPECTED_S` is out of date."""
    SHARE = 13
    """Dominant share of what its running tasks hold, if the policy reads it."""
    TRIAL_S = 14
    """What it costs to try a job of which nothing has begun, if the policy learns durations."""
    DEADLINE_S = 15
    """When the job should have ended; 0 for no deadline."""
    COMPARED_LOG2 = 16
    """Sum over the finished tasks of `Resemblance.log2_of`."""
    COMPARED_SQUARES = 17
    """Sum of the squares of the same."""
    COUNTED_S = 18
    """What a task counts for in an order with a horizon: as `EXPECTED_S`, but no task for longer than that."""
    HORIZON_S = 19
    """The horizon of `COUNTED_S`."""


class JobTable:
    """Numbers of all jobs of a Global Master, column by column.

    Rows are reused when jobs end. Single numbers are written through a flat view of the same memory, which is several
    times faster than numpy for that.
    """

    def __init__(self) -> None:
        self._width = _FIRST_ROWS
        self._columns: JobColumns = np.zeros((len(Column), _FIRST_ROWS))
        self._flat: memoryview[float] = self._columns.data.cast("B").cast("d")
        self._free_rows = list(range(_FIRST_ROWS - 1, -1, -1))
        self._waiting: dict[int, None] = {}
        self._waiting_rows: NDArray[np.intp] | None = None

    def add(self) -> int:
        """A row of zeros, of a queue without a share."""
        if not self._free_rows:
            self._grow()
        row = self._free_rows.pop()
        self._columns[:, row] = 0.0
        self._columns[Column.QUEUE, row] = -1.0
        return row

    def remove(self, row: int) -> None:
        self._free_rows.append(row)
        self.set_waiting(row, is_waiting=False)

    def get(self, column: Column, row: int) -> float:
        return self._flat[column * self._width + row]

    def put(self, column: Column, row: int, value: float) -> None:
        self._flat[column * self._width + row] = value

    def shift(self, column: Column, row: int, change: float) -> float:
        """Add to one number; gives the sum."""
        place = column * self._width + row
        total = self._flat[place] + change
        self._flat[place] = total
        return total

    def count_ended(self, row: int, ran_for_s: float, resemblance: Resemblance) -> bool:
        """One more task of a job has ended; says whether it is the job's first."""
        compared = resemblance.log2_of(ran_for_s)
        self.shift(Column.COMPARED_LOG2, row, compared)
        self.shift(Column.COMPARED_SQUARES, row, compared * compared)
        self.shift(Column.FINISHED_S, row, ran_for_s)
        self.shift(Column.FINISHED_LOG2, row, log2_of(ran_for_s))
        self.expect_anew(row)
        return self.shift(Column.FINISHED, row, +1.0) == 1.0

    def compare(self, row: int, resemblance: Resemblance) -> None:
        """Let a job that has ended tell how much its tasks resembled each other."""
        sums = (self.get(each, row) for each in (Column.FINISHED, Column.COMPARED_LOG2, Column.COMPARED_SQUARES))
        resemblance.compare(*sums)

    def expect_anew(self, row: int) -> None:
        """Mark the expected durations of a job's tasks as out of date."""
        self.put(Column.EXPECTED_UNTIL_S, row, _OUT_OF_DATE)

    def is_stale(self, row: int, now_s: float, horizon_s: float) -> bool:
        """Return whether what is expected of a job's tasks is to be told anew; of one without any it always is."""
        flat, width = self._flat, self._width
        return (
            flat[Column.EXPECTED_UNTIL_S * width + row] < now_s
            or flat[Column.HORIZON_S * width + row] != horizon_s
            or flat[Column.RUNNING * width + row] + flat[Column.FINISHED * width + row] == 0.0
        )

    def set_waiting(self, row: int, *, is_waiting: bool) -> None:
        """Note whether the job has tasks to place."""
        if is_waiting == (row in self._waiting):
            return
        if is_waiting:
            self._waiting[row] = None
        else:
            del self._waiting[row]
        self._waiting_rows = None

    def waiting_rows(self) -> NDArray[np.intp]:
        """Rows of the jobs with tasks to place, in the order in which they began to wait."""
        if self._waiting_rows is None:
            self._waiting_rows = np.fromiter(self._waiting, dtype=np.intp, count=len(self._waiting))
        return self._waiting_rows

    @property
    def is_idle(self) -> bool:
        """Return whether no job has a task to place."""
        return not self._waiting

    @property
    def width(self) -> int:
        return self._width

    @property
    def all_columns(self) -> JobColumns:
        """The columns of every row; to be read only, and until the next `add`."""
        return self._columns

    def columns(self, rows: NDArray[np.intp]) -> JobColumns:
        return self._columns.take(rows, axis=1)

    def column(self, column: Column) -> FloatArray:
        numbers: FloatArray = self._columns[column]
        return numbers

    def write(self, column: Column, rows: NDArray[np.intp], values: FloatArray) -> None:
        self._columns[column, rows] = values

    def _grow(self) -> None:
        before = self._width
        self._width = 2 * before
        self._columns = np.concatenate((self._columns, np.zeros_like(self._columns)), axis=1)
        self._flat = self._columns.data.cast("B").cast("d")
        self._free_rows = list(range(2 * before - 1, before - 1, -1))


def expect_durations(
    table: JobTable,
    durations: DurationModel,
    now_s: float,
    rows: NDArray[np.intp] | None = None,
    horizon_s: float = math.inf,
) -> None:
    """Bring `EXPECTED_S`, `COUNTED_S` and `TRIAL_S` up to date, for the jobs with waiting tasks if no rows are given.

    In the latter two no task counts for longer than the horizon. What running tasks tell changes with time, but slowly:
    an expectation holds until they have run a twentieth longer, or one of them ends.
    """
    if rows is None:
        rows = table.waiting_rows()
    if len(rows) <= _FEW and not any(table.is_stale(row, now_s, horizon_s) for row in rows.tolist()):
        return
    untried = rows[table.column(Column.RUNNING)[rows] + table.column(Column.FINISHED)[rows] == 0.0]
    if untried.size:
        table.write(Column.TRIAL_S, untried, durations.trial_work(table.column(Column.WAITING)[untried], horizon_s))
    is_old = table.column(Column.EXPECTED_UNTIL_S)[rows] < now_s
    stale = rows[is_old | (table.column(Column.HORIZON_S)[rows] != horizon_s)]
    if not stale.size:
        return
    columns = table.columns(stale)
    running, finished = columns[Column.RUNNING], columns[Column.FINISHED]
    elapsed_s = np.maximum(running * now_s - columns[Column.STARTED_S], 0.0) / np.maximum(running, 1.0)
    horizons_s = tuple(dict.fromkeys((math.inf, horizon_s)))  # one where there is no horizon
    means_s = durations.expected(finished, columns[Column.FINISHED_LOG2], running, elapsed_s, horizons_s)
    is_known = finished >= ENOUGH_FINISHED
    ended_s = columns[Column.FINISHED_S][is_known] / finished[is_known]
    within: dict[float, FloatArray] = {}
    for horizon, told_s in zip(horizons_s, means_s, strict=True):
        told_s[is_known] = np.minimum(ended_s, horizon)
        within[horizon] = durations.believed(told_s, finished, running, horizon)
    table.write(Column.EXPECTED_S, stale, within[math.inf])
    table.write(Column.COUNTED_S, stale, within[horizon_s])
    table.write(Column.HORIZON_S, stale, np.full(stale.size, horizon_s))
    holds_s = np.where(running > 0.0, _HOLDS_FOR * elapsed_s + _HOLDS_AT_LEAST_S, np.inf)
    table.write(Column.EXPECTED_UNTIL_S, stale, np.where(is_known, np.inf, now_s + holds_s))


IntArray = NDArray[np.int64]

ANY_CLUSTER = -1
"""Bit set of clusters with every bit set."""
_FITTING = (1 << 63) - 1
_MOST_SETS = 65_536


class _LargeSets:
    """Numbers, from -2 downwards, of bit sets of clusters that no number of a column can hold."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._sets: list[int] = []

    def number(self, bits: int) -> int:
        """Of a set; of one that is new when there are very many, that of its first 63 clusters."""
        known = self._numbers.get(bits)
        if known is None:
            if len(self._sets) >= _MOST_SETS:
                return bits & _FITTING
            self._sets.append(bits)
            known = self._numbers[bits] = ANY_CLUSTER - len(self._sets)
        return known

    def bits(self, number: int) -> int:
        """The set of a number."""
        return self._sets[ANY_CLUSTER - 1 - number]


_LARGE = _LargeSets()


def cluster_number(bits: int) -> int:
    """What stands in the column of clusters for a bit set: itself, unless it has a cluster beyond the 63rd."""
    return bits if bits <= _FITTING else _LARGE.number(bits)


def cluster_bits(number: int) -> int:
    """The bit set that a number of the column of clusters stands for."""
    return number if number >= ANY_CLUSTER else _LARGE.bits(number)


class Scope(Enum):
    """Scopes of a place, from any to one node."""

    ANY = "any"
    CLUSTER = "cluster"
    RACK = "rack"
    NODE = "node"


class RequestClass(IntEnum):
    """Classes of requests: all of the first go before the second, whose jobs give up their turn (Carbyne)."""

    DEFAULT = 0
    ALTRUISTIC = 1


class RequestColumn(IntEnum):
    """Whole numbers of a request."""

    JOB = 0
    """Row of the job (the attempt) in the job table."""
    COUNT = 1
    """Containers that wait and that nothing is allocated to, not even tentatively."""
    PRIORITY = 2
    """Within its job; smaller goes first, as YARN has it."""
    STAGE = 3
    """Stage of the job, counted from 0; 0 where stages are not known."""
    GANG = 4
    """Requests of equal number are placed all or none; 0 for no gang."""
    CLASS = 5
    """A `RequestClass`."""
    STRICT = 6
    """1: only the preferred places will do."""
    CLUSTERS = 7
    """`cluster_number` of the clusters that it may go to; `ANY_CLUSTER` for all."""


class RequestTime(IntEnum):
    """Times of a request, in seconds."""

    SINCE_S = 0
    """Since when it waits."""
    EXPECTED_S = 1
    """How long one container is expected to run; 0 where nothing is known."""
    DEADLINE_S = 2
    """When all of it should have ended; infinite for no deadline."""


@dataclass(frozen=True, slots=True)
class Preferred:
    """A place where some of a request's containers are wanted.

    Attributes:
        place: Row of the node, number of the rack, or row of the cluster.
        count: How many are wanted there; counts of several places overlap.
    """

    scope: Scope
    place: int
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class Requests:
    """Pending requests: one ask key of one attempt, or tasks of one job that need the same.

    Attributes:
        live: Rows of the requests that wait, in the order in which they began to.
        numbers: int64 array of shape (len(RequestColumn), n_rows).
        times: float64 array of shape (len(RequestTime), n_rows).
        needs: Demand vector and required properties, by row.
        preferred: Preferred places, by row; no rows at all where nobody prefers anything.
        distinct: The distinct needs of the live rows; found out when they are asked for if not given.
        tag_bounds: What placement constraints leave to a row, by row; no entry where nothing is bounded.
        reading_costs: Of a row in each cluster, see `reading_costs`: int64 arrays of shape (n_clusters,), by row; no
            entry where all cost the same.
    """

    live: NDArray[np.intp]
    numbers: IntArray
    times: FloatArray
    needs: Sequence[Need]
    preferred: Sequence[tuple[Preferred, ...]] = ()
    distinct: Collection[Need] | None = None
    tag_bounds: Mapping[int, TagBounds] = field(default_factory=lambda: NO_TAG_BOUNDS)
    reading_costs: Mapping[int, IntArray] = field(default_factory=dict)

    @property
    def has_gangs(self) -> bool:
        """Return whether some of the live rows are placed all or none."""
        return bool(self.numbers[RequestColumn.GANG][self.live].any())

    def distinct_needs(self) -> Collection[Need]:
        return {self.needs[row] for row in self.live.tolist()} if self.distinct is None else self.distinct

    def of(self, column: RequestColumn, rows: NDArray[np.intp]) -> IntArray:
        numbers: IntArray = self.numbers[column][rows]
        return numbers

    def clusters(self, row: int) -> int:
        """Bit set of the clusters that a row may go to; `ANY_CLUSTER` for all."""
        return cluster_bits(int(self.numbers[RequestColumn.CLUSTERS, row]))

    def kept(self) -> "Requests":
        """A copy that later changes of the table leave alone."""
        return replace(
            self,
            live=self.live.copy(),
            numbers=self.numbers.copy(),
            times=self.times.copy(),
            needs=tuple(self.needs),
            preferred=tuple(self.preferred),
        )

    def prefers(self, row: int) -> tuple[Preferred, ...]:
        return self.preferred[row] if self.preferred else ()


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """Sub-clusters, by row.

    Attributes:
        as_of_s: float64 array of shape (n_clusters,): time of the report that is believed.
        is_open: bool array of shape (n_clusters,): whether anything may be placed there now.
    """

    names: tuple[str, ...] = ()
    as_of_s: FloatArray = field(default_factory=lambda: np.zeros(0))
    is_open: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    def open_bits(self) -> int:
        """Bit set of the clusters that may be placed on; all where nothing is known."""
        return sum(1 << int(row) for row in np.flatnonzero(self.is_open)) if self.names else ANY_CLUSTER


@dataclass(frozen=True, slots=True, eq=False)
class Queues:
    """Queues with a share, by row; `Column.QUEUE` of a job names its row.

    Attributes:
        share: float64 array of shape (n_queues,): what each is entitled to, as a part of everything.
        held: float64 array of shape (n_queues, n_resources): what each holds.
        held_at: float64 array of shape (n_queues, n_clusters, n_resources): what can be asked back there.
        total: float64 array of shape (n_resources,): capacity of all clusters.
        is_patient: bool array of shape (n_queues,): something was asked back of it lately, so that it borrows nothing.
        room_at: int64 array of shape (n_queues, n_clusters, n_resources): what the queue may still have in a cluster,
            -1 for no bound; empty where nothing bounds a queue.
    """

    names: tuple[str, ...] = ()
    share: FloatArray = field(default_factory=lambda: np.zeros(0))
    held: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    held_at: FloatArray = field(default_factory=lambda: np.zeros((0, 0, 0)))
    total: FloatArray = field(default_factory=lambda: np.zeros(0))
    is_patient: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    room_at: IntArray = field(default_factory=lambda: np.zeros((0, 0, 0), dtype=np.int64))

    @classmethod
    def bounded(cls, room_at: IntArray) -> Self:
        """One queue, with what it may still have in each cluster; its share is another's to look at."""
        n_types = room_at.shape[2]
        return cls(
            ("",),
            np.ones(1),
            np.zeros((1, n_types)),
            np.zeros((1, *room_at.shape[1:])),
            np.zeros(n_types),
            np.zeros(1, dtype=np.bool_),
            room_at,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Running:
    """Running containers, by row; all arrays of shape (n_running,) but for the demands.

    Attributes:
        expected_s: How long it was expected to run when it was granted; 0 where nothing was known. Nothing says when it
            will end.
    """

    job: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    cluster: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    node: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    demand: IntArray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    since_s: FloatArray = field(default_factory=lambda: np.zeros(0))
    expected_s: FloatArray = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, slots=True)
class OfferedCapacity:
    """Room that a Local Master keeps for this Global Master until it answers.

    Attributes:
        room: Free amount of each resource type that is kept.
        runner_up: Rank of the next best bidder: who needs it less should leave it. None when there is none.
        is_for_short: Whether tasks that run long are to leave it.
    """

    number: int
    node: int
    room: tuple[int, ...]
    properties: frozenset[str] = frozenset()
    runner_up: Rank | None = None
    is_for_short: bool = False


_NO_CLUSTERS, _NO_QUEUES, NOTHING_RUNS = Clusters(), Queues(), Running()


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """State that a cycle starts from.

    Attributes:
        now_s: Time of the cycle; the only clock that a policy sees.
        nodes: What is free on each node, less what is tentatively allocated or on its way.
        jobs: float64 array of shape (len(Column), n_rows): jobs (attempts) with what is known and learnt of them.
        offers: Room that is kept for this Global Master.
        long_from_s: Tasks that are expected to run so long leave some room free for shorter ones, in seconds.
        version: Grows with each change of what is free; a plan of an older one is verified anew.
        knowledge: Of graphs, former runs, tags and constraints, as far as there is any.
    """

    now_s: float
    nodes: NodeIndex[Cell]
    jobs: JobColumns
    requests: Requests
    clusters: Clusters = _NO_CLUSTERS
    queues: Queues = _NO_QUEUES
    running: Running = NOTHING_RUNS
    offers: tuple[OfferedCapacity, ...] = ()
    long_from_s: float = math.inf
    version: int = 0
    knowledge: Knowledge = NOTHING_KNOWN

    def of_job(self, column: Column, rows: NDArray[np.intp]) -> FloatArray:
        numbers: FloatArray = self.jobs[column][self.requests.numbers[RequestColumn.JOB][rows]]
        return numbers

    def job_columns(self, rows: NDArray[np.intp]) -> JobColumns:
        """Copies of all columns of the jobs of some requests: cheaper than `of_job` for three or more."""
        columns: JobColumns = self.jobs.take(self.requests.numbers[RequestColumn.JOB][rows], axis=1)
        return columns

    @staticmethod
    def of_jobs(table: JobTable, rows: NDArray[np.intp], now_s: float) -> "Snapshot":
        """Jobs alone, each with one request of the same row: for an order among them."""
        numbers = np.zeros((len(RequestColumn), table.width), dtype=np.int64)
        numbers[RequestColumn.JOB] = np.arange(table.width)
        requests = Requests(rows, numbers, np.zeros((len(RequestTime), table.width)), ())
        return Snapshot(now_s, SharedNodes(0), table.all_columns, requests)


_NOTHING = Need(())


class RequestTable:
    """Numbers of all requests of a Global Master, column by column; rows are reused when requests end.

    Single numbers are written through a flat view of the same memory: several times faster than numpy for that.

    Attributes:
        wanted: How many containers of each distinct need wait.
    """

    def __init__(self) -> None:
        self.wanted: Counter[Need] = Counter()
        self._width = _FIRST_ROWS
        self._numbers: IntArray = np.zeros((len(RequestColumn), _FIRST_ROWS), dtype=np.int64)
        self._times: FloatArray = np.zeros((len(RequestTime), _FIRST_ROWS))
        self._needs: list[Need] = [_NOTHING] * _FIRST_ROWS
        self._preferred: list[tuple[Preferred, ...]] = [()] * _FIRST_ROWS
        self._n_preferring = 0
        self._free_rows = list(range(_FIRST_ROWS - 1, -1, -1))
        self._live: dict[int, None] = {}
        self._live_rows: NDArray[np.intp] | None = None
        self._flat = self._numbers.data.cast("B").cast("q")

    def add(
        self,
        job: int,
        need: Need,
        count: int,
        *,
        since_s: float = 0.0,
        priority: int = 0,
        stage: int = 0,
        gang: int = 0,
        request_class: RequestClass = RequestClass.DEFAULT,
        clusters: int = ANY_CLUSTER,
        expected_s: float = 0.0,
        deadline_s: float = float("inf"),
    ) -> int:
        """A row for a request of a job; see `RequestColumn` and `RequestTime`."""
        if not self._free_rows:
            self._grow()
        row = self._free_rows.pop()
        self._needs[row] = need
        self._numbers[:, row] = (job, 0, priority, stage, gang, request_class, 0, cluster_number(clusters))
        self._times[:, row] = (since_s, expected_s, deadline_s)
        self.set_count(row, count)
        return row

    def prefer(self, row: int, places: Sequence[Preferred], *, is_strict: bool = False) -> None:
        """Name the places where a request's containers are wanted."""
        self._n_preferring += bool(places) - bool(self._preferred[row])
        self._preferred[row] = tuple(places)
        self._numbers[RequestColumn.STRICT, row] = is_strict

    def remove(self, row: int) -> None:
        self.set_count(row, 0)
        self.prefer(row, ())
        self._needs[row] = _NOTHING
        self._free_rows.append(row)

    @property
    def needs(self) -> Sequence[Need]:
        return self._needs

    def count(self, row: int) -> int:
        return self._flat[RequestColumn.COUNT * self._width + row]

    def set_count(self, row: int, count: int) -> None:
        """Note how many containers of a request wait."""
        place, need = RequestColumn.COUNT * self._width + row, self._needs[row]
        change = count - self._flat[place]
        self._flat[place] = count
        self.wanted[need] += change
        if not self.wanted[need]:
            del self.wanted[need]
        if (count > 0) != (row in self._live):
            if count > 0:
                self._live[row] = None
            else:
                del self._live[row]
            self._live_rows = None

    def requests(self) -> Requests:
        """Requests as a snapshot sees them; good until the next change."""
        if self._live_rows is None:
            self._live_rows = np.fromiter(self._live, dtype=np.intp, count=len(self._live))
        preferred = self._preferred if self._n_preferring else ()
        return Requests(self._live_rows, self._numbers, self._times, self._needs, preferred, self.wanted.keys())

    def _grow(self) -> None:
        before = self._width
        self._width = 2 * before
        self._numbers = np.concatenate((self._numbers, np.zeros_like(self._numbers)), axis=1)
        self._times = np.concatenate((self._times, np.zeros_like(self._times)), axis=1)
        self._needs += [_NOTHING] * before
        self._preferred += [()] * before
        self._flat = self._numbers.data.cast("B").cast("q")
        self._free_rows = list(range(2 * before - 1, before - 1, -1))
