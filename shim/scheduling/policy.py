"""A scheduling policy as data: ordering x placement x commitment x reallocation, and the facts that it needs.

Orderings: the keys by which policies order pending requests, smallest first.

A kernel looks at a snapshot and some rows of its requests, and gives one key for each. It sees columns, never names.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shim.scheduling.durations import USUAL_BELIEFS, DurationBeliefs, FloatArray
from shim.scheduling.parameters import ParameterValue, checked_values, with_values
from shim.scheduling.plan import Plan
from shim.scheduling.ranking import in_turn
from shim.scheduling.snapshot import Column, Scope, Snapshot

OrderingKernel = Callable[[Snapshot, NDArray[np.intp]], FloatArray]
"""From a snapshot and rows of its requests, intp array of shape (n,), to one key for each, float64 of shape (n,)."""


def first_come(snapshot: Snapshot, rows: NDArray[np.intp]) -> FloatArray:
    """Arrival of the job, in seconds."""
    return snapshot.of_job(Column.ARRIVED_S, rows)


def fewest_running(snapshot: Snapshot, rows: NDArray[np.intp]) -> FloatArray:
    """Number of the job's tasks that run: equal shares of slots between jobs."""
    return snapshot.of_job(Column.RUNNING, rows)


def fewest_unfinished(snapshot: Snapshot, rows: NDArray[np.intp]) -> FloatArray:
    """Number of the job's tasks that have not ended, running ones included.

    Source: the order of the public simulator of Megha.
    """
    return snapshot.of_job(Column.TASKS, rows) - snapshot.of_job(Column.FINISHED, rows)


def estimated_work(snapshot: Snapshot, rows: NDArray[np.intp]) -> FloatArray:
    """Slot-seconds that the job's waiting tasks will take, by the submitter's estimate."""
    return snapshot.of_job(Column.WAITING, rows) * snapshot.of_job(Column.ESTIMATE_S, rows)


def learnt_work(snapshot: Snapshot, rows: NDArray[np.intp]) -> FloatArray:
    """Slot-seconds that the job's waiting tasks are expected to take, by what was learnt, within the horizon.

    Of a job that has not begun: what it costs to try it (`DurationModel.trial_work`).
    """
    jobs = snapshot.job_columns(rows)
    has_begun = jobs[Column.RUNNING] + jobs[Column.FINISHED] > 0.0
    work_s = jobs[Column.WAITING] * jobs[Column.COUNTED_S]
    keys: FloatArray = np.where(has_begun, work_s, jobs[Column.TRIAL_S])
    return keys


def least_share(snapshot: Snapshot, rows: NDArray[np.intp]) -> FloatArray:
    """Dominant share of what the job's running tasks hold: dominant resource fairness between jobs."""
    return snapshot.of_job(Column.SHARE, rows)


class World(Enum):
    """Worlds, by who launches tasks in them."""

    YARN = "yarn"
    """Real ResourceManagers."""
    YARN_SIM = "yarn-sim"
    """Modelled ResourceManagers in virtual time."""
    DIRECT = "direct"
    """The masters launch by themselves, as the papers assume."""


class Fact(Enum):
    """Facts that a policy may depend on; the value completes "it needs ..."."""

    VECTORS = "demands of more than one resource"
    DAG = "the stages of each job and what each stage needs"
    LOCALITY = "the places where each task's data is"
    DEADLINES = "the deadline of each job"
    LONG_RUNNING = "which jobs are long-running services"
    ESTIMATES = "how long tasks run, as the submitter states it"
    CONSTRAINTS = "the constraints between containers"
    DIRECT_LAUNCH = "masters that launch tasks on nodes by themselves"
    NODE_QUEUES = "a queue at each node that a scheduler may write to"
    SHARED_STATE = "the whole cell's state, to commit transactions to"


WORLD_FACTS: Mapping[World, frozenset[Fact]] = MappingProxyType(
    {
        World.YARN: frozenset(),
        World.YARN_SIM: frozenset(),
        World.DIRECT: frozenset({Fact.DIRECT_LAUNCH, Fact.NODE_QUEUES, Fact.SHARED_STATE}),
    }
)
"""What each world provides by itself; everything else comes with the workload."""

