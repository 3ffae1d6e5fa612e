"""`/proxy/APPLICATION/...`: what an ApplicationMaster shows, through Heddle, for every cluster.

An ApplicationMaster answers its web proxy alone (`AmIpFilter`): Heddle, for clients that know only Heddle, or the
ResourceManager. Who fetches a page is found out where the cluster is asked (`adapters.yarn.master_pages`).

What comes back is the application's user's content. At the address of the web services a script in it could ask them
for anything in the name of whoever looks; so this is a server of its own, on a port of its own, which to a browser is
another site, and has nothing else to ask. Neither cookies nor tokens of the caller go further than here, and no cookie
of a page comes back.

Source: `org.apache.hadoop.yarn.server.webproxy.WebAppProxyServlet` of Hadoop 3.4.2.
"""

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from http import HTTPStatus
from urllib.parse import urlsplit

from shim.domain.ids import SubClusterId
from shim.domain.roles import TokenScope
from shim.errors import ForbiddenError, HeddleError, InvariantViolationError, UnavailableError
from shim.federation.view_rights import ViewRights
from shim.identity.service import Caller, IdentityService, require_scope, with_groups
from shim.ports.resource_manager import RestAnswer, RestRequest
from shim.protocol.rest.errors import JavaError
from shim.protocol.rest.queries import Query, parse_query
from shim.server.proxy.places import ElsewhereError, PagePath, page_path, place_of
from shim.server.rest.answers import AnswerWriter
from shim.server.rest.backend import Backend
from shim.server.rest.callers import Callers
from shim.server.rest.foreign_answers import carried_page
from shim.server.rest.forwarding import at_port, public_url
from shim.server.rest.messages import Answer, Request
from shim.server.rest.refusals import refused
from shim.server.rest.request_checks import READS, refuse_other_sites
from shim.server.rest.request_records import AuditSink, RequestRecord, client_request_id
from shim.server.rights import PAGES

_METHODS = READS | {"PUT"}
_TRAVELLING = ("accept", "accept-language", "content-type", "user-agent", "x-requested-with")
_MOST_AT_ONCE = 32
_RIGHTS = {False: PAGES["/proxy/"], True: PAGES["PUT /proxy/"]}
_REDIRECTS = range(300, 400)
_TEXT = ("Content-Type", "text/plain;charset=utf-8")
_NOTHING_ACTS = (
    "Content-Security-Policy",
    "sandbox; default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; base-uri 'none'",
)


@dataclass(frozen=True, slots=True)
class PageSettings:
    """Settings of the pages.

    Attributes:
        histories: By sub-cluster, origins of the servers that show its ended applications.
        front_port: Of Heddle's web services and pages, at the same host; 0 for the one that is asked.
        request_prefix: Beginning of request ids, different for every process.
        own_host: Host name, in lower case, that pages have for themselves: asked for by it they have an origin. Empty
            for none.
    """

    histories: Mapping[SubClusterId, Collection[str]]
    front_port: int
    request_prefix: str = "p"
    own_host: str = ""


