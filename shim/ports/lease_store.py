"""Leases in the store, by the store's own clock: those of the machines need not agree."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

# Leases: who may act as what, until when.


@dataclass(frozen=True, slots=True)
class Lease:
    """A role that one process holds for a while.

    Attributes:
        name: The role: `gm/<id>`, `lm/<sub-cluster>`, `queue/<path>`, `door/<id>`.
        holder: Life of the process that holds it; a restarted process has another.
        address: Where the holder is reached: `host:port`.
        fence: Grows with each new holder. What an earlier holder still says under a smaller fence is not believed.
        remaining_s: Until it ends, by the store's clock, at the moment it was read; 0 or less: it has ended.
    """

    name: str
    holder: str
    address: str
    fence: int
    remaining_s: float

    @property
    def is_live(self) -> bool:
        """True if the lease had not ended when it was read."""
        return self.remaining_s > 0


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
