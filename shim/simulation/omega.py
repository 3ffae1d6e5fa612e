"""Omega (Schwarzkopf et al., EuroSys 2013): schedulers in parallel on shared state, conflicts found at commit.

- Ordering: each scheduler serves its own queue, first come first served; a job not fully placed goes to its end.
- Placement: randomised first fit on a private copy of the whole cell's state, as old as the decision takes.
- Commitment: one transaction for a job's claims. A claim conflicts if its node has no room left (*resource fit*) or
  if anything was claimed there since the copy was taken (*sequence numbers*). Conflicting claims fail alone
  (*incremental*) or take the whole transaction with them (*all or nothing*).
- Reallocation: none.

A claim that is rolled back gives its resources back but leaves its mark on the node's sequence number, as in the
simulator that the authors published.

The second half of this module runs it in simulated time: a scheduler takes a private copy of the cell, thinks as
long as `OmegaThinking` says, and commits. A job that is not fully placed comes back after `RETRY_S`.
Messages take no time of their own: what a decision takes is its think time, as in the simulator that the authors
published.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from shim.errors import BadRequestError
from shim.scheduling.placements import PolicyRandom
from shim.simulation.results import RunOutcome
from shim.simulation.run import Run
from shim.simulation.traces import TraceJob


class ConflictMode(Enum):
    """Condition of a conflict."""

    RESOURCE_FIT = "resource-fit"
    SEQUENCE_NUMBERS = "sequence-numbers"


class TransactionMode(Enum):
    """Effect of a conflict on the other claims of its transaction."""

    INCREMENTAL = "incremental"
    ALL_OR_NOTHING = "all-or-nothing"


@dataclass(frozen=True, slots=True)
class OmegaRules:
    """The choices that the paper compares; the defaults are what it recommends."""

    conflict: ConflictMode = ConflictMode.RESOURCE_FIT
    transaction: TransactionMode = TransactionMode.INCREMENTAL


OMEGA = OmegaRules()


class CellState:
    """Free resources and a sequence number for each node.

    Attributes:
        free: int64 array of shape (n_nodes, n_resources).
        sequence: int64 array of shape (n_nodes,); counts the claims made on each node.
    """

    __slots__ = ("free", "sequence")

    def __init__(self, free: NDArray[np.int64], sequence: NDArray[np.int64] | None = None) -> None:
        self.free = free
        self.sequence = np.zeros(len(free), dtype=np.int64) if sequence is None else sequence

    def copy(self) -> "CellState":
        """A private copy to decide on."""
        return CellState(self.free.copy(), self.sequence.copy())

    def claim(self, node: int, demand: NDArray[np.int64]) -> None:
        self.free[node] -= demand
        self.sequence[node] += 1

    def release(self, node: int, demand: NDArray[np.int64]) -> None:
        """Give the demand back; the sequence number stays."""
        self.free[node] += demand


@dataclass(frozen=True, slots=True)
class Claim:
    """One task on one node, and the node's sequence number when it was decided."""

    node: int
    sequence: int


@dataclass(frozen=True, slots=True)
class Commit:
    """Outcome of a transaction.

    Attributes:
        conflicts: How many claims failed by themselves; with all or nothing the search ends at the first.
    """

    accepted: tuple[Claim, ...]
    conflicts: int


