"""What REST clients are told of applications that wait for their queue's turn."""

from typing import Any

import pytest

from shim.domain.ids import ApplicationId
from shim.domain.shares import FederatedQueue, SharePolicy
from shim.federation.core.federation_view import FederationView
from shim.federation.rm_questions import ask_application
from shim.identity.service import IdentityRules
from tests.support.scripted_door import BASE, ScriptedDoor, body_of

POLICY = SharePolicy((FederatedQueue("root.default", max_running=1),))


@pytest.fixture
async def door() -> ScriptedDoor:
    opened = ScriptedDoor(policy=POLICY, rules=IdentityRules(allow_anonymous=True, admins=("queen",)))
    await opened.poll()
    return opened


async def two(door: ScriptedDoor) -> tuple[Any, Any]:
    """One that runs and one that waits."""
    return await door.submit(), await door.submit()


async def kill(door: ScriptedDoor, id_: object, user: str, kind: str = "json") -> Any:
    body = b'{"state":"KILLED"}' if kind == "json" else b"<appstate><state>KILLED</state></appstate>"
    target = f"{BASE}/apps/{id_}/state?user.name={user}"
    return await door.ask("PUT", target, body=body, content_type=f"application/{kind}")


async def test_it_is_listed_and_shown_as_accepted_with_the_reason(door: ScriptedDoor) -> None:
    _, waits = await two(door)
    app = body_of(await door.get(f"/apps/{waits}"))["app"]
    assert (app["state"], app["finalStatus"], app["queue"], app["user"]) == (
        "ACCEPTED",
        "UNDEFINED",
        "default",
        "alice",
    )
    assert "Waits in Heddle for its queue's turn, 1 of 1" in app["diagnostics"]
    listed = body_of(await door.get("/apps?states=ACCEPTED"))["apps"]["app"]
    assert str(waits) in [one["id"] for one in listed]


async def test_parts_that_need_no_home_are_told(door: ScriptedDoor) -> None:
    _, waits = await two(door)
    assert body_of(await door.get(f"/apps/{waits}/state")) == {"state": "ACCEPTED"}
    assert body_of(await door.get(f"/apps/{waits}/queue")) == {"queue": "default"}
    assert body_of(await door.get(f"/apps/{waits}/appattempts")) == {"appAttempts": {}}
    as_xml = await door.get(f"/apps/{waits}/state", accept="application/xml")
    assert as_xml.body.endswith(b"<appstate><state>ACCEPTED</state></appstate>")


async def test_what_only_a_home_can_do_is_refused_with_a_time_to_retry(door: ScriptedDoor) -> None:
    _, waits = await two(door)
    answer = await door.ask(
        "PUT", f"{BASE}/apps/{waits}/queue?user.name=alice", body=b'{"queue":"dev"}', content_type="application/json"
    )
    assert answer.status == 503
    assert "Retry-After" in dict(answer.headers)


@pytest.mark.parametrize("kind", ["json", "xml"])
async def test_its_owner_ends_it_at_once(door: ScriptedDoor, kind: str) -> None:
    runs, waits = await two(door)
    assert (await kill(door, waits, "mallory", kind)).status == 403
    answer = await kill(door, waits, "alice", kind)
    assert (answer.status, b"KILLED" in answer.body) == (200, True)
    app = body_of(await door.get(f"/apps/{waits}"))["app"]
    assert (app["state"], app["finalStatus"]) == ("KILLED", "KILLED")
    await kill(door, runs, "alice")
    await door.poll()
    await door.starting.round()
    assert door.federation.who_has(waits) == []


async def test_an_operator_ends_anybodys(door: ScriptedDoor) -> None:
    _, waits = await two(door)
    assert (await kill(door, waits, "queen")).status == 200


async def test_any_other_target_state_is_refused(door: ScriptedDoor) -> None:
    _, waits = await two(door)
    target = f"{BASE}/apps/{waits}/state?user.name=alice"
    answer = await door.ask("PUT", target, body=b'{"state":"RUNNING"}', content_type="application/json")
    assert (answer.status, body_of(await door.get(f"/apps/{waits}/state"))) == (400, {"state": "ACCEPTED"})


async def test_once_started_its_home_is_asked(door: ScriptedDoor) -> None:
    runs, waits = await two(door)
    await kill(door, runs, "alice")
    await door.federation.clock.advance(2.0)
    await door.poll()
    await door.starting.round()
    assert len(door.federation.who_has(waits)) == 1
    await door.poll()
    assert "Waits" not in body_of(await door.get(f"/apps/{waits}"))["app"]["diagnostics"]
    assert (await kill(door, waits, "alice")).status == 202


async def lets_start(door: ScriptedDoor, first: ApplicationId, after_s: float) -> None:
    """What runs ends, and what waits goes to a home that counts from now."""
    await door.federation.clock.advance(after_s)
    home = next(name for name, manager in door.federation.managers.items() if first in manager.applications)
    door.federation[home].move(first, "FINISHED")
    await door.poll()
    await door.federation.wait_for(door.starting.round())
    await door.poll()


async def test_what_has_waited_keeps_the_time_of_its_submission(door: ScriptedDoor) -> None:
    first, waits = await two(door)
    before = body_of(await door.get(f"/apps/{waits}"))["app"]["startedTime"]
    await lets_start(door, first, 120.0)
    at_home = next(m.applications[waits] for m in door.federation.managers.values() if waits in m.applications)
    assert at_home["startedTime"] >= before + 120_000, "its home counts from then"
    app = body_of(await door.get(f"/apps/{waits}"))["app"]
    assert app["startedTime"] == before
    (listed,) = [each for each in body_of(await door.get("/apps"))["apps"]["app"] if each["id"] == str(waits)]
    assert listed["startedTime"] == before
    in_time = body_of(await door.get(f"/apps?startedTimeBegin={before}&startedTimeEnd={before}"))["apps"]["app"]
    assert str(waits) in [each["id"] for each in in_time]


async def test_why_tells_of_the_waiting_after_the_start(door: ScriptedDoor) -> None:
    first, waits = await two(door)
    await lets_start(door, first, 120.0)
    why = body_of(await door.ask("GET", f"/heddle/v1/apps/{waits}/why?user.name=queen"))
    assert why["waited"]["waited_s"] >= 120.0
    assert "root.default" in why["waited"]["reason"]
    assert why["candidates"], "and of the home that it got then"
    assert body_of(await door.ask("GET", f"/heddle/v1/apps/{first}/why?user.name=queen"))["waited"] is None
    page = (await door.ask("GET", f"/cluster/app/{waits}?user.name=queen")).body.decode()
    assert "It waited for its queue" in page


async def test_another_heddle_tells_the_same_time(door: ScriptedDoor) -> None:
    first, waits = await two(door)
    before = body_of(await door.get(f"/apps/{waits}"))["app"]["startedTime"]
    await lets_start(door, first, 120.0)
    assert await door.federation.store.waited() == {waits: before}
    (home,) = [name for name, manager in door.federation.managers.items() if waits in manager.applications]
    heir = FederationView(tuple(door.federation.managers))
    heir.note_submitted_at(waits, before)
    told = await ask_application(door.federation.managers[home], waits, as_of_s=1.0, timeout_s=1.0)
    assert told is not None
    heir.note(told)
    assert [each.summary.started_at_ms for each in heir.applications()] == [before]
