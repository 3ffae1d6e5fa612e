"""A ResourceManager that lies: `doctor` names it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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
