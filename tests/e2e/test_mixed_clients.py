"""The clients of docs/clients on clusters that differ in everything, with nodes that are not well."""

import getpass
import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from shim.lab import Lab
from shim.lab.presets import MIXED, bring_about, mixed
from shim.lab.word_count import find_texts
from tests.e2e.test_clients import blocks
from tests.e2e.test_java import LAUNCHER
from tests.support.client_jars import compile_program, spark_jars, unmanaged_am_jars
from tests.support.engines import Spark, Tez, output_lines
from tests.support.heddle_process import HeddleProcess, until
from tests.support.stock_client import StockClient

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1200)]

_RUN_JAR = "org.apache.hadoop.util.RunJar"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with Lab(tmp_path_factory.mktemp("mixed-lab")) as lab:
        lab.up(mixed())
        bring_about(lab, print)
        yield lab


@pytest.fixture(scope="module")
def heddle(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeddleProcess]:
    with HeddleProcess(lab, tmp_path_factory.mktemp("heddle")) as running:
        yield running


@pytest.fixture(scope="module")
def client(lab: Lab, heddle: HeddleProcess, tmp_path_factory: pytest.TempPathFactory) -> StockClient:
    return StockClient(lab, tmp_path_factory.mktemp("client"), heddle)


def wanted_states(lab: Lab) -> dict[str, str]:
    """State of each node by its id, as the preset has it."""
    told = {}
    for cluster in lab.clusters.values():
        for node, spec in zip(cluster.record.layout.nodes, cluster.record.spec.node_specs, strict=True):
            told[node.rpc] = spec.condition or "RUNNING"
    return told


def test_the_clusters_are_as_the_preset_says_and_heddle_tells_of_all_of_them(lab, heddle):
    versions = {}
    for id_, cluster in lab.clusters.items():
        info = httpx.get(f"{cluster.url}/ws/v1/cluster/info", trust_env=False, timeout=30).json()["clusterInfo"]
        versions[id_] = info["resourceManagerVersion"]
    assert versions == {each.id: each.version for each in MIXED}
    wanted = wanted_states(lab)

    def told() -> dict[str, str]:
        # a lost node is listed with those that are asked for by their state alone, as by a ResourceManager
        every = "NEW,RUNNING,UNHEALTHY,DECOMMISSIONING,DECOMMISSIONED,LOST,REBOOTED,SHUTDOWN"
        rows = heddle.ask(f"nodes?states={every}")["nodes"]["node"]
        return {row["id"]: row["state"] for row in rows}

    until(lambda: {key.rpartition(":")[0] for key in told()} >= {key.rpartition(":")[0] for key in wanted}, "all nodes")
    seen = {key.rpartition(":")[0]: state for key, state in told().items()}
    assert seen == {key.rpartition(":")[0]: state for key, state in wanted.items()}


def test_the_yarn_command_lists_every_node_and_queue(lab, client):
    printed = client.yarn("node", "-list", "-all")
    states = dict(re.findall(r"^\s*([\d.]+):\d+\s+([A-Z]+)", printed, re.MULTILINE))
    assert states == {key.rpartition(":")[0]: state for key, state in wanted_states(lab).items()}, printed
    assert "etl" in client.yarn("queue", "-status", "etl")


@pytest.fixture(scope="module", params=[each.id for each in MIXED])
def home(request: pytest.FixtureRequest, heddle: HeddleProcess) -> Iterator[str]:
    """Each cluster in turn as the only one that takes applications."""
    others = [each.id for each in MIXED if each.id != request.param]
    with httpx.Client(base_url=f"{heddle.url}/heddle/v1/clusters", trust_env=False, timeout=60) as http:
        http.params = http.params.set("user.name", getpass.getuser())
        for other in others:
            assert http.post(f"/{other}/cordon").is_success
        yield request.param
        for other in others:
            assert http.post(f"/{other}/undrain").is_success


@pytest.fixture(scope="module")
def spark_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_program("SparkWordCount", [spark_jars()], tmp_path_factory.mktemp("program"))


def ended(heddle: HeddleProcess, printed: str) -> tuple[str, str]:
    """Where the application that a client has printed was, and how it ended."""
    found = re.search(r"application_\d+_\d+", printed)
    assert found is not None, printed
    until(lambda: heddle.ask(f"apps/{found[0]}")["app"]["state"] == "FINISHED", f"{found[0]} ends: {printed}")
    told = httpx.get(f"{heddle.url}/heddle/v1/apps/{found[0]}", trust_env=False, timeout=30).json()["app"]
    return told["cluster"], told["finalStatus"]


def test_the_lines_for_curl_and_for_python_work(heddle):
    lines = "set -euo pipefail\n" + "\n".join(blocks("curl.md", "sh")[:-1])  # the last is a program of one version's
    environment = {**os.environ, "HEDDLE": heddle.url, "no_proxy": "*"}
    done = subprocess.run(["bash", "-c", lines], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, "RemoteException" in done.stdout) == (0, False), done
    for page in ("python.md", "heddle-client.md"):
        script = "\n".join(blocks(page, "python")).replace("http://127.0.0.1:8088", heddle.url)
        exec(script, {})  # noqa: S102 - our own page


