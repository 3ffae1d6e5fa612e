"""View and modify rights of Heddle's own beside those of a ResourceManager with `yarn.acl.enable`.

Two clusters are told the same rules: one has `yarn.acl.enable` and a queue's administrator, and is asked directly; the
other has none, and is asked through a Heddle with `security.application_acls` and the same administrator.
"""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any

import pytest

from adapters.yarn.rm_rpc import RPCSettings, RPCTarget, YarnRPC, addresses_of
from shim.domain.ids import ApplicationId, SubClusterId
from shim.lab import Lab, LabSpec
from shim.ports.resource_manager_rpc import RPCAnswer, RPCCall
from shim.protocol.proto import APPLICATION_CLIENT
from shim.protocol.proto import messages as m
from shim.protocol.yarn import application_message
from tests.differential.conftest import APPS, HeddleInAThread, json_of, submit, wait_until
from tests.doubles.settings import usual
from tests.support.raw_http import RawRequest, exchange

pytestmark = pytest.mark.lab

LISTS = [{"key": "VIEW_APP", "value": "vera"}, {"key": "MODIFY_APP", "value": "mo"}]
SPEC = {"commands": {"command": "sleep 600"}, "application-acls": {"entry": LISTS}}
CAPACITY = "yarn.scheduler.capacity.root"
GUARDED = {
    "yarn-site.xml": {"yarn.acl.enable": "true", "yarn.admin.acl": "root"},
    "capacity-scheduler.xml": {
        f"{CAPACITY}.acl_administer_queue": " ",
        f"{CAPACITY}.default.acl_administer_queue": "quinn",
    },
}
USERS = ("alice", "vera", "mo", "quinn", "eve")
JSON = (("Accept", "application/json"), ("Content-Type", "application/json"))
DIFFERENT = frozenset({"id", "clusterId", "diagnostics", "elapsedTime", "memorySeconds", "vcoreSeconds"})
"""Of the two clusters, of time, and what Heddle hides besides: 2.10.2 tells everybody what was used."""
INSIDE = ("/appattempts/ATTEMPT", "/appattempts/ATTEMPT/containers", "/state", "/queue", "/priority")
HEDDLE = """
[security]
allow_anonymous = true
application_acls = true
[[queue]]
name = "root.default"
administer = ["quinn"]
"""


@dataclass(frozen=True, slots=True)
class ComparedServer:
    """One of the two: where it is asked, and Alice's application there."""

    web: str
    rpc: str
    application: str

    @property
    def id(self) -> ApplicationId:
        return ApplicationId.parse(self.application)

    def get(self, path: str, user: str) -> tuple[int, Any]:
        answer = exchange(self.web, RawRequest("GET", f"{path}?user.name={user}", JSON))
        return answer.status, json.loads(answer.body)

    def put(self, what: str, body: object, user: str) -> tuple[int, bytes]:
        target = f"{APPS}/{self.application}/{what}?user.name={user}"
        answer = exchange(self.web, RawRequest("PUT", target, JSON, json.dumps(body).encode()))
        return answer.status, answer.body.replace(self.application.encode(), b"ID")

    def call(self, method: str, request: Any, user: str) -> RPCAnswer:
        async def ask() -> RPCAnswer:
            rpc = YarnRPC(RPCTarget(SubClusterId("side"), addresses_of([self.rpc])), usual(RPCSettings))
            try:
                return await rpc.call(RPCCall(APPLICATION_CLIENT.name, method, request.SerializeToString(), user))
            finally:
                await rpc.close()

        return asyncio.run(ask())


@pytest.fixture(scope="module", params=["3.4.2", "2.10.2"])
def sides(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[ComparedServer, ComparedServer]]:
    """The ResourceManager with access lists, and the Heddle with its own."""
    labs = Lab(tmp_path_factory.mktemp("guarded")), Lab(tmp_path_factory.mktemp("open"))
    with labs[0] as guarded, labs[1] as plain:
        guarded.up(LabSpec.of(clusters=1, nodes=1, hadoop=request.param, overrides=GUARDED))
        plain.up(LabSpec.of(clusters=1, nodes=1, hadoop=request.param))
        east, west = guarded.cluster("east"), plain.cluster("east")
        folder: Path = tmp_path_factory.mktemp("heddle")
        heddle = HeddleInAThread(folder, {"west": west.url}, text=HEDDLE, rpcs={"west": west.client_rpc})
        with heddle as url:
            assert heddle.client_rpc is not None
            at_manager = submit(east.url, "alice", **{"am-container-spec": SPEC})
            at_heddle = submit(url, "alice", **{"am-container-spec": SPEC})
            both = (
                ComparedServer(east.url, east.client_rpc, at_manager),
                ComparedServer(url, heddle.client_rpc, at_heddle),
            )
            for side in both:
                wait_until(lambda side=side: _is_launched(side), "its container is launched", within_s=120.0)  # type: ignore[misc]
            yield both


