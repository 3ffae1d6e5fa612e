"""Callers by cookie, token and ticket: what goes before what, and that a login is nobody else's."""

import asyncio
import base64
import json
from functools import partial

import pytest

from shim.identity.delegation_tokens import DelegationTokens, TokenLimits
from shim.identity.principals import PrincipalRules
from shim.identity.service import IdentityRules
from shim.protocol.hrpc import SASLError
from shim.protocol.rest.token_strings import encode_token
from shim.server.rest.callers import CookieTwiceError, ProvenCallers
from shim.server.rest.callers import cookie_of as one_cookie
from shim.server.rest.messages import Request
from shim.simulation.stores import InMemoryTokenStore
from tests.doubles.clock import FakeClock
from tests.doubles.settings import usual
from tests.support.scripted_server import ScriptedServer

METRICS = "/ws/v1/cluster/metrics"


class NamedTickets:
    """Takes a principal for a ticket, once; everything else is none."""

    def __init__(self):
        self.taken = []

    async def accept(self, token):
        await asyncio.sleep(0)
        principal = token.decode("latin-1")
        if "@" not in principal or principal in self.taken:
            raise SASLError("keytab /etc/x: no such ticket", told="GSS initiate failed")
        self.taken.append(principal)
        return principal, b"proof"


@pytest.fixture
def tickets():
    return NamedTickets()


@pytest.fixture
def tokens():
    return DelegationTokens(bytes(32), FakeClock(), InMemoryTokenStore(), usual(TokenLimits), needs_ticket=True)


@pytest.fixture
def server(tickets, tokens):
    return ScriptedServer(
        rules=usual(IdentityRules, asks_for_tickets=True),
        callers=partial(ProvenCallers, tickets=tickets, principals=PrincipalRules(frozenset({"TEST"})), tokens=tokens),
    )


def ticket(principal):
    return f"Negotiate {base64.b64encode(principal.encode()).decode()}"


def cookie_of(answer):
    return dict(answer.headers)["Set-Cookie"].partition(";")[0]


async def test_a_login_is_never_in_anothers_answer(server):
    await server.poll()
    first = await server.ask("GET", METRICS, authorization=ticket("ada@TEST"))
    assert {"Set-Cookie", "WWW-Authenticate"} <= {name for name, _ in first.headers}
    second = await server.ask("GET", METRICS, authorization=ticket("bob@TEST"))
    assert "u=bob" in cookie_of(second)
    kept = await server.ask("GET", METRICS, cookie=cookie_of(first))
    assert kept.status == 200
    assert not {"Set-Cookie", "WWW-Authenticate"} & {name for name, _ in kept.headers}


async def test_what_is_kept_is_given_at_once_to_who_has_a_cookie_and_to_nobody_else(server):
    await server.poll()
    cookie = cookie_of(await server.ask("GET", METRICS, authorization=ticket("ada@TEST")))

    def at_once(**headers):
        shown = (("host", "front:8088"), *headers.items())
        return server.server.answer_at_once(Request("GET", METRICS, "", shown, b"", "127.0.0.1"))

    assert at_once(cookie=cookie) is not None
    assert at_once() is None
    assert at_once(cookie=cookie[:-2]) is None
    assert at_once(authorization=ticket("bob@TEST")) is None


async def test_a_cookie_goes_before_a_ticket_which_is_not_used_up(server, tickets):
    cookie = cookie_of(await server.ask("GET", METRICS, authorization=ticket("ada@TEST")))
    await server.ask("GET", METRICS, cookie=cookie, authorization=ticket("bob@TEST"))
    assert tickets.taken == ["ada@TEST"]


async def test_a_token_goes_before_a_ticket(server, tickets, tokens):
    token = await tokens.issue("ada", "", "", is_proven=True)
    answer = await server.ask(
        "GET", METRICS, x_hadoop_delegation_token=encode_token(token), authorization=ticket("bob@TEST")
    )
    assert answer.status != 403
    assert tickets.taken == []


async def test_a_token_that_was_got_without_a_ticket_is_none(server, tokens):
    token = await tokens.issue("ada", "", "", is_proven=False)
    refused = await server.ask("GET", METRICS, x_hadoop_delegation_token=encode_token(token))
    assert refused.status == 403
    assert b"without a Kerberos ticket" in refused.body


