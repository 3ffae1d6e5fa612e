"""Plain questions that hostile input does not have to be added to: none of them is an internal error."""

import pytest

from shim.domain.ids import ApplicationId
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


@pytest.mark.parametrize("kind", ["application/json", "application/xml"])
@pytest.mark.parametrize("then", ["/apps/{}", "/apps"])
async def test_nothing_that_is_read_later_is_older_than_a_state_that_was_told(kind, then):
    server = ScriptedServer(names=("east",), rules=usual(IdentityRules, allow_anonymous=True))
    east, application = server.federation["east"], ApplicationId(1_600_000_000_000, 7)
    east.add_application(application, "RUNNING")
    await server.poll()
    east.move(application, "FINISHED")
    told = await server.ask("GET", f"{BASE}/apps/{application}/state", accept=kind)
    assert b"FINISHED" in told.body
    assert b'"state":"FINISHED"' in (await server.ask("GET", BASE + then.format(application))).body


async def test_a_state_that_is_known_costs_no_second_question():
    server = ScriptedServer(names=("east",), rules=usual(IdentityRules, allow_anonymous=True))
    east, application = server.federation["east"], ApplicationId(1_600_000_000_000, 7)
    east.add_application(application, "RUNNING")
    await server.poll()
    await server.ask("GET", f"{BASE}/apps/{application}/state")
    asked = len(east.requests)
    await server.ask("GET", f"{BASE}/apps/{application}")
    assert len(east.requests) == asked
