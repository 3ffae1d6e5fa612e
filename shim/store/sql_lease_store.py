"""`LeaseStore` over SQL, in the database of the state store."""

from collections.abc import Collection, Sequence
from functools import partial

from shim.domain.leases import Lease
from shim.store import lease_operations
from shim.store.executors import Executor

__all__ = ["SqlLeaseStore"]


class SqlLeaseStore:
    """Leases in SQL; implements `shim.ports.LeaseStore`. Closing the state store closes it."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def acquire(self, name: str, *, holder: str, address: str, for_s: float) -> Lease | None:
        """Take or prolong a lease; None if another one holds it."""
        return await self._executor.write(
            partial(lease_operations.acquire, name=name, holder=holder, address=address, for_s=for_s)
        )

    async def acquire_all(self, names: Collection[str], *, holder: str, address: str, for_s: float) -> Sequence[Lease]:
        """Take or prolong those of many leases that can be had."""
        return await self._executor.write(
            partial(lease_operations.acquire_all, names=tuple(names), holder=holder, address=address, for_s=for_s)
        )

    async def release(self, name: str, *, holder: str) -> None:
        """Give a lease back, if it is this holder's."""
        await self._executor.write(partial(lease_operations.release, name=name, holder=holder))

    async def release_all(self, *, holder: str) -> None:
        """Give back every lease of this holder."""
        await self._executor.write(partial(lease_operations.release_all, holder=holder))

    async def leases(self, prefix: str = "") -> Sequence[Lease]:
        """Every lease whose name begins with `prefix`."""
        return await self._executor.read(partial(lease_operations.list_leases, prefix=prefix))
