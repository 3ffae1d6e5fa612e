"""Hostile and clumsy clients, over a raw socket."""

import asyncio
import contextlib
import http.client
import socket
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest
import uvloop

from shim.concurrency import listening_sockets
from shim.server.rest.asgi import raw_headers
from shim.server.rest.connection import ConnectionLimits
from shim.server.rest.host_names import HostNames
from shim.server.rest.messages import Answer, Request
from shim.server.rest.server import RestServer

POST = b"POST /x HTTP/1.1\r\nHost: a\r\n"
LIMITS = ConnectionLimits(
    max_header_bytes=8192,
    max_body_bytes=1000,
    request_timeout_s=0.3,
    keep_alive_s=0.5,
    max_connections=8,
)
GET = b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n"


class EchoesRequests:
    """Answers with what it was asked; `/ready` at once, `/slow` when told to."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.asked = asyncio.Event()
        self.go = asyncio.Event()
        self.large = b""

    def answer_at_once(self, request: Request) -> Sequence[bytes] | None:
        if request.raw_path != "/ready":
            return None
        self.requests.append(request)
        return b"HTTP/1.1 200 OK\r\nX-Ready: yes\r\n", b"Content-Length: 5\r\n\r\nready"

    async def answer(self, request: Request) -> Answer:
        self.requests.append(request)
        self.asked.set()
        if request.raw_path == "/slow":
            await self.go.wait()
        if request.raw_path == "/large":
            return Answer(200, (), self.large)
        return Answer(200, (("X-Path", request.raw_path),), request.method.encode() + b" " + request.body)


@contextlib.asynccontextmanager
async def serving(
    handler: EchoesRequests, limits: ConnectionLimits = LIMITS, names: HostNames | None = None
) -> AsyncIterator[RestServer]:
    server = RestServer(handler, host="127.0.0.1", port=0, limits=limits, names=names)
    await server.start()
    try:
        yield server
    finally:
        await server.stop(grace_s=0.1)


async def exchange(server: RestServer, *sent: bytes, eof: bool = False) -> bytes:
    """Send pieces, read until the server closes or is silent for a second."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    received = b""
    try:
        for piece in sent:
            writer.write(piece)
            await writer.drain()
        if eof:
            writer.write_eof()
        with contextlib.suppress(TimeoutError, ConnectionResetError):
            while chunk := await asyncio.wait_for(reader.read(65536), 1.5):
                received += chunk
    finally:
        writer.close()
    return received


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


async def test_a_request_is_answered_and_an_idle_connection_closed():
    async with serving(EchoesRequests()) as server:
        answer = await exchange(server, GET)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\nX-Path: /x\r\ncontent-length: 4\r\n\r\nGET ")


async def test_a_request_in_single_bytes_is_one_request():
    handler = EchoesRequests()
    async with serving(handler) as server:
        await exchange(server, *(bytes([byte]) for byte in GET))
    assert [request.raw_path for request in handler.requests] == ["/x"]


async def test_pipelined_requests_are_answered_in_order():
    handler = EchoesRequests()
    asked = b"".join(b"GET /%d HTTP/1.1\r\nHost: a\r\n\r\n" % number for number in range(20))
    async with serving(handler) as server:
        answer = await exchange(server, asked)
    assert [request.raw_path for request in handler.requests] == [f"/{number}" for number in range(20)]
    assert [line for line in answer.split(b"\r\n") if line.startswith(b"X-Path")] == [
        b"X-Path: /%d" % number for number in range(20)
    ]


async def test_a_ready_answer_waits_for_the_one_before_it():
    handler = EchoesRequests()
    ready = GET.replace(b"/x", b"/ready")
    async with serving(handler) as server:
        asking = asyncio.create_task(exchange(server, GET.replace(b"/x", b"/slow"), ready, ready))
        await handler.asked.wait()
        handler.go.set()
        answer = await asking
    assert answer.index(b"X-Path: /slow") < answer.index(b"GET ") < answer.index(b"ready")
    assert answer.count(b"200 OK") == 3


