"""A plugin of pytest: each failed or broken test is written to a file at once, as a line of JSON.

`pytest -p tests.support.failure_log --failure-log FILE`. The file outlives a run that is killed before its summary.
"""

import json
from pathlib import Path

import pytest

MOST_CHARACTERS = 300
"""Of a reason: enough to recognise a failure; the log has the rest."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the file."""
    parser.addoption("--failure-log", type=Path, default=None, help="write failed tests to this file, one JSON a line")


def pytest_configure(config: pytest.Config) -> None:
    """Start the file, in the one process that hears of every test."""
    path = config.getoption("failure_log")
    if path is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(FailureLog(path))


class FailureLog:
    """Appends a line `{"test", "when", "reason"}` for each failure; flushed before the next test."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", "utf-8")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write a test whose set-up, call or teardown failed, or whose process died."""
        if report.failed:
            self._write(report.nodeid, report.when or "call", _reason(report))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Write a file that cannot be imported."""
        if report.failed:
            self._write(report.nodeid, "collect", _reason(report))

    def pytest_internalerror(self, excrepr: object) -> None:
        """Write what went wrong in pytest itself or in a plugin."""
        self._write("pytest", "internal", _one_line(str(excrepr)))

    def _write(self, test: str, when: str, reason: str) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"test": test, "when": when, "reason": reason}) + "\n")


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        return f"{Path(crash.path).name}:{crash.lineno}: {_first_line(crash.message)}"
    return _one_line(report.longreprtext)


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:MOST_CHARACTERS]


def _one_line(text: str) -> str:
    """Return the last line that says something: that of the exception in a traceback."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "no reason")[:MOST_CHARACTERS]
