"""Send one row of the request table byte by byte, and read the answer with its headers as received."""

import base64
import gzip
import http.client
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_TIMEOUT_S = 60.0
_USER_AGENT = "curl/7.88.1"
_VARIABLE = re.compile(r"@[A-Z_]+\d*@")

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent: everything that stands in the bytes."""

    method: str
    target: str
    version: str
    headers: Headers
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; the status is None if the server closed the connection without an answer."""

    status: int | None
    reason: str = ""
    headers: Headers = ()
    body: bytes = b""


def compose(row: Mapping[str, Any], values: Mapping[str, str]) -> Request:
    """A row of the table with its variables (`@HOST@`, `@TS@`, `@NODE1@`) filled in.

    Raises:
        KeyError: If a variable has no value on this cluster.
    """

    def fill(text: str) -> str:
        return _VARIABLE.sub(lambda found: values[found[0].strip("@")], text)

    body = _encoded(fill(row.get("body", "")), row.get("encoding", "utf-8"))
    headers = [] if row.get("bare") else [("Host", values["HOST"]), ("User-Agent", _USER_AGENT)]
    headers += [(name, fill(value)) for name, value in row.get("headers", [["Accept", "*/*"]])]
    if body and not any(name == "Content-Length" for name, _ in headers):
        headers.append(("Content-Length", str(len(body))))
    return Request(
        row.get("method", "GET"), fill(row["target"]), f"HTTP/{row.get('version', '1.1')}", tuple(headers), body
    )


def send(address: str, request: Request) -> Answer:
    """Send on a connection of its own. Chunks are joined; a compressed body is left compressed."""
    host, _, port = address.rpartition(":")
    lines = [f"{request.method} {request.target} {request.version}", *(f"{k}: {v}" for k, v in request.headers)]
    head = "\r\n".join([*lines, "", ""]).encode("utf-8")
    with socket.create_connection((host, int(port)), timeout=_TIMEOUT_S) as connection:
        connection.sendall(head + request.body)
        response = http.client.HTTPResponse(connection, method=request.method)
        try:
            response.begin()
            body = response.read()
        except (http.client.BadStatusLine, ConnectionResetError):
            return Answer(None)
        return Answer(response.status, response.reason, tuple(response.headers.items()), body)


def to_record(name: str, cluster: str, request: Request, answer: Answer) -> dict[str, Any]:
    """The exchange as `tests.doubles.recorded` reads it."""
    return {
        "name": name,
        "cluster": cluster,
        "request": {"method": request.method, "path": request.target, "headers": request.headers} | _body(request.body),
        "response": {"status": answer.status, "reason": answer.reason, "headers": answer.headers} | _body(answer.body),
    }


def _encoded(text: str, encoding: str) -> bytes:
    return gzip.compress(text.encode(), mtime=0) if encoding == "gzip" else text.encode(encoding)


def _body(raw: bytes) -> dict[str, str]:
    try:
        return {"body": raw.decode()} if raw else {}
    except UnicodeDecodeError:
        return {"body_b64": base64.b64encode(raw).decode()}
