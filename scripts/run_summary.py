"""The table that ends a run of tests: part, tests, seconds, what failed.

Of a test with many cases the first that failed is told, and how many others. What is known of a part is what it printed
(`PART.log`) and, if it ran pytest, its failed tests (`PART.failures`, see tests/support/failure_log.py).
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_SUMMARY = re.compile(r"\b\d+ (?:passed|failed|errors?|skipped|deselected|xfailed)\b.* in [\d.]+s|no tests ran")
_TIME = re.compile(r" in [\d.]+s(?: \([\d:]+\))?$")
_NOT_RUN = "not run: "
_LAST_LINES = 15
"""Of a failed part that names no test: linters, and runs that died."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One failed test: `when` is the phase (setup, call, teardown, collect, internal)."""

    test: str
    when: str
    reason: str

    def __str__(self) -> str:
        """Return the phase if it is not the test itself, the node id and the reason."""
        phase = "" if self.when == "call" else f"({self.when}) "
        return f"FAILED {phase}{self.test} - {self.reason}"


@dataclass(frozen=True, kw_only=True)
class Part:
    """What is known of one part after the run.

    Attributes:
        summary: pytest's last line, None if there is none.
        unsteady: What failed, and passed when it was tried again alone.
    """

    name: str
    took_s: float
    exited_badly: bool
    lines: tuple[str, ...]
    summary: str | None
    runs_tests: bool
    failures: tuple[Failure, ...]
    unsteady: tuple[Failure, ...] = ()

    @property
    def has_failed(self) -> bool:
        """Return whether the part is red, by its exit, a failed test, or tests without an end."""
        return self.exited_badly or bool(self.failures) or (self.runs_tests and self.summary is None)

    def report(self) -> list[str]:
        """Return the lines to print."""
        if self.summary is not None:
            ending = _TIME.sub("", self.summary)
        elif self.runs_tests:
            ending = "ended without a summary: killed, or pytest itself failed"
        else:
            ending = "failed" if self.exited_badly else "passed"
        told = [f"{self.name:<14} {self.took_s:6.0f}  {ending}"]
        told += [f"    {line}" for line in _told_once(self.failures)]
        told += [f"    unsteady, passed alone: {line}" for line in _told_once(self.unsteady)]
        told += [f"    {line}" for line in self.lines if line.startswith(_NOT_RUN)]
        if self.has_failed and not (self.failures and self.summary):
            told += [f"    | {line}" for line in self.lines[-_LAST_LINES:]]
        return told


def _told_once(failures: Sequence[Failure]) -> Iterator[str]:
    """Of each test function and phase the first case that failed, and how many others did."""
    cases: dict[tuple[str, str], list[Failure]] = {}
    for failure in failures:
        cases.setdefault((failure.test.partition("[")[0], failure.when), []).append(failure)
    for first, *others in cases.values():
        yield f"{first} (and {len(others)} more cases of it)" if others else str(first)


def read_part(name: str, logs: Path, *, exited_badly: bool, took_s: float) -> Part:
    """Read what a part that has ended left in the folder of logs."""
    log, failures = logs / f"{name}.log", logs / f"{name}.failures"
    text = _COLOURS.sub("", log.read_text("utf-8", errors="replace"))
    lines = tuple(line for line in text.splitlines() if line.strip())
    summaries = [line.strip("= ") for line in lines if _SUMMARY.search(line)]
    return Part(
        name=name,
        took_s=took_s,
        exited_badly=exited_badly,
        lines=lines,
        summary=summaries[-1] if summaries else None,
        runs_tests=failures.is_file(),
        failures=tuple(_read_failures(failures)),
    )


def _read_failures(path: Path) -> list[Failure]:
    if not path.is_file():
        return []
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.endswith("}")]
    return [Failure(test=each["test"], when=each["when"], reason=each["reason"]) for each in records]


def summary(parts: Sequence[Part]) -> list[str]:
    """Return the table's lines; the last one tells which parts are red."""
    red = [part.name for part in parts if part.has_failed]
    return [
        f"{'part':<14} {'s':>6}  tests",
        *(line for part in parts for line in part.report()),
        f"{'all':<14} {sum(part.took_s for part in parts):6.0f}",
        f"failed: {' '.join(red)}" if red else "all parts passed",
    ]
