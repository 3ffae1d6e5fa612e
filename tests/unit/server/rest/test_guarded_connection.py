"""A client's connection by itself, over a transport and a clock in the test's hands: what is held, refused and cut."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest
import uvicorn
from uvicorn.server import ServerState

from shim.server.rest import connection as module
from shim.server.rest.asgi import application
from shim.server.rest.connection import ConnectionLimits, GuardedProtocol, Reception
from shim.server.rest.host_names import HostNames
from shim.server.rest.messages import Answer, Request

LIMITS = ConnectionLimits(max_header_bytes=400, max_body_bytes=300_000, request_timeout_s=3.0, keep_alive_s=7.0)
GET = b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n"
READY = b"GET /ready HTTP/1.1\r\nHost: a\r\n\r\n"
SLOW = b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n"
COUNTED = 64 * 1024
"""Bytes beyond which somebody's are counted."""


def post(length: int) -> bytes:
    return b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % length


class Timer:
    def __init__(self, delay_s: float, work: Callable[[], object]) -> None:
        self.delay_s, self.work, self.is_cancelled = delay_s, work, False

    def cancel(self) -> None:
        self.is_cancelled = True


class HandLoop:
    """A loop whose timers run when the test says so."""

    def __init__(self) -> None:
        self.timers: list[Timer] = []

    def call_later(self, delay_s: float, work: Callable[..., object], *given: object) -> Timer:
        self.timers.append(Timer(delay_s, lambda: work(*given)))
        return self.timers[-1]

    def create_task(self, *given: Any, **named: Any) -> "asyncio.Task[Any]":
        return asyncio.get_running_loop().create_task(*given, **named)

    def due(self) -> list[float]:
        return sorted(timer.delay_s for timer in self.timers if not timer.is_cancelled)

    def fire(self, delay_s: float) -> None:
        (timer,) = (timer for timer in self.timers if not timer.is_cancelled and timer.delay_s == delay_s)
        timer.cancel()
        timer.work()


class HandTransport:
    """A socket that takes everything and remembers it."""

    def __init__(self, host: str = "10.0.0.1") -> None:
        self.host, self.written, self.ended = host, b"", list[str]()
        self.is_reading, self.buffered, self.has_told_all = True, 0, False

    def get_extra_info(self, name: str, default: object = None) -> object:
        return {"peername": (self.host, 1), "sockname": ("10.0.0.9", 2)}.get(name, default)

    def write(self, data: bytes) -> None:
        self.written += data

    def writelines(self, parts: Sequence[bytes]) -> None:
        self.written += b"".join(parts)

    def close(self) -> None:
        self.ended.append("close")

    def abort(self) -> None:
        self.ended.append("abort")

    def is_closing(self) -> bool:
        return bool(self.ended)

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True

    def get_write_buffer_size(self) -> int:
        return self.buffered

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.has_told_all = True


