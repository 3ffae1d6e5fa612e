"""Files of HDFS by a web gateway: a NameNode's WebHDFS, or HttpFS.

    GET /webhdfs/v1/PATH?op=LISTSTATUS            entries of a folder
    GET /webhdfs/v1/PATH?op=OPEN&offset=&length=  bytes; a NameNode sends on to the DataNode that has them (307)

A redirect is followed once, and only to hosts that the configuration names: otherwise whoever answers as the gateway
could make Heddle ask any service. What is read is bounded in bytes and in time. It blocks: for a thread.

Source: `org.apache.hadoop.hdfs.web.WebHdfsFileSystem`, `NamenodeWebHdfsMethods` of Hadoop 3.4.2; "WebHDFS REST API".
"""

import base64
import errno
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

import httpx
import msgspec

from shim.errors import HeddleError
from shim.ports.web_tickets import TicketProof
from shim.protocol.hrpc.sasl import SASLError
from shim.protocol.wire_values import UNREADABLE

_PREFIX = "/webhdfs/v1"
_SCHEMES = {"webhdfs": "http", "swebhdfs": "https"}
_MOST_LISTED = 8 * 1024 * 1024  # bytes of a folder's listing
_LEAST = 64 * 1024
"""So many bytes are read of any answer, as a refusal has a text, too."""
_OPENED = frozenset({"connection.connect_tcp.complete", "connection.start_tls.complete"})
_OK, _NOT_FOUND, _UNAUTHORIZED = 200, 404, 401
_REDIRECTS = frozenset({302, 303, 307, 308})
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,253}[A-Za-z0-9])?|[0-9A-Fa-f:]{2,45}")


class Entry(msgspec.Struct):
    """An entry of a folder, by Hadoop's names."""

    pathSuffix: str = ""  # noqa: N815 - Hadoop's name
    type: str = ""
    length: int = 0


class _Entries(msgspec.Struct):
    FileStatus: tuple[Entry, ...] = ()


class _Listing(msgspec.Struct):
    FileStatuses: _Entries


class _Remote(msgspec.Struct):
    exception: str = ""


class _Refusal(msgspec.Struct):
    RemoteException: _Remote


@dataclass(frozen=True, slots=True)
class WebAccess:
    """Heddle's access to web gateways.

    Attributes:
        user: Heddle's own there, which must be allowed to read what it is asked for; where a gateway takes tickets,
            whoever these are of.
        nodes: Hosts besides the gateway's that a redirect may lead to: names, or `.example.org` for all below.
        limit_s: For everything that is asked while one gateway is open: less than its caller waits, who is then told
            which gateway takes so long.
        tls: The context for https of the moment; without it, what the machine trusts.
        prove: Makes a login by a ticket at `HTTP@host`, where the gateway asks for one; without it none is shown.
        monotonic_s: A clock that only goes forward.
    """

    user: str
    nodes: tuple[str, ...]
    connect_timeout_s: float
    limit_s: float = 8.0
    tls: Callable[[], ssl.SSLContext] | None = field(default=None, compare=False)
    prove: Callable[[str], TicketProof] | None = field(default=None, compare=False)
    monotonic_s: Callable[[], float] = field(default=time.monotonic, compare=False)

    @contextmanager
    def opened(self, address: str) -> Iterator["Gateway"]:
        """Open a gateway: `webhdfs://host:port/path`, or `swebhdfs://...` for https; paths are below that one."""
        sockets: list[socket.socket] = []
        client = httpx.Client(
            verify=True if self.tls is None else self.tls(),
            timeout=httpx.Timeout(self.limit_s, connect=self.connect_timeout_s),
            trust_env=False,
            follow_redirects=False,
            headers={"User-Agent": "heddle", "Accept-Encoding": "identity"},
        )
        # a server that sends a byte now and then is never too late for a read: its connection ends with the time
        cut = threading.Timer(self.limit_s, _cut, (sockets,))
        cut.daemon = True
        cut.start()
        try:
            with client:
                yield Gateway(address, self, client, sockets)
        finally:
            cut.cancel()


