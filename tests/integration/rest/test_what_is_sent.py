"""What a ResourceManager is sent of a client's request: what Heddle understood, written anew, and nothing else."""

import itertools

import pytest

from shim.domain.ids import ApplicationId
from shim.server.rest.endpoints import ENDPOINTS
from shim.services.identity import IdentityRules, ProxyRule
from tests.support.scripted_door import BASE, ScriptedDoor, body_of

MINE = ApplicationId(1_600_000_000_000, 7)
RULES = IdentityRules(allow_anonymous=True, proxy_users={"knox": ProxyRule(hosts=("*",), users=("alice",))})
PATHS = {
    "{application}": str(MINE),
    "{attempt}": "appattempt_1600000000000_0007_000001",
    "{container}": "container_1600000000000_0007_01_000001",
    "{node}": "east-n1:45454",
    "{queue}": "default",
    "{type}": "LIFETIME",
    "{command}": "GRACEFUL_SHUTDOWN",
}
BODIES = {"{application}/state": b'{"state":"KILLED"}', "{application}/queue": b'{"queue":"default"}'}


@pytest.fixture
async def door():
    made = ScriptedDoor(rules=RULES)
    made.federation["east"].add_application(MINE, "RUNNING", user="alice")
    await made.poll()
    for name in ("east", "west"):
        made.federation[name].requests.clear()
    return made


def sent(door):
    return [request for name in ("east", "west") for request in door.federation[name].requests]


async def ask(door, row, query):
    path = BASE + row.path
    for name, value in PATHS.items():
        path = path.replace(name, value)
    body = next((body for end, body in BODIES.items() if row.path.endswith(end)), b"{}" if row.takes_body else b"")
    typed = {"content_type": "application/json"} if row.takes_body else {}
    return await door.ask(row.method, f"{path}?{query}", body=body, **typed)


@pytest.mark.parametrize("carried", ["", "cluster=east&"], ids=["own", "carried"])
@pytest.mark.parametrize("row", ENDPOINTS, ids=lambda row: f"{row.method} {row.path}")
async def test_no_row_passes_an_identity_on_that_it_did_not_check(door, row, carried):
    hidden = ["doAs=victim", "DOAS=victim", "do%41s=victim", "doA%C5%BF=victim", "user.name=victim"]
    hidden += ["op=GETDELEGATIONTOKEN", "delegation=x", "op=GETDELEGATIONTOKEN;doAs=victim"]
    places = ("x=1;{}", "states=RUNNING;{}", "labels=a%3B{}", "nodeId=n;{}")
    for attack, place, user in itertools.product(hidden, places, ("mallory", "dr.who")):
        named = "user.name=mallory&" if user == "mallory" else "user.name&"
        await ask(door, row, f"{carried}{named}{place.format(attack)}")
    for request in sent(door):
        assert request.user in ("mallory", "dr.who", None)
        assert {name for name, _ in request.parameters} <= set(row.query)


@pytest.mark.parametrize("separator", ["&", ";"])
async def test_a_proxy_user_for_alice_is_one_for_nobody_else(door, separator):
    async def userinfo(query):
        answer = await door.get(f"/userinfo?{query.replace('&', separator)}")
        return body_of(answer).get("requestedUser", answer.status)

    assert await userinfo("user.name=knox&doAs=alice") == "alice"
    assert await userinfo("user.name=knox&doAs=bob") == 403
    assert await userinfo("x=1&doAs=bob&user.name=knox&doAs=alice") == 403
    assert await userinfo("x=1&doAs=alice&user.name=knox&doAs=bob") == "alice"
    assert await userinfo("user.name=alice&doA%C5%BF=bob") == 403
    assert await userinfo("x=1&doAs=hdfs") == "dr.who"
    assert await userinfo("x=1&user.name=hdfs") == "hdfs"


async def test_parameters_of_a_row_arrive_whole(door):
    await door.get("/label-mappings?labels=a;b&labels=c%26doAs=x&x=1&cluster=west&user.name=bob")
    (request,) = sent(door)
    assert request.parameters == (("labels", "a;b"), ("labels", "c&doAs=x"))
    assert request.user == "bob"
