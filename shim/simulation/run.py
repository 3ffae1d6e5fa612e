"""One run: a setting, a workload, and the engine, network and ledger that every simulated scheduler uses.

A simulated scheduler is a function `(Run) -> Outcome`: it puts arrivals into the engine (`Run.start_arrivals`), runs
it, and returns `Run.outcome(name)`, to which it adds its own counters.
"""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import partial

from shim.errors import BadRequestError
from shim.simulation.engine import Engine, seeded
from shim.simulation.results import JobLedger, RunOutcome
from shim.simulation.traces import TraceJob, Workload

# The network between simulated parts: latency, loss, and a count of every message and its bytes.

HOP_S = 0.0005
"""Latency of one hop in seconds, as in the simulators of Sparrow, Eagle, Pigeon and Megha."""
REPEAT_S = 1.0
"""From one heartbeat of a node to the next."""


@dataclass(slots=True)
class MessageCounts:
    """Counts of messages by kind.

    Attributes:
        messages: How many were sent; a batch is one message. Lost ones count: they were sent.
        size_bytes: Their bytes. A kind whose size is never given counts zero bytes.
        lost: How many never arrived.
    """

    messages: Counter[str] = field(default_factory=Counter)
    size_bytes: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)


class Network:
    """Delivers messages by putting their receipt into the engine's queue.

    Messages of equal latency arrive in the order in which they were sent.

    Attributes:
        hop_s: Latency of a hop in seconds.
        loss: Probability in [0, 1) that a message never arrives.
    """

    __slots__ = ("_engine", "_rng", "hop_s", "loss", "traffic")

    def __init__(self, engine: Engine, rng: random.Random, *, hop_s: float = HOP_S, loss: float = 0.0) -> None:
        self._engine = engine
        self._rng = rng
        self.hop_s = hop_s
        self.loss = loss
        self.traffic = MessageCounts()

    def send(
        self, kind: str, deliver: Callable[..., object], *arguments: object, hops: int = 1, size_bytes: int = 0
    ) -> None:
        """Send one message of `kind`: `deliver(*arguments)` runs after `hops` hops, unless the message is lost."""
        self.count(kind, size_bytes=size_bytes)
        if self.loss and self._rng.random() < self.loss:
            self.traffic.lost[kind] += 1
            return
        self._engine.after(self.hop_s * hops, deliver, *arguments)

    def send_again(self, kind: str, deliver: Callable[..., object], *arguments: object, size_bytes: int = 0) -> None:
        """Send one message to or from a node; it is repeated after `REPEAT_S` until it arrives, each time counted."""
        self.count(kind, size_bytes=size_bytes)
        if self.loss and self._rng.random() < self.loss:
            self.traffic.lost[kind] += 1
            self._engine.after(REPEAT_S, partial(self.send_again, size_bytes=size_bytes), kind, deliver, *arguments)
            return
        self._engine.after(self.hop_s, deliver, *arguments)

    def count(self, kind: str, *, number: int = 1, size_bytes: int = 0) -> None:
        """Count messages that need no delivery of their own (their effect travels with another action)."""
        self.traffic.messages[kind] += number
        if size_bytes:
            self.traffic.size_bytes[kind] += size_bytes


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
        return self.n_workers * self.slots_per_worker


class Run:
    """The parts of one run, wired together.

    Attributes:
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
