"""Tasks in the cluster of their data, by what reading across costs: Heddle over two modelled clusters.

    python -m scripts.data_figures [SEEDS]

Jobs of one to twelve tasks come at random; the data of seven in ten is in `west`, on all of its four nodes, that of the
others in `east`. `HERE %` is the part of the tasks that started in the cluster of their data. A task runs as long in
either: what reading across takes is not modelled, so that the mean shows what waiting for a cluster costs, and no gain.
"""

from collections.abc import Sequence

from scripts.two_clusters import arriving, each_run, played_on_two_clusters
from shim.domain.resources import ResourceVector
from shim.simulation.cluster.jobs import ModelledJob, ModelledStage
from shim.simulation.engine import seeded

_RUNS = tuple(f"{policy} {wait}" for policy in ("fifo", "tetris") for wait in (0, 15))
_JOBS, _MOST_TASKS, _TASK_S, _WEST_PART = 30, 12, 20.0, 0.7
_NODES, _PLACES, _LOAD = 4, 32, 0.8
_SIZE = ResourceVector(1024, 1)


def made_jobs(seed: int, count: int = _JOBS) -> list[ModelledJob]:
    """Jobs of one stage whose data is in one cluster, at 0.8 of what the places can do."""
    rng = seeded(seed, "data over clusters")
    stages = list[ModelledStage]()
    for _ in range(count):
        cluster = "west" if rng.random() < _WEST_PART else "east"
        hosts = tuple(f"{cluster}-n{number + 1}" for number in range(_NODES))
        durations = tuple(_TASK_S * rng.uniform(0.5, 1.5) for _ in range(rng.randint(1, _MOST_TASKS)))
        stages.append(ModelledStage(durations, size=_SIZE, hosts=(hosts,) * len(durations)))
    return arriving(stages, rng, places=_PLACES, load=_LOAD)


def found_with(run: str, jobs: Sequence[ModelledJob], seed: int) -> tuple[float, float]:
    """Part of the tasks that started in the cluster of their data, and mean seconds from submission to end.

    Args:
        run: A policy, and `read_across_s`; without the latter the key is left out.
        jobs: What runs.
        seed: Of the run.

    Raises:
        RuntimeError: A job did not succeed.
    """
    policy, _, wait = run.partition(" ")
    told = f'containers = "{policy}"' + (f"\n[scheduling]\nread_across_s = {wait}" if wait else "")
    outcome = played_on_two_clusters(jobs, node=ResourceVector(4 * 1024 + 512, 4), queue=told, seed=seed)
    return outcome.at_data, outcome.completion.mean


def main() -> None:
    """Print a row for each seed, policy and cost."""
    print("SEED  POLICY     ACROSS s  HERE %  MEAN s")
    for seed, run, jobs in each_run(_RUNS, made_jobs):
        here, mean_s = found_with(run, jobs, seed)
        policy, _, wait = run.partition(" ")
        print(f"{seed:4}  {policy:10} {wait:>8}  {100 * here:6.1f}  {mean_s:6.1f}", flush=True)


if __name__ == "__main__":
    main()
