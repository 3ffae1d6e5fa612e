"""Snapshot that a scheduling cycle starts from: immutable arrays with their age.

A *row number* is the only identity here: which attempt, ask or task a row stands for is known to whoever keeps the
tables. Arrays are kept up to date by their owner between cycles and are not written during one, so that a snapshot is
made in microseconds.

There is no true duration in it, in any world: no field holds one. `RequestTime.EXPECTED_S` and `Column.EXPECTED_S` are
learnt from what has ended, or stated by the submitter.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum
from typing import Self

import numpy as np
from numpy.typing import NDArray

from shim.domain.messages import Need, Rank
from shim.scheduling.job_table import Column, FloatArray, JobColumns, JobTable
from shim.scheduling.knowledge import NOTHING_KNOWN, Knowledge
from shim.scheduling.node_index import Cell, NodeIndex, SharedNodes
from shim.scheduling.tag_constraints import NO_TAG_BOUNDS, TagBounds

IntArray = NDArray[np.int64]

ANY_CLUSTER = -1
"""Bit set of clusters with every bit set."""
NO_BOUND = 1 << 31
"""Containers that a queue may still have where nothing bounds it."""


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
    """Bit set of the clusters that it may go to; `ANY_CLUSTER` for all."""


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
        """The distinct needs of the live rows."""
        return {self.needs[row] for row in self.live.tolist()} if self.distinct is None else self.distinct

    def of(self, column: RequestColumn, rows: NDArray[np.intp]) -> IntArray:
        """One number of some rows."""
        numbers: IntArray = self.numbers[column][rows]
        return numbers

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
        """Preferred places of one row."""
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
        since_s: When each was granted.
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
        number: Of the offer.
        node: Row of the node.
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
        """One number of the jobs of some requests."""
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
