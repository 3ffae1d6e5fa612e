"""Which tests reach a line, cheapest first: read from one run of them under coverage.

A mutant can only be seen by a test that runs its statement. What runs at import (a default, a constant of a module) is
reached by every test.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from coverage import CoverageData

OPTIONS = ("--cov", "--cov-context=test", "--cov-report=", "--durations=0", "--durations-min=0")
"""Options of pytest for the run that is read; coverage writes where `COVERAGE_FILE` says."""

AT_IMPORT = ""
_DURATION = re.compile(r"^([\d.]+)s (?:setup|call|teardown)\s+(\S.*)$")
_HEADED = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, kw_only=True)
class Reach:
    """The tests of a room: seconds of each, and by file and line those that ran it (`AT_IMPORT`: every one)."""

    seconds: Mapping[str, float]
    by_line: Mapping[str, Mapping[int, frozenset[str]]]

    def tests(self) -> list[str]:
        """Return all tests, cheapest first."""
        return sorted(self.seconds, key=lambda test: (self.seconds[test], test))

    def of(self, path: str, lines: range) -> list[str]:
        """Return the tests that run one of the lines, cheapest first; none if no test does."""
        ran = self.by_line.get(path, {})
        found = frozenset[str]().union(*(ran.get(line, frozenset()) for line in lines))
        return self.tests() if AT_IMPORT in found else [test for test in self.tests() if test in found]

    def cost(self, tests: Sequence[str]) -> float:
        """Return how many seconds some tests took together."""
        return sum(self.seconds[test] for test in tests)


def read_reach(data_file: Path, output: str, root: Path) -> Reach:
    """Read what a run with `OPTIONS` below `root` left: coverage's file, and pytest's report with the durations.

    Raises:
        ValueError: The report does not name a test that coverage saw.
    """
    seconds: dict[str, float] = {}
    for line in output.splitlines():
        if timed := _DURATION.match(line):
            seconds[timed[2]] = seconds.get(timed[2], 0.0) + float(timed[1])
    data = CoverageData(str(data_file))
    data.read()
    by_line = {
        Path(file).relative_to(root.resolve()).as_posix(): {
            line: frozenset(context.rpartition("|")[0] for context in contexts)
            for line, contexts in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }
    known = {test for ran in by_line.values() for tests in ran.values() for test in tests} - {AT_IMPORT}
    if missing := known - seconds.keys():
        raise ValueError(f"pytest did not say how long these took: {sorted(missing)[:3]}")
    return Reach(seconds=seconds, by_line=by_line)


def lines_of_statement(text: str, line: int) -> range:
    """Return the lines of the innermost statement around a line; of one with a body only its head, if it has one.

    Python notes some lines of a statement when it runs, not always the one that a mutant is on.
    """
    *_, innermost = sorted(_around(ast.parse(text), line), key=lambda statement: statement.lineno)
    last = innermost.end_lineno or innermost.lineno
    if isinstance(innermost, _HEADED):
        last = max(innermost.lineno, innermost.body[0].lineno - 1)
    return range(innermost.lineno, last + 1)


def _around(tree: ast.Module, line: int) -> Iterator[ast.stmt]:
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            yield node
