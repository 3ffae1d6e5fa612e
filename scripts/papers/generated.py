"""Workloads drawn from seeds, in the shape of public traces: for tests and trials without the traces themselves.

The numbers of a shape were read off a trace: jobs' tasks and mean task times are close to log-normal, tasks of one job
differ by a factor that is log-normal, too. Arrivals are Poisson, and their rate is such that the drawn work keeps a
number of slots busy for a given part of the time. The same seed draws the same workload on every machine.

What is drawn has no diurnal pattern, no recurring jobs and no correlation of neighbours: orderings of schedulers hold
on it, the traces' own figures do not. See docs/researchers/evaluation.md for where the traces come from.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shim.simulation.constraints import Constraints
from shim.simulation.dag_jobs import DagJob, Measured, QueryStage, ResourceJob, ResourceStage
from shim.simulation.traces import TraceJob, Workload, workload_of


@dataclass(frozen=True, slots=True)
class Shape:
    """Shape of jobs.

    Attributes:
        name: Of workloads of this shape.
        tasks_ln: Mean and standard deviation of the logarithm of a job's number of tasks.
        most_tasks: A job has at most so many.
        seconds_ln: The same of the logarithm of a job's mean task time in seconds.
        longest_s: A mean task time is at most this.
        spread: Standard deviation of the logarithm of a task's time over its job's mean.
        cutoff_s: A job with a smaller mean task time is short.
    """

    name: str
    tasks_ln: tuple[float, float]
    most_tasks: int
    seconds_ln: tuple[float, float]
    longest_s: float
    spread: float
    cutoff_s: float


YAHOO = Shape("yahoo-like", (2.66, 1.29), 3000, (2.83, 1.65), 17_000.0, 0.33, 90.5811)
"""Yahoo's trace of Hawk and Eagle (EPFL), 2,910 jobs: few long jobs hold most of the work."""
FACEBOOK = Shape("facebook-like", (3.95, 1.09), 600, (4.74, 1.26), 3_400.0, 0.08, 76.5951)
"""The synthetic Facebook trace of the same set, 2,000 jobs: larger and more even."""


def generated_jobs(rng: random.Random, shape: Shape, *, n_jobs: int, load: float, n_slots: int) -> Workload:
    """Jobs of a shape that keep `n_slots` busy for the part `load` of the time in which they arrive.

    Task times are whole seconds, at least one.
    """
    drawn = [_drawn_job(rng, shape) for _ in range(n_jobs)]
    return _arriving(rng, shape.name, drawn, shape.cutoff_s, load * n_slots)


def unrelated_durations(rng: random.Random, *, n_jobs: int, load: float, n_slots: int) -> Workload:
    """Jobs as large as Yahoo's, each task exponential with a mean of 20 s, whatever its job: they teach nothing."""
    drawn = [tuple(rng.expovariate(1.0 / 20.0) for _ in range(_tasks_of(rng, YAHOO))) for _ in range(n_jobs)]
    with_means = [(durations, sum(durations) / len(durations)) for durations in drawn]
    return _arriving(rng, "unrelated-durations", with_means, YAHOO.cutoff_s, load * n_slots)


def large_jobs_of_short_tasks(rng: random.Random, *, n_jobs: int, load: float, n_slots: int) -> Workload:
    """Jobs as large as Yahoo's that all hold about 500 slot-seconds: the larger, the shorter its tasks."""
    drawn: list[tuple[tuple[float, ...], float]] = []
    for _ in range(n_jobs):
        n_tasks = _tasks_of(rng, YAHOO)
        factor_ln = -(YAHOO.spread**2) / 2
        durations = tuple(500.0 / n_tasks * rng.lognormvariate(factor_ln, YAHOO.spread) for _ in range(n_tasks))
        drawn.append((durations, sum(durations) / n_tasks))
    return _arriving(rng, "large-jobs-of-short-tasks", drawn, YAHOO.cutoff_s, load * n_slots)


def _arriving(
    rng: random.Random, name: str, drawn: Sequence[tuple[tuple[float, ...], float]], cutoff_s: float, busy_slots: float
) -> Workload:
    """Give drawn jobs Poisson arrivals that keep so many slots busy."""
    n_jobs, work_s = len(drawn), sum(sum(durations) for durations, _ in drawn)
    mean_gap_s = work_s / busy_slots / n_jobs
    jobs: list[TraceJob] = []
    arrival_s = 0.0
    for index, (durations, mean_s) in enumerate(drawn):
        arrival_s += rng.expovariate(1.0 / mean_gap_s)
        jobs.append(TraceJob(index, arrival_s, durations, mean_s))
    return workload_of(name, jobs, cutoff_s)