class Answers:
    """Answers by the path; `/ready` at once, `/slow` when told to."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bytes]] = []
        self.go = asyncio.Event()

    def answer_at_once(self, request: Request) -> Sequence[bytes] | None:
        if request.raw_path != "/ready":
            return None
        self.asked.append((request.raw_path, b"at once"))
        return b"HTTP/1.1 200 OK\r\n", b"Content-Length: 5\r\n\r\nready"

    async def answer(self, request: Request) -> Answer:
        self.asked.append((request.raw_path, request.body))
        if request.raw_path == "/slow":
            await self.go.wait()
        return Answer(200, (), b"told")


class Client:
    """One connection to a server whose limits are the test's."""

    def __init__(self, limits: ConnectionLimits = LIMITS, reception: Reception | None = None) -> None:
        self.answers, self.loop, self.transport = Answers(), HandLoop(), HandTransport()
        self.reception = reception or Reception(limits, self.answers.answer_at_once, HostNames("*"))
        config = uvicorn.Config(
            application(self.answers, asyncio.Event()),
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=7,
        )
        given = {"config": config, "server_state": ServerState(), "app_state": {}, "_loop": self.loop}
        self.protocol = GuardedProtocol(reception=self.reception, **given)
        self.protocol.connection_made(cast("asyncio.Transport", self.transport))

    def sends(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.protocol.data_received(piece)

    @property
    def held(self) -> int:
        return len(self.reception.held)

    async def told(self) -> bytes:
        """What is answered once nothing more happens by itself."""
        for _ in range(20):
            await asyncio.sleep(0)
        return self.transport.written


# ---------------------------------------------------------------------- what is kept is counted


@pytest.mark.parametrize(("first", "held"), [(COUNTED, 0), (COUNTED + 1, COUNTED + 1), (100_000, 100_000)])
async def test_a_body_is_counted_from_a_size_on_until_it_is_whole(first, held):
    client = Client()
    client.sends(post(200_000), b"x" * first)
    assert client.held == held
    client.sends(b"x" * (200_000 - first - 1))
    assert client.held == 199_999
    client.sends(b"x")
    assert client.held == 0
    assert (await client.told()).endswith(b"told")
    assert client.answers.asked == [("/x", b"x" * 200_000)]


async def test_what_a_client_does_not_take_is_counted_until_it_does():
    client = Client()
    client.transport.buffered = 70_000
    client.protocol.pause_writing()
    assert (client.held, client.protocol.flow.write_paused) == (70_000, True)
    client.sends(READY)
    await client.told()
    assert ("/ready", b"at once") not in client.answers.asked, "nothing is written at once behind what is not taken"
    client.protocol.resume_writing()
    assert (client.held, client.protocol.flow.write_paused) == (0, False)


async def test_who_leaves_is_forgotten_with_all_that_was_kept_for_him():
    client = Client()
    client.sends(post(200_000), b"x" * 100_000)
    assert (client.held, len(client.reception.connections)) == (100_000, 1)
    client.protocol.connection_lost(None)
    assert (client.held, len(client.reception.connections)) == (0, 0)
    assert client.loop.due() == []


async def test_beyond_the_budget_the_one_for_whom_most_was_kept_for_longest_is_cut():
    first = Client(replace(LIMITS, max_held_bytes=150_000))
    second = Client(reception=first.reception)
    first.sends(post(200_000), b"x" * 80_000)
    second.sends(post(200_000), b"x" * 70_000)
    assert (first.transport.ended, second.transport.ended) == ([], [])
    second.sends(b"x")
    assert (first.transport.ended, second.transport.ended) == (["abort"], [])
    assert first.held == 70_001


# ---------------------------------------------------------------------- turns


def a_client_that_waits() -> Client:
    """One whose turn is not yet, as others' requests came before his in this pass of the loop."""
    client = Client()
    while client.reception.turns.take():
        pass
    return client


@pytest.mark.parametrize(("size", "held"), [(COUNTED, 0), (COUNTED + 1, COUNTED + 1)])
async def test_what_waits_for_its_turn_is_counted_from_a_size_on_until_its_turn(size, held):
    client = a_client_that_waits()
    head = post(size)
    client.sends(head + b"x" * (size - len(head)))
    assert (client.held, client.transport.is_reading, client.answers.asked) == (held, False, [])
    await client.told()
    assert (client.held, client.transport.is_reading) == (0, True)
    client.sends(b"x" * len(head))
    await client.told()
    assert client.answers.asked == [("/x", b"x" * size)]


async def test_what_comes_while_something_waits_is_read_behind_it():
    client = a_client_that_waits()
    client.sends(post(4)[:30], post(4)[30:], b"ab", b"cd")
    await client.told()
    assert client.answers.asked == [("/x", b"abcd")]


async def test_what_waits_is_read_when_its_client_sends_no_more_and_not_a_second_time():
    client = a_client_that_waits()
    client.sends(READY)
    client.protocol.eof_received()
    assert client.answers.asked == [("/ready", b"at once")]
    await client.told()
    assert client.answers.asked == [("/ready", b"at once")]


async def test_of_a_connection_that_closes_nothing_is_read_any_more():
    waits, comes = a_client_that_waits(), Client()
    waits.sends(READY)
    for client in (waits, comes):
        client.transport.close()
    comes.sends(READY)
    for client in (waits, comes):
        assert await client.told() == b""
        assert client.answers.asked == []


async def test_a_body_waits_for_no_turn():
    client = Client()
    client.sends(post(4), b"ab")
    while client.reception.turns.take():
        pass
    client.sends(b"cd")
    assert client.transport.is_reading
    await client.told()
    assert client.answers.asked == [("/x", b"abcd")]


# ---------------------------------------------------------------------- time


async def test_a_request_has_so_long_from_its_first_byte_to_its_last():
    client = Client()
    assert client.loop.due() == [3.0], "from the connection on"
    client.sends(GET[:9])
    assert client.loop.due() == [3.0], "and anew from the first byte"
    client.loop.fire(3.0)
    assert client.transport.ended == ["close"]


async def test_the_clock_stops_with_the_last_byte_and_an_idle_connection_has_its_own():
    client = Client()
    client.sends(READY)
    assert client.loop.due() == [7], "keep-alive alone"
    client.sends(READY[:5])
    assert client.loop.due() == [3.0]
    client.sends(READY[5:])
    client.loop.fire(7)
    assert client.transport.ended == ["close"]


@pytest.mark.parametrize("sent", [SLOW + GET[:9], SLOW + GET[:9] + GET[9:-1]])
async def test_an_answer_under_way_outlives_the_request_behind_it_that_does_not_end(sent):
    client = Client()
    client.sends(sent)
    await client.told()
    client.loop.fire(3.0)
    assert client.transport.ended == []
    client.answers.go.set()
    assert (await client.told()).endswith(b"told")
    assert client.transport.ended == ["close"], "and it is the last"


async def test_a_body_that_does_not_end_is_cut_with_its_answer():
    client = Client()
    client.sends(post(10), b"x")
    client.loop.fire(3.0)
    assert client.transport.ended == ["close"]


async def test_a_request_that_does_not_end_behind_an_answer_that_is_out_is_cut():
    client = Client()
    client.sends(GET)
    assert (await client.told()).endswith(b"told")
    client.sends(GET[:9])
    client.loop.fire(3.0)
    assert client.transport.ended == ["close"]


# ---------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /" + b"y" * 360 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 200),
        (b"GET /" + b"y" * 400 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 431),
        (b"GET /" + b"y" * 395, 0),
        (b"GET /" + b"y" * 396, 431),
        (post(300_000), 0),
        (post(300_001), 413),
        (b"GET /x HTTP/1.1\r\n\r\n", 400),
        (b"\0\0\0\r\n\r\n", 400),
    ],
)
async def test_what_breaks_a_limit_is_refused_once(sent, status):
    client = Client()
    client.sends(sent)
    told = await client.told()
    assert (int(told.split()[1]) if told else 0) == status
    if status >= 400:
        client.sends(GET)
        assert await client.told() == told, "what comes behind it is not read"
        assert client.transport.has_told_all
        assert client.loop.due() == [3.0], "it is closed when it has heard that"
        assert (client.held, client.transport.ended) == (0, [])
        client.loop.fire(3.0)
        assert client.transport.ended == ["close"]