def test_monitors_are_told_every_node_that_is_alive_and_one_tree_of_queues(lab, heddle):
    query = {"qry": "Hadoop:service=ResourceManager,name=RMNMInfo"}
    (bean,) = httpx.get(f"{heddle.url}/jmx", params=query, trust_env=False, timeout=30).json()["beans"]
    told = {each["NodeId"].rpartition(":")[0]: each["State"] for each in json.loads(bean["LiveNodeManagers"])}
    assert told == {key.rpartition(":")[0]: state for key, state in wanted_states(lab).items() if state != "LOST"}
    metrics = heddle.ask("metrics")["clusterMetrics"]
    assert (metrics["unhealthyNodes"], metrics["lostNodes"], metrics["decommissioningNodes"]) == (1, 1, 1)
    info = heddle.ask("scheduler")["scheduler"]["schedulerInfo"]  # of capacity and fair schedulers
    assert info["type"] == "capacityScheduler"
    leaves = {leaf["queueName"]: leaf for leaf in info["queues"]["queue"]}
    assert leaves.keys() >= {"default", "prod", "dev", "etl"}
    assert all("queues" not in leaf and isinstance(leaf["absoluteCapacity"], float) for leaf in leaves.values())


def test_prometheus_is_told_of_each_cluster(heddle):
    text = httpx.get(f"{heddle.url}/metrics", trust_env=False, timeout=30).text
    told = {family.name: family for family in text_string_to_metric_families(text)}
    rows = {each.labels["subcluster"]: each.value for each in told["heddle_subcluster_nodes"].samples}
    assert rows == {each.id: len(each.node_specs) for each in MIXED}


@pytest.fixture(scope="module")
def programs(client: StockClient, tmp_path_factory: pytest.TempPathFactory) -> str:
    names = ("YarnClientTour", "UnmanagedMaster")
    return ":".join(str(compile_program(each, [client.jars], tmp_path_factory.mktemp(each))) for each in names)


def test_java_programs_tour_each_and_hold_containers_there(heddle, home, client, programs):
    if home != "north":  # no fair scheduler takes the priority that the tour sets
        printed = client.run("YarnClientTour", class_path=programs, user=getpass.getuser())
        told = dict(re.findall(r"^([a-z ]+) (\S.*)$", printed, re.MULTILINE))
        assert told["same master"] == told["same container"] == told["same attempt"] == told["listed"] == "true"
        assert told["moved"].endswith("dev")
        assert "the tour is over" in told["end"]
        assert told["queues"] == told["root"] == "4", "those of the same path are one"
        found = httpx.get(f"{heddle.url}/heddle/v1/apps/{told['id']}", trust_env=False, timeout=30).json()["app"]
        assert found["cluster"] == home
    words = ("-appname", "unmanaged", "-cmd", " ".join(client.command("UnmanagedMaster", class_path=programs)))
    printed = client.run(LAUNCHER, *words, class_path=f"{unmanaged_am_jars()}/*", user=getpass.getuser())
    assert "held 2" in printed
    assert ended(heddle, printed) == (home, "SUCCEEDED"), printed


def test_notebooks_and_pollers_find_their_application_and_see_its_end(heddle, home):
    kernel = "b6a1c5b0-7a52-4a4e-8f6d-0f0a4a4f1c11"
    with httpx.Client(base_url=f"{heddle.url}/ws/v1/cluster", trust_env=False, timeout=60) as rest:
        rest.params = rest.params.set("user.name", getpass.getuser())
        before_ms = int(time.time() * 1000)
        id_ = rest.post("/apps/new-application").json()["application-id"]
        name = f"kernel-{kernel}-{home}"
        context = {"application-id": id_, "application-name": name, "unmanaged-AM": True, "resource": {"memory": 256}}
        context["am-container-spec"] = {"commands": {"command": "sleep 1"}}
        assert rest.post("/apps", json=context).status_code == 202
        listed = rest.get("/apps", params={"startedTimeBegin": before_ms}).json()["apps"]["app"]
        assert [each["id"] for each in listed if each["name"] == name] == [id_]
        assert rest.put(f"/apps/{id_}/state", json={"state": "KILLED"}).is_success
        until(lambda: heddle.ask(f"apps/{id_}")["app"]["finalStatus"] == "KILLED", f"{id_} is killed")
        assert heddle.ask(f"apps/{id_}")["app"]["state"] == "KILLED"


def test_stock_map_reduce_goes_where_its_queue_is(heddle, client):
    jar = client.jar("hadoop-mapreduce-examples")
    done = client.try_run(_RUN_JAR, jar, "pi", "-Dmapreduce.job.queuename=etl", "4", "10", user=getpass.getuser())
    cluster, status = ended(heddle, done.stdout)
    assert status == "SUCCEEDED", done.stdout
    assert cluster != "east", "it has no such queue"


def test_stock_map_reduce_runs_on_each(heddle, home, client):
    jar = client.jar("hadoop-mapreduce-examples")
    done = client.try_run(_RUN_JAR, jar, "pi", "2", "10", user=getpass.getuser())
    assert ended(heddle, done.stdout) == (home, "SUCCEEDED"), done.stdout


def test_spark_counts_words_on_each(lab, heddle, home, spark_program, tmp_path):
    mode = "client" if home == "north" else "cluster"
    (text,) = find_texts(1)
    spark = Spark(lab, tmp_path / "spark", heddle)
    printed = spark.submit(mode, spark_program, text.as_uri(), (tmp_path / "out").as_uri(), "4", staging=tmp_path)
    assert spark.counted(tmp_path / "out") == spark.words(text), printed
    assert ended(heddle, printed) == (home, "SUCCEEDED"), printed


def test_tez_counts_words_and_sorts_them_on_each(lab, heddle, home, tmp_path):
    (text,) = find_texts(1)
    tez = Tez(lab, tmp_path / "tez", heddle)
    printed = tez.run("orderedwordcount", text, tmp_path / "out", 2)
    told = [(word, int(count)) for word, _, count in (line.rpartition("\t") for line in output_lines(tmp_path / "out"))]
    assert dict(told) == tez.words(text), printed
    assert ended(heddle, printed) == (home, "SUCCEEDED"), printed
