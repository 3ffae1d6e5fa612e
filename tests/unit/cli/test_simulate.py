"""`heddle simulate`: what it prints, and what it says when something is wrong."""

import json

import pytest
from typer.testing import CliRunner

from shim.cli.main import app

TRACE = "1 2 3.0 3 3\n2 1 200.0 9\n2.5 3 1.0 1 1 1\n"


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "YH_tiny.tr"
    path.write_text(TRACE)
    return str(path)


def run(*arguments):
    return CliRunner().invoke(app, ["simulate", *arguments])


def test_json_is_one_object_for_each_policy_in_the_order_of_the_question(trace):
    asked = ("--trace", trace, "--workers", "30", "--gms", "2", "--lms", "5", "--seed", "3", "-o", "json")
    result = run("--compare", "sparrow, central-srpt", *asked)
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert [one["policy"] for one in found] == ["sparrow", "central-srpt"]
    for one in found:
        assert (one["trace"], one["workers"], one["gms"], one["lms"], one["seed"]) == ("YH_tiny", 30, 2, 5, 3)
        assert one["job_delay_s"]["max"] < 0.01
        assert one["long"]["mean"] is not None


def test_a_plot_that_cannot_be_written_is_refused_before_the_run(trace, tmp_path, monkeypatch):
    monkeypatch.setattr("shim.cli.simulate.sweep", lambda *_, **__: pytest.fail("it has begun to run"))
    result = run("--compare", "random", "--trace", trace, "--plot", str(tmp_path / "missing" / "p.svg"))
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr


def test_a_table_has_a_line_for_each_run_and_one_for_their_mean(trace):
    result = run("--compare", "pigeon", "--trace", trace, "--workers", "30", "--seeds", "2")
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["POLICY", "pigeon+est", "pigeon+est", "pigeon,"]


def test_a_load_can_be_generated_and_drawn(tmp_path):
    result = run(
        "--compare", "random", "--load", "0.5", "--jobs", "20", "--tasks", "4", "--workers", "25", "--lms", "2",
        "--plot", str(tmp_path / "p.svg"), "-o", "yaml",
    )  # fmt: skip
    assert result.exit_code == 0
    assert "policy: random" in result.stdout
    assert (tmp_path / "p.svg").exists()


def test_figures_for_the_console_are_kept_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    result = run(
        "--compare", "random,sparrow", "--load", "0.5", "--jobs", "20", "--tasks", "4", "--workers", "25",
        "--lms", "2", "--plot", str(tmp_path / "p.json"),
    )  # fmt: skip
    assert result.exit_code == 0
    told = json.loads((tmp_path / "p.json").read_text())
    assert [row["policy"] for row in told["rows"]] == ["random", "sparrow"]
    assert [len(each["bars"]) for each in told["jobs"]] == [20, 20]
    assert all(bar["from_s"] <= bar["start_s"] < bar["to_s"] for run_ in told["jobs"] for bar in run_["bars"])


def test_tasks_that_cannot_run_are_reported_beside_the_result(trace, tmp_path):
    workers, tasks = tmp_path / "workers.json", tmp_path / "tasks.csv"
    workers.write_text(json.dumps({"workers": {"1": ["0b10", "0b11"]}}))
    tasks.write_text("1.0,1,0,7\n1.0,1,1,0\n")
    files = ("--constraints", str(workers), "--constraints", str(tasks))
    result = run("--compare", "central-fifo", "--trace", trace, "--workers", "2", "--lms", "1", *files, "-o", "json")
    assert result.exit_code == 0
    assert "1 tasks are left out" in result.stderr
    assert json.loads(result.stdout)[0]["tasks"] == 5


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--compare", "fastest", "--load", "0.5"), "no scheduler is called fastest"),
        (("--compare", "random"), "either --trace FILE or --load PART"),
        (("--compare", "random", "--trace", "missing.tr"), "missing.tr cannot be read"),
        (("--compare", "random", "--load", "0.5", "--workers", "3"), "25 Local Masters share 3 workers"),
        (("--compare", "random", "--load", "0.5", "--jobs", "1", "--plot", "x.gif"), "should end in .png or .svg"),
        (("--compare", "random", "--load", "0.5", "--jobs", "1", "--hop-ms", "inf"), "Invalid value"),
    ],
)
def test_what_cannot_be_done_is_said_with_exit_code_2(arguments, complaint):
    result = run(*arguments)
    assert result.exit_code == 2
    assert complaint in result.stderr
