"""Everything of docker/compose.yaml together: work goes in at Heddle and comes out of both clusters."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from testcontainers.core.container import DockerContainer

from heddle.client.workflows import CALLS, MANAGER_CALLS
from shim.cli.front import Front
from shim.lab.processes import wait_until
from shim.lab.readiness import listens
from shim.lab.showcase import run_word_counts
from shim.lab.word_count import WordCount, find_texts, share_out
from shim.protocol.proto.messages import GetNewApplicationResponseProto
from tests.containers.conftest import LABEL
from tests.doubles.postgresql import free_port
from tests.support.kdc import LOCALHOST, REALM
from tests.support.ticket_calls import by_ticket, calling

pytestmark = [pytest.mark.containers, pytest.mark.timeout(900)]

RM, ADA = f"rm/{LOCALHOST}@{REALM}", f"ada@{REALM}"
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


@pytest.fixture
def by_tickets(images, kdc, kerberos, tmp_path):
    """A Heddle of the image, beside a KDC of this machine; its clients log in by ticket alone."""
    ports = {name: free_port() for name in ("rest", "client_rpc")}
    listed = "\n".join(f'{name} = "127.0.0.1:{port}"' for name, port in ports.items())
    written = tmp_path / "heddle.toml"
    written.write_text(f"""
        [server]
        {listed}
        scheduler_rpc = ""
        [security]
        admins = ["ada"]
        [security.kerberos]
        principal = "{RM}"
        keytab = "/etc/heddle/heddle.keytab"
        web_principal = "HTTP/{LOCALHOST}@{REALM}"
        web_keytab = "/etc/heddle/http.keytab"
        [[subcluster]]
        id = "east"
        web = "http://127.0.0.1:9"
        client_rpc = "127.0.0.1:9"
        """)
    files = {kdc.environment["KRB5_CONFIG"]: "/etc/krb5.conf", str(written): "/etc/heddle/heddle.toml"}
    for principal, name in ((RM, "heddle"), (f"HTTP/{LOCALHOST}@{REALM}", "http")):
        keytab = shutil.copy(kdc.keytab(principal), tmp_path / f"{name}.keytab")
        os.chown(keytab, 10001, 10001)  # Heddle uses none that others can read
        files[str(keytab)] = f"/etc/heddle/{name}.keytab"
    tmp_path.chmod(0o755)
    subprocess.run(["kinit", "-k", "-t", kdc.keytab(ADA), ADA], check=True)
    container = DockerContainer("heddle", labels=LABEL, network_mode="host")
    for here, there in files.items():
        container.with_volume_mapping(here, there, "ro")
    with container:
        told = container.get_wrapped_container()
        assert wait_until(lambda: all(listens(f"127.0.0.1:{each}") for each in ports.values()), timeout_s=60), (
            told.logs()
        )
        yield SimpleNamespace(**{name: f"127.0.0.1:{port}" for name, port in ports.items()}, container=container)


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone gives a keytab to the image's user")
async def test_clients_log_in_at_the_image_by_ticket_and_heddle_gets_its_own(by_tickets, kdc):
    async with calling(by_tickets.client_rpc, by_ticket(ADA, kdc.keytab(ADA))) as ask:
        assert isinstance(await ask("getNewApplication"), GetNewApplicationResponseProto)
    address = f"http://{LOCALHOST}:{by_tickets.rest.rpartition(':')[2]}/heddle/v1"

    def asked(path: str, *options: str) -> subprocess.CompletedProcess[str]:
        command = ["curl", "--silent", "--fail", *options, f"{address}/{path}"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    ticket = ("--negotiate", "--user", ":")
    assert json.loads(asked("console/caller", *ticket).stdout)["user"] == "ada"
    assert asked("console/caller").returncode == 22  # what curl makes of 401
    findings = json.loads(asked("doctor", *ticket).stdout)["findings"]
    assert [each["level"] for each in findings if each["check"] == "kdc"] == ["ok"], findings


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
