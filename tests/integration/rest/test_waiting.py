"""Why an application waits, what it may ask for, and its move to another home, over REST."""

import json

import pytest

from shim.domain.ids import SubClusterId
from shim.domain.resources import ResourceVector
from shim.identity.service import IdentityRules
from tests.doubles.settings import usual
from tests.support.scripted_server import BASE, ScriptedServer, body_of, context


@pytest.fixture
async def server() -> ScriptedServer:
    made = ScriptedServer(names=("east", "west"), rules=usual(IdentityRules, admins=("queen",)))
    await made.poll()
    return made


async def asked(server, method, path, user="alice"):
    return await server.ask(method, f"/heddle/v1/apps/{path}{'&' if '?' in path else '?'}user.name={user}")


async def test_why_and_status_and_list_begin_with_one_sentence(server):
    application = await server.submit("alice")
    await server.federation.clock.advance(1.0)
    await server.poll()
    told = body_of(await asked(server, "GET", f"{application}/why"))
    assert next(iter(told)) == "waits"
    assert told["waits"].startswith("waits at east since ")
    assert " for its ApplicationMaster: " in told["waits"]
    one = body_of(await asked(server, "GET", str(application)))["app"]
    (row,) = body_of(await asked(server, "GET", "?"))["apps"]
    assert one["waits"] == row["waits"] == told["waits"]
    server.federation["east"].move(application, "RUNNING")
    await server.federation.clock.advance(2.0)
    await server.poll()
    assert "waits" not in body_of(await asked(server, "GET", str(application)))["app"]


async def test_its_user_and_operators_move_it_and_nobody_else(server):
    first, second = await server.submit("alice"), await server.submit("alice")
    await server.federation.clock.advance(1.0)
    await server.poll()
    home = server.federation.who_has(first)[0]
    assert (await asked(server, "POST", f"{first}/rehome", "bob")).status == 403
    planned = body_of(await asked(server, "POST", f"{first}/rehome?dryRun=true"))
    assert (planned["was"], planned["done"]) == (home, False)
    assert server.federation.managers[home].applications[first]["state"] == "ACCEPTED"
    for application, user in ((first, "alice"), (second, "queen")):
        moved = await server.federation.wait_for(asked(server, "POST", f"{application}/rehome", user))
        assert (moved.status, body_of(moved)["done"]) == (200, True)
        was, now = body_of(moved)["was"], body_of(moved)["home"]
        assert server.federation.managers[SubClusterId(was)].applications[application]["state"] == "KILLED"
        assert server.federation.managers[SubClusterId(now)].applications[application]["user"] == "alice"
    unknown = await asked(server, "POST", "application_1_0001/rehome", "queen")
    assert unknown.status == 404


async def test_a_new_id_comes_with_the_largest_container_that_every_cluster_grants(server):
    server.federation["west"].maximum_allocation = ResourceVector(1024, 2)
    await server.poll()
    made = body_of(await server.ask("POST", f"{BASE}/apps/new-application?user.name=alice"))
    most = made["maximum-resource-capability"]
    assert (most["memory"], most["vCores"]) == (1024, 2)


@pytest.mark.parametrize("queue", ["root.nope", "nope"])
async def test_an_unknown_queue_is_refused_at_the_door(server, queue):
    made = body_of(await server.ask("POST", f"{BASE}/apps/new-application?user.name=dave"))
    answer = await server.ask(
        "POST",
        f"{BASE}/apps?user.name=dave",
        body=context(made["application-id"], queue=queue),
        content_type="application/json",
    )
    told = json.loads(answer.body)["RemoteException"]
    assert (answer.status, told["exception"]) == (400, "BadRequestException")
    assert f"{made['application-id']} submitted by user dave to unknown queue: {queue}" in told["message"]
    assert all(not manager.submissions for manager in server.federation.managers.values())


async def test_what_no_cluster_can_start_is_refused_in_yarns_dialect(server):
    for name in ("east", "west"):
        for queue in server.federation[name].queues:
            queue["maxEffectiveCapacity"] = {"memory": 128, "vCores": 8}
    await server.poll()
    made = body_of(await server.ask("POST", f"{BASE}/apps/new-application?user.name=dave"))
    answer = await server.ask(
        "POST", f"{BASE}/apps?user.name=dave", body=context(made["application-id"]), content_type="application/json"
    )
    told = json.loads(answer.body)["RemoteException"]
    assert (answer.status, told["exception"]) == (400, "BadRequestException")
    assert "Invalid resource request! " in told["message"]
    assert "maximum allowed allocation=<memory:128, vCores:8>" in told["message"]
