"""A whole Heddle in front of real clusters is attacked from outside; what came of it is asked of the clusters."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from shim.lab import Lab
from shim.protocol.hrpc import ClientConnection, HadoopRequest, UserIdentity
from shim.protocol.proto import APPLICATION_CLIENT
from shim.protocol.proto.messages import ApplicationIdProto, KillApplicationRequestProto
from shim.server.rest.endpoints import BASE
from shim.telemetry.audit_chain import verify
from tests.support.heddle_process import HeddleProcess, until
from tests.support.red_team import (
    DISGUISED_QUEUES,
    FRAMES,
    PATHS,
    SMUGGLED,
    Smuggled,
    audited_users,
    disguised_identities,
    is_whole_frame,
    kill_of,
    throw,
)

pytestmark = pytest.mark.lab

SECRET = "d0n0tt3ll-0123456789abcdef"
CONFIGURATION = """
[[queue]]
name = "root.prod"
weight = 1
submit = "victim"

[security.proxyuser.knox]
users = ["alice"]
hosts = "*"

[log]
audit_file = "{folder}/audit.log"
"""
CONTEXT = {
    "application-name": "hers",
    "queue": "root.prod",
    "am-container-spec": {
        "commands": {"command": "sleep 1"},
        "environment": {"entry": [{"key": "PASSWORD", "value": SECRET}]},
    },
    "resource": {"memory": 256, "vCores": 1},
    "unmanaged-AM": True,
}


class Front:
    """The Heddle under attack.

    Attributes:
        application: Victim's, which nobody ends.
    """

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab = lab
        self.folder = folder
        self.heddle = HeddleProcess(lab, folder, more=CONFIGURATION.format(folder=folder))
        self.application = ""

    def begin(self) -> None:
        self.heddle.start()
        self.application = self.new_application("victim")
        context = json.dumps(CONTEXT | {"application-id": self.application}).encode()
        assert self.submit("victim", "application/json", context) == 202
        until(lambda: self.state() == "ACCEPTED", "victim's application is at a cluster")

    def new_application(self, user: str) -> str:
        answer = self.send("POST", f"apps/new-application?user.name={user}")
        return str(answer.json()["application-id"])

    def submit(self, user: str, kind: str, body: bytes) -> int:
        return self.send("POST", f"apps?user.name={user}", content=body, headers={"Content-Type": kind}).status_code

    def send(self, method: str, path: str, **more: object) -> httpx.Response:
        url = f"{self.heddle.url}{BASE}/{path}"
        return httpx.request(method, url, trust_env=False, timeout=30, **more)  # type: ignore[arg-type]

    def state(self) -> str:
        return str(self.send("GET", f"apps/{self.application}/state?user.name=victim").json()["state"])

    def applications_of(self, user: str) -> list[str]:
        found = self.send("GET", f"apps?user={user}").json()["apps"] or {"app": []}
        return [app["id"] for app in found["app"]]


@pytest.fixture(scope="module")
def attacked(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    made = Front(lab, tmp_path_factory.mktemp("red-team"))
    try:
        made.begin()
        yield made
    finally:
        made.heddle.kill()


@pytest.fixture
def front(attacked: Front) -> Iterator[Front]:
    """The Heddle; after each attack it is as it was, and no cluster heard of victim."""
    before = audited_users(attacked.lab).count("victim")
    yield attacked
    assert attacked.heddle.ask("info")["clusterInfo"]["state"] == "STARTED"
    assert attacked.state() == "ACCEPTED"
    assert audited_users(attacked.lab).count("victim") == before


def test_the_clusters_audit_logs_tell_for_whom_something_was_done(attacked: Front) -> None:
    assert "victim" in audited_users(attacked.lab), "else no attack below could be seen to succeed"


def test_no_endpoint_takes_a_second_name(front: Front) -> None:
    other = front.new_application("mallory")
    statuses = set()
    for request in disguised_identities(other):
        answer = throw(front.heddle.rest, request)
        assert b"victim" not in answer.partition(b"\r\n\r\n")[0], request
        statuses.add(int(answer.split(b" ", 2)[1]))
    assert not {status for status in statuses if status >= 500 and status != 503}, statuses


@pytest.mark.parametrize("smuggled", SMUGGLED, ids=lambda each: each.name)
def test_nothing_is_hidden_in_a_request(front: Front, smuggled: Smuggled) -> None:
    answer = throw(front.heddle.rest, smuggled.bytes(kill_of(front.application)), is_whole=lambda _: False, wait_s=2.0)
    assert answer == b"" or int(answer.split(b" ", 2)[1]) < 500


@pytest.mark.parametrize("path", PATHS)
def test_no_spelling_of_a_path_brings_a_name_along(front: Front, path: str) -> None:
    target = path.format(base=BASE, id=front.new_application("mallory"))
    body = b'{"state":"KILLED"}'
    head = f"PUT {target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
    answer = throw(front.heddle.rest, f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    assert 400 <= int(answer.split(b" ", 2)[1]) < 500


@pytest.mark.parametrize(("kind", "body"), DISGUISED_QUEUES)
def test_nobody_else_comes_into_victims_queue(front: Front, kind: str, body: str) -> None:
    id_ = front.new_application("mallory")
    status = front.submit("mallory", kind, body.replace("{id}", id_).encode())
    refused = 400 <= status < 500 or status == 503  # as a ResourceManager answers a type that it cannot read
    assert refused or id_ in front.applications_of("mallory")
    for cluster in front.lab.clusters.values():
        url = f"{cluster.url}/ws/v1/cluster/apps?user=mallory&queue=prod"
        assert not httpx.get(url, trust_env=False, timeout=30).json()["apps"]


@pytest.mark.parametrize("door", ["client_rpc", "scheduler_rpc"])
@pytest.mark.parametrize(("name", "sent"), FRAMES, ids=[name for name, _ in FRAMES])
def test_bytes_that_are_no_call_end_their_connection_alone(front: Front, door: str, name: str, sent: bytes) -> None:
    throw(getattr(front.heddle, door), sent, wait_s=0.2)
    assert b"xception" not in called(front, UserIdentity("mallory"), "getClusterMetrics")


@pytest.mark.parametrize(
    "identity",
    [UserIdentity("victim", "mallory"), UserIdentity("victim", "knox"), UserIdentity("", "victim")],
    ids=["mallory", "a proxy user for alice", "an empty name"],
)
def test_nobody_acts_as_victim_over_rpc(front: Front, identity: UserIdentity) -> None:
    _, stamp, sequence = front.application.split("_")
    named = ApplicationIdProto(id=int(sequence), cluster_timestamp=int(stamp))
    kill = KillApplicationRequestProto(application_id=named).SerializeToString()
    assert b"xception" in called(front, identity, "forceKillApplication", kill)


def called(front: Front, identity: UserIdentity, method: str, body: bytes = b"") -> bytes:
    client = ClientConnection(APPLICATION_CLIENT.name, identity, os.urandom(16))
    client.connect()
    client.call(HadoopRequest(APPLICATION_CLIENT.name, method, body), call_id=0)
    return throw(front.heddle.client_rpc, client.data_to_send(), is_whole=is_whole_frame)


def test_a_page_of_another_site_and_a_rebound_name_change_and_read_nothing(front: Front) -> None:
    kill = kill_of(front.application)
    cross = kill.replace(b"\r\n", b"\r\nOrigin: http://evil.example.org\r\nSec-Fetch-Site: cross-site\r\n", 1)
    assert throw(front.heddle.rest, cross).split(b" ", 2)[1] == b"403"
    rebound = kill.replace(b"Host: localhost", b"Host: evil.example.org")
    assert throw(front.heddle.rest, rebound).split(b" ", 2)[1] == b"421"


def test_no_secret_of_victims_is_told_or_written(front: Front) -> None:
    for path in (f"apps/{front.application}", "apps", "../../../conf", f"apps/{front.application}/appattempts"):
        assert SECRET not in front.send("GET", f"{path}?user.name=mallory").text
    files = [each for each in front.folder.rglob("*") if each.is_file()]
    assert front.heddle.log in files
    assert [each.name for each in files if SECRET.encode() in each.read_bytes()] == []
    assert [each.name for each in files if each.name.startswith("heddle.db") and each.stat().st_mode & 0o077] == []


def test_afterwards_the_log_has_no_failure_and_the_audit_is_whole(front: Front) -> None:
    log = front.heddle.log.read_text("utf-8")
    assert "Traceback" not in log
    lines = (front.folder / "audit.log").read_bytes().splitlines()
    assert verify((f"audit.log:{number}", line) for number, line in enumerate(lines, 1)).troubles == ()
