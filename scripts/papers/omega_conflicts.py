"""Omega's conflict experiment: what part of the transactions of parallel schedulers conflicts in a contended cell.

The cell has 1,000 machines of 4 cores; four schedulers share the batch jobs in turn, one has the service jobs. Jobs
are of the form of the workload generator that comes with the authors' simulator: exponential gaps, numbers of tasks
and durations, one duration for all tasks of a job, one core a task. (Memory, 2 of 16 GB a task, is never short.)
"""

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from shim.simulation.engine import seeded
from shim.simulation.omega import OMEGA, OmegaCell, OmegaRules, OmegaThinking
from shim.simulation.run import Run, Setting
from shim.simulation.traces import TraceJob, Workload, workload_of

N_BATCH_SCHEDULERS = 4
BATCH_TASK_S = 0.005
SERVICE_THINKING = OmegaThinking(job_s=0.01, task_s=0.01)


@dataclass(frozen=True, slots=True)
class JobClass:
    """Means of the exponential distributions of one class of jobs."""

    gap_s: float
    n_tasks: float
    duration_s: float


BATCH = JobClass(gap_s=5.0, n_tasks=100.0, duration_s=190.0)
"""Gap and duration are chosen so that the cell is just full; the published generator has 10 s and 100 s on ten times
the machines, where nothing is contended."""
SERVICE = JobClass(gap_s=20.0, n_tasks=10.0, duration_s=500.0)
N_MACHINES = 1000
N_CORES = 4
OFFERED_LOAD = 1.04
"""Conflicts follow the offered load closely, and a few hundred exponential draws miss it by several percent: durations
are scaled to give exactly this."""


def contended_workload(seed: int, horizon_s: float, batch: JobClass = BATCH, service: JobClass = SERVICE) -> Workload:
    """Batch and service jobs that arrive before the horizon; `Workload.is_short` tells batch from service."""
    rng = seeded(seed, "omega jobs")
    drawn = [*_jobs(rng, batch, horizon_s), *_jobs(rng, service, horizon_s)]
    scale = OFFERED_LOAD * N_MACHINES * N_CORES * horizon_s / sum(job.work_s for job in drawn)
    jobs = [replace(job, durations_s=(scale * job.durations_s[0],) * job.n_tasks) for job in drawn]
    return workload_of("omega contended", jobs, cutoff_s=(batch.duration_s + service.duration_s) / 2.0)


def batch_workload(seed: int, horizon_s: float, rate: float, utilisation: float) -> Workload:
    """Batch jobs alone, `rate` times as many as `BATCH` has, with tasks so short that the cell is as full at any rate.

    Args:
        seed: Of the draw.
        horizon_s: When arrivals end, in seconds.
        rate: Arrivals, as a multiple of those of `BATCH`.
        utilisation: Part of the cell's slots that the jobs would keep busy, if no scheduler took any time.
    """
    rng = seeded(seed, "omega batch jobs")
    drawn = list(_jobs(rng, replace(BATCH, gap_s=BATCH.gap_s / rate), horizon_s))
    scale = utilisation * N_MACHINES * N_CORES * horizon_s / sum(job.work_s for job in drawn)
    jobs = [replace(job, durations_s=(scale * job.durations_s[0],) * job.n_tasks) for job in drawn]
    return workload_of("omega batch", jobs, cutoff_s=BATCH.duration_s)


def _jobs(rng: random.Random, kind: JobClass, horizon_s: float) -> Iterator[TraceJob]:
    arrival_s = rng.expovariate(1.0 / kind.gap_s)
    while arrival_s < horizon_s:
        n_tasks = math.ceil(rng.expovariate(1.0 / kind.n_tasks))
        yield TraceJob(0, arrival_s, (rng.expovariate(1.0 / kind.duration_s),) * n_tasks, estimate_s=kind.duration_s)
        arrival_s += rng.expovariate(1.0 / kind.gap_s)


def conflict_fraction(
    workload: Workload, rules: OmegaRules, think_job_s: float, *, seed: int, horizon_s: float
) -> float:
    """Part of the batch schedulers' transactions that had a conflict, up to the horizon.

    Args:
        workload: From `contended_workload`.
        rules: How conflicts are found and what they do.
        think_job_s: Decision time of a batch job in seconds, to which 5 ms a task are added.
        seed: Seed of the draws of machines.
        horizon_s: When to stop, in seconds; the cell is empty at first.
    """
    run = Run(workload, Setting(n_workers=N_MACHINES, slots_per_worker=N_CORES, seed=seed))
    turn = itertools.cycle(range(N_BATCH_SCHEDULERS))
    thinking = [OmegaThinking(think_job_s, BATCH_TASK_S)] * N_BATCH_SCHEDULERS
    cell = OmegaCell(
        run,
        rules,
        [*thinking, SERVICE_THINKING],
        scheduler_of=lambda job: next(turn) if workload.is_short(job) else N_BATCH_SCHEDULERS,
    )
    cell.start()
    run.engine.run(until_s=horizon_s)
    batch = cell.schedulers[:N_BATCH_SCHEDULERS]
    return sum(one.conflicted for one in batch) / sum(one.transactions for one in batch)


@dataclass(frozen=True, slots=True)
class ParallelSchedulers:
    """Work of schedulers that share the jobs of a cell, up to a horizon.

    Attributes:
        conflict_fraction: Part of their transactions that had a conflict.
        claims_lost: Part of the claims of tasks on machines that conflicted.
        busy: Part of the time for which a scheduler decides, on average.
        redoing: Part of the time for which it decides anew what conflicted.
        wait_s: Mean time from a job's arrival until a scheduler takes it up.
    """

    conflict_fraction: float
    claims_lost: float
    busy: float
    redoing: float
    wait_s: float


def in_parallel(
    workload: Workload, n_schedulers: int, think: OmegaThinking, seed: int, horizon_s: float
) -> ParallelSchedulers:
    """Let so many equal schedulers share the jobs in turn, by resource fit and incremental transactions.

    Args:
        workload: From `batch_workload`.
        n_schedulers: At least one.
        think: How long each decides.
        seed: Of the draws of machines.
        horizon_s: When to stop, in seconds; the cell is empty at first.
    """
    run = Run(workload, Setting(n_workers=N_MACHINES, slots_per_worker=N_CORES, seed=seed))
    turn = itertools.cycle(range(n_schedulers))
    cell = OmegaCell(run, OMEGA, [think] * n_schedulers, scheduler_of=lambda _: next(turn))
    cell.start()
    run.engine.run(until_s=horizon_s)
    all_of = cell.schedulers
    waits_s = [wait_s for one in all_of for wait_s in one.waits_s]
    return ParallelSchedulers(
        sum(one.conflicted for one in all_of) / max(1, sum(one.transactions for one in all_of)),
        sum(one.conflicts for one in all_of) / max(1, sum(one.claims for one in all_of)),
        sum(one.busy_s for one in all_of) / (n_schedulers * horizon_s),
        sum(one.redoing_s for one in all_of) / (n_schedulers * horizon_s),
        sum(waits_s) / max(1, len(waits_s)),
    )
