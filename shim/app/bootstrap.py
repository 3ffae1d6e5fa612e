"""The composition root: from a `Config` to a running Heddle. The only place that picks implementations.

Started in the order in which one part needs another, and stopped in the opposite one: first nobody comes in any more,
then nothing runs by itself any more, then connections and the store are closed.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Self

import structlog

import shim
from adapters.kerberos import WebTickets
from adapters.yarn.rm_rpc import addresses_of
from shim.app.background import begin, lasting_work
from shim.app.cluster_list import ClusterFollower, ClusterList, InFile, InStore, ReadConfig
from shim.app.connections import connect
from shim.app.directory import open_groups
from shim.app.host_limits import (
    SystemClock,
    allow_many_connections,
    current_user,
    read_other_secrets,
    read_secret,
    spare_collector,
    system_random,
)
from shim.app.kerberos import open_kerberos, open_login, open_web_tickets
from shim.app.listening import check_doors, doors_of
from shim.app.oidc import ProviderLogin, open_provider
from shim.app.peers import GlobalMasterParts, open_global_master
from shim.app.poll_workers import child_processes
from shim.app.process import answer_signals
from shim.app.reloading import Reloading
from shim.app.rest_server import WebLogins, serve_pages, serve_web
from shim.app.rpc_servers import serve_admins, serve_clients, serve_masters
from shim.app.runtime import PollsBeside, Runtime, new_view
from shim.app.settings import keeps_tokens, rate_limits, token_limits
from shim.app.use_cases import UseCases, assemble
from shim.concurrency.keep_going import Work, keep_going
from shim.concurrency.listening_sockets import close_unused, hand_on
from shim.concurrency.solver_child import SolverBeside, SolverChild, serve_in_shadow
from shim.config.loader import Config, ConfigFile
from shim.config.roles import stated_groups
from shim.domain.ids import SubClusterId
from shim.errors import ConfigError, InvariantViolationError, StoreError
from shim.federation.health import Health
from shim.federation.inspection import DoctorRounds
from shim.federation.poll_workers import WorkerPollers
from shim.identity.api_tokens import APITokens
from shim.identity.delegation_tokens import DelegationTokens
from shim.identity.rates import CallRates
from shim.identity.roles import with_overrides
from shim.identity.sessions import Sessions
from shim.multicluster.attempts import never_read
from shim.peers.roster import global_master_role
from shim.ports.clock import Clock
from shim.server.peers import ForwardedAuditObserver, MastersCollector, MatchingCollector
from shim.server.rest import RestServer
from shim.server.rest.inspection_shown import cluster_gauges
from shim.server.rest.observer import RequestObserver
from shim.server.rpc import RPCServer, TicketLogin
from shim.server.rpc.observers import AdminObserver, ClientObserver
from shim.server.rpc.scheduler_server import SchedulerServer
from shim.store import body_secrets, open_state_store
from shim.submission.crash_points import CrashPoints, nothing_happens
from shim.telemetry import (
    AuditTrail,
    Metrics,
    ObservedResourceManager,
    SubClusterGauges,
    TracedRPC,
    observed_state_store,
)
from shim.telemetry.application_life import listen
from shim.telemetry.metrics import (
    FindingCollector,
    PollCounter,
    PollProcessCollector,
    ProcessFacts,
    RepairCollector,
)
from shim.telemetry.shares import ShareCollector
from shim.telemetry.tracing import is_tracing, open_tracing

_LINGER_S = 1.0
_log = structlog.get_logger("heddle")


class Heddle:
    """A whole Heddle: an asynchronous context manager, or `run` until a signal.

    Args:
        config: What to run; port 0 takes a free one.
        clock: The machine's, if None.
        crash_points: Called at each step of each submission; tests let the process die there.
        global_master: Its name, where it is one of several Global Masters and the Local Masters are elsewhere.
        read: Reads the configuration as it stands now; what runs, if it cannot be read anew.

    Attributes:
        begins_anew: Set at the end of `run` where the program shall be run again, by `reloading.run_again`.
    """

    def __init__(
        self,
        config: Config,
        *,
        clock: Clock | None = None,
        crash_points: CrashPoints = nothing_happens,
        global_master: str | None = None,
        read: ReadConfig | None = None,
    ) -> None:
        self._config = config
        self._read = read or (lambda **_: config)
        self._reloading: Reloading | None = None
        self._follower: ClusterFollower | None = None
        self.begins_anew = False
        self._global_master = global_master
        self._crash_points = crash_points
        self._clock = clock or SystemClock()
        self._stack = AsyncExitStack()
        self._server: RestServer | None = None
        self._pages: RestServer | None = None
        self._clients: RPCServer | None = None
        self._admins: RPCServer | None = None
        self._masters: SchedulerServer | None = None
        self._health: Health | None = None
        self._kerberos: TicketLogin | None = None
        self._web_tickets: WebTickets | None = None
        self._provider: ProviderLogin | None = None

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await self._start(stack)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    @property
    def url(self) -> str:
        """Address of the REST server.

        Raises:
            InvariantViolationError: If it is not running.
        """
        if self._server is None:
            raise InvariantViolationError("Heddle has no address before it runs")
        return self._server.url

    @property
    def client_rpc(self) -> str | None:
        """`host:port` where Hadoop clients connect; None if no such server is open."""
        return None if self._clients is None else self._clients.address

    @property
    def scheduler_rpc(self) -> str | None:
        """`host:port` where ApplicationMasters connect; None if no such server is open."""
        return None if self._masters is None else self._masters.address

    @property
    def pages_url(self) -> str | None:
        """Address of the pages of ApplicationMasters; None if they are not served."""
        return None if self._pages is None else self._pages.url

    @property
    def admin_rpc(self) -> str | None:
        """`host:port` where operators' tools connect; None if no such server is open."""
        return None if self._admins is None else self._admins.address

    async def run(self, *, announce: Callable[[str], None]) -> None:
        """Start, serve until SIGTERM or SIGINT, or until the configuration is read anew, stop.

        Args:
            announce: Told the address once it can be used, and that it ends.

        Raises:
            HeddleError: If it cannot start.
        """
        allow_many_connections()
        ended, hurry = asyncio.Event(), asyncio.Event()

        def stop() -> None:
            (hurry if ended.is_set() else ended).set()

        answer_signals(stop, self._read_anew)
        async with self:
            spare_collector()
            close_unused()
            ids = ", ".join(subcluster.id for subcluster in self._config.subclusters)
            urls = self._server.urls if self._server is not None else (self.url,)
            announce(f"Heddle {shim.__version__} serves {ids} at {' and '.join(urls)} (console: {urls[0]}/console/)")
            if self._pages is not None:
                announce(f"pages of ApplicationMasters are at {self._pages.url}/proxy/APPLICATION/")
            if self.client_rpc is not None:
                announce(f"Hadoop clients connect to {self.client_rpc} (yarn.resourcemanager.address)")
            if self.scheduler_rpc is not None:
                announce(f"ApplicationMasters connect to {self.scheduler_rpc} (yarn.resourcemanager.scheduler.address)")
            if self.admin_rpc is not None:
                announce(f"operators' tools connect to {self.admin_rpc} (yarn.resourcemanager.admin.address)")
            assert self._reloading is not None  # noqa: S101 - made by the start
            if await self._reloading.agreed_before(ended):
                self.begins_anew = True
                hand_on()  # before a server closes its socket
                for each in filter(None, (self._server, self._pages)):
                    each.linger(_LINGER_S)
                announce("reading the configuration anew: requests under way are answered first, new ones wait")
                return
            await self._turn_away(hurry, announce)
            announce("ending: requests under way are answered first")

    def _read_anew(self) -> None:
        if self._reloading is not None:
            self._reloading.ask()

    async def _turn_away(self, hurry: asyncio.Event, announce: Callable[[str], None]) -> None:
        """Serve on as one that is not ready, so that balancers send their clients elsewhere before this one ends.

        Args:
            hurry: Ends it: a second signal.
        """
        assert self._health is not None  # noqa: S101 - made by the start
        self._health.is_ending = True
        for_s = self._config.server.drain_s
        if for_s:
            announce(f"not ready from now on (/ready); ending in {for_s:g} s, or at a second signal")
            with suppress(TimeoutError):
                async with asyncio.timeout(for_s):
                    await hurry.wait()

    # -- start -------------------------------------------------------------------------------------------------------

    async def _start(self, stack: AsyncExitStack) -> None:
        config, clock = self._config, self._clock
        end_tracing = open_tracing(os.environ, version=shim.__version__)
        if end_tracing is not None:
            stack.push_async_callback(asyncio.to_thread, end_tracing)
        audit = _open_audit(config, clock)
        stack.callback(audit.close)
        made: list[UseCases] = []
        metrics = Metrics(clock, version=shim.__version__, subclusters=lambda: _gauges(made))
        stack.enter_context(metrics.lag)
        runtime = await self._open_runtime(metrics, stack)
        check_doors(doors_of(config.server, runtime.clusters.descriptions.values()))  # before anybody is asked anything
        master = await self._open_master(runtime, metrics, audit, stack)
        use_cases = assemble(runtime, global_master=master)
        made.append(use_cases)
        _register(metrics, use_cases)
        stack.callback(listen(use_cases.decisions.note))
        await self._begin(use_cases, metrics, stack)
        self._reloading = Reloading(config, self._read, use_cases.administration.drainage)
        self._run_beside("reloading", self._reloading.run, metrics, stack)
        clusters = self._cluster_list(use_cases, self._reloading, metrics, stack)
        home_of = runtime.view.applications.home_of
        self._health = Health(runtime.view, runtime.stores.state, clock)
        tokens = DelegationTokens(
            runtime.secret,
            clock,
            runtime.stores.tokens,
            token_limits(config),
            needs_ticket=self._kerberos is not None,
            other_secrets=runtime.other_secrets,
        )
        observer = RequestObserver(metrics, audit, home_of)
        rates = CallRates(rate_limits(config), clock, metrics.rate_limited)
        logins = WebLogins(self._web_tickets, tokens, self._api_tokens(use_cases), rates, self._provider)
        self._server = await serve_web(use_cases, observer, metrics, self._health, logins, self._reloading, clusters)
        stack.push_async_callback(self._server.stop, grace_s=config.server.shutdown_s)
        if config.server.proxy:
            self._pages = await serve_pages(use_cases, observer, logins, self._server)
            stack.push_async_callback(self._pages.stop, grace_s=config.server.shutdown_s)
        started = f"{int(clock.now_s() * 1000):x}"
        client_observer = ClientObserver(metrics, audit, home_of, request_prefix=f"c{started}")
        await self._open_client_server(use_cases, client_observer, logins, stack)
        await self._open_scheduler_server(use_cases, metrics, master, stack)
        await self._open_admin_server(use_cases, AdminObserver(metrics, audit, request_prefix=f"a{started}"), stack)

    def _cluster_list(
        self, use_cases: UseCases, reloading: Reloading, metrics: Metrics, stack: AsyncExitStack
    ) -> ClusterList:
        """The list of sub-clusters; where the store has it this process follows it from now on."""
        config, clock, stores = self._config, self._clock, use_cases.runtime.stores

        async def homes_intended() -> set[SubClusterId]:
            return {each.home_subcluster for each in await stores.state.intended()}

        self._follower = follower = ClusterFollower(config, stores.clusters, self._read, reloading, clock)
        self._run_beside("sub-clusters in the store", follower.run, metrics, stack)
        file = self._read if isinstance(self._read, ConfigFile) else None
        in_store = config.clusters.managed == "store"
        return ClusterList(
            config,
            InStore(stores.clusters, self._read, follower) if in_store else InFile(config, file, reloading),
            reloading,
            administration=use_cases.administration,
            intended=homes_intended,
            clock=clock,
        )

    def _api_tokens(self, use_cases: UseCases) -> APITokens:
        """API tokens; where callers show tickets, those count that a ticket stands behind."""
        runtime = use_cases.runtime
        return APITokens(
            use_cases.identity,
            runtime.clock,
            runtime.stores.api_tokens,
            runtime.random.randbytes,
            needs_proof=self._web_tickets is not None or self._provider is not None,
        )

    async def _open_runtime(self, metrics: Metrics, stack: AsyncExitStack) -> Runtime:
        """The machine, connections to the sub-clusters and the store, and the view, in which nothing is yet."""
        config, clock = self._config, self._clock
        self._kerberos = open_kerberos(config.security.kerberos)
        self._web_tickets = open_web_tickets(config.security.kerberos)
        if self._web_tickets is not None:
            stack.callback(self._web_tickets.close)
        login = open_login(config.security.kerberos)
        if login is not None:
            stack.callback(login.close)
        clusters = connect(config, login)
        for manager in clusters.managers.values():
            stack.push_async_callback(manager.close)
        for admin in clusters.admins.values():
            stack.push_async_callback(admin.close)
        observed = {id_: ObservedResourceManager(each, metrics, clock) for id_, each in clusters.managers.items()}
        rpcs = {id_: TracedRPC(each) for id_, each in clusters.rpcs.items()} if is_tracing() else clusters.rpcs
        security = config.security
        secret, others = read_secret(security.secret_file), read_other_secrets(security)
        self._provider = self._open_provider(secret, others)
        if self._provider is not None:
            stack.push_async_callback(self._provider.provider.close)
        kept = None if security.secret_file is None else secret
        opened = await open_state_store(config.store.url, now_s=clock.now_s, secret=kept, other_secrets=others)
        stack.push_async_callback(opened.close)
        seals = body_secrets(config.store.url, kept, others) or [secret]  # the last dies with this process
        if not opened.seals_bodies:
            _log.warning("submission contexts are stored in clear until they are final: set security.secret_file")
        solver, shadow_solver = SolverBeside(), SolverBeside(SolverChild(serve_in_shadow))
        stack.callback(solver.close)
        stack.callback(shadow_solver.close)
        return Runtime(
            config=config,
            clock=clock,
            random=system_random(),
            clusters=replace(clusters, managers=observed, rpcs=rpcs),
            stores=replace(opened.stores(seals[0], seals[1:]), state=observed_state_store(opened, metrics, clock)),
            view=new_view(config),
            groups_of=with_overrides(
                open_groups(security.ldap),
                stated_groups(security.group_overrides),
                of_provider=security.oidc.groups_prefix if security.oidc.issuer else "",
            ),
            user=current_user(),
            secret=secret,
            other_secrets=others,
            listeners=(PollCounter(metrics),),
            crash_points=self._crash_points,
            solve=solver.solve,
            shadow_solve=shadow_solver.solve,
            list_trouble=lambda: "" if self._follower is None else self._follower.trouble,
            polls=self._polls_beside(metrics),
        )

    def _polls_beside(self, metrics: Metrics) -> PollsBeside | None:
        """Processes that poll, if there shall be any; a Global Master polls nobody."""
        count = self._config.poll.workers
        if not count or self._global_master is not None:
            return None
        return PollsBeside(count, child_processes(self._config), metrics.exchange)

    def _open_provider(self, secret: bytes, others: Sequence[bytes]) -> ProviderLogin | None:
        security = self._config.security
        draw = system_random().randbytes
        sessions = Sessions(secret, self._clock, draw, lasts_s=security.oidc.session_s, other_secrets=others)
        return open_provider(security.oidc, security.roles, self._clock, sessions)

    async def _open_master(
        self, runtime: Runtime, metrics: Metrics, audit: AuditTrail, stack: AsyncExitStack
    ) -> GlobalMasterParts | None:
        """Make this process one of several Global Masters, if the configuration says so."""
        name = self._global_master
        if name is None:
            return None
        observer = ForwardedAuditObserver(audit, global_master_role(name))
        master = await open_global_master(name, runtime, stack, observer=observer)
        metrics.register(MastersCollector(master.overview.now))
        with suppress(StoreError):  # tried again, for ever
            await master.ownership.round()
        self._run_beside("ownership", master.ownership.run, metrics, stack)
        return master

    async def _begin(self, use_cases: UseCases, metrics: Metrics, stack: AsyncExitStack) -> None:
        """Have begun what runs by itself, and have it end before the store does."""
        stack.push_async_callback(use_cases.backend.submissions.finish)
        stack.push_async_callback(use_cases.pollers.stop)
        await begin(use_cases)
        await use_cases.spans.check(use_cases.shares.policy())
        use_cases.administration.listen(use_cases.spans.service.look_again)
        kept = (use_cases.matching.close, use_cases.asks.close, use_cases.credits.turn, use_cases.shares.runs.turn)
        for close in (*kept, use_cases.spans.service.close):
            stack.push_async_callback(close)
        doctor = DoctorRounds(use_cases.inspection, self._clock)
        metrics.register(FindingCollector(lambda: doctor.counts, doctor.certificates))
        for name, work in (*lasting_work(use_cases).items(), ("doctor", doctor.run)):
            self._run_beside(name, work, metrics, stack)

    async def _open_client_server(
        self, use_cases: UseCases, observer: ClientObserver, logins: WebLogins, stack: AsyncExitStack
    ) -> None:
        runtime = use_cases.runtime
        server = runtime.config.server
        self._clients = await serve_clients(
            server,
            use_cases.backend,
            use_cases.identity,
            runtime.rpcs,
            tokens=logins.tokens,
            rates=logins.rates,
            kerberos=self._kerberos,
            observer=observer,
            guarded=runtime.clusters.guarded,
        )
        if self._clients is not None:
            stack.push_async_callback(self._clients.stop, grace_s=server.shutdown_s)

    async def _open_scheduler_server(
        self, use_cases: UseCases, metrics: Metrics, master: GlobalMasterParts | None, stack: AsyncExitStack
    ) -> None:
        runtime, service = use_cases.runtime, use_cases.spans.service
        has_secret = keeps_tokens(runtime.config)
        self._masters = await serve_masters(
            runtime.config.server,
            {id_: addresses_of(each.scheduler_rpc) for id_, each in runtime.clusters.descriptions.items()},
            use_cases.backend,
            observer=metrics.relay,
            service=service,
            read=use_cases.shares.read,
            was_read=service.was_read if has_secret else never_read,
            owner_address=master.addresses.address_of if master is not None else lambda _queue: "",
        )
        if self._masters is None:
            return
        stack.push_async_callback(self._masters.stop)
        works: dict[str, Work] = {
            "preemption": use_cases.preemption.run,
            "altruism": use_cases.altruism.run,
            "plans of jobs": use_cases.job_plans.run,
            "counts of jobs": use_cases.job_counts.run,
            "outlines of jobs": use_cases.outlines.run,
        }
        if master is not None:
            works["doors"] = partial(master.addresses.run, master.server_address(self._masters.address))
        for name, work in works.items():
            self._run_beside(name, work, metrics, stack)

    async def _open_admin_server(self, use_cases: UseCases, observer: AdminObserver, stack: AsyncExitStack) -> None:
        runtime = use_cases.runtime
        self._admins = await serve_admins(
            runtime.config.server,
            use_cases.backend,
            use_cases.identity,
            runtime.clusters.admins,
            kerberos=self._kerberos,
            observer=observer,
        )
        if self._admins is not None:
            stack.push_async_callback(self._admins.stop, grace_s=runtime.config.server.shutdown_s)

    def _run_beside(self, name: str, work: Work, metrics: Metrics, stack: AsyncExitStack) -> None:
        metrics.background_failure(name, 0)
        going = keep_going(name, work, self._clock, metrics.background_failure)
        stack.push_async_callback(_cancel, asyncio.create_task(going, name=name))