class Gateway:
    """Questions to one gateway, all of them together within `WebAccess.limit_s`. Raises `OSError` for what fails."""

    def __init__(
        self, address: str, access: WebAccess, client: httpx.Client, sockets: list[socket.socket] | None = None
    ) -> None:
        url = urlsplit(address)
        self._access = access
        self._client = client
        self._sockets = [] if sockets is None else sockets
        self._host = url.hostname or ""
        self._origin = f"{_SCHEMES[url.scheme]}://{url.netloc}"
        self._root = url.path.rstrip("/")
        self._user = quote(access.user, safe="")
        self._until_s = access.monotonic_s() + access.limit_s
        self._is_named = True

    def entries(self, path: str) -> tuple[Entry, ...]:
        """Entries of a folder below the root; none if it is not there."""
        body = self._asked("LISTSTATUS", path, _MOST_LISTED)
        if body is None:
            return ()
        try:
            return msgspec.json.decode(body, type=_Listing).FileStatuses.FileStatus
        except UNREADABLE as exc:
            raise OSError(errno.EIO, f"{self._origin} does not list folders as WebHDFS does") from exc

    def part(self, path: str, offset: int, count: int) -> bytes:
        """So many bytes of a file below the root, all of which it has."""
        body = self.some(path, offset, count)
        if body is None or len(body) != count:
            raise OSError(errno.EIO, f"{self._origin} tells less of a file than it has")
        return body

    def some(self, path: str, offset: int, count: int) -> bytes | None:
        """At most so many bytes of a file below the root; None if it is not there."""
        body = self._asked("OPEN", path, count, f"&offset={offset}&length={count}")
        if body is not None and len(body) > count:
            raise OSError(errno.EFBIG, f"{self._origin} answers with more than was asked for")
        return body

    def _asked(self, operation: str, path: str, most: int, more: str = "") -> bytes | None:
        target = f"{_PREFIX}{quote(f'{self._root}/{path}', safe='/')}"
        answer = self._sent(f"{self._origin}{target}?op={operation}{more}", most, f"&user.name={self._user}")
        if answer.status_code in _REDIRECTS and operation == "OPEN":
            where = answer.headers.get("Location", "")
            allowed = (self._host, *self._access.nodes)
            answer = self._sent(followed(where, target, urlsplit(self._origin).scheme, allowed), most)
        if answer.status_code == _NOT_FOUND:
            return None
        if answer.status_code != _OK:
            raise OSError(errno.EACCES, f"{self._origin} {_refusal(answer, self._access.user)}")
        return answer.content

    def _sent(self, url: str, most: int, name: str = "") -> httpx.Response:
        """An answer, with a ticket if the gateway asks for one.

        Whoever has shown a ticket, or the cookie that it was given for one, is named no more: a NameNode refuses names
        other than the ticket's.
        """
        answer = self._read(url + name if self._is_named else url, most, {})
        asked = answer.headers.get("WWW-Authenticate", "").lower().startswith("negotiate")
        host = urlsplit(url).hostname or ""
        if self._access.prove is None or not asked or answer.status_code != _UNAUTHORIZED or host != self._host:
            return answer
        self._is_named = False
        try:
            proof = self._access.prove(host)
            shown = base64.b64encode(proof.token).decode()
            answer = self._read(url, most, {"Authorization": f"Negotiate {shown}"})
            if answer.status_code != _UNAUTHORIZED:
                proof.check(base64.b64decode(answer.headers.get("WWW-Authenticate", "").partition(" ")[2]))
        except (SASLError, HeddleError, ValueError) as exc:
            raise OSError(errno.EACCES, f"{self._origin}: {exc}") from exc
        return answer

    def _read(self, url: str, most: int, headers: dict[str, str]) -> httpx.Response:
        """Raises `OSError` for what is too long or too late."""
        body = bytearray()
        try:
            traced = {"trace": self._note_socket}
            with self._client.stream("GET", url, headers=headers, timeout=self._left(), extensions=traced) as answer:
                for piece in answer.iter_raw(_LEAST):
                    body += piece
                    if len(body) > max(most, _LEAST):
                        raise OSError(errno.EFBIG, f"{self._origin} answers with more than was asked for")
                    self._left()
                return httpx.Response(answer.status_code, headers=answer.headers, content=bytes(body))
        except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError) as exc:
            raise OSError(errno.EIO, f"{self._origin} does not answer: {exc}") from exc

    def _note_socket(self, event: str, info: dict[str, Any]) -> None:
        """Keep the socket of a connection that was opened, to be cut when the time is over."""
        if event in _OPENED:
            connected = info["return_value"].get_extra_info("socket")
            if isinstance(connected, socket.socket):
                self._sockets.append(connected)

    def _left(self) -> httpx.Timeout:
        left_s = self._until_s - self._access.monotonic_s()
        if left_s <= 0:
            raise OSError(errno.ETIMEDOUT, f"{self._origin} takes more than {self._access.limit_s:g} s")
        return httpx.Timeout(left_s, connect=min(left_s, self._access.connect_timeout_s))


def _cut(sockets: list[socket.socket]) -> None:
    """End connections whatever waits for them."""
    for each in tuple(sockets):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


def followed(location: str, target: str, scheme: str, allowed: tuple[str, ...]) -> str:
    """The address that a redirect leads to, if it may be followed.

    Args:
        target: The path that was asked for, quoted.
        scheme: Of the gateway; no other is followed.
        allowed: Hosts, and `.example.org` for all hosts below.

    Raises:
        OSError: It may not.
    """
    refusal = OSError(
        errno.EPERM, f"a redirect leads to {location.partition('?')[0][:200]!r}, which may not be followed"
    )
    try:
        url = urlsplit(location)
        host, port = (url.hostname or "").lower(), url.port
    except ValueError as exc:
        raise refusal from exc
    is_plain = location.isascii() and location.isprintable() and not set(location) & set(" \\<>\"'`{}|^")
    is_same = url.scheme == scheme and unquote(url.path) == unquote(target) and "@" not in url.netloc
    if not (is_plain and is_same and port and parse_qs(url.query).get("op") == ["OPEN"] and _HOST.fullmatch(host)):
        raise refusal
    if not any(host == each.lower() or (each.startswith(".") and host.endswith(each.lower())) for each in allowed):
        raise OSError(
            errno.EPERM,
            f"a redirect leads to {host}: name it in aggregated_logs_nodes, or in hdfs.nodes, if it is a DataNode",
        )
    return url._replace(fragment="").geturl()


def _refusal(answer: httpx.Response, user: str) -> str:
    """The reason for a status in words, without what the gateway says: it is for whoever asked Heddle."""
    try:
        named = msgspec.json.decode(answer.content, type=_Refusal).RemoteException.exception
    except UNREADABLE:
        named = ""
    known = {
        "AccessControlException": f"does not let {user} read them",
        "StandbyException": "is a standby NameNode: name an HttpFS gateway",
    }
    return known.get(named, f"answers {answer.status_code}")
