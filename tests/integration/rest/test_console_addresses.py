"""What is served below `/console`, and the web services that only the console reads."""

import asyncio
import threading
from typing import Any

import pytest

from shim.concurrency.off_loop import OffLoop
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, SubClusterId
from shim.identity.service import IdentityRules
from shim.ports.multicluster_store import RemoteSession
from shim.server.rest.messages import Answer, Request
from shim.telemetry.application_life import LifeEvent, listen, tell
from tests.doubles.settings import usual
from tests.support.scripted_server import ScriptedServer, body_of

CONSOLE = "/heddle/v1/console"
USERS = ("alice", "bob", "queen")


@pytest.fixture
async def server() -> ScriptedServer:
    opened = ScriptedServer(rules=usual(IdentityRules, allow_anonymous=True, admins=("queen",)))
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


@pytest.mark.parametrize("guarded", [(), ("west",)])
async def test_applications_of_a_range_of_time(guarded):
    server = ScriptedServer(guarded=guarded, rules=usual(IdentityRules, allow_anonymous=True), staleness_s=1000.0)
    east, west = server.federation["east"], server.federation["west"]
    east.add_application(ApplicationId(1, 1), startedTime=1000, name="early")
    east.add_application(ApplicationId(1, 2), "FINISHED", startedTime=2000, finishedTime=5000, name="ended")
    west.add_application(ApplicationId(2, 1), startedTime=3000, name="late")
    await server.poll()
    told = {}
    for query in (
        "started_from=2000",
        "started_from=1000&started_to=2000",
        "finished_to=9000",
        "finished_from=5001",
        "started_to=2500&finished_from=1",
        "started_to=1000",
        "started_from=3001",
        "finished_from=5000&finished_to=5000",
        "finished_to=4999",
        "started_from=0&started_to=0",
    ):
        page = body_of(await server.ask("GET", f"{CONSOLE}/applications?{query}&user.name=ada"))
        assert page["total"] == 3
        told[query] = [row["name"] for row in page["apps"]]
    assert list(told.values()) == [
        *(["late", "ended"], ["ended", "early"], ["ended"], [], ["ended"]),
        *(["early"], [], ["ended"], [], []),
    ]


@pytest.mark.parametrize(
    "query",
    [
        "started_from=-1",
        "finished_to=x",
        "sort=no",
        "limit=501",
        "offset=-1",
        "where=a=b",
        "group=x",
        f"search={'x' * 201}",
    ],
)
async def test_what_cannot_be_asked_is_refused(server, query):
    assert (await server.ask("GET", f"{CONSOLE}/applications?{query}")).status == 400


async def test_more_different_lists_at_a_time_than_there_is_room_for_are_refused(server):
    asked = [server.ask("GET", f"{CONSOLE}/applications?search={number}") for number in range(40)]
    statuses = [answer.status for answer in await asyncio.gather(*asked)]
    assert set(statuses) == {200, 503}
    assert (await server.ask("GET", f"{CONSOLE}/applications")).status == 200


async def test_a_cluster_that_hides_applications_is_asked_as_whoever_looks():
    server = ScriptedServer(guarded=("west",), rules=usual(IdentityRules, allow_anonymous=True), staleness_s=1000.0)
    await server.poll()
    for user in ("alice", "bob"):
        assert (await server.ask("GET", f"{CONSOLE}/applications?user.name={user}")).status == 200
    asked = [each.user for each in server.federation["west"].taken if each.path.endswith("/apps")]
    assert [user for user in asked if user in USERS] == ["alice", "bob"]


async def test_who_asks_the_same_at_the_same_time_as_another_does_not_have_his_answer():
    server = ScriptedServer(guarded=("west",), rules=usual(IdentityRules, allow_anonymous=True), staleness_s=1000.0)
    await server.poll()
    await asyncio.gather(*(server.ask("GET", f"{CONSOLE}/applications?user.name={user}") for user in ("alice", "bob")))
    asked = {each.user for each in server.federation["west"].taken if each.path.endswith("/apps")}
    assert {"alice", "bob"} <= asked


