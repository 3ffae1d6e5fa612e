"""Paths of a ResourceManager beside its web services: pages for people, `/jmx`, `/conf`, `/isActive`, `/proxy`."""

import json
import os
import platform
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from html import escape

from shim.domain.ids import SubClusterId
from shim.errors import NotFoundError
from shim.federation.core.federation_view import Part
from shim.federation.health import Health
from shim.federation.view_rights import ViewRights
from shim.identity.service import Caller, IdentityService
from shim.protocol.rest.errors import JavaError
from shim.protocol.rest.identifiers import path_application
from shim.protocol.rest.jmx import Machine, beans_document, queue_beans, resource_manager_beans, rpc_beans
from shim.protocol.rest.merges import merge_metrics, merge_nodes, merge_readable
from shim.protocol.rest.queries import parse_query
from shim.protocol.rest.xml_writer import XML_HEAD
from shim.server.rest.answers import TEXT, AnswerWriter
from shim.server.rest.backend import Backend
from shim.server.rest.forwarding import public_url
from shim.server.rest.heddle_api import PREFIX, HeddleAPI
from shim.server.rest.live import EVENT_STREAM, FOR_ALL, FOR_ALL_WITHOUT_GUARDS, LiveDocuments
from shim.server.rest.messages import Answer, Headers, Request
from shim.server.rest.own_endpoints import Audited
from shim.server.rest.pages import STYLE, Pages
from shim.server.rest.provider_pages import ProviderPages
from shim.server.rest.rm_pages import RMPages
from shim.server.rights import PAGES, rights_of
from shim.server.web import CONSOLE, CONSOLE_SECURITY, console_file
from shim.telemetry.metrics import CallTimes

_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECRET = re.compile(r"secret|password|credential|token|key$", re.IGNORECASE)
_REDACTED = "<redacted>"

_REDIRECT = "redirect/"
"""What ApplicationMasters put before the id when they send readers to their proxy."""

Handler = Callable[[Request, Caller, Headers], Awaitable[Answer | None]]


