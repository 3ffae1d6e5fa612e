"""Jobs for a calibration, drawn from a seed: many short ones and some long ones, more than there is room for."""

from dataclasses import dataclass
from random import Random

GAP_S = 1.6
_LONG = 0.25


@dataclass(frozen=True, slots=True)
class DrawnJob:
    """One job.

    Attributes:
        name: Unique among those of a draw.
        arrival_s: From the begin of the run to its submission.
        durations_s: How long each task sleeps.
    """

    name: str
    arrival_s: float
    durations_s: tuple[float, ...]

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