async def test_no_answer_makes_a_trip_to_a_thread_of_the_framework(server, monkeypatch):
    async def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a plain function among the dependencies of an endpoint")

    monkeypatch.setattr("anyio.to_thread.run_sync", refuse)
    for path in ("caller", "nodes", "applications", "decisions"):
        assert (await server.ask("GET", f"{CONSOLE}/{path}?user.name=queen")).status == 200


async def test_every_filter_counts_and_of_one_field_any_value_will_do(server):
    server.federation["west"].add_application(ApplicationId(2, 1), user="bob", name="other")
    await server.poll()
    told = {}
    for query in (
        "",
        "where=cluster%3Dwest",
        "where=cluster%3Dwest&where=user%3Dalice",
        "where=user%3Dx&where=user%3Dbob",
    ):
        told[query] = body_of(await server.ask("GET", f"{CONSOLE}/applications?{query}"))["matched"]
    assert list(told.values()) == [4, 1, 0, 1]


async def test_nodes_of_all_clusters(server):
    told = body_of(await server.ask("GET", f"{CONSOLE}/nodes"))
    assert [(row["cluster"], row["node"], row["memory_mib"]) for row in told["nodes"]] == [
        ("east", "east-n1:45454", 8192),
        ("west", "west-n1:45454", 8192),
    ]


async def test_who_the_caller_is(server):
    for user, role, told in (("queen", "administrator", True), ("alice", "user", False)):
        answer = body_of(await server.ask("GET", f"{CONSOLE}/caller?user.name={user}"))
        rights = answer.pop("rights")
        assert answer == {
            "user": user,
            "is_anonymous": False,
            "role": role,
            "is_operator": told,
            "may_ask": True,
            "has_session": False,
        }
        assert ("operate" in rights, "read" in rights) == (told, True)


async def test_who_is_not_named_may_ask_for_nothing_where_names_are_wanted():
    server = ScriptedServer(rules=usual(IdentityRules))
    answer = body_of(await server.ask("GET", f"{CONSOLE}/caller"))
    assert answer.pop("rights") == ["open", "read", "diagnose"], "of the table; it may not ask for any of it"
    assert answer == {
        "user": "dr.who",
        "is_anonymous": True,
        "role": "viewer",
        "is_operator": False,
        "may_ask": False,
        "has_session": False,
    }


async def test_containers_of_an_application_are_at_its_home_but_for_those_that_the_store_has_elsewhere(server):
    one = ApplicationId(1, 1)
    there = ContainerId(ApplicationAttemptId(one, 1), 5)
    assert body_of(await server.ask("GET", f"{CONSOLE}/containers/{one}")) == {"home": "east", "elsewhere": {}}
    await server.spans.save_session(RemoteSession(one, SubClusterId("west"), SubClusterId("east"), "alice"))
    await server.spans.give(one, SubClusterId("west"), [there], "1")
    answer = body_of(await server.ask("GET", f"{CONSOLE}/containers/{one}"))
    assert answer == {"home": "east", "elsewhere": {str(there): "west"}}


def decide(server: ScriptedServer) -> None:
    """A day of decisions: of alice at east, of bob in a queue, and of one that nobody knows any more."""
    first, second, third = (ApplicationId(1, number) for number in (1, 2, 77))
    server.decisions.note(LifeEvent.SUBMITTED, first, {"user": "alice", "queue": "root.prod", "type": "SPARK"})
    scores = {"east": 0.5, "west": "cluster is LOST"}
    server.decisions.note(LifeEvent.HOME_CHOSEN, first, {"home": "east", "reason": "most room", "scores": scores})
    server.decisions.note(LifeEvent.WAITS, second, {"queue": "root.dev", "reason": "limit of 3 for user=bob"})
    server.decisions.note(LifeEvent.ENDED, third, {"cluster": "west", "reason": "token=abcdef" + "x" * 2000})


async def decisions(server: ScriptedServer, query: str = "") -> list[dict[str, Any]]:
    answer = await server.ask("GET", f"{CONSOLE}/decisions{query}")
    assert answer.status == 200
    found: list[dict[str, Any]] = body_of(answer)["decisions"]
    return found


