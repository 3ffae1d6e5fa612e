"""Sparrow (Ousterhout et al., SOSP 2013): batch sampling, late binding, proactive cancellation, constraints.

- *Batch sampling* (section 3.4): a job of m tasks puts `probe_ratio` x m reservations into the queues of randomly
  drawn nodes, all at once, so that its tasks share what the probes find.
- *Late binding* (section 3.5): a reservation names the job alone. When it reaches the head of its queue and a slot is
  free, the node asks for a task, and gets the job's next one, or nothing.
- *Proactive cancellation* (section 3.6): when the last task is bound, the reservations left over are withdrawn.
- *Constraints* (section 3.7): tasks of equal constraints form one batch, whose nodes are drawn among those that
  satisfy them.

Ordering is first come, first served in each node's queue, which its Local Master holds. Nothing is taken back.

The second half of this module runs it in simulated time, with the variants that its paper compares.
"""

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

import numpy as np

from shim.simulation.results import RunOutcome
from shim.simulation.run import Run
from shim.simulation.traces import TraceJob


class SamplingSource(Protocol):
    """The part of `random.Random` that sampling needs."""

    def sample(self, population: Sequence[int], k: int) -> list[int]:
        """Draw `k` different elements."""
        ...

    def choices(self, population: Sequence[int], *, k: int) -> list[int]:
        """Draw `k` elements, each from all."""
        ...


class Sampling(Enum):
    """Questions before a task is placed."""

    NONE = "none"
    """Nothing: each task goes to a random node."""
    PER_TASK = "per-task"
    """Each task asks `probe_ratio` nodes of its own and goes to the least loaded one."""
    BATCH = "batch"
    """The tasks of a batch share all their probes."""


@dataclass(frozen=True, slots=True)
class SparrowRules:
    """The choices that the paper compares; the defaults are Sparrow.

    Attributes:
        late_binding: Whether a node's queue holds reservations instead of tasks.
        cancellation: Whether left-over reservations are withdrawn.
        distinct_nodes: Whether the probes of a batch go to different nodes.
    """

    probe_ratio: int = 2
    sampling: Sampling = Sampling.BATCH
    late_binding: bool = True
    cancellation: bool = True
    distinct_nodes: bool = True


@dataclass(frozen=True, slots=True)
class Batch:
    """Tasks of one job that ask for the same constraints."""

    job: int
    constraints: int
    tasks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Binding:
    """The answer to a node whose reservation is due.

    Attributes:
        task: The task to run; `None` when all have been given out.
        cancelled: Nodes that hold reservations of the batch which are not needed any more, one entry for each.
    """

    task: int | None
    cancelled: tuple[int, ...] = ()


@dataclass(slots=True)
class _Unbound:
    tasks: deque[int]
    reservations: Counter[int] = field(default_factory=Counter)


def batches_of(job: int, constraints: Sequence[int], n_tasks: int) -> list[Batch]:
    """Group the tasks of a job by their constraints; no constraints at all gives one batch."""
    groups: dict[int, list[int]] = {}
    for task in range(n_tasks):
        groups.setdefault(constraints[task] if constraints else 0, []).append(task)
    return [Batch(job, wanted, tuple(tasks)) for wanted, tasks in groups.items()]


def draw_nodes(rng: SamplingSource, candidates: Sequence[int], number: int, *, distinct: bool = True) -> list[int]:
    """Draw nodes; if `distinct`, none twice unless candidates are fewer than draws, then each as often as any other."""
    if not distinct:
        return rng.choices(candidates, k=number)
    rounds, rest = divmod(number, len(candidates))
    return [*candidates] * rounds + rng.sample(candidates, rest)


def least_loaded(rules: SparrowRules, n_tasks: int, nodes: Sequence[int], loads: Mapping[int, int]) -> list[int]:
    """Choose a node for each task by the loads that the probes found (early binding).

    Args:
        rules: Per-task or batch sampling.
        nodes: The probed nodes in the order of drawing; per-task sampling takes them in groups of `probe_ratio`.
        loads: Tasks queued at each probed node, less its free slots.
    """
    if rules.sampling is Sampling.BATCH:
        return sorted(nodes, key=loads.__getitem__)[:n_tasks]
    ratio = rules.probe_ratio
    return [min(nodes[ratio * task : ratio * (task + 1)], key=loads.__getitem__) for task in range(n_tasks)]


class SparrowScheduler:
    """One scheduler: it draws nodes for batches and binds tasks to reservations that are due."""

    def __init__(self, rules: SparrowRules) -> None:
        self._rules = rules
        self._unbound: dict[Batch, _Unbound] = {}

    def submit(self, batch: Batch, candidates: Sequence[int], rng: SamplingSource) -> list[int]:
        """Draw the nodes that get the reservations of a batch (late binding), probes or tasks (early binding).

        Args:
            candidates: The nodes that satisfy the batch's constraints; at least one.
        """
        rules = self._rules
        probes_per_task = 1 if rules.sampling is Sampling.NONE else rules.probe_ratio
        n_probes = probes_per_task * len(batch.tasks)
        nodes = draw_nodes(rng, candidates, n_probes, distinct=rules.distinct_nodes)
        if rules.late_binding:
            self._unbound[batch] = _Unbound(deque(batch.tasks), Counter(nodes))
        return nodes

    def bind(self, batch: Batch, node: int) -> Binding:
        """Give the next task of the batch to a node whose reservation is due."""
        unbound = self._unbound.get(batch)
        if unbound is None:
            return Binding(None)
        unbound.reservations[node] -= 1
        task = unbound.tasks.popleft()
        if unbound.tasks:
            return Binding(task)
        del self._unbound[batch]
        return Binding(task, tuple(unbound.reservations.elements()) if self._rules.cancellation else ())


