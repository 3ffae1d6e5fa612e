"""Every endpoint and page, asked by every role: allowed to those that have the right, refused to all others."""

import asyncio
import re
import threading

import pytest

from shim.app.groups import GroupDirectory
from shim.domain.ids import ApplicationId
from shim.domain.roles import Right, Role, TokenScope
from shim.identity.delegation_tokens import DelegationTokens, TokenLimits
from shim.identity.roles import RoleRules
from shim.identity.service import Caller, IdentityRules, ProxyRule
from shim.protocol.rest.queries import Query
from shim.server.rest.callers import BelievedCallers, WebLogin
from shim.server.rest.endpoints import BASE, ENDPOINTS
from shim.server.rest.messages import Answer, Request
from shim.server.rest.web_tokens import TOKEN_OPERATIONS, WebTokens
from shim.server.rights import OWN, PAGES, REST
from shim.simulation.stores import InMemoryTokenStore
from tests.doubles.clock import FakeClock
from tests.doubles.settings import usual
from tests.support.roles import ROLES, may, user_of
from tests.support.scripted_server import ScriptedServer, body_of

OLD = ApplicationId(1_600_000_000_000, 7)
PREFIX = "/heddle/v1/"
REFUSAL = re.compile(rb"takes the role \w+, see security.roles|user not authenticated")
GIVEN = {"application": str(OLD), "verb": "cordon", "version": "0", "cluster": "east"}


def filled(path: str) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: GIVEN.get(found[1], "default"), path)


ROWS = [
    *((each.method, BASE + filled(each.path), each.right) for each in ENDPOINTS),
    *((row.partition(" ")[0], PREFIX + filled(row.partition(" ")[2]), right) for row, right in OWN.items()),
    *(("GET", path, right) for path, right in PAGES.items() if path.startswith("/") and not path.endswith("live")),
    ("GET", f"{PREFIX}live?watch=clusters", PAGES["/heddle/v1/live"]),
]


async def asked(server: ScriptedServer, method: str, target: str, user: str | None) -> Answer:
    mark = "&" if "?" in target else "?"
    named = "" if user is None else f"{mark}user.name={user}"
    return await server.ask(method, f"{target}{named}", body=b"{}", content_type="application/json")


async def a_server(rules: IdentityRules = ROLES) -> ScriptedServer:
    server = ScriptedServer(rules=rules)
    server.federation["east"].add_application(OLD, "RUNNING", user="somebody")
    await server.poll()
    return server


def test_the_table_has_the_endpoints_that_there_are_and_no_others() -> None:
    assert {f"{each.method} {each.path}" for each in ENDPOINTS} == set(REST)
    assert {f"{each.method} {each.path}" for each in ScriptedServer().api.endpoints} == set(OWN)


@pytest.mark.parametrize(("method", "target", "right"), ROWS, ids=lambda value: value if isinstance(value, str) else "")
async def test_each_role_may_what_its_right_says_and_nothing_else(method: str, target: str, right: Right) -> None:
    server = await a_server()
    for role in Role:
        taken = {name: len(server.federation[name].taken) for name in ("east", "west")}
        answer = await asked(server, method, target, user_of(role))
        assert (answer.status in (401, 403) and REFUSAL.search(answer.body) is not None) is not may(role, right), role
        if not may(role, right):
            assert {name: len(server.federation[name].taken) for name in taken} == taken, "nobody behind was asked"
    assert ((await asked(server, method, target, None)).status == 401) is (right is not Right.OPEN)


class WithTickets(BelievedCallers):
    """Whoever names himself has shown a ticket."""

    async def log_in(self, request: Request, query: Query) -> WebLogin:  # noqa: ARG002 - as `Callers`
        user = query.claims.user_name or ""
        return WebLogin(Caller(user, user, has_ticket=True))


