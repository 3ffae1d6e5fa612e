"""Plain questions that hostile input does not have to be added to: none of them is an internal error."""

import pytest

from shim.identity.service import IdentityRules
from tests.support.scripted_door import BASE, ScriptedDoor


@pytest.mark.parametrize(
    ("path", "status"),
    [("/heddle/v1/doctor", 200), (f"{BASE}/reservation/list", 400), (f"{BASE}/reservation/list?queue=a", 400)],
)
async def test_plain_questions_are_answered(path, status):
    door = ScriptedDoor(rules=IdentityRules(allow_anonymous=True, admins=("*",)))
    await door.poll()
    answer = await door.ask("GET", path)
    assert answer.status == status, answer.body
