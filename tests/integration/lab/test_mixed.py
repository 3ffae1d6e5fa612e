"""Clients on clusters that differ in everything, with nodes that are not well."""

import getpass
import re
from collections.abc import Iterator

import httpx
import pytest

from shim.lab import DEFAULT_VERSION, Lab
from shim.lab.presets import MIXED, bring_about, mixed
from tests.support.heddle_process import HeddleProcess, until
from tests.support.stock_client import StockClient

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1200)]

_RUN_JAR = "org.apache.hadoop.util.RunJar"


@pytest.fixture(scope="module")
def mixed_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with Lab(tmp_path_factory.mktemp("mixed-lab")) as lab:
        lab.up(mixed())
        bring_about(lab, print)
        yield lab


@pytest.fixture(scope="module")
def heddle(mixed_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeddleProcess]:
    with HeddleProcess(mixed_lab, tmp_path_factory.mktemp("heddle")) as running:
        yield running


@pytest.fixture(scope="module")
def client(mixed_lab: Lab, heddle: HeddleProcess, tmp_path_factory: pytest.TempPathFactory) -> StockClient:
    jars = next(each.jars for each in mixed_lab.clusters.values() if each.version == DEFAULT_VERSION)
    return StockClient(mixed_lab, tmp_path_factory.mktemp("client"), heddle, jars=jars)


def wanted_states(lab: Lab) -> dict[str, str]:
    """State of each node by its id, as the preset has it."""
    told = {}
    for cluster in lab.clusters.values():
        for node, spec in zip(cluster.record.layout.nodes, cluster.record.spec.node_specs, strict=True):
            told[node.rpc] = spec.condition or "RUNNING"
    return told


def test_the_clusters_are_as_the_preset_says_and_heddle_tells_of_all_of_them(mixed_lab, heddle):
    versions = {}
    for id_, cluster in mixed_lab.clusters.items():
        info = httpx.get(f"{cluster.url}/ws/v1/cluster/info", trust_env=False, timeout=30).json()["clusterInfo"]
        versions[id_] = info["resourceManagerVersion"]
    assert versions == {each.id: each.version for each in MIXED}
    wanted = wanted_states(mixed_lab)

    def told() -> dict[str, str]:
        # a lost node is listed with those that are asked for by their state alone, as by a ResourceManager
        every = "NEW,RUNNING,UNHEALTHY,DECOMMISSIONING,DECOMMISSIONED,LOST,REBOOTED,SHUTDOWN"
        rows = heddle.ask(f"nodes?states={every}")["nodes"]["node"]
        return {row["id"]: row["state"] for row in rows}

    until(lambda: {key.rpartition(":")[0] for key in told()} >= {key.rpartition(":")[0] for key in wanted}, "all nodes")
    seen = {key.rpartition(":")[0]: state for key, state in told().items()}
    assert seen == {key.rpartition(":")[0]: state for key, state in wanted.items()}


def test_the_yarn_command_lists_every_node_and_queue(mixed_lab, client):
    printed = client.yarn("node", "-list", "-all")
    states = dict(re.findall(r"^\s*([\d.]+):\d+\s+([A-Z]+)", printed, re.MULTILINE))
    assert states == {key.rpartition(":")[0]: state for key, state in wanted_states(mixed_lab).items()}, printed
    assert "etl" in client.yarn("queue", "-status", "etl")


def test_stock_map_reduce_runs_where_its_queue_is(heddle, client):
    jar = client.jar("hadoop-mapreduce-examples")
    done = client.try_run(_RUN_JAR, jar, "pi", "-Dmapreduce.job.queuename=etl", "4", "10", user=getpass.getuser())
    printed = done.stdout
    found = re.search(r"application_\d+_\d+", printed)
    assert found is not None, printed
    until(lambda: heddle.ask(f"apps/{found[0]}")["app"]["state"] == "FINISHED", f"{found[0]} ends: {printed}")
    told = httpx.get(f"{heddle.url}/heddle/v1/apps/{found[0]}", trust_env=False, timeout=30).json()["app"]
    assert told["finalStatus"] == "SUCCEEDED", printed
    assert told["cluster"] != "east", "it has no such queue"
