"""The active ResourceManager of one sub-cluster, over its web services.

One pool of connections for each sub-cluster; no cookies, so that nobody becomes somebody else by sharing a connection.
Redirects are not followed, except that of a standby ResourceManager to an address that is configured for its
sub-cluster. Every exchange ends within its time, and every answer within its size.

Sources: `org.apache.hadoop.yarn.server.resourcemanager.webapp.RMWebAppFilter` (what a standby answers),
`org.apache.hadoop.security.authentication.server.PseudoAuthenticationHandler` (`user.name`).
"""

import asyncio
import base64
from collections.abc import Sequence
from urllib.parse import urlsplit

import aiohttp
import msgspec
from multidict import CIMultiDictProxy
from yarl import URL

from adapters.yarn.answers import read_bounded
from adapters.yarn.errors import FOREIGN_ERRORS, translated
from adapters.yarn.web_session import (
    CHUNK_BYTES,
    RestSettings,
    TicketSource,
    Trail,
    WebTicketLogin,
    open_session,
    passed_on,
    sent_headers,
    target_of,
)
from shim.domain.ids import SubClusterId
from shim.errors import MalformedAnswerError, NeverReachedError, NoAnswerError, ResourceManagerError, StandbyError
from shim.ports.resource_manager import Parameters, ResourceManager, RestAnswer, RestRequest
from shim.protocol.wire_values import UNREADABLE, WireNumber, whole

__all__ = ["RestResourceManager", "RestSettings"]

_INFO = "/ws/v1/cluster/info"
_MOST_OF_REFUSAL = 1024 * 1024
"""Bytes of what is no document: its words are read in one go."""
_LEAST_STATUS, _LEAST_REDIRECT, _LEAST_ERROR, _MOST_STATUS = 200, 300, 400, 599
_OK, _STANDBY = 200, 307
_STANDBY_TEXTS = (b"This is standby RM", b"Can not find any active RM")


class _Info(msgspec.Struct):
    haState: str = ""  # noqa: N815 - Hadoop's name
    startedOn: WireNumber = 0  # noqa: N815 - Hadoop's name


class _InfoAnswer(msgspec.Struct):
    clusterInfo: _Info  # noqa: N815 - Hadoop's name


