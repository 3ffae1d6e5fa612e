"""`doctor` asks each cluster as whom it takes a request that Heddle makes in another's name."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from shim.federation.doctor import PROBE_USER
from shim.ports.resource_manager import RestAnswer, RestRequest
from tests.doubles.misbehaviours import IsNeverReached
from tests.doubles.resource_manager import ScriptedResourceManager
from tests.support.scripted_server import ScriptedServer, body_of

USER_INFO = "/ws/v1/cluster/userinfo"


@dataclass
class TellsUsers:
    """Healthy, and answers `userinfo` as it is told; the requests for it are kept."""

    status: int
    body: bytes
    asked: list[RestRequest]

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        del timeout_s
        if request.path != USER_INFO:
            return manager.take(request)
        self.asked.append(request)
        return RestAnswer(self.status, (("Content-Type", "application/json"),), self.body)


def told(user: str) -> bytes:
    return json.dumps({"rmLoginUser": "yarn", "requestedUser": user}).encode()  # no root, as ResourceManagers write it


async def identities(status: int, body: bytes) -> tuple[list[dict[str, Any]], list[RestRequest]]:
    server = ScriptedServer(["east"])
    await server.poll()
    behaviour = TellsUsers(status, body, [])
    server.federation["east"].behave(behaviour)
    findings = body_of(await server.ask("GET", "/heddle/v1/doctor"))["findings"]
    return [each for each in findings if each["check"] == "identities"], behaviour.asked


async def test_it_asks_in_the_name_of_nobody_there_is() -> None:
    (found,), (asked,) = await identities(200, told(PROBE_USER))
    assert asked.user == PROBE_USER
    assert found["level"] == "ok"


@pytest.mark.parametrize("user", ["heddle", "dr.who"])
async def test_a_cluster_that_takes_everybody_for_one_is_an_error(user: str) -> None:
    (found,), _ = await identities(200, told(user))
    assert (found["level"], found["cluster"]) == ("error", "east")
    assert user in found["message"]
    assert found["advice"]


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refusal_is_good(status: int) -> None:
    (found,), _ = await identities(status, b"User: heddle is not allowed to impersonate heddle-doctor")
    assert found["level"] == "ok"


HOSTILE = [
    b"",
    b"[]",
    b"{}",
    b'{"clusterUserInfo":{}}',
    b'{"requestedUser":7}',
    told(""),
    b"\xff" * 99,
]


@pytest.mark.parametrize("body", HOSTILE)
async def test_an_answer_that_says_nothing_is_no_finding_where_names_are_sent(body: bytes) -> None:
    assert (await identities(200, body))[0] == []


async def test_a_hadoop_without_the_address_is_no_finding_where_names_are_sent() -> None:
    assert (await identities(404, told("heddle")))[0] == []


async def test_a_long_name_is_cut() -> None:
    (found,), _ = await identities(200, told("x" * 100_000))
    assert len(found["message"]) < 1000


async def test_a_cluster_that_is_away_is_not_waited_for() -> None:
    server = ScriptedServer(["east"])
    await server.poll()
    server.federation["east"].behave(IsNeverReached())
    findings = body_of(await server.ask("GET", "/heddle/v1/doctor"))["findings"]
    assert not [each for each in findings if each["check"] == "identities"]
