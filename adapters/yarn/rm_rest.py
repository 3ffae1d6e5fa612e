"""The active ResourceManager of one sub-cluster, over its web services.

One pool of connections for each sub-cluster; no cookies, so that nobody becomes somebody else by sharing a connection.
Redirects are not followed, except that of a standby ResourceManager to an address that is configured for its
sub-cluster. Every exchange ends within its time, and every answer within its size.

Sources: `org.apache.hadoop.yarn.server.resourcemanager.webapp.RMWebAppFilter` (what a standby answers),
`org.apache.hadoop.security.authentication.server.PseudoAuthenticationHandler` (`user.name`).
"""

import asyncio
import ssl
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote, urlsplit

import aiohttp
import msgspec
from yarl import URL

from adapters.yarn.answers import read_bounded
from adapters.yarn.errors import FOREIGN_ERRORS, translated
from shim.domain.ids import SubClusterId
from shim.errors import MalformedAnswerError, NeverReachedError, NoAnswerError, ResourceManagerError, StandbyError
from shim.ports.resource_manager import Parameters, ResourceManager, RestAnswer, RestRequest
from shim.protocol.rest.queries import encode_query

__all__ = ["RestResourceManager", "RestSettings"]

_INFO = "/ws/v1/cluster/info"
_CHUNK_BYTES = 256 * 1024
_IDLE_S = 15.0  # Jetty closes after 60 s: a connection that it may be closing must not carry a submission
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
)
_LEAST_STATUS, _LEAST_REDIRECT, _LEAST_ERROR, _MOST_STATUS = 200, 300, 400, 599
_STANDBY_TEXTS = (b"This is standby RM", b"Can not find any active RM")


@dataclass(frozen=True, slots=True)
class RestSettings:
    """How a ResourceManager is talked to.

    Attributes:
        user: Heddle's own user.
        is_proxy: Whether others' requests go as Heddle's user with `doAs`, which needs `hadoop.proxyuser.USER.*` there;
            otherwise with `user.name`.
        connect_timeout_s: For opening a connection, and for asking who is active.
        timeout_s: For a whole exchange, unless the caller says another.
        max_answer_bytes: Longest answer, packed and unpacked.
        connections: Most connections at a time.
        verify_tls: Whether certificates are checked.
        ca_file: Certificates to trust instead of the machine's.
        certificate: Heddle's own, if the ResourceManager asks for one.
        key_file: With its key.
    """

    user: str = "heddle"
    is_proxy: bool = False
    connect_timeout_s: float = 1.0
    timeout_s: float = 2.0
    max_answer_bytes: int = 64 * 1024 * 1024
    connections: int = 64
    verify_tls: bool = True
    ca_file: Path | None = None
    certificate: Path | None = None
    key_file: Path | None = None


class _Info(msgspec.Struct):
    haState: str = ""  # noqa: N815 - Hadoop's name
    startedOn: int = 0  # noqa: N815 - Hadoop's name


class _InfoAnswer(msgspec.Struct):
    clusterInfo: _Info  # noqa: N815 - Hadoop's name


class _Trail(SimpleNamespace):
    """What became of a request: whether the head of any attempt was written."""

    was_sent: bool = False


