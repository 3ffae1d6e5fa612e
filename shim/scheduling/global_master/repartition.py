"""Search over partitions: internal ones first, then a repartition, borrowing from an external one (Megha, IV-B)."""

from enum import Enum

from shim.domain.messages import Need
from shim.scheduling.global_master.match import Match, NodeChoice, RandomSource, match_in_partition, pick_bit
from shim.scheduling.global_master.view import GlobalView

__all__ = ["PartitionChoice", "PartitionSearch"]


class PartitionChoice(Enum):
    """Where the search over partitions begins."""

    ROUND_ROBIN = "round-robin"
    """One further than the last match (the paper)."""
    RANDOM = "random"
    """Anywhere (the paper's public simulator): Global Masters do not follow one another."""


class PartitionSearch:
    """Finds nodes in a view; remembers where the round robin is.

    Args:
        choice: Where to begin among partitions.
        node_choice: Which node to take within one.
        rng: Where both draw from.
    """

    def __init__(self, choice: PartitionChoice, node_choice: NodeChoice, rng: RandomSource) -> None:
        self._choice = choice
        self._node_choice = node_choice
        self._rng = rng
        self._next = 0

    def find_match(self, view: GlobalView, need: Need) -> Match | None:
        """A node that satisfies the need by the view; None when no partition has one."""
        shape = view.shape_of(need.demand)
        internal = view.internal_mask
        is_open = view.open_masks[shape]
        row = self._search(view, need, shape, is_open & internal)
        if row >= 0:
            return Match(row, is_repartition=False)
        row = self._search(view, need, shape, is_open & ~internal)
        return Match(row, is_repartition=True) if row >= 0 else None

    def _search(self, view: GlobalView, need: Need, shape: int, mask: int) -> int:
        """Try the partitions of a mask, one after another from the place where the search begins."""
        if not mask:
            return -1
        n_partitions = len(view.partitions)
        start = (
            self._rng.randrange(n_partitions) if self._choice is PartitionChoice.RANDOM else self._next % n_partitions
        )
        while mask:
            index = pick_bit(mask, start)
            row = match_in_partition(view, need, shape, index, self._rng, self._node_choice)
            if row >= 0:
                self._next = index + 1
                return row
            mask &= ~(1 << index)
            start = index
        return -1