@pytest.mark.parametrize("name", TOKEN_OPERATIONS)
async def test_delegation_tokens_of_the_web_are_for_those_who_may_have_tokens(name: str) -> None:
    tokens = DelegationTokens(b"s" * 32, FakeClock(), InMemoryTokenStore(), usual(TokenLimits))
    server = ScriptedServer(rules=ROLES, callers=WithTickets, tokens=WebTokens(tokens))
    for role in Role:
        path = f"/cluster?op={name}&user.name={user_of(role)}"
        answer = await server.ask(TOKEN_OPERATIONS[name].method, path)
        assert (answer.status == 403 and REFUSAL.search(answer.body) is not None) is not may(role, Right.OWN_TOKENS)


async def test_what_was_kept_for_a_viewer_is_not_given_to_who_is_none() -> None:
    server = await a_server()
    for path in (f"{BASE}/apps", f"{BASE}/nodes"):
        assert (await asked(server, "GET", path, "a-viewer")).status == 200
        assert (await asked(server, "GET", path, "a-nobody")).status == 403
        assert (await asked(server, "GET", path, "a-viewer")).status == 200


def rules(**listed: tuple[str, ...]) -> IdentityRules:
    roles = RoleRules({Role[name.upper()]: users for name, users in listed.items()})
    return usual(
        IdentityRules,
        admins=("root",),
        roles=roles,
        proxy_users={"knox": ProxyRule(hosts=("*",), users=("*",), groups=("*",))},
    )


async def test_groups_that_are_told_late_are_awaited_and_hold_up_nobody() -> None:
    """Nobody is told before the loop has gone on: whoever held it meanwhile would be refused."""
    goes_on = threading.Event()

    def look_up(user: str) -> frozenset[str]:
        assert goes_on.wait(60)
        return frozenset({"ops"} if user == "olga" else {"staff"} if user == "sam" else ())

    listed = {Role.VIEWER: ("*",), Role.OPERATOR: ("group:ops",)}
    knox = {"knox": ProxyRule(hosts=("*",), groups=("staff",))}
    server = ScriptedServer(
        rules=usual(IdentityRules, roles=RoleRules(listed), proxy_users=knox), groups_of=GroupDirectory(look_up)
    )
    await server.poll()
    asked_for = {
        "cordon?dryRun=true&user.name=olga": 200,
        "cordon?dryRun=true&user.name=carl": 403,
        "cordon?dryRun=true&user.name=knox&doAs=olga": 403,
        "cordon?dryRun=true&user.name=knox&doAs=sam": 403,
    }
    answers = [
        asyncio.create_task(server.ask("POST", f"{PREFIX}clusters/east/{each}", content_type="application/json"))
        for each in asked_for
    ]
    answers.append(asyncio.create_task(server.ask("GET", f"{BASE}/info?user.name=knox&doAs=sam")))
    await asyncio.sleep(0)
    goes_on.set()
    told = await asyncio.gather(*answers)
    assert [each.status for each in told] == [*asked_for.values(), 200]


async def test_groups_of_the_machine_give_roles() -> None:
    server = ScriptedServer(
        rules=rules(viewer=("*",), operator=("group:ops",)),
        groups_of=lambda user: frozenset({"ops"} if user == "olga" else ()),
    )
    await server.poll()
    drain = f"{PREFIX}clusters/east/cordon?dryRun=true"
    assert (await asked(server, "POST", drain, "olga")).status == 200
    assert (await asked(server, "POST", drain, "otto")).status == 403
    assert (await asked(server, "GET", f"{BASE}/apps", "otto")).status == 200
    assert (await asked(server, "GET", f"{BASE}/apps", None)).status == 200, "everybody is a viewer"


async def test_a_proxy_user_for_everybody_does_not_act_for_operators() -> None:
    server = ScriptedServer(
        rules=rules(user=("*",), operator=("olga", "group:ops")),
        groups_of=lambda user: frozenset({"ops"} if user == "otto" else ()),
    )
    await server.poll()
    for target in ("olga", "otto"):
        answer = await server.ask("GET", f"{BASE}/apps?user.name=knox&doAs={target}")
        assert (answer.status, body_of(answer)["RemoteException"]["exception"]) == (403, "AuthorizationException")
    assert (await server.ask("GET", f"{BASE}/apps?user.name=knox&doAs=alice")).status == 200


