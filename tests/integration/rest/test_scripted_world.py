"""Plain questions that hostile input does not have to be added to: none of them is an internal error."""

import pytest

from shim.errors import UnavailableError
from shim.identity.service import IdentityRules, ProxyRule
from tests.doubles.settings import usual
from tests.support.scripted_server import BASE, ScriptedServer


@pytest.mark.parametrize(
    ("path", "status"),
    [("/heddle/v1/doctor", 200), (f"{BASE}/reservation/list", 400), (f"{BASE}/reservation/list?queue=a", 400)],
)
async def test_plain_questions_are_answered(path, status):
    server = ScriptedServer(rules=usual(IdentityRules, allow_anonymous=True, admins=("*",)))
    await server.poll()
    answer = await server.ask("GET", path)
    assert answer.status == status, answer.body


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", [f"{BASE}/apps", f"{BASE}/info", "/heddle/v1/doctor", "/cluster"])
async def test_who_cannot_be_judged_yet_is_asked_to_try_again(method, path):
    def slow(user):
        raise UnavailableError(f"the groups of {user} are not known yet")

    rules = usual(IdentityRules, proxy_users={"knox": ProxyRule(hosts=("*",), groups=("staff",))})
    server = ScriptedServer(rules=rules, groups_of=slow)
    await server.poll()
    answer = await server.ask(method, f"{path}?user.name=knox&doAs=ada")
    assert answer.status in (405, 503) if method == "POST" else answer.status == 503, answer.body
