"""HTTP/1.1 as uvicorn speaks it, with the limits that a front needs.

uvicorn answers what it can read. Behind a proxy that is not enough: what breaks HTTP, or could be read differently by
another server on the way (two lengths, a length beside chunks, two hosts), is refused and the connection closed; and a
client has only so long, so many bytes and so many connections.

An offer to change the protocol (`Upgrade: h2c`, as Java's HTTP client makes with its first request) is not taken up:
such a request is one like any other. The parser would take its body for the next protocol, and uvicorn for the next
request; so its head is read once more, without the offer.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from shim.concurrency.fair_turns import FairTurns
from shim.errors import InvariantViolationError
from shim.server.connection_registry import ByteBudget, ConnectionRegistry, TrackedConnection
from shim.server.rest.asgi import has_body, request_of, with_headers
from shim.server.rest.host_names import HostNames
from shim.server.rest.messages import Request

_AT_ONCE = frozenset({b"GET", b"POST"})
_OF_OFFERS = frozenset({b"connection", b"upgrade", b"http2-settings"})
_MOST_AROUND = 8  # bytes for each byte of a body: a chunk of one byte takes six
_LINGER_S = 5.0
_MOST_DROPPED = 64 * 1024 * 1024
_WORTH_COUNTING = 64 * 1024
"""Bytes below which nobody asks how much of a request is kept."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of one client.

    Attributes:
        max_header_bytes: Request line and headers together; more is 431.
        max_body_bytes: More is 413.
        request_timeout_s: From the first byte of a request to its last; then the connection is cut.
        keep_alive_s: An idle connection is closed after this time.
        max_connections: Connections at one time; beyond that the one that has been silent for longest goes.
        max_held_bytes: Kept for all connections together, of requests that are not whole and answers that are not
            taken; beyond that the one for which some are kept for longest goes.
    """

    max_header_bytes: int
    max_body_bytes: int
    request_timeout_s: float
    keep_alive_s: float
    max_connections: int = 4096
    max_of_address: int = 2048
    max_held_bytes: int = 1024 * 1024 * 1024


class Reception:
    """State that all connections of the server share.

    Args:
        answer_at_once: Gives an answer that is ready as it goes out; such a one costs no task.
        names: Under which names the server may be asked for.

    Attributes:
        linger_s: How long a connection without a request under way may still send one when the server ends: bytes that
            are on their way are read, and answered, before it closes.
        turns: Whose request is looked at next, while more come than can be served.
    """

    def __init__(
        self,
        limits: ConnectionLimits,
        answer_at_once: Callable[[Request], Sequence[bytes] | None],
        names: HostNames,
    ) -> None:
        self.limits = limits
        self.linger_s = 0.0
        self.names = names
        self.answer_at_once = answer_at_once
        self.connections: ConnectionRegistry[TrackedConnection] = ConnectionRegistry(
            limits.max_connections, limits.max_of_address
        )
        self.held = ByteBudget(limits.max_held_bytes)
        self.turns = FairTurns(lambda work: asyncio.get_running_loop().call_soon(work))


class GuardedProtocol(HttpToolsProtocol):
    """One client connection."""

    def __init__(self, *, reception: Reception, **uvicorn: Any) -> None:
        super().__init__(**uvicorn)
        self._reception = reception
        self._limits = reception.limits
        self._answer_at_once = reception.answer_at_once
        self._is_answered = False
        self._timer: asyncio.TimerHandle | None = None
        self._refusal = RefusedHeadError(400, "Bad Request")
        self._head_bytes = 0
        self._body_bytes = 0
        self._rest_bytes = 0
        self._is_in_head = True
        self._is_offer = False
        self._is_refused = False
        self._is_last = False
        self._dropped_bytes = 0
        self._waiting: list[bytes] = []

    @property
    def _http(self) -> httptools.HttpRequestParser:
        """Uvicorn's parser, which is there until the connection is lost."""
        parser: httptools.HttpRequestParser | None = self.parser
        if parser is None:
            raise InvariantViolationError("a connection that is lost has no parser")
        return parser

    # -- transport ---------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Greet a client; another may have to go."""
        super().connection_made(transport)
        self._reception.connections.enter(self, self.client[0] if self.client else "")
        self._arm()

    def turn_out(self) -> None:
        """Cut it, for others; a request under way is carried out."""
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client; a request under way is not for anybody any more, but is not cancelled half-way."""
        self._disarm()
        self._waiting = []
        self._reception.connections.leave(self)
        self._reception.held.hold(self, 0)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client reads slower than we answer: what it does not take is kept."""
        super().pause_writing()
        self._reception.held.hold(self, self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """Write again, as the client has caught up."""
        self._reception.held.hold(self, 0)
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        """Parse what came; refuse what breaks HTTP or the limits."""
        if self._is_refused:
            self._drop(data)
            return
        if self.transport.is_closing():
            return
        self._reception.connections.heard_of(self)
        self._unset_keepalive_if_required()
        if self._waiting:  # uvicorn has begun to read again, as an answer is out
            self._keep(data)
        elif self._is_in_head and not self._reception.turns.take():
            self._keep(data)
            address = self.client[0] if self.client else ""
            self._reception.turns.wait(address, claimed_user(data), self._take_turn)
        else:
            self._take_in(data)

    def eof_received(self) -> None:
        """Answer what has come before the connection closes, though it is not its turn."""
        self._take_turn()

    def shutdown(self) -> None:
        """Answer what has come before the connection closes."""
        self._take_turn()
        if self._is_refused:
            self.transport.close()
        cycle: RequestResponseCycle | None = self.cycle
        if self._reception.linger_s and (cycle is None or cycle.response_complete):
            self._is_last = True
            self.loop.call_later(self._reception.linger_s, self._leave)
        else:
            super().shutdown()

    def _leave(self) -> None:
        if not self.transport.is_closing():
            super().shutdown()

    def _keep(self, data: bytes) -> None:
        self._waiting.append(data)
        self.flow.pause_reading()
        if (held := sum(map(len, self._waiting))) > _WORTH_COUNTING:
            self._reception.held.hold(self, held)

    def _take_turn(self) -> None:
        data = b"".join(self._waiting)
        self._waiting = []
        if len(data) > _WORTH_COUNTING:
            self._reception.held.hold(self, 0)
        if data and not self.transport.is_closing():
            self.flow.resume_reading()  # before what is in it may stop it again
            self._take_in(data)

    def _take_in(self, data: bytes) -> None:
        if self._is_in_head:
            self._head_bytes += len(data)
        else:
            self._rest_bytes += len(data)
        self._parse(data)
        if not self._is_refused and self._is_too_long():
            self._refusal = RefusedHeadError(431, "Request Header Fields Too Large")
            self.send_400_response("")

    def _parse(self, data: bytes) -> None:
        """Feed the parser; what it leaves behind an offer to change the protocol, too."""
        while data and not self.transport.is_closing():
            try:
                self._http.feed_data(data)
            except httptools.HttpParserUpgrade as offer:
                data = self._head_without_offer() + data[offer.args[0] :]
            except httptools.HttpParserError:
                self.send_400_response("")
                return
            else:
                return

    def _head_without_offer(self) -> bytes:
        """The head that was read last, for a parser that has read nothing yet."""
        head = [b"%b %b HTTP/%b" % (self._http.get_method(), self.url, self._http.get_http_version().encode())]
        head += [b"%b: %b" % pair for pair in self.headers if pair[0] not in _OF_OFFERS]
        if any(name == b"connection" and b"close" in value.lower() for name, value in self.headers):
            head.append(b"connection: close")
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn has it
        return b"\r\n".join((*head, b"", b""))

    def _is_too_long(self) -> bool:
        """True if a head is too long, or what stands around a body: chunks' sizes, extensions and trailers."""
        if self._is_in_head:
            return self._head_bytes > self._limits.max_header_bytes
        return self._rest_bytes > self._limits.max_header_bytes + _MOST_AROUND * self._body_bytes

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's words; ours are those of Jetty
        """Say what is wrong, as a ResourceManager's server does, and close once the client has heard it.

        A socket that is closed while more comes in is reset, and the client may never read why: what it still sends is
        dropped for a while.
        """
        if self.transport.is_closing() or self._is_refused:
            return
        self._is_refused = True
        status, reason = self._refusal.status, self._refusal.reason
        body = f"<h1>Bad Message {status}</h1><pre>reason: {reason}</pre>".encode()
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: text/html;charset=iso-8859-1\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        if self.transport.can_write_eof():  # not with TLS
            self.transport.write_eof()
        self._leave_cycle()
        self._reception.held.hold(self, 0)
        self.flow.resume_reading()
        self._disarm()
        self._timer = self.loop.call_later(min(_LINGER_S, self._limits.request_timeout_s), self.transport.close)

    def _leave_cycle(self) -> None:
        """Let what is being answered on this connection be dropped, as if the client had left."""
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.waiting_for_100_continue = False  # there is nothing to be said behind the refusal
            cycle.message_event.set()

    def _drop(self, data: bytes) -> None:
        """Take what a client still sends that was refused, up to a bound."""
        self._dropped_bytes += len(data)
        if self._dropped_bytes > _MOST_DROPPED:
            self.transport.close()

    # -- parser ------------------------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """A request begins: it has so long to be whole."""
        self._is_in_head, self._body_bytes, self._rest_bytes = True, 0, 0
        self._arm()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Check the head as a whole."""
        self._is_offer = self._http.should_upgrade() and self._http.get_method() != b"CONNECT"
        if self._is_offer:
            return
        self._is_in_head = False
        try:
            check_size(self.url, self.headers, self._limits.max_header_bytes)
            check_framing(self.headers, self._http.get_http_version(), self._limits.max_body_bytes)
            check_host(self.headers, self._reception.names)
        except RefusedHeadError as exc:
            self._refusal = exc
            raise
        self._is_answered = self._is_answered_at_once()
        if not self._is_answered:
            super().on_headers_complete()
            if self._is_last:
                self.cycle.keep_alive = False
        self.headers = []  # what comes in trailers is none of the request's headers

    def _is_answered_at_once(self) -> bool:
        """Write the answer if it is ready, nothing stands before it, and uvicorn has nothing to decide."""
        method = self._http.get_method()
        if method not in _AT_ONCE or has_body(self.headers) or not self._http.should_keep_alive() or self._is_last:
            return False
        before: RequestResponseCycle | None = self.cycle
        if before is not None and not before.response_complete:
            return False
        path, _, query = self.url.partition(b"?")
        if not path.startswith(b"/") or b"#" in query or self._http.get_http_version() != "1.1":
            return False
        scope = {"method": method.decode(), "raw_path": path, "query_string": query, "headers": self.headers}
        if self.flow.write_paused:
            return False
        ready = self._answer_at_once(request_of({**scope, "client": self.client, "scheme": self.scheme}, b""))
        if ready is None:
            return False
        self.transport.writelines(with_headers(ready, self.server_state.default_headers))
        return True

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        if self._body_bytes > self._limits.max_body_bytes:
            self._refusal = too_large(self._limits.max_body_bytes)
            raise self._refusal
        if self._body_bytes > _WORTH_COUNTING:
            self._reception.held.hold(self, self._body_bytes)
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self._is_offer:
            return
        self._disarm()
        self._is_in_head, self._head_bytes = True, 0
        if self._body_bytes > _WORTH_COUNTING:
            self._reception.held.hold(self, 0)
        if not self._is_answered:
            super().on_message_complete()
            return
        self.server_state.total_requests += 1
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    # -- time --------------------------------------------------------------------------------------------------------

    def _arm(self) -> None:
        self._disarm()
        self._timer = self.loop.call_later(self._limits.request_timeout_s, self._expire)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expire(self) -> None:
        """A request did not become whole in time; one that is being answered still gets its answer."""
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete and not cycle.more_body:
            cycle.keep_alive = False
        else:
            self.transport.close()


# Checks on the head of a request before anything is made of it: size, framing, host; and whose it seems to be.

_MOST_HEADERS = 256
"""Lines of one head: a browser behind three proxies sends 40, and each costs wherever headers are looked at."""
_CLAIM = re.compile(
    rb"""
    [?&;](?:doas|user\.name)=([^&;\s#]{1,64}) | hadoop\.auth="?u=([^&"\s]{1,64}) | bearer[ ]heddle_([0-9a-f]{16})
    """,
    re.IGNORECASE | re.VERBOSE,
)
_LOOKED_AT = 8192


def claimed_user(data: bytes) -> bytes:
    """Guess from the first bytes of a request whose it is; empty if they name nobody.

    Only for taking turns: nothing is believed here, and whoever names another stands in that one's queue.
    """
    found = _CLAIM.search(data, 0, _LOOKED_AT)
    return found[found.lastindex or 0] if found is not None else b""


class RefusedHeadError(Exception):
    """The request is answered without being understood."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


def too_large(max_body_bytes: int) -> RefusedHeadError:
    return RefusedHeadError(413, f"the body is larger than {max_body_bytes} bytes, the limit of server.max_body_bytes")


def check_host(headers: list[tuple[bytes, bytes]], names: HostNames) -> None:
    """Refuse a name that is not ours, before any answer is looked for: a kept one would leak as well.

    Raises:
        RefusedHeadError: 421.
    """
    for name, value in headers:
        if name == b"host" and not names.allows(value):
            raise RefusedHeadError(421, "Misdirected Request: this Host is not one of server.host_names")


def check_size(url: bytes, headers: list[tuple[bytes, bytes]], max_header_bytes: int) -> None:
    """Refuse a head that came in one piece and is too long.

    Raises:
        RefusedHeadError: 431.
    """
    if len(headers) > _MOST_HEADERS or (
        len(url) + sum(len(name) + len(value) + 4 for name, value in headers) > max_header_bytes
    ):
        raise RefusedHeadError(431, "Request Header Fields Too Large")


def check_framing(headers: list[tuple[bytes, bytes]], version: str, max_body_bytes: int) -> None:
    """Refuse a head that two servers could understand in two ways (RFC 9112, sections 3.2 and 6.3).

    Raises:
        RefusedHeadError: With the status to answer.
    """
    lengths = [value for name, value in headers if name == b"content-length"]
    encodings = [value.lower() for name, value in headers if name == b"transfer-encoding"]
    hosts = [value for name, value in headers if name == b"host"]
    if version not in ("1.0", "1.1"):
        raise RefusedHeadError(505, "Unknown Version")
    if len(hosts) > 1:
        raise RefusedHeadError(400, "Duplicate Host Header")
    if version == "1.1" and not hosts:
        raise RefusedHeadError(400, "No Host")
    if len(lengths) > 1 or (lengths and encodings) or len(encodings) > 1:
        raise RefusedHeadError(400, "Duplicate Content-Length or Transfer-Encoding")
    if encodings and (encodings[0].strip() != b"chunked" or version == "1.0"):
        raise RefusedHeadError(400, "Unsupported Transfer-Encoding")
    if lengths and not lengths[0].isdigit():
        raise RefusedHeadError(400, "Invalid Content-Length")
    if lengths and int(lengths[0][:16]) > max_body_bytes:
        raise too_large(max_body_bytes)
