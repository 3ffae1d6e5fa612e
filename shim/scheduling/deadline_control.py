"""The number of containers that a deadline takes: the least that are worth most, smoothed over control periods.

Source: Ferguson et al., EuroSys 2012, section 4.4.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shim.scheduling.job_table import FloatArray
from shim.scheduling.parameters import parameter

__all__ = ["DeadlineControl", "DeadlineRules", "raw_allocation", "smoothed", "utility_of_end"]

_EQUAL = 1e-9
_LATE, _VERY_LATE, _LOSS = 10.0, 1000.0, 1000.0


@dataclass(frozen=True, slots=True)
class DeadlineRules:
    """Constants of the control loop."""

    slack: float = parameter(1.2, least=0.1, section="section 4.4", meaning="What is predicted counts so many times.")
    dead_periods: float = parameter(
        3.0,
        unit="periods",
        section="section 4.4",
        meaning="A job is steered towards a deadline that is so many control periods earlier.",
    )
    hysteresis: float = parameter(
        0.5,
        least=0.01,
        most=1.0,
        section="section 4.4 (alpha)",
        published=0.2,
        meaning="Part of the way to a new allocation that is gone in one period. With the paper's, and a fortieth of "
        "the deadline as the period, it is an eighth of the deadline behind what is needed.",
    )
    periods: int = parameter(
        40,
        least=1,
        most=10_000,
        meaning="Control periods up to the deadline. The paper's period of a minute is 40 for jobs of 40 minutes.",
    )


@dataclass(frozen=True, slots=True)
class DeadlineControl:
    """A job's allocation until the next control period.

    Attributes:
        arrived_s: Of the job, whose row may be another's later.
        allocation: Smoothed; `containers` are whole.
        progress: The most that was reached.
        until_s: When the period ends.
        slack_s: From the predicted end to the deadline.
    """

    arrived_s: float
    allocation: float
    progress: float
    until_s: float
    slack_s: float

    @property
    def containers(self) -> int:
        """Whole containers, at least one."""
        return max(1, math.ceil(self.allocation - 1e-9))


def utility_of_end(end: float, deadline: float, unit: float = 1.0) -> float:
    """Worth of an end at a time: 1 up to the deadline, -1 ten units later, then about -1 for each unit."""
    late = (end - deadline) / unit
    if late <= 0.0:
        return 1.0
    if late <= _LATE:
        return 1.0 - 2.0 * late / _LATE
    return -1.0 - (_LOSS - 1.0) * (late - _LATE) / (_VERY_LATE - _LATE)


def raw_allocation(
    grid: Sequence[int], left: FloatArray, elapsed: float, deadline: float, rules: DeadlineRules, unit: float = 1.0
) -> int:
    """The least allocation whose predicted end is worth most.

    Args:
        grid: Allocations to choose from, rising.
        left: What is left with each of them.
        elapsed: Since submission.
        deadline: Since submission.
        rules: Of the loop.
        unit: Length of a control period.
    """
    target = deadline - rules.dead_periods * unit
    worth = np.array([utility_of_end(elapsed + rules.slack * float(each), target, unit) for each in left])
    return grid[int(np.argmax(worth >= worth.max() - _EQUAL))]


def smoothed(before: float | None, raw: int, hysteresis: float) -> float:
    """Go a part of the way from the former allocation to a new one; the first is taken as it is."""
    return float(raw) if before is None else before + hysteresis * (raw - before)
