"""Lives of jobs in a run, as bars, and amounts over time by them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shim.simulation.figures_file import JobBar

_BINS = 240
_MIB_PER_GIB = 1024.0

FloatArray = NDArray[np.float64]


class JobLife(NamedTuple):
    """A job that was launched and ended; seconds from the first submission.

    Attributes:
        mib_s: Memory times seconds of all its containers.
    """

    bar: JobBar
    mib_s: float


def life_of(name: str, arrival_s: float, launched_s: float, ended_s: float, mib_s: float) -> JobLife:
    """Make a life; launch and end are seconds from the arrival."""
    return JobLife(JobBar(name, arrival_s, arrival_s + launched_s, arrival_s + ended_s), mib_s)


def memory_over_time(lives: Sequence[JobLife]) -> tuple[FloatArray, FloatArray]:
    """Compute mean GiB in equal intervals from 0 to the last end, the memory of each job spread evenly over its run.

    Returns:
        Middles of the intervals in seconds, and the values; both of shape (240,).
    """
    edges_s = np.linspace(0.0, max(each.bar.to_s for each in lives) or 1.0, _BINS + 1)
    held_mib_s = np.zeros(_BINS + 1)
    for each in lives:
        from_s, to_s = each.bar.start_s, max(each.bar.to_s, each.bar.start_s + 1e-9)
        held_mib_s += each.mib_s * np.clip((edges_s - from_s) / (to_s - from_s), 0.0, 1.0)
    width_s = edges_s[1] - edges_s[0]
    return (edges_s[:-1] + edges_s[1:]) / 2.0, np.diff(held_mib_s) / width_s / _MIB_PER_GIB


def unfinished_over_time(bars: Sequence[JobBar]) -> tuple[FloatArray, FloatArray]:
    """Count the jobs that have arrived and not ended, at equal times from 0 to the last end.

    Returns:
        The times in seconds, and the counts; both of shape (241,).
    """
    arrivals_s = np.sort([bar.from_s for bar in bars])
    ends_s = np.sort([bar.to_s for bar in bars])
    at_s = np.linspace(0.0, ends_s[-1] or 1.0, _BINS + 1)
    arrived, ended = (np.searchsorted(times_s, at_s, side="right") for times_s in (arrivals_s, ends_s))
    return at_s, (arrived - ended).astype(np.float64)
