"""S13: over REST, a move to a queue with an access list is checked, and its home reads what was checked."""

import pytest

from shim.domain.ids import ApplicationId
from shim.domain.shares import FederatedQueue, SharePolicy
from shim.server.rest.messages import Answer
from shim.services.identity import IdentityRules
from tests.support.scripted_door import BASE, ScriptedDoor, body_of

APP = ApplicationId(1_600_000_000_000, 7)
LISTED = SharePolicy((FederatedQueue("root.prod", submit=("alice",)), FederatedQueue("root.dev")))

BODIES = {
    "json": (b'{"queue":"prod"}', "application/json"),
    "json with escapes": (b'{"queue":"\\u0070rod"}', "application/json; charset=utf-8"),
    "json said twice": (b'{"queue":"dev","queue":"prod"}', "application/json"),
    "xml": (b"<appqueue><queue>prod</queue></appqueue>", "application/xml"),
    "xml with references": (b"<appqueue><queue>&#112;rod</queue></appqueue>", "application/xml"),
    "xml with a section": (b"<appqueue><queue><![CDATA[prod]]></queue></appqueue>", "application/xml"),
}


async def a_door(policy: SharePolicy) -> ScriptedDoor:
    door = ScriptedDoor(policy=policy, rules=IdentityRules(admins=("queen",)))
    door.federation["east"].add_application(APP, "RUNNING")
    await door.poll()
    return door


async def move(door: ScriptedDoor, user: str, body: bytes, content_type: str) -> Answer:
    return await door.ask("PUT", f"{BASE}/apps/{APP}/queue?user.name={user}", body=body, content_type=content_type)


def sent(door: ScriptedDoor) -> list[bytes]:
    return [
        request.body for name in ("east", "west") for request in door.federation[name].taken if request.method == "PUT"
    ]


@pytest.mark.parametrize(("body", "content_type"), BODIES.values(), ids=BODIES)
async def test_s13_who_is_not_listed_is_refused_however_it_is_written(body: bytes, content_type: str):
    door = await a_door(LISTED)
    answer = await move(door, "mallory", body, content_type)
    assert answer.status == 403
    assert "mallory does not have permission to submit" in body_of(answer)["RemoteException"]["message"]
    assert sent(door) == []
    for user in ("alice", "queen"):
        await move(door, user, body, content_type)
    assert sent(door) == [b'{"queue":"prod"}'] * 2


@pytest.mark.parametrize("body", [b"", b"{", b"{}", b'{"appqueue":{"queue":"prod"}}', b"[]", b'{"queue":null}'])
async def test_s13_what_names_no_queue_goes_nowhere(body: bytes):
    door = await a_door(LISTED)
    assert (await move(door, "mallory", body, "application/json")).status == 400
    assert sent(door) == []


async def test_without_lists_a_move_travels_as_it_came():
    door = await a_door(SharePolicy((FederatedQueue("root.prod"),)))
    body = b'{ "queue" : "prod" , "more":1}'
    await move(door, "mallory", body, "application/json")
    assert sent(door) == [body]
