"""`/heddle/v1/apps/{id}/why`: of a sub-cluster with access lists, stories are for their users and for operators."""

import pytest

from shim.domain.ids import ApplicationId
from shim.identity.service import IdentityRules
from shim.server.rest.messages import Answer
from shim.testing.misbehaviours import FailsWithoutWords
from tests.support.scripted_door import ScriptedDoor, body_of

DIRECT = ApplicationId(1_600_000_000_000, 7)
ASKERS = {"alice": 200, "queen": 200, "bob": 403}


async def a_door(*guarded: str) -> ScriptedDoor:
    door = ScriptedDoor(names=("east",), guarded=guarded, rules=IdentityRules(admins=("queen",)))
    door.federation["east"].add_application(DIRECT, "RUNNING", user="alice")
    await door.poll()
    return door


async def asked(door: ScriptedDoor, application: ApplicationId) -> dict[str, int]:
    """The status that each asker has."""
    path = f"/heddle/v1/apps/{application}/why"
    return {user: (await door.ask("GET", f"{path}?user.name={user}")).status for user in ASKERS}


@pytest.mark.parametrize("is_direct", [True, False], ids=["submitted at the home", "submitted here"])
async def test_a_story_behind_access_lists_is_for_its_user_and_for_operators(*, is_direct: bool):
    door = await a_door("east")
    application = DIRECT if is_direct else await door.submit("alice")
    assert await asked(door, application) == ASKERS
    refused = await door.ask("GET", f"/heddle/v1/apps/{application}/why?user.name=bob")
    assert "yarn.acl.enable" in body_of(refused)["RemoteException"]["message"]


async def test_a_page_tells_no_more_than_the_web_services():
    door = await a_door("east")
    application = await door.submit("alice")
    for user, status in ASKERS.items():
        page = await door.ask("GET", f"/cluster/app/{application}?user.name={user}")
        assert (b"Told to its user and to operators alone." in page.body) == (status == 403), user


async def test_a_story_is_for_everybody_where_applications_are():
    door = await a_door()
    for application in (DIRECT, await door.submit("alice")):
        assert set((await asked(door, application)).values()) == {200}


@pytest.mark.parametrize("path", ["/apps", f"/apps/{DIRECT}", "/appstatistics"])
@pytest.mark.parametrize("names", ["by cookie", "by name"])
async def test_what_is_guarded_is_asked_for_each_user_and_not_kept_for_another(path: str, names: str):
    door = await a_door("east")
    cookies = {user: cookie_of(await door.get(f"/info?user.name={user}")) for user in ("alice", "bob")}
    asked = len(door.federation["east"].requests)
    for user in ("alice", "bob"):
        if names == "by cookie":
            await door.get(path, cookie=cookies[user])
        else:
            await door.get(f"{path}?user.name={user}")
    assert [request.user for request in door.federation["east"].requests[asked:]] == ["alice", "bob"]


def cookie_of(answer: Answer) -> str:
    return dict(answer.headers)["Set-Cookie"].partition(";")[0]


async def test_a_story_tells_of_attempts_that_fail():
    door = await a_door()
    door.federation["east"].behave(FailsWithoutWords())
    application = ApplicationId(1_600_000_000_000, 8)
    await door.ask(
        "POST",
        "/ws/v1/cluster/apps?user.name=alice",
        body=f'{{"application-id":"{application}"}}'.encode(),
        content_type="application/json",
    )
    record = await door.federation.store.find(application)
    assert record is not None
    attempts = door.backend.submissions.attempts
    attempts.failed(record.standing, "answered 500", started_on_ms=1, now_s=door.federation.clock.monotonic_s())
    told = body_of(await door.ask("GET", f"/heddle/v1/apps/{application}/why?user.name=alice"))
    assert (told["failed_attempts"], told["last_failure"]) == (1, "answered 500")
    assert 0.0 <= told["next_attempt_in_s"] <= 2.0
