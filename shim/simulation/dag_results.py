"""Measures of a run of jobs that are graphs of stages."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shim.simulation.figures_file import FiguresFile, JobBar
from shim.simulation.lives import unfinished_over_time
from shim.simulation.results import Summary

_DIGITS = 6
_MEASURES = ("mean", "p50", "p95", "p99", "max")


@dataclass(frozen=True, slots=True)
class DagOutcome:
    """Outcome of a run.

    Attributes:
        completions_s: From arrival to end, in the order of the jobs.
        makespan_s: When the last one ended.
        jain: Jain's index of what those jobs hold that want more, averaged over time.
        workload: What was run; this and what follows is filled by who ran it.
        wall_s: Wall-clock seconds of the run.
    """

    completions_s: tuple[float, ...]
    arrivals_s: tuple[float, ...]
    makespan_s: float
    jain: float
    workload: str = ""
    ordering: str = ""
    seed: int = 0
    wall_s: float = field(default=0.0, compare=False)

    @property
    def completion(self) -> Summary:
        """Summary of the completion times; percentiles are nearest rank."""
        return Summary.of(self.completions_s)


def document(outcome: DagOutcome) -> dict[str, Any]:
    """One run as a JSON object; times in seconds."""
    completion = outcome.completion
    return {
        "workload": outcome.workload,
        "ordering": outcome.ordering,
        "seed": outcome.seed,
        "jobs": len(outcome.completions_s),
        "completion_s": {name: round(getattr(completion, name), _DIGITS) for name in _MEASURES},
        "makespan_s": round(outcome.makespan_s, _DIGITS),
        "jain": round(outcome.jain, _DIGITS),
        "wall_s": round(outcome.wall_s, _DIGITS),
    }


COLUMNS: Sequence[tuple[str, str]] = (
    ("JOBS", "workload"),
    ("ORDERING", "ordering"),
    ("SEEDS", "seeds"),
    ("MEAN s", "mean"),
    ("P50", "p50"),
    ("P95", "p95"),
    ("P99", "p99"),
    ("MAKESPAN s", "makespan"),
    ("JAIN", "jain"),
    ("WALL s", "wall"),
)
"""Headings of the table, and the key of each in a row."""


def rows(outcomes: Sequence[DagOutcome]) -> list[Mapping[str, str]]:
    """A row of text for each ordering: means over its seeds."""
    by_ordering: dict[tuple[str, str], list[DagOutcome]] = {}
    for outcome in outcomes:
        by_ordering.setdefault((outcome.workload, outcome.ordering), []).append(outcome)
    return [_row(runs) for runs in by_ordering.values()]


def _row(runs: Sequence[DagOutcome]) -> Mapping[str, str]:
    completions = [run.completion for run in runs]
    times = {name: f"{statistics.fmean(getattr(one, name) for one in completions):.1f}" for name in _MEASURES}
    return times | {
        "workload": runs[0].workload,
        "ordering": runs[0].ordering,
        "seeds": str(len(runs)),
        "makespan": f"{statistics.fmean(run.makespan_s for run in runs):.1f}",
        "jain": f"{statistics.fmean(run.jain for run in runs):.2f}",
        "wall": f"{statistics.fmean(run.wall_s for run in runs):.1f}",
    }


def dag_figures(outcomes: Sequence[DagOutcome]) -> FiguresFile:
    """Gather the figures of runs: each by its workload, ordering and seed, as far as these differ."""
    named = {_name(outcome, outcomes): outcome for outcome in outcomes}
    figures = FiguresFile("jobs that are graphs of stages", COLUMNS, rows(outcomes))
    figures.add_distribution("completion (s)", {name: each.completions_s for name, each in named.items()})
    bars = {name: _bars(each) for name, each in named.items()}
    figures.add_over_time("jobs that have not ended", {name: unfinished_over_time(each) for name, each in bars.items()})
    for name, each in bars.items():
        figures.add_jobs(name, each)
    return figures


def _name(outcome: DagOutcome, among: Sequence[DagOutcome]) -> str:
    parts = {"workload": "", "ordering": "", "seed": "seed "}
    told = [
        f"{prefix}{getattr(outcome, part)}"
        for part, prefix in parts.items()
        if part == "ordering" or len({getattr(each, part) for each in among}) > 1
    ]
    return ", ".join(told)


def _bars(outcome: DagOutcome) -> list[JobBar]:
    """Jobs of a run in the order of their arrival; when each first ran is not known, so that bars are whole."""
    lived = sorted(zip(outcome.arrivals_s, outcome.completions_s, strict=True))
    return [JobBar(f"job {number}", at_s, at_s, at_s + took_s) for number, (at_s, took_s) in enumerate(lived)]
