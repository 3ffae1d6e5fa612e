"""Attacks from outside on a whole Heddle in front of real clusters: bytes that are sent, and what must be true after.

The attacker is mallory, who has a name and no rights; victim has an application, a queue of her own, and secrets.
What the attacks may reach is not asked of Heddle but of the ResourceManagers: their audit logs name every user for whom
something was done.
"""

import re
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from shim.lab import Lab
from shim.server.rest.endpoints import BASE, ENDPOINTS

_WAIT_S = 30.0
_MOST_READ = 1 << 20
_AUDITED = re.compile(r"USER=(\S+)\s.*OPERATION=")


def throw(address: str, message: bytes, *, is_whole: Callable[[bytes], bool] = bool, wait_s: float = _WAIT_S) -> bytes:
    """Send bytes on a connection of their own, and read what comes until that is an answer or the server hangs up.

    Args:
        address: `host:port`.
        message: What is sent, as it is.
        is_whole: Whether what came is an answer.
        wait_s: How long to wait for more.
    """
    host, _, port = address.rpartition(":")
    received = b""
    with socket.create_connection((host, int(port)), timeout=wait_s) as connection:
        try:
            connection.sendall(message)
            while len(received) < _MOST_READ and (chunk := connection.recv(1 << 16)):
                received += chunk
                if is_whole(received):
                    break
        except (TimeoutError, ConnectionError):  # it was cut off, as it may be
            pass
    return received


def is_whole_frame(received: bytes) -> bool:
    """Return whether an answer of Hadoop RPC is there to its end."""
    return len(received) >= 4 and len(received) - 4 >= int.from_bytes(received[:4], "big")


def audited_users(lab: Lab) -> list[str]:
    """Users for whom ResourceManagers did, or refused, something, one for each line of their audit logs."""
    logs = (daemon.log for daemon in lab.status() if "rm" in daemon.name)
    return [user for log in logs for user in _AUDITED.findall(log.read_text("utf-8", "replace"))]


# -- somebody else's name ----------------------------------------------------------------------------------------------

_NAMES = ("doAs=victim", "DOAS=victim", "do%41s=victim", "doA%C5%BF=victim", "user.name=victim", "user%2ename=victim")
_PLACES = (
    "user.name=mallory&{}",
    "user.name=mallory;{}",
    "user.name=mallory&x=1;{}",
    "user.name=mallory%26{}",
    "user.name=mallory&{0}&{0}",
    "user.name=mallory&op=GETDELEGATIONTOKEN;{}",
    "user.name=mallory#{}",
    "user.name=mallory?{}",
)
_TURNS = 7  # no divisor of the number of places: each spelling comes to many endpoints
_VALUES = {
    "{attempt}": "appattempt_1600000000000_0007_000001",
    "{container}": "container_1600000000000_0007_01_000001",
    "{node}": "east-n1:45454",
    "{host}": "east-n1",
    "{queue}": "default",
    "{type}": "LIFETIME",
    "{command}": "GRACEFUL_SHUTDOWN",
}


def disguised_identities(application: str) -> Iterator[bytes]:
    """Every endpoint with mallory's name in clear, and victim's beside it in a seventh of all spellings, by turns."""
    spellings = [place.format(name) for name in _NAMES for place in _PLACES]
    for number, row in enumerate(ENDPOINTS):
        path = row.path
        for name, value in {"{application}": application, "{diagnosed}": application, **_VALUES}.items():
            path = path.replace(name, value)
        body = b'{"state":"KILLED"}' if path.endswith("/state") else b"{}" if row.takes_body else b""
        for spelling in spellings[number % _TURNS :: _TURNS]:
            yield _request(row.method, f"{BASE}{path}?{spelling}", body, "X-Remote-User: victim", "Remote-User: victim")


def _request(method: str, target: str, body: bytes = b"", *headers: str) -> bytes:
    typed = ("Content-Type: application/json",) if body else ()
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", "Connection: close", *typed, *headers]
    lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def kill_of(application: str) -> bytes:
    """A whole request that ends an application as victim."""
    return _request("PUT", f"{BASE}/apps/{application}/state?user.name=victim", b'{"state":"KILLED"}')


# -- two servers that read one stream differently ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Smuggled:
    """A request with another one inside; `{inner}` stands for that, `{size}` for its length."""

    name: str
    head: str
    body: str = "{inner}"

    def bytes(self, inner: bytes) -> bytes:
        """What is sent."""
        size = str(len(inner))
        head = self.head.replace("{size}", size).encode("latin-1")
        return head + b"\r\n\r\n" + self.body.encode("latin-1").replace(b"{inner}", inner)


def _head(*lines: str, first: str = f"POST {BASE}/apps/new-application?user.name=mallory HTTP/1.1") -> str:
    return "\r\n".join([first, "Host: localhost", *lines])


