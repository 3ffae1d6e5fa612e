"""Addresses where Global Masters take ApplicationMasters: leases tell, so that a connection goes on to an owner."""

from collections.abc import Callable

import structlog

from shim.domain.ids import GlobalMasterId
from shim.errors import StoreError
from shim.peers.ownership import Owner
from shim.peers.roster import Roster, server_role
from shim.ports.clock import Clock
from shim.ports.lease_store import LeaseStore

__all__ = ["SchedulerAddresses"]

_ROUNDS_A_LEASE = 4
_log = structlog.get_logger("heddle.masters")


class SchedulerAddresses:
    """Tells the others of the own server, and of theirs whoever asks.

    Args:
        store: Where leases are.
        roster: The leases as last read.
        owner_of: Who owns the queue that an application names.
        clock: The machine's.
        me: This Global Master.
        life: Of this process; no other has the same.
        lease_s: Length of its leases.
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
