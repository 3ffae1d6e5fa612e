"""`heddle simulate dag`: which files it takes, what it prints, and what it says when something is wrong."""

import gzip
import json

import pytest
from typer.testing import CliRunner

from shim.cli.main import app

_WAVE = {"5": [1000.0], "50": [1000.0]}
_QUERY = {
    "stages": [
        {"num_tasks": tasks, "fresh_ms": _WAVE, "first_wave_ms": _WAVE, "rest_wave_ms": _WAVE} for tasks in (4, 1)
    ],
    "edges": [[0, 1]],
}
_HEAD = "job,task_name,instances,status,start,end,duration,cpu_requested_pct,mem_requested_norm\n"
_ROWS = ("a,M1,4,Terminated,1,2,10,100,1\n", "a,R2_1,1,Terminated,1,2,5,100,1\n", "b,M1,2,Terminated,1,2,3,50,2\n")


def pack(path, text):
    path.write_bytes(gzip.compress(text.encode()))


@pytest.fixture
def queries(tmp_path):
    folder = tmp_path / "queries"
    folder.mkdir()
    pack(folder / "tpch_dags_full.json.gz", json.dumps({"tpch-2g-q1": _QUERY}))
    draws = {"7": [[0, "tpch-2g-1"], [500, "tpch-2g-1"]], "8": [[0, "tpch-2g-1"]]}
    pack(folder / "decima_seed_few.json.gz", json.dumps(draws))
    return folder


@pytest.fixture
def batches(tmp_path):
    folder = tmp_path / "batches"
    folder.mkdir()
    pack(folder / "medium_filtered.csv.gz", _HEAD + "".join(_ROWS))
    pack(folder / "broken.csv.gz", "no columns that mean anything\n1\n")
    return folder


def run(*arguments):
    return CliRunner().invoke(app, ["simulate", "dag", *map(str, arguments)])


def test_json_is_one_object_for_each_run_of_each_ordering_that_the_jobs_know(queries, batches):
    result = run(queries, batches, "--compare", "fifo, packing", "--seeds", 2, "--executors", 2, "-o", "json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert [(one["workload"], one["ordering"], one["seed"]) for one in found] == [
        ("few", "fifo", 0),
        ("few", "fifo", 1),
        *(("medium_filtered", ordering, seed) for ordering in ("fifo", "packing") for seed in (0, 1)),
    ]
    assert [one["jobs"] for one in found] == [2] * 6
    first = found[0]
    assert first["completion_s"]["mean"] <= first["completion_s"]["max"] <= first["makespan_s"]


def test_a_job_alone_takes_its_longest_path(batches):
    """Ten seconds for four tasks at once, then five for the one that needs them."""
    (one,) = json.loads(run(batches, "--jobs", 1, "--compare", "drf", "-o", "json").stdout)
    assert one["completion_s"]["mean"] == one["makespan_s"] == 15


def test_processes_give_what_one_gives(queries):
    asked = (queries, "--compare", "fair,drf", "--seeds", 2, "-o", "json")
    alone, together = (json.loads(run(*asked, "--processes", n).stdout) for n in (1, 2))
    for one in alone + together:
        one.pop("wall_s")
    assert alone == together


def test_a_draw_of_arrivals_can_be_chosen(queries):
    result = run(queries / "decima_seed_few.json.gz", "--compare", "fair", "--draw", 8, "-o", "json")
    assert json.loads(result.stdout)[0]["jobs"] == 1


def test_a_table_has_a_line_for_each_ordering_over_its_seeds(queries):
    lines = run(queries, "--seeds", 3).stdout.splitlines()
    assert [line.split()[:3] for line in lines[1:]] == [
        ["few", ordering, "3"] for ordering in ("fair", "fifo", "drf", "srtf")
    ]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("{queries}", "--compare", "fastest"), "no ordering is called fastest; there are fair, fifo"),
        (("{queries}", "--compare", "packing"), "few cannot be run with packing"),
        (("{queries}", "--draw", "9"), "has no draw 9; it has 7, 8"),
        (("{batches}/broken.csv.gz",), "broken.csv.gz cannot be read: KeyError"),
        (("{batches}/missing.csv.gz",), "missing.csv.gz cannot be read: FileNotFoundError"),
        (("{batches}/jobs.txt",), "should be called decima_seed_*.json.gz or *.csv.gz"),
        (("{empty}",), "holds no graphs of stages"),
        (("{queries}", "--plot", "plot.gif"), "should end in"),
    ],
)
def test_what_cannot_be_done_is_said_with_exit_code_2(queries, batches, tmp_path, arguments, complaint):
    (tmp_path / "empty").mkdir()
    places = {"queries": queries, "batches": batches, "empty": tmp_path / "empty"}
    result = run(*(word.format(**places) for word in arguments))
    assert result.exit_code == 2
    assert complaint in result.stderr


@pytest.mark.parametrize("kind", ["json", "svg"])
def test_a_plot_shows_each_run_by_what_is_not_the_same_for_all(queries, batches, tmp_path, kind):
    file = tmp_path / f"plot.{kind}"
    assert run(queries, batches, "--compare", "fair,drf", "--plot", file).exit_code == 0
    drawn = file.read_text()
    for text in ("few, fair", "few, drf", "medium_filtered, drf", "completion (s)", "jobs that have not ended"):
        assert text in drawn
    assert "seed" not in drawn.replace('"seeds"', "").replace('"SEEDS"', "")


def test_help_says_what_a_path_may_hold_and_names_every_ordering():
    help_text = run("--help").stdout
    assert "tpch_dags_full.json.gz" in help_text
    for name in ("fair", "fifo", "drf", "srtf", "packing"):
        assert f"{name}:" in help_text


def test_without_a_verb_and_without_policies_it_says_what_is_missing():
    result = CliRunner().invoke(app, ["simulate", "--load", "0.5"])
    assert result.exit_code == 2
    assert "--compare POLICY,..." in result.stderr
