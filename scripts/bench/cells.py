"""Measuring targets side by side, by turns, and what comes of it.

In each round every target is measured once, in turned order, so that what else the machine does falls on all alike. A
ratio is taken within a round; the median of the rounds is shown with their range.
"""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import TypeVar

from scripts.bench.load import Measured, cpu_s

TARGETS = ("rm", "router", "heddle")

_T = TypeVar("_T")
Say = Callable[[str], None]
Measure = Callable[[str, int], Measured]
"""Measures a target, by its name, with so many connections."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How long is measured.

    Attributes:
        rounds: So often is every target measured.
        seconds: For so long each time.
    """

    rounds: int = 3
    seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class Cell:
    """What was measured of one thing at one number of connections, by target, one value for each round."""

    what: str
    connections: int
    runs: Mapping[str, Sequence[Measured]]

    def median(self, target: str, value: Callable[[Measured], float]) -> float:
        """Over the rounds."""
        return statistics.median(value(run) for run in self.runs[target])

    def ratios(self, target: str, other: str, rate: Callable[[Measured], float]) -> list[float]:
        """A rate of a target over that of another, round by round."""
        pairs = zip(self.runs[target], self.runs[other], strict=True)
        return sorted(rate(one) / rate(two) for one, two in pairs if rate(two))


def turned(values: Sequence[_T], rounds: int) -> Iterator[_T]:
    """Every value once a round, each round beginning with another."""
    for round_ in range(rounds):
        for turn in range(len(values)):
            yield values[(round_ + turn) % len(values)]


def measure_cells(
    what: str, connections: Sequence[int], measure: Measure, *, pids: Mapping[str, int], rounds: int, say: Say
) -> Iterator[Cell]:
    """Measure one thing at each number of connections.

    Args:
        what: Its name.
        connections: The numbers.
        measure: Measures one target once.
        pids: The targets' processes, for their processor time.
        rounds: So often.
        say: Told of each cell.
    """
    for count in connections:
        runs: dict[str, list[Measured]] = {target: [] for target in TARGETS}
        for target in turned(TARGETS, rounds):
            before_s = cpu_s(pids[target])
            measured = measure(target, count)
            used_us = (cpu_s(pids[target]) - before_s) * 1e6 / max(1, measured.requests)
            runs[target].append(replace(measured, cpu_us=used_us) if isnan(measured.cpu_us) else measured)
        cell = Cell(what, count, runs)
        shown = ", ".join(f"{target} {cell.median(target, lambda run: run.per_s):.4g}/s" for target in TARGETS)
        say(f"{what}, {count} connections: {shown}")
        yield cell