class RestResourceManager(ResourceManager):
    """`shim.ports.ResourceManager` over HTTP or HTTPS."""

    def __init__(self, subcluster: SubClusterId, addresses: Sequence[str], settings: RestSettings) -> None:
        """Remember where to ask; nothing is opened before the first exchange.

        Args:
            subcluster: Whose ResourceManager this is.
            addresses: `http://host:port` of each ResourceManager of the sub-cluster.
            settings: How to talk to it.

        Raises:
            ValueError: If there is no address.
        """
        if not addresses:
            raise ValueError(f"sub-cluster {subcluster} has no web address")
        self._subcluster = subcluster
        self._addresses = tuple(address.rstrip("/") for address in addresses)
        self._settings = settings
        self._active = self._addresses[0]
        self._is_doubtful = False
        self._session: aiohttp.ClientSession | None = None

    @property
    def subcluster(self) -> SubClusterId:
        """Whose ResourceManager this is."""
        return self._subcluster

    @property
    def active_address(self) -> str:
        """The address that was active last."""
        return self._active

    async def forward(self, request: RestRequest, *, timeout_s: float | None = None) -> RestAnswer:
        """Send a request to the active ResourceManager; see `shim.ports.ResourceManager.forward`."""
        trail = _Trail()
        try:
            async with asyncio.timeout(self._settings.timeout_s if timeout_s is None else timeout_s):
                return await self._exchange(request, trail)
        except TimeoutError as exc:
            self._is_doubtful = True
            raise translated(exc, self._subcluster, self._active, was_sent=trail.was_sent) from exc
        except NoAnswerError:
            self._is_doubtful = True
            raise

    async def close(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _exchange(self, request: RestRequest, trail: _Trail) -> RestAnswer:
        """Ask the address that is believed active, then the others as far as the request has not been taken."""
        if self._is_doubtful and len(self._addresses) > 1:
            await self._find_active()
        failure: ResourceManagerError | None = None
        standby: RestAnswer | None = None
        asked: set[str] = set()
        queue = [self._active, *self._addresses]
        while queue:
            address = queue.pop(0)
            if address in asked:
                continue
            asked.add(address)
            try:
                answer = await self._send(address, request, trail)
            except NeverReachedError as exc:
                failure = failure or exc
                continue
            if not _is_standby(answer):
                self._check_status(address, answer)
                if self._is_inactive_info(request, answer):
                    standby = answer
                    continue
                self._active, self._is_doubtful = address, False
                return answer
            trail.was_sent = False  # a standby takes nothing
            queue[:0] = self._registered(answer)
            failure = StandbyError(self._subcluster, _standby_story(address, answer))
        if standby is not None:
            return standby
        raise failure or StandbyError(self._subcluster, "no ResourceManager is active")

    async def _send(self, address: str, request: RestRequest, trail: _Trail) -> RestAnswer:
        url = URL(f"{address}{_target(request, self._identity(request.user))}", encoded=True)
        headers = [(name, value) for name, value in request.headers if name.lower() not in _NOT_SENT]
        headers.append(("Accept-Encoding", "identity"))
        try:
            async with self._open_session().request(
                request.method,
                url,
                headers=headers,
                data=request.body or None,
                allow_redirects=False,
                trace_request_ctx=trail,
            ) as response:
                body = await read_bounded(
                    response.content.iter_chunked(_CHUNK_BYTES),
                    response.headers.get("Content-Encoding", ""),
                    limit=self._settings.max_answer_bytes,
                    subcluster=self._subcluster,
                )
                return RestAnswer(response.status, _passed_on(response.raw_headers), body)
        except TimeoutError as exc:
            if not isinstance(exc, aiohttp.ClientError):
                raise  # the exchange's own time-out, told where it is set
            raise translated(exc, self._subcluster, address, was_sent=trail.was_sent) from exc
        except FOREIGN_ERRORS as exc:
            raise translated(exc, self._subcluster, address, was_sent=trail.was_sent) from exc

    def _check_status(self, address: str, answer: RestAnswer) -> None:
        """Refuse what no ResourceManager answers: it would be passed on to clients, who would act on it.

        Raises:
            MalformedAnswerError: The status is none of HTTP's, or sends whoever asked to another address.
        """
        if not _LEAST_STATUS <= answer.status <= _MOST_STATUS:
            raise MalformedAnswerError(self._subcluster, f"{address} answered with status {answer.status}")
        if _LEAST_REDIRECT <= answer.status < _LEAST_ERROR:
            where = answer.header("Location") or "nowhere"
            raise MalformedAnswerError(
                self._subcluster,
                f"{address} answered {answer.status} and points to {_without_query(where)[:200]}; is that the address "
                f"of a ResourceManager?",
            )

    async def _find_active(self) -> None:
        """Ask every address who is active, all at once; the one that became so last is believed."""
        asked = (self._ask_whether_active(address) for address in self._addresses)
        found = [answer for answer in await asyncio.gather(*asked) if answer is not None]
        if found:
            self._active = max(found)[1]

    async def _ask_whether_active(self, address: str) -> tuple[int, str] | None:
        try:
            async with asyncio.timeout(self._settings.connect_timeout_s):
                answer = await self._send(address, RestRequest("GET", _INFO), _Trail())
        except (TimeoutError, ResourceManagerError):
            return None
        info = _read_info(answer)
        return (info.startedOn, address) if info is not None and info.haState == "ACTIVE" else None

    def _is_inactive_info(self, request: RestRequest, answer: RestAnswer) -> bool:
        """A standby answers `/info` itself: with several addresses, the active one is meant."""
        if len(self._addresses) == 1 or request.method != "GET" or request.path.rstrip("/") != _INFO:
            return False
        info = _read_info(answer)
        return info is not None and info.haState != "ACTIVE"

    def _registered(self, answer: RestAnswer) -> list[str]:
        """The configured address that a standby's redirect names, if it names one."""
        named = _origin(answer.header("Location") or "")
        return [address for address in self._addresses if _origin(address) == named]

    def _identity(self, user: str | None) -> tuple[tuple[str, str], ...]:
        own = ("user.name", self._settings.user)
        if user is None or user == self._settings.user:
            return (own,)
        return (own, ("doAs", user)) if self._settings.is_proxy else (("user.name", user),)

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                limit=self._settings.connections,
                keepalive_timeout=_IDLE_S,
                ssl=_ssl_context(self._settings) if self._addresses[0].startswith("https:") else True,
            )
            watch = aiohttp.TraceConfig()
            watch.on_request_headers_sent.append(_note_sent)
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                timeout=aiohttp.ClientTimeout(total=None, connect=self._settings.connect_timeout_s),
                headers={"User-Agent": "heddle"},
                skip_auto_headers=("Content-Type", "Accept"),  # a request says only what the caller said
                trace_configs=[watch],
            )
        return self._session


