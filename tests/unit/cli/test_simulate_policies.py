"""`heddle simulate policies`: what it prints, and what it says when something is wrong."""

import gzip
import json

import pytest
from typer.testing import CliRunner

from shim.cli.main import app


def simulate(*words):
    return CliRunner().invoke(app, ["simulate", "policies", *words])


def test_a_row_for_each_policy_and_seed_with_figures():
    told = simulate("--jobs", "8", "--nodes", "10", "--compare", "fair,delay", "--seeds", "2", "-o", "json")
    rows = json.loads(told.stdout)
    assert [(row["policy"], row["seed"]) for row in rows] == [("fair", 1), ("delay", 1), ("fair", 2), ("delay", 2)]
    assert all(row["mean"] > 0 for row in rows)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--kind", "odd"), "there is no kind 'odd'"),
        (("--compare", "nothing"), "there is no policy 'nothing'"),
        (("--compare", "sparrow"), "has no scheduling cycle"),
    ],
)
def test_what_is_wrong_is_said(words, says):
    told = simulate(*words)
    assert told.exit_code == 2
    assert says in told.stderr


def test_lines_of_swim_become_jobs(tmp_path):
    file = tmp_path / "swim.tsv"
    file.write_text("job0\t1\t0\t300000000\t0\t0\njob1\t2\t1\t0\t0\t0\n")
    told = simulate("--swim", str(file), "--compare", "delay", "--nodes", "20", "-o", "json")
    assert json.loads(told.stdout)[0]["rack_local"] == 100.0
    file.write_text("job0\tsoon\n")
    assert "line 1 is no job of SWIM" in simulate("--swim", str(file)).stderr


def test_applications_of_alibabas_containers_become_services_with_constraints(tmp_path):
    file = tmp_path / "containers.gz"
    lines = [f"0 1 0 100 8 0 8 c_{app}_{each} m_1 app_{app} started\n" for app in range(4) for each in range(app + 1)]
    file.write_bytes(gzip.compress("".join(lines).encode()))
    words = ("--containers", str(file), "--jobs", "6", "--nodes", "8", "--load", "0.3", "-o", "json")
    rows = json.loads(simulate(*words, "--compare", "medea-one-by-one,medea-blind").stdout)
    assert rows[0]["broken"] < rows[1]["broken"]
    file.write_bytes(gzip.compress(b"no container\n"))
    assert "not a line of Alibaba's containers" in simulate(*words).stderr


@pytest.mark.parametrize("kind", ["json", "svg"])
def test_a_plot_shows_each_policy(tmp_path, kind):
    file = tmp_path / f"plot.{kind}"
    assert simulate("--jobs", "4", "--nodes", "10", "--compare", "fair,delay", "--plot", str(file)).exit_code == 0
    drawn = file.read_text()
    assert all(text in drawn for text in ("fair", "delay", "response (s)", "jobs that have not ended"))


def test_a_plot_that_cannot_be_drawn_is_refused_before_the_run(tmp_path):
    assert "should end in" in simulate("--plot", str(tmp_path / "plot.gif")).stderr
