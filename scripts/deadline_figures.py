"""Deadlines that jobs of one queue miss, by its order of containers: Heddle's own code over modelled clusters.

    python -m scripts.deadline_figures [SEEDS [DRAW [FIRST]]]

Two clusters of 16 places. Every third job has a deadline, of half as much again as it takes on eight containers; the
others have none. Applications start by expected work, as by default. The same kinds of jobs come again and again, so
that runs tell of the next. Draws: `stages` has jobs of one stage; in `graphs` those with deadlines have five stages,
and runs differ in how fast they are.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from scripts.two_clusters import be_silent, played_on_two_clusters
from shim.domain.resources import ResourceVector
from shim.simulation.cluster.jobs import ModelledJob, ModelledStage
from shim.simulation.engine import seeded

ORDERS = ("fifo", "fair", "jockey")
_JOBS, _EVERY_S, _TASKS, _TASK_S, _AT_A_TIME = 30, 12.0, 16, 20.0, 8
_EVERY_THIRD, _ALLOWANCE, _OVERHEAD_S = 3, 1.5, 15.0
_SIZE = ResourceVector(1024, 1)
_GRAPH = ((8, 10.0, ()), (2, 30.0, ()), (16, 10.0, (0,)), (4, 20.0, (1, 2)), (2, 10.0, (3,)))
"""Tasks, their seconds, and what comes before, of each stage; on eight places it takes a minute and a half."""
_GRAPH_S, _GRAPHS_EVERY_S, _SPREAD = 90.0, 9.0, 0.3


@dataclass(frozen=True, slots=True)
class Found:
    """Result of a run.

    Attributes:
        missed: Jobs that ended after their deadlines; `due` is how many had one.
        mean_s: Of all jobs, from submission to end.
        spread: Longest run of the jobs with deadlines by the shortest one, each beside its deadline.
    """

    missed: int
    due: int
    mean_s: float
    spread: float


def made_jobs(seed: int, count: int = _JOBS) -> list[ModelledJob]:
    """Jobs of one stage whose tasks vary by half; the kinds that have deadlines are two."""
    rng = seeded(seed, "deadlines")
    made, at_s = list[ModelledJob](), 0.0
    for number in range(count):
        is_due = number % _EVERY_THIRD == 2  # noqa: PLR2004 - the last of three
        tasks = _TASKS if is_due else 2 * _TASKS
        durations = tuple(_TASK_S * rng.uniform(0.75, 1.25) for _ in range(tasks))
        deadline_s = int(_ALLOWANCE * sum(durations) / _AT_A_TIME + _OVERHEAD_S) if is_due else 0
        name = f"due-{number}" if is_due else f"other-{number}"
        made.append(ModelledJob(name, at_s, (ModelledStage(durations, size=_SIZE),), deadline_s=deadline_s))
        at_s += rng.expovariate(1 / _EVERY_S)
    return made


def made_graphs(seed: int, count: int = _JOBS) -> list[ModelledJob]:
    """The same with a graph for each deadline: its runs are slower or faster as a whole, by a log-normal factor."""
    rng = seeded(seed, "deadlines of graphs")
    made, at_s = list[ModelledJob](), 0.0
    for number in range(count):
        if number % _EVERY_THIRD == 2:  # noqa: PLR2004 - the last of three
            slower = rng.lognormvariate(0.0, _SPREAD)
            stages = tuple(
                ModelledStage(tuple(slower * takes_s * rng.uniform(0.75, 1.25) for _ in range(tasks)), needs, _SIZE)
                for tasks, takes_s, needs in _GRAPH
            )
            deadline_s = int(_ALLOWANCE * _GRAPH_S + _OVERHEAD_S)
            made.append(ModelledJob(f"due-{number}", at_s, stages, deadline_s=deadline_s))
        else:
            durations = tuple(_TASK_S * rng.uniform(0.75, 1.25) for _ in range(2 * _TASKS))
            made.append(ModelledJob(f"other-{number}", at_s, (ModelledStage(durations, size=_SIZE),)))
        at_s += rng.expovariate(1 / _GRAPHS_EVERY_S)
    return made


DRAWS: Mapping[str, Callable[[int], list[ModelledJob]]] = {"stages": made_jobs, "graphs": made_graphs}


def found_with(order: str, jobs: Sequence[ModelledJob], seed: int) -> Found:
    """Run jobs by an order of containers.

    Raises:
        RuntimeError: A job did not succeed.
    """
    outcome = played_on_two_clusters(
        jobs, node=ResourceVector(4608, 4), queue=f'containers = "{order}"', seed=seed, order="work"
    )
    due = [job for job in jobs if job.deadline_s]
    beside = [outcome.times[job.name].ended_s / job.deadline_s for job in due]
    missed = sum(part > 1.0 for part in beside)
    return Found(missed, len(due), mean(each.ended_s for each in outcome.times.values()), max(beside) / min(beside))


def main() -> None:
    """Print a row for each seed and order."""
    be_silent()
    told = dict(enumerate(sys.argv))
    first = int(told.get(3, "1"))
    print("SEED  ORDER    MISSED  DUE  MEAN s  SPREAD")
    for seed in range(first, first + int(told.get(1, "3"))):
        jobs = DRAWS[told.get(2, "stages")](seed)
        for order in ORDERS:
            found = found_with(order, jobs, seed)
            row = f"{seed:4}  {order:8} {found.missed:5}  {found.due:4}  {found.mean_s:6.1f}  {found.spread:6.1f}"
            print(row, flush=True)


if __name__ == "__main__":
    main()
