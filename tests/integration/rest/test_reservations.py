"""Over REST: who may reserve, at which sub-cluster, and where applications with a reservation go."""

import json
from dataclasses import replace

import pytest

from shim.domain.ids import SubClusterId
from shim.domain.queues import FederatedQueue, SharePolicy
from shim.identity.service import IdentityRules
from shim.ports.resource_manager import RestRequest
from shim.server.rest.messages import Answer
from tests.doubles.misbehaviours import IsNeverReached
from tests.doubles.reports import a_queue_report, a_report
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
    assert [json.loads(each.body)["queue"] for each in changes(server)] == ["prod"] * 2


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


MAPPED = SharePolicy((FederatedQueue("root.prod", submit=("alice",), names={SubClusterId("west"): "root.a.batch"}),))


async def a_mixed_server(scheduler: str, version: str, policy: SharePolicy = MAPPED) -> ScriptedServer:
    """East and west of one version; west calls root.prod otherwise."""
    server = ScriptedServer(policy=policy, rules=usual(IdentityRules, admins=("queen",)))
    await server.poll()
    for began_ms, (each, paths) in enumerate({"east": ("root.prod",), "west": ("root.a", "root.a.batch")}.items(), 1):
        queues = tuple(a_queue_report(path, is_leaf=path != "root.a") for path in ("root.default", *paths))
        told = a_report(each, incarnation=2**62, started_on_ms=began_ms, polled_at_s=server.federation.clock.now_s())
        server.view.apply(replace(told, scheduler=scheduler, version=version, queues=queues))
    return server


OLD, NEW, FAIR = ("capacityScheduler", "3.2.4"), ("capacityScheduler", "3.4.2"), ("fairScheduler", "3.4.2")
PLANS = {
    OLD: {"prod": ("prod", "batch"), "root.prod": ("prod", "batch"), "nosuch": ("nosuch", "nosuch")},
    NEW: {"prod": ("prod", "batch"), "root.prod": ("prod", "batch"), "root.nosuch": ("root.nosuch", "root.nosuch")},
    FAIR: {"prod": ("prod", "root.a.batch"), "root.prod": ("root.prod", "root.a.batch")},
}
"""How each cluster names the plan that a client names: a CapacityScheduler knows plans by their last part alone."""
EACH_PLAN = [(*kind, queue, names) for kind, told in PLANS.items() for queue, names in told.items()]


@pytest.mark.parametrize(("scheduler", "version", "queue", "names"), EACH_PLAN)
@pytest.mark.parametrize("kind", ["json", "xml"])
async def test_a_reservation_names_its_queue_as_its_cluster_does(scheduler, version, queue, names, kind):
    server = await a_mixed_server(scheduler, version)
    for began_ms, (each, name) in enumerate(zip(("east", "west"), names, strict=True), 1):
        reservation = f"reservation_{began_ms}_0001"
        body = json.dumps({"queue": queue, "reservation-id": reservation}).encode()
        if kind == "xml":
            inner = f"<queue>{queue}</queue><reservation-id>{reservation}</reservation-id>"
            body = f"<reservation-submission-context>{inner}</reservation-submission-context>".encode()
        target = f"{BASE}/reservation/submit?user.name=alice"
        await server.ask("POST", target, body=body, content_type=f"application/{kind}")
        (sent,) = (one for one in server.federation[each].taken if one.path.endswith("/reservation/submit"))
        wanted = f"<queue>{name}</queue>" if kind == "xml" else f'"queue":"{name}"'
        assert wanted.encode() in sent.body
        assert reservation.encode() in sent.body


@pytest.mark.parametrize(("scheduler", "version", "queue", "names"), EACH_PLAN)
async def test_reservations_are_listed_by_each_cluster_s_name_of_their_queue(scheduler, version, queue, names):
    server = await a_mixed_server(scheduler, version)
    await server.ask("GET", f"{BASE}/reservation/list?queue={queue}&start-time=5&queue=else&user.name=alice")
    for each, name in zip(("east", "west"), names, strict=True):
        (asked,) = (one for one in server.federation[each].taken if one.path.endswith("/reservation/list"))
        assert dict(reversed(asked.parameters)) == {"queue": name, "start-time": "5"}


@pytest.mark.parametrize("user", ["mallory", "alice"])
@pytest.mark.parametrize(
    ("scheduler", "version", "queue", "name"),
    [
        (*OLD, "root.prod", "prod"),
        (*OLD, "prod", "prod"),
        (*NEW, "root.prod", "root.prod"),
        (*OLD, "root.a", "a"),
        (*NEW, "root.a", "root.a"),
        (*OLD, "root.a.batch", "batch"),
        (*OLD, "nosuch", "nosuch"),
    ],
)
async def test_rights_in_a_queue_are_asked_by_its_name_there(scheduler, version, queue, name, user):
    server = await a_mixed_server(scheduler, version)
    answer = await server.ask("GET", f"{BASE}/queues/{queue}/access?user={user}&user.name=queen")
    asked = [one for each in ("east", "west") for one in server.federation[each].taken if "access" in one.path]
    assert [one.path for one in asked] == [f"{BASE}/queues/{name}/access"]
    may = user == "alice" or queue in ("root.a", "nosuch")  # by the list of Heddle's policy
    assert (body_of(answer)["allowed"], body_of(answer)["user"]) == (str(may).lower(), user)


async def test_rights_that_heddle_s_lists_do_not_give_are_told_in_xml_too_and_only_those_to_submit():
    server = await a_mixed_server(*NEW)
    target = f"{BASE}/queues/prod/access?user=mallory&user.name=queen"
    answer = await server.ask("GET", target, accept="application/xml")
    why = "User=mallory doesn't have access to queue=prod with acl-type=SUBMIT_APPLICATIONS"
    told = f"<allowed>false</allowed><user>mallory</user><diagnostics>{why}</diagnostics>"
    assert f"<rmQueueAclInfo>{told}</rmQueueAclInfo>" in answer.body.decode()
    answer = await server.ask("GET", f"{target}&queue-acl-type=ADMINISTER_QUEUE")
    assert body_of(answer)["allowed"] == "true"


async def test_where_the_policy_alone_names_a_queue_so_the_cluster_s_own_name_is_asked():
    policy = SharePolicy((FederatedQueue("root.etl", names={SubClusterId("west"): "root.a.batch"}),))
    server = await a_mixed_server(*OLD, policy)
    await server.ask("GET", f"{BASE}/queues/root.etl/access?user=bob&user.name=queen")
    (asked,) = (one for each in ("east", "west") for one in server.federation[each].taken if "access" in one.path)
    assert asked.path == f"{BASE}/queues/batch/access"
