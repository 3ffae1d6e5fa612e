"""`heddle simulate yarn`: what it prints, and what it says when something is wrong."""

import json

import pytest
from typer.testing import CliRunner

from shim.cli.main import app


def run(*arguments):
    return CliRunner().invoke(app, ["simulate", "yarn", *arguments])


def test_each_front_has_a_row_and_the_same_seed_gives_the_same():
    arguments = ("--load", "0.4", "--jobs", "2", "--tasks", "3", "--task-s", "4", "--nodes", "2", "-o", "json")
    first, second = run(*arguments), run(*arguments)
    assert first.exit_code == 0, first.output
    assert first.stdout == second.stdout
    rows = {row["front"]: row for row in json.loads(first.stdout)}
    assert list(rows) == ["heddle", "dealt", "one-cluster"]
    assert all(row["failed"] == {} and row["mean"] > 4.0 for row in rows.values())
    assert rows["heddle"]["messages"] > 0.0 == rows["dealt"]["messages"]
    assert set(rows["one-cluster"]["shares"]) == {"c1"}


def test_what_cannot_be_run_is_named():
    assert "no front 'nothing'" in run("--compare", "nothing", "--load", "0.5").output
    assert "give either" in run("--compare", "heddle").output


def test_sections_of_the_configuration_are_checked(tmp_path):
    file = tmp_path / "heddle.toml"
    file.write_text("[span]\nbeats = 1\n")
    assert "beats" in run("--load", "0.5", "--jobs", "1", "-c", str(file)).output


@pytest.mark.parametrize("kind", ["json", "svg"])
def test_a_plot_shows_each_front(tmp_path, kind):
    file = tmp_path / f"plot.{kind}"
    arguments = ("--load", "0.4", "--jobs", "2", "--tasks", "3", "--task-s", "4", "--compare", "heddle,dealt")
    assert run(*arguments, "--plot", str(file)).exit_code == 0
    drawn = file.read_text()
    assert all(text in drawn for text in ("heddle", "dealt", "completion (s)", "wait of tasks (s)", "memory (GiB)"))


def test_a_plot_that_cannot_be_drawn_is_refused_before_the_run(tmp_path):
    assert "should end in" in run("--load", "0.5", "--plot", str(tmp_path / "plot.gif")).output
