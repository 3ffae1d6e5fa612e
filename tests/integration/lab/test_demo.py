"""`heddle demo`: one command from nothing to counted words on two clusters, another to end it."""

import itertools
import json
import re
import tomllib

import pytest
from typer.testing import CliRunner

from shim.cli.main import app
from shim.lab import Lab
from shim.lab.processes import marked_processes
from tests.doubles.postgresql import free_addresses

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def folder(tmp_path):
    yield tmp_path / "demo"
    Lab(tmp_path / "demo").down()


def test_work_runs_on_both_clusters_is_checked_and_explained_and_down_ends_all(folder):
    servers = ("--rest", "--client-rpc", "--scheduler-rpc", "--admin-rpc", "--proxy")
    addresses = zip(servers, free_addresses(len(servers), ""), strict=True)  # `:PORT`, at the lab's address
    result = run("demo", "up", "--dir", folder, *itertools.chain.from_iterable(addresses))
    assert result.exit_code == 0, result.output
    rest = tomllib.loads(Lab(folder).heddle_toml.read_text())["server"]["rest"]
    rows = [re.split(r"\s{2,}", line.strip()) for line in result.stdout.splitlines() if line.startswith("application_")]
    *own, stock = rows
    assert {row[3] for row in own} == {"east", "west"}
    assert stock[1] == "mapreduce-1"
    assert re.fullmatch(r"east \d+, west \d+", stock[3]), "the stock client's job has containers in both"
    assert {row[4] for row in rows} == {"FINISHED"}
    for id_, _name, _queue, cluster, _state, _containers, _words, reason in rows:
        why = run("app", "why", id_, "--server", f"http://{rest}", "-o", "json")
        home = json.loads(why.stdout)["home"]
        assert reason.startswith(home)
        assert home in cluster
    assert "as counted here too" in result.stdout
    begun, ready = result.output.index("starting Heddle"), result.output.index("ResourceManager")
    assert begun < ready, "Heddle starts beside the clusters"
    assert len(re.findall(r"^  (?:heddle|curl) ", result.stdout, re.MULTILINE)) == 3
    assert run("demo", "down", "--dir", folder).exit_code == 0
    assert list(marked_processes(folder)) == []
