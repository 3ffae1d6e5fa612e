"""Bids of the Global Masters, and the choice of who is offered capacity that came free.

The rule: whoever needs it most (smallest rank), the owner of the partition first among equals, then whoever released it
(its report is due anyway), then the order of the Global Masters.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, repeat

from shim.domain.ids import GlobalMasterId
from shim.domain.messages import Bid, BidLine, Rank
from shim.scheduling.local_master.verify import Truth


@dataclass(slots=True)
class Reservation:
    """Capacity that is kept for a Global Master until it answers.

    Attributes:
        offered_at_s: Since when, in seconds.
    """

    global_master: GlobalMasterId
    node: int
    room: tuple[int, ...]
    offered_at_s: float


@dataclass(frozen=True, slots=True)
class Winner:
    """Global Master that is offered a node, the rank of the next best, and whether long tasks have to leave it."""

    global_master: GlobalMasterId
    runner_up: Rank | None
    is_for_short: bool = False


class BidBook:
    """The newest bid of each Global Master, and how many offers to it are unanswered.

    Args:
        kept: How many nodes tasks that run long leave free for short ones.
    """

    def __init__(self, kept: int = 0) -> None:
        self._kept = kept
        self._bids: dict[GlobalMasterId, Bid] = {}
        self._wanted: dict[GlobalMasterId, int] = {}
        self.unanswered: Counter[GlobalMasterId] = Counter()

    def place(self, bid: Bid) -> bool:
        """Take a bid if it is newer than the one before; says whether it was."""
        known = self._bids.get(bid.global_master)
        if known is not None and (known.incarnation, known.version) >= (bid.incarnation, bid.version):
            return False
        self._bids[bid.global_master] = bid
        self._wanted.pop(bid.global_master, None)
        if bid.lines:
            self._wanted[bid.global_master] = sum(line.count for line in bid.lines)
        return True

    def forget(self, global_master: GlobalMasterId) -> None:
        """Drop the bid of a Global Master that went away."""
        self._bids.pop(global_master, None)
        self._wanted.pop(global_master, None)

    def version_of(self, global_master: GlobalMasterId) -> int:
        """Version of the newest bid of a Global Master; 0 for none."""
        bid = self._bids.get(global_master)
        return 0 if bid is None else bid.version

    @property
    def is_empty(self) -> bool:
        return not self._wanted

    def best_for(self, truth: Truth, node: int, released_by: GlobalMasterId | None) -> Winner | None:
        """Winner of the free capacity of a node; None when no bid can use it.

        A Global Master with as many unanswered offers as waiting tasks is passed over.
        """
        is_for_short = truth.vacant.bit_count() <= self._kept
        ranked: list[tuple[Rank, bool, bool, GlobalMasterId]] = []
        for global_master, wanted in self._wanted.items():
            if self.unanswered[global_master] >= wanted:
                continue
            bid = self._bids[global_master]
            lines = [line for line in bid.lines if not line.is_long] if is_for_short else bid.lines
            rank = _best_rank(lines, truth, node)
            if rank is not None:
                ranked.append((rank, global_master != truth.owners[node], global_master != released_by, global_master))
        if not ranked:
            return None
        ranked.sort()
        return Winner(ranked[0][3], ranked[1][0] if len(ranked) > 1 else None, is_for_short)

    def best_besides(self, global_master: GlobalMasterId) -> Rank | None:
        """Rank of the most urgent bid of anybody else, whatever it is for; None if there is none."""
        others = (self._bids[bidder] for bidder in self._wanted if bidder != global_master)
        return min((bid.lines[0].rank for bid in others), default=None)


def _best_rank(lines: Sequence[BidLine], truth: Truth, node: int) -> Rank | None:
    """Rank of the most urgent line that the node can serve; lines are in the order of their ranks."""
    for line in lines:
        need = line.need
        if truth.fits(node, need.demand) and (not need.is_constrained or need.admits(truth.properties[node])):
            return line.rank
    return None


# Division of a Local Master's nodes into partitions, one for each Global Master (Megha, section IV-A).


def divide_nodes(n_nodes: int, global_masters: Sequence[GlobalMasterId]) -> tuple[GlobalMasterId, ...]:
    """Give each node an owner: contiguous ranges whose sizes differ by at most one, in the order of the Global Masters.

    The result depends on nothing but its arguments, so that an active Local Master and its standby agree.

    Raises:
        ValueError: If there is no Global Master.
    """
    if not global_masters:
        raise ValueError("nodes cannot be divided among no Global Masters")
    size, larger = divmod(n_nodes, len(global_masters))
    return tuple(
        chain.from_iterable(repeat(owner, size + (place < larger)) for place, owner in enumerate(global_masters))
    )
