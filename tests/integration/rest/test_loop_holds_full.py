"""No request holds the event loop for long where all that a process keeps for people who look is full."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from shim.concurrency.off_loop import OffLoop
from shim.domain.ids import ApplicationId
from shim.identity.service import Caller, IdentityRules
from shim.server.rest.answers import Document
from shim.server.rest.live import LiveDocuments
from shim.server.rest.messages import Request
from shim.telemetry.application_life import LifeEvent
from tests.doubles.clock import FakeClock
from tests.doubles.settings import usual
from tests.support.loop_watch import LoopWatch, too_long
from tests.support.scripted_server import ScriptedServer

DECISIONS, NODES, APPLICATIONS = 5000, 20_000, 100_000
SORTS = ("id", "name", "user", "queue", "type", "state", "started", "finished")
LISTS = (
    *(f"sort={each}&order=up&offset=50000" for each in SORTS),
    "group=user&where=queue=root.7&where=queue=root.8&limit=500",
    "started_from=1100&started_to=1900",
    "search=nightly-99",
)
LONG = {f"cluster-{number}": "the cluster is LOST " * 10 for number in range(20)}


def some_id(number: int) -> ApplicationId:
    return ApplicationId(1_700_000_000_000, number)


@pytest.mark.parametrize("query", ["", "search=nowhere", "search=nowhere&user.name=bob", "event=ENDED", "limit=500"])
async def test_a_list_of_decisions(query: str) -> None:
    server = ScriptedServer(rules=usual(IdentityRules, allow_anonymous=True, admins=("queen",)), thread=OffLoop())
    await server.poll()
    for number in range(1, DECISIONS + 1):
        facts = {"user": "alice", "queue": "root.prod", "home": "east", "reason": "why " * 125, "scores": LONG}
        server.decisions.note(LifeEvent.HOME_CHOSEN, ApplicationId(1, number), facts)

    request = Request("GET", "/heddle/v1/console/decisions", query, (("host", "front:8088"),), b"", "127.0.0.1")

    async def attempt() -> float:
        with LoopWatch() as watch:
            assert (await asyncio.create_task(server.server.answer(request))).status == 200
        return watch.longest_s

    assert await too_long(attempt) is None


async def test_trees_of_queues_that_are_put_together() -> None:
    """A tree is as large as a cluster makes it, up to its bound."""
    server = ScriptedServer(rules=usual(IdentityRules, allow_anonymous=True))
    (queue, *_) = server.federation["east"].queues
    server.federation["east"].queues = [{**queue, "junk": [{"a": None}] * 600_000}]
    request = Request("GET", "/ws/v1/cluster/scheduler", "", (("host", "front:8088"),), b"", "127.0.0.1")

    async def attempt() -> float:
        server.federation["east"].queues[0]["junk"].append({"a": None})  # no answer that is kept says so
        await server.poll()
        with LoopWatch() as watch:
            answer = await asyncio.create_task(server.server.answer(request))
        assert (answer.status, len(answer.body) > 6_000_000) == (200, True)
        return watch.longest_s

    assert await too_long(attempt) is None


async def test_nodes_that_are_put_together() -> None:
    server = ScriptedServer(rules=usual(IdentityRules, allow_anonymous=True))
    for cluster in ("east", "west"):
        nodes = server.federation[cluster].nodes
        nodes[:] = [{**nodes[0], "id": f"{cluster}{number}:1"} for number in range(NODES)]
    nodes = server.federation["east"].nodes
    request = Request("GET", "/ws/v1/cluster/nodes", "states=RUNNING", (("host", "front:8088"),), b"", "127.0.0.1")
    times = iter(range(1, 1_000))

    async def attempt() -> float:
        nodes[0] = {**nodes[0], "lastHealthUpdate": next(times)}  # no answer that is kept says so
        await server.poll()
        with LoopWatch() as watch:
            answer = await asyncio.create_task(server.server.answer(request))
        assert (answer.status, answer.body.count(b'"state":"RUNNING"')) == (200, 2 * NODES)
        return watch.longest_s

    assert await too_long(attempt) is None


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def many() -> ScriptedServer:
    """One that knows a hundred thousand applications."""
    server = ScriptedServer(rules=usual(IdentityRules, allow_anonymous=True, admins=("queen",)), thread=OffLoop())
    for number in range(1, APPLICATIONS + 1):
        who = {"name": f"nightly-{number}", "queue": f"root.{number % 50}", "user": f"user{number % 1000}"}
        cluster = server.federation["west" if number % 2 else "east"]  # no one list may have so many
        cluster.add_application(some_id(number), startedTime=1_000 + number % 1_000, **who)
    await server.poll()
    return server


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("query", LISTS)
async def test_a_list_of_a_hundred_thousand_applications(many: ScriptedServer, query: str) -> None:
    request = Request("GET", "/heddle/v1/console/applications", query, (("host", "front:8088"),), b"", "127.0.0.1")
    known = many.view.applications.find(some_id(1))
    assert known is not None
    times = iter(range(1, 1_000))

    async def attempt() -> float:
        moved = replace(known.summary, started_at_ms=next(times))  # the order has to be found anew
        many.view.applications.columns.put(known.but(summary=moved))
        with LoopWatch() as watch:
            answer = await asyncio.create_task(many.server.answer(request))
        assert (answer.status, json.loads(answer.body)["total"]) == (200, APPLICATIONS)
        return watch.longest_s

    assert await too_long(attempt) is None


def heat(turn: int) -> bytes:
    """The console's document of all nodes, of which every second one is used otherwise than a turn before."""
    rows: list[dict[str, Any]] = [
        {
            "cluster": "east",
            "node": f"node-{number}:45454",
            "rack": "/default-rack",
            "state": "RUNNING",
            "used_mib": number % 2 * turn,
        }
        for number in range(NODES)
    ]
    return json.dumps({"total": NODES, "nodes": rows}).encode()


async def test_a_stream_of_a_document_of_many_nodes() -> None:
    clock, bodies = FakeClock(), [heat(turn) for turn in range(16)]

    async def ask(_: Request, __: Caller) -> Document:
        return Document(bodies.pop())

    live = LiveDocuments(ask, "/heddle/v1/", clock)
    request = Request("GET", "/heddle/v1/live", "watch=console/nodes", (), b"", "127.0.0.1")
    events = live.open(request, Caller("alice", "alice"))
    assert (await anext(events)).startswith(b"event: state")

    async def attempt() -> float:
        with LoopWatch() as watch:
            told, left = asyncio.ensure_future(anext(events)), len(bodies)
            while not told.done():
                if len(bodies) == left:  # no time passes while the thread compares
                    await clock.advance(0.5)
                await asyncio.sleep(0.001)  # beside the thread
        assert told.result().startswith(b"event: change")
        return watch.longest_s

    assert await too_long(attempt) is None
    await events.aclose()
