"""Pages and web services of ApplicationMasters, fetched as a web proxy of YARN fetches them.

An ApplicationMaster shows its pages to its web proxy alone, and takes for that what its client's configuration calls
the ResourceManager's web address: Heddle for clients that know only Heddle, else the ResourceManager. So Heddle asks
the ApplicationMaster itself, and where that sends it on to another proxy, or cannot be reached, the web proxy of its
ResourceManager, which is another host to the ApplicationMaster.

Asked is only the address that the application's ResourceManager tells of its running attempt, and only if such an
address can be of that cluster: neither loopback nor link-local, no port below 1024, none of Heddle's own servers.

Sources: `org.apache.hadoop.yarn.server.webproxy.amfilter.AmIpFilter`, `WebAppProxyServlet` of Hadoop 3.4.2.
"""

import asyncio
import re
import socket
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import SplitResult, quote, urljoin, urlsplit

import aiohttp
import msgspec
from yarl import URL

from adapters.yarn.answers import read_bounded
from adapters.yarn.errors import FOREIGN_ERRORS, translated
from adapters.yarn.node_addresses import node_url
from adapters.yarn.web_session import (
    CHUNK_BYTES,
    RestSettings,
    Trail,
    open_session,
    passed_on,
    sent_headers,
    target_of,
)
from shim.domain.addresses import join_address
from shim.domain.ids import SubClusterId
from shim.errors import MalformedAnswerError, NeverReachedError, UnavailableError
from shim.ports.resource_manager import ResourceManager, RestAnswer, RestRequest
from shim.protocol.rest.queries import parse_query
from shim.protocol.wire_values import UNREADABLE, rows_of

_PAGE = re.compile(r"/proxy/(?P<application>application_[0-9]{1,19}_[0-9]{1,10})(?P<rest>/.*)?")
_RUNNING = "RUNNING"
_USER_COOKIE = "proxy-user"
"""`WebAppProxyServlet.PROXY_USER_COOKIE_NAME`: whom the ApplicationMaster takes its caller for."""

_NO_OTHER_PROXY = b"Could not determine the proxy server for redirection"
"""What `AmIpFilter` ends with for a caller that it does not know, if no proxy that it knows answers it."""

_Document = TypeVar("_Document")

_PORTS = {"http": 80, "https": 443}
_OK, _SERVER_ERROR = 200, 500
_REDIRECTS = range(300, 400)
_MOST_STEPS = 5
_SAFE_IN_TARGET = "%/:@,*?;=&+$!'()~"
_KEPT_S = 10.0
_MOST_KEPT = 1024
_MOST_OF_ADDRESS = 2048


class _Attempt(msgspec.Struct):
    id: int = 0


class _Attempts(msgspec.Struct):
    appAttempt: msgspec.Raw = msgspec.Raw(b"null")  # noqa: N815 - Hadoop's name; Hadoop 2 writes one without its list


class _AttemptsAnswer(msgspec.Struct):
    appAttempts: _Attempts | None = None  # noqa: N815 - Hadoop's name


class _AttemptAnswer(msgspec.Struct):
    appAttemptState: str = ""  # noqa: N815 - Hadoop's name
    originalTrackingUrl: str = ""  # noqa: N815 - Hadoop's name
    appAttempt: "_AttemptAnswer | None" = None  # noqa: N815 - Hadoop's name; some wrap the same in it


@dataclass(frozen=True, slots=True)
class PageSource:
    """Rules of fetching pages from ApplicationMasters of a sub-cluster.

    Attributes:
        manager: Web address of its ResourceManager.
        own_ports: Of Heddle's servers: no page comes from there.
        hosts: Where ApplicationMasters and drivers may be: names, or `.example.org` for all below; empty for anywhere.
        local_address: From which Heddle asks, as ApplicationMasters compare it with their proxy's; empty for any.
    """

    manager: str
    own_ports: Collection[int] = ()
    hosts: tuple[str, ...] = ()
    local_address: str = ""


@dataclass(frozen=True, slots=True)
class _Place:
    """The web server of an ApplicationMaster: as it was told, and with the address that was checked."""

    told: SplitResult
    origin: str

    @property
    def named(self) -> str:
        """Its host and port, as told."""
        return _authority(self.told)


class _NotOurPageError(Exception):
    """The ApplicationMaster is not to be asked by Heddle; the text says why."""


class _OtherProxyError(_NotOurPageError):
    """It takes another for its proxy."""