async def test_admins_are_administrators_whatever_roles_say() -> None:
    server = ScriptedServer(rules=rules(viewer=("root",)))
    assert (await asked(server, "GET", f"{PREFIX}audit", "root")).status == 200


@pytest.mark.parametrize(("user", "role"), [("a-viewer", "viewer"), ("a-operator", "operator"), (None, "nobody")])
async def test_the_console_is_told_what_to_show(user: str | None, role: str) -> None:
    told = body_of(await asked(await a_server(), "GET", f"{PREFIX}console/caller", user))
    assert told["role"] == role
    assert set(told["rights"]) == {each.name.lower() for each in Right if may(Role[role.upper()], each)}
    assert told["is_operator"] is (role == "operator")


@pytest.mark.parametrize(
    ("user", "scope", "is_made"),
    [
        ("a-user", "submit", True),
        ("a-user", "operate", False),
        ("a-operator", "operate", True),
    ],
)
async def test_a_token_has_no_scope_that_its_owners_role_has_not(user: str, scope: str, *, is_made: bool) -> None:
    server = await a_server()
    body = b'{"name": "ci", "scopes": ["%b"]}' % scope.encode()
    answer = await server.ask("POST", f"{PREFIX}tokens?user.name={user}", body=body, content_type="application/json")
    assert (answer.status == 200) is is_made


async def test_a_token_loses_with_its_owner() -> None:
    """The role is the owner's now, not the one that he had when the token was made."""
    server = await a_server()
    left = Caller("left-us", "left-us")
    made = await ScriptedServer(rules=usual(IdentityRules)).api_tokens.create(
        left, name="old", owner="", scopes=[TokenScope.OPERATE], lifetime_s=60.0
    )
    await server.federation.stores.api_tokens.insert(made.token, most_of_owner=9, most=9)
    answer = await server.ask("GET", f"{BASE}/apps", authorization=f"Bearer {made.text}")
    assert (answer.status, REFUSAL.search(answer.body) is not None) == (403, True)


async def test_without_roles_everything_is_as_it_was() -> None:
    server = await a_server(usual(IdentityRules, admins=("root",)))
    expected = {None: 200, "alice": 200, "root": 200}
    assert {user: (await asked(server, "GET", f"{BASE}/apps", user)).status for user in expected} == expected
    label = f"{BASE}/remove-node-labels?labels=x"
    answer = await asked(server, "POST", label, "alice")
    assert (answer.status, server.federation["east"].taken[-1].user) == (404, "alice"), "ResourceManagers judge"
    for path, method in ((f"{PREFIX}clusters/east/drain?dryRun=true", "POST"), (f"{PREFIX}audit", "GET")):
        assert (await asked(server, method, path, "root")).status == 200
        assert (await asked(server, method, path, "alice")).status == 403
        assert (await asked(server, method, path, None)).status == 401


async def test_the_doctors_findings_are_for_operators_where_there_are_roles() -> None:
    roles = RoleRules({Role.VIEWER: ("*",), Role.OPERATOR: ("oona",)})
    server = await a_server(usual(IdentityRules, roles=roles))
    path = "/heddle/v1/doctor?user.name="
    assert [(await server.ask("GET", path + user)).status for user in ("eve", "oona")] == [403, 200]
    stream = await server.ask("GET", "/heddle/v1/live?watch=doctor&user.name=oona")
    other = await server.ask("GET", "/heddle/v1/live?watch=doctor&user.name=eve")
    assert stream.later is not None
    assert other.later is not None
    assert b"findings" in await server.federation.wait_for(anext(stream.later))
    assert b"trouble" in await server.federation.wait_for(anext(other.later)), "what one may read is not another's"
    await stream.later.aclose()
    await other.later.aclose()
    without = await a_server(usual(IdentityRules, allow_anonymous=True))
    assert (await without.ask("GET", path + "eve")).status == 200
