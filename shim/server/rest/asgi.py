"""The ASGI application around the server: reads a request whole, so that nothing behind it waits for a slow client."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, MutableMapping, Sequence
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Protocol, TypeVar, cast

from shim.server.rest.messages import Answer, Headers, Request

T = TypeVar("T")
RawHeaders = list[tuple[bytes, bytes]]

_Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_Application = Callable[[Any, _Receive, _Send], Awaitable[None]]

_ONE_LINE = dict.fromkeys([*range(9), *range(10, 32), 127], " ")
"""What could end a header line and begin a forged one, and all else that has no place in a value."""


class _Spelt(bytes):
    """A header name that reaches the client as a ResourceManager spells it: scripts look for `Location:`.

    uvicorn writes what `lower` returns. The two names that it looks for itself, of the length and the connection, are
    given to it as plain bytes.
    """

    def lower(self) -> "_Spelt":
        return self


class RequestHandler(Protocol):
    """Answers requests."""

    def answer_at_once(self, request: Request) -> Sequence[bytes] | None:
        """An answer that is ready, as it goes out: status line, headers, body, in one piece or several."""
        ...

    async def answer(self, request: Request) -> Answer:
        """The answer; never raises but when cancelled."""
        ...


def application(handler: RequestHandler, ending: asyncio.Event) -> _Application:
    """The ASGI application that hands every request to a server."""

    async def answer(scope: Any, receive: _Receive, send: _Send) -> None:
        body = b"" if scope["method"] == "GET" and not has_body(scope["headers"]) else await _read(receive)
        if body is None:
            return
        request = request_of(scope, body)
        made = await handler.answer(request)
        if made.later is not None and request.method != "HEAD":
            await send({"type": "http.response.start", "status": made.status, "headers": raw_headers(made)})
            await _go_on(made.later, receive, send, ending)
            return
        told = b"" if request.method == "HEAD" else made.body
        headers = [*raw_headers(made), (b"Content-Length", b"%d" % len(told))]
        await send({"type": "http.response.start", "status": made.status, "headers": headers})
        await send({"type": "http.response.body", "body": told})

    return answer


async def _go_on(later: AsyncGenerator[bytes, None], receive: _Receive, send: _Send, ending: asyncio.Event) -> None:
    """Send what is made as it is made, until that ends, the client goes away or the server does.

    `send` waits while the client does not read, so nothing is made for it meanwhile.
    """

    async def pump() -> None:
        async with contextlib.aclosing(later) as pieces:
            async for piece in pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})

    sending = asyncio.ensure_future(pump())
    ends = [sending, asyncio.ensure_future(_left(receive)), asyncio.ensure_future(ending.wait())]
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in ends:
            each.cancel()
        await asyncio.gather(*ends, return_exceptions=True)
    if not sending.cancelled():
        sending.result()
    await send({"type": "http.response.body", "body": b""})


def raw_headers(answer: Answer) -> RawHeaders:
    """An answer's headers as bytes, each on one line whatever is in it."""
    headers = _encoded(answer.headers)
    return [*headers, (b"Connection", b"close")] if answer.closes else headers


def rendered_headers(headers: Headers) -> bytes:
    return b"".join([_line(*pair) for pair in headers])


@lru_cache(maxsize=256)  # but for the request's id they are the same for a second and longer
def _line(name: str, value: str) -> bytes:
    return b"%b: %b\r\n" % _encoded(((name, value),))[0]


def _encoded(headers: Headers) -> RawHeaders:
    return [(_spelt(name), _on_one_line(value).encode("utf-8", "replace")) for name, value in headers]


@lru_cache(maxsize=256)  # names are few, and come with every answer
def _spelt(name: str) -> _Spelt:
    return _Spelt(name.encode("ascii"))


def _on_one_line(value: str) -> str:
    return value if value.isprintable() else value.translate(_ONE_LINE)


def rendered_answer(answer: Answer) -> bytes:
    status, length = HTTPStatus(answer.status), len(answer.body)
    line = f"HTTP/1.1 {answer.status} {status.phrase}\r\n".encode()
    end = b"Content-Length: %d\r\n\r\n" % length
    return b"".join((line, rendered_headers(answer.headers), end, answer.body))


def with_headers(ready: Sequence[bytes], standing: RawHeaders) -> Sequence[bytes]:
    """Put headers that stand in each answer, which uvicorn writes into those that it sends, into one that is ready."""
    if not standing:
        return ready
    line, end, rest = ready[0].partition(b"\r\n")
    return (line, end, *(b"%b: %b\r\n" % pair for pair in standing), rest, *ready[1:])


def completed(work: Coroutine[Any, Any, T]) -> T | None:
    """The outcome of what does not wait, without a task; None if it would have to wait: then it is ended there.

    To be used for what may be begun anew.
    """
    try:
        work.send(None)
    except StopIteration as done:
        return cast("T", done.value)
    work.close()
    return None


def has_body(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """True if a body follows these headers, an empty one not counted."""
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value.strip(b"0") != b"")
        for name, value in headers
    )


async def _left(receive: _Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        """The request's end, once."""


async def _read(receive: _Receive) -> bytes | None:
    """The whole body; None if the client went away first."""
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += bytes(message.get("body", b""))
        if not message.get("more_body", False):
            return body


def request_of(scope: Any, body: bytes) -> Request:
    client = scope["client"]
    return Request(
        method=scope["method"],
        raw_path=scope["raw_path"].decode("latin-1"),
        query=scope["query_string"].decode("latin-1"),
        headers=tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]),
        body=body,
        peer=client[0] if client else "",
        is_secure=scope.get("scheme") == "https",
    )
