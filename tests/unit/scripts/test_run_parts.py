"""A part runs to its end, what it prints is shown and kept, and the table tells what failed."""

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from scripts.run_parts import Parts, _shown
from scripts.slices import Slice, _pytest


class Commands(Slice):
    """A slice whose tests are a program of one line."""

    def pytest(self, failures: Path, profile: str) -> list[str]:
        failures.touch()
        return [sys.executable, "-c", f"print('{profile}'); {self.about}"]


@pytest.fixture
def parts(tmp_path, monkeypatch):
    def named(name: str) -> Slice:
        return Commands(
            name=name,
            about="print('==== 1 passed in 0.01s ====')" if name == "green" else "raise SystemExit('it died')",
            paths=(),
            usual_s=1,
            before=("sh", "-c", "echo prepared; exit 1"),
            after=("echo", "tidied"),
        )

    monkeypatch.setattr("scripts.run_parts.slice_named", named)
    (tmp_path / "older.log").touch()
    return Parts(profile="quick", logs=tmp_path)


def test_what_a_part_prints_is_shown_and_kept_with_what_ran_before_and_after(parts, tmp_path, capfdbinary):
    assert not parts.run("green").has_failed
    kept = (tmp_path / "green.log").read_text("utf-8")
    assert kept.split("\n") == ["prepared", "quick", "==== 1 passed in 0.01s ====", "tidied", ""]
    assert kept.encode() in capfdbinary.readouterr().out
    assert not (tmp_path / "older.log").exists()


def test_a_part_that_fails_makes_the_end_red_and_is_tidied_too(parts, tmp_path, capsys):
    parts.run("green")
    parts.run("dies")
    assert (tmp_path / "dies.log").read_text("utf-8").endswith("tidied\n")
    assert parts.end("a remark") == 1
    told = capsys.readouterr().out.splitlines()
    assert told[-2:] == ["failed: dies", "a remark"]


FAILS_ONCE = """
import os
import pytest

@pytest.mark.parametrize("case", range(CASES))
def test_x(case):
    if not os.path.exists("MARK" + str(case)):
        open("MARK" + str(case), "w").close()
        raise AssertionError("a bad minute")

def test_y(): pass
"""


@pytest.mark.parametrize(("cases", "at_last"), [(2, "is unsteady"), (4, "is red")])
def test_a_few_tests_that_fail_are_tried_again_alone_and_many_are_not(tmp_path, monkeypatch, capsys, cases, at_last):
    test = tmp_path / "test_x.py"
    test.write_text(FAILS_ONCE.replace("CASES", str(cases)).replace("MARK", str(tmp_path / "mark")), "utf-8")

    class Once(Slice):
        def pytest(self, failures: Path, profile: str) -> list[str]:
            return [*_pytest(failures, profile), str(test)]

        def alone(self, tests: Sequence[str], failures: Path, profile: str) -> list[str]:
            assert all("test_y" not in each for each in tests)
            return [*_pytest(failures, profile), *(f"{test}::{each.rpartition('::')[2]}" for each in tests)]

    monkeypatch.setattr("scripts.run_parts.slice_named", lambda name: Once(name=name, about="", paths=(), usual_s=1))
    parts = Parts(profile="default", logs=tmp_path / "logs")
    assert parts.again(parts.run("once")).has_failed is (at_last == "is red")
    assert parts.end() == (at_last == "is red")
    told = capsys.readouterr().out
    assert ("unsteady, passed alone: FAILED" in told) is (at_last == "is unsteady")


def test_what_it_leaves_running_is_not_waited_for(parts, tmp_path):
    try:
        code = "import subprocess; print(subprocess.Popen(('sleep', '600')).pid)"
        assert _shown((sys.executable, "-c", code), tmp_path / "x.log") == 0
    finally:
        os.kill(int((tmp_path / "x.log").read_text("ascii")), signal.SIGKILL)


def test_a_green_end_is_zero(parts, capsys):
    parts.run("green")
    assert parts.end() == 0
    assert capsys.readouterr().out.splitlines()[-1] == "all parts passed"
