"""The web services put together: the use cases, the site, the listening socket."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import structlog

from adapters.kerberos import WebTickets
from shim.app.host_limits import connections_allowed, one_address_share, own_host_names
from shim.app.kerberos import principals_of
from shim.app.listening import listening
from shim.app.oidc import ProviderLogin
from shim.app.settings import cache_limits, connection_limits
from shim.app.tls import offered_tls
from shim.app.use_cases import UseCases
from shim.config.loader import is_loopback
from shim.config.sections import ServerConfig
from shim.domain.addresses import is_anywhere, split_address
from shim.domain.ids import SubClusterId
from shim.federation.health import Health
from shim.identity.api_tokens import APITokens
from shim.identity.delegation_tokens import DelegationTokens
from shim.identity.rates import CallRates
from shim.server.proxy import ApplicationPages, PageSettings
from shim.server.rest import RestServer
from shim.server.rest.answers import AnswerWriter
from shim.server.rest.asgi import RequestHandler
from shim.server.rest.bearer_tokens import BearerCallers
from shim.server.rest.callers import BelievedCallers, Callers, ProvenCallers, RatedCallers
from shim.server.rest.console_api import ConsoleAPI
from shim.server.rest.forwarding import at_port, public_url
from shim.server.rest.heddle_api import HeddleAPI
from shim.server.rest.host_names import HostNames
from shim.server.rest.logs_api import AggregatedLogsAPI, LogsAPI
from shim.server.rest.messages import Request
from shim.server.rest.observer import RequestObserver
from shim.server.rest.operations import Operations
from shim.server.rest.operators_api import (
    AuditAPI,
    ClusterListAPI,
    HardeningAPI,
    ListsClusters,
    ReadsAnew,
    ReloadAPI,
    RetirementAPI,
    ShadowAPI,
)
from shim.server.rest.own_endpoints import EndpointGroup
from shim.server.rest.provider_callers import NamelessCallers, ProviderCallers
from shim.server.rest.provider_pages import ProviderPages, browser_alone, browser_at_address
from shim.server.rest.request_records import AuditSink
from shim.server.rest.service import RestService
from shim.server.rest.shares_api import SharesAPI
from shim.server.rest.site import Site
from shim.server.rest.tokens_api import TokensAPI
from shim.server.rest.usage_api import UsageAPI
from shim.server.rest.web_tokens import WebTokens
from shim.telemetry import Metrics

_log = structlog.get_logger("heddle")
_LOOPBACK = "127.0.0.1"
Groups = Sequence[EndpointGroup]


@dataclass(frozen=True, slots=True)
class WebLogins:
    """Proof of who callers of the web services are.

    Attributes:
        tickets: Takes theirs; None where names are believed.
        tokens: Heddle's delegation tokens.
        rates: How fast callers may call.
        provider: Logs browsers in; None where no identity provider does.
    """

    tickets: WebTickets | None
    tokens: DelegationTokens
    api_tokens: APITokens
    rates: CallRates
    provider: ProviderLogin | None = None

    @property
    def are_proven(self) -> bool:
        """True if names alone are not believed."""
        return self.tickets is not None or self.provider is not None


async def serve_web(
    use_cases: UseCases,
    observer: RequestObserver,
    metrics: Metrics,
    health: Health,
    logins: WebLogins,
    reloading: ReadsAnew,
    clusters: ListsClusters,
) -> RestServer:
    """Open the REST server.

    Args:
        use_cases: What it answers with, and the runtime that tells where to listen.
        metrics: What `/metrics` shows.
        health: What `/ready` tells.
        logins: How callers prove who they are.
        clusters: The list of sub-clusters, where the store has it.

    Raises:
        AddressTakenError: If the address cannot be had now.
        ConfigError: If it never can, or the TLS files cannot be used.
    """
    server = use_cases.runtime.config.server
    service = _service(
        use_cases,
        observer,
        _site(use_cases, metrics, health, logins, (ReloadAPI(reloading), ClusterListAPI(clusters))),
        logins,
    )
    front = await _open(use_cases, service, server.rest, "rest")
    if not is_loopback(server.rest) and not logins.are_proven:
        _log.warning("other machines reach this address, and user names are believed", address=server.rest)
    return front


async def serve_pages(
    use_cases: UseCases, observer: RequestObserver, logins: WebLogins, rest: RestServer
) -> RestServer:
    """Open the server of ApplicationMasters' pages; raises as `serve_web`."""
    server = use_cases.runtime.config.server
    own_host = (urlsplit(server.proxy_url).hostname or "") if server.proxy_own_origin else ""
    pages = _pages(use_cases, logins, observer.tell, front_port=rest.port, own_host=own_host)
    return await _open(use_cases, pages, server.proxy, "proxy")


