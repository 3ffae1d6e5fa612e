"""Leases in the store, by the store's own clock: those of the machines need not agree."""

from collections.abc import Collection, Sequence
from typing import Protocol

from shim.domain.leases import Lease

__all__ = ["LeaseStore"]


class LeaseStore(Protocol):
    """Grants each role to one holder at a time. Every method raises `StoreUnavailableError` when the store is away."""

    async def acquire(self, name: str, *, holder: str, address: str, for_s: float) -> Lease | None:
        """Take a lease that is free, has ended or is ours already; ours is prolonged. None if another one has it."""
        ...

    async def acquire_all(self, names: Collection[str], *, holder: str, address: str, for_s: float) -> Sequence[Lease]:
        """Take or prolong those of many leases that can be had, in one transaction; returns these, by name."""
        ...

    async def release(self, name: str, *, holder: str) -> None:
        """Give a lease back, if it is ours."""
        ...

    async def release_all(self, *, holder: str) -> None:
        """Give back every lease that a process has."""
        ...

    async def leases(self, prefix: str = "") -> Sequence[Lease]:
        """Every lease whose name begins with `prefix`, ended ones too, by name."""
        ...
