"""Over REST, a reservation of a queue with an access list is for those who are listed."""

import json

import pytest

from shim.domain.shares import FederatedQueue, SharePolicy
from shim.identity.service import IdentityRules
from shim.ports.resource_manager import RestRequest
from shim.server.rest.messages import Answer
from shim.testing.settings import usual
from tests.support.scripted_server import BASE, ScriptedServer, body_of

LISTED = SharePolicy((FederatedQueue("root.prod", submit=("alice",)), FederatedQueue("root.dev")))
IN_PROD, IN_DEV = "reservation_5_0001", "reservation_5_0002"


async def a_server(policy: SharePolicy = LISTED) -> ScriptedServer:
    server = ScriptedServer(policy=policy, rules=usual(IdentityRules, admins=("queen",)))
    for name in ("east", "west"):
        server.federation[name].reservations = {IN_PROD: "prod", IN_DEV: "dev"}
    await server.poll()
    return server


async def ask(server: ScriptedServer, verb: str, user: str, **fields: str) -> Answer:
    return await server.ask(
        "POST",
        f"{BASE}/reservation/{verb}?user.name={user}",
        body=json.dumps({name.replace("_", "-"): value for name, value in fields.items()}).encode(),
        content_type="application/json",
    )


def changes(server: ScriptedServer) -> list[RestRequest]:
    return [one for name in ("east", "west") for one in server.federation[name].taken if one.method == "POST"]


@pytest.mark.parametrize("queue", ["prod", "root.prod"])
async def test_who_is_not_listed_reserves_nothing_there(queue: str):
    server = await a_server()
    answer = await ask(server, "submit", "mallory", queue=queue, reservation_id=IN_DEV)
    assert answer.status == 403
    assert "mallory does not have permission to reserve in queue root.prod" in answer.body.decode()
    assert changes(server) == []
    for user in ("alice", "queen"):
        assert (await ask(server, "submit", user, queue=queue, reservation_id=IN_DEV)).status != 403
    assert [json.loads(each.body)["queue"] for each in changes(server)] == [queue] * 2


@pytest.mark.parametrize("verb", ["update", "delete", "submit"])
async def test_a_reservation_that_names_no_queue_is_looked_for_in_those_that_are_closed(verb: str):
    server = await a_server()
    answer = await ask(server, verb, "mallory", reservation_id=IN_PROD)
    assert answer.status == 403
    assert IN_PROD in body_of(answer)["RemoteException"]["message"]
    assert changes(server) == []
    assert (await ask(server, verb, "mallory", reservation_id=IN_DEV)).status != 403
    assert (await ask(server, verb, "alice", reservation_id=IN_PROD)).status != 403
    assert len(changes(server)) == 2


async def test_an_id_is_sent_as_it_was_understood():
    server = await a_server()
    await ask(server, "delete", "alice", reservation_id="reservation_5_1")
    assert json.loads(changes(server)[0].body) == {"reservation-id": IN_PROD}
    answer = await ask(server, "delete", "mallory", reservation_id="reservation_5_1")
    assert answer.status == 403


@pytest.mark.parametrize("text", ["reservation_+5_0001", "reservation_5_\u0661", "foo", "reservation_5", "r_5_1"])
async def test_an_id_that_cannot_be_read_goes_nowhere(text: str):
    server = await a_server()
    assert (await ask(server, "delete", "mallory", reservation_id=text)).status == 404
    assert changes(server) == []


async def test_nothing_is_changed_while_nobody_tells_where_a_reservation_is():
    server = await a_server()
    server.federation["east"].reservations = {}
    server.federation["east"].lists_reservations = False
    answer = await ask(server, "delete", "mallory", reservation_id=IN_PROD)
    assert answer.status == 503
    assert changes(server) == []


async def test_without_lists_nobody_is_asked():
    server = await a_server(SharePolicy())
    await ask(server, "delete", "mallory", reservation_id=IN_PROD)
    assert len(changes(server)) == 1
    assert not any("reservation/list" in one.path for one in server.federation["east"].taken)
