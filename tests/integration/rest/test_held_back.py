"""What REST clients are told of applications that wait for their queue's turn."""

import time
from typing import Any

import pytest

from shim.domain.ids import ApplicationId
from shim.domain.queues import FederatedQueue, SharePolicy
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.federation.rm_questions import ask_application
from shim.identity.service import IdentityRules
from tests.doubles.settings import usual
from tests.support.scripted_server import BASE, ScriptedServer, body_of

POLICY = SharePolicy((FederatedQueue("root.default", max_running=1),))


@pytest.fixture
async def server() -> ScriptedServer:
    opened = ScriptedServer(policy=POLICY, rules=usual(IdentityRules, allow_anonymous=True, admins=("queen",)))
    await opened.poll()
    return opened


async def two(server: ScriptedServer) -> tuple[Any, Any]:
    """One that runs and one that waits."""
    return await server.submit(), await server.submit()


async def kill(server: ScriptedServer, id_: object, user: str, kind: str = "json") -> Any:
    body = b'{"state":"KILLED"}' if kind == "json" else b"<appstate><state>KILLED</state></appstate>"
    target = f"{BASE}/apps/{id_}/state?user.name={user}"
    return await server.ask("PUT", target, body=body, content_type=f"application/{kind}")


async def test_it_is_listed_and_shown_as_accepted_with_the_reason(server: ScriptedServer) -> None:
    _, waits = await two(server)
    app = body_of(await server.get(f"/apps/{waits}"))["app"]
    assert (app["state"], app["finalStatus"], app["queue"], app["user"]) == (
        "ACCEPTED",
        "UNDEFINED",
        "default",
        "alice",
    )
    assert "Waits in Heddle for its queue's turn, 1 of 1" in app["diagnostics"]
    listed = body_of(await server.get("/apps?states=ACCEPTED"))["apps"]["app"]
    assert str(waits) in [one["id"] for one in listed]


