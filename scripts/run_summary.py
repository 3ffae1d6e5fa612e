"""End a test run: one line for each part, and every failed test by name. Exits with 1 if anything failed.

Of a test with many cases the first that failed is told, and how many others.

`python -m scripts.run_summary --logs FOLDER --failed "PART ..." PART ...`. FOLDER has what each part printed
(`PART.log`) and, for parts that ran pytest, its failed tests (`PART.failures`, see tests/support/failure_log.py).
"""

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_SUMMARY = re.compile(r"\b\d+ (?:passed|failed|errors?|skipped|deselected|xfailed)\b.* in [\d.]+s|no tests ran")
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
    """What is known of one part after the run; `summary` is pytest's last line, None if there is none."""

    name: str
    exited_badly: bool
    lines: tuple[str, ...]
    summary: str | None
    runs_tests: bool
    failures: tuple[Failure, ...]

    @property
    def has_failed(self) -> bool:
        """Tell whether the part is red, by its exit, a failed test, or tests without an end."""
        return self.exited_badly or bool(self.failures) or (self.runs_tests and self.summary is None)

    def report(self) -> list[str]:
        """Return the lines to print."""
        if self.summary is not None:
            ending = self.summary
        elif self.runs_tests:
            ending = "ended without a summary: killed, or pytest itself failed"
        else:
            ending = "failed" if self.exited_badly else "passed"
        told = [f"{self.name:<14} {ending}"]
        told += [f"    {line}" for line in _told_once(self.failures)]
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


def read_part(name: str, logs: Path, *, exited_badly: bool) -> Part:
    """Read the part's files; a part without a log was not run, which is a failure."""
    log, failures = logs / f"{name}.log", logs / f"{name}.failures"
    if not log.is_file():
        return Part(
            name=name, exited_badly=True, lines=("it was not run",), summary=None, runs_tests=False, failures=()
        )
    text = _COLOURS.sub("", log.read_text("utf-8", errors="replace"))
    lines = tuple(line for line in text.splitlines() if line.strip())
    summaries = [line.strip("= ") for line in lines if _SUMMARY.search(line)]
    return Part(
        name=name,
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the end of the run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=Path, required=True, help="folder of the logs")
    parser.add_argument("--failed", default="", help="parts whose command failed, separated by blanks")
    parser.add_argument("parts", nargs="+")
    chosen = parser.parse_args(arguments)
    failed = set(chosen.failed.split())
    parts = [read_part(name, chosen.logs, exited_badly=name in failed) for name in chosen.parts]
    for part in parts:
        print(*part.report(), sep="\n")
    red = [part.name for part in parts if part.has_failed]
    print(f"failed: {' '.join(red)}" if red else "all parts passed")
    return 1 if red else 0


if __name__ == "__main__":
    raise SystemExit(main())
