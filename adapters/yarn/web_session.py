"""Connections to the web services of one sub-cluster: how they are opened, what goes out on one, and whether it did.

Heddle's own logins at web services of ResourceManagers that ask for Kerberos tickets (SPNEGO).

A ticket is shown when it is asked for; the signed cookie of the answer does for the requests after it. Whoever asked
once is never told a name again in place of proof: who a request is for is then `doAs` of Heddle's principal.

Source: RFC 4559; `org.apache.hadoop.security.authentication.server.AuthenticationFilter`.
"""

import base64
import binascii
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import Protocol
from urllib.parse import quote, urlsplit

import aiohttp

from shim.errors import MalformedAnswerError, NeverReachedError
from shim.ports.resource_manager import Parameters, RestRequest
from shim.ports.web_tickets import TicketProof
from shim.protocol.hrpc.sasl import SASLError
from shim.protocol.rest.queries import encode_query

CHUNK_BYTES = 256 * 1024
"""Size of the pieces in which answers are read."""

_SAFE_IN_PATH = "%/:@,*"
_IDENTITY = frozenset({"USER.NAME", "DOAS", "DELEGATION", "OP"})
"""What a ResourceManager's authentication filter acts on, in upper case, as Java compares."""

_NOT_SENT = frozenset(
    {"accept-encoding", "authorization", "connection", "content-length", "cookie", "expect", "host", "keep-alive"}
    | {"proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "forwarded"}
    | {"x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-server", "x-real-ip"}
)
_NOT_PASSED_ON = frozenset(
    {"connection", "content-encoding", "content-length", "keep-alive", "set-cookie", "transfer-encoding"}
    | {"www-authenticate"}
)

_IDLE_S = 15.0  # Jetty closes after 60 s: a connection that it may be closing must not carry a submission


@dataclass(frozen=True, slots=True)
class RestSettings:
    """Settings of requests to a ResourceManager.

    Attributes:
        user: Heddle's own user.
        connect_timeout_s: For opening a connection, and for asking who is active.
        timeout_s: For a whole exchange, unless the caller says another.
        max_answer_bytes: Longest answer, packed and unpacked.
        is_proxy: Whether others' requests go as Heddle's user with `doAs`, which needs `hadoop.proxyuser.USER.*` there;
            otherwise with `user.name`.
        max_page_bytes: The same of a page of an ApplicationMaster.
        tls: The context for https of the moment, which a connection that is opened then is made with; without it, what
            the machine trusts.
    """

    user: str
    connect_timeout_s: float
    timeout_s: float
    max_answer_bytes: int
    is_proxy: bool = False
    max_page_bytes: int = 16 * 1024 * 1024
    connections: int = 64
    tls: Callable[[], ssl.SSLContext] | None = None

    def for_https(self) -> ssl.SSLContext | bool:
        """Argument `ssl` of aiohttp; with another context it uses no connection of before."""
        return True if self.tls is None else self.tls()


class Trail(SimpleNamespace):
    """Trail of a request: whether the head of any attempt was written."""

    was_sent: bool = False


def open_session(settings: RestSettings, *, local_address: str = "") -> aiohttp.ClientSession:
    """A pool of connections, none of them open yet; requests carry a `Trail`, and `settings.for_https()`.

    Args:
        local_address: From which address of this machine; empty for the one that the way there suggests.
    """
    local = (local_address, 0) if local_address else None
    connector = aiohttp.TCPConnector(limit=settings.connections, keepalive_timeout=_IDLE_S, local_addr=local)
    watch = aiohttp.TraceConfig()
    watch.on_request_headers_sent.append(_note_sent)
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=None, connect=settings.connect_timeout_s),
        headers={"User-Agent": "heddle"},
        skip_auto_headers=("Content-Type", "Accept"),  # a request says only what the caller said
        trace_configs=[watch],
    )


async def _note_sent(
    session: aiohttp.ClientSession, context: SimpleNamespace, _: aiohttp.TraceRequestHeadersSentParams
) -> None:
    del session
    context.trace_request_ctx.was_sent = True