async def test_a_refused_client_has_five_seconds_at_most():
    client = Client(replace(LIMITS, request_timeout_s=60.0))
    client.sends(b"GET /x HTTP/1.1\r\n\r\n")
    assert client.loop.due() == [5.0]


async def test_what_is_kept_of_a_refused_body_is_forgotten_and_reading_goes_on():
    client = Client()
    client.sends(b"POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(3):
        client.sends(b"%x\r\n" % 90_000 + b"x" * 90_000 + b"\r\n")
    assert client.held == 270_000
    client.protocol.flow.pause_reading()
    client.sends(b"%x\r\n" % 40_000 + b"x" * 40_000)
    assert b" 413 " in client.transport.written
    assert (client.held, client.transport.is_reading) == (0, True)


async def test_what_is_sent_behind_a_refusal_is_dropped_up_to_a_bound(monkeypatch):
    monkeypatch.setattr(module, "_MOST_DROPPED", 100)
    client = Client()
    client.sends(b"GET /x HTTP/1.1\r\n\r\n", b"y" * 60, b"y" * 40)
    assert client.transport.ended == []
    client.sends(b"y")
    assert client.transport.ended == ["close"]


async def test_an_answer_under_way_is_dropped_behind_a_refusal():
    client = Client()
    client.sends(SLOW)
    await client.told()
    client.sends(b"\0\r\n\r\n")
    refused = await client.told()
    assert b" 400 " in refused
    client.answers.go.set()
    assert await client.told() == refused


# ---------------------------------------------------------------------- the end of the server


async def test_when_the_server_ends_idle_and_refused_connections_close_and_busy_ones_end_their_answer():
    idle, refused, busy = Client(), Client(), Client()
    refused.sends(b"GET /x HTTP/1.1\r\n\r\n")
    busy.sends(SLOW)
    await busy.told()
    for client in (idle, refused, busy):
        client.protocol.shutdown()
    assert idle.transport.ended == ["close"]
    assert refused.transport.ended[0] == "close"
    assert busy.transport.ended == []
    busy.answers.go.set()
    assert (await busy.told()).endswith(b"told")
    assert busy.transport.ended == ["close"]


async def test_a_server_that_lingers_hears_one_request_more_and_closes_behind_it():
    client, silent, gone = Client(), Client(), Client()
    for each in (client, silent, gone):
        each.reception.linger_s = 2.0
        each.protocol.shutdown()
        assert each.transport.ended == []
        assert 2.0 in each.loop.due()
    client.sends(READY)
    assert (await client.told()).endswith(b"told")
    assert client.answers.asked == [("/ready", b"")], "as any other, not at once: its answer is the last"
    assert client.transport.ended == ["close"]
    silent.loop.fire(2.0)
    assert silent.transport.ended == ["close"]
    gone.transport.abort()
    gone.loop.fire(2.0)
    assert gone.transport.ended == ["abort"]


async def test_who_waits_for_his_turn_when_the_server_ends_is_answered_first():
    client = a_client_that_waits()
    client.sends(SLOW)
    client.protocol.shutdown()
    client.answers.go.set()
    assert (await client.told()).endswith(b"told")
