"""`security.application_acls`: who sees and changes which application, by every way over the web.

Eve is nobody in particular; Vera stands in the view list, Mo in the modify list, Gina in a group of the view list;
Quinn administers the queue's parent; the queen administers Heddle; Alice owns the application.
"""

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from shim.domain.ids import ApplicationId
from shim.domain.queues import FederatedQueue, SharePolicy
from shim.federation.application_acls import ApplicationACLBook
from shim.identity.service import IdentityRules
from tests.doubles.settings import usual
from tests.support.scripted_server import BASE, ScriptedServer, body_of

LISTS = [{"key": "VIEW_APP", "value": "vera viewers"}, {"key": "MODIFY_APP", "value": "mo"}]
SPEC = {"commands": {"command": "sleep 1"}, "application-acls": {"entry": LISTS}}
VIEWERS = frozenset({"alice", "vera", "gina", "quinn", "queen"})
MODIFIERS = frozenset({"alice", "mo", "quinn", "queen"})
EVERYBODY = VIEWERS | MODIFIERS | {"eve"}
POLICY = SharePolicy((FederatedQueue("root", administer=("quinn",)), FederatedQueue("root.default", weight=1.0)))
DIRECT = ApplicationId(1_600_000_000_000, 7)
SECRET = "the input is /secret"
SOMEBODY = ("eve", "mo")


def a_server(**changes: object) -> ScriptedServer:
    rules = usual(IdentityRules, admins=("queen",))
    groups: Mapping[str, frozenset[str]] = {"gina": frozenset({"viewers"})}
    settings = {"has_acls": True, "policy": POLICY, "rules": rules, **changes}
    return ScriptedServer(names=("east",), groups_of=lambda user: groups.get(user, frozenset()), **settings)  # type: ignore[arg-type]


async def with_application(server: ScriptedServer) -> ApplicationId:
    """One of Alice's that runs, with diagnostics that are nobody else's business."""
    await server.poll()
    application = await server.submit("alice", **{"am-container-spec": SPEC})
    server.federation["east"].move(application, "RUNNING")
    server.federation["east"].applications[application] |= {"diagnostics": SECRET, "queue": "root.default"}
    await server.federation.clock.advance(2.0)
    await server.poll()
    return application


@pytest.fixture
async def server() -> ScriptedServer:
    return a_server()


async def viewers_of(server: ScriptedServer, path: str) -> frozenset[str]:
    """Who is told the secret at a path; asked twice, so that what was kept for one is not given to another."""
    told: tuple[set[str], ...] = (set(), set())
    for turn, users in enumerate((sorted(EVERYBODY), sorted(EVERYBODY, reverse=True))):
        for user in users:
            mark = "&" if "?" in path else "?"
            answer = await server.ask("GET", f"{path}{mark}user.name={user}")
            assert answer.status == 200, answer.body
            told[turn].update({user} if SECRET.encode() in answer.body else ())
    assert told[0] == told[1]
    return frozenset(told[0])


@pytest.mark.parametrize(
    "path",
    [
        f"{BASE}/apps",
        f"{BASE}/apps?state=RUNNING",
        f"{BASE};x=y/apps",
        f"{BASE}/apps/{{}}",
        "/heddle/v1/apps",
        "/heddle/v1/apps/{}",
        "/heddle/v1/console/applications",
        "/heddle/v1/console/applications?started_from=1",
        "/cluster/app/{}",
    ],
)
async def test_what_an_application_says_is_told_to_its_viewers_alone(server: ScriptedServer, path: str):
    application = await with_application(server)
    assert await viewers_of(server, path.format(application)) == VIEWERS


async def test_others_see_that_it_is_there(server: ScriptedServer):
    application = await with_application(server)
    [row] = body_of(await server.get("/apps?user.name=eve"))["apps"]["app"]
    assert (row["id"], row["user"], row["state"]) == (str(application), "alice", "RUNNING")
    assert (row["diagnostics"], row["startedTime"]) == ("N/A", 0)
    counts = body_of(await server.get("/appstatistics?states=RUNNING&user.name=eve"))["appStatInfo"]["statItem"]
    assert sum(each["count"] for each in counts) == 1


@pytest.mark.parametrize(
    "path",
    [
        f"{BASE}/apps/{{}}/appattempts",
        f"{BASE}/apps/{{}}/appattempts/appattempt_{{stamp}}_000001/containers",
        f"{BASE}/scheduler/app-activities/{{}}",
        "/heddle/v1/apps/{}/why",
        "/heddle/v1/console/containers/{}",
    ],
)
async def test_who_may_not_see_it_is_refused_what_is_inside(server: ScriptedServer, path: str):
    application = await with_application(server)
    stamp = str(application).removeprefix("application_")
    seen = set()
    for user in EVERYBODY:
        answer = await server.ask("GET", f"{path.format(application, stamp=stamp)}?user.name={user}")
        assert answer.status in ((403, 503) if user in SOMEBODY else (200, 404)), (user, answer.body)
        seen |= {user} if answer.status in (200, 404) else set()
    assert seen == VIEWERS


CHANGES = {
    "state": {"state": "KILLED"},
    "priority": {"priority": 1},
    "queue": {"queue": "default"},
    "timeout": {"timeout": {"type": "LIFETIME", "expiryTime": "2030-01-01T00:00:00.000+0000"}},
}