class ApplicationPages:
    """Answers requests for pages; a `RequestHandler`.

    Args:
        backend: Knows homes, and asks ResourceManagers.
        identity: Who operates Heddle, and may see everybody's pages.
    """

    def __init__(
        self,
        backend: Backend,
        identity: IdentityService,
        callers: Callers,
        settings: PageSettings,
        *,
        report: AuditSink = lambda _: None,
    ) -> None:
        self._backend = backend
        self._rights = ViewRights(backend.applications, identity)
        self._identity = identity
        self._callers = callers
        self._settings = settings
        self._report = report
        self._writer = AnswerWriter(backend.clock.now_s)
        self._numbers = itertools.count(1)
        self._under_way = 0

    def answer_at_once(self, request: Request) -> Sequence[bytes] | None:
        """None: a page changes as its application goes on, and is never kept."""
        del request
        return None

    async def answer(self, request: Request) -> Answer:
        number = f"{self._settings.request_prefix}-{next(self._numbers):x}"
        record = RequestRecord(number, client_request_id(request), operation=f"{request.method} proxy")
        began_s = self._backend.clock.monotonic_s()
        try:
            answer = await self._answer(request, record)
        except ElsewhereError as exc:
            answer = self._elsewhere(exc.address)
        except HeddleError as exc:
            record.fail(exc)
            answer = refused(exc, request, self._writer, cookie=record.caller.new_cookie if record.caller else None)
        except Exception as exc:  # noqa: BLE001 - the task's boundary: one request's bug must not end the connection
            record.fail(exc)
            answer = refused(InvariantViolationError(record.reason), request, self._writer)
        answer = replace(answer, headers=(*answer.headers, ("X-Request-Id", number), *record.login))
        self._report(record.told(request.peer, answer.status, self._backend.clock.monotonic_s() - began_s))
        return replace(answer, body=b"") if request.method == "HEAD" else answer

    async def read_alone(self, request: Request, caller: Caller) -> Answer:
        """A page to which an ApplicationMaster has sent its reader, at the address of the web services.

        There is no other one where the configuration names no address for pages. So nothing in it acts: no script runs,
        no form is sent, and its origin is none.

        Raises:
            HeddleError: As `answer` would tell.
        """
        page = page_path(request.raw_path)
        _refuse_service_worker(request)
        try:
            home = await self._home(page, caller)
            answer = await self._asked(home, _request_for(request, parse_query(request.query), page, caller))
            shown = self._shown(answer, request, page, home, caller)
        except ElsewhereError as exc:
            return self._elsewhere(exc.address)
        kept = (pair for pair in shown.headers if pair[0].lower() != "content-security-policy")
        headers = (
            _TEXT if pair[0].lower() == "content-type" and "script" in pair[1].lower() else pair for pair in kept
        )
        return replace(shown, headers=(*headers, _NOTHING_ACTS))

    async def _answer(self, request: Request, record: RequestRecord) -> Answer:
        query = parse_query(request.query)
        login = await self._callers.log_in(request, query)
        record.caller, record.login = login.caller, login.headers
        return await with_groups(lambda: self._allowed(request, query, login.caller, record))

    async def _allowed(self, request: Request, query: Query, caller: Caller, record: RequestRecord) -> Answer:
        record.is_change, record.target = request.method not in READS, request.raw_path[:200]
        _refuse_service_worker(request)
        if request.raw_path == "/":
            return self._writer.redirect(f"{self._front(request)}/console/")
        self._identity.require(caller, _RIGHTS[record.is_change])
        page = page_path(request.raw_path)
        record.target = str(page.application)
        if request.method not in _METHODS:
            raise JavaError(HTTPStatus.METHOD_NOT_ALLOWED, "javax.ws.rs.WebApplicationException", None)
        refuse_other_sites(request, changes=record.is_change)
        if record.is_change:
            record.audit = "application.page"
            require_scope(caller, TokenScope.SUBMIT)
        if self._backend.view.applications.is_waiting(page.application):
            return self._writer.redirect(f"{self._front(request)}/cluster/app/{page.application}")
        home = await self._home(page, caller)
        record.subcluster = home
        answer = await self._asked(home, _request_for(request, query, page, caller))
        return self._shown(answer, request, page, home, caller)

    async def _home(self, page: PagePath, caller: Caller) -> SubClusterId:
        home = await self._backend.routing.home_of(page.application)
        known = self._backend.view.applications.find(page.application)
        user = known.summary.user if known is not None else ""
        if not self._rights.may_see(caller, page.application, user, home):
            raise ForbiddenError(f"{home} guards its applications: pages are for their users and for their viewers")
        return home

    async def _asked(self, home: SubClusterId, request: RestRequest) -> RestAnswer:
        if self._under_way >= _MOST_AT_ONCE:
            raise UnavailableError("too many pages are being fetched: try again in a second")
        self._under_way += 1
        try:
            return await self._backend.exchange(home, request, is_slow=True)
        finally:
            self._under_way -= 1

    def _shown(
        self, answer: RestAnswer, request: Request, page: PagePath, home: SubClusterId, caller: Caller
    ) -> Answer:
        place = ""
        if answer.status in _REDIRECTS:
            told = answer.header("Location") or ""
            histories = self._settings.histories.get(home, ())
            place = place_of(told, page, histories=histories, front=self._front(request))
        host = urlsplit(public_url(request, "")).hostname
        own = bool(self._settings.own_host) and host == self._settings.own_host
        return carried_page(answer, has_own_origin=own, location=place, cookie=caller.new_cookie)

    def _front(self, request: Request) -> str:
        """Origin of the web services, as whoever asks reaches them."""
        here = public_url(request, "")
        return at_port(here, self._settings.front_port) if self._settings.front_port else here

    def _elsewhere(self, address: str) -> Answer:
        shown = escape(address)
        body = (
            f"<!DOCTYPE html>\n<title>Elsewhere</title>\n<h1>Its pages are elsewhere</h1>\n"
            f"<p>The cluster, or the application itself, names "
            f'<a rel="noreferrer noopener" href="{shown}">{shown}</a>. '
            f"Heddle does not know that server: <code>history_web</code> of the [[subcluster]] would name it.</p>\n"
        )
        return self._writer.page(body)


def _refuse_service_worker(request: Request) -> None:
    """Refuse a script that would answer for all pages of this address.

    Raises:
        ForbiddenError: It is asked for as one.
    """
    if request.header("service-worker") is not None:
        raise ForbiddenError("pages of ApplicationMasters have no service workers")


def _request_for(request: Request, query: Query, page: PagePath, caller: Caller) -> RestRequest:
    """The request for a ResourceManager's web proxy, built from what was understood."""
    headers = tuple((name, value) for name in _TRAVELLING if (value := request.joined(name)))
    return RestRequest(
        method="GET" if request.method == "HEAD" else request.method,
        path=page.whole,
        parameters=tuple(query.pairs()),
        user=caller.user,
        headers=headers,
        body=request.body,
        is_page=True,
        is_redirected=page.is_redirected,
    )
