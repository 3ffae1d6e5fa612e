"""The TLS handshake before HTTP: a client is counted, and has its time, from its first packet on.

uvloop and asyncio tell a protocol of a connection only after the handshake. Whoever connects and stays silent would
then count nowhere; so the connection is taken plain, entered like any other, and secured after that.
"""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass

from shim.server.connection_registry import ConnectionRegistry, TrackedConnection

__all__ = ["TLSGreeting", "TLSOffer"]

_CLOSE_WITHIN_S = 5.0


@dataclass(frozen=True, slots=True)
class TLSOffer:
    """The way in by TLS.

    Attributes:
        context: For the connection that comes now.
        hsts_s: For how long browsers are told to come by TLS only; 0 for not at all.
    """

    context: Callable[[], ssl.SSLContext]
    hsts_s: int = 0


class TLSGreeting(asyncio.Protocol):
    """One client that has not proved that it speaks TLS.

    Args:
        make_inner: Makes what takes over once the connection is secured.
        context: With which it is.
        connections: Where it is counted.
        within_s: How long the handshake may take.
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
        self._work: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin the handshake."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - of a listening socket
        self._transport = transport
        transport.pause_reading()  # the handshake's first bytes are for the handshake
        peer = transport.get_extra_info("peername")
        self._connections.enter(self, str(peer[0]) if peer else "")
        self._work = asyncio.get_running_loop().create_task(self._secure(transport), name="tls-handshake")

    def turn_out(self) -> None:
        """Cut it."""
        if self._transport is not None:
            self._transport.abort()

    async def _secure(self, transport: asyncio.Transport) -> None:
        early = _Early()
        try:
            secured = await asyncio.get_running_loop().start_tls(
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
            self._connections.leave(self)
        if secured is not None and not early.is_lost:
            early.give_over(secured, self._make_inner())


class _Early(asyncio.Protocol):
    """Keeps what comes with the last packet of the handshake, until the connection has its protocol."""

    def __init__(self) -> None:
        self._data: list[bytes] = []
        self.is_lost = False

    def data_received(self, data: bytes) -> None:
        """Keep it: one turn of the loop long, so there is little."""
        self._data.append(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - as asyncio has it
        """Remember that nobody is there."""
        self.is_lost = True

    def give_over(self, transport: asyncio.Transport, inner: asyncio.Protocol) -> None:
        """From now on `inner` has the connection."""
        transport.set_protocol(inner)
        inner.connection_made(transport)
        for data in self._data:
            inner.data_received(data)