class RestResourceManager(ResourceManager):
    """`shim.ports.ResourceManager` over HTTP or HTTPS."""

    def __init__(
        self,
        subcluster: SubClusterId,
        addresses: Sequence[str],
        settings: RestSettings,
        *,
        tickets: TicketSource | None = None,
    ) -> None:
        """Remember where to ask; nothing is opened before the first exchange.

        Args:
            addresses: `http://host:port` of each ResourceManager of the sub-cluster.
            tickets: For web services that ask for them; without it they are not shown any.

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
        self._tickets = None if tickets is None else WebTicketLogin(subcluster, tickets)

    @property
    def subcluster(self) -> SubClusterId:
        return self._subcluster

    @property
    def active_address(self) -> str:
        return self._active

    async def forward(self, request: RestRequest, *, timeout_s: float | None = None) -> RestAnswer:
        """Send a request to the active ResourceManager; see `shim.ports.ResourceManager.forward`."""
        trail = Trail()
        try:
            async with asyncio.timeout(self._settings.timeout_s if timeout_s is None else timeout_s):
                return await self._exchange(request, trail)
        except TimeoutError as exc:
            self._is_doubtful |= not request.is_page  # one that hangs tells nothing of the ResourceManager
            raise translated(exc, self._subcluster, self._active, was_sent=trail.was_sent) from exc
        except NoAnswerError:
            self._is_doubtful |= not request.is_page
            raise

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _exchange(self, request: RestRequest, trail: Trail) -> RestAnswer:
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
            if not _is_standby(answer, is_page=request.is_page):
                self._check_status(address, answer, is_page=request.is_page)
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

    async def _send(self, address: str, request: RestRequest, trail: Trail) -> RestAnswer:
        tickets = self._tickets
        named = None if tickets is None else tickets.identity(address, request.user, self._settings.user)
        identity = self._identity(request.user) if named is None else named
        shown = () if tickets is None else tickets.shown(address)
        answer, headers = await self._sent(address, request, trail, identity, shown)
        if tickets is None or not tickets.is_asked(address, answer.status, headers):
            return answer
        trail.was_sent = False  # whoever asks for a ticket has not looked at the request
        proof = await tickets.begin(address)
        shown = (("Authorization", f"Negotiate {base64.b64encode(proof.token).decode()}"),)
        identity = tickets.identity(address, request.user, self._settings.user) or ()
        answer, headers = await self._sent(address, request, trail, identity, shown)
        if answer.status < _LEAST_ERROR:
            tickets.end(address, proof, headers, headers.getall("Set-Cookie", ()))
        elif tickets.is_asked(address, answer.status, headers):
            raise MalformedAnswerError(self._subcluster, f"{address} does not take Heddle's Kerberos ticket")
        return answer

    async def _sent(
        self, address: str, request: RestRequest, trail: Trail, identity: Parameters, shown: Parameters
    ) -> tuple[RestAnswer, "CIMultiDictProxy[str]"]:
        url = URL(f"{address}{target_of(request.path, identity, request.parameters)}", encoded=True)
        headers = [*sent_headers(request), *shown]
        try:
            async with self._opened().request(
                request.method,
                url,
                headers=headers,
                data=request.body or None,
                allow_redirects=False,
                trace_request_ctx=trail,
                ssl=self._settings.for_https(),
            ) as response:
                most = self._settings.max_page_bytes if request.is_page else self._settings.max_answer_bytes
                body = await read_bounded(
                    response.content.iter_chunked(CHUNK_BYTES),
                    response.headers.get("Content-Encoding", ""),
                    limit=most if response.status < _LEAST_REDIRECT else min(most, _MOST_OF_REFUSAL),
                    subcluster=self._subcluster,
                )
                return RestAnswer(response.status, passed_on(response.raw_headers), body), response.headers
        except TimeoutError as exc:
            if not isinstance(exc, aiohttp.ClientError):
                raise  # the exchange's own time-out, told where it is set
            raise translated(exc, self._subcluster, address, was_sent=trail.was_sent) from exc
        except FOREIGN_ERRORS as exc:
            raise translated(exc, self._subcluster, address, was_sent=trail.was_sent) from exc

    def _check_status(self, address: str, answer: RestAnswer, *, is_page: bool) -> None:
        """Refuse what no ResourceManager answers: it would be passed on to clients, who would act on it.

        Raises:
            MalformedAnswerError: The status is none of HTTP's, or sends whoever asked to another address.
        """
        if not _LEAST_STATUS <= answer.status <= _MOST_STATUS:
            raise MalformedAnswerError(self._subcluster, f"{address} answered with status {answer.status}")
        if _LEAST_REDIRECT <= answer.status < _LEAST_ERROR and not is_page:
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
                answer = await self._send(address, RestRequest("GET", _INFO), Trail())
        except (TimeoutError, ResourceManagerError):
            return None
        info = _read_info(answer)
        return (whole(info.startedOn), address) if info is not None and info.haState == "ACTIVE" else None

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

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = open_session(self._settings)
        return self._session

    def _identity(self, user: str | None) -> tuple[tuple[str, str], ...]:
        own = ("user.name", self._settings.user)
        if user is None or user == self._settings.user:
            return (own,)
        return (own, ("doAs", user)) if self._settings.is_proxy else (("user.name", user),)


def _is_standby(answer: RestAnswer, *, is_page: bool) -> bool:
    """True if a standby says so; a page of an ApplicationMaster may refresh itself."""
    if answer.header("Refresh") is not None and (answer.status == _STANDBY or (answer.status == _OK and not is_page)):
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
    except UNREADABLE:
        return None


def _origin(address: str) -> tuple[str, str]:
    """Scheme and authority; empty ones of what is no address."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "", ""
    return parts.scheme, parts.netloc.lower()
