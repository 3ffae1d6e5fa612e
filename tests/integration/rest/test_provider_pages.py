"""Logins at an identity provider: the way there, the way back, and all that may be wrong with it."""

import os
import re
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from shim.identity.provider_claims import ClaimRules
from shim.identity.service import Caller, IdentityRules
from shim.identity.sessions import Sessions
from shim.protocol.rest.queries import Query, parse_query
from shim.server.rest.answers import AnswerWriter
from shim.server.rest.messages import Answer, Request
from shim.server.rest.observer import RequestObserver
from shim.server.rest.provider_callers import LoginDemandedError, NamelessCallers, ProviderCallers
from shim.server.rest.provider_pages import ProviderPages, browser_alone, browser_at_address
from shim.telemetry import AuditEntry, AuditTrail, Metrics
from tests.doubles.clock import FakeClock
from tests.doubles.identity_provider import ScriptedProvider
from tests.doubles.settings import usual
from tests.support.scripted_server import ScriptedServer, body_of

ISSUER = "https://id.example.com"
WHO = "/heddle/v1/console/caller"
HTML = {"accept": "text/html,*/*"}


class KeptTrail(AuditTrail):
    """Keeps lines instead of writing them."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.entries: list[AuditEntry] = []

    def record(self, entry: AuditEntry) -> None:
        self.entries.append(entry)


@dataclass
class Door:
    """A server behind a provider."""

    is_encrypted: bool = False
    provider: ScriptedProvider = field(default_factory=ScriptedProvider)
    clock: FakeClock = field(default_factory=FakeClock)

    def __post_init__(self) -> None:
        self.sessions = Sessions(b"s" * 32, self.clock, os.urandom, lasts_s=100.0)
        writer = AnswerWriter(self.clock.now_s)
        pages = ProviderPages(
            self.provider, usual(ClaimRules), self.sessions, ISSUER, writer, is_encrypted=self.is_encrypted
        )
        self.server = ScriptedServer(
            rules=usual(IdentityRules),
            logins=pages,
            takes_jwts=True,
            callers=lambda identity: ProviderCallers(
                self.provider,
                usual(ClaimRules),
                self.sessions,
                identity,
                NamelessCallers(identity),
                "http://front:8088",
            ),
        )

    @property
    def audit(self) -> list[AuditEntry]:
        """Lines that the server's observer writes of what was answered."""
        kept = KeptTrail(self.clock)
        metrics = Metrics(self.clock, version="test", subclusters=lambda: ())
        observer = RequestObserver(metrics, kept, lambda _: None)
        for exchange in self.server.exchanges:
            observer.tell(exchange)
        return kept.entries

    async def ask(self, target: str, method: str = "GET", **headers: Any) -> Answer:
        return await self.server.ask(method, target, **headers)

    async def begin(self, wanted: str = "") -> tuple[str, str]:
        """The state and the cookie of a new login."""
        answer = await self.ask(f"/oidc/login{wanted}")
        cookie = cookies(answer)["heddle.login"]
        return value(answer, "Location").partition("state=")[2], cookie

    async def come_back(self, state: str, cookie: str, more: str = "&code=good") -> Answer:
        self.provider.codes["good"] = {"preferred_username": "alice"}
        return await self.ask(f"/oidc/callback?state={state}{more}", cookie=f"heddle.login={cookie}")


def value(answer: Answer, name: str) -> str:
    return next(text for key, text in answer.headers if key == name)


def cookies(answer: Answer) -> dict[str, str]:
    told = [text.partition(";")[0].partition("=") for key, text in answer.headers if key == "Set-Cookie"]
    return {name: text for name, _, text in told}


@pytest.fixture
async def door() -> Door:
    opened = Door()
    await opened.server.poll()
    return opened


async def test_a_login_begins_a_session(door: Door) -> None:
    answer = await door.come_back(*await door.begin())
    assert (answer.status, value(answer, "Location")) == (302, "/console/")
    session = cookies(answer)["heddle.session"]
    assert cookies(answer)["heddle.login"] == ""
    told = body_of(await door.ask(WHO, cookie=f"heddle.session={session}"))
    assert (told["user"], told["has_session"]) == ("alice", True)
    assert door.provider.redeemed[0].verifier


