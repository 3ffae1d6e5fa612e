"""Pigeon (Wang et al., SoCC 2019): workers in groups, a master in each, short tasks first.

A distributor spreads the tasks of a job evenly over the masters, what is left over to random ones. A master gives a
task to a free worker of its group or queues it: short ones and long ones apart. A free worker takes a short task;
after `FAIR_WEIGHT` of them in a row a long one, if one waits. Two workers of each group are reserved for short tasks.

With placement constraints (the variant in the constraint-aware Megha simulator) each task goes to one master, drawn
by what the distributor knows of its group, which is a summary (`_summary`); there the least capable free worker that
satisfies the constraints runs it. No worker is reserved then, and the weight is 20.

The published simulator gives every reserved worker to all masters after its own, so that one worker runs several
tasks at once; here each worker belongs to one group.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from shim.simulation.free_workers import FreeWorkers
from shim.simulation.results import RunOutcome
from shim.simulation.run import Run
from shim.simulation.traces import TraceJob

GROUP_SIZE = 100
RESERVED = 2
FAIR_WEIGHT = 100_000
CONSTRAINED_FAIR_WEIGHT = 20


@dataclass(frozen=True, slots=True)
class _Task:
    job: TraceJob
    number: int
    constraints: int
    is_short: bool


@dataclass(slots=True)
class _GroupMaster:
    """A group: its free workers and its two queues."""

    shared: FreeWorkers
    reserved: FreeWorkers
    reserved_numbers: frozenset[int]
    short: deque[_Task] = field(default_factory=deque)
    long: deque[_Task] = field(default_factory=deque)
    short_in_a_row: int = 0


class _Pigeon:
    def __init__(self, run: Run) -> None:
        setting = run.setting
        self._run = run
        self._rng = run.rng("pigeon")
        self._bits = setting.worker_constraints
        self._weight = CONSTRAINED_FAIR_WEIGHT if self._bits else FAIR_WEIGHT
        size = setting.group_size or GROUP_SIZE
        groups = [range(first, min(first + size, setting.n_workers)) for first in range(0, setting.n_workers, size)]
        self._masters = [self._master(group, setting.slots_per_worker) for group in groups]
        summaries = [_summary(self._bits[group.start : group.stop]) for group in groups]
        self._kinds = np.array([kind for summary in summaries for kind in summary], dtype=np.int64)
        self._kind_counts = np.array([count for summary in summaries for count in summary.values()], dtype=np.int64)
        self._kind_starts = np.cumsum([0, *map(len, summaries[:-1])])
        self._weights: dict[int, list[int]] = {}

    def _master(self, group: range, slots_per_worker: int) -> _GroupMaster:
        n_reserved = 0 if self._bits else min(RESERVED, len(group) - 1)
        reserved, shared = group[:n_reserved], group[n_reserved:]
        return _GroupMaster(
            shared=FreeWorkers(shared, self._bits, slots_per_worker),
            reserved=FreeWorkers(reserved, (), slots_per_worker),
            reserved_numbers=frozenset(reserved),
        )

    def simulate(self) -> RunOutcome:
        self._run.start_arrivals(self._arrive)
        self._run.engine.run()
        return self._run.outcome("pigeon", uses_estimates=True)

    # Distributors.

    def _arrive(self, job: TraceJob) -> None:
        is_short = self._run.workload.is_short(job)
        for number, master in enumerate(self._spread(job)):
            task = _Task(job, number, job.constraints_of(number), is_short)
            self._run.network.send("task", self._receive, self._masters[master], task)

    def _spread(self, job: TraceJob) -> list[int]:
        """The master of each task."""
        everyone = range(len(self._masters))
        if self._bits:
            return [
                self._rng.choices(everyone, cum_weights=self._known_able(job.constraints_of(task)))[0]
                for task in range(job.n_tasks)
            ]
        rounds, rest = divmod(job.n_tasks, len(everyone))
        return [*everyone] * rounds + self._rng.sample(everyone, rest)

    def _known_able(self, constraints: int) -> Sequence[int]:
        """For each master, how many workers its summary says satisfy the constraints, summed up to that master."""
        if constraints not in self._weights:
            counts = np.where((self._kinds & constraints) == constraints, self._kind_counts, 0)
            self._weights[constraints] = np.cumsum(np.add.reduceat(counts, self._kind_starts)).tolist()
        return self._weights[constraints]

    # Masters.

    def _receive(self, master: _GroupMaster, task: _Task) -> None:
        worker = master.shared.take(task.constraints)
        if worker is None and task.is_short:
            worker = master.reserved.take()
        if worker is None:
            (master.short if task.is_short else master.long).append(task)
        else:
            self._launch(master, task, worker)

    def _worker_idle(self, master: _GroupMaster, worker: int) -> None:
        is_reserved = worker in master.reserved_numbers
        short_first = is_reserved or not master.long or master.short_in_a_row <= self._weight
        queues = (master.short, master.long) if short_first else (master.long, master.short)
        for queue in queues[:1] if is_reserved else queues:
            task = self._take_fitting(queue, worker)
            if task is not None:
                master.short_in_a_row = master.short_in_a_row + 1 if queue is master.short else 0
                self._launch(master, task, worker)
                return
        (master.reserved if is_reserved else master.shared).give_back(worker)

    def _take_fitting(self, queue: deque[_Task], worker: int) -> _Task | None:
        if not self._bits:
            return queue.popleft() if queue else None
        missing = ~self._bits[worker]
        for position, task in enumerate(queue):
            if not task.constraints & missing:
                del queue[position]
                return task
        return None

    def _launch(self, master: _GroupMaster, task: _Task, worker: int) -> None:
        self._run.network.send("launch", self._start, master, task, worker)

    # Workers.

    def _start(self, master: _GroupMaster, task: _Task, worker: int) -> None:
        duration_s = self._run.ledger.start(task.job.index, task.number, self._run.engine.now_s)
        self._run.engine.after(duration_s, self._end, master, task, worker)

    def _end(self, master: _GroupMaster, task: _Task, worker: int) -> None:
        self._run.ledger.end(task.job.index, task.number, self._run.engine.now_s)
        self._run.network.count("completion")
        self._run.network.send("idle worker", self._worker_idle, master, worker)


def _summary(workers: Sequence[int]) -> dict[int, int]:
    """Summarise a group for a distributor: sets of constraints and how many workers stand behind each.

    A worker counts for every set known so far that contains its own, and is a new set if there is none. The summary
    therefore never misses an able worker but overstates how many there are of the most capable kind, and tasks with
    rare constraints pile up in groups that have few workers for them.
    """
    known: dict[int, int] = {}
    for own in workers:
        containing = [kind for kind in known if kind & own == own]
        for kind in containing:
            known[kind] += 1
        if not containing:
            known[own] = 1
    return known


def pigeon(run: Run) -> RunOutcome:
    return _Pigeon(run).simulate()
