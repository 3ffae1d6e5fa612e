"""Plots of a comparison by matplotlib, which is an optional extra (`plots`)."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shim.errors import BadRequestError
from shim.simulation.figures_file import FiguresFile
from shim.simulation.lives import JobLife, life_of, memory_over_time
from shim.simulation.plots import check_can_plot
from shim.simulation.what_if.comparison import ALL, Figures
from shim.simulation.what_if.past_jobs import PastJob
from shim.simulation.yarn_sim.run import YarnOutcome

_LINEAR_BELOW_S = 1.0
_MOST_QUEUES = 20
_BARS = 0.8

Distributions = dict[str, dict[str, list[float]]]
"""Sorted seconds, by figure (`waiting`, `completion`) and column; columns without a value are missing."""


def distributions(jobs: Sequence[PastJob], history: str, outcomes: Mapping[str, YarnOutcome]) -> Distributions:
    """Waiting and completion of each application, really and in each replay.

    Args:
        outcomes: Of the replays, by their columns.
    """
    found: Distributions = {
        "waiting": {history: sorted(job.waited_s for job in jobs if job.waited_s is not None)},
        "completion": {history: sorted(job.took_s for job in jobs if job.took_s is not None)},
    }
    for name, outcome in outcomes.items():
        found["waiting"][name] = sorted(times.launched_s for times in outcome.times.values())
        found["completion"][name] = sorted(times.ended_s for times in outcome.times.values())
    return {figure: {name: each for name, each in columns.items() if each} for figure, columns in found.items()}


def plot_comparison(drawn: Distributions, columns: Mapping[str, Mapping[str, Figures]], path: Path) -> None:
    """Draw how waiting and completion are distributed, and the use of memory by queue.

    Args:
        columns: Figures by column and queue; the queues that use most are drawn.
        path: Ends in `.png` or `.svg`.

    Raises:
        BadRequestError: As `check_can_plot`, or if the file cannot be written after all.
    """
    check_can_plot(path)
    from matplotlib.figure import Figure  # noqa: PLC0415 - an optional extra

    figure = Figure(figsize=(15, 4.5), layout="constrained")
    waiting, completion, use = figure.subplots(1, 3)
    for axes, (title, values) in zip((waiting, completion), drawn.items(), strict=True):
        for name, ordered in values.items():
            parts = np.arange(1, len(ordered) + 1) / len(ordered)
            axes.step(np.asarray(ordered), parts, where="post", label=name)
        axes.set_xscale("symlog", linthresh=_LINEAR_BELOW_S)
        axes.set(xlabel=f"{title} (s)", ylabel="part of the applications", title=title)
    queues = _by_use(columns)
    at = np.arange(len(queues))
    for row, (name, column) in enumerate(columns.items()):
        bars = [column.get(path_of_queue, {}).get("use", 0.0) for path_of_queue in queues]
        width = _BARS / len(columns)
        use.bar(at + (row - (len(columns) - 1) / 2) * width, bars, width, label=name)
    use.set_xticks(at, queues, rotation=20, ha="right")
    use.set(ylabel="use of all memory (%)", title="use by queue")
    for axes in (waiting, completion, use):
        axes.grid(visible=True, alpha=0.3)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize="small")
    try:
        figure.savefig(path, dpi=120)
    except OSError as error:
        raise BadRequestError(f"the plot cannot be written to {path}: {error}") from error


def _by_use(columns: Mapping[str, Mapping[str, Figures]]) -> list[str]:
    use: dict[str, float] = {}
    for column in columns.values():
        for path, figures in column.items():
            if path != ALL:
                use[path] = max(use.get(path, 0.0), figures.get("use", 0.0))
    return sorted(use, key=lambda path: (-use[path], path))[:_MOST_QUEUES]


# A comparison as figures that the console draws: distributions, memory over time, and applications as bars.


def comparison_figures(
    jobs: Sequence[PastJob],
    history: str,
    outcomes: Mapping[str, YarnOutcome],
    columns: Sequence[tuple[str, str]],
    rows: Sequence[Mapping[str, Any]],
) -> FiguresFile:
    """Gather what is drawn of a comparison.

    Args:
        columns: Heading and key of each column of the table.
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
