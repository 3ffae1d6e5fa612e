"""The short way to a new id: what it answers and reports is what the usual way would."""

import asyncio
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shim.domain.roles import Role, TokenScope
from shim.identity.roles import RoleRules
from shim.identity.service import Caller, IdentityRules, ProxyRule
from shim.server.rest.answers import AnswerWriter
from shim.server.rest.asgi import rendered_answer
from shim.server.rest.bearer_tokens import BearerCallers
from shim.server.rest.callers import BelievedCallers
from shim.server.rest.messages import Request
from shim.server.rest.new_ids import NewIdAnswers
from shim.server.rest.request_records import RequestResponse
from tests.doubles.settings import usual
from tests.support.examples import examples
from tests.support.scripted_server import BASE, ScriptedServer

PATH = f"{BASE}/apps/new-application"
HOST = ("host", "front:8088")
NUMBERS = re.compile(rb"application_\d+_\d+|X-Request-Id: r-[0-9a-f]+")

QUERIES = st.lists(
    st.sampled_from(
        [
            "user.name=alice",
            "user.name=Bob",
            "user.name=knox",
            "user.name=",
            "user.name=a%20b",
            "user.name=a:b",
            "user.name=%C3%BC",
            "doAs=carol",
            "doas=knox",
            "cluster=east",
            "cluster=",
            "x=1",
            "x=1;doAs=carol",
            "op=GETDELEGATIONTOKEN",
            "delegation=abc",
            "%",
        ]
    ),
    max_size=3,
).map("&".join)
HEADERS = st.lists(
    st.sampled_from(
        [
            ("accept", "application/json"),
            ("accept", "*/*"),
            ("accept", "application/xml"),
            ("accept", "image/png"),
            ("accept", "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"),
            ("accept-encoding", "gzip, deflate"),
            ("accept-encoding", "identity"),
            ("content-encoding", "gzip"),
            ("content-length", "0"),
            ("content-type", "application/json"),
            ("origin", "http://evil.example"),
            ("origin", "http://front:8088"),
            ("referer", "http://front:8088/cluster"),
            ("referer", "http://evil.example/"),
            ("sec-fetch-site", "cross-site"),
            ("user-agent", "Mozilla/5.0"),
            ("x-request-id", "mine-1"),
            ("x-request-id", "not one\x7f"),
            ("cookie", "hadoop.auth=forged"),
            ("authorization", "Bearer heddle_0123456789abcdef_x"),
            ("authorization", "Basic YTpi"),
            ("x-hadoop-delegation-token", "abc"),
        ]
    ),
    max_size=4,
).map(lambda lines: (HOST, *lines))
RULES = st.sampled_from(
    [
        usual(IdentityRules),
        usual(IdentityRules, allow_anonymous=True),
        usual(IdentityRules, proxy_users={"knox": ProxyRule(("127.0.0.1",), ("*",))}),
        usual(IdentityRules, roles=RoleRules({Role.VIEWER: ("alice",), Role.USER: ("carol",)})),
    ]
)


class World:
    """A server that has ids, and the short way beside it."""

    def __init__(self, rules: IdentityRules) -> None:
        self.server = ScriptedServer(rules=rules)
        self.told: list[RequestResponse] = []
        backend, identity = self.server.backend, self.server.identity
        writer = AnswerWriter(backend.clock.now_s)
        callers = BearerCallers(self.server.api_tokens, BelievedCallers(identity))
        self.short = NewIdAnswers(backend, identity, callers, writer, self.told.append, lambda: "r-0")

    async def begin(self) -> "World":
        await self.server.poll()
        await self.server.backend.ids.issue()
        return self

    async def by_the_usual_way(self, request: Request) -> tuple[bytes, RequestResponse]:
        answer = await self.server.federation.wait_for(self.server.server.answer(request))
        return rendered_answer(answer), self.server.exchanges[-1]