async def _note_sent(
    session: aiohttp.ClientSession, context: SimpleNamespace, _: aiohttp.TraceRequestHeadersSentParams
) -> None:
    del session
    context.trace_request_ctx.was_sent = True


def _target(request: RestRequest, identity: Parameters) -> str:
    """Path and query: the identity that is meant before anything else, as the first of several counts."""
    path = quote(request.path, safe=_SAFE_IN_PATH)
    others = (pair for pair in request.parameters if pair[0].upper() not in _IDENTITY)
    return f"{path}?{encode_query((*identity, *others))}"


def _passed_on(headers: Iterable[tuple[bytes, bytes]]) -> tuple[tuple[str, str], ...]:
    return tuple((name, value.decode("latin-1")) for raw, value in headers if (name := _name_passed_on(raw)))


@lru_cache(maxsize=256)  # the same few come with every answer
def _name_passed_on(raw: bytes) -> str:
    """A header's name; empty for one that is between a ResourceManager and Heddle alone."""
    name = raw.decode("latin-1")
    return "" if name.lower() in _NOT_PASSED_ON else name


def _is_standby(answer: RestAnswer) -> bool:
    if answer.header("Refresh") is not None and answer.status in {200, 307}:
        return True
    return answer.body.startswith(_STANDBY_TEXTS)


def _standby_story(address: str, answer: RestAnswer) -> str:
    location = answer.header("Location")
    if location is None:
        return f"{address} is standby, and knows no active ResourceManager"
    where = _without_query(location)[:200]
    return f"{address} is standby and points to {where}, which is not a configured address or not active either"


def _without_query(url: str) -> str:
    """A redirect may repeat the query with the identity in it: that is not for messages."""
    return url.partition("?")[0]


def _read_info(answer: RestAnswer) -> _Info | None:
    try:
        return msgspec.json.decode(answer.body, type=_InfoAnswer, strict=False).clusterInfo
    except msgspec.DecodeError:
        return None


def _origin(address: str) -> tuple[str, str]:
    """Scheme and authority; empty ones of what is no address."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "", ""
    return parts.scheme, parts.netloc.lower()


def _ssl_context(settings: RestSettings) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(settings.ca_file) if settings.ca_file else None)
    if settings.certificate is not None:
        context.load_cert_chain(settings.certificate, settings.key_file)
    if not settings.verify_tls:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
