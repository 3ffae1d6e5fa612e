"""Measurements of a run: the delay of each job, messages, inconsistencies, utilisation and decision time."""

import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from shim.errors import InvariantViolationError
from shim.simulation.traces import Workload


def nearest_rank(ordered: Sequence[float], percent: float) -> float:
    """The percentile of sorted values by nearest rank: the ceil(percent/100 x n)-th smallest, never interpolated."""
    return ordered[max(0, math.ceil(len(ordered) * percent / 100.0) - 1)]


@dataclass(frozen=True, slots=True)
class Summary:
    """Mean, median, percentiles and maximum of some values; all NaN when there is no value."""

    count: int
    mean: float
    p50: float
    p95: float
    p99: float
    max: float

    @classmethod
    def of(cls, values: Iterable[float]) -> "Summary":
        """Summarise the values; percentiles are nearest rank."""
        ordered = sorted(values)
        if not ordered:
            return cls(0, math.nan, math.nan, math.nan, math.nan, math.nan)
        return cls(
            count=len(ordered),
            mean=math.fsum(ordered) / len(ordered),
            p50=nearest_rank(ordered, 50),
            p95=nearest_rank(ordered, 95),
            p99=nearest_rank(ordered, 99),
            max=ordered[-1],
        )


@dataclass(slots=True)
class RunOutcome:
    """The result of one run of one policy.

    Attributes:
        delays_s: For each job: completion - arrival - its longest task, in seconds.
        responses_s: For each job: completion - arrival, in seconds.
        utilisation: Task-seconds run per slot-second between the first arrival and the last completion, in [0, 1].
        allocation_s: For each task, in the order of starts: start - arrival of its job, in seconds (Megha, III).
        first_starts_s: For each job: start of its first task - arrival, in seconds.
        running: Changes of the number of running tasks: times in seconds and the number from then on.
        messages: Messages sent, by kind; a batch is one message.
        size_bytes: Bytes of those messages, by kind.
        inconsistencies: Launch requests that the truth refused, by kind (internal, external, or the policy's own).
        repartitions: Slots borrowed from another master's partition.
        decision_s: Wall-clock seconds of each measured decision; empty when none was measured.
        uses_estimates: Whether the policy was told the trace's mean task times.
        wall_s: Wall-clock seconds of the run; filled by who ran it.
    """

    policy: str
    workload: Workload
    n_slots: int
    delays_s: tuple[float, ...]
    responses_s: tuple[float, ...]
    utilisation: float
    running: tuple["array[float]", "array[int]"]
    allocation_s: Sequence[float] = ()
    first_starts_s: Sequence[float] = ()
    messages: Counter[str] = field(default_factory=Counter)
    size_bytes: Counter[str] = field(default_factory=Counter)
    inconsistencies: Counter[str] = field(default_factory=Counter)
    repartitions: int = 0
    decision_s: Sequence[float] = ()
    uses_estimates: bool = False
    wall_s: float = math.nan

    @property
    def messages_per_task(self) -> float:
        return self.messages.total() / self.workload.n_tasks

    def delay(self, *, short: bool | None = None) -> Summary:
        """Summary of job delay: of all jobs, or of the short or long ones alone."""
        workload = self.workload
        return Summary.of(
            delay_s
            for job, delay_s in zip(workload.jobs, self.delays_s, strict=True)
            if short is None or workload.is_short(job) is short
        )


class JobLedger:
    """Books every start and end of a task, and refuses what no cluster can do.

    Each task starts exactly once and ends exactly once after that, and never do more tasks run than there are slots.
    """

    def __init__(self, workload: Workload, n_slots: int, on_job_end: Callable[[], object] = lambda: None) -> None:
        self._workload = workload
        self._n_slots = n_slots
        self._on_job_end = on_job_end
        self._started = [bytearray(job.n_tasks) for job in workload.jobs]
        self._unfinished = [job.n_tasks for job in workload.jobs]
        self._completion_s = [math.nan] * len(workload.jobs)
        self._first_start_s = array("d", [math.nan]) * len(workload.jobs)
        self._jobs_left = len(workload.jobs)
        self._running = 0
        self._running_at_s = array("d")
        self._running_number = array("l")
        self._allocation_s = array("d")
        self._busy_s = 0.0

    @property
    def is_done(self) -> bool:
        return not self._jobs_left

    def start(self, job: int, task: int, at_s: float) -> float:
        """Book the start of a task; gives its duration in seconds, for the worker alone.

        Raises:
            InvariantViolationError: If it started before, the job has not arrived, or all slots are taken.
        """
        entry = self._workload.jobs[job]
        if self._started[job][task]:
            raise InvariantViolationError(f"task {task} of job {job} started twice, the second time at {at_s} s")
        if at_s < entry.arrival_s:
            raise InvariantViolationError(f"job {job} started at {at_s} s, before its arrival at {entry.arrival_s} s")
        if self._running == self._n_slots:
            raise InvariantViolationError(f"more than {self._n_slots} tasks run at {at_s} s")
        if math.isnan(self._first_start_s[job]):
            self._first_start_s[job] = at_s - entry.arrival_s
        self._started[job][task] = 1
        self._allocation_s.append(at_s - entry.arrival_s)
        self._book(at_s, +1)
        duration_s = entry.durations_s[task]
        self._busy_s += duration_s
        return duration_s

    def end(self, job: int, task: int, at_s: float) -> bool:
        """Book the end of a task; says whether it was the job's last one.

        Raises:
            InvariantViolationError: If it does not run.
        """
        if self._started[job][task] != 1:
            raise InvariantViolationError(f"task {task} of job {job} ended at {at_s} s, but it does not run")
        self._started[job][task] = 2
        self._book(at_s, -1)
        self._unfinished[job] -= 1
        if self._unfinished[job]:
            return False
        self._completion_s[job] = at_s
        self._jobs_left -= 1
        self._on_job_end()
        return True

    def _book(self, at_s: float, change: int) -> None:
        self._running += change
        if self._running_at_s and self._running_at_s[-1] == at_s:
            self._running_number[-1] = self._running
            return
        self._running_at_s.append(at_s)
        self._running_number.append(self._running)

    def outcome(self, policy: str, *, uses_estimates: bool = False) -> RunOutcome:
        """The measured result; the caller adds messages and what else it counted.

        Raises:
            InvariantViolationError: If jobs have not ended: the scheduler forgot some of their tasks.
        """
        if self._jobs_left:
            stuck = next(job for job, left in enumerate(self._unfinished) if left)
            raise InvariantViolationError(
                f"{policy} left {self._jobs_left} of {len(self._workload.jobs)} jobs unfinished on"
                f" {self._workload.name}; the first one is job {stuck} with {self._unfinished[stuck]} tasks to go"
            )
        jobs = self._workload.jobs
        span_s = max(self._completion_s) - jobs[0].arrival_s
        responses_s = tuple(end_s - job.arrival_s for end_s, job in zip(self._completion_s, jobs, strict=True))
        return RunOutcome(
            policy=policy,
            workload=self._workload,
            n_slots=self._n_slots,
            delays_s=tuple(response_s - job.longest_s for response_s, job in zip(responses_s, jobs, strict=True)),
            responses_s=responses_s,
            utilisation=self._busy_s / (self._n_slots * span_s) if span_s else 0.0,
            running=(self._running_at_s, self._running_number),
            allocation_s=self._allocation_s,
            first_starts_s=self._first_start_s,
            uses_estimates=uses_estimates,
        )
