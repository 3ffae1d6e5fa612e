"""`/heddle/v1/apps/{id}/why`: of a sub-cluster with access lists, stories are for their users and for operators."""

import pytest

from shim.domain.ids import ApplicationId
from shim.identity.service import IdentityRules
from shim.server.rest.messages import Answer
from tests.doubles.misbehaviours import FailsWithoutWords
from tests.doubles.settings import usual
from tests.support.scripted_server import ScriptedServer, body_of

DIRECT = ApplicationId(1_600_000_000_000, 7)
ASKERS = {"alice": 200, "queen": 200, "bob": 403}


async def a_server(*guarded: str) -> ScriptedServer:
    server = ScriptedServer(names=("east",), guarded=guarded, rules=usual(IdentityRules, admins=("queen",)))
    server.federation["east"].add_application(DIRECT, "RUNNING", user="alice")
    await server.poll()
    return server


async def asked(server: ScriptedServer, application: ApplicationId) -> dict[str, int]:
    """The status that each asker has."""
    path = f"/heddle/v1/apps/{application}/why"
    return {user: (await server.ask("GET", f"{path}?user.name={user}")).status for user in ASKERS}


@pytest.mark.parametrize("is_direct", [True, False], ids=["submitted at the home", "submitted here"])
async def test_a_story_behind_access_lists_is_for_its_user_and_for_operators(*, is_direct: bool):
    server = await a_server("east")
    application = DIRECT if is_direct else await server.submit("alice")
    assert await asked(server, application) == ASKERS
    refused = await server.ask("GET", f"/heddle/v1/apps/{application}/why?user.name=bob")
    assert "yarn.acl.enable" in body_of(refused)["RemoteException"]["message"]


async def test_a_page_tells_no_more_than_the_web_services():
    server = await a_server("east")
    application = await server.submit("alice")
    for user, status in ASKERS.items():
        page = await server.ask("GET", f"/cluster/app/{application}?user.name={user}")
        assert (b"Told to its user and to operators alone." in page.body) == (status == 403), user


async def test_a_story_is_for_everybody_where_applications_are():
    server = await a_server()
    for application in (DIRECT, await server.submit("alice")):
        assert set((await asked(server, application)).values()) == {200}


@pytest.mark.parametrize("path", ["/apps", f"/apps/{DIRECT}", "/appstatistics"])
@pytest.mark.parametrize("names", ["by cookie", "by name"])
async def test_what_is_guarded_is_asked_for_each_user_and_not_kept_for_another(path: str, names: str):
    server = await a_server("east")
    cookies = {user: cookie_of(await server.get(f"/info?user.name={user}")) for user in ("alice", "bob")}
    asked = len(server.federation["east"].requests)
    for user in ("alice", "bob"):
        if names == "by cookie":
            await server.get(path, cookie=cookies[user])
        else:
            await server.get(f"{path}?user.name={user}")
    assert [request.user for request in server.federation["east"].requests[asked:]] == ["alice", "bob"]


def cookie_of(answer: Answer) -> str:
    return dict(answer.headers)["Set-Cookie"].partition(";")[0]


async def test_a_story_tells_of_attempts_that_fail():
    server = await a_server()
    server.federation["east"].behave(FailsWithoutWords())
    application = ApplicationId(1_600_000_000_000, 8)
    await server.ask(
        "POST",
        "/ws/v1/cluster/apps?user.name=alice",
        body=f'{{"application-id":"{application}"}}'.encode(),
        content_type="application/json",
    )
    record = await server.federation.store.find(application)
    assert record is not None
    attempts = server.backend.submissions.attempts
    attempts.failed(record.progress, "answered 500", started_on_ms=1, now_s=server.federation.clock.monotonic_s())
    told = body_of(await server.ask("GET", f"/heddle/v1/apps/{application}/why?user.name=alice"))
    assert (told["failed_attempts"], told["last_failure"]) == (1, "answered 500")
    assert told["next_attempt_in_s"] == 2.0
    for after_s, left_s in ((1.5, 0.5), (0.5, 0.0), (9.0, 0.0)):
        await server.federation.clock.advance(after_s)
        told = body_of(await server.ask("GET", f"/heddle/v1/apps/{application}/why?user.name=alice"))
        assert told["next_attempt_in_s"] == left_s
