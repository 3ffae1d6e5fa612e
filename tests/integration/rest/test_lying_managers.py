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
    """Healthy, but for documents that are changed before they are told; so are those below their path if `below`."""

    path: str
    change: Callable[[Any], Any]
    below: bool = False

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        del timeout_s
        answer = manager.take(request)
        if request.path != self.path and not (self.below and request.path.startswith(f"{self.path}/")):
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


def spoilt(application: str) -> Callable[[Any], Any]:
    """Tell one application with a name that is none, in the list and by itself."""

    def change(document: Any) -> Any:
        for each in (document.get("apps") or {}).get("app") or [document.get("app", {})]:
            if each.get("id") == application:
                each["name"] = {"odd": 1}
        return document

    return change


async def test_a_live_application_that_turns_odd_costs_neither_its_cluster_nor_others_their_end():
    server = ScriptedServer(["east"])
    first, *others = (ApplicationId(1, number) for number in range(1, 6))
    for each in (first, *others):
        server.federation["east"].add_application(each, "RUNNING")
    await server.poll()
    server.federation["east"].behave(Lies(f"{BASE}/apps", spoilt(str(first)), below=True))
    for each in others:
        del server.federation["east"].applications[each]
    for _ in range(4):
        await server.federation.clock.advance(5)
        await server.poll()
        assert "Heddle-Missing" not in dict((await server.get("/info")).headers)
    live = body_of(await server.get("/apps"))["apps"]["app"]
    assert [(each["id"], each["name"] == {"odd": 1}) for each in live] == [(str(first), False)]


def in_queue(change: Callable[[Any], None]) -> Callable[[Any], Any]:
    """Change the first leaf of the tree."""

    def at(document: Any) -> Any:
        queue = document["scheduler"]["schedulerInfo"]
        while queue.get("queues"):
            queue = queue["queues"]["queue"][0]
        change(queue)
        return document

    return at


async def parts_of_queues(server: ScriptedServer) -> dict[str, int]:
    """How many clusters have each queue."""
    told = body_of(await server.ask("GET", "/heddle/v1/queues"))["queues"]
    return {each["queue"]: len(each["parts"]) for each in told}


def odd_user(queue: Any) -> None:
    queue["users"] = {"user": [None, {"username": "alice"}]}


def odd_label(queue: Any) -> None:
    queue["nodeLabels"] = ["*", 7]


def odd_partition(queue: Any) -> None:
    queue["capacities"] = {"queueCapacitiesByPartition": [{"partitionName": ""}, [], {"partitionName": {}}]}


def odd_type(queue: Any) -> None:
    amounts = {"resourceInformation": [{"name": "gpu", "value": 1}, "gpu"]}
    queue["maximumAllocation"] = {"memory": 512, "vCores": 1, "resourceInformations": amounts}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (odd_user, "1 users left out"),
        (odd_label, "1 labels left out"),
        (odd_partition, "2 partitions left out"),
        (odd_type, "1 resource types left out"),
    ],
)
async def test_an_odd_row_within_a_queue_costs_itself_and_is_named(change, words):
    server = ScriptedServer(["east", "west"])
    await server.poll()
    before = await parts_of_queues(server)
    server.federation["east"].behave(Lies(f"{BASE}/scheduler", in_queue(change)))
    await server.federation.clock.advance(5)
    await server.poll()
    for accept in ("application/json", "application/xml"):
        answer = await server.get("/scheduler", accept=accept)
        assert (answer.status, dict(answer.headers).get("Heddle-Missing")) == (200, None)
    assert await parts_of_queues(server) == before
    told = body_of(await server.ask("GET", "/heddle/v1/doctor"))["findings"]
    assert [each["cluster"] for each in told if each["message"].startswith(words)] == ["east"]
