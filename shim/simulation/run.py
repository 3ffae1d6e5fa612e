"""One run: a setting, a workload, and the engine, network and ledger that every simulated scheduler uses.

A simulated scheduler is a function `(Run) -> Outcome`: it puts arrivals into the engine (`Run.start_arrivals`), runs
it, and returns `Run.outcome(name)`, to which it adds its own counters.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from shim.errors import BadRequestError
from shim.simulation.engine import Engine, seeded
from shim.simulation.network import HOP_S, Network
from shim.simulation.results import JobLedger, RunOutcome
from shim.simulation.traces import TraceJob, Workload

__all__ = ["HomeRule", "Run", "Setting"]


class HomeRule(Enum):
    """Rules for the Global Master that a job belongs to; they stand for "a queue belongs to one Global Master"."""

    TASKS = "tasks"
    """By its number of tasks modulo the number of Global Masters: the rule of Megha's public simulator."""
    ROUND_ROBIN = "round-robin"
    """One after the other, in the order of arrival."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Parameters of a run.

    Attributes:
        n_workers: Workers, numbered from 0.
        slots_per_worker: Tasks that a worker runs at the same time.
        n_gms: Global Masters; for other systems, their distributed schedulers.
        n_lms: Local Masters; for other systems, their groups of workers (contiguous ranges of worker numbers).
        seed: Seed of every random source of the run.
        heartbeat_s: Interval of the LMs' heartbeats in seconds.
        hop_s: Latency of one hop in seconds.
        loss: Probability that a message is lost.
        uses_estimates: Whether a policy that could learn durations is told the trace's mean instead.
        home_rule: Which Global Master a job belongs to.
        group_size: Workers of a group, for Pigeon; None for its own number.
        worker_constraints: For each worker, the bits of the constraints it satisfies; empty when there are none.
    """

    n_workers: int
    slots_per_worker: int = 1
    n_gms: int = 4
    n_lms: int = 25
    seed: int = 1
    heartbeat_s: float = 30.0
    hop_s: float = HOP_S
    loss: float = 0.0
    uses_estimates: bool = False
    home_rule: HomeRule = HomeRule.TASKS
    group_size: int | None = None
    worker_constraints: tuple[int, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        """Refuse sizes that no cluster can have.

        Raises:
            BadRequestError: If there are fewer workers than Local Masters, or constraints of another number of workers.
        """
        if self.n_workers < self.n_lms:
            raise BadRequestError(f"{self.n_lms} Local Masters share {self.n_workers} workers: each needs one at least")
        if self.worker_constraints and len(self.worker_constraints) != self.n_workers:
            raise BadRequestError(
                f"constraints of {len(self.worker_constraints)} workers were given for {self.n_workers} workers:"
                " make the two numbers equal"
            )

    @property
    def n_slots(self) -> int:
        """Slots of all workers."""
        return self.n_workers * self.slots_per_worker


class Run:
    """The parts of one run, wired together.

    Attributes:
        workload: The jobs.
        setting: Sizes, seed and the rules of the network.
        engine: The queue of actions.
        network: Delivers and counts messages.
        ledger: Books starts and ends of tasks.
    """

    def __init__(self, workload: Workload, setting: Setting, on_job_end: Callable[[], object] = lambda: None) -> None:
        self.workload = workload
        self.setting = setting
        self.engine = Engine(workload.jobs[0].arrival_s)
        self.network = Network(self.engine, self.rng("network"), hop_s=setting.hop_s, loss=setting.loss)
        self.ledger = JobLedger(workload, setting.n_slots, on_job_end)

    def rng(self, purpose: str) -> random.Random:
        """A random source of its own for one purpose, seeded by the run's seed."""
        return seeded(self.setting.seed, purpose)

    def start_arrivals(self, on_arrival: Callable[[TraceJob], object]) -> None:
        """Call `on_arrival` for each job at its arrival; at any time only the next arrival waits in the queue."""
        self._arrive(0, on_arrival)

    def _arrive(self, index: int, on_arrival: Callable[[TraceJob], object]) -> None:
        jobs = self.workload.jobs
        while index < len(jobs) and jobs[index].arrival_s <= self.engine.now_s:
            on_arrival(jobs[index])
            index += 1
        if index < len(jobs):
            self.engine.at(jobs[index].arrival_s, self._arrive, index, on_arrival)

    def outcome(self, policy: str, *, uses_estimates: bool = False) -> RunOutcome:
        """The ledger's outcome with the network's counts.

        Raises:
            InvariantViolationError: If jobs have not ended.
        """
        outcome = self.ledger.outcome(policy, uses_estimates=uses_estimates)
        outcome.messages = self.network.traffic.messages
        outcome.size_bytes = self.network.traffic.size_bytes
        return outcome
