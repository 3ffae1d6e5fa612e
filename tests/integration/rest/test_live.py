"""Heddle's documents as server-sent events: whole at first, then what changes, and nothing kept for slow readers."""

import asyncio
import inspect
import json
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import httpx
import pytest

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.roles import Role, TokenScope
from shim.domain.subclusters import Admission
from shim.errors import BadRequestError, UnavailableError
from shim.identity.roles import RoleRules
from shim.identity.service import Caller, IdentityRules
from shim.ports.resource_manager import RestAnswer, RestRequest
from shim.server.rest.answers import Document
from shim.server.rest.live import FOR_ALL, LiveDocuments
from shim.server.rest.messages import Answer, Request
from tests.doubles.clock import FakeClock
from tests.doubles.resource_manager import ScriptedResourceManager
from tests.doubles.settings import usual
from tests.support.console_pages import serving
from tests.support.scripted_server import ScriptedServer

ALICE = Caller("alice", "alice")
BOB = Caller("bob", "bob")
QUEUES = "watch=queues"
USERS = ("alice", "bob")


def asked(query: str) -> Request:
    return Request("GET", "/heddle/v1/live", query, (("cookie", "hadoop.auth=secret"),), b"", "127.0.0.1")


class Shelf:
    """Documents by their paths; counts who reads them."""

    def __init__(self) -> None:
        self.documents: dict[str, Any] = {"queues": {"queues": [{"name": "root.a", "used": 1}], "of": "x" * 200}}
        self.read: list[tuple[str, str]] = []
        self.requests: list[Request] = []

    async def ask(self, request: Request, caller: Caller) -> Document:
        self.requests.append(request)
        name = request.raw_path.removeprefix("/heddle/v1/")
        self.read.append((caller.user, name))
        await asyncio.sleep(0)
        found = self.documents[name]
        if isinstance(found, Exception):
            raise found
        return Document(json.dumps(found).encode())


class ShowsOwnersTheirs:
    """A ResourceManager with `yarn.acl.enable`: users see their own applications."""

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        """Leave others' applications out of lists."""
        del timeout_s
        answer = manager.take(request)
        if request.user not in USERS or not request.path.endswith("/apps"):
            return answer
        apps = [each for each in json.loads(answer.body)["apps"]["app"] if each["user"] == request.user]
        return replace(answer, body=json.dumps({"apps": {"app": apps}}).encode())


class Reading:
    """A stream that is read event by event, while the clock moves."""

    def __init__(self, live: LiveDocuments, clock: FakeClock, query: str, caller: Caller = ALICE) -> None:
        self.events = live.open(asked(query), caller)
        self.clock = clock

    async def next(self) -> tuple[str, Any]:
        """The next event, and what it tells."""
        coming = asyncio.ensure_future(anext(self.events))
        for _ in range(400):
            await asyncio.sleep(0)
            if coming.done():
                break
            await self.clock.advance(0.1)
        kind, data, *rest = (await coming).decode().split("\n")
        assert rest == ["", ""]
        return kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def live(shelf: Shelf, clock: FakeClock) -> LiveDocuments:
    return LiveDocuments(shelf.ask, "/heddle/v1/", clock)


async def test_the_first_event_tells_all_and_the_next_what_changed(live, shelf, clock):
    reading = Reading(live, clock, QUEUES)
    assert await reading.next() == ("state", {"watch": "queues", "document": shelf.documents["queues"]})
    shelf.documents["queues"] = {**shelf.documents["queues"], "queues": [{"name": "root.a", "used": 2}]}
    patch = [{"op": "replace", "path": "/queues/0/used", "value": 2}]
    assert await reading.next() == ("change", {"watch": "queues", "patch": patch})
    await reading.events.aclose()


async def test_a_change_that_is_longer_than_the_whole_is_told_as_the_whole(live, shelf, clock):
    reading = Reading(live, clock, QUEUES)
    await reading.next()
    shelf.documents["queues"] = list(range(50))
    assert (await reading.next())[0] == "state"
    shelf.documents["queues"] = list(range(50, 99))
    assert await reading.next() == ("state", {"watch": "queues", "document": list(range(50, 99))})
    await reading.events.aclose()


