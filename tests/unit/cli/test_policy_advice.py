"""`heddle policy advise`: histories become jobs and facts; every policy has figures, or the reason why not."""

import json

import pytest
from typer.testing import CliRunner

from shim.cli.main import app
from shim.scheduling.policy import Fact
from shim.scheduling.registry import KINDS
from shim.simulation.policy_runs.histories import pool_for, read_history


def advise(*words):
    return CliRunner().invoke(app, ["policy", "advise", *map(str, words)])


def task(kind, host, begin_ms, end_ms, **size):
    named = {f"container.{name.replace('_', '-')}": value for name, value in size.items()}
    times = {"container.start.ms": begin_ms, "container.end.ms": end_ms}
    return {"container.type": kind, "container.host": host, **times, **named}


def sls(tmp_path, *jobs):
    file = tmp_path / "sls.json"
    documents = ({"job.id": f"job_{at}", "job.start.ms": 1000 * at, "job.tasks": each} for at, each in enumerate(jobs))
    file.write_text("\n".join(json.dumps(each) for each in documents))
    return file


@pytest.fixture
def maps_and_reduces(tmp_path):
    maps = [task("map", f"/rack/node{at}", 0, 10_000 + at, memory_mb=2048, vcores=2) for at in range(3)]
    return sls(tmp_path, [*maps, task("reduce", "/rack/node0", 10_002, 30_002)], maps)


@pytest.fixture
def trace(tmp_path):
    file = tmp_path / "some.tr"
    file.write_text(
        "0 20 52 "
        + " ".join(str(50 + at % 8) for at in range(20))
        + "\n"
        + "".join(f"{at} 1 5 5\n" for at in range(1, 9))
    )
    return file


def test_an_input_of_sls_tells_stages_sizes_and_places(maps_and_reduces):
    told = read_history(maps_and_reduces, 10)
    first, second = told.jobs
    assert [stage.parents for stage in first.stages] == [(), (0,)]
    assert [stage.demand for stage in first.stages] == [(2048, 2), (1024, 1)]
    assert first.stages[0].durations_s == (10.0, 10.001, 10.002)
    assert first.stages[0].places == ((0,), (1,), (2,))
    assert second.arrival_s == 1.0
    assert told.facts == {Fact.ESTIMATES, Fact.DAG, Fact.VECTORS, Fact.LOCALITY}


def test_an_input_of_sls_may_say_how_many_nodes_and_racks_there_are(tmp_path):
    file = sls(tmp_path, [task("map", "", 0, 10_000)])
    file.write_text(json.dumps({"num.nodes": 6, "num.racks": 2}) + file.read_text())
    told = read_history(file, 10)
    site = pool_for(told, 0, 0.8)
    assert (site.n_nodes, site.rack_size, len(told.jobs)) == (6, 3, 1)
    assert pool_for(told, 9, 0.8).n_nodes == 9


def test_the_pool_is_as_large_as_the_load_says_or_as_is_wanted(trace):
    told = read_history(trace, 100)
    assert pool_for(told, 0, 1.0).n_nodes == 18  # 1,102 s of work, 8 s, 8 places
    assert pool_for(told, 3, 1.0).n_nodes == 3


def test_every_policy_has_figures_or_a_reason(trace):
    rows = json.loads(advise("--history", trace, "--nodes", 1, "-o", "json").stdout)
    assert {row["policy"] for row in rows} == set(KINDS)
    by_name = {row["policy"]: row for row in rows}
    assert by_name["fifo"]["gain"] == 0.0
    assert by_name["fifo"]["slower"] == 0.0
    assert by_name["fair"]["gain"] > 10.0
    assert "the deadline of each job" in by_name["jockey"]["why_not"]
    assert "has no scheduling cycle" in by_name["sparrow"]["why_not"]
    means = [row["mean"] for row in rows if "mean" in row]
    assert means == sorted(means)


def test_a_table_with_a_history_of_hadoop(maps_and_reduces):
    told = advise("--history", maps_and_reduces, "--against", "fair")
    assert told.exit_code == 0
    assert "delay" in told.stdout
    assert "jockey: it needs the deadline of each job" in told.stdout


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[", "is no input of SLS"),
        ('{"job.id": "a"}', "KeyError: 'job.tasks'"),
        ('{"job.id": "a", "job.start.ms": 0, "job.tasks": []}', "job a has no tasks"),
        ("", "holds no job"),
        ("7", "is no input of SLS"),
        ('{"job.start.ms": NaN, "job.tasks": [{"container.start.ms": 0, "container.end.ms": 1}]}', "has no start"),
        ('{"job.start.ms": 0, "job.tasks": [{"container.start.ms": 0, "container.end.ms": NaN}]}', "ends before"),
    ],
)
def test_what_is_no_history_is_said(tmp_path, text, says):
    file = tmp_path / "broken.json"
    file.write_text(text)
    told = advise("--history", file)
    assert told.exit_code == 2
    assert says in " ".join(told.stderr.split())


def test_a_container_that_ends_before_it_starts_is_refused(tmp_path):
    told = advise("--history", sls(tmp_path, [task("map", "/rack/a", 10, 5)]))
    assert told.exit_code == 2
    assert "ends before it starts" in " ".join(told.stderr.split())
