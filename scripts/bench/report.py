"""docs/developers/benchmarks.md: each section's tables, with when and on what they were made."""

import os
import platform
import re
import statistics
import textwrap
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from scripts.bench.cells import TARGETS, Cell

_NAMES = {"rm": "RM", "router": "Router", "heddle": "Heddle"}

_COMPARED = ("rm", "heddle")
_COLUMNS = 120
_BUSY = 0.9
"""A load generator that was so busy, of one core, may have been what was measured."""


def write_section(page: Path, name: str, lines: Iterable[str]) -> None:
    """Put new tables between a section's marks; what people wrote around them stays.

    Raises:
        ValueError: If the page has no such marks.
    """
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    text = page.read_text("utf-8")
    if begin not in text or end not in text:
        raise ValueError(f"{page} has no place for the section {name}: it needs the lines {begin} and {end}")
    inside = "\n".join((begin, *lines, end))
    page.write_text(re.sub(f"{re.escape(begin)}.*{re.escape(end)}", lambda _: inside, text, flags=re.DOTALL), "utf-8")


def made(command: str, *, load_before: float, remark: str) -> str:
    """When and on what a section was measured."""
    now = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}"
    loads = f"load average {load_before:.1f} before the run and {os.getloadavg()[0]:.1f} at its end"
    told = f"Measured {now} UTC by `{command}`: {machine}, {loads}.{' ' if remark else ''}{remark}"
    return f"\n{textwrap.fill(told, _COLUMNS, break_long_words=False, break_on_hyphens=False)}\n"


def cell_tables(cells: Sequence[Cell]) -> Iterator[str]:
    """A row for each cell: rates with ratios, latencies, processor times."""
    is_taken_up = all(run.taken_up_per_s > 0 for cell in cells for runs in cell.runs.values() for run in runs)
    columns = ["requests per second", "connections", "RM", "Router", "Heddle", "Heddle / RM", "Heddle / Router"]
    columns += ["taken up, Heddle / RM"] if is_taken_up else []
    columns += ["p50 / p99 in ms: RM", "Heddle", "processor time in µs: RM", "Heddle", "remarks"]
    yield _row(columns)
    yield "|---" * len(columns) + "|"
    for cell in cells:
        yield _row(_cell_row(cell, is_taken_up=is_taken_up))


def figure_table(what: str, columns: Sequence[str], rows: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """A table of figures that are written out already."""
    yield f"| {what} | {' | '.join(columns)} |"
    yield "|---" * (len(columns) + 1) + "|"
    for name, values in rows.items():
        yield f"| {name} | {' | '.join(values)} |"


def short(value: float) -> str:
    """Three digits are enough."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"  # noqa: PLR2004 - three digits


def _row(values: Iterable[str]) -> str:
    return f"| {' | '.join(values)} |"


def _cell_row(cell: Cell, *, is_taken_up: bool) -> Iterator[str]:
    yield cell.what
    yield str(cell.connections)
    yield from (short(cell.median(target, lambda run: run.per_s)) for target in TARGETS)
    yield _ranged(cell.ratios("heddle", "rm", lambda run: run.per_s))
    yield _middle(cell.ratios("heddle", "router", lambda run: run.per_s))
    if is_taken_up:
        yield _ranged(cell.ratios("heddle", "rm", lambda run: run.taken_up_per_s))
    for target in _COMPARED:
        p50, p99 = (cell.median(target, lambda run: run.p50_ms), cell.median(target, lambda run: run.p99_ms))
        yield f"{short(p50)} / {short(p99)}"
    yield from (short(cell.median(target, lambda run: run.cpu_us)) for target in _COMPARED)
    yield ", ".join(_remarks(cell))


def _ranged(ratios: list[float]) -> str:
    return f"**{_middle(ratios)}** ({ratios[0]:.2f} to {ratios[-1]:.2f})" if ratios else "-"


def _remarks(cell: Cell) -> Iterator[str]:
    for target in TARGETS:
        runs = cell.runs[target]
        failed, requests = sum(run.failed for run in runs), sum(run.requests for run in runs)
        if failed:
            yield f"{_NAMES[target]}: {failed} of {requests} failed"
        if any(run.generator > _BUSY for run in runs):
            yield f"{_NAMES[target]}: the generator had no time left"


def _middle(ratios: list[float]) -> str:
    return f"{statistics.median(ratios):.2f}" if ratios else "-"