WORKLOAD_FACTS = frozenset(Fact).difference(*WORLD_FACTS.values())
"""What a workload may tell."""


class QueueOrder(Enum):
    """Orders of queues, before the jobs in them; the policy's kernel orders those."""

    NONE = "none"
    OWED_FIRST = "owed-first"
    """Those below their share before all others (Megha, algorithm 2)."""
    MOST_OWED_FIRST = "most-owed-first"
    """By how far below its share each is, in shares: a queue at half of its share before one at two thirds."""


@dataclass(frozen=True, slots=True)
class Ordering:
    """Order of pending requests.

    Attributes:
        learns_durations: Whether the kernel reads `Column.EXPECTED_S`, `COUNTED_S` or `TRIAL_S`.
        has_horizon: Whether the kernel reads `Column.COUNTED_S` within a horizon, by how long somebody has waited
            (`horizon_of`). Local Masters know that by their bids.
        beliefs: What is taken for granted of durations, if it learns them.
    """

    kernel: OrderingKernel
    queues: QueueOrder = QueueOrder.OWED_FIRST
    learns_durations: bool = False
    has_horizon: bool = False
    reads_shares: bool = False
    beliefs: DurationBeliefs = USUAL_BELIEFS


class CellChoice(Enum):
    """Ways to search the cells (partitions, clusters)."""

    RANDOM = "random"
    """From a random place on (Megha's public simulator), in a cell from a random node on.

    Global Masters with the same view seldom choose the same node.
    """
    BY_ROOM = "by-room"
    """All at once, in proportion to what each has room for times its weight; nodes one after the other, to the full."""


PlacementKernel = Callable[[Snapshot, dict[str, object], Sequence[int]], Plan]
"""From a snapshot, what the policy remembers (written by it, under its name), and rows of requests in order to a plan.

It is pure but for that memory, draws nothing, and grants by `FreeCapacity`, so that it never grants more than there is.
"""

RankKernel = Callable[[Snapshot, dict[str, object], Sequence[int], Plan], Iterable[tuple[int, int]]]
"""From what a `PlacementKernel` is told, and its plan, to what it would start next if places came free.

Rows of requests, the next first, each with how many of its containers; a row may come several times. What it holds on
purpose is not among them.
"""


@dataclass(frozen=True, slots=True)
class Placement:
    """Placement of requests on cells and nodes.

    Attributes:
        kernel: Decides by itself instead of a search; `cells` then says nothing.
        scope: How closely a grant names its place: a node, or a cluster whose own scheduler picks the node. Nodes are
            matched in either case, so that nothing is counted on twice.
        samples: How many sub-clusters are drawn for a request, to be asked for all of it at once, whatever is free
            there; 0 where requests are placed. Only in queues of real clusters, whose schedulers have queues.
        rank: Order of what `kernel` left waiting: schedulers of real clusters are asked for as many of it as come free
            soon, before there is room.
    """

    cells: CellChoice
    scope: Scope = Scope.NODE
    kernel: PlacementKernel | None = None
    samples: int = 0
    rank: RankKernel = in_turn


@dataclass(frozen=True, slots=True)
class Commitment:
    """Commitment of a match: a Local Master verifies it in every world.

    Attributes:
        answers_acceptance: Whether a Local Master answers accepted launches at once. Otherwise its next report says so.
        bids: Whether waiting work bids for capacity that comes free, which Local Masters then offer.
        ranks_per_octave: How finely bids tell urgencies apart: so many steps for each doubling.
        bids_per_launch: Renewed bids that each launch pays for; bounds the messages of a task, whatever the load is
            like.
        renewal_octaves: How much more urgent a need has to be, in doublings, for a bid to be renewed on its own though
            it overtakes no other bid.
        beats_when_quiet: Whether a Local Master leaves a heartbeat out for whom it told something since the one before,
            as every report says all that has changed. Otherwise heartbeats go to everybody, as in Megha.
        kept_for_short: Part of the nodes that tasks which run long leave free for short ones, where most jobs are short
            and take next to nothing (`DurationModel.long_from_s`).
    """

    answers_acceptance: bool = True
    bids: bool = False
    ranks_per_octave: float = 4.0
    bids_per_launch: float = 2.5
    renewal_octaves: float = 1.0
    beats_when_quiet: bool = False
    kept_for_short: float = 0.0

    def kept_of(self, n_nodes: int) -> int:
        return round(self.kept_for_short * n_nodes)


