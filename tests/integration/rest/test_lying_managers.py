"""A ResourceManager that lies: `doctor` names it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from shim.domain.ids import ApplicationId
from shim.ports.resource_manager import RestAnswer, RestRequest
from tests.doubles.resource_manager import ScriptedResourceManager
from tests.support.scripted_server import BASE, ScriptedServer, body_of

METRICS = f"{BASE}/metrics"


@dataclass
class Lies:
    """Healthy, but for documents that are changed before they are told."""

    path: str
    change: Callable[[Any], Any]

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        del timeout_s
        answer = manager.take(request)
        if request.path != self.path:
            return answer
        return RestAnswer(answer.status, answer.headers, json.dumps(self.change(json.loads(answer.body))).encode())


def much(document: Any) -> Any:
    del document["clusterMetrics"]["totalClusterResourcesAcrossPartition"]  # Hadoop 2 has none
    document["clusterMetrics"] |= {"totalMB": 10**12, "availableMB": 10**12, "totalVirtualCores": 10**8}
    return document


async def findings(server: ScriptedServer) -> list[tuple[str, str]]:
    told = body_of(await server.ask("GET", "/heddle/v1/doctor"))["findings"]
    return [(each["cluster"], each["message"]) for each in told if each["check"] == "capacity"]


async def test_one_that_tells_more_than_its_nodes_have_is_named():
    server = ScriptedServer(["east", "west"])
    await server.poll()
    assert await findings(server) == []
    server.federation["east"].behave(Lies(METRICS, much))
    await server.poll()
    ((cluster, message),) = await findings(server)
    assert cluster == "east"
    assert "1000000000000" in message


async def test_one_that_claims_anothers_application_for_another_user_and_dead_is_not_believed():
    server = ScriptedServer(["east", "west"])
    await server.poll()
    application = await server.submit("alice")
    home = next(name for name in ("east", "west") if application in server.federation[name].applications)
    liar = "west" if home == "east" else "east"
    server.federation[liar].add_application(application, "KILLED", user="mallory")
    await server.poll()
    shown = body_of(await server.get(f"/apps/{application}"))["app"]
    listed = body_of(await server.get("/apps"))["apps"]["app"]
    assert (shown["user"], shown["state"] != "KILLED") == ("alice", True)
    assert [(each["id"], each["user"]) for each in listed] == [(str(application), "alice")]


def with_row(root: str, item: str, row: Any) -> Callable[[Any], Any]:
    """Put a row among those of a list."""

    def change(document: Any) -> Any:
        if root in document and item in document[root]:
            document[root][item].insert(1, row)
        return document

    return change


@pytest.mark.parametrize("row", [None, 5, [], {}, {"id": None}, {"id": 7}], ids=str)
@pytest.mark.parametrize(("root", "item"), [("nodes", "node"), ("apps", "app")])
async def test_a_row_that_cannot_be_read_costs_itself_everywhere_and_is_named(root, item, row):
    server = ScriptedServer(["east", "west"])
    for name, number in (("east", 1), ("west", 2)):
        server.federation[name].add_application(ApplicationId(1, number), "RUNNING")
    await server.poll()
    before = body_of(await server.get(f"/{root}"))
    server.federation["east"].behave(Lies(f"{BASE}/{root}", with_row(root, item, row)))
    await server.federation.clock.advance(5)
    await server.poll()
    for accept in ("application/json", "application/xml"):
        answer = await server.get(f"/{root}", accept=accept)
        assert answer.status == 200
        assert "Heddle-Missing" not in dict(answer.headers)
    assert body_of(await server.get(f"/{root}")).keys() == before.keys()
    shown = body_of(await server.get(f"/{root}"))[root][item]
    assert {each["id"] for each in shown} == {each["id"] for each in before[root][item]}
    assert (await server.ask("GET", "/jmx")).status == 200
    told = body_of(await server.ask("GET", "/heddle/v1/doctor"))["findings"]
    words = {"nodes": "1 nodes left out", "apps": "1 applications left out"}[root]
    assert [each["cluster"] for each in told if each["message"].startswith(words)] == ["east"]
