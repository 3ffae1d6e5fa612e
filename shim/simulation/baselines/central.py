"""Central schedulers with perfect knowledge: the bounds that distributed ones are measured against.

One scheduler sees every slot. A decision takes no time; a launch and the news of an end take one hop each, as in
the centralised variant of Sparrow's simulator. The job with the smallest key gives the next task:

- `central-fifo`: arrival.
- `central-fewest-tasks`: tasks not yet launched; durations are not used.
- `central-srpt`: task-seconds not yet launched; all durations are known in advance.

These are heuristics, not strict limits: an order by *unfinished* tasks or work can do better.
"""

import heapq
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from shim.simulation.free_workers import FreeWorkers
from shim.simulation.results import RunOutcome
from shim.simulation.run import Run
from shim.simulation.traces import TraceJob


@dataclass(slots=True, order=True)
class _Waiting:
    """A job with tasks that wait. Launching one only ever makes its key smaller."""

    key: float = field(init=False)
    index: int
    job: TraceJob = field(compare=False)
    tasks: deque[int] = field(compare=False)
    work_s: float = field(compare=False)


_KEYS: Mapping[str, Callable[[_Waiting], float]] = {
    "central-fifo": lambda waiting: waiting.index,
    "central-fewest-tasks": lambda waiting: len(waiting.tasks),
    "central-srpt": lambda waiting: waiting.work_s,
}


class _Central:
    """One scheduler in front of all slots.

    Between two actions no waiting task fits a free slot: an arrival looks only at its own tasks, a freed slot only
    at itself.
    """

    def __init__(self, run: Run, policy: str) -> None:
        self._run = run
        self._policy = policy
        self._key = _KEYS[policy]
        setting = run.setting
        self._bits = setting.worker_constraints
        self._free = FreeWorkers(range(setting.n_workers), self._bits, setting.slots_per_worker)
        self._heap: list[_Waiting] = []

    def simulate(self) -> RunOutcome:
        self._run.start_arrivals(self._arrive)
        self._run.engine.run()
        return self._run.outcome(self._policy, uses_estimates=False)

    def _arrive(self, job: TraceJob) -> None:
        waiting = _Waiting(job.index, job, deque(), job.work_s)
        for task in range(job.n_tasks):
            worker = self._free.take(job.constraints_of(task))
            if worker is None:
                waiting.tasks.append(task)
            else:
                self._launch(waiting, task, worker)
        if waiting.tasks:
            waiting.key = self._key(waiting)
            heapq.heappush(self._heap, waiting)

    def _freed(self, worker: int) -> None:
        heap = self._heap
        if not heap:
            self._free.give_back(worker)
        elif not self._bits:
            self._launch_from(heap[0], 0, worker)
        else:
            self._serve_constrained(worker)

    def _serve_constrained(self, worker: int) -> None:
        """Launch the first task in the order of keys that this worker may run."""
        able = self._bits[worker]
        for waiting in sorted(self._heap):
            for position, task in enumerate(waiting.tasks):
                if waiting.job.constraints_of(task) & ~able == 0:
                    self._launch_from(waiting, position, worker)
                    heapq.heapify(self._heap)
                    return
        self._free.give_back(worker)

    def _launch_from(self, waiting: _Waiting, position: int, worker: int) -> None:
        task = waiting.tasks[position]
        del waiting.tasks[position]
        self._launch(waiting, task, worker)
        waiting.key = self._key(waiting)
        if waiting.tasks:
            return
        if waiting is self._heap[0]:
            heapq.heappop(self._heap)
        else:
            self._heap.remove(waiting)

    def _launch(self, waiting: _Waiting, task: int, worker: int) -> None:
        waiting.work_s -= waiting.job.durations_s[task]
        self._run.network.send("launch", self._start, waiting.index, task, worker)

    def _start(self, job: int, task: int, worker: int) -> None:
        run = self._run
        run.engine.after(run.ledger.start(job, task, run.engine.now_s), self._end, job, task, worker)

    def _end(self, job: int, task: int, worker: int) -> None:
        self._run.ledger.end(job, task, self._run.engine.now_s)
        self._run.network.send("completion", self._freed, worker)


def central_fifo(run: Run) -> RunOutcome:
    return _Central(run, "central-fifo").simulate()


def central_fewest_tasks(run: Run) -> RunOutcome:
    """The job with the fewest tasks that are not launched yet comes first; durations are unknown."""
    return _Central(run, "central-fewest-tasks").simulate()


def central_srpt(run: Run) -> RunOutcome:
    """The job with the least work that is not launched yet comes first; all durations are known."""
    return _Central(run, "central-srpt").simulate()
