"""Assignment of queues to Global Masters: decided by each alone, the same by all.

Every queue has a favourite among the living Global Masters, by rendezvous hashing: when one comes or goes, only the
queues that it gains or loses move. A lease makes it so: a Global Master acquires the free queues whose favourite it is
and gives back those that prefer another, so that a queue has at most one owner whatever each believes.

Source: Thaler and Ravishankar, A Name-Based Mapping Scheme for Rendezvous, 1996.
"""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from shim.domain.ids import GlobalMasterId


@dataclass(frozen=True, slots=True)
class Assignment:
    """Leases of queues that one Global Master should acquire and release."""

    acquire: tuple[str, ...]
    release: tuple[str, ...]


def favourite(queue: str, living: Collection[GlobalMasterId]) -> GlobalMasterId | None:
    """The Global Master that should own a queue; None if none lives."""
    return max(living, key=lambda master: (_weight(queue, master), master), default=None)


def assign_queues(
    me: GlobalMasterId, living: Collection[GlobalMasterId], owners: Mapping[str, GlobalMasterId | None]
) -> Assignment:
    """Leases that `me` should acquire and release.

    Args:
        me: The Global Master that decides; counts as living.
        living: Those whose lease has not ended.
        owners: Each queue, and who holds its lease now; None for nobody.
    """
    masters = {*living, me}
    mine = sorted(queue for queue in owners if favourite(queue, masters) == me)
    acquire = tuple(queue for queue in mine if owners[queue] in (None, me) or owners[queue] not in masters)
    release = tuple(sorted(queue for queue, owner in owners.items() if owner == me and queue not in mine))
    return Assignment(acquire, release)


def _weight(queue: str, master: GlobalMasterId) -> bytes:
    return hashlib.blake2b(f"{queue}\0{master}".encode(), digest_size=8).digest()