def _open_audit(config: Config, clock: Clock) -> AuditTrail:
    file = config.log.audit_key_file
    key = b"" if file is None else read_secret(file, key="log.audit_key_file")
    try:
        return AuditTrail(clock, config.log.audit_file, key=key)
    except OSError as exc:
        raise ConfigError("the configuration", "log.audit_file", f"cannot be written: {exc}") from exc


def _register(metrics: Metrics, use_cases: UseCases) -> None:
    """Have a scrape ask the parts that count for themselves."""
    attempts = use_cases.submissions.attempts
    reports = use_cases.altruism_reports
    metrics.register(ShareCollector(use_cases.shares.gauges, reports.of_queues, reports.of_users))
    waiting = use_cases.backend.waiting
    metrics.register(
        RepairCollector(
            lambda: len(attempts.failing),
            lambda: attempts.given_up,
            lambda: Counter(each.subcluster for each in waiting.overtaken()),
        )
    )
    pollers = use_cases.pollers
    if isinstance(pollers, WorkerPollers):
        workers = pollers.workers
        metrics.register(
            PollProcessCollector(lambda: [ProcessFacts(each.number, each.pid, each.begun) for each in workers])
        )
    metrics.register(MatchingCollector(use_cases.matching.status, use_cases.matching.shadows))


def _gauges(made: list[UseCases]) -> Iterator[SubClusterGauges]:
    for use_cases in made:
        yield from map(cluster_gauges, use_cases.inspection.clusters())


async def _cancel(task: "asyncio.Task[None]") -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
