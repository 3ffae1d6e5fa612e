"""What a ResourceManager is sent of a client's request: what Heddle understood, written anew, and nothing else."""

import itertools
import re
from urllib.parse import quote

import pytest

from shim.domain.ids import ApplicationId
from shim.identity.service import IdentityRules, ProxyRule
from shim.server.rest.endpoints import ENDPOINTS
from tests.doubles.misbehaviours import IsNeverReached
from tests.doubles.settings import usual
from tests.support.scripted_server import BASE, ScriptedServer, body_of

MINE = ApplicationId(1_600_000_000_000, 7)
RULES = usual(IdentityRules, allow_anonymous=True, proxy_users={"knox": ProxyRule(hosts=("*",), users=("alice",))})
PATHS = {
    "{application}": str(MINE),
    "{attempt}": "appattempt_1600000000000_0007_000001",
    "{container}": "container_1600000000000_0007_01_000001",
    "{node}": "east-n1:45454",
    "{host}": "east-n1",
    "{diagnosed}": str(MINE),
    "{queue}": "default",
    "{type}": "LIFETIME",
    "{command}": "GRACEFUL_SHUTDOWN",
}
BODIES = {"{application}/state": b'{"state":"KILLED"}', "{application}/queue": b'{"queue":"default"}'}


@pytest.fixture
async def server():
    made = ScriptedServer(rules=RULES)
    made.federation["east"].add_application(MINE, "RUNNING", user="alice")
    await made.poll()
    for name in ("east", "west"):
        made.federation[name].requests.clear()
    return made


def sent(server):
    return [request for name in ("east", "west") for request in server.federation[name].requests]


async def ask(server, row, query):
    path = BASE + row.path
    for name, value in PATHS.items():
        path = path.replace(name, value)
    body = next((body for end, body in BODIES.items() if row.path.endswith(end)), b"{}" if row.takes_body else b"")
    typed = {"content_type": "application/json"} if row.takes_body else {}
    return await server.ask(row.method, f"{path}?{query}", body=body, **typed)


@pytest.mark.parametrize("carried", ["", "cluster=east&"], ids=["own", "carried"])
@pytest.mark.parametrize("row", ENDPOINTS, ids=lambda row: f"{row.method} {row.path}")
async def test_no_row_passes_an_identity_on_that_it_did_not_check(server, row, carried):
    hidden = ["doAs=victim", "DOAS=victim", "do%41s=victim", "doA%C5%BF=victim", "user.name=victim"]
    hidden += ["op=GETDELEGATIONTOKEN", "delegation=x", "op=GETDELEGATIONTOKEN;doAs=victim"]
    places = ("x=1;{}", "states=RUNNING;{}", "labels=a%3B{}", "nodeId=n;{}")
    for attack, place, user in itertools.product(hidden, places, ("mallory", "dr.who")):
        named = "user.name=mallory&" if user == "mallory" else "user.name&"
        await ask(server, row, f"{carried}{named}{place.format(attack)}")
    for request in sent(server):
        assert request.user in ("mallory", "dr.who", None)
        assert {name for name, _ in request.parameters} <= set(row.query)


@pytest.mark.parametrize("separator", ["&", ";"])
async def test_a_proxy_user_for_alice_is_one_for_nobody_else(server, separator):
    async def userinfo(query):
        answer = await server.get(f"/userinfo?{query.replace('&', separator)}")
        return body_of(answer).get("requestedUser", answer.status)

    assert await userinfo("user.name=knox&doAs=alice") == "alice"
    assert await userinfo("user.name=knox&doAs=bob") == 403
    assert await userinfo("x=1&doAs=bob&user.name=knox&doAs=alice") == 403
    assert await userinfo("x=1&doAs=alice&user.name=knox&doAs=bob") == "alice"
    assert await userinfo("user.name=alice&doA%C5%BF=bob") == 403
    assert await userinfo("x=1&doAs=hdfs") == "dr.who"
    assert await userinfo("x=1&user.name=hdfs") == "hdfs"


async def test_parameters_of_a_row_arrive_whole(server):
    await server.get("/label-mappings?labels=a;b&labels=c%26doAs=x&x=1&cluster=west&user.name=bob")
    (request,) = sent(server)
    assert request.parameters == (("labels", "a;b"), ("labels", "c&doAs=x"))
    assert request.user == "bob"


# -- paths -------------------------------------------------------------------------------------------------------------

CONTAINER = PATHS["{container}"]
DISGUISES = [
    CONTAINER.replace("_01_", "_+01_"),
    CONTAINER.replace("_16", "_+16"),
    CONTAINER.replace("000001", "+1"),
    CONTAINER.replace("000001", "00000\uff11"),
    CONTAINER.replace("0007", "000\u0967"),
    CONTAINER.replace("0007", "-7"),
    CONTAINER + "_1",
    CONTAINER + " ",
    CONTAINER + "\n",
    " " + CONTAINER,
    CONTAINER + "%20",
    CONTAINER + "/x",
    "container_e+0" + CONTAINER.removeprefix("container"),
    "x",
]