async def test_decisions_come_newest_first_with_their_reasons(server):
    decide(server)
    found = await decisions(server)
    assert [(each["event"], each["number"]) for each in found] == [
        ("ENDED", 4),
        ("WAITS", 3),
        ("HOME_CHOSEN", 2),
        ("SUBMITTED", 1),
    ]
    assert found[2]["facts"] == {
        "home": "east",
        "reason": "most room",
        "scores": {"east": 0.5, "west": "cluster is LOST"},
    }
    assert (found[3]["queue"], found[3]["facts"]) == ("root.default", {"type": "SPARK"})
    assert "abcdef" not in found[0]["facts"]["reason"]
    assert len(found[0]["facts"]["reason"]) <= 500


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("?event=WAITS", [3]),
        ("?search=EAST+room", [2]),
        ("?search=east+nothing", []),
        ("?search=ended", [4]),
        ("?limit=2", [4, 3]),
        ("?event=nonsense", []),
    ],
)
async def test_decisions_are_filtered_by_event_and_words(server, query, numbers):
    decide(server)
    assert [each["number"] for each in await decisions(server, query)] == numbers


@pytest.mark.parametrize("query", ["?limit=0", "?limit=501", f"?search={'x' * 300}", f"?event={'x' * 50}"])
async def test_too_much_is_refused(server, query):
    assert (await server.ask("GET", f"{CONSOLE}/decisions{query}")).status == 400


async def test_decisions_on_guarded_clusters_are_for_their_users_and_operators():
    rules = usual(IdentityRules, allow_anonymous=True, admins=("queen",))
    server = ScriptedServer(rules=rules, guarded=("east",))
    server.federation["east"].add_application(ApplicationId(1, 1), user="alice", name="secret")
    await server.poll()
    decide(server)
    seen = {user: [each["number"] for each in await decisions(server, f"?user.name={user}")] for user in USERS}
    assert seen == {"alice": [4, 2, 1], "bob": [4], "queen": [4, 3, 2, 1]}


async def test_only_the_newest_are_kept(server):
    for number in range(6000):
        server.decisions.note(LifeEvent.STARTED, ApplicationId(1, number), {"cluster": "east"})
    assert sum(1 for _ in server.decisions.newest_first()) == 5000
    assert (await decisions(server, "?limit=1"))[0]["number"] == 6000


async def test_what_is_told_of_lives_is_heard_until_the_listener_leaves(server):
    leave = listen(server.decisions.note)
    tell(LifeEvent.STARTED, ApplicationId(1, 1), cluster="east")
    leave()
    tell(LifeEvent.ENDED, ApplicationId(1, 1), cluster="east")
    assert [each["event"] for each in await decisions(server)] == ["STARTED"]


async def test_one_users_searches_leave_room_for_others() -> None:
    """Where view rights are on, or a text is searched, a page takes a thread some tenths of a second."""
    work = OffLoop()
    busy = threading.Event()
    slow = ScriptedServer(guarded=("west",), rules=usual(IdentityRules), thread=work)
    slow.federation["west"].add_application(ApplicationId(1_700_000_000_000, 1), user="ada", name="of ada")
    await slow.poll()
    holding = asyncio.ensure_future(work.run_own(lambda: busy.wait(30)))

    def search(user: str, number: int) -> "asyncio.Future[Answer]":
        path = f"{CONSOLE}/applications?search=x{number}&user.name={user}"
        request = Request("GET", path.partition("?")[0], path.partition("?")[2], (("host", "front"),), b"", "127.0.0.1")
        return asyncio.ensure_future(slow.server.answer(request))

    many = [search("mallory", number) for number in range(40)]
    others = [search(user, 0) for user in ("ada", "bob", "carl")]
    for _ in range(200):
        await asyncio.sleep(0)
    assert [each.result().status for each in many if each.done()] == [503] * 36
    assert not any(each.done() for each in others)
    busy.set()
    assert {(await each).status for each in others} == {200}
    assert sorted({(await each).status for each in many}) == [200, 503]
    await holding