class ReservationQueue:
    """The queue of one node, first come, first served, and its free slots."""

    __slots__ = ("_queue", "n_free")

    def __init__(self, n_slots: int) -> None:
        self._queue: deque[Batch] = deque()
        self.n_free = n_slots

    @property
    def load(self) -> int:
        """Load that a probe finds: entries in the queue, less free slots."""
        return len(self._queue) - self.n_free

    def reserve(self, batch: Batch) -> None:
        self._queue.append(batch)

    def cancel(self, batch: Batch) -> None:
        """Withdraw one reservation of the batch; nothing happens when it was served meanwhile."""
        if batch in self._queue:
            self._queue.remove(batch)

    def due(self) -> Batch | None:
        """Take the reservation that may be served now, and a slot for it; `None` when there is none."""
        if not self.n_free or not self._queue:
            return None
        self.n_free -= 1
        return self._queue.popleft()

    def free(self) -> None:
        """A slot is free again: a task ended, or there was none to run."""
        self.n_free += 1


SPARROW_VARIANTS = {
    "sparrow": SparrowRules(),
    "sparrow-late-binding": SparrowRules(cancellation=False),
    "sparrow-with-replacement": SparrowRules(cancellation=False, distinct_nodes=False),
    "sparrow-batch": SparrowRules(late_binding=False, cancellation=False),
    "sparrow-per-task": SparrowRules(sampling=Sampling.PER_TASK, late_binding=False, cancellation=False),
    "random": SparrowRules(sampling=Sampling.NONE, late_binding=False, cancellation=False),
}


class _Sparrow:
    """Schedulers, node queues and the messages between them; jobs go round-robin to the schedulers."""

    def __init__(self, run: Run, policy: str) -> None:
        setting = run.setting
        self._run = run
        self._policy = policy
        self._rules = SPARROW_VARIANTS[policy]
        self._rng = run.rng(policy)
        self._schedulers = [SparrowScheduler(self._rules) for _ in range(setting.n_gms)]
        self._queues = [ReservationQueue(setting.slots_per_worker) for _ in range(setting.n_workers)]
        self._everyone: Sequence[int] = range(setting.n_workers)
        self._bits = np.array(setting.worker_constraints, dtype=np.int64)
        self._able: dict[int, Sequence[int]] = {0: self._everyone}

    def simulate(self) -> RunOutcome:
        self._run.start_arrivals(self._arrive)
        self._run.engine.run()
        return self._run.outcome(self._policy)

    def _candidates(self, constraints: int) -> Sequence[int]:
        if constraints not in self._able:
            self._able[constraints] = np.flatnonzero((self._bits & constraints) == constraints).tolist()
        return self._able[constraints]

    def _scheduler_of(self, batch: Batch) -> SparrowScheduler:
        return self._schedulers[batch.job % len(self._schedulers)]

    def _arrive(self, job: TraceJob) -> None:
        send = self._run.network.send
        for batch in batches_of(job.index, job.constraints, job.n_tasks):
            nodes = self._scheduler_of(batch).submit(batch, self._candidates(batch.constraints), self._rng)
            if self._rules.late_binding:
                for node in nodes:
                    send("probe", self._reserve, batch, node)
            elif self._rules.sampling is Sampling.NONE:
                self._send_tasks(batch, nodes)
            else:
                self._run.network.count("probe", number=2 * len(nodes))
                self._run.engine.after(self._run.network.hop_s, self._measure, batch, nodes)

    # Early binding: the loads are read when the probes arrive, the tasks follow a round trip later.

    def _measure(self, batch: Batch, nodes: Sequence[int]) -> None:
        loads = {node: self._queues[node].load for node in nodes}
        chosen = least_loaded(self._rules, len(batch.tasks), nodes, loads)
        self._run.engine.after(self._run.network.hop_s, self._send_tasks, batch, chosen)

    def _send_tasks(self, batch: Batch, nodes: Sequence[int]) -> None:
        for task, node in zip(batch.tasks, nodes, strict=True):
            single = Batch(batch.job, batch.constraints, (task,))
            self._run.network.send("task", self._reserve, single, node)

    # Late binding: a due reservation asks its scheduler for a task.

    def _reserve(self, batch: Batch, node: int) -> None:
        self._queues[node].reserve(batch)
        self._serve(node)

    def _serve(self, node: int) -> None:
        batch = self._queues[node].due()
        if batch is None:
            return
        if self._rules.late_binding:
            self._run.network.send("task request", self._bind, batch, node)
        else:
            self._start(batch, batch.tasks[0], node)

    def _bind(self, batch: Batch, node: int) -> None:
        send = self._run.network.send
        binding = self._scheduler_of(batch).bind(batch, node)
        if binding.task is None:
            send("no task", self._freed, node)
        else:
            send("task", self._start, batch, binding.task, node)
        for other in binding.cancelled:
            send("cancellation", self._queues[other].cancel, batch)

    def _start(self, batch: Batch, task: int, node: int) -> None:
        duration_s = self._run.ledger.start(batch.job, task, self._run.engine.now_s)
        self._run.engine.after(duration_s, self._end, batch, task, node)

    def _end(self, batch: Batch, task: int, node: int) -> None:
        self._run.ledger.end(batch.job, task, self._run.engine.now_s)
        self._run.network.count("completion")
        self._freed(node)

    def _freed(self, node: int) -> None:
        self._queues[node].free()
        self._serve(node)


def sparrow(policy: str) -> Callable[[Run], RunOutcome]:
    """The simulator of one variant, by its name in `SPARROW_VARIANTS`."""
    return lambda run: _Sparrow(run, policy).simulate()