async def test_parts_that_need_no_home_are_told(server: ScriptedServer) -> None:
    _, waits = await two(server)
    assert body_of(await server.get(f"/apps/{waits}/state")) == {"state": "ACCEPTED"}
    assert body_of(await server.get(f"/apps/{waits}/queue")) == {"queue": "default"}
    assert body_of(await server.get(f"/apps/{waits}/appattempts")) == {"appAttempts": {}}
    lifetime = {"type": "LIFETIME", "expiryTime": "UNLIMITED", "remainingTimeInSeconds": -1}
    assert body_of(await server.get(f"/apps/{waits}/timeouts")) == {"timeouts": {"timeout": [lifetime]}}
    assert body_of(await server.get(f"/apps/{waits}/timeouts/lifetime")) == {"timeout": lifetime}
    unknown = await server.get(f"/apps/{waits}/timeouts/Nope")
    message = "Invalid application-state Nope specified. It should be one of [LIFETIME]"
    assert (unknown.status, message in body_of(unknown)["RemoteException"]["message"]) == (400, True)
    told = body_of(await server.get(f"/scheduler/app-activities/{waits}"))["appActivities"]
    assert (told["applicationId"], told["diagnostic"]) == (str(waits), "waiting for display")
    assert told["dateTime"].endswith(time.strftime("%H:%M:%S UTC %Y", time.gmtime(told["timestamp"] // 1000)))
    page = await server.ask("GET", f"/proxy/{waits}/")
    assert (page.status, dict(page.headers)["Location"]) == (302, f"http://front:8088/cluster/app/{waits}")
    as_xml = await server.get(f"/apps/{waits}/state", accept="application/xml")
    assert as_xml.body.endswith(b"<appstate><state>ACCEPTED</state></appstate>")


@pytest.mark.parametrize("below", ["", "/containers", "/containers/container_{0}_01_000001"])
async def test_there_is_no_attempt_of_it_as_a_manager_says(server: ScriptedServer, below: str) -> None:
    _, waits = await two(server)
    number = str(waits).removeprefix("application_")
    attempt = f"appattempt_{number}_000001"
    answer = await server.get(f"/apps/{waits}/appattempts/{attempt}{below.format(number)}")
    assert answer.status == 404
    told = body_of(answer)["RemoteException"]
    assert told["exception"] == "NotFoundException"
    assert f"ApplicationAttempt with id '{attempt}' doesn't exist in RM." in told["message"]


async def test_what_only_a_home_can_do_is_refused_with_a_time_to_retry(server: ScriptedServer) -> None:
    _, waits = await two(server)
    answer = await server.ask(
        "PUT", f"{BASE}/apps/{waits}/queue?user.name=alice", body=b'{"queue":"dev"}', content_type="application/json"
    )
    assert answer.status == 503
    assert "Retry-After" in dict(answer.headers)


@pytest.mark.parametrize("kind", ["json", "xml"])
async def test_its_owner_ends_it_at_once(server: ScriptedServer, kind: str) -> None:
    runs, waits = await two(server)
    assert (await kill(server, waits, "mallory", kind)).status == 403
    answer = await kill(server, waits, "alice", kind)
    assert (answer.status, b"KILLED" in answer.body) == (200, True)
    app = body_of(await server.get(f"/apps/{waits}"))["app"]
    assert (app["state"], app["finalStatus"]) == ("KILLED", "KILLED")
    await kill(server, runs, "alice")
    await server.poll()
    await server.starting.round()
    assert server.federation.who_has(waits) == []


async def test_an_operator_ends_anybodys(server: ScriptedServer) -> None:
    _, waits = await two(server)
    assert (await kill(server, waits, "queen")).status == 200


async def test_any_other_target_state_is_refused(server: ScriptedServer) -> None:
    _, waits = await two(server)
    target = f"{BASE}/apps/{waits}/state?user.name=alice"
    answer = await server.ask("PUT", target, body=b'{"state":"RUNNING"}', content_type="application/json")
    assert (answer.status, body_of(await server.get(f"/apps/{waits}/state"))) == (400, {"state": "ACCEPTED"})


async def test_once_started_its_home_is_asked(server: ScriptedServer) -> None:
    runs, waits = await two(server)
    await kill(server, runs, "alice")
    await server.federation.clock.advance(2.0)
    await server.poll()
    await server.starting.round()
    assert len(server.federation.who_has(waits)) == 1
    await server.poll()
    assert "Waits" not in body_of(await server.get(f"/apps/{waits}"))["app"]["diagnostics"]
    assert (await kill(server, waits, "alice")).status == 202


async def lets_start(server: ScriptedServer, first: ApplicationId, after_s: float) -> None:
    """What runs ends, and what waits goes to a home that counts from now."""
    await server.federation.clock.advance(after_s)
    home = next(name for name, manager in server.federation.managers.items() if first in manager.applications)
    server.federation[home].move(first, "FINISHED")
    await server.poll()
    await server.federation.wait_for(server.starting.round())
    await server.poll()


async def test_what_has_waited_keeps_the_time_of_its_submission(server: ScriptedServer) -> None:
    first, waits = await two(server)
    before = body_of(await server.get(f"/apps/{waits}"))["app"]["startedTime"]
    await lets_start(server, first, 120.0)
    at_home = next(m.applications[waits] for m in server.federation.managers.values() if waits in m.applications)
    assert at_home["startedTime"] >= before + 120_000, "its home counts from then"
    app = body_of(await server.get(f"/apps/{waits}"))["app"]
    assert app["startedTime"] == before
    (listed,) = [each for each in body_of(await server.get("/apps"))["apps"]["app"] if each["id"] == str(waits)]
    assert listed["startedTime"] == before
    in_time = body_of(await server.get(f"/apps?startedTimeBegin={before}&startedTimeEnd={before}"))["apps"]["app"]
    assert str(waits) in [each["id"] for each in in_time]


async def test_why_tells_of_the_waiting_after_the_start(server: ScriptedServer) -> None:
    first, waits = await two(server)
    await lets_start(server, first, 120.0)
    why = body_of(await server.ask("GET", f"/heddle/v1/apps/{waits}/why?user.name=queen"))
    assert why["waited"]["waited_s"] >= 120.0
    assert "root.default" in why["waited"]["reason"]
    assert why["candidates"], "and of the home that it got then"
    assert body_of(await server.ask("GET", f"/heddle/v1/apps/{first}/why?user.name=queen"))["waited"] is None
    page = (await server.ask("GET", f"/cluster/app/{waits}?user.name=queen")).body.decode()
    assert f"waited for its queue&#x27;s turn for {why['waited']['waited_s']:.1f} s, from 20" in page


async def test_another_heddle_tells_the_same_time(server: ScriptedServer) -> None:
    first, waits = await two(server)
    before = body_of(await server.get(f"/apps/{waits}"))["app"]["startedTime"]
    await lets_start(server, first, 120.0)
    assert await server.federation.store.waited() == {waits: before}
    (home,) = [name for name, manager in server.federation.managers.items() if waits in manager.applications]
    heir = FederationView(tuple(server.federation.managers), usual(ViewSettings))
    heir.applications.submit_times.note(waits, before)
    told = await ask_application(server.federation.managers[home], waits, as_of_s=1.0, timeout_s=1.0)
    assert told is not None
    heir.applications.note(told)
    assert [each.summary.started_at_ms for each in heir.applications.newest_first()] == [before]
