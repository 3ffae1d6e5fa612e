"""What comes before the handshake, without a socket: each byte reaches it once, and what comes too early waits."""

import asyncio
import ssl
from typing import Any, cast

import pytest

from shim.server.connection_registry import ConnectionRegistry, TrackedConnection
from shim.server.rest.tls_greeting import TLSGreeting, _Early


class Handshake(asyncio.BufferedProtocol):
    """Takes bytes into a buffer of its own, so many at a time."""

    def __init__(self, most: int) -> None:
        self.buffer, self.taken = bytearray(most), b""

    def get_buffer(self, sizehint: int) -> bytearray:
        assert sizehint > 0
        return self.buffer

    def buffer_updated(self, nbytes: int) -> None:
        assert nbytes > 0
        self.taken += self.buffer[:nbytes]
        self.buffer[:] = b"\0" * len(self.buffer)


class HandTransport:
    def __init__(self, protocol: object = None) -> None:
        self.protocol, self.ended = protocol, list[str]()

    def get_protocol(self) -> object:
        return self.protocol

    def set_protocol(self, protocol: object) -> None:
        self.protocol = protocol

    def get_extra_info(self, name: str) -> object:
        return ("10.0.0.1", 4711) if name == "peername" else None

    def abort(self) -> None:
        self.ended.append("abort")

    def is_closing(self) -> bool:
        return bool(self.ended)


class Hears(asyncio.Protocol):
    def __init__(self) -> None:
        self.heard: list[object] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.heard.append(transport)

    def data_received(self, data: bytes) -> None:
        self.heard.append(data)


def a_greeting(connections: ConnectionRegistry[TrackedConnection] | None = None) -> TLSGreeting:
    registry = ConnectionRegistry[TrackedConnection](2, 2) if connections is None else connections
    return TLSGreeting(Hears, ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), registry, within_s=30.0)


@pytest.mark.parametrize("most", [1, 3, 4, 7, 8, 100])
@pytest.mark.parametrize("pieces", [[b"abcdefg"], [b"abc", b"defg"], [b"a", b"", b"bcdef", b"g"]])
async def test_the_handshake_has_each_byte_that_came_before_it_once(most, pieces, monkeypatch):
    greeting, handshake, given = a_greeting(), Handshake(most), list[object]()

    async def start_tls(transport: object, *_: object, **named: object) -> None:
        given.extend([transport, named["ssl_handshake_timeout"]])
        for _turn in range(5):
            await asyncio.sleep(0)
        raise ConnectionResetError("no TLS")

    monkeypatch.setattr(asyncio.get_running_loop(), "start_tls", start_tls, raising=False)
    transport = HandTransport(handshake)
    greeting.connection_made(cast("asyncio.BaseTransport", transport))
    for piece in pieces:
        greeting.data_received(piece)
    for _ in range(20):
        await asyncio.sleep(0)
    assert handshake.taken == b"abcdefg"
    assert (given, transport.ended) == ([transport, 30.0], ["abort"])


def test_what_comes_with_the_end_of_the_handshake_is_read_by_who_has_the_connection_then():
    early, inner, transport = _Early(), Hears(), HandTransport()
    for piece in (b"GET ", b"/x"):
        early.data_received(piece)
    early.give_over(cast("asyncio.Transport", transport), inner)
    assert transport.protocol is inner
    assert inner.heard == [transport, b"GET ", b"/x"]


async def test_a_client_is_counted_from_its_connection_on_and_cut_when_it_takes_too_long():
    loop, timers = asyncio.get_running_loop(), list[tuple[float, Any]]()
    connections = ConnectionRegistry[TrackedConnection](2, 2)
    greeting, transport = a_greeting(connections), HandTransport()
    call_later: Any = loop.call_later

    def noted(delay: float, work: Any, *given: Any) -> asyncio.TimerHandle:
        timers.append((delay, work))
        return cast("asyncio.TimerHandle", call_later(delay, work, *given))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "call_later", noted, raising=False)
        greeting.connection_made(cast("asyncio.BaseTransport", transport))
    ((within_s, cut),) = timers
    assert (len(connections), within_s) == (1, 30.0)
    cut()
    assert transport.ended == ["abort"]
    greeting.connection_lost(None)
    assert len(connections) == 0


async def test_of_a_client_that_has_gone_no_handshake_is_begun():
    connections = ConnectionRegistry[TrackedConnection](2, 2)
    greeting, transport, handshake = a_greeting(connections), HandTransport(), Handshake(9)
    transport.protocol = handshake
    greeting.connection_made(cast("asyncio.BaseTransport", transport))
    transport.abort()
    greeting.data_received(b"hello")
    for _ in range(9):
        await asyncio.sleep(0)
    assert handshake.taken == b""
    greeting.connection_lost(None)
    assert len(connections) == 0


@pytest.mark.parametrize("ends", ["secured", "lost", "no TLS"])
async def test_whoever_ends_the_handshake_is_no_stranger_any_more_and_is_not_cut(ends, monkeypatch):
    connections = ConnectionRegistry[TrackedConnection](2, 2)
    greeting, transport, secured = a_greeting(connections), HandTransport(Handshake(9)), HandTransport()

    async def start_tls(*_: object, **__: object) -> HandTransport | None:
        if ends == "no TLS":
            raise OSError
        return secured if ends == "secured" else None

    monkeypatch.setattr(asyncio.get_running_loop(), "start_tls", start_tls, raising=False)
    timers = list[Any]()
    call_later: Any = asyncio.get_running_loop().call_later

    def noted(delay: float, work: Any, *given: Any) -> Any:
        timers.append(call_later(delay, work, *given))
        return timers[-1]

    monkeypatch.setattr(asyncio.get_running_loop(), "call_later", noted, raising=False)
    greeting.connection_made(cast("asyncio.BaseTransport", transport))
    greeting.data_received(b"hello")
    for _ in range(9):
        await asyncio.sleep(0)
    assert (len(connections), [each.cancelled() for each in timers]) == (0, [True])
    assert transport.ended == (["abort"] if ends == "no TLS" else [])
    assert isinstance(secured.protocol, Hears) is (ends == "secured")
