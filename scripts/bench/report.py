"""docs/benchmarks.md: the tables, with what they were made on."""

import os
import platform
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from scripts.bench.generated import Generated
from scripts.bench.load import Measured
from scripts.bench.side_by_side import TARGETS, Cell, Effort, SideBySide

__all__ = ["write_page"]

_BEGIN, _END = "<!-- measured: begin -->", "<!-- measured: end -->"


def write_page(
    page: Path, side_by_side: SideBySide, generated: Generated, effort: Effort, *, command: str, remark: str
) -> None:
    """Put new tables between the marks of the page; what people wrote around them stays."""
    text = page.read_text("utf-8")
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    tables = "\n".join((*_head(effort, command, remark), *_tables(side_by_side), *_generated(generated)))
    page.write_text(f"{before}{_BEGIN}\n{tables}\n{_END}{after}", "utf-8")


def _head(effort: Effort, command: str, remark: str) -> Iterator[str]:
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    yield f"\nMeasured {time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC by `{command}`: {effort.rounds} rounds of"
    yield f"{effort.seconds:g} s a cell, {os.cpu_count()} cores, Python {platform.python_version()},"
    yield f"load average at the end {load}. {remark}\n"


def _tables(measured: SideBySide) -> Iterator[str]:
    yield "### Requests per second\n"
    yield "| what | connections | RM | Router | Heddle | Heddle / RM | range | Heddle / Router | failed |"
    yield "|---|---|---|---|---|---|---|---|---|"
    yield from map(_rate_row, measured.cells)
    yield "\n### Latency in ms, p50 / p99\n"
    yield "| what | connections | RM | Router | Heddle |"
    yield "|---|---|---|---|---|"
    yield from map(_latency_row, measured.cells)
    yield "\n### Processor time for each request in µs, of the target's own process\n"
    yield "The Router's requests cost the ResourceManagers behind it besides; Heddle's include its polls meanwhile.\n"
    yield "| what | connections | RM | Router | Heddle |"
    yield "|---|---|---|---|---|"
    yield from map(_cpu_row, measured.cells)
    yield "\n### Memory\n"
    yield "| process | MiB when started | MiB at the end |"
    yield "|---|---|---|"
    yield from (f"| {target} | {start} | {end} |" for target, (start, end) in measured.memory_mib.items())


def _rate_row(cell: Cell) -> str:
    rates = " | ".join(_short(cell.median(target, lambda run: run.per_s)) for target in TARGETS)
    to_rm, to_router = cell.ratios("heddle", "rm"), cell.ratios("heddle", "router")
    failed = ", ".join(
        f"{target} {count}" for target in TARGETS if (count := sum(run.failed for run in cell.runs[target]))
    )
    ranged = f"{to_rm[0]:.2f} to {to_rm[-1]:.2f}" if to_rm else "-"
    compared = f"**{_middle(to_rm)}** | {ranged} | {_middle(to_router)}"
    return f"| {cell.what} | {cell.connections} | {rates} | {compared} | {failed} |"


def _latency_row(cell: Cell) -> str:
    pairs = (
        f"{_short(cell.median(target, lambda run: run.p50_ms))} / {_short(cell.median(target, lambda run: run.p99_ms))}"
        for target in TARGETS
    )
    return f"| {cell.what} | {cell.connections} | {' | '.join(pairs)} |"


def _cpu_row(cell: Cell) -> str:
    shown = (_short(cell.median(target, lambda run: run.cpu_us)) for target in TARGETS)
    return f"| {cell.what} | {cell.connections} | {' | '.join(shown)} |"


def _middle(ratios: list[float]) -> str:
    return f"{statistics.median(ratios):.2f}" if ratios else "-"


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"  # noqa: PLR2004 - three digits are enough


def _generated(found: Generated) -> Iterator[str]:
    size = found.size
    yield f"\n### {size.clusters} clusters x {size.nodes} nodes, {size.applications} live applications (scripted)\n"
    yield "| what | measured |"
    yield "|---|---|"
    listed = f"all {size.applications} ({found.list_bytes / 1e6:.1f} MB)"
    yield f"| `GET /apps`, {listed}, p50 / p99 | {_pair(found.whole_list)} |"
    yield f"| `GET /apps?states=RUNNING&limit=100`, 8 connections, p50 / p99 | {_pair(found.short_list)} |"
    yield f"| memory of Heddle | {found.memory_mib} MiB |"
    yield f"| processor time for polls alone | {found.idle_cpu:.0%} of one core |"
    yield f"| requests to each ResourceManager | {found.polls_per_s:.1f} per second |"


def _pair(measured: Measured) -> str:
    return f"{_short(measured.p50_ms)} / {_short(measured.p99_ms)} ms"
