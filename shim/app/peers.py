"""Masters in processes of their own: what a Global Master has beside the parts of `heddle serve`; a Local Master."""

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass

import shim
from adapters.peers import LinkListener, LinkSettings, WebSocketDialer
from shim.app.cluster_list import ClusterFollower, ReadConfig
from shim.app.connections import SubCluster, resolve
from shim.app.host_limits import SystemClock, read_other_secrets, read_secret, system_random
from shim.app.listening import listening
from shim.app.master_tls import MasterTLS, open_master_tls
from shim.app.process import answer_signals
from shim.app.reloading import Reloading
from shim.app.runtime import Runtime
from shim.app.settings import poll_schedule, view_settings
from shim.concurrency.keep_going import keep_going
from shim.concurrency.listening_sockets import close_unused, hand_on
from shim.config.loader import Config, is_loopback
from shim.config.masters import MastersConfig
from shim.domain.addresses import is_anywhere, join_address, split_address
from shim.domain.ids import GlobalMasterId
from shim.errors import ConfigError
from shim.federation.core.federation_view import FederationView, find_queue
from shim.peers.following import Following, FollowingSettings
from shim.peers.leadership import LeaseKeeper
from shim.peers.local import LocalMasterSettings, StandingLocalMaster
from shim.peers.overview import MastersOverview, PassedOnCounts
from shim.peers.ownership import Owner, OwnershipSettings, QueueOwnership, SchedulerAddresses
from shim.peers.passing_on import ForwardedSubmissionService, PassedOn, PassingOn
from shim.peers.roster import Roster, global_master_role, local_master_role
from shim.ports.clock import Clock
from shim.ports.lease_store import LeaseStore
from shim.ports.master_links import AcceptLink, MasterDialer, MasterLink
from shim.ports.queue_stores import PolicyStore
from shim.ports.random_source import RandomSource
from shim.ports.resource_manager import ResourceManager
from shim.protocol.peers import MAX_FRAME_BYTES, Credentials
from shim.store import open_state_store
from shim.submission.core.home import HomeSettings
from shim.submission.entrance import TakesSubmissions
from shim.submission.tools import Listing

_LIFE_BYTES = 8
_MARGIN_OF_FRAMES = 64 * 1024  # what is around the body of a submission
_SMALL_FRAME = 256 * 1024  # what a Local Master is told: proposals


def default_name(config: Config) -> str:
    """A name for a Global Master that was given none: by where it serves, so that it has the same after a restart."""
    port = split_address(config.server.rest)[1] or os.getpid()
    return f"{socket.gethostname().partition('.')[0].lower()}-{port}"


class GlobalMasterParts:
    """The parts of a Global Master that a Heddle alone does not need.

    Attributes:
        name: Among the Global Masters.
        address: Where other masters reach it.
        roster: What the leases told last.
        ownership: Its leases; to be run.
        following: Keeps the view, in the place of polls.
        addresses: Tells where this one takes ApplicationMasters; to be run with that address.
    """

    def __init__(
        self,
        name: str,
        address: str,
        runtime: Runtime,
        dialer: MasterDialer,
        *,
        observer: Callable[[PassedOn], None] = lambda _: None,
    ) -> None:
        config, view, clock = runtime.config.masters, runtime.view, runtime.clock
        leases, listeners = runtime.stores.leases, runtime.listeners
        self.name, self.address, self.roster = GlobalMasterId(name), address, Roster()
        self._dialer = dialer
        self._clock = clock
        self._queue_of = _QueueNames(view, clock)
        self._counts = PassedOnCounts(global_master_role(name))
        self._observer = observer
        following = FollowingSettings(verify_within_s=config.verify_within_s)
        self.following = Following(self.name, view, dialer, self.roster, clock, following, listeners=listeners)
        life = runtime.random.randbytes(_LIFE_BYTES).hex()
        mine = OwnershipSettings(self.name, f"{name}-{life}", address, config.lease_s)
        self.ownership = QueueOwnership(leases, self.roster, lambda: _queues(view, clock), clock, mine)
        self.overview = MastersOverview(self.ownership, self.roster, self.following, self._counts, clock)
        self.addresses = SchedulerAddresses(
            leases, self.roster, self.owner_of, clock, me=self.name, life=life, lease_s=config.lease_s
        )
        self._service: ForwardedSubmissionService | None = None

    def pass_on(self, local: TakesSubmissions, listing: Listing, *, answer_within_s: float) -> PassingOn:
        """Have submissions taken where their queues are owned, and take those of others from now on."""
        me = global_master_role(self.name)
        self._service = ForwardedSubmissionService(local, me=me, observer=self._tell)
        return PassingOn(
            local,
            me=me,
            listing=listing,
            owner_of=self.owner_of,
            dialer=self._dialer,
            answer_within_s=answer_within_s,
            observer=self._tell,
        )

    def owner_of(self, queue: str) -> Owner | None:
        """Owner of the queue that a submission names; None if nobody knows."""
        return self.ownership.owner_of(self._queue_of(queue))

    def server_address(self, bound: str) -> str:
        """Address of a server of this process for others: its own, or its port at the host that masters are told."""
        host, port = split_address(bound)
        is_of_one = not is_anywhere(host) and not is_loopback(bound)
        return bound if is_of_one else join_address(split_address(self.address)[0], port)

    async def accept(self, link: MasterLink) -> None:
        """Serve a link that another master made."""
        if self._service is None:
            await link.close("not ready yet")
            return
        await self._service.serve(link)

    def _tell(self, passed: PassedOn) -> None:
        self._counts.tell(passed)
        self._observer(passed)


