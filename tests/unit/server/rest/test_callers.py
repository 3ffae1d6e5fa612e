"""Callers by cookie, token and ticket: what goes before what, and that a login is nobody else's."""

import asyncio
import base64
import inspect
import json
from functools import partial

import pytest

from shim.errors import HeddleError, TooManyCallsError, UserError
from shim.identity.delegation_tokens import DelegationTokens, TokenLimits
from shim.identity.principals import PrincipalRules
from shim.identity.provider_claims import ClaimRules
from shim.identity.rates import CallRates, Rate, RateLimits
from shim.identity.service import Caller, IdentityRules
from shim.identity.sessions import Sessions
from shim.ports.identity_provider import BadTokenError, ProviderUnavailableError
from shim.protocol.hrpc import SASLError
from shim.protocol.rest.queries import parse_query
from shim.protocol.rest.token_strings import encode_token
from shim.server.rest.callers import OPEN_PATHS, CookieTwiceError, ProvenCallers, RatedCallers, WebLogin
from shim.server.rest.callers import cookie_of as one_cookie
from shim.server.rest.messages import Request
from shim.server.rest.provider_callers import SESSION_COOKIE, LoginDemandedError, NamelessCallers, ProviderCallers
from shim.simulation.stores import InMemoryTokenStore
from tests.doubles.clock import FakeClock
from tests.doubles.identity_provider import ScriptedProvider
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


# ---------------------------------------------------------------------- behind an identity provider, and counted


def asked(target=METRICS, **headers):
    path, _, query = target.partition("?")
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Request("GET", path, query, named, b"", "10.0.0.7"), parse_query(query)


JWT = "aaaa.bbbb.cccc"


class Provided:
    """Callers behind a provider that knows carol's token."""

    def __init__(self):
        self.server = ScriptedServer()
        self.provider = ScriptedProvider(tokens={JWT: {"preferred_username": "carol"}})
        self.sessions = Sessions(b"s" * 32, FakeClock(), lambda count: bytes(range(count)), lasts_s=100.0)
        self.callers = ProviderCallers(
            self.provider,
            usual(ClaimRules),
            self.sessions,
            self.server.identity,
            NamelessCallers(self.server.identity),
            "http://front:8088/",
        )

    @property
    def session(self):
        return f"{SESSION_COOKIE}={self.sessions.begin('dave', frozenset({'g'}))}"


async def test_a_token_of_the_provider_is_known_at_once_when_its_key_is_and_else_asked_for():
    made = Provided()
    request, query = asked(authorization=f"Bearer {JWT}")
    with pytest.raises(HeddleError, match="has to be asked"):
        made.callers.at_once(request, query)
    made.provider.known_tokens.add(JWT)
    assert made.callers.at_once(request, query).user == "carol"
    assert (await made.callers.log_in(request, query)).caller.user == "carol"
    assert (await made.callers.again(request, query)).user == "carol"
    for target in (f"{METRICS}?doAs=bob", f"{METRICS}?user.name=bob"):
        other = asked(target, authorization=f"Bearer {JWT}")
        for way in (made.callers.log_in, made.callers.again):
            with pytest.raises(UserError):
                await way(*other)
        with pytest.raises(UserError):
            made.callers.at_once(*other)
    made.provider.is_away = True
    assert made.callers.at_once(request, query).user == "carol"
    with pytest.raises(ProviderUnavailableError):
        await made.callers.again(request, query)
    del made.provider.tokens[JWT]
    made.provider.is_away = False
    with pytest.raises(BadTokenError):
        await made.callers.again(request, query)


async def test_a_session_is_its_users_until_it_is_over():
    made = Provided()
    request, query = asked(cookie=made.session)
    for caller in (
        made.callers.at_once(request, query),
        (await made.callers.log_in(request, query)).caller,
        await made.callers.again(request, query),
    ):
        assert (caller.user, caller.groups, caller.has_login) == ("dave", frozenset({"g"}), True)
    with pytest.raises(LoginDemandedError, match="the session is over"):
        await made.callers.again(*asked(cookie=f"{SESSION_COOKIE}=made-up"))


