"""Everything of docker/compose.yaml together: work goes in at Heddle and comes out of both clusters."""

import json
import re
import shutil
from pathlib import Path

import httpx
import pytest

from heddle.client.workflows import CALLS, MANAGER_CALLS
from shim.cli.front import Front
from shim.lab.processes import wait_until
from shim.lab.showcase import run_word_counts
from shim.lab.word_count import WordCount, find_texts, share_out

pytestmark = [pytest.mark.containers, pytest.mark.timeout(900)]

QUEUES = ("default", "prod", "dev", "default")


@pytest.fixture(scope="module")
def heddle(federation):
    front = Front(federation.url("heddle", 8088), "ada")
    assert wait_until(lambda: states(front) == {"east": "RUNNING", "west": "RUNNING"}, timeout_s=60), states(front)
    yield front
    front.close()


@pytest.fixture(scope="module")
def finished(federation, heddle, shared_folder):
    """Four applications of two containers each, run through Heddle to their end and checked."""
    texts = [Path(shutil.copy(text, shared_folder / f"{number}.txt")) for number, text in enumerate(find_texts(8))]
    jobs = [
        (WordCount(f"count-{number}", share, shared_folder / f"job-{number}"), QUEUES[number])
        for number, share in enumerate(share_out(texts, len(QUEUES)))
    ]
    rows, _ = run_word_counts(heddle, jobs, jars=Path("/opt/hadoop/lib"), timeout_s=400, watch=lambda _: None)
    return {row.id: row for row in rows}


def states(front):
    return {row["id"]: row["state"] for row in front.ask(CALLS.clusters())["clusters"]}


def applications_at(federation, cluster):
    """What the ResourceManager of one cluster itself lists."""
    answer = federation.run(f"{cluster}-rm", "curl", "--silent", f"http://{cluster}-rm:8088/ws/v1/cluster/apps")
    return {app["id"]: app for app in (json.loads(answer)["apps"] or {}).get("app", [])}


def test_two_clusters_answer_as_one(heddle):
    metrics = heddle.ask(MANAGER_CALLS.metrics())["clusterMetrics"]
    assert metrics["activeNodes"] == 2
    assert metrics["totalMB"] == 2 * 4096
    nodes = heddle.ask(MANAGER_CALLS.nodes())["nodes"]["node"]
    assert {node["nodeHostName"] for node in nodes} == {"east-nm1", "west-nm1"}


def test_heddle_needs_no_root_no_capability_and_no_place_to_write(federation, heddle):
    about = federation.attributes("heddle")
    assert about["Config"]["User"] == "10001:10001"
    assert about["HostConfig"]["ReadonlyRootfs"]
    assert federation.run("heddle", "id", "-u").strip() == "10001"
    assert "CapEff:\t0000000000000000" in federation.run("heddle", "cat", "/proc/1/status")
    tried = federation.run("heddle", "sh", "-c", "touch /opt/heddle/new /etc/new 2>&1 || true")
    assert tried.count("Read-only file system") == 2


def test_the_image_can_ask_for_tickets(federation, heddle):
    name = "import gssapi; print(gssapi.Name('heddle@front', gssapi.NameType.hostbased_service))"
    assert federation.run("heddle", "python3", "-c", name).strip() == "heddle@front"


def test_the_image_lists_its_packages(federation, heddle):
    bill = json.loads(federation.run("heddle", "cat", "/opt/heddle/sbom.cdx.json"))
    listed = {each["name"] for each in bill["components"]}
    code = "import importlib.metadata as m; print(*(d.metadata['Name'] for d in m.distributions(path=['/opt/heddle'])))"
    found = {re.sub("[-_.]+", "-", name).lower() for name in federation.run("heddle", "python3", "-c", code).split()}
    assert listed == found - {"heddle-yarn"}
    assert {"aiohttp", "asyncpg", "sqlalchemy"} <= listed


def test_work_is_done_on_both_clusters_and_counted_rightly(finished):
    assert {row.state for row in finished.values()} == {"FINISHED"}
    assert {row.cluster for row in finished.values()} == {"east", "west"}
    assert all(row.words > 0 and row.cluster in row.reason for row in finished.values())


def test_every_application_is_on_the_cluster_that_heddle_names_and_on_no_other(federation, finished):
    at = {cluster: applications_at(federation, cluster) for cluster in ("east", "west")}
    for id_, row in finished.items():
        assert [cluster for cluster, apps in at.items() if id_ in apps] == [row.cluster]
        assert at[row.cluster][id_]["user"] == "ada"
        assert at[row.cluster][id_]["queue"].endswith(row.queue)
    assert set(finished) == set(at["east"]) | set(at["west"])


def test_the_database_has_each_of_them_once(federation, finished):
    query = "select sequence from submissions"
    told = federation.run("postgres", "psql", "-h", "/tmp", "-U", "heddle", "-d", "heddle", "-At", "-c", query)  # noqa: S108
    sequences = sorted(int(line) for line in told.split())
    assert sequences == sorted(int(id_.rpartition("_")[2]) for id_ in finished)


def test_a_cluster_that_loses_power_is_named_and_its_applications_stay_listed(federation, heddle, finished):
    federation.kill("west-rm")
    url = f"{heddle.server}/ws/v1/cluster/apps"

    def is_named():
        return "west" in httpx.get(url, timeout=30).headers.get("Heddle-Missing", "")

    assert wait_until(is_named, timeout_s=60, poll_s=0.2)
    listed = {app["id"] for app in httpx.get(url, timeout=30).json()["apps"]["app"]}
    assert set(finished) <= listed