async def test_a_token_names_who_asked_for_it(server, tokens):
    token = await tokens.issue("ada", "", "oozie", is_proven=True)
    shown = encode_token(token)
    await server.ask("POST", "/ws/v1/cluster/apps/new-application", x_hadoop_delegation_token=shown)
    caller = server.exchanges[-1].caller
    assert (caller.user, caller.real_user, caller.has_ticket) == ("ada", "oozie", False)


async def test_a_refusal_does_not_tell_of_this_machine(server):
    refused = await server.ask("GET", METRICS, authorization="Negotiate AAAA")
    assert refused.status == 403
    assert b"/etc/x" not in refused.body
    assert b"GSS initiate failed" in refused.body


@pytest.mark.parametrize("principal", ["ada@ELSEWHERE", "ada/a/b@TEST", "@TEST", "ada@TEST@TEST"])
async def test_foreign_and_odd_principals_are_nobody(server, principal):
    assert (await server.ask("GET", METRICS, authorization=ticket(principal))).status == 403


async def test_a_stream_ends_when_its_delegation_token_is_cancelled_and_goes_on_after_a_ticket(server, tokens):
    await server.poll()
    live = "/heddle/v1/live?watch=clusters"
    made, other = [await tokens.issue("ada", "", "", is_proven=True) for _ in range(2)]
    stream, kept = [
        await server.ask("GET", live, x_hadoop_delegation_token=encode_token(each)) for each in (made, other)
    ]
    by_ticket = await server.ask("GET", live, authorization=ticket("ada@TEST"))
    assert await server.goes_on(stream, 0.5)
    stream = await server.ask("GET", live, x_hadoop_delegation_token=encode_token(made))
    await tokens.cancel(made, caller="ada")
    assert not await server.goes_on(stream, 2.0)
    assert await server.goes_on(kept, 1.0)
    assert await server.goes_on(by_ticket, 5.0)


TWICE = [
    "hadoop.auth=a; hadoop.auth=b",
    "hadoop.auth=a; hadoop.auth=a",
    "hadoop.auth=;hadoop.auth=b",
    'x=1; hadoop.auth="a";hadoop.auth = "b"',
    'x="; hadoop.auth=a"; hadoop.auth=b',
]


@pytest.mark.parametrize("cookies", TWICE)
def test_two_cookies_of_one_name_are_none(cookies):
    with pytest.raises(CookieTwiceError, match=r"hadoop\.auth stands twice"):
        one_cookie(Request("GET", "/", "", (("cookie", cookies),), b"", ""), "hadoop.auth")
    first, _, second = cookies.rpartition(";")
    with pytest.raises(CookieTwiceError):
        one_cookie(Request("GET", "/", "", (("cookie", first), ("cookie", second)), b"", ""), "hadoop.auth")


@pytest.mark.parametrize(
    ("cookies", "found"),
    [
        ("hadoop.auth=a", "a"),
        (' a=b ; hadoop.auth="u=x&s=y" ;c=d', '"u=x&s=y"'),
        ("xhadoop.auth=a", None),
        ("HADOOP.AUTH=a", None),
        ("hadoop.auth", None),
        ("x=hadoop.auth=a", None),
        ("", None),
    ],
)
def test_a_cookie_is_found_by_its_whole_name(cookies, found):
    assert one_cookie(Request("GET", "/", "", (("cookie", cookies),), b"", ""), "hadoop.auth") == found


async def test_a_planted_cookie_makes_nobody_somebody_else(server, tickets):
    await server.poll()
    mine = cookie_of(await server.ask("GET", METRICS, authorization=ticket("ada@TEST")))
    theirs = cookie_of(await server.ask("GET", METRICS, authorization=ticket("mallory@TEST")))
    for cookie in (f"{theirs}; {mine}", f"{mine}; {theirs}"):
        assert (await server.ask("GET", METRICS, cookie=cookie)).status == 400
        assert (
            server.server.answer_at_once(Request("GET", METRICS, "", (("cookie", cookie),), b"", "127.0.0.1")) is None
        )


async def test_whom_heddle_runs_as_is_nobody_special_behind_a_gateway(server):
    opened = ScriptedServer(rules=usual(IdentityRules, local_admin="heddle"))
    await opened.poll()
    target = "/heddle/v1/console/caller?user.name=heddle"
    assert json.loads((await opened.ask("GET", target)).body)["is_operator"] is True
    for name in ("x_forwarded_for", "forwarded", "via", "x_real_ip", "x_forwarded_user"):
        assert json.loads((await opened.ask("GET", target, **{name: "10.0.0.1"})).body)["is_operator"] is False