class Site:
    """Answers the paths that are no web service.

    Args:
        settings: Properties that `/conf` tells, with their values.
        scrape: The text of `/metrics`.
        calls: Times of clients' calls by Hadoop RPC, for `/jmx`.
        api: Heddle's own web services; None for none.
        webs: Web addresses of the sub-clusters' ResourceManagers, for links and `/proxy`.
        pages: Origin of Heddle's own proxy for pages of ApplicationMasters, as whoever asks reaches it; empty for none.
        states: One word for how each cluster is, what operators said included.
        logins: Logs browsers in; None where no identity provider does.
        read_alone: Shows pages to which ApplicationMasters have sent their readers, where they have no other address.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        settings: Mapping[str, str],
        scrape: Callable[[], bytes],
        calls: Callable[[], CallTimes] = CallTimes,
        states: Callable[[], Mapping[SubClusterId, str]],
        health: Health,
        identity: IdentityService,
        api: HeddleAPI | None = None,
        webs: Mapping[SubClusterId, str] | None = None,
        pages: Callable[[Request], str] = lambda _: "",
        logins: ProviderPages | None = None,
        read_alone: Callable[[Request, Caller], Awaitable[Answer]] | None = None,
    ) -> None:
        self._backend = backend
        self._settings = dict(sorted(settings.items()))
        self._scrape = scrape
        self._calls = calls
        self._api = api
        self._webs = webs or {}
        self._pages_at = pages
        self._read_alone = read_alone
        self._writer = AnswerWriter(backend.clock.now_s)
        self._pages = RMPages(backend, Pages(backend, states, ViewRights(backend.applications, identity)), self._webs)
        self._health = health
        self._identity = identity
        is_for_all = _for_all(backend).__contains__
        self._live = None if api is None else LiveDocuments(api.run, PREFIX, backend.clock, is_for_all=is_for_all)
        self._fixed: Mapping[str, Handler] = {
            f"{PREFIX}live": self._events,
            "/": self._root,
            "/static/heddle.css": self._style,
            "/jmx": self._jmx,
            "/conf": self._conf,
            "/isActive": self._is_active,
            "/metrics": self._metrics,
            "/healthz": self._healthz,
            "/ready": self._ready,
            "/cluster": self._page,
            "/proxy": self._proxy,
            CONSOLE: self._to_console,
        }
        if logins is not None:
            self._fixed = {**self._fixed, "/oidc/login": logins.log_in, "/oidc/callback": logins.come_back}
        self._logins = logins
        self._below: Mapping[str, Handler] = {
            f"{CONSOLE}/": self._console,
            "/cluster/": self._page,
            "/proxy/": self._proxy,
        }
        self._handlers = {**self._fixed, **self._below}
        self._rights = rights_of(self._handlers, PAGES)

    def audited(self, request: Request) -> Audited:
        """Return what the audit says of a change by Heddle's own web services."""
        if self._api is None or not request.raw_path.startswith(PREFIX):
            return Audited()
        return self._api.audited(request)

    async def answer(self, request: Request, caller: Caller, extra: Headers) -> Answer | None:
        """The answer; None for a path that is not served here, or a method that it does not take."""
        path = _path(request)
        page = self._page_at(path) if request.method in ("GET", "HEAD") else None
        if page is not None:
            self._identity.require(caller, self._rights[page])
            return await self._handlers[page](request, caller, extra)
        if self._logins is not None and (request.method, path) == ("POST", "/oidc/logout"):
            return await self._logins.log_out(request, extra)
        if request.raw_path.startswith(PREFIX) and self._api is not None:
            document = await self._api.run(request, caller)
            return self._writer.raw(document.body, "application/json", extra=extra)
        return None

    def _page_at(self, path: str) -> str | None:
        """The address of the table that a path belongs to."""
        below = next((prefix for prefix in self._below if path.startswith(prefix)), None)
        fixed = path.rstrip("/") or "/"
        return below or (fixed if fixed in self._fixed else None)

    # -- pages -------------------------------------------------------------------------------------------------------

    async def _root(self, request: Request, _: Caller, extra: Headers) -> Answer:
        """Lead browsers to the console, and programs where a ResourceManager leads them."""
        is_browser = "text/html" in request.joined("accept")
        return self._writer.redirect(public_url(request, f"{CONSOLE}/" if is_browser else "/cluster"), extra=extra)

    async def _style(self, _: Request, __: Caller, extra: Headers) -> Answer:
        return self._writer.raw(STYLE.encode(), "text/css;charset=utf-8", extra=extra)

    async def _to_console(self, request: Request, _: Caller, extra: Headers) -> Answer:
        """With its last slash: links of the console are relative."""
        return self._writer.redirect(public_url(request, f"{CONSOLE}/"), extra=extra)

    async def _console(self, request: Request, _: Caller, extra: Headers) -> Answer | None:
        found = console_file(_path(request))
        return None if found is None else self._writer.raw(*found, extra=(*CONSOLE_SECURITY, *extra))

    async def _page(self, request: Request, caller: Caller, extra: Headers) -> Answer | None:
        return await self._pages.answer(_path(request), caller, extra)

    async def _proxy(self, request: Request, caller: Caller, extra: Headers) -> Answer:
        """Send the client to Heddle's own proxy, or to that of the application's home: a registered address."""
        path = request.raw_path.removeprefix("/proxy/")
        redirect = _REDIRECT if path.startswith(_REDIRECT) else ""
        text, _, rest = path.removeprefix(redirect).partition("/")
        application_id = path_application(text)
        query = f"?{request.query}" if request.query else ""
        if self._backend.view.applications.is_waiting(application_id):  # as a web proxy does before there is a master
            return self._writer.redirect(public_url(request, f"/cluster/app/{application_id}"), extra=extra)
        if own := self._pages_at(request):
            return self._writer.redirect(f"{own}/proxy/{redirect}{application_id}/{rest}{query}", extra=extra)
        if redirect and self._read_alone is not None:  # the proxy of its home would be sent here, too
            shown = await self._read_alone(request, caller)
            return replace(shown, headers=(*shown.headers, *extra))
        try:
            home = await self._backend.routing.home_of(application_id)
        except NotFoundError:
            told = f"Application {escape(text)} could not be found in RM or history server"
            body = f"<html>\n  <h1>\n    {told}\n  </h1>\n</html>\n"
            return self._writer.page(body, status=404, extra=extra)
        web = self._webs.get(home)
        if web is None:
            raise JavaError.not_found(f"the web address of cluster {home} is not known")
        return self._writer.redirect(f"{web.rstrip('/')}/proxy/{application_id}/{rest}{query}", extra=extra)

    async def _events(self, request: Request, caller: Caller, extra: Headers) -> Answer | None:
        if self._live is None:
            return None
        return Answer(200, (*EVENT_STREAM, *extra), later=self._live.open(request, caller))

    # -- for programs ------------------------------------------------------------------------------------------------

    async def _jmx(self, request: Request, _: Caller, extra: Headers) -> Answer:
        metrics = await self._backend.documents.part(Part.METRICS)
        nodes = await self._backend.documents.part(Part.NODES)
        view, now_s = self._backend.view, self._backend.clock.now_s()
        beans = []
        address = self._settings.get("yarn.resourcemanager.address", "")
        if metrics.documents and nodes.documents:
            beans = resource_manager_beans(
                merge_readable(merge_metrics, self._backend.weighted(metrics))[0],
                merge_readable(partial(merge_nodes, states=None), self._backend.weighted(nodes))[0],
                address=address or self._settings.get("yarn.resourcemanager.webapp.address", ""),
                is_secure=self._settings.get("hadoop.security.authentication") == "kerberos",
                machine=_this_machine(),
            )
            calls = self._calls()
            beans += rpc_beans(address, calls.count, calls.mean_s, calls.waited_s)
            beans += queue_beans(view.look(each, now_s).queues for each in metrics.documents)
        asked = parse_query(request.query)
        body = beans_document(beans, asked.first("qry"), asked.first("get"))
        return self._writer.raw(body, "application/json; charset=utf8", extra=extra)

    async def _conf(self, request: Request, _: Caller, extra: Headers) -> Answer:
        """Source: `org.apache.hadoop.conf.ConfServlet`, `Configuration.dumpConfiguration`."""
        wanted = parse_query(request.query).first("name") or ""
        shown = {
            name: _REDACTED if _SECRET.search(name) else value
            for name, value in self._settings.items()
            if wanted in ("", name)
        }
        if wanted and not shown:
            body = f"<html>\n  <h1>Property {escape(wanted)} not found</h1>\n</html>\n"
            return self._writer.page(body, status=404, extra=extra)
        if "application/json" in request.joined("accept"):
            body_json = _conf_json(shown, is_one=bool(wanted))
            return self._writer.raw(body_json, "application/json;charset=utf-8", extra=extra)
        return self._writer.raw(_conf_xml(shown), "text/xml;charset=utf-8", extra=extra)

    async def _is_active(self, _: Request, __: Caller, extra: Headers) -> Answer:
        return self._writer.raw(b"I am Active!", TEXT, extra=extra)

    async def _healthz(self, _: Request, __: Caller, extra: Headers) -> Answer:
        """The process lives: it answers."""
        return self._writer.raw(b"ok\n", TEXT, extra=extra)

    async def _ready(self, _: Request, __: Caller, extra: Headers) -> Answer:
        readiness = await self._health.readiness()
        body = json.dumps({"ready": readiness.is_ready, "reasons": readiness.reasons}).encode()
        status = 200 if readiness.is_ready else 503
        return self._writer.raw(body, "application/json;charset=utf-8", status=status, extra=extra)

    async def _metrics(self, _: Request, __: Caller, extra: Headers) -> Answer:
        return self._writer.raw(self._scrape(), _METRICS_TYPE, extra=extra)