@pytest.mark.parametrize("is_encrypted", [True, False])
async def test_cookies_are_for_the_server_alone_and_for_tls_where_there_is_some(*, is_encrypted: bool) -> None:
    door = Door(is_encrypted=is_encrypted)
    answers = [await door.ask("/oidc/login"), await door.come_back(*await door.begin())]
    for answer in answers:
        for text in (text for key, text in answer.headers if key == "Set-Cookie"):
            assert "HttpOnly; SameSite=Lax" in text
            assert ("Secure" in text) is is_encrypted


@pytest.mark.parametrize(
    "wanted",
    [
        *("//evil.example", "/\\evil.example", "/\\/evil.example", "https://evil.example", "javascript:alert(1)"),
        *("\\\\evil.example", "/%0a/evil", "evil.example", "/%09/evil.example", "", "/%5cevil.example", "/a%0d%0aX:1"),
        "/" + "x" * 3000,
    ],
)
async def test_after_a_login_nobody_is_sent_to_another_host(door: Door, wanted: str) -> None:
    answer = await door.come_back(*await door.begin(f"?next={wanted}"))
    assert re.fullmatch(r"/(?![/\\])[\x21-\x7e]*", value(answer, "Location"))
    assert "evil" not in value(answer, "Location").partition("/")[0]
    assert value(answer, "Location").startswith(("/console/", "/%"))


async def test_whoever_went_somewhere_comes_back_there(door: Door) -> None:
    answer = await door.ask("/cluster/nodes?a=1", **HTML)
    assert (answer.status, value(answer, "Location")) == (
        302,
        "http://front:8088/oidc/login?next=/cluster/nodes%3Fa%3D1",
    )
    state, cookie = await door.begin("?next=/cluster/nodes%3Fa%3D1")
    assert value(await door.come_back(state, cookie), "Location") == "/cluster/nodes?a=1"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("x&code=good", "state differs"),
        ("&code=good&iss=https://evil.example", "another identity provider"),
        ("&error=access_denied", "did not log you in"),
        ("&code=", "no code"),
        ("", "no code"),
        ("&code=never-issued", "invalid_grant"),
    ],
)
async def test_what_comes_back_otherwise_begins_no_session(door: Door, more: str, told: str) -> None:
    answer = await door.come_back(*await door.begin(), more)
    assert (answer.status, told in answer.body.decode()) == (403, True)
    assert "heddle.session" not in cookies(answer)


async def test_a_state_is_good_for_the_browser_that_began_alone(door: Door) -> None:
    state, _ = await door.begin()
    _, other = await door.begin()
    for cookie in (other, "", "forged"):
        answer = await door.come_back(state, cookie)
        assert answer.status == 403
        assert "heddle.session" not in cookies(answer)
    assert door.provider.redeemed == []


async def test_a_code_is_good_once(door: Door) -> None:
    state, cookie = await door.begin()
    assert (await door.come_back(state, cookie)).status == 302
    answer = await door.ask(f"/oidc/callback?state={state}&code=good", cookie=f"heddle.login={cookie}")
    assert answer.status == 403


