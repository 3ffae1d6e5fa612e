"""The match operation (Megha, algorithm 1): the AND of bit-vectors within one partition."""

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from shim.domain.messages import Need
from shim.scheduling.global_master.view import GlobalView

__all__ = ["Match", "NodeChoice", "RandomSource", "match_in_partition", "pick_bit"]


class RandomSource(Protocol):
    """Where a recipe draws from; handed in, so that a run can be repeated (`random.Random` is one)."""

    def randrange(self, stop: int, /) -> int:
        """An integer in [0, stop)."""
        ...


class NodeChoice(Enum):
    """Which of the nodes that match is taken."""

    RANDOM_START = "random-start"
    """The first one after a random place: two Global Masters with the same view seldom choose the same node."""
    LEAST_SPECIAL = "least-special"
    """The one with the fewest properties: what only it could serve stays possible."""


@dataclass(frozen=True, slots=True)
class Match:
    """A tentative placement.

    Attributes:
        row: Row of the node in the view.
        is_repartition: Whether the node lies in an external partition: its capacity is borrowed.
    """

    row: int
    is_repartition: bool


def pick_bit(bits: int, start: int) -> int:
    """The lowest set bit at or above `start`, else the lowest at all; `bits` is not zero."""
    above = bits >> start
    if above:
        return start + (above & -above).bit_length() - 1
    return (bits & -bits).bit_length() - 1


def match_in_partition(
    view: GlobalView, need: Need, shape: int, index: int, rng: RandomSource, choice: NodeChoice
) -> int:
    """Row of a node of the partition that satisfies the need by the view; -1 when there is none."""
    partition = view.partitions[index]
    bits = partition.fits[shape]
    if need.is_constrained:
        bits &= view.eligible(need, index)
    if not bits:
        return -1
    start = rng.randrange(partition.size) if choice is NodeChoice.RANDOM_START else 0
    return partition.start + pick_bit(bits, start)