@pytest.fixture
async def closed():
    """Two clusters; MINE is alice's, and nobody operates Heddle."""
    made = ScriptedServer(rules=usual(IdentityRules))
    made.federation["east"].add_application(MINE, "RUNNING", user="alice")
    await made.poll()
    for name in ("east", "west"):
        made.federation[name].requests.clear()
    return made


@pytest.mark.parametrize("container", DISGUISES)
async def test_a_signal_to_what_is_no_container_reaches_nobody(closed, container):
    answer = await closed.ask(
        "POST", f"{BASE}/containers/{quote(container, safe='')}/signal/GRACEFUL_SHUTDOWN?user.name=eve"
    )
    assert answer.status == 400
    assert sent(closed) == []


@pytest.mark.parametrize(
    "container",
    [
        CONTAINER,
        CONTAINER.replace("000001", "1"),
        CONTAINER.replace("0007", "7"),
        CONTAINER.replace("_1600", "_e0_1600"),
        f"{CONTAINER};x=y",
        CONTAINER.replace("_", "%5F"),
    ],
)
async def test_every_spelling_of_a_container_is_its_owners(closed, container):
    target = f"{BASE}/containers/{container}/signal/graceful_shutdown"
    assert (await closed.ask("POST", f"{target}?user.name=eve")).status == 403
    assert sent(closed) == []
    await closed.ask("POST", f"{target}?user.name=alice")
    (request,) = sent(closed)
    assert (request.path, request.user) == (f"{BASE}/containers/{CONTAINER}/signal/GRACEFUL_SHUTDOWN", "alice")


async def test_a_signal_whose_owner_cannot_be_told_reaches_nobody(closed):
    unknown = CONTAINER.replace("0007", "0009")
    answer = await closed.ask("POST", f"{BASE}/containers/{unknown}/signal/GRACEFUL_SHUTDOWN?user.name=eve")
    assert answer.status == 404
    assert not [request for request in sent(closed) if request.method == "POST"]
    closed.federation["east"].behave(IsNeverReached())
    answer = await closed.ask("POST", f"{BASE}/containers/{unknown}/signal/GRACEFUL_SHUTDOWN?user.name=eve")
    assert answer.status == 503
    assert not [request for request in sent(closed) if request.method == "POST"]


@pytest.mark.parametrize(
    "row", [row for row in ENDPOINTS if "{" in row.path], ids=lambda row: f"{row.method} {row.path}"
)
@pytest.mark.parametrize("bad", ["%0a", "%2F", "%00", "%2e%2e", "%7F", "application_+1_1", "a%2Fb", "..", "."])
async def test_what_no_path_can_name_reaches_nobody(closed, row, bad):
    first = row.path.index("{")
    path = row.path[:first] + bad + row.path[row.path.index("}") + 1 :]
    for name, value in PATHS.items():
        path = path.replace(name, value)
    typed = {"content_type": "application/json"} if row.takes_body else {}
    answer = await closed.ask(row.method, f"{BASE}{path}?user.name=alice", body=b'{"queue":"a"}', **typed)
    if not (bad.startswith("application_") and ("{queue}" in row.path or "{host}" in row.path)):
        assert answer.status in (400, 404)
        assert sent(closed) == []


@pytest.mark.parametrize("row", [row for row in ENDPOINTS if row.method == "GET"], ids=lambda row: row.path)
async def test_matrix_parameters_change_nothing_and_reach_nobody(server, row):
    plain, adorned = (
        row.path,
        "".join(f"{part};doAs=x;user.name=root" for part in re.split("(?=/)", f"{BASE}{row.path}")[3:]),
    )
    for name, value in PATHS.items():
        plain, adorned = plain.replace(name, value), adorned.replace(name, value)
    expected = await server.ask("GET", f"{BASE}{plain}?user.name=bob")
    before = sent(server)
    for name in ("east", "west"):
        server.federation[name].requests.clear()
    answer = await server.ask("GET", f"/ws/v1{adorned}?user.name=bob")
    assert (answer.status, answer.body) == (expected.status, expected.body)
    assert [request.path for request in sent(server)] == [request.path for request in before]


@pytest.mark.parametrize(
    "path", ["clusters/east%2Fcordon", "clusters%2Feast/cordon", "clusters/x/../east/cordon", "%2e%2e/x"]
)
async def test_a_segment_of_heddles_own_paths_is_never_two(server, path):
    answer = await server.ask("POST", f"/heddle/v1/{path}?user.name=root", content_type="application/json")
    assert answer.status == 404