async def open_global_master(
    name: str,
    runtime: Runtime,
    stack: AsyncExitStack,
    *,
    observer: Callable[[PassedOn], None] = lambda _: None,
) -> GlobalMasterParts:
    """Listen for other masters, and put a Global Master together; nothing runs by itself yet.

    Args:
        name: Among the Global Masters.

    Raises:
        AddressTakenError: The address cannot be had now.
        ConfigError: There is no secret, or the address never can be listened on.
    """
    config = runtime.config
    credentials = _credentials(config.masters, global_master_role(name))
    settings = _link_settings(config.masters, config.server.max_body_bytes + _MARGIN_OF_FRAMES)
    made: list[GlobalMasterParts] = []

    async def accept(link: MasterLink) -> None:
        await made[0].accept(link)

    tls = open_master_tls(config.masters, credentials.speaker, runtime.clock.monotonic_s)
    where = await _listen(credentials, accept, config.masters, settings, stack, tls)
    dialer = WebSocketDialer(credentials, _link_settings(config.masters, MAX_FRAME_BYTES), tls=tls)
    stack.push_async_callback(dialer.close)
    # nobody dials an address that no lease tells yet
    made.append(GlobalMasterParts(name, where.told, runtime, dialer, observer=observer))
    return made[0]


class LocalMasterProcess:
    """A whole Local Master: an asynchronous context manager, or `run` until a signal.

    Args:
        clock: The machine's, if None.
        read: As of `shim.app.bootstrap.Heddle`, which has `begins_anew`, too.

    Raises:
        ConfigError: If there is no such sub-cluster.
    """

    def __init__(
        self,
        config: Config,
        subcluster: str,
        *,
        clock: Clock | None = None,
        read: ReadConfig | None = None,
    ) -> None:
        self._config = config
        self._read = read or (lambda **_: config)
        self.begins_anew = False
        self._clock = clock or SystemClock()
        self._random = system_random()
        known = {each.id: each for each in config.subclusters}
        if subcluster not in known:
            message = f"there is no {subcluster!r}; there are: {', '.join(known)}"
            raise ConfigError("the configuration", "subcluster", message)
        self._subcluster = known[subcluster]

    async def run(self, *, announce: Callable[[str], None]) -> None:
        """Stand by and act until SIGTERM or SIGINT.

        Args:
            announce: Told the address once it can be dialled, and that it ends.

        Raises:
            HeddleError: If it cannot start.
        """
        ended, reloading = asyncio.Event(), Reloading(self._config, self._read)
        answer_signals(ended.set, reloading.ask)
        async with AsyncExitStack() as stack:
            standing, address, lists = await self._open(stack)
            close_unused()
            announce(f"Heddle {shim.__version__}: Local Master of {standing.subcluster}, listens on {address}")
            going = keep_going("the Local Master", standing.run, self._clock)
            works = [asyncio.create_task(going, name="local-master")]
            follower = ClusterFollower(self._config, lists, self._read, reloading, self._clock)
            for name, work in (("reloading", reloading.run), ("sub-clusters in the store", follower.run)):
                works.append(asyncio.create_task(keep_going(name, work, self._clock), name=name))
            try:
                self.begins_anew = await reloading.agreed_before(ended)
            finally:
                if self.begins_anew:
                    hand_on()
                announce("ending: the role is given back")
                for each in works:
                    each.cancel()
                    with suppress(asyncio.CancelledError):
                        await each

    async def _open(self, stack: AsyncExitStack) -> tuple[StandingLocalMaster, str, PolicyStore]:
        config, clock, masters = self._config, self._clock, self._config.masters
        subcluster: SubCluster = resolve(self._subcluster, config.poll)
        credentials = _credentials(masters, local_master_role(subcluster.id))
        store = await open_state_store(config.store.url, now_s=clock.now_s)
        stack.push_async_callback(store.close)
        manager = subcluster.connect()
        stack.push_async_callback(manager.close)
        made: list[StandingLocalMaster] = []

        async def accept(link: MasterLink) -> None:
            await made[0].serve(link)

        tls = open_master_tls(masters, credentials.speaker, clock.monotonic_s)
        where = await _listen(credentials, accept, masters, _link_settings(masters, _SMALL_FRAME), stack, tls)
        made.append(local_master(config, manager, store.leases, clock, self._random, address=where.told))
        return made[0], where.bound, store.clusters