@pytest.mark.parametrize(
    ("head", "body", "is_ready"),
    [
        (b"", b"", True),
        (b"Content-Length: 0\r\n", b"", True),
        (b"Content-Length: 3\r\n", b"abc", False),
        (b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n", False),
        (b"Connection: close\r\n", b"", False),
    ],
)
async def test_a_change_without_a_body_may_be_answered_at_once(head, body, is_ready):
    handler = EchoesRequests()
    asked = b"POST /ready HTTP/1.1\r\nHost: a\r\n" + head + b"\r\n" + body
    async with serving(handler) as server:
        answer = await exchange(server, asked)
    (request,) = handler.requests
    assert request.method == "POST"
    assert (b"X-Ready: yes" in answer) == is_ready
    assert answer.count(b"200 OK") == 1


SMUGGLING = {
    "two lengths": POST + b"Content-Length: 1\r\nContent-Length: 5\r\n\r\nabcde",
    "a list of lengths": POST + b"Content-Length: 1, 5\r\n\r\nabcde",
    "length and chunks": POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks twice": POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n",
    "unknown encoding": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "chunked not last": POST + b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
    "chunks in 1.0": b"POST /x HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "signed length": POST + b"Content-Length: +4\r\n\r\nabcd",
    "negative length": POST + b"Content-Length: -4\r\n\r\nabcd",
    "huge length": POST + b"Content-Length: 99999999999999999999999\r\n\r\n",
    "blank before colon": POST + b"Content-Length : 4\r\n\r\nabcd",
    "folded header": b"GET /x HTTP/1.1\r\nHost: a\r\nX-A: b\r\n c\r\n\r\n",
    "bare line feeds": b"POST /x HTTP/1.1\nHost: a\nContent-Length: 3\nTransfer-Encoding: chunked\n\n0\n\n",
    "zero byte in header": b"GET /x HTTP/1.1\r\nHost: a\r\nX-A: b\x00c\r\n\r\n",
    "two hosts": b"GET /x HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "no host": b"GET /x HTTP/1.1\r\n\r\n",
    "bad chunk size": POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n",
    "not HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "a JSON document": b'{"jsonrpc":"2.0"}\r\n\r\n',
}


@pytest.mark.parametrize("sent", SMUGGLING.values(), ids=SMUGGLING)
async def test_s23_what_two_servers_could_read_differently_is_refused(sent):
    handler = EchoesRequests()
    async with serving(handler) as server:
        answer = await exchange(server, sent + GET.replace(b"/x", b"/smuggled"))
    assert status(answer) in (400, 413)
    assert b"connection: close" in answer.lower()
    assert not any(request.raw_path == "/smuggled" for request in handler.requests)
    assert answer.count(b"HTTP/1.1") == 1


OFFER = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
NEXT = GET.replace(b"/x", b"/next")


@pytest.mark.parametrize("is_cut", [False, True])
@pytest.mark.parametrize(
    ("framing", "body"),
    [
        (b"Content-Length: %d\r\n" % len(NEXT), NEXT),
        (b"Transfer-Encoding: chunked\r\n", b"%x\r\n%b\r\n0\r\n\r\n" % (len(NEXT), NEXT)),
    ],
    ids=["length", "chunked"],
)
async def test_s23_a_body_behind_an_offer_of_another_protocol_is_no_request(framing, body, is_cut):
    """Java's HTTP client offers HTTP/2 with its first request, whatever that carries."""
    handler = EchoesRequests()
    head, last = POST + OFFER + framing + b"\r\n", b"GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    async with serving(handler) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(head if is_cut else head + body + last)
        if is_cut:
            await asyncio.sleep(0.05)  # in a packet of its own
            writer.write(body + last)
        answer = await asyncio.wait_for(reader.read(), 10)
        writer.close()
    assert [(request.raw_path, request.body) for request in handler.requests] == [("/x", NEXT), ("/last", b"")]
    assert answer.count(b"200 OK") == 2


async def test_an_offer_of_another_protocol_without_a_body_is_not_taken_up():
    handler = EchoesRequests()
    async with serving(handler) as server:
        answer = await exchange(server, GET[:-2] + OFFER + b"\r\n" + NEXT)
        closed = await exchange(server, GET[:-2] + OFFER.replace(b"Upgrade,", b"Upgrade, close,") + b"\r\n" + NEXT)
    assert [request.raw_path for request in handler.requests] == ["/x", "/next", "/x"]
    assert b"connection: close" not in answer.lower()
    assert b"connection: close" in closed.lower()


async def test_s23_trailers_are_none_of_the_headers():
    handler = EchoesRequests()
    sent = POST + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nCookie: hadoop.auth=x\r\n\r\n"
    async with serving(handler) as server:
        assert status(await exchange(server, sent)) == 200
    (request,) = handler.requests
    assert request.body == b"a"
    assert request.header("cookie") is None


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"GET /x HTTP/1.2\r\nHost: a\r\n\r\n", (400, 505)),
        (b"GET /x HTTP/2.0\r\nHost: a\r\n\r\n", (400, 426, 505)),
        (b"GET /x\r\n\r\n", (400, 505)),
        (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", (431,)),
        (b"GET /x HTTP/1.1\r\nHost: a\r\n" + b"X-A: b\r\n" * 2000 + b"\r\n", (431,)),
        (b"GET /x HTTP/1.1\r\nHost: a\r\nX-A: " + b"b" * 9000, (431,)),
        (b"GET /x HTTP/1.1\r\nHost: a\r\n" + b"X-A: b\r\n" * 256 + b"\r\n", (431,)),
        (b"GET /x HTTP/1.1\r\nHost: a\r\n" + b"X:\r\n" * 300 + b"\r\n", (431,)),
        (POST + b"Content-Length: 1001\r\n\r\n", (413,)),
        (
            POST + b"Transfer-Encoding: chunked\r\n\r\n" + (b"ff\r\n" + b"a" * 255 + b"\r\n") * 5,
            (413,),
        ),
    ],
)
async def test_s26_s27_versions_and_sizes_have_limits(sent, expected):
    handler = EchoesRequests()
    async with serving(handler) as server:
        answer = await exchange(server, sent)
    assert status(answer) in expected
    assert handler.requests == []


