"""No request holds the event loop for long, whatever is in it: hostile input at every endpoint.

What counts is the processor time of the loop's thread in one turn, in units of this machine's speed: see `LoopWatch`.
"""

import asyncio
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import pytest

from shim.identity.service import IdentityRules
from shim.server.rest.endpoints import ENDPOINTS
from shim.server.rest.messages import Request
from tests.doubles.settings import usual
from tests.support.hostile import BODIES, HEADERS, QUERIES, SEGMENTS, VALUES, XML, ZIPPED
from tests.support.loop_watch import LoopWatch, too_long
from tests.support.scripted_server import BASE, ScriptedServer

PARTS = 12  # each is over in seconds, on a busy machine too
EACH = 9  # an input goes to each ninth endpoint, and all to the most used ones
NAMED = {"attempt": "appattempt_1_1_000001", "container": "container_1_1_01_000001", "node": "n1:1", "cluster": "east"}
PAGES = (
    *("/", "/cluster", "/cluster/apps", "/cluster/app/{application}", "/cluster/nodes", "/cluster/scheduler"),
    *("/cluster/apps/{type}", "/cluster/about", "/jmx", "/conf", "/metrics", "/ready", "/proxy/{application}/x"),
    *("/nowhere/{x}", "/static/heddle.css", "/cluster/appattempt/{attempt}", "/cluster/container/{container}"),
)
MOST_USED = frozenset(
    {("GET", f"{BASE}/apps"), ("POST", f"{BASE}/apps"), ("GET", "/jmx"), ("POST", "/heddle/v1/choose-home")}
)
PARAMETERS = (
    "qry",
    "name",
    "states",
    "queue",
    "user",
    "limit",
    "startedTimeBegin",
    "applicationTags",
    "home",
    "dryRun",
)


@dataclass(frozen=True)
class Hostile:
    """What is put into a request."""

    name: str
    query: str = ""
    segment: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


def inputs() -> Iterator[Hostile]:
    for name, query in QUERIES.items():
        yield Hostile(f"query {name}", query=query)
    for name, value in VALUES.items():
        for parameter in PARAMETERS:
            yield Hostile(f"{parameter} {name}", query=f"user.name=alice&{parameter}={value}")
    for name, segment in SEGMENTS.items():
        yield Hostile(f"segment {name}", segment=segment)
    for name, headers in HEADERS.items():
        yield Hostile(f"header {name}", "user.name=alice", headers=headers)
    for kind, bodies in (("json", BODIES), ("xml", XML)):
        for name, body in bodies.items():
            yield Hostile(
                f"{kind} {name}", "user.name=alice", headers={"content-type": f"application/{kind}"}, body=body
            )
    for name, body in ZIPPED.items():
        yield Hostile(f"gzip {name}", "user.name=alice", headers={"content-encoding": "gzip"}, body=body)


INPUTS = tuple(inputs())


@pytest.fixture
async def server() -> ScriptedServer:
    made = ScriptedServer(rules=usual(IdentityRules, allow_anonymous=True, admins=("*",)))
    await made.poll()
    for _ in range(5):
        await made.submit()
    return made


@pytest.mark.parametrize("part", range(PARTS))
async def test_no_request_holds_the_loop(server: ScriptedServer, part: int) -> None:
    known = str(server.view.applications.newest_first()[0].summary.application_id)
    findings = []
    requests = []
    for number, (method, path) in enumerate(targets(server)):
        for turn, hostile in enumerate(INPUTS):
            if (number + turn) % EACH == 0 or (method, path) in MOST_USED:
                requests.append((f"{method} {path}: {hostile.name}", request_of(method, path, hostile, known)))
    with LoopWatch() as watch:
        for name, request in requests[part::PARTS]:
            held = await too_long(partial(held_by, server, request, watch))
            if held is not None:
                findings.append(f"{name}: {held:.0f} times fixed work: {watch.what}")
    assert not findings


async def held_by(server: ScriptedServer, request: Request, watch: LoopWatch) -> float:
    began_s = time.thread_time()
    ready: Sequence[bytes] | None = None if request.body else server.server.answer_at_once(request)
    at_once_s = time.thread_time() - began_s
    watch.reset()
    if ready is None:
        await asyncio.wait_for(server.server.answer(request), timeout=60)
    return max(at_once_s, watch.longest_s)


def targets(server: ScriptedServer) -> list[tuple[str, str]]:
    """Every endpoint, by its method and the pattern of its path."""
    rows = [(each.method, BASE + each.path) for each in ENDPOINTS]
    own = [(each.method, f"/heddle/v1/{each.path}") for each in server.api.endpoints]
    return [*rows, *own, *(("GET", page) for page in PAGES)]


def request_of(method: str, path: str, hostile: Hostile, application: str) -> Request:
    filled = re.sub(
        r"\{(\w+)\}", lambda found: hostile.segment or {**NAMED, "application": application}.get(found[1], "x"), path
    )
    headers = {"host": "front:8088", "content-type": "application/json", **hostile.headers}
    body = b"" if method == "GET" else hostile.body
    return Request(method, filled, hostile.query, tuple(headers.items()), body, "127.0.0.1")
