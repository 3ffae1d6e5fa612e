"""A lease store in memory, by the clock of a test, and one that goes away."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from shim.domain.leases import Lease
from shim.errors import StoreUnavailableError
from shim.ports.clock import Clock

__all__ = ["InMemoryLeaseStore"]


@dataclass(slots=True)
class InMemoryLeaseStore:
    """Keeps leases in this process; several masters of a test share one.

    Attributes:
        is_away: While true, every call fails as that of a database that cannot be reached.
    """

    clock: Clock
    is_away: bool = False
    _kept: dict[str, tuple[Lease, float]] = field(default_factory=dict)

    async def acquire(self, name: str, *, holder: str, address: str, for_s: float) -> Lease | None:
        """Take or prolong a lease; None if another one holds it."""
        self._check()
        now_s = self.clock.monotonic_s()
        known, ends_at_s = self._kept.get(name, (Lease(name, "", "", 0, 0.0), float("-inf")))
        if known.holder != holder and ends_at_s > now_s:
            return None
        fence = known.fence + (known.holder != holder)
        lease = Lease(name, holder, address, fence, for_s)
        self._kept[name] = lease, now_s + for_s
        return lease

    async def acquire_all(self, names: Collection[str], *, holder: str, address: str, for_s: float) -> Sequence[Lease]:
        """Take or prolong those of many leases that can be had."""
        asked = [await self.acquire(name, holder=holder, address=address, for_s=for_s) for name in sorted(names)]
        return [lease for lease in asked if lease is not None]

    async def release(self, name: str, *, holder: str) -> None:
        """Give a lease back, if it is this holder's."""
        self._check()
        known = self._kept.get(name)
        if known is not None and known[0].holder == holder:
            self._kept[name] = replace(known[0], holder=""), float("-inf")

    async def release_all(self, *, holder: str) -> None:
        """Give back every lease of this holder."""
        for name in tuple(self._kept):
            await self.release(name, holder=holder)

    async def leases(self, prefix: str = "") -> Sequence[Lease]:
        """Every lease whose name begins with `prefix`."""
        self._check()
        now_s = self.clock.monotonic_s()
        return [
            replace(lease, remaining_s=ends_at_s - now_s)
            for name, (lease, ends_at_s) in sorted(self._kept.items())
            if name.startswith(prefix)
        ]

    def _check(self) -> None:
        if self.is_away:
            raise StoreUnavailableError("the lease store is away")
