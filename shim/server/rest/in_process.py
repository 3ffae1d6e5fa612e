"""Asking an ASGI application without a socket: the server has read the request and will write the answer."""

from collections.abc import Mapping, MutableMapping
from typing import Any
from urllib.parse import unquote

from fastapi import FastAPI, Response
from fastapi import Request as HTTPRequest
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from shim.errors import HeddleError
from shim.protocol.rest.filters import MANY_VALUED
from shim.protocol.rest.queries import encode_query, parse_query
from shim.server.rest.messages import Request

_OWN_MANY_VALUED = frozenset({"shown", "where"})
"""Parameters of Heddle's own endpoints of which every value counts."""


def hand_errors_out(application: FastAPI) -> None:
    """Let `ask_application` raise what endpoints and the framework raise, instead of answering in FastAPI's words."""
    for kind in (HeddleError, RequestValidationError, HTTPException):
        application.add_exception_handler(kind, _remember)


async def _remember(request: HTTPRequest, error: Exception) -> Response:
    request.state.raised = error
    return Response(status_code=500)


async def ask_application(application: FastAPI, request: Request, state: Mapping[str, object]) -> tuple[int, bytes]:
    """Run one request through an application.

    Returns:
        Status and body.

    Raises:
        HeddleError: What an endpoint raised.
        RequestValidationError: If a parameter is not as declared.
        HTTPException: If no endpoint has this path and method.
        JavaError: If the query cannot be read.
    """
    told: dict[str, Any] = {"status": 500, "body": b""}
    messages = iter([{"type": "http.request", "body": request.body, "more_body": False}])

    async def receive() -> MutableMapping[str, Any]:
        return next(messages, {"type": "http.disconnect"})

    async def send(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            told["status"] = message["status"]
        else:
            told["body"] += message.get("body", b"")

    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET" if request.method == "HEAD" else request.method,
        "scheme": "http",
        "path": decoded_path(request.raw_path),
        "raw_path": request.raw_path.encode("latin-1"),
        "query_string": _first_values(request.query).encode("latin-1"),
        "root_path": "",
        "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in request.headers],
        "client": (request.peer, 0),
        "server": None,
        "state": dict(state),
    }
    await application(scope, receive, send)
    raised: Exception | None = scope["state"].get("raised")
    if raised is not None:
        raise raised
    return told["status"], told["body"]


def _first_values(raw_query: str) -> str:
    """A query written anew, with the first value of each parameter that has one: what a ResourceManager's Jersey takes.

    Raises:
        JavaError: 400, as `parse_query`.
    """
    parameters = parse_query(raw_query).parameters
    return encode_query(
        (name, value)
        for name, values in parameters.items()
        for value in (values if name in MANY_VALUED or name in _OWN_MANY_VALUED else values[:1])
    )


def decoded_path(raw_path: str) -> str:
    """A path of Heddle's own as everybody reads it, the audit too: each of its segments decoded by itself, once.

    Raises:
        HTTPException: 404 if a segment would be two, or another one above.
    """
    segments = [unquote(segment) for segment in raw_path.rstrip("/").split("/")]
    if any("/" in segment or segment in (".", "..") for segment in segments):
        raise HTTPException(404)
    return "/".join(segments)
