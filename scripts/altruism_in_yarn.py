"""Altruism in world *yarn-sim*: Heddle's own code before modelled clusters, whose jobs ask for containers.

    python -m scripts.altruism_in_yarn [SEEDS [FIRST]]

Two clusters of 16 places; jobs whose short branches are joined with a long chain, arriving at nearly what the places
can do. Times of stages are learnt while jobs run, as on real clusters: kinds of jobs come again and again. Rows are
orders of containers: `drf` serves whoever has least, `carbyne` is Carbyne, `carbyne, P=0` the same where no job gives
anything, and SRTF gives all to who has least work left.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from fairness import jain_index
from scripts.figure_tables import print_heading, print_row
from scripts.papers.dag_pool.jobs import joining_jobs
from scripts.two_clusters import be_silent, played_on_two_clusters
from shim.domain.resources import ResourceVector
from shim.scheduling.durations import FloatArray
from shim.simulation.cluster.jobs import ModelledJob, ModelledStage
from shim.simulation.engine import seeded

ORDERS: Mapping[str, str] = {
    "drf": 'containers = "drf"',
    "carbyne": 'containers = "carbyne"',
    "carbyne, P=0": 'containers = "carbyne"\ngives = 0.0',
    "SRTF": 'containers = "carbyne"\nkeeps_floor = false',
    "drf, altruism": 'containers = "drf"\naltruism = 1.0',
}
_PLACES, _KINDS, _JOBS, _LOAD, _MOST_TASKS = 32, 8, 120, 1.0, 16
_SIZE = ResourceVector(1024, 1)
_SAMPLE_S, _SAMPLES = 5.0, 12


@dataclass(frozen=True, slots=True)
class Found:
    """Result of a run.

    Attributes:
        each_s: Seconds from submission to end of each job, by its name.
        jain: Mean of Jain's index over windows of 60 s, of what those jobs hold that want more all the time.
        makespan_s: When the last job had ended.
    """

    each_s: Mapping[str, float]
    jain: float
    makespan_s: float

    @property
    def mean_s(self) -> float:
        """Of all jobs."""
        return fmean(self.each_s.values())

    def factors(self, drf: "Found") -> list[float]:
        """How many times as fast each job is as by DRF."""
        return [drf.each_s[name] / self.each_s[name] for name in self.each_s]


def made_jobs(seed: int, count: int = _JOBS) -> list[ModelledJob]:
    """Runs of a few kinds of jobs, whose tasks vary by a tenth."""
    rng = seeded(seed, "joins")
    kinds = joining_jobs(rng, _KINDS, _PLACES)
    made, at_s = list[ModelledJob](), 0.0
    for number in range(count):
        kind = rng.randrange(_KINDS)
        graph = kinds[kind].graph
        stages = tuple(
            ModelledStage(
                tuple(float(seconds) * rng.uniform(0.9, 1.1) for _ in range(min(_MOST_TASKS, int(tasks)))),
                tuple(int(parent) for parent in needs.nonzero()[0]),
                _SIZE,
            )
            for tasks, seconds, needs in zip(graph.tasks, graph.duration, graph.needs, strict=True)
        )
        made.append(ModelledJob(f"{'abcdefgh'[kind]}-{number}", at_s, stages))
        work_s = sum(sum(stage.durations_s) for stage in stages)
        at_s += rng.expovariate(_LOAD * _PLACES / work_s)
    return made


def found_with(order: str, jobs: Sequence[ModelledJob], seed: int) -> Found:
    """Run jobs by a row of `ORDERS`.

    Raises:
        RuntimeError: A job did not succeed.
    """
    outcome = played_on_two_clusters(jobs, node=ResourceVector(6144, 6), queue=ORDERS[order], seed=seed)
    each_s = {job.name: outcome.times[job.name].ended_s for job in jobs}
    makespan_s = max(job.arrival_s + each_s[job.name] for job in jobs)
    return Found(each_s, mean_jain(jobs, outcome.starts_s, makespan_s), makespan_s)


def mean_jain(
    jobs: Sequence[ModelledJob], starts_s: Mapping[str, Mapping[tuple[int, int], float]], until_s: float
) -> float:
    """Mean of Jain's index over windows; see `Found.jain`."""
    at_s = np.arange(_SAMPLE_S, until_s, _SAMPLE_S)
    sampled = [_held_and_wanted(job, starts_s[job.name], at_s) for job in jobs]
    found: list[float] = []
    for begin in range(0, len(at_s) - _SAMPLES + 1, _SAMPLES):
        window = slice(begin, begin + _SAMPLES)
        hungry = [held[window].sum() for held, wanted in sampled if (wanted[window] > 0).all()]
        found += [jain_index(hungry)] if len(hungry) > 1 else []
    return fmean(found) if found else 1.0


def _held_and_wanted(
    job: ModelledJob, starts_s: Mapping[tuple[int, int], float], at_s: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Tasks of a job that run, and that could begin and have not, at some times."""
    held, wanted, ends_s = np.zeros_like(at_s), np.zeros_like(at_s), list[float]()
    for number, stage in enumerate(job.stages):
        begins = [job.arrival_s + starts_s[number, task] for task in range(len(stage.durations_s))]
        ends = [begin + takes_s for begin, takes_s in zip(begins, stage.durations_s, strict=True)]
        ready_s = max((ends_s[each] for each in stage.needs), default=job.arrival_s)
        for begin, end in zip(begins, ends, strict=True):
            held += (at_s >= begin) & (at_s < end)
            wanted += (at_s >= ready_s) & (at_s < begin)
        ends_s.append(max(ends))
    return held, wanted


def main() -> None:
    """Print a row for each seed and order; factors are those of `drf` by the order's."""
    be_silent()
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 1  # noqa: PLR2004 - the second argument
    print_heading(["seed", "order", "mean s", "factor", "worst job", "below 0.8", "makespan", "Jain"])
    for seed in range(first, first + seeds):
        jobs = made_jobs(seed)
        drf = found_with("drf", jobs, seed)
        for order in ORDERS:
            found = drf if order == "drf" else found_with(order, jobs, seed)
            each = found.factors(drf)
            slowed = sum(factor < 0.8 for factor in each) / len(each)  # noqa: PLR2004 - as in the paper
            row = (
                str(seed),
                order,
                f"{found.mean_s:.1f}",
                f"{drf.mean_s / found.mean_s:.2f}",
                f"{min(each):.2f}",
                f"{slowed:.1%}",
                f"{drf.makespan_s / found.makespan_s:.2f}",
                f"{found.jain:.2f}",
            )
            print_row(row)


if __name__ == "__main__":
    main()
