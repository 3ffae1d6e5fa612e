"""A comparison as figures that the console draws: distributions, memory over time, and applications as bars."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shim.simulation.figures_file import FiguresFile, JobBar
from shim.simulation.what_if.past_jobs import PastJob
from shim.simulation.what_if.plot import distributions
from shim.simulation.yarn_sim.run import YarnOutcome

__all__ = ["comparison_figures"]

_BINS = 240
_MIB_PER_GIB = 1024.0

FloatArray = NDArray[np.float64]


class _Lived(NamedTuple):
    """An application that was launched and ended; seconds from the first submission.

    Attributes:
        mib_s: Memory times seconds of all its containers.
    """

    bar: JobBar
    mib_s: float


def comparison_figures(
    jobs: Sequence[PastJob],
    history: str,
    outcomes: Mapping[str, YarnOutcome],
    columns: Sequence[tuple[str, str]],
    rows: Sequence[Mapping[str, Any]],
) -> FiguresFile:
    """Gather what is drawn of a comparison.

    Args:
        jobs: Of the history.
        history: Name of its column.
        outcomes: Of the replays, by their columns.
        columns: Heading and key of each column of the table.
        rows: Its rows.
    """
    figures = FiguresFile(f"what if: {len(jobs)} applications", columns, rows)
    for title, values in distributions(jobs, history, outcomes).items():
        figures.add_distribution(f"{title} (s)", values)
    lives = {history: list(_really(jobs))} | {name: list(_replayed(jobs, each)) for name, each in outcomes.items()}
    lives = {name: each for name, each in lives.items() if each}
    figures.add_over_time(
        "memory (GiB), of each application spread evenly over its run",
        {name: _memory_over_time(each) for name, each in lives.items()},
    )
    for name, lived in lives.items():
        figures.add_jobs(name, [each.bar for each in lived])
    return figures


def _really(jobs: Sequence[PastJob]) -> Iterable[_Lived]:
    for job in jobs:
        if job.waited_s is not None and job.took_s is not None:
            yield _lived(job, job.waited_s, job.took_s, job.mib_s)


def _replayed(jobs: Sequence[PastJob], outcome: YarnOutcome) -> Iterable[_Lived]:
    for job in jobs:
        times = outcome.times.get(job.name)
        if times is not None:
            yield _lived(job, times.launched_s, times.ended_s, times.mib_s)


def _lived(job: PastJob, launched_s: float, ended_s: float, mib_s: float) -> _Lived:
    at_s = job.arrival_s
    return _Lived(JobBar(f"{job.name} ({job.queue})", at_s, at_s + launched_s, at_s + ended_s), mib_s)


def _memory_over_time(lived: Sequence[_Lived]) -> tuple[FloatArray, FloatArray]:
    """Mean GiB in equal intervals from 0 to the last end: their middles, and the values; both of shape (240,)."""
    edges_s = np.linspace(0.0, max(each.bar.to_s for each in lived) or 1.0, _BINS + 1)
    held_mib_s = np.zeros(_BINS + 1)
    for each in lived:
        from_s, to_s = each.bar.start_s, max(each.bar.to_s, each.bar.start_s + 1e-9)
        held_mib_s += each.mib_s * np.clip((edges_s - from_s) / (to_s - from_s), 0.0, 1.0)
    width_s = edges_s[1] - edges_s[0]
    return (edges_s[:-1] + edges_s[1:]) / 2.0, np.diff(held_mib_s) / width_s / _MIB_PER_GIB