async def test_who_shows_nothing_is_nobody_at_open_paths_and_asked_to_log_in_elsewhere():
    made = Provided()
    (open_path, *_) = sorted(OPEN_PATHS)
    for way in (made.callers.at_once, made.callers.log_in, made.callers.again):
        found = way(*asked(open_path))
        found = await found if inspect.isawaitable(found) else found
        assert getattr(found, "caller", found) == made.server.identity.anonymous

        async def elsewhere(way=way):
            found = way(*asked(f"{METRICS}?a=b"))
            return await found if inspect.isawaitable(found) else found

        with pytest.raises(LoginDemandedError) as demanded:
            await elsewhere()
        assert demanded.value.location == ""
    with pytest.raises(LoginDemandedError) as demanded:
        await made.callers.log_in(*asked(f"{METRICS}?a=b", accept="text/html"))
    assert demanded.value.location == f"http://front:8088/oidc/login?next={METRICS}%3Fa%3Db"


class Noted:
    """Callers that all are eve, and what was asked of them."""

    may_wait = True

    def __init__(self):
        self.seen = []

    def at_once(self, request, query):
        self.seen.append(("at once", request, query))
        return Caller("eve", "eve")

    async def log_in(self, request, query):
        self.seen.append(("log in", request, query))
        return WebLogin(Caller("eve", "eve"))

    async def again(self, request, query):
        self.seen.append(("again", request, query))
        return Caller("eve", "eve")


async def test_calls_are_counted_but_not_a_look_whether_somebody_is_still_welcome():
    limits = RateLimits(user=Rate(1.0, 2), address=Rate(1.0, 3))
    noted = Noted()
    callers = RatedCallers(CallRates(limits, FakeClock()), noted)
    request, query = asked()
    for _ in range(9):
        assert (await callers.again(request, query)).user == "eve"
    assert callers.at_once(request, query).user == "eve"
    assert (await callers.log_in(request, query)).caller.user == "eve"
    with pytest.raises(TooManyCallsError):
        await callers.log_in(request, query)
    assert all(seen[1:] == (request, query) for seen in noted.seen)
    (open_path, *_) = sorted(OPEN_PATHS)
    assert (await callers.log_in(*asked(open_path))).caller.user == "eve"
    assert callers.may_wait


@pytest.mark.parametrize(("part", "value"), [("password", b"x" * 20), ("password", b""), ("identifier", b"x" * 20)])
async def test_a_token_of_which_a_part_is_another_is_none(server, tokens, part, value):
    """Who knows the public part of a token, which logs may hold, has not its password."""
    token = await tokens.issue("ada", "", "", is_proven=True)
    assert (await server.ask("GET", METRICS, x_hadoop_delegation_token=encode_token(token))).status != 403
    setattr(token, part, value)
    refused = await server.ask("GET", METRICS, x_hadoop_delegation_token=encode_token(token))
    assert refused.status == 403


@pytest.mark.parametrize("token", ["none", "good", "cancelled"])
@pytest.mark.parametrize("cookie", ["none", "good", "broken"])
async def test_who_goes_on_asking_is_known_by_his_cookie_or_his_token_as_it_is_now(server, tokens, cookie, token):
    """A good cookie goes first; who has a token and a broken cookie is known by the token; a ticket is not shown."""
    made = await tokens.issue("bob", "", "oozie", is_proven=True)
    if token == "cancelled":
        await tokens.cancel(made, caller="bob")
    good = cookie_of(await server.ask("GET", METRICS, authorization=ticket("ada@TEST")))
    headers = [("host", "front:8088")]
    headers += [] if cookie == "none" else [("cookie", good if cookie == "good" else good[:-3])]
    headers += [] if token == "none" else [("x-hadoop-delegation-token", encode_token(made))]
    request = Request("GET", METRICS, "", tuple(headers), b"", "127.0.0.1")
    callers = ProvenCallers(server.identity, NamedTickets(), PrincipalRules(frozenset({"TEST"})), tokens)
    asked = callers.again(request, parse_query(""))
    ada = ("ada", "ada", True)
    expected = {
        ("none", "none"): None,
        ("none", "good"): ("bob", "oozie", False),
        ("none", "cancelled"): "refused",
        ("good", "none"): ada,
        ("good", "good"): ada,
        ("good", "cancelled"): ada,
        ("broken", "none"): "refused",
        ("broken", "good"): ("bob", "oozie", False),
        ("broken", "cancelled"): "refused",
    }[cookie, token]
    if expected == "refused":
        with pytest.raises(UserError):
            await asked
        return
    caller = await asked
    found = None if caller is None else (caller.user, caller.real_user, caller.has_ticket)
    assert found == expected
