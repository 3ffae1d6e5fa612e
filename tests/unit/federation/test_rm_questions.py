import asyncio
from contextlib import suppress

import pytest

from shim.domain.ids import SubClusterId
from shim.errors import MalformedAnswerError, NeverReachedError
from shim.federation.core.federation_view import Part
from shim.federation.rm_questions import NODES, PROBE_USER, ask_applications, ask_part, ask_right_to_act, read_rows
from shim.ports.resource_manager import RestAnswer
from shim.ports.resource_manager_rpc import RPCAnswer, RPCRefusal
from shim.protocol.hrpc import JavaClass
from shim.protocol.proto import APPLICATION_CLIENT
from shim.protocol.rest.documents import NodeReader
from shim.protocol.wire_values import MOST_AT_ONCE
from tests.support.loop_watch import LoopWatch, too_long

EAST = SubClusterId("east")
REFUSAL = "User: heddle is not allowed to impersonate heddle-doctor"
REFUSED = RPCAnswer(b"", RPCRefusal(JavaClass.AUTHORIZATION, REFUSAL))
NO_LOGIN = NeverReachedError(EAST, "refuses Heddle's login by ticket")


class Saying:
    """A ResourceManager that says one thing to every call."""

    subcluster = EAST

    def __init__(self, word):
        self.word = word
        self.calls = []

    async def call(self, call, *, timeout_s=None):
        self.calls.append((call.protocol, call.method, call.user, timeout_s))
        if isinstance(self.word, Exception):
            raise self.word
        return self.word

    async def close(self):
        """Nothing is open."""


@pytest.mark.parametrize(
    ("word", "told"),
    [
        (RPCAnswer(b""), ""),
        (REFUSED, REFUSAL),
        (NO_LOGIN, str(NO_LOGIN)),
    ],
    ids=["taken", "refused", "no login"],
)
async def test_the_right_to_act_is_asked_in_the_name_of_a_user_whom_there_is_not(word, told):
    manager = Saying(word)
    assert await ask_right_to_act(manager, timeout_s=2.0) == told
    assert manager.calls == [(APPLICATION_CLIENT.name, "getClusterMetrics", PROBE_USER, 2.0)]


async def test_nobody_is_asked_where_heddle_has_no_ticket():
    assert await ask_right_to_act(None, timeout_s=2.0) is None


class Telling:
    """A ResourceManager whose web services answer everything with one body."""

    subcluster = EAST

    def __init__(self, body):
        self.body = body

    async def query(self, path, parameters=(), *, viewer=None, timeout_s=None):  # noqa: ARG002 - the port
        return RestAnswer(200, (), self.body)


ROW = b'{"id":"application_1_0001","name":"%b","progress":%b,"queue":"a","user":"b","state":"RUNNING"}'
MANY = 15_000
USUAL = [ROW % (b"n" * 200, b"5.0")] * MANY


def a_list(rows):
    return b'{"apps":{"app":[%b]}}' % b",".join(rows)


LARGE = {
    "usual": a_list(USUAL),
    "numbers that are none": a_list([ROW % (b"NaN", b"NaN")] * MANY),
    "one at the end": a_list([*USUAL, ROW % (b"n", b"NaN")]),
    "texts of nothing": b'{"apps":{"app":[%bNaN]}}' % (b'"",' * 600_000),
    "numbers that are none alone": b'{"apps":{"app":[%b1]}}' % (b"-INF," * 500_000),
    "letters of other languages": a_list([ROW % ("\u00e9\u4e2d".encode() * 40, b"5.0")] * MANY),
    "no end": b'{"apps":{"app":["' + b"NaN" * 1_500_000,
    "no list": b'{"apps":' + b" " * 5_000_000 + b"NaN}",
    "spaces": b'{ "apps":{"app":[%b]}}' % b",".join(USUAL * 2),
}


@pytest.mark.parametrize("name", LARGE)
async def test_no_document_of_a_cluster_holds_the_loop_however_odd_it_is(name):
    manager = Telling(LARGE[name])

    async def ask():
        with suppress(MalformedAnswerError):
            await ask_applications(manager, (), as_of_s=0.0, timeout_s=1.0)
        for part in (Part.INFO, Part.SCHEDULER):
            with suppress(MalformedAnswerError):
                await ask_part(manager, part, timeout_s=1.0)

    async def attempt():
        watch.reset()
        await asyncio.create_task(ask())
        return watch.longest_s

    with LoopWatch() as watch:
        held = await too_long(attempt)
    assert held is None, f"{held} {watch.what}"


JUNK = b'"junk":[%b0]' % (b'{"a":null},' * 1400)
ODD_NODES = {
    "many": b'{"nodes":{"node":[%b]}}' % b",".join([b'{"id":"n:1","state":[1],%b}' % JUNK] * 120),
    "one": b'{"nodes":{"node":[{"id":"n:1","state":[1],"junk":[%b0]}]}}' % (b'{"a":null},' * 330_000),
}


@pytest.mark.parametrize("name", ODD_NODES)
async def test_no_node_that_is_odd_holds_the_loop(name):
    async def attempt():
        watch.reset()
        rows, beyond, _ = await asyncio.create_task(read_rows(NODES, ODD_NODES[name], NodeReader()))
        assert (rows, beyond) == ([], 120 if name == "many" else 1)
        return watch.longest_s

    with LoopWatch() as watch:
        held = await too_long(attempt)
    assert held is None, f"{held} {watch.what}"


async def test_what_is_large_and_odd_is_read_or_refused_by_one_error():
    for body, told in (("usual", 1), ("numbers that are none", 1), ("one at the end", 1), ("texts of nothing", 0)):
        found = await ask_applications(Telling(LARGE[body]), (), as_of_s=0.0, timeout_s=1.0)
        assert len(found) == told
    for body in ("no end", "spaces"):
        with pytest.raises(MalformedAnswerError):
            await ask_applications(Telling(LARGE[body]), (), as_of_s=0.0, timeout_s=1.0)
    with pytest.raises(MalformedAnswerError, match="more than"):
        await ask_part(Telling(b'{"a":"%b"}' % bytes(MOST_AT_ONCE)), Part.SCHEDULER, timeout_s=1.0)
    for part in (Part.INFO, Part.METRICS):
        with pytest.raises(MalformedAnswerError, match="more than"):
            await ask_part(Telling(b'{"a":[%b]}' % (b"{}," * 100_000)), part, timeout_s=1.0)
