"""A living Global Master and its queues: leases for itself and for what it owns, and what all the others have.

Four times in the length of a lease: prolong the own one, read everybody's, then take the queues that are free and
prefer this Global Master, and give back those that prefer another. Who is cut off from the store stops believing in
its leases before the store gives them away.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import structlog

from shim.domain.ids import GlobalMasterId
from shim.errors import StoreError
from shim.peers.core.queue_assignment import assign_queues
from shim.peers.roster import Roster, global_master_role, queue_role, server_role
from shim.ports.clock import Clock
from shim.ports.lease_store import LeaseStore

_ROUNDS_A_LEASE = 4
_log = structlog.get_logger("heddle.masters")


@dataclass(frozen=True, slots=True)
class Owner:
    """Owner of a queue.

    Attributes:
        address: Where it is reached by other masters.
    """

    master: GlobalMasterId
    address: str
    is_me: bool


@dataclass(frozen=True, slots=True)
class OwnershipSettings:
    """Identity and intervals of this Global Master.

    Attributes:
        holder: Life of this process.
        address: Where other masters reach it.
    """

    master: GlobalMasterId
    holder: str
    address: str
    lease_s: float


class QueueOwnership:
    """Keeps this Global Master's leases, and the roster.

    Args:
        roster: Told of everybody's at each round.
        clock: The machine's.
    """

    def __init__(
        self,
        store: LeaseStore,
        roster: Roster,
        queues: Callable[[], Iterable[str]],
        clock: Clock,
        settings: OwnershipSettings,
    ) -> None:
        self._store = store
        self._roster = roster
        self._queues = queues
        self._clock = clock
        self._settings = settings
        self._believed_until_s = float("-inf")
        self._owned: frozenset[str] = frozenset()

    @property
    def me(self) -> GlobalMasterId:
        return self._settings.master

    @property
    def owned(self) -> frozenset[str]:
        """The queues whose lease this process has, as far as it may believe so now."""
        return self._owned if self._clock.monotonic_s() < self._believed_until_s else frozenset()

    def owner_of(self, queue: str) -> Owner | None:
        """Owner of a queue; None if nobody owns it, or nobody knows."""
        if queue in self.owned:
            return Owner(self.me, self._settings.address, is_me=True)
        found = self._roster.owner(queue, self._clock.monotonic_s())
        if found is None or found[1].holder == self._settings.holder:
            return None
        return Owner(found[0], found[1].address, is_me=False)

    async def run(self) -> None:
        """Hold what is to be held until cancelled; then give everything back."""
        try:
            while True:
                try:
                    await self.round()
                except StoreError as exc:
                    _log.warning("leases could not be prolonged", reason=str(exc))
                await self._clock.sleep(self._settings.lease_s / _ROUNDS_A_LEASE)
        finally:
            await self._give_everything_back()

    async def round(self) -> None:
        """Prolong, read, take and give back once.

        Raises:
            StoreError: The store is away; what is believed is believed until its time.
        """
        mine = await self._prolong_own()
        asked_at_s = self._clock.monotonic_s()
        self._roster.update(await self._store.leases(), read_at_s=asked_at_s)
        if not mine:
            self._owned = frozenset()
            _log.warning("another Global Master has this name", name=self.me)
            return
        await self._adjust()

    async def _prolong_own(self) -> bool:
        settings = self._settings
        lease = await self._store.acquire(
            global_master_role(settings.master),
            holder=settings.holder,
            address=settings.address,
            for_s=settings.lease_s,
        )
        return lease is not None

    async def _adjust(self) -> None:
        settings, now_s = self._settings, self._clock.monotonic_s()
        living = self._roster.living(now_s)
        names = {lease.holder: master for master, lease in living.items()} | {settings.holder: settings.master}
        leases = self._roster.queues()
        # a queue that no sub-cluster has any more is left alone: its lease ends by itself
        owners = {
            queue: names.get(lease.holder) if lease is not None and self._roster.is_live(lease, now_s) else None
            for queue in self._queues()
            for lease in (leases.get(queue),)
        }
        assignment = assign_queues(settings.master, living, owners)
        for queue in assignment.release:
            await self._store.release(queue_role(queue), holder=settings.holder)
        had = await self._store.acquire_all(
            [queue_role(queue) for queue in assignment.acquire],
            holder=settings.holder,
            address=settings.address,
            for_s=settings.lease_s,
        )
        owned = frozenset(lease.name.removeprefix(queue_role("")) for lease in had)
        if owned != self._owned:
            _log.info("queues", owned=len(owned), gained=sorted(owned - self._owned), lost=sorted(self._owned - owned))
        self._owned, self._believed_until_s = owned, now_s + settings.lease_s

    async def _give_everything_back(self) -> None:
        self._believed_until_s = float("-inf")
        try:
            await self._store.release_all(holder=self._settings.holder)
        except StoreError as exc:
            _log.warning("leases not returned: they end by themselves", reason=str(exc))


# Addresses where Global Masters take ApplicationMasters: leases tell, so that a connection goes on to an owner.


class SchedulerAddresses:
    """Tells the others of the own server, and of theirs whoever asks.

    Args:
        roster: The leases as last read.
        owner_of: Who owns the queue that an application names.
        clock: The machine's.
        life: Of this process; no other has the same.
    """

    def __init__(
        self,
        store: LeaseStore,
        roster: Roster,
        owner_of: Callable[[str], Owner | None],
        clock: Clock,
        *,
        me: GlobalMasterId,
        life: str,
        lease_s: float,
    ) -> None:
        self._store = store
        self._roster = roster
        self._owner_of = owner_of
        self._clock = clock
        self._me = me
        self._lease_s = lease_s
        self._holder = f"{me}-door-{life}"

    def address_of(self, queue: str) -> str:
        """`host:port` of the scheduler server of another Global Master that owns a queue; empty if there is none."""
        owner = self._owner_of(queue)
        if owner is None or owner.is_me:
            return ""
        lease = self._roster.server(owner.master)
        return "" if lease is None or not self._roster.is_live(lease, self._clock.monotonic_s()) else lease.address

    async def run(self, address: str) -> None:
        """Tell where the own server is, until cancelled.

        Args:
            address: `host:port`, as the others reach it.
        """
        try:
            while True:
                await self._tell(address)
                await self._clock.sleep(self._lease_s / _ROUNDS_A_LEASE)
        finally:
            await self._give_back()

    async def _tell(self, address: str) -> None:
        try:
            told = await self._store.acquire(
                server_role(self._me), holder=self._holder, address=address, for_s=self._lease_s
            )
        except StoreError as exc:
            _log.warning("the scheduler server's lease could not be prolonged", reason=str(exc))
            return
        if told is None:
            _log.info("the scheduler server of an earlier life of this Global Master is still told of", name=self._me)

    async def _give_back(self) -> None:
        try:
            await self._store.release_all(holder=self._holder)
        except StoreError as exc:
            _log.warning("the scheduler server's lease is not returned: it ends by itself", reason=str(exc))
