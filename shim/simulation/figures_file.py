"""Figures of runs as a JSON file that the console draws: distributions, lines over time, and jobs as bars.

    {
      "heddle_figures": 1,
      "title": "...",
      "columns": [["POLICY", "policy"], ...], "rows": [{"policy": "megha", ...}, ...]      a table, of texts
      "distributions": [{"title": "job delay (s)", "lines": [{"name": ..., "percentiles": [p0, ..., p100]}]}],
      "over_time": [{"title": "slots (%)", "lines": [{"name": ..., "at_s": [...], "values": [...]}]}],
      "jobs": [{"name": "megha", "bars": [{"name": ..., "from_s": ..., "start_s": ..., "to_s": ...}]}]
    }

A bar is a job: from its arrival, over its first start, to its end. Runs of more than 200 jobs have none.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shim.errors import BadRequestError
from shim.simulation.results import nearest_rank

FIGURES_SUFFIX = ".json"
MOST_BARS = 200
_VERSION = 1
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class JobBar:
    """One job of a run; seconds from the first arrival."""

    name: str
    from_s: float
    start_s: float
    to_s: float


@dataclass(slots=True)
class FiguresFile:
    """Figures as they are gathered, before they are written.

    Attributes:
        columns: Heading and key of each column of the table.
        distributions: As they are written; `over_time` and `jobs` likewise.
    """

    title: str
    columns: Sequence[tuple[str, str]] = ()
    rows: Sequence[Mapping[str, Any]] = ()
    distributions: list[dict[str, Any]] = field(default_factory=list)
    over_time: list[dict[str, Any]] = field(default_factory=list)
    jobs: list[dict[str, Any]] = field(default_factory=list)

    def add_distribution(self, title: str, values: Mapping[str, Iterable[float]]) -> None:
        """A line for each name with values, by its percentiles (nearest rank, 0 to 100)."""
        ordered = {name: sorted(each) for name, each in values.items()}
        lines = [
            {"name": name, "percentiles": [_short(nearest_rank(each, percent)) for percent in range(101)]}
            for name, each in ordered.items()
            if each
        ]
        self.distributions.append({"title": title, "lines": lines})

    def add_over_time(self, title: str, lines: Mapping[str, tuple[Iterable[float], Iterable[float]]]) -> None:
        """A line for each name: times in seconds, and values of the same number."""
        told = [
            {"name": name, "at_s": [_short(each) for each in at_s], "values": [_short(each) for each in values]}
            for name, (at_s, values) in lines.items()
        ]
        self.over_time.append({"title": title, "lines": told})

    def add_jobs(self, name: str, bars: Sequence[JobBar]) -> None:
        """Jobs of one run; left out if they are too many to be looked at."""
        if 0 < len(bars) <= MOST_BARS:
            shown = [
                {
                    "name": bar.name,
                    "from_s": _short(bar.from_s),
                    "start_s": _short(bar.start_s),
                    "to_s": _short(bar.to_s),
                }
                for bar in bars
            ]
            self.jobs.append({"name": name, "bars": shown})

    def write(self, path: Path) -> None:
        """Write the file.

        Raises:
            BadRequestError: If it cannot be written.
        """
        told = {
            "heddle_figures": _VERSION,
            "title": self.title,
            "columns": self.columns,
            "rows": self.rows,
            "distributions": self.distributions,
            "over_time": self.over_time,
            "jobs": self.jobs,
        }
        try:
            path.write_text(json.dumps(told, allow_nan=False) + "\n", "utf-8")
        except OSError as error:
            raise BadRequestError(f"the figures cannot be written to {path}: {error}") from error


def _short(value: float) -> float | None:
    return round(float(value), _DIGITS) if math.isfinite(value) else None
