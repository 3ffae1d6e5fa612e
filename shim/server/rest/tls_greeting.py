"""The TLS handshake before HTTP: a client is counted, and has its time, from its first packet on.

uvloop and asyncio tell a protocol of a connection only after the handshake. Whoever connects and stays silent would
then count nowhere; so the connection is taken plain, entered like any other, and secured once its client speaks, as
clients of TLS do first. No loop can be asked to hold the first bytes back (uvloop begins to read after
`connection_made`, whatever that asked for): they are taken, and handed on to what makes the handshake.
"""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from shim.concurrency.keep_going import aside
from shim.server.connection_registry import ConnectionRegistry, TrackedConnection

_CLOSE_WITHIN_S = 5.0


@dataclass(frozen=True, slots=True)
class TLSOffer:
    """The way in by TLS.

    Attributes:
        hsts_s: For how long browsers are told to come by TLS only; 0 for not at all.
    """

    context: Callable[[], ssl.SSLContext]
    hsts_s: int = 0


class TLSGreeting(asyncio.Protocol):
    """One client that has not proved that it speaks TLS.

    Args:
        make_inner: Makes what takes over once the connection is secured.
        within_s: How long all may take, from the connection to the end of the handshake.
    """

    def __init__(
        self,
        make_inner: Callable[[], asyncio.Protocol],
        context: ssl.SSLContext,
        connections: "ConnectionRegistry[TrackedConnection]",
        *,
        within_s: float,
    ) -> None:
        self._make_inner = make_inner
        self._context = context
        self._connections = connections
        self._within_s = within_s
        self._transport: asyncio.Transport | None = None
        self._cut: asyncio.TimerHandle | None = None
        self._hello: list[bytes] = []
        self._work: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop has classes of its own
        peer = transport.get_extra_info("peername")
        self._connections.enter(self, str(peer[0]) if peer else "")
        self._cut = asyncio.get_running_loop().call_later(self._within_s, self.turn_out)

    def data_received(self, data: bytes) -> None:
        """Begin the handshake with its first bytes, and what follows them before it has."""
        self._hello.append(data)
        if self._work is None and self._transport is not None:
            self._work = aside("tls-handshake", self._secure(self._transport))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - as asyncio has it
        """Forget a client that went before the handshake began."""
        self._leave()

    def turn_out(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _leave(self) -> None:
        self._connections.leave(self)
        if self._cut is not None:
            self._cut.cancel()

    async def _secure(self, transport: asyncio.Transport) -> None:
        early, loop = _Early(), asyncio.get_running_loop()
        if transport.is_closing():
            return  # its end was told, or will be
        loop.call_soon(self._hand_on, transport)  # after the step below, before what that lets the loop read
        try:
            secured = await loop.start_tls(
                transport,
                early,
                self._context,
                server_side=True,
                ssl_handshake_timeout=self._within_s,
                ssl_shutdown_timeout=_CLOSE_WITHIN_S,
            )
        except OSError:  # no TLS, none in time, or no certificate: theirs to know, and no line of a log for each
            transport.abort()
            return
        finally:
            self._leave()
        if secured is not None and not transport.is_closing():  # uvloop gives a transport for a lost connection, too
            early.give_over(secured, self._make_inner())

    def _hand_on(self, transport: asyncio.Transport) -> None:
        handshake = cast("asyncio.BufferedProtocol", transport.get_protocol())  # uvloop's has no base
        rest = memoryview(b"".join(self._hello))
        self._hello.clear()
        while rest:
            buffer = memoryview(handshake.get_buffer(len(rest)))
            count = min(len(buffer), len(rest))
            buffer[:count] = rest[:count]
            handshake.buffer_updated(count)
            rest = rest[count:]


class _Early(asyncio.Protocol):
    """Keeps what comes with the last packet of the handshake, until the connection has its protocol."""

    def __init__(self) -> None:
        self._data: list[bytes] = []

    def data_received(self, data: bytes) -> None:
        """Keep it: one turn of the loop long, so there is little."""
        self._data.append(data)

    def give_over(self, transport: asyncio.Transport, inner: asyncio.Protocol) -> None:
        transport.set_protocol(inner)
        inner.connection_made(transport)
        for data in self._data:
            inner.data_received(data)