def _pages(
    use_cases: UseCases,
    logins: WebLogins,
    report: AuditSink = lambda _: None,
    *,
    front_port: int = 0,
    own_host: str = "",
) -> ApplicationPages:
    runtime = use_cases.runtime
    settings = PageSettings(
        histories={SubClusterId(each.id): each.history_web for each in runtime.config.subclusters},
        front_port=front_port,
        request_prefix=f"p{int(runtime.clock.now_s() * 1000):x}",
        own_host=own_host,
    )
    callers = _callers(use_cases, logins)
    return ApplicationPages(use_cases.backend, use_cases.identity, callers, settings, report=report)


async def _open(use_cases: UseCases, handler: RequestHandler, address: str, key: str) -> RestServer:
    """A server at an address that `key` of the section `server` names."""
    server = use_cases.runtime.config.server
    host, port = split_address(address)
    limits = connection_limits(server)
    most = connections_allowed(limits.max_connections)
    limits = replace(limits, max_connections=most, max_of_address=one_address_share(most))
    tls = offered_tls(server, use_cases.runtime.clock)
    names = _names(server, host, key)
    beside = _LOOPBACK if key == "rest" and _is_one_interface(host, server) else ""
    opened = RestServer(handler, host=host, port=port, limits=limits, names=names, tls=tls, beside=beside)
    with listening(address, f"server.{key}"):
        await opened.start()
    return opened


def _is_one_interface(host: str, server: ServerConfig) -> bool:
    """True if the web services shall be at loopback, and are not there already."""
    return server.rest_loopback and not is_loopback(f"{host}:0") and not is_anywhere(host)


def _names(server: ServerConfig, bound: str, key: str) -> HostNames:
    """Names of a server: the pages' own host name is for the pages alone."""
    pages = urlsplit(server.proxy_url).hostname if key == "proxy" else None
    return HostNames((*server.host_names, bound.strip("[]"), *own_host_names(), *([pages] if pages else [])))


def _service(use_cases: UseCases, observer: RequestObserver, site: Site, logins: WebLogins) -> RestService:
    runtime = use_cases.runtime
    server = runtime.config.server
    return RestService(
        use_cases.backend,
        use_cases.identity,
        Operations(use_cases.backend, login_user=runtime.user, staleness_s=server.staleness_s),
        site,
        report=observer.tell,
        request_prefix=f"{int(runtime.clock.now_s() * 1000):x}",
        is_shared=not runtime.clusters.guarded,
        max_body_bytes=server.max_body_bytes,
        kept=cache_limits(runtime.config.history),
        callers=_callers(use_cases, logins),
        tokens=WebTokens(logins.tokens) if logins.tickets is not None else None,
        rates=logins.rates,
    )


def _site(use_cases: UseCases, metrics: Metrics, health: Health, logins: WebLogins, groups: Groups) -> Site:
    """Pages, Heddle's own web services, and what monitoring asks."""
    runtime = use_cases.runtime
    server = runtime.config.server
    return Site(
        use_cases.backend,
        settings=_told_settings(server, is_secure=bool(runtime.config.security.kerberos.principal)),
        scrape=metrics.scrape,
        calls=metrics.calls,
        states=lambda: {status.id: status.state for status in use_cases.inspection.clusters()},
        health=health,
        identity=use_cases.identity,
        api=_heddle_api(use_cases, logins.api_tokens, groups),
        webs={id_: each.web[0] for id_, each in runtime.clusters.descriptions.items()},
        pages=_pages_of(server),
        logins=_provider_pages(use_cases, logins),
        read_alone=_pages(use_cases, logins).read_alone,
    )


