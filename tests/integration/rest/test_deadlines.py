"""Deadlines by tags: refused where they cannot be read, and told of in `why` and on the page."""

import pytest

from tests.support.scripted_server import BASE, ScriptedServer, body_of, context

_A_MINUTE = {"application-tags": {"tag": ["heddle-deadline=+60s"]}}


async def why(server: ScriptedServer, application: object) -> dict[str, object] | None:
    answer = body_of(await server.ask("GET", f"/heddle/v1/apps/{application}/why?user.name=alice"))
    found: dict[str, object] | None = answer.get("deadline")
    return found


@pytest.mark.parametrize("tag", ["heddle-deadline=soon", "heddle-deadline=+0m", "HEDDLE-DEADLINE=2026-13-01T00:00:00Z"])
async def test_a_deadline_that_cannot_be_read_is_a_bad_request_and_goes_nowhere(tag: str):
    server = ScriptedServer(names=("east",))
    await server.poll()
    made = body_of(await server.ask("POST", f"{BASE}/apps/new-application?user.name=alice"))["application-id"]
    answer = await server.ask(
        "POST",
        f"{BASE}/apps?user.name=alice",
        body=context(made, **{"application-tags": {"tag": [tag]}}),
        content_type="application/json",
    )
    assert answer.status == 400
    told = body_of(answer)["RemoteException"]
    assert told["exception"] == "BadRequestException"
    assert "is no deadline: write" in told["message"]
    assert not server.federation["east"].applications


async def test_what_is_known_of_a_deadline_is_told_at_each_step_of_an_application():
    server = ScriptedServer(names=("east",))
    await server.poll()
    application = await server.submit("alice", **_A_MINUTE)
    home = server.federation["east"]
    home.applications[application] |= {"state": "RUNNING", "progress": 0.0}
    await server.poll()
    assert (await why(server, application) or {})["met"] == "not known"

    await server.federation.clock.advance(20.0)
    home.applications[application] |= {"progress": 50.0}
    await server.poll()
    found = await why(server, application) or {}
    assert (found["met"], found["takes"]) == ("yes", "")
    assert "its progress, 50 %" in str(found["known_from"])

    await server.federation.clock.advance(5.0)
    home.applications[application] |= {"progress": 10.0}
    await server.poll()
    found = await why(server, application) or {}
    assert found["met"] == "no"
    assert "more containers" in str(found["takes"])
    page = await server.ask("GET", f"/cluster/app/{application}?user.name=alice")
    assert b"Deadline: " in page.body
    assert b"met: no" in page.body


async def test_an_application_without_one_is_told_nothing_of_deadlines():
    server = ScriptedServer(names=("east",))
    await server.poll()
    assert await why(server, await server.submit("alice")) is None
