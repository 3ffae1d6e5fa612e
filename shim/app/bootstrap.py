"""The composition root: from a `Config` to a running Heddle. The only place that picks implementations.

Started in the order in which one part needs another, and stopped in the opposite one: first nobody comes in any more,
then nothing runs by itself any more, then connections and the store are closed.
"""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, suppress
from functools import partial
from types import TracebackType
from typing import Any, Self

import structlog

import shim
from adapters.kerberos import KerberosLogin
from shim.app.admin_server import connect_admins, serve_admins
from shim.app.client_server import connect_rpc, serve_clients, with_rpc
from shim.app.connections import resolve
from shim.app.host import SystemClock, allow_many_connections, read_secret, spare_collector
from shim.app.kerberos import open_kerberos, open_login
from shim.app.multicluster import SpanWorld, open_spans
from shim.app.peers import GlobalMaster, MasterWorld, open_global_master
from shim.app.rest_server import serve_web
from shim.app.scheduler_server import serve_masters
from shim.app.use_cases import PollCounter, UseCases, World, assemble
from shim.config.loader import Config
from shim.domain.ids import SubClusterId
from shim.errors import ConfigError, InvariantViolationError, StoreError
from shim.federation.cluster_events import ClusterEvents
from shim.federation.core.account_book import AccountBook
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.federation.fence import FencedResourceManager, FencedRPC
from shim.federation.health import Health
from shim.federation.inspection import Inspection
from shim.identity.delegation_tokens import DelegationTokens
from shim.multicluster.attempts import never_read
from shim.peers.roster import global_master_role
from shim.ports.clock import Clock
from shim.protocol.rest.usage import UsageForm
from shim.server.peers import ForwardedAuditObserver, MastersCollector, MatchingCollector
from shim.server.rest import RestServer
from shim.server.rest.inspection_shown import cluster_gauges
from shim.server.rest.observer import RequestObserver
from shim.server.rpc import RPCServer, TicketLogin
from shim.server.rpc.observers import AdminObserver, ClientObserver
from shim.server.rpc.scheduler_server import SchedulerServer
from shim.store import open_state_store
from shim.submission.crash_points import CrashPoints, nothing_happens
from shim.telemetry import AuditTrail, Metrics, ObservedResourceManager, ObservedStateStore, SubClusterGauges
from shim.telemetry.shares import ShareCollector

__all__ = ["Heddle"]

_FIRST_POLL_S = 3.0
_log = structlog.get_logger("heddle")