async def test_a_cookie_is_good_for_one_callback(door: Door) -> None:
    state, cookie = await door.begin()
    assert (await door.come_back(state, cookie)).status == 302
    assert (await door.come_back(state, cookie)).status == 403, "though its code is another one"
    assert len(door.provider.redeemed) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"user_agent": "Chrome"},
        {},
        {"user_agent": "Firefox", "accept_language": "de"},
        {"user_agent": "Firefox", "x_forwarded_for": "10.9.9.9"},
    ],
    ids=str,
)
async def test_a_cookie_that_is_planted_in_another_browser_logs_nobody_in(door: Door, other: dict[str, str]) -> None:
    begun = await door.ask("/oidc/login", user_agent="Firefox")
    cookie, state = cookies(begun)["heddle.login"], value(begun, "Location").partition("state=")[2]
    door.provider.codes["good"] = {"preferred_username": "mallory"}
    target = f"/oidc/callback?state={state}&code=good"
    answer = await door.ask(target, cookie=f"heddle.login={cookie}", **other)
    assert (answer.status, "heddle.session" in cookies(answer)) == (403, False)
    assert door.provider.redeemed == []
    door.provider.codes["good"] = {"preferred_username": "alice"}
    own = await door.ask(target, cookie=f"heddle.login={cookie}", user_agent="Firefox")
    assert own.status == 302, "the browser that began is not kept out by the other's try"


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("10.0.0.1", "10.0.0.2", False),
        ("10.0.0.1", "::ffff:10.0.0.1", True),
        ("2001:db8::1", "2001:db8::2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("10.0.0.1", "", False),
    ],
)
def test_a_browser_is_known_by_its_network_unless_that_is_turned_off(one: str, other: str, *, is_same: bool) -> None:
    asked = [Request("GET", "/", "", (("user-agent", "Firefox"),), b"", each) for each in (one, other)]
    assert (len(set(map(browser_at_address, asked))) == 1) is is_same
    assert len(set(map(browser_alone, asked))) == 1
    forwarded = [replace(each, headers=(*each.headers, ("x-forwarded-for", "x"))) for each in asked]
    assert len(set(map(browser_at_address, forwarded))) == 1
    assert browser_at_address(asked[0]) != browser_at_address(forwarded[0])


async def test_a_second_cookie_that_somebody_slipped_in_makes_both_none(door: Door) -> None:
    mine, theirs = (door.sessions.begin(user, frozenset()) for user in ("alice", "mallory"))
    for both in (f"{theirs}; heddle.session={mine}", f"{mine}; heddle.session={mine}", f'"{mine}";heddle.session='):
        assert (await door.ask(WHO, cookie=f"heddle.session={both}")).status == 400
    begun, cookie = await door.begin()
    slipped = f"{cookie}; heddle.login={cookie}"
    assert (await door.come_back(begun, slipped)).status == 400


async def test_a_session_names_its_user_alone(door: Door) -> None:
    cookie = f"heddle.session={door.sessions.begin('alice', frozenset())}"
    assert body_of(await door.ask(f"{WHO}?user.name=root", cookie=cookie))["user"] == "alice"
    assert (await door.ask(f"{WHO}?doAs=bob", cookie=cookie)).status == 403
    assert (await door.ask(WHO, cookie='hadoop.auth="u=root&p=root&t=simple-dt&e=9&s=x"')).status == 401


async def test_a_stream_ends_with_the_logout(door: Door) -> None:
    mine, other = (f"heddle.session={door.sessions.begin('alice', frozenset())}" for _ in range(2))
    stream, kept = [await door.ask("/heddle/v1/live?watch=clusters", cookie=each) for each in (mine, other)]
    assert await door.server.goes_on(stream, 3.0)
    stream = await door.ask("/heddle/v1/live?watch=clusters", cookie=mine)
    await door.ask("/oidc/logout", "POST", cookie=mine)
    assert not await door.server.goes_on(stream, 2.0)
    assert await door.server.goes_on(kept, 3.0)


class TicketsOnce(NamelessCallers):
    """Beside the provider there are tickets, which cannot be shown again."""

    async def again(self, request: Request, query: Query) -> Caller | None:
        del request, query
        return None


async def test_a_session_that_was_ended_is_nobodys_also_where_there_are_tickets(door: Door) -> None:
    identity = door.server.identity
    others = TicketsOnce(identity)
    callers = ProviderCallers(door.provider, usual(ClaimRules), door.sessions, identity, others, "http://front:8088")
    text = door.sessions.begin("alice", frozenset())
    asked = Request("GET", "/heddle/v1/live", "", (("cookie", f"heddle.session={text}"),), b"", "127.0.0.1")
    again = await callers.again(asked, parse_query(""))
    assert again is not None
    assert again.user == "alice"
    session = door.sessions.find(text)
    assert session is not None
    door.sessions.end(session)
    with pytest.raises(LoginDemandedError):
        await callers.again(asked, parse_query(""))
    assert await callers.again(replace(asked, headers=()), parse_query("")) is None


