"""docs/developers/benchmarks.md: each section's tables, with when and on what they were made."""

import os
import platform
import re
import statistics
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from scripts.bench.cells import TARGETS, Cell
from scripts.bench.load import Measured

_NAMES = {"rm": "RM", "router": "Router", "heddle": "Heddle"}

Rate = Callable[[Measured], float]
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
    """Rates with ratios, latencies, processor times."""
    yield from _rate_table("requests per second", cells, lambda run: run.per_s)
    if all(run.taken_up_per_s > 0 for cell in cells for runs in cell.runs.values() for run in runs):
        yield ""
        yield from _rate_table("applications taken up per second", cells, lambda run: run.taken_up_per_s)
    yield "\n| latency in ms, p50 / p99 | connections | RM | Router | Heddle |"
    yield "|---|---|---|---|---|"
    yield from map(_latency_row, cells)
    yield "\n| processor time of a request in µs | connections | RM | Router | Heddle |"
    yield "|---|---|---|---|---|"
    yield from map(_cpu_row, cells)


def figure_table(what: str, columns: Sequence[str], rows: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """A table of figures that are written out already."""
    yield f"| {what} | {' | '.join(columns)} |"
    yield "|---" * (len(columns) + 1) + "|"
    for name, values in rows.items():
        yield f"| {name} | {' | '.join(values)} |"


def short(value: float) -> str:
    """Three digits are enough."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"  # noqa: PLR2004 - three digits


def _rate_table(what: str, cells: Sequence[Cell], rate: Rate) -> Iterator[str]:
    yield f"| {what} | connections | RM | Router | Heddle | Heddle / RM | range | Heddle / Router | remarks |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for cell in cells:
        yield _rate_row(cell, rate)


def _rate_row(cell: Cell, rate: Rate) -> str:
    rates = " | ".join(short(cell.median(target, rate)) for target in TARGETS)
    to_rm, to_router = cell.ratios("heddle", "rm", rate), cell.ratios("heddle", "router", rate)
    ranged = f"{to_rm[0]:.2f} to {to_rm[-1]:.2f}" if to_rm else "-"
    compared = f"**{_middle(to_rm)}** | {ranged} | {_middle(to_router)}"
    return f"| {cell.what} | {cell.connections} | {rates} | {compared} | {', '.join(_remarks(cell))} |"


def _remarks(cell: Cell) -> Iterator[str]:
    for target in TARGETS:
        runs = cell.runs[target]
        failed, requests = sum(run.failed for run in runs), sum(run.requests for run in runs)
        if failed:
            yield f"{_NAMES[target]}: {failed} of {requests} failed"
        if any(run.generator > _BUSY for run in runs):
            yield f"{_NAMES[target]}: the generator had no time left"


def _latency_row(cell: Cell) -> str:
    pairs = (
        f"{short(cell.median(target, lambda run: run.p50_ms))} / {short(cell.median(target, lambda run: run.p99_ms))}"
        for target in TARGETS
    )
    return f"| {cell.what} | {cell.connections} | {' | '.join(pairs)} |"


def _cpu_row(cell: Cell) -> str:
    shown = (short(cell.median(target, lambda run: run.cpu_us)) for target in TARGETS)
    return f"| {cell.what} | {cell.connections} | {' | '.join(shown)} |"


def _middle(ratios: list[float]) -> str:
    return f"{statistics.median(ratios):.2f}" if ratios else "-"