async def test_who_missed_a_change_is_told_the_whole(live, shelf, clock):
    slow, fast = Reading(live, clock, QUEUES), Reading(live, clock, QUEUES)
    await slow.next()
    await fast.next()
    for used in (2, 3):
        shelf.documents["queues"] = {**shelf.documents["queues"], "queues": [{"name": "root.a", "used": used}]}
        assert (await fast.next())[0] == "change"
    assert await slow.next() == ("state", {"watch": "queues", "document": shelf.documents["queues"]})
    await slow.events.aclose()
    await fast.events.aclose()


async def test_nothing_new_is_said_to_be_alive(live, clock, shelf):
    reading = Reading(live, clock, QUEUES)
    await reading.next()
    assert await reading.next() == ("alive", {})
    assert len(shelf.read) > 5
    await reading.events.aclose()


async def test_what_takes_long_to_read_is_read_less_often(shelf: Shelf, clock: FakeClock):
    async def slow(request: Request, caller: Caller) -> Document:
        await clock.sleep(3.0)
        return await shelf.ask(request, caller)

    reading = Reading(LiveDocuments(slow, "/heddle/v1/", clock), clock, QUEUES)
    began_s = clock.monotonic_s()
    while clock.monotonic_s() - began_s < 120:
        await reading.next()
    assert len(shelf.read) in (2, 3)
    await reading.events.aclose()


async def test_the_doctor_is_not_asked_every_second(live, shelf, clock):
    shelf.documents["doctor"] = {"findings": []}
    reading = Reading(live, clock, "watch=doctor")
    began_s = clock.monotonic_s()
    while clock.monotonic_s() - began_s < 60:
        await reading.next()
    assert len(shelf.read) <= 5
    await reading.events.aclose()


async def test_what_cannot_be_read_is_said_once_and_whole_when_it_can_again(live, shelf, clock):
    reading = Reading(live, clock, QUEUES)
    before, shelf.documents["queues"] = shelf.documents["queues"], UnavailableError("the store is away")
    assert await reading.next() == ("trouble", {"watch": "queues", "message": "the store is away"})
    assert await reading.next() == ("alive", {})
    shelf.documents["queues"] = before
    assert await reading.next() == ("state", {"watch": "queues", "document": before})
    await reading.events.aclose()


async def test_a_document_that_is_the_same_after_a_trouble_as_before_it_is_told_again(live, shelf, clock):
    reading = Reading(live, clock, QUEUES)
    same = shelf.documents["queues"]
    assert await reading.next() == ("state", {"watch": "queues", "document": same})
    shelf.documents["queues"] = UnavailableError("the store is away")
    assert await reading.next() == ("trouble", {"watch": "queues", "message": "the store is away"})
    shelf.documents["queues"] = same
    assert await reading.next() == ("state", {"watch": "queues", "document": same})
    await reading.events.aclose()


async def test_it_is_read_once_for_all_of_one_caller_and_for_each_caller_in_his_own_name(live, shelf, clock):
    readings = [Reading(live, clock, QUEUES) for _ in range(5)] + [Reading(live, clock, QUEUES, BOB)]
    for each in readings:
        await each.next()
    assert sorted(shelf.read) == [("alice", "queues"), ("bob", "queues")]
    for each in readings:
        await each.events.aclose()


async def test_what_is_for_all_is_read_once_for_all_with_the_same_scopes(shelf: Shelf, clock: FakeClock):
    live = LiveDocuments(shelf.ask, "/heddle/v1/", clock, is_for_all={"queues"}.__contains__)
    narrow = replace(BOB, scopes=frozenset({TokenScope.SUBMIT}))
    readings = [Reading(live, clock, "watch=queues%3Fa", caller) for caller in (ALICE, BOB, narrow)]
    for each in readings:
        await each.next()
    assert [request.query for request in shelf.requests] == ["a", "a"]
    for each in readings:
        await each.events.aclose()
    assert live.kept == (0, 0)


async def test_what_is_for_all_does_not_look_at_who_asks():
    endpoints = {each.path: each for each in ScriptedServer().api.endpoints if each.method == "GET"}
    for name in FOR_ALL:
        assert "asker" not in inspect.signature(endpoints[name].answer).parameters