async def test_as_many_header_lines_as_there_may_be_are_taken():
    handler = EchoesRequests()
    async with serving(handler) as server:
        answer = await exchange(server, b"GET /x HTTP/1.1\r\nHost: a\r\n" + b"X-A: b\r\n" * 255 + b"\r\n")
    assert status(answer) == 200


@pytest.mark.parametrize("around", [b"1;" + b"a" * 20_000, b"0\r\n" + b"X-A: b\r\n" * 3000])
async def test_s27_what_stands_around_a_body_has_a_limit(around):
    handler = EchoesRequests()
    async with serving(handler, replace(LIMITS, request_timeout_s=60.0)) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(POST + b"Transfer-Encoding: chunked\r\n\r\n")
        await asyncio.sleep(0.1)  # what comes with the head counts as head
        writer.write(around)
        answer = await asyncio.wait_for(reader.readline(), 10)
        writer.close()
    assert status(answer) == 431
    assert handler.requests == []


async def test_chunked_bodies_are_joined():
    handler = EchoesRequests()
    sent = POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n"
    async with serving(handler) as server:
        await exchange(server, sent)
    assert [request.body for request in handler.requests] == [b"abcde"]


@pytest.mark.parametrize("sent", [b"", b"GET /x HTT", POST + b"Content-Length: 5\r\n\r\nab"])
async def test_s27_a_request_that_does_not_end_is_cut_off(sent):
    handler = EchoesRequests()
    async with serving(handler) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(sent)
        answer = await asyncio.wait_for(reader.read(), 60)  # to its end: the server closes
        writer.close()
    assert answer == b""
    assert handler.requests == []


async def test_s27_a_byte_now_and_then_does_not_keep_a_connection_open():
    handler = EchoesRequests()
    async with serving(handler) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET /x HTTP/1.1\r\nHost: a\r\n")

        async def drip() -> None:
            with contextlib.suppress(ConnectionError):
                while True:
                    writer.write(b"X-A: b\r\n")
                    await writer.drain()
                    await asyncio.sleep(0.02)

        dripping = asyncio.create_task(drip())
        with contextlib.suppress(ConnectionResetError):  # what came too late was not read
            assert await asyncio.wait_for(reader.read(), 5) == b""
        dripping.cancel()
        writer.close()
    assert handler.requests == []