class Heddle:
    """A whole Heddle: an asynchronous context manager, or `run` until a signal.

    Args:
        config: What to run; port 0 takes a free one.
        clock: The machine's, if None.
        crash_points: Called at each step of each submission; tests let the process die there.
        global_master: Its name, where it is one of several Global Masters and the Local Masters are elsewhere.
    """

    def __init__(
        self,
        config: Config,
        *,
        clock: Clock | None = None,
        crash_points: CrashPoints = nothing_happens,
        global_master: str | None = None,
    ) -> None:
        self._config = config
        self._global_master = global_master
        self._crash_points = crash_points
        self._clock = clock or SystemClock()
        self._stack = AsyncExitStack()
        self._server: RestServer | None = None
        self._clients: RPCServer | None = None
        self._admins: RPCServer | None = None
        self._masters: SchedulerServer | None = None
        self._health: Health | None = None
        self._failed: asyncio.Future[None] | None = None
        self._login: KerberosLogin | None = None
        self._kerberos: TicketLogin | None = None

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
        """Where it serves REST.

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
    def admin_rpc(self) -> str | None:
        """`host:port` where operators' tools connect; None if no such server is open."""
        return None if self._admins is None else self._admins.address

    async def run(self, *, announce: Callable[[str], None]) -> None:
        """Start, serve until SIGTERM or SIGINT, stop.

        Args:
            announce: Told the address once it can be used, and that it ends.

        Raises:
            HeddleError: If it cannot start, or a part of it ended that never should.
        """
        allow_many_connections()
        ended, hurry = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def stop() -> None:
            (hurry if ended.is_set() else ended).set()

        for signal_ in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(signal_, stop)
        async with self:
            spare_collector()
            ids = ", ".join(subcluster.id for subcluster in self._config.subclusters)
            announce(f"Heddle {shim.__version__} serves {ids} at {self.url} (pages: {self.url}/cluster)")
            if self.client_rpc is not None:
                announce(f"Hadoop clients connect to {self.client_rpc} (yarn.resourcemanager.address)")
            if self.scheduler_rpc is not None:
                announce(f"ApplicationMasters connect to {self.scheduler_rpc} (yarn.resourcemanager.scheduler.address)")
            if self.admin_rpc is not None:
                announce(f"operators' tools connect to {self.admin_rpc} (yarn.resourcemanager.admin.address)")
            assert self._failed is not None  # noqa: S101 - made by the start
            self._failed.add_done_callback(lambda _: ended.set())
            await ended.wait()
            await self._turn_away(hurry, announce)
            announce("ending: requests under way are answered first")
        if self._failed.done():
            self._failed.result()

    async def _turn_away(self, hurry: asyncio.Event, announce: Callable[[str], None]) -> None:
        """Serve on as one that is not ready, so that balancers send their clients elsewhere before this one ends.

        Args:
            hurry: Ends it: a second signal.
            announce: See `run`.
        """
        assert self._health is not None  # noqa: S101 - made by the start
        self._health.is_ending = True
        for_s = self._config.server.drain_s
        if for_s and self._failed is not None and not self._failed.done():
            announce(f"not ready from now on (/ready); ending in {for_s:g} s, or at a second signal")
            with suppress(TimeoutError):
                await asyncio.wait_for(hurry.wait(), for_s)

    # -- start -------------------------------------------------------------------------------------------------------

    async def _start(self, stack: AsyncExitStack) -> None:
        config, clock = self._config, self._clock
        self._failed = asyncio.get_running_loop().create_future()
        audit = _open_audit(config, clock)
        stack.callback(audit.close)
        inspections: list[Inspection] = []
        metrics = Metrics(clock, version=shim.__version__, subclusters=lambda: _gauges(inspections))
        stack.enter_context(metrics.lag)
        world = await self._open_world(metrics, stack)
        master = await self._open_master(world, audit, stack)
        use_cases = assemble(world, self._crash_points, master)
        inspections.append(use_cases.inspection)
        metrics.register(ShareCollector(use_cases.shares.gauges))
        metrics.register(use_cases.repair_collector)
        metrics.register(MatchingCollector(use_cases.matching.status))
        stack.push_async_callback(use_cases.backend.submissions.finish)
        await self._start_background(use_cases, stack)
        home_of = world.view.home_of
        self._health = Health(world.view, world.store, clock)
        self._server = await serve_web(
            world, use_cases, RequestObserver(metrics, audit, home_of), metrics, self._health
        )
        stack.push_async_callback(self._server.stop, grace_s=config.server.shutdown_s)
        started = f"{int(clock.now_s() * 1000):x}"
        client_observer = ClientObserver(metrics, audit, home_of, request_prefix=f"c{started}")
        await self._open_client_server(world, use_cases, client_observer, stack)
        await self._open_scheduler_server(world, use_cases, master, stack)
        await self._open_admin_server(
            world, use_cases, AdminObserver(metrics, audit, request_prefix=f"a{started}"), stack
        )

    async def _open_world(self, metrics: Metrics, stack: AsyncExitStack) -> World:
        """Connections to the sub-clusters and the store, and the view, in which nothing is yet."""
        config, clock = self._config, self._clock
        subclusters = {SubClusterId(each.id): resolve(each, config.poll) for each in config.subclusters}
        view = FederationView(
            tuple(subclusters),
            ViewSettings(config.poll.late_after_s, config.history.final_documents),
            AccountBook(UsageForm()),
        )
        self._kerberos = open_kerberos(config.security.kerberos)
        self._login = open_login(config.security.kerberos)
        if self._login is not None:
            stack.callback(self._login.close)
        clients = {
            id_: connect_rpc(each, each.description.client_rpc, self._login) for id_, each in subclusters.items()
        }
        unfenced = {
            id_: ObservedResourceManager(with_rpc(each.connect(), clients[id_]), metrics, clock)
            for id_, each in subclusters.items()
        }
        for manager in unfenced.values():
            stack.push_async_callback(manager.close)
        rpcs = {id_: FencedRPC(rpc, view.is_retired) for id_, rpc in clients.items() if rpc is not None}
        managers = {id_: FencedResourceManager(manager, view.is_retired) for id_, manager in unfenced.items()}
        secret_file = config.security.secret_file
        opened = await open_state_store(
            config.store.url, now_s=clock.now_s, secret=None if secret_file is None else read_secret(secret_file)
        )
        if not opened.seals_bodies:
            _log.warning("submission contexts are stored in clear until they are final: set security.secret_file")
        store = ObservedStateStore(opened, metrics, clock)
        stack.push_async_callback(store.close)
        return World(
            config,
            clock,
            subclusters,
            managers,
            unfenced,
            rpcs,
            store,
            opened.policies,
            opened.tokens,
            opened.spans(read_secret(config.security.secret_file)),
            opened.acts,
            opened.usage,
            opened.asks,
            opened.leases,
            opened.history,
            view,
            metrics,
        )

    async def _open_master(self, world: World, audit: AuditTrail, stack: AsyncExitStack) -> GlobalMaster | None:
        """What makes this one of several Global Masters, if it is meant to be."""
        name = self._global_master
        if name is None:
            return None
        master = await open_global_master(
            name,
            MasterWorld(world.config, world.view, world.leases, world.clock),
            stack,
            listeners=(PollCounter(world.metrics),),
            observer=ForwardedAuditObserver(audit, global_master_role(name)),
        )
        world.metrics.register(MastersCollector(master.overview.now))
        with suppress(StoreError):  # tried again, for ever
            await master.ownership.round()
        self._run_beside("ownership", master.ownership.run, stack)
        return master

    async def _open_client_server(
        self, world: World, use_cases: UseCases, observer: ClientObserver, stack: AsyncExitStack
    ) -> None:
        server = world.config.server
        self._clients = await serve_clients(
            server,
            use_cases.backend,
            use_cases.identity,
            world.rpcs,
            tokens=DelegationTokens(
                read_secret(world.config.security.secret_file),
                world.clock,
                world.tokens,
                needs_ticket=self._kerberos is not None,
            ),
            kerberos=self._kerberos,
            observer=observer,
            guarded=frozenset(id_ for id_, each in world.subclusters.items() if each.is_guarded),
        )
        if self._clients is not None:
            stack.push_async_callback(self._clients.stop, grace_s=server.shutdown_s)

    async def _open_scheduler_server(
        self, world: World, use_cases: UseCases, master: GlobalMaster | None, stack: AsyncExitStack
    ) -> None:
        config = world.config
        spans = await open_spans(_span_world(world, use_cases))
        use_cases.administration.listen(spans.service.look_again)
        stack.push_async_callback(use_cases.matching.close)
        stack.push_async_callback(use_cases.asks.close)
        self._run_beside("decisions on asks", use_cases.asks.run, stack)
        stack.push_async_callback(spans.service.close)
        self._run_beside("spans", spans.watch.run, stack)
        self._masters = await serve_masters(
            config.server,
            world.subclusters,
            use_cases.backend,
            observer=world.metrics.relay,
            service=spans.service,
            read=use_cases.shares.read,
            was_read=never_read if config.security.secret_file is None else spans.service.was_read,
            owner_address=master.addresses.address_of if master is not None else lambda _queue: "",
        )
        if self._masters is None:
            return
        stack.push_async_callback(self._masters.stop)
        preemption = use_cases.shares.preemption(spans.service)
        self._run_beside("preemption", preemption.run, stack)
        if master is not None:
            self._run_beside(
                "doors", partial(master.addresses.run, master.server_address(self._masters.address)), stack
            )

    async def _open_admin_server(
        self, world: World, use_cases: UseCases, observer: AdminObserver, stack: AsyncExitStack
    ) -> None:
        server, rpcs = world.config.server, connect_admins(world.subclusters, self._login)
        for rpc in rpcs.values():
            stack.push_async_callback(rpc.close)
        self._admins = await serve_admins(
            server, use_cases.backend, use_cases.identity, rpcs, kerberos=self._kerberos, observer=observer
        )
        if self._admins is not None:
            stack.push_async_callback(self._admins.stop, grace_s=server.shutdown_s)

    async def _start_background(self, use_cases: UseCases, stack: AsyncExitStack) -> None:
        """What runs by itself; the first polls are waited for, so that the first answers are whole.

        Nothing is issued, repaired or started before: what the clusters list may be newer than what a restored store
        remembers.
        """
        await use_cases.administration.refresh()
        for application_id, at_ms in (await use_cases.backend.store.waited()).items():
            use_cases.backend.view.note_submitted_at(application_id, at_ms)
        await use_cases.shares.policies.refresh()
        difference = use_cases.shares.policies.difference()
        if difference is not None:
            _log.warning("the policy in force is not that of the configuration file", reason=str(difference))
        await use_cases.usage.restore()
        use_cases.heartbeats.start()
        stack.push_async_callback(use_cases.heartbeats.stop)
        with suppress(TimeoutError):
            await asyncio.wait_for(use_cases.heartbeats.first_polls(), _FIRST_POLL_S)
        await use_cases.backend.ids.begin()
        await use_cases.lost_time.begin()
        for name, work in (
            ("lost time", use_cases.lost_time.run),
            ("reconciliation", use_cases.reconciliation.run),
            ("administration", use_cases.administration.run),
            ("policies", use_cases.shares.policies.run),
            ("shares", use_cases.starting.run),
            ("retirement", use_cases.retirement.run),
            ("cluster events", ClusterEvents(use_cases.inspection.clusters, self._clock).run),
            ("usage", use_cases.usage.run),
        ):
            self._run_beside(name, work, stack)

    def _run_beside(self, name: str, work: Callable[[], Coroutine[Any, Any, None]], stack: AsyncExitStack) -> None:
        """Run a part until the stack is closed."""
        stack.push_async_callback(_cancel, asyncio.create_task(self._watched(name, work), name=name))

    async def _watched(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """A part that ends by itself ends Heddle: whoever started it starts it again, whole."""
        try:
            await work()
        except Exception as exc:  # noqa: BLE001 - the boundary of a task: a bug is told and ends the process
            _log.exception("a part ended that never should", part=name)
            if self._failed is not None and not self._failed.done():
                self._failed.set_exception(InvariantViolationError(f"{name} ended: {type(exc).__name__}: {exc}"))


def _open_audit(config: Config, clock: Clock) -> AuditTrail:
    try:
        return AuditTrail(clock, config.log.audit_file)
    except OSError as exc:
        raise ConfigError("the configuration", "log.audit_file", f"cannot be written: {exc}") from exc


def _span_world(world: World, use_cases: UseCases) -> SpanWorld:
    return SpanWorld(
        world.config,
        world.clock,
        world.subclusters,
        world.managers,
        world.rpcs,
        world.view,
        use_cases.administration.current,
        world.store,
        world.spans,
        use_cases.matching,
        use_cases.shares.policy,
    )


def _gauges(inspections: list[Inspection]) -> Iterator[SubClusterGauges]:
    for inspection in inspections:
        yield from map(cluster_gauges, inspection.clusters())


async def _cancel(task: "asyncio.Task[None]") -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