def asking(query: str, headers: tuple[tuple[str, str], ...] = (HOST,), **changed: Any) -> Request:
    return replace(Request("POST", PATH, query, headers, b"", "127.0.0.1"), **changed)


def masked(answer: bytes) -> bytes:
    return NUMBERS.sub(b"#", answer)


def bare(told: RequestResponse) -> RequestResponse:
    return replace(told, request_id="", duration_s=0.0)


@settings(max_examples=examples(25), deadline=None)
@given(RULES, st.lists(st.tuples(QUERIES, HEADERS), min_size=4, max_size=12))
def test_the_short_way_answers_and_reports_as_the_usual_one_does(rules, asked):
    async def compare() -> None:
        world = await World(rules).begin()
        for query, headers in asked:
            request = asking(query, headers)
            before = len(world.told)
            short = world.short.find(request)
            if short is None:
                assert len(world.told) == before
                continue
            usual, reported = await world.by_the_usual_way(request)
            assert masked(b"".join(short)) == masked(usual)
            assert [bare(each) for each in world.told[before:]] == [bare(reported)]
            assert world.told[-1].duration_s == reported.duration_s == 0.0, "the clock is held"

    asyncio.run(compare())


@pytest.mark.parametrize(
    "headers",
    [
        (HOST,),
        (HOST, ("accept", "application/json"), ("user-agent", "curl/8")),
        (HOST, ("accept", "*/*"), ("accept-encoding", "identity"), ("content-length", "0")),
        (HOST, ("x-request-id", "mine-1"), ("origin", "http://front:8088")),
    ],
)
async def test_usual_calls_of_many_users_take_the_short_way(headers):
    world = await World(usual(IdentityRules)).begin()
    for number in range(20):
        assert world.short.find(asking(f"user.name=user{number}", headers)) is not None
    assert [told.caller.user for told in world.told if told.caller] == [f"user{number}" for number in range(20)]
    assert {told.duration_s for told in world.told} == {0.0}, "the clock is held"


@pytest.mark.parametrize(
    "request_",
    [
        asking("user.name=alice", (HOST, ("accept", "application/xml"))),
        asking("user.name=alice", (HOST, ("accept-encoding", "gzip"))),
        asking("user.name=alice", (HOST, ("origin", "http://evil.example"))),
        asking("user.name=alice", (HOST, ("content-encoding", "gzip"))),
        asking("user.name=alice&cluster=east"),
        asking("user.name=a:b"),
        asking("user.name=alice;doAs=carol"),
        asking("user.name=alice&doAs=carol"),
        asking(""),
        asking("user.name=alice", method="GET"),
        asking("user.name=alice", raw_path=f"{PATH}/"),
        replace(asking("user.name=alice"), body=b"{}"),
    ],
)
async def test_what_is_unusual_or_refused_goes_the_usual_way(request_):
    world = await World(usual(IdentityRules)).begin()
    assert world.short.find(request_) is None
    assert not world.told


async def test_whose_token_may_only_read_gets_no_id():
    world = await World(usual(IdentityRules)).begin()
    reads = Caller("alice", "alice", scopes=frozenset({TokenScope.READ}))

    class ByToken(BelievedCallers):
        def at_once(self, request, query):  # noqa: ARG002 - as `BelievedCallers`
            return reads

    backend, identity = world.server.backend, world.server.identity
    callers, writer = ByToken(identity), AnswerWriter(backend.clock.now_s)
    short = NewIdAnswers(backend, identity, callers, writer, world.told.append, lambda: "r-0")
    assert short.find(asking("user.name=alice")) is None
    assert not world.told


async def test_every_id_is_given_once_whichever_way():
    world = await World(usual(IdentityRules)).begin()
    given_out = []
    for number in range(60):
        request = asking("user.name=alice")
        short = world.short.find(request) if number % 2 else None
        answer = b"".join(short) if short is not None else (await world.by_the_usual_way(request))[0]
        given_out += re.findall(rb"application_\d+_\d+", answer)
    assert len(given_out) == len(set(given_out)) == 60