def _for_all(backend: Backend) -> frozenset[str]:
    """Addresses that answer the same to all who may read; lists of applications do where no cluster guards its own."""
    applications = backend.applications
    is_guarded = applications.access.is_on or any(map(applications.is_guarded, backend.view.subclusters))
    return FOR_ALL if is_guarded else FOR_ALL | FOR_ALL_WITHOUT_GUARDS


def _path(request: Request) -> str:
    """The path without its parameters."""
    return request.raw_path.partition(";")[0]


def _conf_json(shown: Mapping[str, str], *, is_one: bool) -> bytes:
    properties = [
        {"key": name, "value": value, "isFinal": False, "resource": "heddle.toml"} for name, value in shown.items()
    ]
    document = {"property": properties[0]} if is_one else {"properties": properties}
    return json.dumps(document, separators=(",", ":")).encode()


def _conf_xml(shown: Mapping[str, str]) -> bytes:
    rows = "\n".join(
        f"<property><name>{escape(name)}</name><value>{escape(value)}</value><final>false</final>"
        "<source>heddle.toml</source></property>"
        for name, value in shown.items()
    )
    return f"{XML_HEAD}<configuration>\n{rows}\n</configuration>".encode()


def _this_machine() -> Machine:
    system = platform.uname()
    return Machine(system.system, system.machine, system.release, os.cpu_count() or 1, os.getloadavg()[0])