@pytest.mark.parametrize("what", CHANGES)
async def test_it_is_changed_by_those_alone_who_may(server: ScriptedServer, what: str):
    application = await with_application(server)
    taken = server.federation["east"].taken
    for user in sorted(EVERYBODY - MODIFIERS):
        before = len(taken)
        path = f"{BASE}/apps/{application}/{what}?user.name={user}"
        answer = await server.ask("PUT", path, body=json.dumps(CHANGES[what]).encode(), content_type="application/json")
        assert answer.status == 403
        assert f"of app{'' if what == 'timeout' else 'id'}".encode() in answer.body or what in ("state", "queue")
        assert f"{application} by remote user {user}".encode() in answer.body
        assert not [each for each in taken[before:] if each.method == "PUT"]
    for user in sorted(MODIFIERS):
        path = f"{BASE}/apps/{application}/{what}?user.name={user}"
        answer = await server.ask("PUT", path, body=json.dumps(CHANGES[what]).encode(), content_type="application/json")
        assert answer.status != 403, answer.body


async def test_one_clusters_own_rows_do_not_go_past_it(server: ScriptedServer):
    application = await with_application(server)
    for path in ("/apps", f"/apps/{application}"):
        assert (await server.get(f"{path}?cluster=east&user.name=eve")).status == 403
        assert SECRET.encode() in (await server.get(f"{path}?cluster=east&user.name=queen")).body


async def test_one_that_was_submitted_past_heddle_is_its_users_and_administrators(server: ScriptedServer):
    server.federation["east"].add_application(DIRECT, "RUNNING", user="alice", diagnostics=SECRET, queue="root.x")
    await server.poll()
    assert await viewers_of(server, f"{BASE}/apps/{DIRECT}") == {"alice", "queen", "quinn"}


async def test_lists_outlive_the_process_and_the_application(server: ScriptedServer):
    application = await with_application(server)
    record = await server.federation.store.find(application)
    assert record is not None
    assert record.submission.acls.view == "vera viewers"
    book = server.backend.applications.access.book
    book.note(application, replace(record.submission.acls, view=""))
    assert "vera" not in await viewers_of(server, f"{BASE}/apps/{application}")
    after_a_start = ApplicationACLBook(server.view, server.federation.store, server.federation.clock)
    await after_a_start.refresh()
    assert after_a_start.of(application) == record.submission.acls


async def test_who_loses_a_right_is_not_given_what_was_kept(server: ScriptedServer):
    application = await with_application(server)
    server.federation["east"].move(application, "FINISHED")
    server.federation["east"].applications[application] |= {"diagnostics": SECRET}
    await server.federation.clock.advance(2.0)
    await server.poll()
    path = f"/apps/{application}?user.name=vera"
    assert SECRET.encode() in (await server.get(path)).body
    access = server.backend.applications.access
    access.book.note(application, replace(access.book.of(application), view=""))
    await server.federation.clock.advance(1.5)
    assert SECRET.encode() not in (await server.get(path)).body


async def test_what_is_kept_is_given_again_to_who_sees_the_same(server: ScriptedServer):
    await with_application(server)
    await server.get("/apps?user.name=eve")
    made = len(server.exchanges)
    await server.get("/apps?user.name=eve")
    assert len(server.exchanges) == made
    await server.get("/apps?user.name=vera")
    assert len(server.exchanges) == made + 1


async def test_without_the_setting_everybody_sees_everything():
    server = a_server(has_acls=False)
    application = await with_application(server)
    assert await viewers_of(server, f"{BASE}/apps/{application}") == EVERYBODY


async def test_the_consoles_list_tells_times_and_ranges_of_them_to_viewers_alone(server: ScriptedServer):
    """A range that leaves an application out would tell when it started."""
    application = await with_application(server)
    started_ms = server.federation["east"].applications[application]["startedTime"]
    assert started_ms > 0
    told = {}
    for user in ("vera", "eve"):
        path = f"/heddle/v1/console/applications?user.name={user}"
        whole = json.loads((await server.ask("GET", path)).body)["apps"]
        within = json.loads((await server.ask("GET", f"{path}&started_from=1")).body)["apps"]
        told[user] = (
            [row["started_ms"] for row in whole if row["id"] == str(application)],
            [row["id"] for row in within],
        )
    assert told == {"vera": ([started_ms], [str(application)]), "eve": ([0], [])}


@pytest.mark.parametrize(
    ("bounds", "is_listed"),
    [
        ("startedTimeBegin=1", False),
        ("startedTimeBegin={}", False),
        ("startedTimeBegin={}&startedTimeEnd={}", False),
        ("finishedTimeBegin=1", False),
        ("startedTimeBegin=0", True),
        ("startedTimeEnd=1", True),
        ("startedTimeEnd={}", True),
        ("finishedTimeEnd=1", True),
        ("", True),
    ],
)
@pytest.mark.parametrize("path", [f"{BASE}/apps", "/heddle/v1/apps"])
async def test_a_range_of_times_tells_nothing_of_an_application_that_is_hidden(server, path, bounds, is_listed):
    """Its times are 0, as they are shown: ranges find it, or not, whenever it started."""
    application = await with_application(server)
    started_ms = server.federation["east"].applications[application]["startedTime"]
    listed = []
    for moment in (started_ms, started_ms - 1, started_ms + 1, 1, started_ms + 10**9):
        answer = await server.ask("GET", f"{path}?user.name=eve&{bounds.format(moment, moment)}")
        listed.append(str(application).encode() in answer.body)
    assert listed == [is_listed] * 5
    seen = await server.ask("GET", f"{path}?user.name=vera&startedTimeBegin={started_ms}&startedTimeEnd={started_ms}")
    assert str(application).encode() in seen.body


async def test_an_answer_that_is_kept_for_one_range_of_times_is_not_given_for_another(server):
    """By rank, no application lies between 0 and 1; what is hidden does, as its times are 0."""
    application = await with_application(server)
    listed = [
        str(application).encode() in (await server.get(f"/apps?user.name=eve&startedTimeBegin={moment}")).body
        for moment in (0, 1, 0)
    ]
    assert listed == [True, False, True]
