"""One client connection: HTTP/1.1 by httptools, with the limits that a front needs.

A request is handed on whole, so that nothing above it waits for a slow client. What breaks HTTP, or could be read
differently by another server on the way (two lengths, a length beside chunks, two hosts), is refused and the connection
closed. Answers that are ready are written at once, without a task.
"""

import asyncio
from collections import deque
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol, cast

import httptools

from shim.server.rest.messages import Answer, Request

__all__ = ["ConnectionLimits", "Door", "HttpConnection", "render"]


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """What one client may take.

    Attributes:
        max_head_bytes: Request line and headers together; more is 431.
        max_body_bytes: More is 413.
        request_timeout_s: From the first byte of a request to its last; then the connection is cut.
        keep_alive_s: An idle connection is closed after this time.
        max_pipelined: Requests of one connection that wait for their turn; beyond that nothing more is read.
        max_connections: Connections at one time; more are closed at once.
    """

    max_head_bytes: int = 64 * 1024
    max_body_bytes: int = 1024 * 1024
    request_timeout_s: float = 10.0
    keep_alive_s: float = 75.0
    max_pipelined: int = 16
    max_connections: int = 4096


class Door(Protocol):
    """What answers."""

    def answer_at_once(self, request: Request) -> bytes | None:
        """A rendered answer if it is ready, without waiting for anything."""
        ...

    async def answer(self, request: Request) -> Answer:
        """The answer; never raises but when cancelled."""
        ...


_ONE_LINE = dict.fromkeys(map(ord, "\r\n\x00"), " ")
"""What could end a header line and begin a forged one."""


def render(answer: Answer, *, is_head: bool = False, closes: bool = False) -> bytes:
    """An answer as bytes on the wire."""
    try:
        phrase = answer.reason or HTTPStatus(answer.status).phrase
    except ValueError:
        phrase = ""
    lines = [f"HTTP/1.1 {answer.status} {phrase}\r\n"]
    lines += [f"{name}: {value.translate(_ONE_LINE)}\r\n" for name, value in answer.headers]
    if closes or answer.closes:
        lines.append("Connection: close\r\n")
    body = b"" if is_head else answer.body
    lines.append(f"Content-Length: {len(body)}\r\n\r\n")
    return "".join(lines).encode("utf-8", "replace") + body


def _bad_message(status: int, reason: str) -> Answer:
    body = f"<h1>Bad Message {status}</h1><pre>reason: {reason}</pre>".encode()
    return Answer(status, (("Content-Type", "text/html;charset=iso-8859-1"),), body, reason, closes=True)


