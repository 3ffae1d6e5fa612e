"""The end of a test run names what failed, and fails."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.run_summary import Part, read_part, summary

ROOT = Path(__file__).resolve().parents[3]
GREEN = "....\n\x1b[32m==== \x1b[32m\x1b[1m4 passed\x1b[0m in 1.50s (0:00:01)\x1b[32m ====\x1b[0m\n"
RED = "..F.\nFAILED x.py::test_a\n==== 1 failed, 3 passed in 1.50s ====\nmake: *** [Makefile:60: unit] Error 1\n"
DIED = "....\nmake: *** [Makefile:60: unit] Killed\n"
FAILURE = {"test": "x.py::test_a[b c]", "when": "call", "reason": "x.py:3: assert 1 == 2"}

TESTS_THAT_FAIL = """
import os
import pytest

@pytest.fixture
def broken():
    raise ValueError("no set-up")

def test_good(): pass
def test_bad(): assert 1 == 2, "not equal"
def test_never_begun(broken): pass
@pytest.mark.xfail(strict=True, reason="known")
def test_too_good(): pass
@pytest.mark.parametrize("name", ["a - b\\n[c]"])
def test_named(name): raise RuntimeError(name)
@pytest.mark.skipif("HEDDLE_TEST_DIES" not in os.environ, reason="it ends its process")
def test_that_dies(): os._exit(3)
"""


def written(logs: Path, name: str, log: str, *failures: dict[str, str] | str) -> None:
    (logs / f"{name}.log").write_text(log, "utf-8")
    lines = [each if isinstance(each, str) else json.dumps(each) for each in failures]
    (logs / f"{name}.failures").write_text("\n".join(lines), "utf-8")


def part(logs: Path, name: str, *, exited_badly: bool = False, took_s: float = 2.0) -> Part:
    return read_part(name, logs, exited_badly=exited_badly, took_s=took_s)


def test_a_green_run_says_so(tmp_path):
    written(tmp_path, "unit", GREEN)
    (tmp_path / "lint.log").write_text("All checks passed!\n", "utf-8")
    assert summary([part(tmp_path, "lint", took_s=11.6), part(tmp_path, "unit", took_s=61.0)]) == [
        "part                s  tests",
        "lint               12  passed",
        "unit               61  4 passed",
        "all                73",
        "all parts passed",
    ]


def test_each_failed_test_is_named_with_its_reason(tmp_path):
    written(tmp_path, "unit", RED, FAILURE, {**FAILURE, "when": "setup"})
    written(tmp_path, "figures", GREEN)
    told = summary([part(tmp_path, "unit", exited_badly=True), part(tmp_path, "figures")])
    assert told[1] == "unit                2  1 failed, 3 passed"
    assert told[2] == "    FAILED x.py::test_a[b c] - x.py:3: assert 1 == 2"
    assert told[3] == "    FAILED (setup) x.py::test_a[b c] - x.py:3: assert 1 == 2"
    assert told[-1] == "failed: unit"


def test_of_many_cases_the_first_is_told_and_how_many_others_failed(tmp_path):
    cases = [{**FAILURE, "test": f"x.py::test_a[{case}]"} for case in range(40)]
    written(tmp_path, "unit", RED, *cases, {**FAILURE, "test": "x.py::test_ab[0]"}, {**cases[0], "when": "teardown"})
    assert part(tmp_path, "unit", exited_badly=True).report()[1:] == [
        "    FAILED x.py::test_a[0] - x.py:3: assert 1 == 2 (and 39 more cases of it)",
        "    FAILED x.py::test_ab[0] - x.py:3: assert 1 == 2",
        "    FAILED (teardown) x.py::test_a[0] - x.py:3: assert 1 == 2",
    ]


@pytest.mark.parametrize(
    ("log", "failures", "exited_badly"),
    [(GREEN, [FAILURE], False), (GREEN, [], True), (DIED, [], False)],
    ids=["a failure and a good exit", "a bad exit alone", "no summary and a good exit"],
)
def test_each_sign_of_failure_alone_is_enough(tmp_path, log, failures, exited_badly):
    written(tmp_path, "unit", log, *failures)
    assert part(tmp_path, "unit", exited_badly=exited_badly).has_failed


def test_a_part_that_died_shows_its_end_and_the_failures_before(tmp_path):
    written(tmp_path, "unit", DIED, FAILURE, '{"test": "cut in the mid')
    told = part(tmp_path, "unit", exited_badly=True).report()
    assert told[0].endswith("ended without a summary: killed, or pytest itself failed")
    assert told[1].endswith("assert 1 == 2")
    assert any("Killed" in line for line in told)


def test_a_failed_linter_shows_its_end(tmp_path):
    (tmp_path / "lint.log").write_text("x.py:1: F401\nFound 1 error.\n", "utf-8")
    told = part(tmp_path, "lint", exited_badly=True).report()
    assert told == ["lint                2  failed", "    | x.py:1: F401", "    | Found 1 error."]


def test_figures_that_were_not_run_are_told(tmp_path):
    written(tmp_path, "figures", "not run: 3 figures on public traces\n" + GREEN)
    assert "    not run: 3 figures on public traces" in part(tmp_path, "figures", exited_badly=False).report()


def failures_of(tmp_path: Path, source: str, *options: str, **environment: str) -> dict[str, dict[str, str]]:
    test, log = tmp_path / "test_x.py", tmp_path / "deep" / "x.failures"
    test.write_text(source, "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "--rootdir", str(tmp_path), "-p"]
    command += ["tests.support.failure_log", "--failure-log", str(log), "-p", "no:cacheprovider", *options, str(test)]
    subprocess.run(command, cwd=ROOT, env={"PYTHONPATH": str(ROOT), **environment}, capture_output=True, check=False)
    records = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    return {record["test"].rpartition("::")[2]: record for record in records}


@pytest.mark.parametrize("options", [(), ("-n", "1")], ids=["alone", "in processes"])
def test_a_run_writes_each_failure(tmp_path, options):
    found = failures_of(tmp_path, TESTS_THAT_FAIL, *options)
    assert sorted(found) == ["test_bad", "test_named[a - b\\n[c]]", "test_never_begun", "test_too_good"]
    assert {name: each["when"] for name, each in found.items()}["test_never_begun"] == "setup"
    assert "not equal" in found["test_bad"]["reason"]
    assert "no set-up" in found["test_never_begun"]["reason"]
    assert "XPASS" in found["test_too_good"]["reason"]


def test_a_process_that_dies_is_a_failure_of_its_test(tmp_path):
    found = failures_of(tmp_path, TESTS_THAT_FAIL, "-n", "1", HEDDLE_TEST_DIES="1")
    assert "crashed" in found["test_that_dies"]["reason"]


def test_what_was_written_outlives_a_run_that_dies(tmp_path):
    found = failures_of(tmp_path, TESTS_THAT_FAIL, HEDDLE_TEST_DIES="1")
    assert "test_bad" in found


def test_a_file_that_cannot_be_read_is_a_failure(tmp_path):
    found = failures_of(tmp_path, "import nowhere_at_all\n")
    assert [each["when"] for each in found.values()] == ["collect"]
    assert "nowhere_at_all" in next(iter(found.values()))["reason"]
