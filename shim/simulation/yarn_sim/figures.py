"""Figures of runs of jobs over modelled clusters, for plots and for the console."""

from collections.abc import Iterable, Mapping, Sequence

from shim.simulation.figures_file import FiguresFile
from shim.simulation.lives import JobLife, life_of, memory_over_time
from shim.simulation.yarn_sim.run import YarnOutcome

__all__ = ["yarn_figures"]


def yarn_figures(
    outcomes: Mapping[str, YarnOutcome], columns: Sequence[tuple[str, str]], rows: Sequence[Mapping[str, str]]
) -> FiguresFile:
    """Gather the figures of one workload behind each front.

    Args:
        outcomes: By the front's name.
        columns: Heading and key of each column of the table.
        rows: Its rows, as texts.
    """
    n_jobs = max(len(outcome.jobs) for outcome in outcomes.values())
    figures = FiguresFile(f"modelled clusters: {n_jobs} jobs", columns, rows)
    figures.add_distribution("completion (s)", {name: each.completions_s for name, each in outcomes.items()})
    figures.add_distribution("wait of tasks (s)", {name: each.waits_s for name, each in outcomes.items()})
    lives = {name: lived for name, each in outcomes.items() if (lived := list(_lives(each)))}
    figures.add_over_time("memory (GiB)", {name: memory_over_time(each) for name, each in lives.items()})
    for name, lived in lives.items():
        figures.add_jobs(name, [each.bar for each in lived])
    return figures


def _lives(outcome: YarnOutcome) -> Iterable[JobLife]:
    for job in outcome.jobs:
        times = outcome.times.get(job.name)
        if times is not None:
            yield life_of(f"{job.name} ({job.queue})", job.arrival_s, times.launched_s, times.ended_s, times.mib_s)