SMUGGLED = (
    Smuggled("a length and chunks", _head("Content-Length: {size}", "Transfer-Encoding: chunked"), "0\r\n\r\n{inner}"),
    Smuggled("chunks and a length", _head("Transfer-Encoding: chunked", "Content-Length: 0"), "0\r\n\r\n{inner}"),
    Smuggled("two lengths", _head("Content-Length: 0", "Content-Length: {size}")),
    Smuggled("a list of lengths", _head("Content-Length: 0, {size}")),
    Smuggled("a signed length", _head("Content-Length: +0")),
    Smuggled("a length with a blank", _head("Content-Length : 0")),
    Smuggled("a folded length", _head("X: y", " Content-Length: 0")),
    Smuggled("hidden chunks", _head("Transfer-Encoding: xchunked", "Content-Length: 0")),
    Smuggled("chunks after identity", _head("Transfer-Encoding: identity, chunked"), "0\r\n\r\n{inner}"),
    Smuggled("chunks by a tab", _head("Transfer-Encoding:\tchunked", "Content-Length: 5"), "0\r\n\r\n{inner}"),
    Smuggled("a chunk with a sign", _head("Transfer-Encoding: chunked"), "+0\r\n\r\n{inner}"),
    Smuggled("a bare line feed", _head("X: y\nContent-Length: 0")),
    Smuggled("a NUL in a header", _head("X: \0", "Content-Length: 0")),
    Smuggled(
        "an upgrade",
        _head(
            "Upgrade: h2c", "Connection: Upgrade, HTTP2-Settings", "HTTP2-Settings: AAMAAABk", "Content-Length: {size}"
        ),
    ),
    Smuggled("HTTP/1.0 with chunks", _head("Transfer-Encoding: chunked", first="POST / HTTP/1.0"), "0\r\n\r\n{inner}"),
    Smuggled("a body of a GET", _head("Content-Length: {size}", first=f"GET {BASE}/info HTTP/1.1")),
)


# -- paths that are not what they seem ---------------------------------------------------------------------------------

PATHS = (
    "{base}/apps/../apps/{id}/state",
    "{base}/apps/%2e%2e/apps/{id}/state",
    "{base}/apps/{id}/..%2f{id}/state",
    "{base}//apps/{id}/state",
    "{base}/apps/{id};user.name=victim/state",
    "{base}/apps;doAs=victim/{id}/state",
    "{base}/apps/{id}%00/state",
    "{base}/apps/{id}%20/state",
    "{base}/apps/{id}/state%3Fuser.name=victim",
    "{base}/apps/{id}/state/",
    "{base}\\apps\\{id}\\state",
    "/proxy/{id}/../..{base}/apps/{id}/state",
    "http://localhost{base}/apps/{id}/state",
    "//evil.example.org{base}/apps/{id}/state",
)
"""Targets of a kill in nobody's name: they lead elsewhere, or to an id that has no application."""


# -- a queue that only victim may use ----------------------------------------------------------------------------------

DISGUISED_QUEUES: tuple[tuple[str, str], ...] = (
    ("application/json", '{"application-id":"{id}","queue":"root.prod"}'),
    ("application/json", '{"application-id":"{id}","queue":"prod"}'),
    ("application/json", '{"application-id":"{id}","queue":["root.prod"]}'),
    ("application/json", '{"application-id":"{id}","queue":{"$":"root.prod"}}'),
    ("application/json", '{"application-id":"{id}","queue":"default","queue":"root.prod"}'),
    ("application/json", '{"application-id":"{id}","queue":"root.prod","queue":"default"}'),
    ("application/json", '{"application-id":"{id}","Queue":"root.prod"}'),
    ("application/json", '{"application-id":"{id}","queue":"root.prod\\u0000"}'),
    ("application/json", '{"application-id":"{id}","queue":"\\uff50rod"}'),
    ("application/json", '{"application-id":"{id}","queue":" root.prod "}'),
    ("application/json", '{"application-id":"{id}","queue":"root..prod"}'),
    ("application/json", '{"application-submission-context":{"application-id":"{id}","queue":"root.prod"}}'),
    ("application/xml", "<a><application-id>{id}</application-id><queue>root.prod</queue></a>"),
    ("application/xml", "<a><application-id>{id}</application-id><queue>root.<x/>prod</queue></a>"),
    ("application/xml", "<a><application-id>{id}</application-id><queue><q>root.prod</q></queue></a>"),
    ("application/xml", "<a><application-id>{id}</application-id><queue/><queue>root.prod</queue></a>"),
    (
        "application/xml",
        '<!DOCTYPE a [<!ENTITY q "root.prod">]><a><application-id>{id}</application-id><queue>&q;</queue></a>',
    ),
    ("application/x-www-form-urlencoded", "application-id={id}&queue=root.prod"),
    ("text/plain", '{"application-id":"{id}","queue":"root.prod"}'),
)
"""Submissions into it by somebody else: type and body."""


# -- bytes that are no Hadoop RPC --------------------------------------------------------------------------------------

FRAMES: tuple[tuple[str, bytes], ...] = (
    ("nothing", b""),
    ("a request of HTTP", b"GET / HTTP/1.1\r\n\r\n"),
    ("another version", b"hrpc\x08\x00\x00"),
    ("a header that ends early", b"hrpc\x09"),
    ("another login", b"hrpc\x09\x00\x55"),
    ("a frame of two GiB", b"hrpc\x09\x00\x00\x7f\xff\xff\xff"),
    ("a negative frame", b"hrpc\x09\x00\x00\xff\xff\xff\xff"),
    ("an empty frame", b"hrpc\x09\x00\x00\x00\x00\x00\x00"),
    ("a frame that ends early", b"hrpc\x09\x00\x00\x00\x00\x10\x00abc"),
    ("a varint without end", b"hrpc\x09\x00\x00\x00\x00\x00\x0b" + b"\xff" * 11),
    ("zeros", b"hrpc\x09\x00\x00" + b"\0" * 65_536),
    ("ones", b"hrpc\x09\x00\xdf" + b"\xff" * 65_536),
    ("a greeting of TLS", bytes.fromhex("160301020001000001fc0303") + b"\0" * 500),
)