async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Whether a connection still gets an answer."""
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
        writer.write(GET)
        return (await asyncio.wait_for(reader.readuntil(b"GET "), 10)).startswith(b"HTTP/1.1 200")
    return False


async def test_s27_in_a_full_house_whoever_has_been_silent_for_longest_makes_room():
    most = LIMITS.max_connections
    async with serving(EchoesRequests(), replace(LIMITS, request_timeout_s=60.0, keep_alive_s=60.0)) as server:
        pairs = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(most)]
        assert await answered(*pairs[0])
        pairs += [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(4)]
        assert [await answered(*pair) for pair in pairs] == [True, *[False] * 4, *[True] * (most - 1)]
        for _, writer in pairs:
            writer.close()


async def test_s27_a_flood_from_one_address_leaves_room_for_others():
    limits = replace(LIMITS, max_of_address=4, request_timeout_s=60.0)
    async with serving(EchoesRequests(), limits) as server:
        other = await asyncio.open_connection("127.0.0.1", server.port)
        flood = [
            await asyncio.open_connection("127.0.0.1", server.port, local_addr=("127.0.0.9", 0)) for _ in range(30)
        ]
        assert await answered(*other)
        assert sum([await answered(*pair) for pair in flood]) == 4
        for _, writer in (other, *flood):
            writer.close()


async def test_s27_answers_that_are_not_taken_are_kept_only_up_to_a_limit():
    handler = EchoesRequests()
    handler.large = bytes(16_000_000)
    async with serving(handler, replace(LIMITS, max_held_bytes=25_000_000, keep_alive_s=60.0)) as server:
        idle = [await asyncio.open_connection("127.0.0.1", server.port, limit=1024) for _ in range(6)]
        for _, writer in idle:
            writer.transport.pause_reading()
            writer.write(GET.replace(b"/x", b"/large"))
        async with asyncio.timeout(30):
            while server.connections > 3:  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0.01)
        assert status(await exchange(server, GET)) == 200
        for _, writer in idle:
            writer.transport.abort()


async def test_s27_bodies_that_do_not_end_are_kept_only_up_to_a_limit():
    limits = replace(LIMITS, max_body_bytes=1_000_000, max_held_bytes=500_000, request_timeout_s=60.0)
    async with serving(EchoesRequests(), limits) as server:
        pairs = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(6)]
        for _, writer in pairs:
            writer.write(POST + b"Content-Length: 900000\r\n\r\n" + bytes(200_000))
        async with asyncio.timeout(30):
            while server.connections > 2:  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0.01)
        assert status(await exchange(server, GET)) == 200
        for _, writer in pairs:
            writer.close()


async def test_expect_continue_is_answered_before_the_body():
    sent = POST + b"Content-Length: 2\r\nExpect: 100-continue\r\n\r\n"
    async with serving(EchoesRequests()) as server:
        answer = await exchange(server, sent, b"ab")
    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK")


async def test_http_1_0_is_answered_and_closed():
    async with serving(EchoesRequests()) as server:
        answer = await exchange(server, b"GET /x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + GET)
    assert answer.count(b"200 OK") == 1
    assert b"connection: close" in answer.lower()


async def test_absolute_targets_and_fragments_are_paths():
    handler = EchoesRequests()
    async with serving(handler) as server:
        await exchange(server, b"GET http://a/ws/v1?q=1#f HTTP/1.1\r\nHost: a\r\n\r\n")
    assert [(request.raw_path, request.query) for request in handler.requests] == [("/ws/v1", "q=1")]


async def test_head_has_no_body():
    async with serving(EchoesRequests()) as server:
        answer = await exchange(server, b"HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n")
    assert answer.endswith(b"content-length: 0\r\n\r\n")


async def test_stopping_lets_a_request_end():
    handler = EchoesRequests()
    server = RestServer(handler, host="127.0.0.1", port=0, limits=LIMITS)
    await server.start()
    asking = asyncio.create_task(exchange(server, GET.replace(b"/x", b"/slow")))
    await handler.asked.wait()
    stopping = asyncio.create_task(server.stop(grace_s=5.0))
    await asyncio.sleep(0)
    handler.go.set()
    await stopping
    answer = await asking
    assert answer.startswith(b"HTTP/1.1 200 OK")
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", server.port)


async def test_it_takes_up_both_addresses_of_the_program_before(monkeypatch):
    before = RestServer(EchoesRequests(), host="127.0.0.1", port=0, limits=LIMITS, beside="127.0.0.2")
    await before.start()
    kept = listening_sockets.copies()
    await before.stop(grace_s=0.1)
    inherited = [socket.socket(fileno=number) for number in kept]
    told = {(int(each.family), *each.getsockname()): each for each in inherited}
    monkeypatch.setattr(listening_sockets, "_inherited", lambda: told)
    after = RestServer(EchoesRequests(), host="127.0.0.1", port=before.port, limits=LIMITS, beside="127.0.0.2")
    await after.start()
    try:
        assert [each for each in told.values() if each.getsockname()[1] == before.port] == []
        for address in ("127.0.0.1", "127.0.0.2"):
            reader, writer = await asyncio.open_connection(address, before.port)
            writer.write(GET)
            assert (await reader.readline()).startswith(b"HTTP/1.1 200"), address
            writer.close()
    finally:
        await after.stop(grace_s=0.1)
        listening_sockets.close_unused()


async def test_it_is_at_a_further_address_with_its_port_unless_another_program_has_that():
    first = RestServer(EchoesRequests(), host="127.0.0.1", port=0, limits=LIMITS, beside="127.0.0.2")
    await first.start()
    second = RestServer(EchoesRequests(), host="127.0.0.3", port=first.port, limits=LIMITS, beside="127.0.0.2")
    await second.start()
    writers = []
    try:
        for address in ("127.0.0.1", "127.0.0.2", "127.0.0.3"):
            reader, writer = await asyncio.open_connection(address, first.port)
            writer.write(GET)
            writers.append(writer)
            assert (await reader.readline()).startswith(b"HTTP/1.1 200"), address
        assert (first.connections, second.connections) == (2, 1)
        assert first.urls == (f"http://127.0.0.2:{first.port}", first.url)
        assert second.urls == (second.url,)
    finally:
        for writer in writers:
            writer.close()
        await first.stop(grace_s=0.1)
        await second.stop(grace_s=0.1)


async def test_a_header_value_cannot_forge_another():
    assert raw_headers(Answer(200, (("X-A", "b\r\nX-Forged: c"),))) == [(b"X-A", b"b  X-Forged: c")]


@pytest.mark.parametrize("path", [b"/x", b"/ready"])  # an answer that is kept would leak as well
@pytest.mark.parametrize("offer", [b"", b"Connection: Upgrade\r\nUpgrade: h2c\r\n"])
async def test_a_rebound_name_gets_no_answer(path: bytes, offer: bytes):
    handler = EchoesRequests()
    async with serving(handler, names=HostNames(["heddle.example.org"])) as server:
        head = b"GET " + path + b" HTTP/1.1\r\n" + offer
        refused = await exchange(server, head + b"Host: attacker.example:8088\r\n\r\n")
        assert refused.startswith(b"HTTP/1.1 421 Misdirected Request\r\n")
        assert handler.requests == []
        answered = await exchange(server, head + b"Host: heddle.example.org:8088\r\nConnection: close\r\n\r\n")
        assert answered.startswith(b"HTTP/1.1 200 OK\r\n")


async def test_one_who_asks_little_is_answered_long_before_a_flood_is_worked_off():
    handler = EchoesRequests()
    limits = replace(LIMITS, max_connections=64, request_timeout_s=10, keep_alive_s=10)
    async with serving(handler, limits) as server:
        flood = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(40)]
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        for _, flooding in flood:
            flooding.write(b"GET /ready?user.name=mallory HTTP/1.1\r\nHost: a\r\n\r\n")
        writer.write(b"GET /ready?user.name=alice HTTP/1.1\r\nHost: a\r\n\r\n")
        await reader.readexactly(10)
        for each, _ in flood:
            await each.readexactly(10)  # nobody is forgotten
        for _, each in (*flood, (reader, writer)):
            each.close()
    asked = [request.query for request in handler.requests]
    assert len(asked) == 41
    assert asked.index("user.name=alice") < 20


async def test_requests_that_wait_for_their_turn_are_answered_though_their_clients_send_no_more():
    handler = EchoesRequests()
    async with serving(handler, replace(LIMITS, max_connections=64)) as server:
        request = b"GET /ready HTTP/1.1\r\nHost: a\r\n\r\n"
        answers = await asyncio.gather(*(exchange(server, request, eof=True) for _ in range(20)))
    assert {status(answer) for answer in answers} == {200}


async def test_what_comes_in_pieces_while_it_waits_is_taken_in_its_order():
    handler = EchoesRequests()
    async with serving(handler, replace(LIMITS, max_connections=64)) as server:
        pieces = (b"GET /ready HT", b"TP/1.1\r\nHost: a\r\n\r\nGET /ready?2 HTTP/1.1\r\n", b"Host: a\r\n\r\n")
        answers = await asyncio.gather(*(exchange(server, *pieces) for _ in range(20)))
    assert [answer.count(b"ready") for answer in answers] == [2] * 20


@pytest.mark.parametrize("is_chunked", [False, True], ids=["announced", "in chunks"])
@pytest.mark.parametrize("loop_of", ["asyncio", "uvloop"])
def test_a_client_that_sends_its_whole_body_before_it_reads_hears_that_it_is_too_large(is_chunked, loop_of):
    def send(port: int) -> tuple[int, bytes]:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as client:
            body = (b"a" * 65536 for _ in range(48)) if is_chunked else b"a" * (3 * 1024 * 1024)
            client.request("POST", "/x", body=body, encode_chunked=is_chunked)
            answer = client.getresponse()
            return answer.status, answer.read()

    async def all_of_it() -> None:
        handler = EchoesRequests()
        async with serving(handler, replace(LIMITS, request_timeout_s=20)) as server:
            told, body = await asyncio.to_thread(send, server.port)
        assert told == 413
        assert b"larger than 1000 bytes, the limit of server.max_body_bytes" in body
        assert handler.requests == []

    with asyncio.Runner(loop_factory=uvloop.new_event_loop if loop_of == "uvloop" else None) as runner:
        runner.run(all_of_it())


async def test_what_goes_on_being_sent_after_a_refusal_is_dropped_for_a_while_alone():
    handler = EchoesRequests()
    async with serving(handler) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(POST + b"Content-Length: 1001\r\n\r\n")
        assert status(await reader.read()) == 413

        async def send_on() -> None:
            while True:
                writer.write(b"a" * 1000)
                await writer.drain()
                await asyncio.sleep(0.01)

        with pytest.raises(ConnectionError):
            await send_on()
        writer.close()
    assert handler.requests == []


async def test_an_answer_under_way_does_not_follow_a_refusal():
    handler = EchoesRequests()
    async with serving(handler) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
        await handler.asked.wait()
        writer.write(POST + b"Content-Length: 1001\r\n\r\n")
        answer = await reader.read()
        handler.go.set()
        await asyncio.sleep(0)
        writer.close()
    assert status(answer) == 413
    assert answer.count(b"HTTP/1.1 ") == 1


async def test_a_head_is_read_up_to_its_last_byte():
    limits = replace(LIMITS, max_header_bytes=100)
    head = b"GET /x HTTP/1.1\r\nHost: a\r\nX: "
    async with serving(EchoesRequests(), limits) as server:
        assert await exchange(server, head + b"x" * (100 - len(head))) == b"", "it is waited for"
        assert status(await exchange(server, head + b"x" * (101 - len(head)))) == 431


async def test_who_is_connected_when_it_stops_is_heard_once_more_if_it_lingers():
    handler = EchoesRequests()
    server = RestServer(handler, host="127.0.0.1", port=0, limits=LIMITS)
    await server.start()
    server.linger(60.0)
    streams = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(2)]
    for reader, writer in streams:  # both are known to the server
        writer.write(GET)
        assert (await reader.readuntil(b"GET ")).startswith(b"HTTP/1.1 200 OK")
    stopping = asyncio.create_task(server.stop(grace_s=60.0))
    with contextlib.suppress(ConnectionRefusedError, ConnectionResetError):
        while True:
            _, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.close()
    for (_, writer), path in zip(streams, (b"/x", b"/ready"), strict=True):
        writer.write(GET.replace(b"/x", path))
    answers = [await reader.read() for reader, _ in streams]
    assert [each.count(b"HTTP/1.1 200 OK") for each in answers] == [1, 1]
    assert [b"connection: close" in each.lower() for each in answers] == [True, True]
    for _, writer in streams:
        writer.close()
    await stopping
