"""Figures on public traces are run where the traces are, and named in the summary where they are not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.doubles import public_data

ROOT = Path(__file__).resolve().parents[3]
FIGURES = "tests/simulation/test_dag_figures.py"


def collected(*arguments, **environment):
    """What a run would do that has no traces of its own."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("HEDDLE_", "PYTEST_"))}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *arguments, FIGURES]
    return subprocess.run(
        command, cwd=ROOT, env=clean | environment, capture_output=True, text=True, check=False
    ).stdout


def test_a_run_without_traces_names_what_it_leaves_out():
    told = collected()
    assert "test_mean_completion_is_as_measured" not in told
    assert "test_fair_shares_are_even_and_fifo_is_not" in told
    assert f"not run: 6 figures on public traces, as HEDDLE_DATA names no folder ({FIGURES}: 6)" in told


def test_a_run_with_traces_leaves_nothing_out(tmp_path):
    told = collected(HEDDLE_DATA=str(tmp_path))
    assert "test_mean_completion_is_as_measured" in told
    assert "not run" not in told


def test_what_was_not_asked_for_is_not_named():
    assert "not run" not in collected("-k", "fair_shares")


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    """Each test reads the environment anew."""
    for name in ("HEDDLE_DATA", "HEDDLE_SHARED"):
        monkeypatch.delenv(name, raising=False)
    public_data._named.cache_clear()
    yield
    public_data._named.cache_clear()


def test_no_folder_is_an_error_that_says_what_to_set():
    with pytest.raises(FileNotFoundError, match="set HEDDLE_DATA to a folder"):
        public_data.data_folder()


def test_a_folder_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setenv("HEDDLE_DATA", "/nonexistent/traces")
    assert not public_data.has_data()
    with pytest.raises(FileNotFoundError, match="no public traces in /nonexistent/traces"):
        public_data.data_folder()


def test_the_old_variable_names_the_folder_above_and_is_told_off(monkeypatch, tmp_path, capsys):
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("HEDDLE_SHARED", str(tmp_path))
    assert public_data.data_folder() == tmp_path / "data"
    assert "HEDDLE_SHARED is now HEDDLE_DATA" in capsys.readouterr().err
