"""Holding a role by a lease: the active Local Master of a sub-cluster, a living Global Master, the owner of a queue.

A holder believes in its lease only until the time for which it last asked, counted from *before* it asked and on its
own clock. So it has stopped acting when the store gives the role to another, also if it was paused or cut off.
"""

from collections.abc import Awaitable, Callable

import structlog

from shim.errors import StoreUnavailableError
from shim.ports import Clock, LeaseStore
from shim.ports.lease_store import Lease

_RENEWALS_A_LEASE = 4  # three may fail before the lease ends

_log = structlog.get_logger("heddle.leadership")


class LeaseKeeper:
    """Tries to hold one lease for ever.

    Args:
        name: The role, see `shim.ports.lease_store.Lease`.
        holder: This process' life.
        for_s: Length of the lease: another takes over this long after the holder died.
    """

    def __init__(self, store: LeaseStore, clock: Clock, *, name: str, holder: str, address: str, for_s: float) -> None:
        self.name = name
        self._store = store
        self._clock = clock
        self._holder = holder
        self._address = address
        self._for_s = for_s
        self._lease: Lease | None = None
        self._believed_until_s = float("-inf")
        self._is_refused = True

    @property
    def is_held(self) -> bool:
        """True if this process may act in the role right now."""
        return self._clock.monotonic_s() < self._believed_until_s

    @property
    def fence(self) -> int:
        """Of the lease last held; 0 if none was."""
        return self._lease.fence if self._lease is not None else 0

    async def try_once(self) -> bool:
        """Acquire or prolong; whether the role is held afterwards. A store that is away changes nothing."""
        asked_at_s = self._clock.monotonic_s()
        try:
            lease = await self._store.acquire(self.name, holder=self._holder, address=self._address, for_s=self._for_s)
        except StoreUnavailableError as error:
            _log.warning("lease_store_away", role=self.name, error=str(error), is_held=self.is_held)
            return self.is_held
        self._is_refused = lease is None
        if lease is None:
            self._believed_until_s = float("-inf")
            return False
        self._lease = lease
        self._believed_until_s = asked_at_s + self._for_s
        return self.is_held

    async def run(
        self,
        *,
        gained: Callable[[int], Awaitable[None]],
        lost: Callable[[], Awaitable[None]],
        outlasts_store: bool = False,
    ) -> None:
        """Hold the role until cancelled; then give it back.

        Args:
            gained: Called with the fence when the role is gained.
            lost: Called when it is lost, and at the end if it was held.
            outlasts_store: Whether to go on while the store is away, until it says that another has the role: for
                roles in which two at a time do no harm.
        """
        acting = False
        try:
            while True:
                held = await self.try_once()
                if held and not acting:
                    _log.info("role_gained", role=self.name, fence=self.fence)
                    acting = True
                    await gained(self.fence)
                elif acting and not held and (self._is_refused or not outlasts_store):
                    _log.warning("role_lost", role=self.name, fence=self.fence)
                    acting = False
                    await lost()
                await self._clock.sleep(self._for_s / _RENEWALS_A_LEASE)
        finally:
            if acting:
                await lost()
                await self._give_back()

    async def _give_back(self) -> None:
        self._believed_until_s = float("-inf")
        try:
            await self._store.release(self.name, holder=self._holder)
        except StoreUnavailableError as error:
            _log.warning("lease_not_returned", role=self.name, error=str(error), ends_in_s=self._for_s)