def place(state: CellState, n_tasks: int, demand: NDArray[np.int64], rng: PolicyRandom) -> list[Claim]:
    """Place as many tasks as fit, each on a random node that still has room.

    Args:
        demand: int64 array of shape (n_resources,), positive somewhere.
        rng: Where nodes are drawn from.
    """
    asked = demand > 0
    room = np.min(state.free[:, asked] // demand[asked], axis=1)
    open_nodes = np.flatnonzero(room > 0)
    # [node, tasks that still fit, sequence number after the claims so far]
    candidates = np.stack([open_nodes, room[open_nodes], state.sequence[open_nodes]], axis=1).tolist()
    claims: list[Claim] = []
    while candidates and len(claims) < n_tasks:
        index = rng.randrange(len(candidates))
        candidate = candidates[index]
        claims.append(Claim(candidate[0], candidate[2]))
        candidate[1] -= 1
        candidate[2] += 1
        if not candidate[1]:
            candidates[index] = candidates[-1]
            candidates.pop()
    return claims


def commit(cell: CellState, claims: list[Claim], demand: NDArray[np.int64], rules: OmegaRules) -> Commit:
    """Commit a transaction to the shared state."""
    accepted: list[Claim] = []
    conflicts = 0
    for claim in claims:
        if not _conflicts(cell, claim, demand, rules.conflict):
            cell.claim(claim.node, demand)
            accepted.append(claim)
            continue
        conflicts += 1
        if rules.transaction is TransactionMode.ALL_OR_NOTHING:
            for rolled_back in accepted:
                cell.release(rolled_back.node, demand)
            return Commit((), conflicts)
    return Commit(tuple(accepted), conflicts)


def _conflicts(cell: CellState, claim: Claim, demand: NDArray[np.int64], mode: ConflictMode) -> bool:
    if mode is ConflictMode.SEQUENCE_NUMBERS:
        return bool(cell.sequence[claim.node] != claim.sequence)
    return bool((cell.free[claim.node] < demand).any())


RETRY_S = 1.0
_DEMAND = np.ones(1, dtype=np.int64)

OMEGA_VARIANTS = {
    "omega": OMEGA,
    "omega-all-or-nothing": OmegaRules(transaction=TransactionMode.ALL_OR_NOTHING),
    "omega-sequence-numbers": OmegaRules(conflict=ConflictMode.SEQUENCE_NUMBERS),
    "omega-sequence-numbers-all-or-nothing": OmegaRules(ConflictMode.SEQUENCE_NUMBERS, TransactionMode.ALL_OR_NOTHING),
}


@dataclass(frozen=True, slots=True)
class OmegaThinking:
    """Time of a scheduler's decision on a job, in seconds."""

    job_s: float = 0.1
    task_s: float = 0.005


@dataclass(slots=True)
class _Waiting:
    """A job and its tasks that are not placed.

    Attributes:
        is_redone: Whether its last transaction had a conflict, so that the next decision on it is there for that alone.
        is_begun: Whether a scheduler has taken it up.
    """

    job: TraceJob
    tasks: deque[int]
    is_redone: bool = False
    is_begun: bool = False


@dataclass(slots=True, eq=False)
class _Scheduler:
    """One scheduler: its queue and its counters.

    Attributes:
        transactions: Commits, and `conflicted` those of them with a conflict.
        claims: Claims of all transactions, and `conflicts` those of them that failed by themselves.
        busy_s: Time spent on decisions, and `redoing_s` the part of it for jobs whose last transaction had a conflict.
        waits_s: Of each job, from its arrival until the scheduler took it up.
    """

    thinking: OmegaThinking
    queue: deque[_Waiting] = field(default_factory=deque)
    is_busy: bool = False
    transactions: int = 0
    conflicted: int = 0
    claims: int = 0
    conflicts: int = 0
    busy_s: float = 0.0
    redoing_s: float = 0.0
    waits_s: list[float] = field(default_factory=list)


class OmegaCell:
    """The shared cell and its schedulers.

    Attributes:
        schedulers: In the order of `thinking`.
    """

    def __init__(
        self, run: Run, rules: OmegaRules, thinking: Sequence[OmegaThinking], scheduler_of: Callable[[TraceJob], int]
    ) -> None:
        setting = run.setting
        self._run = run
        self._rules = rules
        self._rng = run.rng("omega")
        self._cell = CellState(np.full((setting.n_workers, 1), setting.slots_per_worker, dtype=np.int64))
        self._scheduler_of = scheduler_of
        self.schedulers = [_Scheduler(one) for one in thinking]

    def start(self) -> None:
        """Put the arrivals into the engine."""
        self._run.start_arrivals(self._arrive)

    def _arrive(self, job: TraceJob) -> None:
        scheduler = self.schedulers[self._scheduler_of(job)]
        self._enqueue(scheduler, _Waiting(job, deque(range(job.n_tasks))))

    def _enqueue(self, scheduler: _Scheduler, waiting: _Waiting) -> None:
        scheduler.queue.append(waiting)
        self._next(scheduler)

    def _next(self, scheduler: _Scheduler) -> None:
        if scheduler.is_busy or not scheduler.queue:
            return
        waiting = scheduler.queue.popleft()
        scheduler.is_busy = True
        thinking = scheduler.thinking
        think_s = thinking.job_s + thinking.task_s * len(waiting.tasks)
        if not waiting.is_begun:
            waiting.is_begun = True
            scheduler.waits_s.append(self._run.engine.now_s - waiting.job.arrival_s)
        self._run.engine.after(think_s, self._decide, scheduler, waiting, self._cell.copy(), think_s)

    def _decide(self, scheduler: _Scheduler, waiting: _Waiting, private: CellState, took_s: float) -> None:
        scheduler.busy_s += took_s
        scheduler.redoing_s += took_s if waiting.is_redone else 0.0
        claims = place(private, len(waiting.tasks), _DEMAND, self._rng)
        waiting.is_redone = False
        if claims:
            result = commit(self._cell, claims, _DEMAND, self._rules)
            self._run.network.count("transaction", number=2)
            scheduler.transactions += 1
            scheduler.conflicted += bool(result.conflicts)
            scheduler.claims += len(claims)
            scheduler.conflicts += result.conflicts
            waiting.is_redone = bool(result.conflicts)
            for claim in result.accepted:
                self._start(waiting, claim.node)
        if waiting.tasks:
            self._run.engine.after(RETRY_S, self._enqueue, scheduler, waiting)
        scheduler.is_busy = False
        self._next(scheduler)

    def _start(self, waiting: _Waiting, node: int) -> None:
        run, task = self._run, waiting.tasks.popleft()
        duration_s = run.ledger.start(waiting.job.index, task, run.engine.now_s)
        run.engine.after(duration_s, self._end, waiting.job.index, task, node)

    def _end(self, job: int, task: int, node: int) -> None:
        self._run.ledger.end(job, task, self._run.engine.now_s)
        self._run.network.count("completion")
        self._cell.release(node, _DEMAND)


def omega(policy: str) -> Callable[[Run], RunOutcome]:
    """The simulator of one variant; jobs go round-robin to as many schedulers as the setting has Global Masters."""

    def simulate(run: Run) -> RunOutcome:
        if run.setting.worker_constraints:
            raise BadRequestError("omega knows no placement constraints here: leave out the policy or --constraints")
        n_schedulers = run.setting.n_gms
        cell = OmegaCell(
            run, OMEGA_VARIANTS[policy], [OmegaThinking()] * n_schedulers, lambda job: job.index % n_schedulers
        )
        cell.start()
        run.engine.run()
        outcome = run.outcome(policy)
        outcome.inconsistencies["external"] = sum(one.conflicted for one in cell.schedulers)
        return outcome

    return simulate