class MasterPages(ResourceManager):
    """A `ResourceManager` whose pages come from ApplicationMasters themselves, where these take Heddle for their proxy.

    Args:
        inner: The ResourceManager, whose web proxy has the other pages.
        settings: As of its web services.
    """

    def __init__(
        self, inner: ResourceManager, settings: RestSettings, source: PageSource, monotonic_s: Callable[[], float]
    ) -> None:
        self._inner = inner
        self._settings = settings
        self._source = source
        self._manager = urlsplit(source.manager)
        self._monotonic_s = monotonic_s
        self._places: OrderedDict[tuple[str, str | None], tuple[float, _Place | str | None]] = OrderedDict()
        self._session: aiohttp.ClientSession | None = None

    @property
    def subcluster(self) -> SubClusterId:
        return self._inner.subcluster

    async def forward(self, request: RestRequest, *, timeout_s: float | None = None) -> RestAnswer:
        """See `ResourceManager`.

        Raises:
            UnavailableError: The ApplicationMaster has sent its reader here, and cannot be asked.
            ResourceManagerError: As of `ResourceManager.forward`.
        """
        page = _PAGE.fullmatch(request.path) if request.is_page else None
        if page is None:
            return await self._inner.forward(request, timeout_s=timeout_s)
        trail = Trail()
        try:
            async with asyncio.timeout(self._settings.timeout_s if timeout_s is None else timeout_s):
                return await self._shown(request, page["application"], page["rest"] or "", trail)
        except TimeoutError as exc:
            raise translated(exc, self.subcluster, "the ApplicationMaster", was_sent=trail.was_sent) from exc

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None
        await self._inner.close()

    async def _shown(self, request: RestRequest, application: str, rest: str, trail: Trail) -> RestAnswer:
        key, is_new = (application, request.user), False
        try:
            place = self._kept(key)
            if place is None:
                place, is_new = await self._found(application, request.user), True
                self._keep(key, place)
            return await self._fetched(place, request, application, rest, trail)
        except _OtherProxyError as exc:
            why = str(exc)
            self._keep(key, why)
        except _NotOurPageError as exc:
            why = str(exc)
        except NeverReachedError:
            why = "its web server cannot be reached from here"
            self._keep(key, why if is_new else None)  # of an older place: it may have another attempt by now
        if request.is_redirected:
            told = f"{application} sends whoever looks at its pages here, and Heddle cannot show them: {why}"
            raise UnavailableError(told)
        return await self._inner.forward(request)  # within the time of both

    def _kept(self, key: tuple[str, str | None]) -> _Place | None:
        """Its place, if that was found a moment ago.

        Raises:
            _NotOurPageError: It was found that Heddle cannot ask there.
        """
        until_s, known = self._places.get(key, (0.0, None))
        if self._monotonic_s() >= until_s:
            return None
        if isinstance(known, str):
            raise _NotOurPageError(known)
        return known

    def _keep(self, key: tuple[str, str | None], known: _Place | str | None) -> None:
        self._places[key] = (self._monotonic_s() + _KEPT_S, known)
        self._places.move_to_end(key)
        while len(self._places) > _MOST_KEPT:
            self._places.popitem(last=False)

    async def _found(self, application: str, user: str | None) -> _Place:
        """Find where its running attempt has its web server, as its ResourceManager tells this user.

        Raises:
            _NotOurPageError: There is none that Heddle may ask.
        """
        attempts = f"/ws/v1/cluster/apps/{application}/appattempts"
        listed = _read(await self._inner.query(attempts, viewer=user), _AttemptsAnswer).appAttempts
        rows = [] if listed is None else rows_of(listed.appAttempt)
        last = max(map(_number_of, rows), default=0)
        if last < 1:
            raise _NotOurPageError("its ResourceManager tells of no attempt")
        name = f"appattempt_{application.removeprefix('application_')}_{last:06d}"
        attempt = _read(await self._inner.query(f"{attempts}/{name}", viewer=user), _AttemptAnswer)
        attempt = attempt.appAttempt or attempt
        if attempt.appAttemptState != _RUNNING:
            raise _NotOurPageError("it does not run")
        return await self._checked(attempt.originalTrackingUrl)

    async def _checked(self, told_untrusted: str) -> _Place:
        """The address that an application has told its ResourceManager, if it may be asked."""
        if len(told_untrusted) > _MOST_OF_ADDRESS:
            raise _NotOurPageError(f"it tells an address of more than {_MOST_OF_ADDRESS} characters")
        url = told_untrusted if "://" in told_untrusted else f"{self._manager.scheme}://{told_untrusted}"
        try:
            told = urlsplit(url)
            port = told.port or _PORTS.get(told.scheme, 0)
        except ValueError:
            raise _NotOurPageError("it tells an address that is none") from None
        host = told.hostname or ""
        if told.scheme not in _PORTS or not host or told.username is not None:
            raise _NotOurPageError("it tells an address that is none")
        hosts = self._source.hosts
        if hosts and not any(host == each or (each[:1] == "." and host.endswith(each)) for each in hosts):
            raise _NotOurPageError(f"{host} is not among page_hosts of the [[subcluster]]")
        manager_host = self._manager.hostname or ""
        try:
            origin = await node_url(
                self.subcluster, join_address(host, port), scheme=told.scheme, manager_host=manager_host
            )
        except MalformedAnswerError as exc:
            raise _NotOurPageError(f"{host}:{port} is no address of its cluster") from exc
        if port in self._source.own_ports and _is_of_this_machine(urlsplit(origin).hostname or ""):
            raise _NotOurPageError(f"{host}:{port} is Heddle's own address")
        return _Place(told, origin)

    async def _fetched(
        self, place: _Place, request: RestRequest, application: str, rest: str, trail: Trail
    ) -> RestAnswer:
        """A page of an ApplicationMaster; redirects to other pages of its are followed, as YARN's proxy does.

        Raises:
            _OtherProxyError: It sends its readers to another proxy.
        """
        path = f"{place.told.path.rstrip('/')}{rest}" or "/"
        query = parse_query(place.told.query).pairs() if place.told.query else ()
        asked = target_of(path, (), (*query, *request.parameters))
        steps = 0
        while True:
            steps += 1
            answer = await self._sent(place, asked, request, trail)
            if answer.status == _SERVER_ERROR and _NO_OTHER_PROXY in answer.body:
                raise _OtherProxyError(f"{place.named} takes another for its proxy, which does not answer it")
            if answer.status not in _REDIRECTS or (location := answer.header("Location")) is None:
                return answer
            there = _step(f"{place.told.scheme}://{place.named}{asked}", location)
            is_its_own = (there.scheme, _authority(there)) == (place.told.scheme, place.named)
            is_of_a_proxy = there.path.startswith((f"/proxy/{application}", f"/proxy/redirect/{application}"))
            if is_of_a_proxy and not is_its_own:
                raise _OtherProxyError(f"{place.named} takes {_authority(there)[:200]} for its proxy, and not Heddle")
            if is_of_a_proxy or not is_its_own or request.method != "GET" or steps == _MOST_STEPS:
                return answer
            asked = quote(f"{there.path or '/'}{'?' if there.query else ''}{there.query}", safe=_SAFE_IN_TARGET)

    async def _sent(self, place: _Place, asked: str, request: RestRequest, trail: Trail) -> RestAnswer:
        headers = [*sent_headers(request), ("Host", place.named)]
        if request.user is not None:
            headers.append(("Cookie", f"{_USER_COOKIE}={request.user}"))
        try:
            async with self._opened().request(
                request.method,
                URL(f"{place.origin}{asked}", encoded=True),
                headers=headers,
                data=request.body or None,
                allow_redirects=False,
                trace_request_ctx=trail,
                ssl=self._settings.for_https(),
            ) as response:
                body = await read_bounded(
                    response.content.iter_chunked(CHUNK_BYTES),
                    response.headers.get("Content-Encoding", ""),
                    limit=self._settings.max_page_bytes,
                    subcluster=self.subcluster,
                )
        except TimeoutError as exc:
            if not isinstance(exc, aiohttp.ClientError):
                raise  # the time of the whole exchange
            raise translated(exc, self.subcluster, place.named, was_sent=trail.was_sent) from exc
        except FOREIGN_ERRORS as exc:
            raise translated(exc, self.subcluster, place.named, was_sent=trail.was_sent) from exc
        if not _OK <= response.status <= 599:  # noqa: PLR2004 - the last of HTTP's
            raise MalformedAnswerError(self.subcluster, f"{place.named} answered with status {response.status}")
        return RestAnswer(response.status, passed_on(response.raw_headers), body)

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = open_session(self._settings, local_address=self._source.local_address)
        return self._session


def _read(answer: RestAnswer, kind: type[_Document]) -> _Document:
    if answer.status != _OK:
        raise _NotOurPageError(f"its ResourceManager answers {answer.status} when asked where it is")
    try:
        return msgspec.json.decode(answer.body, type=kind, strict=False)
    except UNREADABLE as exc:
        raise _NotOurPageError("its ResourceManager tells of its attempt what is not understood") from exc


def _number_of(row: msgspec.Raw) -> int:
    """Number of an attempt; 0 for a row that cannot be read, which costs itself alone."""
    try:
        return msgspec.json.decode(row, type=_Attempt, strict=False).id
    except UNREADABLE:
        return 0


def _authority(url: SplitResult) -> str:
    """Host and port of a URL."""
    return join_address(url.hostname or "", url.port or _PORTS.get(url.scheme, 0))


def _step(here: str, location_untrusted: str) -> SplitResult:
    """The address that a redirect leads to; an empty one if it is none."""
    try:
        told = urlsplit(urljoin(here, location_untrusted))
        _ = told.port
    except ValueError:
        return urlsplit("")
    return told


def _is_of_this_machine(host: str) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((host, 0))
    except OSError:
        return False
    return True
