"""What the pages of docs/clients say, tried on real clusters."""

import os
import re
import subprocess
import time
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from yarn_api_client import ResourceManager
from yarn_api_client.auth import SimpleAuth

pytestmark = pytest.mark.lab

PAGES = Path(__file__).resolve().parents[2] / "docs" / "clients"
_WAITING = frozenset({"NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED"})
CONTEXT = {
    "application-name": "clients",
    "am-container-spec": {"commands": {"command": "sleep 1"}},
    "resource": {"memory": 256, "vCores": 1},
    "unmanaged-AM": True,
}


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", (PAGES / page).read_text("utf-8"), re.DOTALL)


def run_lines_for_curl(heddle_url, jars, shared):
    """The lines of the page as one script, with a folder and Hadoop's jars that are on all nodes."""
    script = "set -euo pipefail\n" + "\n".join(blocks("curl.md", "sh"))
    environment = {**os.environ, "HEDDLE": heddle_url, "JARS": f"{jars}/*", "SHARED": str(shared), "no_proxy": "*"}
    return subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def rest(heddle_url):
    with httpx.Client(base_url=f"{heddle_url}/ws/v1/cluster", trust_env=False, timeout=30) as client:
        yield client


@pytest.fixture
def running(rest):
    """Submit an application of ada; it is killed after the test."""
    ids = []

    def submit(name):
        id_ = rest.post("/apps/new-application", params={"user.name": "ada"}).json()["application-id"]
        context = {**CONTEXT, "application-id": id_, "application-name": name}
        assert rest.post("/apps", params={"user.name": "ada"}, json=context).status_code == 202
        ids.append(id_)
        return id_

    yield submit
    for id_ in ids:
        rest.put(f"/apps/{id_}/state", params={"user.name": "ada"}, json={"state": "KILLED"})


@pytest.mark.main_promise
def test_the_lines_for_curl_work_in_their_order(lab, heddle_url, tmp_path):
    jars = next(iter(lab.clusters.values())).jars
    done = run_lines_for_curl(heddle_url, jars, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith('"finalStatus":"SUCCEEDED"\nhello from container 1\nhello from container 2\n'), (
        done.stdout
    )
    assert "RemoteException" not in done.stdout
    assert "Heddle-As-Of: " in done.stdout
    assert '"candidates"' in done.stdout


def test_the_lines_for_python_work_in_their_order(heddle_url):
    script = "\n".join(blocks("python.md", "python")).replace("http://127.0.0.1:8088", heddle_url)
    assert heddle_url in script
    exec(script, {})  # noqa: S102 - our own page


def test_yarn_api_client_reads_and_changes(heddle_url, running):
    heddle = ResourceManager(service_endpoints=[heddle_url], auth=SimpleAuth("ada"))
    id_ = running("by yarn-api-client")
    assert heddle.cluster_information().data["clusterInfo"]["haState"] == "ACTIVE"
    assert heddle.cluster_metrics().data["clusterMetrics"]["totalNodes"] == 4
    assert heddle.cluster_application(id_).data["app"]["user"] == "ada"
    assert heddle.cluster_application_state(id_).data["state"] in {*_WAITING, "RUNNING"}
    assert "appAttempt" in (heddle.cluster_application_attempts(id_).data["appAttempts"] or {"appAttempt": []})
    assert heddle.cluster_application_statistics().data["appStatInfo"]["statItem"]
    assert len(heddle.cluster_nodes().data["nodes"]["node"]) == 4
    assert heddle.cluster_scheduler_queue("prod")["queueName"] == "prod"
    assert "state" in heddle.cluster_application_kill(id_).data


def test_a_notebook_gateway_finds_its_kernel_by_name_and_start_time(rest, running):
    kernel = "b6a1c5b0-7a52-4a4e-8f6d-0f0a4a4f1c11"
    before_ms = int(time.time() * 1000)
    id_ = running(f"kernel-{kernel}")
    listed = rest.get("/apps", params={"startedTimeBegin": before_ms}).json()["apps"]["app"]
    found = [app for app in listed if kernel in app["name"]]
    assert max(app["id"] for app in found) == id_
    assert {"id", "name", "state"} <= set(found[0])
    assert rest.get(f"/apps/{id_}/state").json()["state"] in _WAITING
    assert rest.put(f"/apps/{id_}/state", params={"user.name": "ada"}, json={"state": "KILLED"}).is_success


def test_a_poller_sees_the_end_of_its_application(rest, running):
    id_ = running("polled")
    pairs = dict.fromkeys(_WAITING, "UNDEFINED") | {"KILLED": "KILLED"}
    killed = rest.put(f"/apps/{id_}/state", params={"user.name": "ada"}, json={"state": "KILLED"})
    assert killed.status_code in {200, 202}
    deadline = time.monotonic() + 60
    while True:
        app = rest.get(f"/apps/{id_}").json()["app"]
        assert pairs[app["state"]] == app["finalStatus"]
        if app["state"] == "KILLED":
            break
        assert time.monotonic() < deadline, app
    again = rest.put(f"/apps/{id_}/state", params={"user.name": "ada"}, json={"state": "KILLED"})
    assert again.status_code == 200


def test_the_fields_that_the_datadog_check_reads_are_there(rest, running):
    running("watched")
    metrics = rest.get("/metrics").json()["clusterMetrics"]
    for name in ("appsSubmitted", "totalMB", "availableMB", "totalVirtualCores", "activeNodes", "containersAllocated"):
        assert isinstance(metrics[name], int), name
    info = rest.get("/scheduler").json()["scheduler"]["schedulerInfo"]
    assert info["type"] == "capacityScheduler"
    assert isinstance(info["capacity"], float)
    leaves = info["queues"]["queue"]
    assert {leaf["queueName"] for leaf in leaves} == {"default", "prod", "dev"}
    assert all("queues" not in leaf and "absoluteCapacity" in leaf for leaf in leaves)
    app = rest.get("/apps", params={"limit": 1}).json()["apps"]["app"][0]
    assert {"progress", "startedTime", "elapsedTime", "allocatedMB", "runningContainers", "memorySeconds"} <= set(app)
    assert all({"id", "version", "availMemoryMB"} <= set(node) for node in rest.get("/nodes").json()["nodes"]["node"])


def test_jmx_tells_what_monitors_ask_for(heddle_url):
    query = {"qry": "Hadoop:service=ResourceManager,name=RMNMInfo"}
    (bean,) = httpx.get(f"{heddle_url}/jmx", params=query, trust_env=False, timeout=30).json()["beans"]
    assert isinstance(bean["LiveNodeManagers"], str)


def test_prometheus_reads_every_metric_that_the_page_names(heddle_url, rest, running):
    running("counted")
    rest.get("/apps", params={"limit": 3})
    page = (PAGES.parent / "operators" / "monitoring" / "metrics.md").read_text("utf-8").partition("## Masters")[0]
    # processes that poll are tried in tests/integration/test_poll_processes.py
    wanted = set(re.findall(r"`((?!heddle_poll_process)(?:heddle|process)_[a-z_]+)`", page))

    def told():
        text = httpx.get(f"{heddle_url}/metrics", trust_env=False, timeout=30).text
        families = list(text_string_to_metric_families(text))  # one that counts by label may have counted nothing yet
        names = {family.name + end for family in families for end in ("", "_total" if family.type == "counter" else "")}
        return names | {sample.name for family in families for sample in family.samples}

    deadline = time.monotonic() + 30
    while not wanted <= told():
        assert time.monotonic() < deadline, wanted - told()
    assert wanted
