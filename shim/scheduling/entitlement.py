"""Queues below their share, and by how much: step 2 of a cycle (Megha, algorithm 2)."""

import numpy as np

from fairness import FloatArray
from shim.domain.messages import Need
from shim.scheduling.policy import QueueOrder
from shim.scheduling.snapshot import Queues

HOLDS_ITS_SHARE = 1.0
"""Deficit of a queue that is owed nothing."""
_HALF = 0.5
_ENOUGH = 1e-9


def share_of(demand: tuple[int, ...], total: FloatArray) -> float:
    """Dominant share of one container of everything; types that there are none of do not count."""
    most = 0.0
    for amount, capacity in zip(demand, total.tolist(), strict=True):
        if capacity > 0:
            most = max(most, amount / capacity)
    return most


class Standings:
    """Standings of the queues with shares, as the cycle moves capacity among them.

    Attributes:
        excess: Dominant share less the share, by row; negative for a queue that is owed something.
    """

    def __init__(self, queues: Queues) -> None:
        self._share = queues.share.tolist()
        self._total = queues.total
        exists = queues.total > 0
        parts = queues.held[:, exists] / queues.total[exists]
        held = parts.max(axis=1, initial=0.0) if len(queues.names) else np.zeros(0)
        self.excess: list[float] = (held - queues.share).tolist()
        self._parts: dict[tuple[int, ...], float] = {}

    def part_of(self, need: Need) -> float:
        """Dominant share of one container."""
        part = self._parts.get(need.demand)
        if part is None:
            part = self._parts[need.demand] = share_of(need.demand, self._total)
        return part

    def is_owed(self, queue: int, need: Need) -> bool:
        """True if one more container brings a queue nearer to its share; never for one without a share (row -1)."""
        return queue >= 0 and self.excess[queue] + _HALF * self.part_of(need) < -_ENOUGH

    def exceeds(self, queue: int, need: Need) -> bool:
        """True if one container less brings a queue nearer to its share."""
        return self.excess[queue] - _HALF * self.part_of(need) > _ENOUGH

    def deficit(self, queue: int, need: Need, order: QueueOrder) -> float:
        """Sort key of a queue's requests, smallest first; `HOLDS_ITS_SHARE` for a queue that is owed nothing."""
        if not self.is_owed(queue, need):
            return HOLDS_ITS_SHARE
        share = self._share[queue]
        return (self.excess[queue] + share) / share if order is QueueOrder.MOST_OWED_FIRST else 0.0

    def hold(self, queue: int, need: Need, count: int) -> None:
        """Count so many containers more as held by a queue."""
        self.excess[queue] += count * self.part_of(need)

    def move(self, need: Need, *, giver: int, taker: int) -> None:
        """Count a container as moved from one queue to another."""
        part = self.part_of(need)
        self.excess[giver] -= part
        self.excess[taker] += part

    def furthest_above(self) -> int:
        """Row of the queue that is furthest above its share."""
        return max(range(len(self.excess)), key=self.excess.__getitem__)