def _is_launched(side: ComparedServer) -> bool:
    app = json_of(side.web, f"{APPS}/{side.application}?user.name=alice")["app"]
    return isinstance(app, dict) and "AM container is launched" in str(app["diagnostics"])


def compared(side: ComparedServer, user: str) -> tuple[dict[str, Any], set[str]]:
    """The application's row, and the names of what is different where it is told of by itself."""
    status, body = side.get(f"{APPS}/{side.application}", user)
    assert status == 200
    [row] = [each for each in side.get(APPS, user)[1]["apps"]["app"] if each["id"] == side.application]
    alone = body["app"]
    return row, {name for name in row.keys() | alone.keys() if row.get(name) != alone.get(name)}


def hidden(side: ComparedServer, user: str) -> dict[str, Any]:
    """What a user is shown of the application, less what differs in two clusters and what Heddle hides besides."""
    row, different = compared(side, user)
    if different - {"elapsedTime"}:  # what was used is counted anew every three seconds: now it is fresh
        row, different = compared(side, user)
    assert different <= {"elapsedTime"}
    return {
        name: row[name] for name in row if name not in DIFFERENT and not isinstance(row[name], (dict, list, NoneType))
    }


@pytest.mark.parametrize("user", ["eve", "mo"])
def test_a_row_that_is_hidden_has_the_members_and_values_of_a_resource_managers(sides, user):
    of_manager, of_heddle = (hidden(side, user) for side in sides)
    assert of_heddle == of_manager
    assert sides[1].get(f"{APPS}/{sides[1].application}", user)[1]["app"]["diagnostics"] == "N/A"


@pytest.mark.parametrize("user", ["alice", "vera", "quinn"])
def test_viewers_are_shown_the_whole(sides, user):
    for side in sides:
        app = side.get(f"{APPS}/{side.application}", user)[1]["app"]
        assert app["startedTime"] > 0
        assert "AM container is launched" in app["diagnostics"]


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize(
    "below", ["/appattempts/ATTEMPT", "/appattempts/ATTEMPT/containers", "/state", "/queue", "/priority"]
)
def test_what_is_inside_is_told_to_the_same_users_in_the_same_words(sides, user, below):
    told = []
    for side in sides:
        attempt = side.application.replace("application", "appattempt") + "_000001"
        status, body = side.get(f"{APPS}/{side.application}{below.replace('ATTEMPT', attempt)}", user)
        words = json.dumps(body.get("RemoteException", {})).replace(side.application.removeprefix("application"), "ID")
        told.append((status if status == 200 else "refused", words))
    assert told[0] == told[1]


CHANGES = {"state": {"state": "KILLED"}, "priority": {"priority": 1}, "queue": {"queue": "dev"}}


@pytest.mark.parametrize("user", ["eve", "vera"])
@pytest.mark.parametrize("what", CHANGES)
def test_changes_are_refused_in_the_same_words(sides, user, what):
    of_manager, of_heddle = (side.put(what, CHANGES[what], user) for side in sides)
    assert of_heddle == of_manager


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("method", ["getApplicationReport", "getApplicationAttempts", "getContainers", "getQueueInfo"])
def test_over_rpc_the_same_users_are_told_the_same(sides, user, method):
    assert _told(sides[1], method, user) == _told(sides[0], method, user)


@pytest.mark.parametrize("user", ["eve", "vera"])
def test_over_rpc_kills_are_refused_in_the_same_words(sides, user):
    told = [_told(side, "forceKillApplication", user) for side in sides]
    assert told[0] == told[1]
    assert "cannot perform operation MODIFY_APP" in told[0]


def _told(side: ComparedServer, method: str, user: str) -> str:
    id_ = application_message(side.id)
    attempt = m.ApplicationAttemptIdProto(application_id=id_, attemptId=1)
    requests: dict[str, Any] = {
        "getApplicationReport": m.GetApplicationReportRequestProto(application_id=id_),
        "getApplicationAttempts": m.GetApplicationAttemptsRequestProto(application_id=id_),
        "getContainers": m.GetContainersRequestProto(application_attempt_id=attempt),
        "getQueueInfo": m.GetQueueInfoRequestProto(queueName="default", includeApplications=True),
        "forceKillApplication": m.KillApplicationRequestProto(application_id=id_),
    }
    answer = side.call(method, requests[method], user)
    if answer.refusal is not None:
        refusal = f"{answer.refusal.java_class}: {answer.refusal.message}"
        return refusal.replace(side.application.removeprefix("application"), "ID")
    told: Any = APPLICATION_CLIENT.methods[method].answer.FromString(answer.payload)
    if method == "getQueueInfo":
        return str(len(told.queueInfo.applications))
    if method != "getApplicationReport":
        return "told"
    report = told.application_report
    usage = report.app_resource_Usage
    return f"{report.user} {report.diagnostics} {report.host} {report.rpc_port} {usage.used_resources.memory}"
