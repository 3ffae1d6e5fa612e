"""Figures of runs of policies, for plots and for the console."""

from collections.abc import Mapping, Sequence

from shim.simulation.figures_file import FiguresFile, JobBar
from shim.simulation.lives import unfinished_over_time

__all__ = ["policy_figures"]


def policy_figures(
    bars: Mapping[str, Sequence[JobBar]], columns: Sequence[tuple[str, str]], rows: Sequence[Mapping[str, str]]
) -> FiguresFile:
    """Gather the figures of runs.

    Args:
        bars: Jobs that ended, by the run's name.
        columns: Heading and key of each column of the table.
        rows: Its rows, as texts.
    """
    figures = FiguresFile("policies of the scheduling core", columns, rows)
    ended = {name: each for name, each in bars.items() if each}
    responses = {name: [bar.to_s - bar.from_s for bar in each] for name, each in ended.items()}
    figures.add_distribution("response (s)", responses)
    figures.add_over_time(
        "jobs that have not ended", {name: unfinished_over_time(each) for name, each in ended.items()}
    )
    for name, each in ended.items():
        figures.add_jobs(name, each)
    return figures
