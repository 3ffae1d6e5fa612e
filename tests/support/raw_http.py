"""Requests written byte by byte, so that nothing is added, merged or reordered on the way."""

import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class RawRequest:
    """A request; `Host` and the length of the body are added when it is sent."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = (("Accept", "*/*"),)
    body: bytes = b""

    def header(self, name: str) -> str:
        """All values of a header, joined by commas."""
        return ",".join(value for key, value in self.headers if key.lower() == name)

    def __str__(self) -> str:
        return f"{self.method} {self.target} {dict(self.headers)} {self.body[:60]!r}"


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """An answer with its headers as received; a chunked body is joined, a compressed one left."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        """First value of a header."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


def exchange(url: str, request: RawRequest) -> RawAnswer:
    """Send a request on a connection of its own; a `Connection` of the request has to say `close`, too."""
    address = urlsplit(url)
    assert address.hostname is not None
    assert address.port is not None
    lines = [f"{request.method} {request.target} HTTP/1.1", f"Host: {address.hostname}:{address.port}"]
    lines += [f"{name}: {value}" for name, value in request.headers if name.lower() != "connection"]
    if request.body or request.method in ("POST", "PUT"):
        lines.append(f"Content-Length: {len(request.body)}")
    head = "\r\n".join([*lines, f"Connection: {request.header('connection') or 'close'}", "", ""]).encode(
        "utf-8", "surrogateescape"
    )
    received = b""
    with socket.create_connection((address.hostname, address.port), timeout=_TIMEOUT_S) as connection:
        connection.sendall(head + request.body)
        while chunk := connection.recv(1 << 16):
            received += chunk
    return _parse(received)


def _parse(received: bytes) -> RawAnswer:
    head, _, body = received.partition(b"\r\n\r\n")
    if head.startswith(b"HTTP/1.1 100"):
        head, _, body = body.partition(b"\r\n\r\n")
    first, *rest = head.decode("utf-8", "replace").split("\r\n")
    headers = tuple((name, value) for name, _, value in (line.partition(": ") for line in rest))
    if any(name.lower() == "transfer-encoding" and "chunked" in value for name, value in headers):
        body = _joined(body)
    return RawAnswer(int(first.split(" ")[1]), headers, body)


def _joined(body: bytes) -> bytes:
    joined = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        length = int(size.partition(b";")[0], 16)
        if length == 0:
            break
        joined, body = joined + body[:length], body[length + 2 :]
    return joined
