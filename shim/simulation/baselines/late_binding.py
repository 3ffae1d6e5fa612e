"""Common part of Hawk, Eagle and central least-work-left: workers with queues of probes, and late binding.

A worker has one slot and a queue of probes; a probe names a job, not a task. When its slot is free the worker takes a
probe from the queue and asks the job's scheduler for a task (one hop there, one back): the next task of the job, or
nothing when all have been given out. Durations are estimated by the trace's mean, in whole seconds.

Rules as in the simulator that the authors of Hawk (USENIX ATC 2015) and Eagle (SoCC 2016) published.
"""

import math
import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from shim.errors import BadRequestError
from shim.simulation.results import RunOutcome
from shim.simulation.run import Run
from shim.simulation.traces import TraceJob

PROBE_RATIO = 2
LONG_PARTITION = 0.98
"""The part of the workers, from the highest number down, that may run long jobs (Yahoo and Facebook traces)."""


@dataclass(slots=True, eq=False)
class JobState:
    """A job on its scheduler: what has been given out.

    Attributes:
        estimate_s: Estimated duration of each of its tasks.
        remaining_s: Estimated work that is not given out, as workers know it; negative when nothing is left.
        n_given: Tasks given out so far.
    """

    job: TraceJob
    is_long: bool
    estimate_s: int
    remaining_s: float = 0.0
    n_given: int = 0

    @property
    def n_left(self) -> int:
        return self.job.n_tasks - self.n_given


@dataclass(slots=True, eq=False)
class Probe:
    """A place in a worker's queue; `delayed_s` is the estimated work that has overtaken it."""

    state: JobState
    delayed_s: int = 0


@dataclass(slots=True, eq=False)
class Worker:
    """A worker with one slot.

    Attributes:
        queue: Its probes, in the order of their arrival.
        is_idle: Whether its slot is free.
        runs_long: Whether it runs a task of a long job, or waits for one.
        long_since_s: When it took that task from its queue.
        running_estimate_s: Estimated duration of that task.
        n_long_queued: Probes of long jobs in its queue.
    """

    number: int
    queue: deque[Probe] = field(default_factory=deque)
    is_idle: bool = True
    runs_long: bool = False
    long_since_s: float = 0.0
    running_estimate_s: int = 0
    n_long_queued: int = 0

    @property
    def serves_long(self) -> bool:
        """True if a short task would wait behind a long one here."""
        return self.runs_long or self.n_long_queued > 0


def draw_workers(rng: random.Random, among: Sequence[int], number: int) -> list[int]:
    """Draw workers with replacement, as the published simulator does."""
    return rng.choices(among, k=number)


class LateBinding:
    """Workers, probes and tasks; what differs between the systems is overridden.

    Subclasses say where a job's probes go (`_arrive`), which probe is next (`_next_probe`), and may act when a worker
    has nothing to do (`_on_idle`), was given a task (`_on_given`) or ends one (`_on_end`).
    """

    policy = ""

    def __init__(self, run: Run, cutoff_s: float) -> None:
        if run.setting.worker_constraints:
            raise BadRequestError(
                f"{self.policy} knows no placement constraints: leave out the policy or --constraints"
            )
        self._run = run
        self._engine = run.engine
        self._rng = run.rng(self.policy)
        self._cutoff_s = cutoff_s
        self._workers = [Worker(number) for number in range(run.setting.n_slots)]
        self._everyone = range(len(self._workers))
        self._first_long = len(self._workers) - math.ceil(len(self._workers) * LONG_PARTITION)

    def simulate(self) -> RunOutcome:
        self._run.start_arrivals(self._arrive)
        self._engine.run()
        return self._run.outcome(self.policy, uses_estimates=True)

    def _arrive(self, job: TraceJob) -> None:
        raise NotImplementedError

    def _state_of(self, job: TraceJob) -> JobState:
        estimate_s = int(job.estimate_s)
        is_long = estimate_s > self._cutoff_s
        return JobState(job, is_long, estimate_s, remaining_s=float(estimate_s * job.n_tasks))

    def _send_probe(self, state: JobState, worker: int, hops: int = 1) -> None:
        self._run.network.send("probe", self._enqueue, self._workers[worker], Probe(state), hops=hops)

    def _enqueue(self, worker: Worker, probe: Probe) -> None:
        worker.queue.append(probe)
        if probe.state.is_long:
            worker.n_long_queued += 1
        if worker.is_idle:
            self._serve(worker)

    def _serve(self, worker: Worker) -> None:
        """Ask for a task of the next probe; the slot counts as taken meanwhile."""
        probe = self._next_probe(worker)
        if probe is None:
            return
        worker.is_idle = False
        worker.runs_long = probe.state.is_long
        if worker.runs_long:
            worker.n_long_queued -= 1
            worker.long_since_s = self._engine.now_s
            worker.running_estimate_s = probe.state.estimate_s
        self._run.network.send("task request", self._give, worker, probe)

    def _next_probe(self, worker: Worker) -> Probe | None:
        """Take the probe out of the queue that is served next: the oldest."""
        return worker.queue.popleft() if worker.queue else None

    def _give(self, worker: Worker, probe: Probe) -> None:
        state = probe.state
        if not state.n_left:
            self._run.network.send("no task", self._free, worker)
            return
        task = state.n_given
        state.n_given += 1
        self._on_given(worker, probe)
        self._run.network.send("task", self._start, worker, state, task)

    def _start(self, worker: Worker, state: JobState, task: int) -> None:
        duration_s = self._run.ledger.start(state.job.index, task, self._engine.now_s)
        self._engine.after(duration_s, self._end, worker, state, task)

    def _end(self, worker: Worker, state: JobState, task: int) -> None:
        self._run.ledger.end(state.job.index, task, self._engine.now_s)
        self._run.network.count("completion")
        self._on_end(worker, state)
        self._free(worker)

    def _free(self, worker: Worker) -> None:
        worker.is_idle = True
        worker.runs_long = False
        if worker.queue:
            self._serve(worker)
        else:
            self._on_idle(worker)

    def _on_idle(self, worker: Worker) -> None:
        """A worker has a free slot and nothing in its queue."""

    def _on_given(self, worker: Worker, probe: Probe) -> None:
        """A task was given out for this probe."""

    def _on_end(self, worker: Worker, state: JobState) -> None:
        """A task ended."""