def _tasks_of(rng: random.Random, shape: Shape) -> int:
    return max(1, min(round(rng.lognormvariate(*shape.tasks_ln)), shape.most_tasks))


def _drawn_job(rng: random.Random, shape: Shape) -> tuple[tuple[float, ...], float]:
    n_tasks = _tasks_of(rng, shape)
    mean_s = min(rng.lognormvariate(*shape.seconds_ln), shape.longest_s)
    # the mean of exp(N(m, s)) is exp(m + s^2 / 2): the factor's mean is 1
    factor_ln = -(shape.spread**2) / 2
    durations = tuple(
        float(max(1, math.floor(mean_s * rng.lognormvariate(factor_ln, shape.spread)))) for _ in range(n_tasks)
    )
    return durations, sum(durations) / n_tasks


def generated_constraints(
    rng: random.Random, workload: Workload, *, n_workers: int, n_constraints: int = 21, most_asked: int = 3
) -> Constraints:
    """Draw the constraints of workers and tasks: as in Megha's constraint files, none to a few a task.

    Constraint `i` is satisfied by a part of the workers between 0.9 (the first) and 0.1 (the last). A task asks for the
    constraints of one worker only, so that it can run.
    """
    parts = [0.9 - 0.8 * index / max(1, n_constraints - 1) for index in range(n_constraints)]
    workers = tuple(
        sum(1 << index for index, part in enumerate(parts) if rng.random() < part) for _ in range(n_workers)
    )
    tasks: dict[int, Mapping[int, int]] = {
        job.index: {task: _asked(rng, rng.choice(workers), most_asked) for task in range(job.n_tasks)}
        for job in workload.jobs
    }
    return Constraints(workers, tasks)


def _asked(rng: random.Random, satisfied: int, most: int) -> int:
    bits = [index for index in range(satisfied.bit_length()) if satisfied >> index & 1]
    return sum(1 << bit for bit in rng.sample(bits, min(rng.randint(0, most), len(bits))))


_EXECUTORS = (5, 10, 20, 40, 50, 60, 80, 100)


def generated_queries(rng: random.Random, *, n_jobs: int, mean_gap_s: float) -> list[DagJob]:
    """Queries of 2 to 10 stages on executors, as TPC-H's: a fresh executor is slowest, a warm one fastest.

    Args:
        rng: Where they are drawn from.
        n_jobs: How many.
        mean_gap_s: Between arrivals, which are Poisson; 0 if all come at once.
    """
    jobs: list[DagJob] = []
    arrival_ms = 0.0
    for index in range(n_jobs):
        jobs.append(DagJob(f"query-{index}", arrival_ms, _query(rng)))
        arrival_ms += 1000.0 * rng.expovariate(1.0 / mean_gap_s) if mean_gap_s else 0.0
    return jobs


def _query(rng: random.Random) -> tuple[QueryStage, ...]:
    # most of TPC-H's queries are small, a few are many times larger
    scale = rng.lognormvariate(0.0, 1.0)
    return tuple(_stage(rng, index, scale) for index in range(rng.randint(2, 10)))


def _stage(rng: random.Random, index: int, scale: float) -> QueryStage:
    tasks = max(1, round(scale * rng.lognormvariate(3.0, 1.0)))
    mean_ms = rng.lognormvariate(7.5, 0.6)
    waves = [
        {executors: tuple(mean_ms * slower * rng.uniform(0.8, 1.2) for _ in range(5)) for executors in _EXECUTORS}
        for slower in (2.0, 1.2, 1.0)
    ]
    return QueryStage(tasks, _needs(rng, index), Measured(*waves), mean_ms)


def _needs(rng: random.Random, index: int) -> tuple[int, ...]:
    return tuple(sorted(rng.sample(range(index), min(index, rng.randint(1, 2))))) if index else ()


def generated_resource_jobs(rng: random.Random, *, n_jobs: int) -> list[ResourceJob]:
    """Batch jobs of 1 to 8 stages whose tasks ask for cores and memory, as Alibaba's: sizes differ by 100 times."""
    return [ResourceJob(f"job-{index}", _resource_stages(rng)) for index in range(n_jobs)]


def _resource_stages(rng: random.Random) -> tuple[ResourceStage, ...]:
    scale = rng.lognormvariate(0.0, 1.2)
    stages: Sequence[int] = range(rng.randint(1, 8))
    return tuple(
        ResourceStage(
            max(1, round(scale * rng.lognormvariate(2.0, 1.0))),
            _needs(rng, index),
            float(max(1, round(rng.lognormvariate(2.5, 1.0)))),
            (rng.choice((0.5, 1.0, 2.0)) / 96.0, rng.uniform(0.1, 2.0) / 100.0),
        )
        for index in stages
    )
