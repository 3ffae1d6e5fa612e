"""Plots of results by matplotlib, which is an optional extra (`plots`); figures alone need nothing."""

import importlib.util
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shim.errors import BadRequestError
from shim.simulation.figures_file import FIGURES_SUFFIX, FiguresFile, JobBar
from shim.simulation.results import RunOutcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = (".png", ".svg", FIGURES_SUFFIX)
_BINS = 240
_COLUMNS = (
    ("POLICY", "policy"),
    ("MEAN DELAY s", "mean"),
    ("P50", "p50"),
    ("P95", "p95"),
    ("P99", "p99"),
    ("MAX", "max"),
    ("USE %", "use"),
)
_LINEAR_BELOW_S = 1e-3


def utilisation_over_time(outcome: RunOutcome, n_bins: int = _BINS) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean part of the slots that run a task, in equal intervals of the run.

    Returns:
        The middles of the intervals, in seconds from the first start, and the values in [0, 1]; both of shape
        (n_bins,).
    """
    times_s, numbers = (np.asarray(series, dtype=np.float64) for series in outcome.running)
    times_s = times_s - times_s[0]
    busy_s = np.concatenate(([0.0], np.cumsum(numbers[:-1] * np.diff(times_s))))
    edges_s = np.linspace(0.0, times_s[-1], n_bins + 1)
    width_s = edges_s[1] - edges_s[0]
    share = np.diff(np.interp(edges_s, times_s, busy_s)) / (outcome.n_slots * width_s)
    return (edges_s[:-1] + edges_s[1:]) / 2.0, share


def check_can_plot(path: Path) -> None:
    """Find out before a long run whether its plot could be drawn.

    Raises:
        BadRequestError: If the file's ending is none of `FORMATS`, its folder cannot be written to, or matplotlib is
            missing and needed.
    """
    if path.suffix not in FORMATS:
        raise BadRequestError(f"{path} should end in {' or '.join(FORMATS)}")
    if not os.access(path if path.exists() else path.parent, os.W_OK) or path.is_dir():
        raise BadRequestError(f"the plot cannot be written to {path}: name a file in a folder that is yours")
    if path.suffix != FIGURES_SUFFIX and importlib.util.find_spec("matplotlib") is None:
        raise BadRequestError(
            "plots need matplotlib: install Heddle with its extra [plots], in a checkout by pip install '.[plots]'"
        )


def plot_outcomes(outcomes: Sequence[RunOutcome], path: Path) -> None:
    """Draw the distribution of job delay, the utilisation over time, and the jobs of small runs.

    Raises:
        BadRequestError: As `draw_figures`.
    """
    draw_figures(_figures_of(outcomes), path)


def draw_figures(figures: FiguresFile, path: Path) -> None:
    """Draw figures, or keep them for the console.

    A row of panels has the distributions and the lines over time; below it each run of few jobs has a chart of them
    (Gantt): thin from arrival to first start, thick to the end.

    Args:
        path: Ends in one of `FORMATS`.

    Raises:
        BadRequestError: As `check_can_plot`, or if the file cannot be written after all.
    """
    check_can_plot(path)
    if path.suffix == FIGURES_SUFFIX:
        figures.write(path)
        return
    from matplotlib.figure import Figure  # noqa: PLC0415 - an optional extra

    lines, charts = [*figures.distributions, *figures.over_time], figures.jobs
    drawn = Figure(figsize=(6.0 * len(lines), 4.5 * (1 + len(charts))), layout="constrained")
    drawn.suptitle(figures.title)
    grid = drawn.add_gridspec(1 + len(charts), len(lines))
    for column, panel in enumerate(lines):
        _draw_lines(drawn.add_subplot(grid[0, column]), panel, is_distribution=column < len(figures.distributions))
    for row, chart in enumerate(charts, 1):
        _draw_jobs(drawn.add_subplot(grid[row, :]), chart)
    try:
        drawn.savefig(path, dpi=120)
    except OSError as error:
        raise BadRequestError(f"the plot cannot be written to {path}: {error}") from error


def _draw_lines(axes: "Axes", panel: Mapping[str, Any], *, is_distribution: bool) -> None:
    for line in panel["lines"]:
        if is_distribution:
            axes.step(line["percentiles"], np.linspace(0.0, 1.0, len(line["percentiles"])), label=line["name"])
        else:
            axes.plot(line["at_s"], line["values"], linewidth=1.0, label=line["name"])
    if is_distribution:
        positive = [value for line in panel["lines"] for value in line["percentiles"] if value]
        axes.set_xscale("symlog", linthresh=max(_LINEAR_BELOW_S, min(positive, default=1.0)))
        axes.set_xlim(left=0.0)
        axes.set(xlabel=panel["title"], ylabel="part of them")
    else:
        axes.set(xlabel="time (s)", ylabel=panel["title"])
    axes.grid(visible=True, alpha=0.3)
    if panel["lines"]:
        axes.legend(fontsize="small")


def _draw_jobs(axes: "Axes", chart: Mapping[str, Any]) -> None:
    bars = chart["bars"]
    rows = np.arange(len(bars))
    from_s, start_s, to_s = (np.array([bar[key] for bar in bars]) for key in ("from_s", "start_s", "to_s"))
    axes.barh(rows, start_s - from_s, left=from_s, height=0.2, color="0.6")
    axes.barh(rows, to_s - start_s, left=start_s, height=0.8)
    axes.invert_yaxis()
    axes.set_xlim(left=0.0)
    axes.set(xlabel="time (s)", ylabel="jobs in the order of arrival", title=chart["name"])
    axes.grid(visible=True, axis="x", alpha=0.3)


def _figures_of(outcomes: Sequence[RunOutcome]) -> FiguresFile:
    """The same as figures, and the jobs of small runs."""
    first = outcomes[0]
    names = _names_of(outcomes)
    figures = FiguresFile(f"{first.workload.name}, {first.n_slots} slots", _COLUMNS, list(map(_row, names, outcomes)))
    figures.add_distribution("job delay (s)", dict(zip(names, (each.delays_s for each in outcomes), strict=True)))
    use = ((at_s, 100.0 * share) for at_s, share in map(utilisation_over_time, outcomes))
    figures.add_over_time("slots that run a task (%)", dict(zip(names, use, strict=True)))
    for name, outcome in zip(names, outcomes, strict=True):
        if len(outcome.first_starts_s) == len(outcome.workload.jobs):
            figures.add_jobs(name, _bars(outcome))
    return figures


def _names_of(outcomes: Sequence[RunOutcome]) -> list[str]:
    """A name for each run: its policy, with a number where one has several runs."""
    seen: Counter[str] = Counter()
    several = Counter(each.policy for each in outcomes)
    names = []
    for each in outcomes:
        seen[each.policy] += 1
        names.append(each.policy if several[each.policy] == 1 else f"{each.policy} ({seen[each.policy]})")
    return names


def _row(name: str, outcome: RunOutcome) -> dict[str, str]:
    delay = outcome.delay()
    values = {key: f"{getattr(delay, key):.4g}" for key in ("mean", "p50", "p95", "p99", "max")}
    return {"policy": name, **values, "use": f"{100.0 * outcome.utilisation:.1f}"}


def _bars(outcome: RunOutcome) -> list[JobBar]:
    jobs = outcome.workload.jobs
    begun_s = jobs[0].arrival_s
    return [
        JobBar(f"job {job.index}", at_s, at_s + start_s, at_s + response_s)
        for job, start_s, response_s in zip(jobs, outcome.first_starts_s, outcome.responses_s, strict=True)
        for at_s in (job.arrival_s - begun_s,)
    ]