class _RefusedError(Exception):
    """The request is answered without being understood."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.answer = _bad_message(status, reason)


class HttpConnection(asyncio.Protocol):
    """Reads requests of one client in order, and answers them in order."""

    def __init__(self, door: Door, limits: ConnectionLimits, connections: "set[HttpConnection]") -> None:
        self._door = door
        self._limits = limits
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.WriteTransport | None = None
        self._reader: asyncio.ReadTransport | None = None
        self._parser = httptools.HttpRequestParser(self)
        self._peer = ""
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: deque[tuple[Request, bool]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._resumed = asyncio.Event()
        self._resumed.set()
        self._is_ending = False
        self._head_bytes = 0
        self._reset()

    def _reset(self) -> None:
        self._url = b""
        self._headers: list[tuple[str, str]] = []
        self._body = bytearray()
        self._in_head = True

    # -- transport ---------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Greet a client, unless there are too many."""
        # a cast, as uvloop's transports are no subclasses of asyncio's
        greeted = self._transport = self._reader = cast("asyncio.Transport", transport)
        if len(self._connections) >= self._limits.max_connections:
            greeted.abort()
            return
        self._connections.add(self)
        peer = transport.get_extra_info("peername")
        self._peer = peer[0] if isinstance(peer, tuple) else ""
        self._arm(self._limits.request_timeout_s)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the protocol's signature
        """Forget the client; a request under way is not for anybody any more, but is not cancelled half-way."""
        self._connections.discard(self)
        self._disarm()
        self._waiting.clear()
        self._resumed.set()
        self._transport = self._reader = None

    def pause_writing(self) -> None:
        """The client reads slower than we write."""
        self._resumed.clear()

    def resume_writing(self) -> None:
        """It caught up."""
        self._resumed.set()

    def data_received(self, data: bytes) -> None:
        """Parse what came; refuse what breaks HTTP or the limits."""
        if self._is_ending:
            return
        try:
            self._feed(data)
        except httptools.HttpParserCallbackError as exc:
            refused = exc.__context__
            self._refuse(refused.answer if isinstance(refused, _RefusedError) else _bad_message(400, "Bad Request"))
        except _RefusedError as exc:
            self._refuse(exc.answer)
        except httptools.HttpParserUpgrade:
            pass  # the request itself was handed on; no other protocol is spoken here
        except httptools.HttpParserError:
            self._refuse(_bad_message(400, "Bad Request"))

    def _feed(self, data: bytes) -> None:
        if self._in_head:
            self._head_bytes += len(data)
            self._parser.feed_data(data)
            self._check_unfinished_head()
            return
        self._parser.feed_data(data)

    def _check_unfinished_head(self) -> None:
        """Refuse a head that is too long before it has ended.

        Raises:
            _RefusedError: 431.
        """
        if self._in_head and self._head_bytes > self._limits.max_head_bytes:
            raise _RefusedError(431, "Request Header Fields Too Large")

    # -- parser ------------------------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """A request begins: it has so long to be whole."""
        self._reset()
        self._arm(self._limits.request_timeout_s)

    def on_url(self, url: bytes) -> None:
        """Part of the request target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header field."""
        self._headers.append((name.lower().decode("latin-1"), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        """Check the head as a whole."""
        self._in_head = False
        size = len(self._url) + sum(len(name) + len(value) + 4 for name, value in self._headers)
        if size > self._limits.max_head_bytes:
            raise _RefusedError(431, "Request Header Fields Too Large")
        _check_framing(self._headers, self._parser.get_http_version(), self._limits.max_body_bytes)
        if any(name == "expect" and value.lower() == "100-continue" for name, value in self._headers):
            self._write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        """Part of the body."""
        self._body += body
        if len(self._body) > self._limits.max_body_bytes:
            raise _RefusedError(413, "Payload Too Large")

    def on_message_complete(self) -> None:
        """The request is whole: answer it, or let it wait for those before it."""
        self._disarm()
        self._in_head = True
        self._head_bytes = 0
        keeps = self._parser.should_keep_alive() and self._parser.get_http_version() == "1.1"
        request = self._request()
        if self._task is None and keeps:
            ready = self._door.answer_at_once(request)
            if ready is not None:
                self._write(ready)
                self._arm(self._limits.keep_alive_s)
                return
        self._waiting.append((request, keeps))
        if len(self._waiting) >= self._limits.max_pipelined and self._reader is not None:
            self._reader.pause_reading()
        if self._task is None:
            self._task = self._loop.create_task(self._work())

    def _request(self) -> Request:
        target = self._url
        if target.startswith((b"http://", b"https://")):
            target = b"/" + target.partition(b"://")[2].partition(b"/")[2]
        path, _, query = target.partition(b"#")[0].partition(b"?")
        return Request(
            method=self._parser.get_method().decode("latin-1"),
            raw_path=path.decode("latin-1"),
            query=query.decode("latin-1"),
            headers=tuple(self._headers),
            body=bytes(self._body),
            peer=self._peer,
        )

    # -- answers -----------------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        try:
            while self._waiting and self._transport is not None:
                request, keeps = self._waiting.popleft()
                answer = await self._door.answer(request)
                await self._resumed.wait()
                closes = answer.closes or not keeps or self._is_ending
                self._write(render(answer, is_head=request.method == "HEAD", closes=closes))
                if closes:
                    self._close()
                    return
                if self._reader is not None and not self._reader.is_reading():
                    self._reader.resume_reading()
        finally:
            self._task = None
        self._arm(self._limits.keep_alive_s)

    def end(self) -> None:
        """Close as soon as nothing is under way: the server is going down."""
        self._is_ending = True
        if self._task is None:
            self._close()

    def done(self) -> "asyncio.Future[None]":
        """Done when nothing is under way."""
        if self._task is not None:
            return self._task
        ended: asyncio.Future[None] = self._loop.create_future()
        ended.set_result(None)
        return ended

    def abort(self) -> None:
        """Close now, whatever is under way."""
        if self._task is not None:
            self._task.cancel()
        if self._transport is not None:
            self._transport.abort()

    def _refuse(self, answer: Answer) -> None:
        self._is_ending = True
        self._waiting.clear()
        if self._task is None:
            self._write(render(answer, closes=True))
            self._close()

    def _write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def _close(self) -> None:
        self._disarm()
        if self._transport is not None:
            self._transport.close()

    # -- time --------------------------------------------------------------------------------------------------------

    def _arm(self, delay_s: float) -> None:
        self._disarm()
        if self._task is None:
            self._timer = self._loop.call_later(delay_s, self._expire)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expire(self) -> None:
        """Too slow, or idle for too long."""
        self._is_ending = True
        if self._task is None:
            self._close()


def _check_framing(headers: list[tuple[str, str]], version: str, max_body_bytes: int) -> None:
    """Refuse a head that two servers could understand in two ways (RFC 9112, sections 3.2 and 6.3).

    Raises:
        _RefusedError: With the status to answer.
    """
    lengths = [value for name, value in headers if name == "content-length"]
    encodings = [value.lower() for name, value in headers if name == "transfer-encoding"]
    hosts = [value for name, value in headers if name == "host"]
    if version not in ("1.0", "1.1"):
        raise _RefusedError(505, "Unknown Version")
    if len(hosts) > 1:
        raise _RefusedError(400, "Duplicate Host Header")
    if version == "1.1" and not hosts:
        raise _RefusedError(400, "No Host")
    if len(lengths) > 1 or (lengths and encodings) or len(encodings) > 1:
        raise _RefusedError(400, "Duplicate Content-Length or Transfer-Encoding")
    if encodings and (encodings[0].strip() != "chunked" or version == "1.0"):
        raise _RefusedError(400, "Unsupported Transfer-Encoding")
    if lengths and (not lengths[0].isdigit() or not lengths[0].isascii()):
        raise _RefusedError(400, "Invalid Content-Length")
    if lengths and int(lengths[0][:16]) > max_body_bytes:
        raise _RefusedError(413, "Payload Too Large")
