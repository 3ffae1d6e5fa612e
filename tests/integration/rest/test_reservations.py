"""Over REST: who may reserve, at which sub-cluster, and where applications with a reservation go."""

import json

import pytest

from shim.domain.queues import FederatedQueue, SharePolicy
from shim.identity.service import IdentityRules
from shim.ports.resource_manager import RestRequest
from shim.server.rest.messages import Answer
from tests.doubles.misbehaviours import IsNeverReached
from tests.doubles.settings import usual
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


async def made_at(server: ScriptedServer) -> str:
    """Which sub-cluster an id of a reservation is of, that alice asked for."""
    answer = await server.ask("POST", f"{BASE}/reservation/new-reservation?user.name=alice")
    assert answer.status == 200, answer.body
    return str(server.backend.routing.reservations.issuer_of(body_of(answer)["reservation-id"]))


async def test_an_id_is_of_the_first_that_is_set_up_for_reservations():
    server = await a_server()
    server.federation["west"].started_on_ms += 5
    await server.poll()
    assert await made_at(server) == "east"
    server.federation["east"].makes_reservations = False
    assert await made_at(server) == "west"
    server.federation["east"].behave(IsNeverReached())
    assert await made_at(server) == "west"


async def test_where_none_is_the_first_one_says_so():
    server = await a_server()
    for name in ("east", "west"):
        server.federation[name].makes_reservations = False
    answer = await server.ask("POST", f"{BASE}/reservation/new-reservation?user.name=alice")
    assert answer.status == 400
    assert "Reservation is not enabled" in answer.body.decode()
    for name in ("east", "west"):
        server.federation[name].behave(IsNeverReached())
    answer = await server.ask("POST", f"{BASE}/reservation/new-reservation?user.name=alice")
    assert answer.status == 503


async def test_an_application_with_a_reservation_goes_where_that_is_with_its_deadline():
    server = ScriptedServer()
    west = server.federation["west"]
    west.started_on_ms += 5
    reservation = f"reservation_{west.started_on_ms}_0001"
    west.reservations, west.reservation_deadlines = {reservation: "default"}, {reservation: 1_900_000_000_000}
    await server.poll()
    for fields in ({"reservation-id": reservation}, {"reservation-id": reservation}, {}):
        await server.submit(**fields)
    await server.poll()
    assert len(west.submissions) == 2
    assert len(server.federation["east"].submissions) == 1
    for application_id in west.submissions:
        why = body_of(await server.ask("GET", f"/heddle/v1/apps/{application_id}/why"))
        assert why["deadline"]["at_ms"] == 1_900_000_000_000
        assert why["candidates"][0]["reason"] == "its reservation is at west"
        shown = body_of(await server.ask("GET", f"{BASE}/apps/{application_id}"))["app"]
        assert shown["applicationTags"] == "heddle-deadline=2030-03-17t17:46:40z"


async def test_an_id_may_be_asked_of_one_that_is_named():
    server = await a_server()
    server.federation["west"].started_on_ms += 5
    await server.poll()
    answer = await server.ask("POST", f"{BASE}/reservation/new-reservation?user.name=alice&cluster=west")
    assert answer.status == 200
    assert server.backend.routing.reservations.issuer_of(body_of(answer)["reservation-id"]) == "west"


async def test_a_retired_cluster_holds_nobodys_application():
    server = ScriptedServer()
    west = server.federation["west"]
    west.started_on_ms += 5
    await server.poll()
    server.backend.view.retire(["west"])
    await server.submit(**{"reservation-id": f"reservation_{west.started_on_ms}_0001"})
    assert len(server.federation["east"].submissions) == 1, "whose ResourceManager says that it does not know it"


async def test_a_change_of_a_reservation_goes_to_the_cluster_that_gave_it_and_without_one_to_any():
    server = await a_server()
    server.federation["west"].started_on_ms = 5  # as in the id
    await server.poll()
    for verb in ("update", "delete"):
        await ask(server, verb, "alice", reservation_id=IN_DEV)
        server.federation["west"].reservations[IN_DEV] = "dev"
    told = {
        name: [one.path for one in server.federation[name].taken if one.method == "POST"] for name in ("east", "west")
    }
    assert (told["east"], len(told["west"])) == ([], 2)