def local_master(
    config: Config,
    manager: ResourceManager,
    leases: LeaseStore,
    clock: Clock,
    random: RandomSource,
    *,
    address: str,
) -> StandingLocalMaster:
    """A Local Master, put together; nothing runs yet.

    Args:
        config: How often is polled, and how long leases and promises last.
        manager: Of its sub-cluster.
        random: Names its life, and spreads polls.
        address: Where Global Masters reach it.
    """
    life = random.randbytes(_LIFE_BYTES).hex()
    keeper = LeaseKeeper(
        leases,
        clock,
        name=local_master_role(manager.subcluster),
        holder=life,
        address=address,
        for_s=config.masters.lease_s,
    )
    settings = LocalMasterSettings(
        heartbeats=poll_schedule(config.poll),
        view=view_settings(config),
        promise_s=config.span.promise_s,
    )
    return StandingLocalMaster(manager, keeper, clock, settings, life=life, random=random)


class _QueueNames:
    """The path of the queue that a submission names: that of the first sub-cluster that has one."""

    def __init__(self, view: FederationView, clock: Clock, default: str = HomeSettings().default_queue) -> None:
        self._view = view
        self._clock = clock
        self._default = default

    def __call__(self, name: str) -> str:
        now_s = self._clock.now_s()
        asked = name or self._default
        found = (find_queue(self._view.look(each, now_s), asked) for each in self._view.subclusters)
        return next((queue.path for queue in found if queue is not None), asked)


def _queues(view: FederationView, clock: Clock) -> set[str]:
    """Every queue that applications are submitted to, on any sub-cluster."""
    now_s = clock.now_s()
    looks = (view.look(each, now_s) for each in view.subclusters)
    return {path for look in looks for path, queue in look.queues.items() if queue.is_leaf or queue.creates_children}


def _credentials(masters: MastersConfig, speaker: str) -> Credentials:
    if masters.tls.certificate is not None:
        return Credentials(speaker, b"")  # certificates prove it; a link without TLS cannot be made with this
    if masters.secret_file is None:
        advice = "openssl rand -hex 32 > masters.secret; chmod 600 masters.secret"
        message = f"masters need [masters.tls], or a secret in common: {advice}"
        raise ConfigError("the configuration", "masters.secret_file", message)
    secret = read_secret(masters.secret_file, key="masters.secret_file")
    return Credentials(speaker, secret, read_other_secrets(masters, name="masters"))


def _link_settings(masters: MastersConfig, max_frame_bytes: int) -> LinkSettings:
    return LinkSettings(silent_after_s=masters.silent_after_s, max_frame_bytes=max_frame_bytes)


@dataclass(frozen=True, slots=True)
class _Listening:
    """Address where other masters reach this process."""

    bound: str
    told: str


async def _listen(
    credentials: Credentials,
    accept: AcceptLink,
    masters: MastersConfig,
    settings: LinkSettings,
    stack: AsyncExitStack,
    tls: MasterTLS | None,
) -> _Listening:
    host, port = split_address(masters.listen)
    listener = LinkListener(credentials, accept, host=host, port=port, settings=settings, tls=tls)
    with listening(masters.listen, "masters.listen"):
        await listener.start()
    stack.push_async_callback(listener.stop)
    return _Listening(listener.address, masters.advertise or listener.address)
