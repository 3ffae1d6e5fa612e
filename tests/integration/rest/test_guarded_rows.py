"""S1 for every row of the tables: whoever names nobody changes nothing, at Heddle or behind it."""

import re

import pytest

from shim.domain.ids import ApplicationId
from shim.server.rest.endpoints import BASE, ENDPOINTS, Endpoint
from shim.services.identity import IdentityRules
from tests.support.scripted_door import ScriptedDoor, body_of

OLD = ApplicationId(1_600_000_000_000, 7)
CHANGES = [each for each in ENDPOINTS if each.method != "GET"]


def target(endpoint: Endpoint) -> str:
    """A path of the row that names things that there are."""
    path = re.sub(r"\{application\}", str(OLD), endpoint.path)
    return BASE + re.sub(r"\{\w+\}", "default", path)


@pytest.mark.parametrize("row", CHANGES, ids=lambda row: f"{row.method} {row.path}")
async def test_s1_no_row_is_changed_by_nobody(row: Endpoint):
    door = ScriptedDoor(rules=IdentityRules())
    door.federation["east"].add_application(OLD, "RUNNING")
    await door.poll()
    asked = {name: len(door.federation[name].taken) for name in ("east", "west")}
    answer = await door.ask(row.method, target(row), body=b'{"state":"KILLED"}', content_type="application/json")
    assert answer.status == 401
    assert body_of(answer)["RemoteException"]["exception"] == "AuthorizationException"
    assert {name: len(door.federation[name].taken) for name in asked} == asked, "nobody behind was asked"
    (told,) = door.exchanges
    assert told.is_change
    assert told.status == 401
