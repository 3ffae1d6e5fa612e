"""Late binding and random nodes in a queue of real clusters, beside orders: Heddle's own code over modelled clusters.

    python -m scripts.late_binding_figures [SEEDS]

Four clusters of eight places. Jobs of one to twelve tasks come at random, a tenth with tasks five times as long. `HELD`
is the memory and time that containers held, as a multiple of what tasks took: what was granted and released is in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from scripts.two_clusters import arriving, each_run, played_on
from shim.domain.resources import ResourceVector
from shim.simulation.cluster.jobs import ModelledJob, ModelledStage
from shim.simulation.engine import seeded

ORDERS = ("unordered", "fifo", "omega", "sparrow")
_NAMES = ("north", "east", "south", "west")
_JOBS, _MOST_TASKS, _TASK_S, _LONGER, _LONG_PART = 60, 12, 6.0, 5.0, 0.1
_PLACES, _LOAD = 32, 0.8
_SIZE = ResourceVector(1024, 1)


@dataclass(frozen=True, slots=True)
class Found:
    """Result of a run.

    Attributes:
        mean_s: From submission to end, of all jobs; `p95_s` likewise.
        held: Memory x time that was held, as a multiple of what tasks took; ApplicationMasters included.
    """

    mean_s: float
    p95_s: float
    held: float


def made_jobs(seed: int, count: int = _JOBS) -> list[ModelledJob]:
    """Jobs of one stage, at 0.8 of what the places can do."""
    rng = seeded(seed, "late binding")
    stages = list[ModelledStage]()
    for _ in range(count):
        mean_s = _TASK_S * (_LONGER if rng.random() < _LONG_PART else 1.0)
        durations = tuple(mean_s * rng.uniform(0.75, 1.25) for _ in range(rng.randint(1, _MOST_TASKS)))
        stages.append(ModelledStage(durations, size=_SIZE))
    return arriving(stages, rng, places=_PLACES, load=_LOAD)


def found_with(order: str, jobs: Sequence[ModelledJob], seed: int) -> Found:
    """Run jobs by an order of containers.

    Raises:
        RuntimeError: A job did not succeed.
    """
    node = ResourceVector(4 * 1024 + 512, 4)
    outcome = played_on(_NAMES, jobs, node=node, nodes=2, queue=f'containers = "{order}"', seed=seed)
    took = sum(sum(stage.durations_s) for job in jobs for stage in job.stages) * _SIZE.memory_mib
    return Found(outcome.completion.mean, outcome.completion.p95, sum(outcome.used.values()) / took)


def main() -> None:
    """Print a row for each seed and order."""
    print("SEED  ORDER      MEAN s   P95 s  HELD x")
    for seed, order, jobs in each_run(ORDERS, made_jobs):
        found = found_with(order, jobs, seed)
        print(f"{seed:4}  {order:10} {found.mean_s:6.1f}  {found.p95_s:6.1f}  {found.held:6.2f}", flush=True)


if __name__ == "__main__":
    main()
