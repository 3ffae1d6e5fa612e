"""A comparison as figures that the console draws: distributions, memory over time, and applications as bars."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shim.simulation.figures_file import FiguresFile
from shim.simulation.lives import JobLife, life_of, memory_over_time
from shim.simulation.what_if.past_jobs import PastJob
from shim.simulation.what_if.plot import distributions
from shim.simulation.yarn_sim.run import YarnOutcome

__all__ = ["comparison_figures"]


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
        {name: memory_over_time(each) for name, each in lives.items()},
    )
    for name, lived in lives.items():
        figures.add_jobs(name, [each.bar for each in lived])
    return figures


def _really(jobs: Sequence[PastJob]) -> Iterable[JobLife]:
    for job in jobs:
        if job.waited_s is not None and job.took_s is not None:
            yield life_of(_named(job), job.arrival_s, job.waited_s, job.took_s, job.mib_s)


def _replayed(jobs: Sequence[PastJob], outcome: YarnOutcome) -> Iterable[JobLife]:
    for job in jobs:
        times = outcome.times.get(job.name)
        if times is not None:
            yield life_of(_named(job), job.arrival_s, times.launched_s, times.ended_s, times.mib_s)


def _named(job: PastJob) -> str:
    return f"{job.name} ({job.queue})"
