"""Jobs for a calibration, drawn from a seed: many short ones and some long ones, more than there is room for."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from scripts.calibrating.rows import CONTAINER, NODES, PLACES
from shim.domain.resources import ResourceVector

GAP_S = 1.6
_LONG = 0.25


@dataclass(frozen=True, slots=True)
class DrawnJob:
    """One job.

    Attributes:
        name: Unique among those of a draw.
        arrival_s: From the begin of the run to its submission.
        durations_s: How long each task sleeps.
        kind: Name of the application, which others of its kind have, too; its own where nothing recurs.
        size: Of the container of each task.
        tags: Of the application.
        placement: If it is a service: the tag of its containers, then `MOST:TAG` for what a node of theirs may have.
    """

    name: str
    arrival_s: float
    durations_s: tuple[float, ...]
    kind: str = ""
    size: ResourceVector = CONTAINER
    tags: tuple[str, ...] = ()
    placement: tuple[str, ...] = ()

    @property
    def work_s(self) -> float:
        """All tasks together."""
        return sum(self.durations_s)


def drawn_jobs(seed: int, count: int, gap_s: float = GAP_S) -> tuple[DrawnJob, ...]:
    """Draw jobs with exponential gaps: three of four have 4 to 8 tasks of 1 to 3 s, the rest 12 to 20 of 5 to 10 s.

    Args:
        seed: The same seed gives the same jobs.
        count: How many.
        gap_s: Mean time from one arrival to the next.
    """
    random, at_s, found = Random(seed), 0.0, []  # noqa: S311 - repeatable, no secret
    for number in range(count):
        tasks, least_s, most_s = ((12, 20), 5.0, 10.0) if random.random() < _LONG else ((4, 8), 1.0, 3.0)
        durations = tuple(round(random.uniform(least_s, most_s), 2) for _ in range(random.randint(*tasks)))
        found.append(DrawnJob(f"job-{seed}-{number}", round(at_s, 3), durations))
        at_s += random.expovariate(1.0 / gap_s)
    return tuple(found)


_SIZES = ((1, 5), (6, 20), (60, 140))
_KINDS = "abcdefghijkl"
_OF_KINDS = (0,) * 8 + (1,) * 3 + (2,)
_LOAD = 0.83
_WEIGHTS = (9.4,) * 8 + (6.7,) * 3 + (5.0,)


def heavy_tail(seed: int, count: int, gap_s: float) -> tuple[DrawnJob, ...]:
    """Draw jobs of twelve kinds that recur, the same with every seed: most have a few tasks, one of twenty a hundred.

    Args:
        seed: The same seed gives the same jobs.
        count: How many.
        gap_s: `GAP_S` for a load of 0.83, half as much for twice the load.
    """
    random, of_kinds = Random(seed), Random(len(_KINDS))  # noqa: S311 - repeatable, no secret
    kinds = [(of_kinds.randint(*_SIZES[size]), of_kinds.lognormvariate(math.log(4.0), 0.6)) for size in _OF_KINDS]
    at_s, found = 0.0, list[DrawnJob]()
    for number in range(count):
        kind = random.choices(range(len(_KINDS)), weights=_WEIGHTS)[0]
        tasks, mean_s = kinds[kind]
        ran_s = mean_s * random.uniform(0.85, 1.15)
        times = tuple(round(ran_s * random.uniform(0.7, 1.3), 2) for _ in range(tasks))
        found.append(DrawnJob(f"job-{seed}-{number}", round(at_s, 3), times, f"etl-{_KINDS[kind]}"))
        at_s += random.expovariate(1.0)
    pace = load_of(found) / _LOAD * gap_s / GAP_S
    return tuple(replace(job, arrival_s=round(job.arrival_s * pace, 3)) for job in found)


def load_of(jobs: Sequence[DrawnJob]) -> float:
    """Work of the tasks by what all containers could do until the last arrival."""
    return sum(job.work_s for job in jobs) / (2 * NODES * PLACES * max(job.arrival_s for job in jobs))


DRAWS: Mapping[str, Callable[[int, int, float], tuple[DrawnJob, ...]]] = {
    "usual": drawn_jobs,
    "heavy-tail": heavy_tail,
}