async def test_streams_of_guarded_clusters_show_each_user_his_own():
    server = ScriptedServer(guarded=("west",), staleness_s=1000.0)
    west = server.federation["west"]
    for number, user in enumerate(("alice", "bob"), 1):
        west.add_application(ApplicationId(1_700_000_000_000, number), user=user, name=f"of {user}")
    west.behave(ShowsOwnersTheirs())
    await server.poll()
    streams = {user: await server.ask("GET", f"/heddle/v1/live?watch=apps&user.name={user}") for user in USERS}
    for user, answer in streams.items():
        assert answer.later is not None
        event = await server.federation.wait_for(anext(answer.later))
        assert re.findall("of (alice|bob)", event.decode()) == [user]
    for answer in streams.values():
        assert answer.later is not None
        await answer.later.aclose()


async def test_no_header_of_the_stream_goes_with_what_it_reads(live, shelf, clock):
    reading = Reading(live, clock, "watch=queues%3Fa%3D1%26b%3D2")
    shelf.documents["queues"] = {}
    await reading.next()
    (request,) = shelf.requests
    assert (request.method, request.raw_path, request.query) == ("GET", "/heddle/v1/queues", "a=1&b=2")
    assert request.headers == ()
    await reading.events.aclose()


async def test_a_stream_ends_by_itself_and_leaves_nothing(live, clock, shelf):
    reading = Reading(live, clock, QUEUES)
    kinds = [(await reading.next())[0] for _ in range(60)]
    assert kinds == ["state", *["alive"] * 59]
    with pytest.raises(StopAsyncIteration):
        await reading.next()
    assert live.kept == (0, 0)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "watch=",
        "watch=tokens",
        "watch=containers/c/logs",
        "watch=live",
        "watch=../clusters",
        "watch=/clusters",
        "watch=clustersx",
        f"watch=apps?{'x' * 3000}",
        "watch=apps/%0A",
        "&".join(f"watch=apps/{number}" for number in range(9)),
    ],
)
async def test_what_may_not_be_watched_is_refused_before_anything_is_sent(live, query):
    with pytest.raises(BadRequestError, match="live: "):
        live.open(asked(query), ALICE)


async def test_one_user_cannot_take_all_streams(live, clock, shelf):
    mine = [Reading(live, clock, QUEUES) for _ in range(250)]
    for each in mine:
        await each.next()
    with pytest.raises(UnavailableError, match="too many consoles"):
        live.open(asked(QUEUES), ALICE)
    other = Reading(live, clock, QUEUES, BOB)
    await other.next()
    await mine[0].events.aclose()
    again = Reading(live, clock, QUEUES)
    await again.next()
    for each in (*mine, other, again):
        await each.events.aclose()


# -- on a socket -----------------------------------------------------------------------------------------------------


@pytest.fixture
async def server() -> ScriptedServer:
    opened = ScriptedServer()
    opened.federation["east"].add_application(ApplicationId(1_700_000_000_000, 1), user="alice", name="sort")
    await opened.poll()
    return opened


async def events_of(answer: httpx.Response) -> AsyncGenerator[tuple[str, Any], None]:
    kind = ""
    async for line in answer.aiter_lines():
        if line.startswith("event: "):
            kind = line.removeprefix("event: ")
        elif line:
            yield kind, json.loads(line.removeprefix("data: "))


async def test_a_browser_hears_of_a_drained_cluster(server: ScriptedServer):
    async with (
        serving(server) as url,
        httpx.AsyncClient(trust_env=False) as client,
        client.stream("GET", f"{url}/heddle/v1/live?watch=clusters&watch=apps") as answer,
        aclosing(events_of(answer)) as events,
    ):
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/event-stream;charset=utf-8"
        assert "content-length" not in answer.headers
        first = {data["watch"]: data["document"] for _, data in [await anext(events), await anext(events)]}
        assert {each["id"] for each in first["clusters"]["clusters"]} == {"east", "west"}
        assert first["apps"]["apps"][0]["name"] == "sort"
        await server.administration.set_admission(SubClusterId("west"), Admission.DRAINING, by="queen")
        async for _, data in events:
            if "DRAINING" in json.dumps(data):
                break


