"""Workloads: jobs with their tasks, read from trace files, constraint files or generated.

A `.tr` trace holds one job a line: `arrival_s n_tasks mean_s d1 .. dn`, separated by spaces.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from shim.errors import BadRequestError, reason_of

_SHORT_CUTOFF_S = {"YH": 90.5811, "GOOG": 1129.532, "FB": 76.5951, "CCc": 272.783, "syn250": math.inf}
"""Mean task time below which a job is short, by a part of the trace's name (published with Eagle).

All tasks of the trace with constraints, `syn250`, take about a second: its jobs are all short.
"""


LONGEST_S = 1e10
"""Seconds since 1970 fit, with three centuries to spare; masters that tick through more would never end."""


@dataclass(frozen=True, slots=True)
class TraceJob:
    """One job of a workload.

    Attributes:
        index: Its place in `Workload.jobs`, which is sorted by arrival.
        arrival_s: When it arrives, in seconds.
        durations_s: How long each task runs, in seconds. A scheduler may not look at it before the task has ended.
        estimate_s: The mean task time that the trace states; given to a scheduler that is allowed estimates.
        constraints: For each task, the bits of the constraints it asks for; empty when no task of the job has any.
    """

    index: int
    arrival_s: float
    durations_s: tuple[float, ...]
    estimate_s: float
    constraints: tuple[int, ...] = ()

    @property
    def n_tasks(self) -> int:
        return len(self.durations_s)

    @property
    def longest_s(self) -> float:
        """Duration of the longest task: no scheduler can complete the job sooner than that after its arrival."""
        return max(self.durations_s)

    @property
    def work_s(self) -> float:
        """Sum of durations, in task-seconds."""
        return sum(self.durations_s)

    def constraints_of(self, task: int) -> int:
        """The bits of the constraints that the task asks for; 0 when it has none."""
        return self.constraints[task] if self.constraints else 0


@dataclass(frozen=True, slots=True)
class Workload:
    """Jobs in the order of their arrival.

    Attributes:
        name: The trace's name, as results show it.
        jobs: Sorted by arrival; equal arrivals keep the file's order.
        cutoff_s: A job whose `estimate_s` is below it is short; NaN if nobody has said so.
        left_out: Tasks of the trace that no worker can ever run and that are therefore not in `jobs`.
    """

    name: str
    jobs: tuple[TraceJob, ...]
    cutoff_s: float = math.inf
    left_out: int = 0

    @property
    def n_tasks(self) -> int:
        return sum(job.n_tasks for job in self.jobs)

    def is_short(self, job: TraceJob) -> bool:
        return job.estimate_s < self.cutoff_s


def short_cutoff_s(trace_name: str) -> float:
    """The published limit between short and long jobs for a trace of that name; NaN if there is none."""
    return next((cutoff_s for part, cutoff_s in _SHORT_CUTOFF_S.items() if part in trace_name), math.nan)


def workload_of(name: str, jobs: Sequence[TraceJob], cutoff_s: float = math.inf) -> Workload:
    """A workload of these jobs, sorted by arrival and numbered anew."""
    ordered = sorted(jobs, key=lambda job: job.arrival_s)
    return Workload(name, tuple(replace(job, index=index) for index, job in enumerate(ordered)), cutoff_s)


def read_trace(
    path: Path, *, first_jobs: int | None = None, whole_seconds: bool = True, cutoff_s: float | None = None
) -> Workload:
    """Read a `.tr` trace.

    Args:
        first_jobs: Read only so many lines.
        whole_seconds: Cut task durations to whole seconds, as every published simulator of these traces does.
        cutoff_s: Jobs with a shorter mean task time are short; None for what was published for a trace of this name.

    Raises:
        BadRequestError: If the file cannot be read, or a line is not a job; the message names the line.
    """
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequestError(f"the trace {path} cannot be read: {reason_of(error)}") from error
    jobs = [
        _job_of(line, index, f"{path} line {index + 1}", whole_seconds=whole_seconds)
        for index, line in enumerate(lines[:first_jobs])
        if line.strip()
    ]
    if not jobs:
        raise BadRequestError(f"the trace {path} holds no job")
    return workload_of(path.stem, jobs, short_cutoff_s(path.stem) if cutoff_s is None else cutoff_s)


def _job_of(line: str, index: int, where: str, *, whole_seconds: bool) -> TraceJob:
    try:
        arrival_s, n_tasks, mean_s, *durations = line.split()
        values = tuple(float(duration) for duration in durations)
        job = TraceJob(
            index=index,
            arrival_s=float(arrival_s),
            durations_s=tuple(float(int(value)) for value in values) if whole_seconds else values,
            estimate_s=float(mean_s),
        )
        expected = int(float(n_tasks))
    except (ValueError, OverflowError) as error:
        raise BadRequestError(f"{where} is not `arrival_s n_tasks mean_s d1 .. dn`: {error}") from error
    if job.n_tasks != expected or not expected:
        raise BadRequestError(f"{where} says {expected} tasks, but has {job.n_tasks} durations")
    numbers = (job.arrival_s, job.estimate_s, *values)
    if not all(0.0 <= number <= LONGEST_S for number in numbers):  # so it is not for NaN
        raise BadRequestError(f"{where} holds a number of seconds that is not between 0 and {LONGEST_S:g}")
    return job


def fixed_jobs(
    rng: random.Random, *, n_jobs: int, n_tasks: int, duration_s: float, load: float, n_slots: int
) -> Workload:
    """Equal jobs with Poisson arrivals that keep `n_slots` busy for the fraction `load` of the time.

    This is the load of Sparrow's own experiment: 100 tasks of 100 ms.
    """
    mean_gap_s = n_tasks * duration_s / (load * n_slots)
    jobs: list[TraceJob] = []
    arrival_s = 0.0
    for index in range(n_jobs):
        arrival_s += rng.expovariate(1.0 / mean_gap_s)
        jobs.append(TraceJob(index, arrival_s, (duration_s,) * n_tasks, duration_s))
    return Workload(f"fixed_{n_tasks}x{duration_s:g}s_load{load:g}", tuple(jobs))