class Reallocation(Enum):
    """Means of taking capacity back while somebody entitled waits."""

    NONE = "none"
    QUEUE_SHARE = "queue-share"
    """Tasks of the queue that is furthest above its share (Megha, algorithm 2)."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Arrays for one solver, and the plan that stands until it answers.

    Attributes:
        solver: A name of `shim.scheduling.solvers.SOLVERS`.
        notes: What `finish` has to know, and no solver.
    """

    solver: str
    greedy: Plan
    arrays: Mapping[str, object]
    notes: object = None


class Solver(Protocol):
    """The two halves of a policy whose plan is computed beside the cycle, while the world moves on."""

    def prepare(self, snapshot: Snapshot, greedy: Plan) -> Problem | None:
        """State the problem; None when the greedy plan is as good as any."""
        ...

    def finish(self, now: Snapshot, problem: Problem, answer: object | None) -> Plan:
        """Make a plan of the answer, verified against what holds now; the greedy one if there is no answer."""
        ...


@dataclass(frozen=True, slots=True)
class Policy:
    """Ordering x placement x commitment x reallocation.

    Attributes:
        source: Where it was published; empty for Heddle's own.
        needs: Facts that it cannot do without.
        solver: Plans beside the cycle, if it does.
        solves_gangs: Whether the solver knows gangs; while one waits, the greedy plans of other solvers stand.
        is_solved_apart: Whether only services wait for the solver, in a queue: its cycles go on without them.
        plans_in_cycles: Whether what is new waits for a queue's next cycle even where nobody else waits: its solver may
            let it wait for a better place, which the greedy plan does not.
        rules: What it goes by, a dataclass whose fields may be parameters; `remake` makes the policy with others.
    """

    name: str
    ordering: Ordering
    placement: Placement
    commitment: Commitment = field(default_factory=Commitment)
    reallocation: Reallocation = Reallocation.NONE
    summary: str = ""
    source: str = ""
    needs: frozenset[Fact] = frozenset()
    uses: frozenset[Fact] = frozenset()
    solver: Solver | None = None
    solves_gangs: bool = False
    is_solved_apart: bool = False
    plans_in_cycles: bool = False
    rules: Any = None
    remake: Callable[[Any], "Policy"] | None = None

    def __post_init__(self) -> None:
        if self.ordering.has_horizon and not self.commitment.bids:
            raise ValueError(f"policy {self.name} has a horizon, but bids for nothing: it is known by bids alone")

    def goes_by(self, fact: Fact) -> bool:
        return fact in self.needs or fact in self.uses

    def with_parameters(self, raw: Mapping[str, object]) -> "Policy":
        """The policy with other values of its parameters, as TOML or a text has them.

        Raises:
            BadRequestError: One is no parameter of it, or a value is not allowed; the message says what is.
        """
        values: Mapping[str, ParameterValue] = checked_values(self, raw)
        return self if not values or self.remake is None else self.remake(with_values(self.rules, values))


def refusal(name: str, needs: frozenset[Fact], world: World, known: frozenset[Fact]) -> str:
    """Say why a policy cannot run in a world on a workload; empty if it can.

    Args:
        needs: What it cannot do without.
        world: Where it shall run.
    """
    lacking = sorted(fact.value for fact in needs - known - WORLD_FACTS[world])
    return f"{name} cannot run in {world.value} on this workload: it needs {'; '.join(lacking)}" if lacking else ""