def _heddle_api(use_cases: UseCases, api_tokens: APITokens, groups: Groups) -> HeddleAPI:
    shares = use_cases.shares
    return HeddleAPI(
        use_cases.backend,
        use_cases.inspection,
        use_cases.administration,
        use_cases.tools.homes.preview,
        use_cases.identity,
        masters=use_cases.masters,
        matching=use_cases.matching,
        asks=use_cases.asks,
        altruism=use_cases.altruism_reports,
        groups=(
            AuditAPI(use_cases.runtime.config.log.audit_file),
            HardeningAPI(use_cases.hardening),
            ConsoleAPI(use_cases.backend, use_cases.identity, use_cases.decisions),
            ShadowAPI(use_cases.matching.shadows),
            RetirementAPI(use_cases.retirement),
            *groups,
            UsageAPI(
                use_cases.usage_reports,
                use_cases.identity,
                lambda: use_cases.backend.view.capacity(use_cases.backend.clock.now_s()),
            ),
            TokensAPI(api_tokens),
            LogsAPI(use_cases.logs, use_cases.identity),
            AggregatedLogsAPI(use_cases.aggregated_logs, use_cases.identity),
        ),
        shares=SharesAPI(
            shares.room,
            shares.policies,
            use_cases.identity,
            shares.acts,
            shares.over_time,
            use_cases.altruism_reports.of_queues,
        ),
    )


def _pages_of(server: ServerConfig) -> Callable[[Request], str]:
    """Origin of the pages of ApplicationMasters, as the browser that sent a request reaches it; empty for none."""
    port = split_address(server.proxy)[1] if server.proxy else 0
    if server.proxy_url or not port:
        return lambda _: server.proxy_url.rstrip("/")
    return lambda request: at_port(public_url(request, ""), port)


def _callers(use_cases: UseCases, logins: WebLogins) -> Callers:
    others: Callers = BelievedCallers(use_cases.identity)
    if logins.tickets is not None:
        principals = principals_of(use_cases.runtime.config.security.kerberos)
        others = ProvenCallers(use_cases.identity, logins.tickets, principals, logins.tokens)
    login = logins.provider
    if login is not None:
        if logins.tickets is None:
            others = NamelessCallers(use_cases.identity)
        others = ProviderCallers(
            login.provider, login.claims, login.sessions, use_cases.identity, others, url=login.url
        )
    return RatedCallers(logins.rates, BearerCallers(logins.api_tokens, others, others_take_jwts=login is not None))


def _provider_pages(use_cases: UseCases, logins: WebLogins) -> ProviderPages | None:
    login = logins.provider
    if login is None:
        return None
    writer = AnswerWriter(use_cases.runtime.clock.now_s)
    is_encrypted = login.url.startswith("https:")
    return ProviderPages(
        login.provider,
        login.claims,
        login.sessions,
        login.config.issuer,
        writer,
        is_encrypted=is_encrypted,
        browser_of=browser_at_address if login.config.bind_address else browser_alone,
    )


def _told_settings(server: ServerConfig, *, is_secure: bool) -> Mapping[str, str]:
    """Return the settings that `/conf` shows to clients that ask a ResourceManager for its addresses."""
    prefix = "yarn.resourcemanager"
    return {
        f"{prefix}.hostname": split_address(server.rest)[0],
        f"{prefix}.address": server.client_rpc,
        f"{prefix}.scheduler.address": server.scheduler_rpc,
        f"{prefix}.admin.address": server.admin_rpc,
        f"{prefix}.webapp.address": server.rest,
        "hadoop.security.authentication": "kerberos" if is_secure else "simple",
    }