def target_of(path: str, identity: Parameters, others: Parameters) -> str:
    """Path and query: the identity that is meant before anything else, as the first of several counts."""
    quoted = quote(path, safe=_SAFE_IN_PATH)
    query = encode_query((*identity, *(pair for pair in others if pair[0].upper() not in _IDENTITY)))
    return f"{quoted}?{query}" if query else quoted


def sent_headers(request: RestRequest) -> Iterator[tuple[str, str]]:
    """Headers of a request that travel, and what Heddle itself can read."""
    yield from (pair for pair in request.headers if pair[0].lower() not in _NOT_SENT)
    yield "Accept-Encoding", "identity"


def passed_on(headers: Iterable[tuple[bytes, bytes]]) -> tuple[tuple[str, str], ...]:
    """Headers of an answer without those that are between two ends of a connection alone."""
    return tuple((name, value.decode("latin-1")) for raw, value in headers if (name := _name_passed_on(raw)))


@lru_cache(maxsize=256)  # the same few come with every answer
def _name_passed_on(raw: bytes) -> str:
    """A header's name; empty for one that is between a ResourceManager and Heddle alone."""
    name = raw.decode("latin-1")
    return "" if name.lower() in _NOT_PASSED_ON else name


_UNAUTHORIZED = 401
_NEGOTIATE = "negotiate"
_COOKIE = "hadoop.auth="
_LONGEST_COOKIE = 4096


class TicketSource(Protocol):
    """A source of tickets; `adapters.kerberos.KerberosLogin` is one."""

    async def at_web(self, host: str) -> TicketProof:
        """A login at `HTTP@host`; raises `SASLError` if there is no ticket to be had."""
        ...


class WebTicketLogin:
    """The logins of one sub-cluster, by address.

    Args:
        subcluster: Whose ResourceManager it is.
    """

    def __init__(self, subcluster: str, source: TicketSource) -> None:
        self._subcluster = subcluster
        self._source = source
        self._cookies: dict[str, str] = {}
        self._asking: set[str] = set()

    def identity(self, address: str, user: str | None, own_user: str) -> Parameters | None:
        """Name the user of a request, where a ticket tells its sender; None where names are believed so far."""
        if address not in self._asking:
            return None
        return () if user is None or user == own_user else (("doAs", user),)

    def shown(self, address: str) -> tuple[tuple[str, str], ...]:
        """The cookie of the last login."""
        cookie = self._cookies.get(address)
        return (("Cookie", cookie),) if cookie is not None else ()

    def is_asked(self, address: str, status: int, headers: Mapping[str, str]) -> bool:
        asked = headers.get("WWW-Authenticate", "").strip().lower()
        is_asked = status == _UNAUTHORIZED and asked.partition(" ")[0] == _NEGOTIATE
        if is_asked:
            self._asking.add(address)
            self._cookies.pop(address, None)
        return is_asked

    async def begin(self, address: str) -> TicketProof:
        """A login at an address.

        Raises:
            NeverReachedError: There is no ticket to be had: nothing was sent that counts.
        """
        try:
            return await self._source.at_web(urlsplit(address).hostname or "")
        except SASLError as exc:
            raise NeverReachedError(self._subcluster, f"{address} asks for a Kerberos ticket: {exc}") from exc

    def end(self, address: str, proof: TicketProof, headers: Mapping[str, str], cookies: Iterable[str]) -> None:
        """Take the answer to a login: the server's proof, and the cookie.

        Raises:
            MalformedAnswerError: The server does not prove who it is.
        """
        text = headers.get("WWW-Authenticate", "").strip().partition(" ")[2]
        try:
            proof.check(base64.b64decode(text.strip(), validate=True))
        except (SASLError, binascii.Error, ValueError) as exc:
            message = f"{address} took a Kerberos ticket and does not prove who it is ({exc})"
            raise MalformedAnswerError(self._subcluster, message) from exc
        for line in cookies:
            cookie = line.partition(";")[0].strip()
            if cookie.startswith(_COOKIE) and len(_COOKIE) < len(cookie) <= _LONGEST_COOKIE:
                self._cookies[address] = cookie