async def test_a_server_that_ends_lets_nobody_wait(server: ScriptedServer):
    async with httpx.AsyncClient(trust_env=False) as client, asyncio.timeout(60):
        async with serving(server) as url:
            sent = client.build_request("GET", f"{url}/heddle/v1/live?watch=clusters")
            answer = await client.send(sent, stream=True)
            lines = answer.aiter_lines()
            await anext(lines)
        assert [line async for line in lines][-1] == "", "its end is no error"
        await answer.aclose()


async def test_refusals_come_with_their_status_and_head_with_no_stream(server: ScriptedServer):
    async with serving(server) as url, httpx.AsyncClient(trust_env=False) as client:
        refused = await client.get(f"{url}/heddle/v1/live?watch=tokens")
        assert (refused.status_code, refused.json()["RemoteException"]["exception"]) == (400, "BadRequestException")
        head = await client.head(f"{url}/heddle/v1/live?watch=clusters")
        assert head.status_code == 200
        assert (await client.post(f"{url}/heddle/v1/live?watch=clusters")).status_code == 404


# -- who may not listen any more -------------------------------------------------------------------------------------


async def opened_stream(server: ScriptedServer, **headers: Any) -> Answer:
    answer = await server.ask("GET", "/heddle/v1/live?watch=clusters", **headers)
    assert answer.status == 200
    assert answer.later is not None
    assert b"event: state" in await server.federation.wait_for(anext(answer.later))
    return answer


@pytest.mark.parametrize("is_elsewhere", [False, True])
async def test_a_stream_ends_within_2_s_of_the_revocation_of_its_token(*, is_elsewhere: bool):
    server = ScriptedServer()
    await server.poll()
    made = await server.api_tokens.create(ALICE, name="ci", owner="", scopes=set(), lifetime_s=10_000.0)
    other = await server.api_tokens.create(ALICE, name="other", owner="", scopes=set(), lifetime_s=10_000.0)
    stream = await opened_stream(server, authorization=f"Bearer {made.text}")
    kept = await opened_stream(server, authorization=f"Bearer {other.text}")
    assert await server.goes_on(stream, 5.0)
    stream = await opened_stream(server, authorization=f"Bearer {made.text}")
    if is_elsewhere:  # another Heddle has the same store, and its own memory
        await server.federation.stores.api_tokens.remove(made.token.id, None)
    else:
        await server.api_tokens.revoke(ALICE, made.token.id)
    assert not await server.goes_on(stream, 2.0)
    assert await server.goes_on(kept, 5.0)


async def test_a_stream_ends_with_the_right_to_read():
    roles = {Role.VIEWER: ("alice",)}
    server = ScriptedServer(rules=usual(IdentityRules, roles=RoleRules(roles)))
    await server.poll()
    stream = await server.ask("GET", "/heddle/v1/live?watch=clusters&user.name=alice")
    assert await server.goes_on(stream, 3.0)
    stream = await server.ask("GET", "/heddle/v1/live?watch=clusters&user.name=alice")
    roles.clear()
    roles[Role.VIEWER] = ("bob",)
    assert not await server.goes_on(stream, 2.0)


async def test_one_user_watches_so_many_documents(live, shelf):
    shelf.documents["apps"], readings = {}, []
    for number in range(8):
        query = "&".join(f"watch=apps%3Fsearch%3D{number}{each}" for each in range(8))
        readings.append(live.open(asked(query), ALICE))
        await anext(readings[-1])
    with pytest.raises(UnavailableError, match="64 documents"):
        live.open(asked("watch=apps%3Fsearch%3Danother"), ALICE)
    live.open(asked("watch=apps%3Fsearch%3D00"), ALICE)
    live.open(asked("watch=apps%3Fsearch%3Danother"), BOB)
    for each in readings:
        await each.aclose()


async def test_a_stream_goes_on_for_2_s_while_nobody_can_tell_who_may_hear_it():
    server = ScriptedServer()
    await server.poll()
    made = await server.api_tokens.create(ALICE, name="ci", owner="", scopes=set(), lifetime_s=10_000.0)
    for for_s, goes_on in ((1.5, True), (3.0, False)):
        server.federation.stores.api_tokens.is_away = False
        stream = await opened_stream(server, authorization=f"Bearer {made.text}")
        server.federation.stores.api_tokens.is_away = True
        assert await server.goes_on(stream, for_s) is goes_on