async def test_a_page_of_another_site_logs_nobody_out(door: Door) -> None:
    cookie = f"heddle.session={door.sessions.begin('alice', frozenset())}"
    await door.ask("/oidc/logout", "POST", cookie=cookie, origin="https://evil.example")
    assert (await door.ask(WHO, cookie=cookie)).status == 200
    answer = await door.ask("/oidc/logout", "POST", cookie=cookie)
    assert body_of(answer) == {"location": "https://id.example.com/end"}
    assert cookies(answer) == {"heddle.session": ""}
    assert (await door.ask(WHO, cookie=cookie)).status == 401


async def test_while_the_provider_is_away_sessions_go_on_and_logins_wait(door: Door) -> None:
    state, cookie = await door.begin()
    session = f"heddle.session={door.sessions.begin('alice', frozenset())}"
    door.provider.is_away = True
    assert (await door.ask(WHO, cookie=session)).status == 200
    assert (await door.ask("/oidc/login")).status == 503
    assert (await door.come_back(state, cookie)).status == 503
    assert (await door.ask(WHO, authorization="Bearer a.b.c")).status == 503
    assert body_of(await door.ask("/oidc/logout", "POST", cookie=session)) == {"location": ""}


async def test_a_bearer_is_who_the_token_says(door: Door) -> None:
    door.provider.tokens["a.b.c"] = {"preferred_username": "robot"}
    shown = {"authorization": "Bearer a.b.c"}
    assert body_of(await door.ask(WHO, **shown))["user"] == "robot"
    assert (await door.ask(WHO, authorization="Bearer x.y.z")).status == 401
    assert (await door.ask(f"{WHO}?user.name=root", **shown)).status == 401
    assert (await door.ask(f"{WHO}?doAs=root", **shown)).status == 403
    for text in ("Bearer heddle_no", "Bearer nothing", "Basic cm9vdDpyb290"):
        assert (await door.ask(WHO, authorization=text)).status == 401


async def test_what_is_kept_is_not_given_to_who_is_not_logged_in(door: Door) -> None:
    session = f"heddle.session={door.sessions.begin('alice', frozenset())}"
    for _ in range(2):
        assert (await door.ask("/ws/v1/cluster/apps", cookie=session)).status == 200
        assert (await door.ask("/ws/v1/cluster/apps")).status == 401


async def test_the_audit_tells_who_logged_in_and_out_and_whom_it_refused(door: Door):
    state, cookie = await door.begin()
    answer = await door.come_back(state, cookie)
    session = cookies(answer)["heddle.session"]
    await door.ask("/oidc/logout", "POST", cookie=f"heddle.session={session}")
    await door.come_back(state, cookie, more="&error=access_denied")
    await door.come_back("made-up", cookie)
    told = [(each.operation, each.real_user, each.result, each.status, each.target) for each in door.audit]
    assert told == [
        ("session.begin", "alice", "allowed", 302, ISSUER),
        ("session.end", "alice", "allowed", 200, ISSUER),
        ("session.begin", "", "refused", 403, ISSUER),
        ("session.begin", "", "refused", 403, ISSUER),
    ]
    assert [each.reason for each in door.audit[2:]] == [
        "the identity provider did not log you in",
        "the answer is of another login: its state differs",
    ]
    assert [each.request_id for each in door.audit] == sorted({each.request_id for each in door.audit})
    written = repr(door.audit)
    assert all(secret not in written for secret in (state, cookie, session, "code=good"))


async def test_the_audits_own_id_of_a_login_is_not_the_clients(door: Door):
    await door.ask("/oidc/callback?state=made-up", **{"x-request-id": "chosen"})
    assert [(each.client_request_id, each.request_id == "chosen") for each in door.audit] == [("chosen", False)]


async def test_a_provider_that_is_away_is_a_failure_in_the_audit(door: Door):
    state, cookie = await door.begin()
    door.provider.is_away = True
    await door.come_back(state, cookie)
    assert [(each.operation, each.result, each.status) for each in door.audit] == [("session.begin", "failed", 503)]
