"""Altruism in world *yarn-sim*: Heddle's own code before modelled clusters, whose jobs ask for containers.

    python -m scripts.altruism_in_yarn [SEEDS]

Two clusters of 16 places; jobs whose short branches are joined with a long chain, arriving at 1.5 times what the places
can do. Times of stages are learnt while jobs run, as on real clusters: kinds of jobs come again and again. Rows are
orders of containers: `fair` is DRF between jobs, `learnt-work` the shortest first.
"""

import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

import structlog

from scripts.papers.dag_pool.jobs import joining_jobs
from scripts.two_clusters import played_on_two_clusters
from shim.domain.resources import ResourceVector
from shim.simulation.cluster.jobs import ModelledJob, ModelledStage
from shim.simulation.engine import seeded

ORDERS: Mapping[str, str] = {
    "fair": 'containers = "fair"',
    "learnt-work": 'containers = "learnt-work"',
    "fair, altruism": 'containers = "fair"\naltruism = 1.0',
    "fair, altruism 0.5": 'containers = "fair"\naltruism = 0.5',
}
_PLACES, _KINDS, _JOBS, _LOAD, _MOST_TASKS = 32, 4, 16, 1.5, 16
_SIZE = ResourceVector(1024, 1)


@dataclass(frozen=True, slots=True)
class Found:
    """Result of a run, in seconds from submission to end.

    Attributes:
        each_s: Of each job, by its name.
    """

    each_s: Mapping[str, float]

    @property
    def mean_s(self) -> float:
        """Of all jobs."""
        return mean(self.each_s.values())


def made_jobs(seed: int, count: int = _JOBS) -> list[ModelledJob]:
    """Runs of a few kinds of jobs, whose tasks vary by a tenth."""
    rng = seeded(seed, "joins")
    kinds = joining_jobs(rng, _KINDS, _PLACES)
    made, at_s = list[ModelledJob](), 0.0
    for number in range(count):
        graph = kinds[number % _KINDS].graph
        stages = tuple(
            ModelledStage(
                tuple(float(seconds) * rng.uniform(0.9, 1.1) for _ in range(min(_MOST_TASKS, int(tasks)))),
                tuple(int(parent) for parent in needs.nonzero()[0]),
                _SIZE,
            )
            for tasks, seconds, needs in zip(graph.tasks, graph.duration, graph.needs, strict=True)
        )
        name = f"{'abcdefgh'[number % _KINDS]}-{number}"
        made.append(ModelledJob(name, at_s, stages))
        work_s = sum(sum(stage.durations_s) for stage in stages)
        at_s += rng.expovariate(_LOAD * _PLACES / work_s)
    return made


def found_with(order: str, jobs: Sequence[ModelledJob], seed: int) -> Found:
    """Run jobs by a row of `ORDERS`.

    Raises:
        RuntimeError: A job did not succeed.
    """
    outcome = played_on_two_clusters(jobs, node=ResourceVector(6144, 6), queue=ORDERS[order], seed=seed)
    return Found({job.name: outcome.times[job.name].ended_s for job in jobs})


def main() -> None:
    """Print a row for each seed and order; factors are those of `fair` by the order's."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    print("| seed | order | mean s | factor | worst job | below 0.8 |\n|---|---|---|---|---|---|")
    for seed in range(1, seeds + 1):
        jobs = made_jobs(seed)
        fair = found_with("fair", jobs, seed)
        for order in ORDERS:
            found = fair if order == "fair" else found_with(order, jobs, seed)
            each = [fair.each_s[name] / found.each_s[name] for name in found.each_s]
            slowed = sum(factor < 0.8 for factor in each) / len(each)  # noqa: PLR2004 - as in the paper
            row = (
                order,
                f"{found.mean_s:.1f}",
                f"{fair.mean_s / found.mean_s:.2f}",
                f"{min(each):.2f}",
                f"{slowed:.0%}",
            )
            print(f"| {seed} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
