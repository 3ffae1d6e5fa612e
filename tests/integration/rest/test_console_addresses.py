"""What is served below `/console`, and the web services that only the console reads."""

import asyncio

import pytest

from shim.domain.ids import ApplicationId
from shim.identity.service import IdentityRules
from tests.support.scripted_server import ScriptedServer, body_of

CONSOLE = "/heddle/v1/console"


@pytest.fixture
async def server() -> ScriptedServer:
    opened = ScriptedServer(rules=IdentityRules(allow_anonymous=True, admins=("queen",)))
    for number in range(1, 4):
        opened.federation["east"].add_application(ApplicationId(1, number), name=f"job {number}")
    await opened.poll()
    return opened


async def test_files_come_with_their_type_and_a_policy_against_foreign_scripts(server):
    for path, kind in (("/", "text/html"), ("/main.js", "text/javascript"), ("/vendor/uplot.css", "text/css")):
        answer = await server.ask("GET", f"/console{path}")
        headers = {name.lower(): value for name, value in answer.headers}
        assert answer.status == 200
        assert headers["content-type"].startswith(kind)
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


async def test_the_address_without_its_last_slash_leads_to_it(server):
    answer = await server.ask("GET", "/console")
    assert (answer.status, dict(answer.headers)["Location"]) == (302, "http://front:8088/console/")


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/../console.py",
        "/..%2fconsole.py",
        "/%2e%2e/console.py",
        "//etc/passwd",
        "/vendor/",
        "/vendor",
        "/__init__.py",
    ],
)
async def test_only_files_of_the_table_exist(server, path):
    assert (await server.ask("GET", f"/console{path}")).status == 404


async def test_the_page_takes_no_writes(server):
    assert (await server.ask("POST", "/console/")).status in (404, 405)


async def test_a_page_of_applications(server):
    told = body_of(
        await server.ask("GET", f"{CONSOLE}/applications?search=job&where=cluster=east&sort=id&order=up&limit=2")
    )
    assert (told["matched"], [row["name"] for row in told["apps"]]) == (3, ["job 1", "job 2"])


@pytest.mark.parametrize("query", ["sort=no", "limit=501", "offset=-1", "where=a=b", "group=x", f"search={'x' * 201}"])
async def test_what_cannot_be_asked_is_refused(server, query):
    assert (await server.ask("GET", f"{CONSOLE}/applications?{query}")).status == 400


async def test_more_different_lists_at_a_time_than_there_is_room_for_are_refused(server):
    asked = [server.ask("GET", f"{CONSOLE}/applications?search={number}") for number in range(40)]
    statuses = [answer.status for answer in await asyncio.gather(*asked)]
    assert set(statuses) == {200, 503}
    assert (await server.ask("GET", f"{CONSOLE}/applications")).status == 200


async def test_a_cluster_that_hides_applications_is_asked_as_whoever_looks():
    server = ScriptedServer(guarded=("west",), rules=IdentityRules(allow_anonymous=True), staleness_s=1000.0)
    await server.poll()
    for user in ("alice", "bob", "alice"):
        assert (await server.ask("GET", f"{CONSOLE}/applications?user.name={user}")).status == 200
    asked = [each.user for each in server.federation["west"].taken if each.path.endswith("/apps")]
    assert asked[-2:] == ["alice", "bob"]


async def test_who_asks_the_same_at_the_same_time_as_another_does_not_have_his_answer():
    server = ScriptedServer(guarded=("west",), rules=IdentityRules(allow_anonymous=True), staleness_s=1000.0)
    await server.poll()
    await asyncio.gather(*(server.ask("GET", f"{CONSOLE}/applications?user.name={user}") for user in ("alice", "bob")))
    asked = {each.user for each in server.federation["west"].taken if each.path.endswith("/apps")}
    assert {"alice", "bob"} <= asked


async def test_nodes_of_all_clusters(server):
    told = body_of(await server.ask("GET", f"{CONSOLE}/nodes"))
    assert [(row["cluster"], row["node"], row["memory_mib"]) for row in told["nodes"]] == [
        ("east", "east-n1:45454", 8192),
        ("west", "west-n1:45454", 8192),
    ]


async def test_who_the_caller_is(server):
    for user, told in (("queen", True), ("alice", False)):
        answer = body_of(await server.ask("GET", f"{CONSOLE}/caller?user.name={user}"))
        assert answer == {"user": user, "is_operator": told}
