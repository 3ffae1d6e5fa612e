"""Bids for room of real clusters: what a Global Master would have of each, over all queues that it plans for.

A bid is made when it differs from the one before, and again when that is old, as Local Masters forget old ones. Ranks
are compared between queues of different policies, whose keys are not: so they go by what holds for all of them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from shim.domain.capacity_bids import CapacityBid, CapacityBidLine
from shim.domain.ids import GlobalMasterId, SubClusterId
from shim.domain.launches import ContainerKind
from shim.domain.messages import Rank
from shim.scheduling.global_master.bidding import urgent_needs
from shim.scheduling.policies.orders import FIFO
from shim.scheduling.ranks import rank_of

HOLDS_ITS_PART = 8
"""Standing of a queue that holds its share, or has none."""
_AGAIN_S = 3.0
_ROUNDING = 1e-6

_Need = tuple[ContainerKind, str, int]


@dataclass(frozen=True, slots=True)
class WaitingDemand:
    """Containers of one kind that wait in a queue, for one sub-cluster.

    Attributes:
        count: How many nobody has promised.
    """

    rank: Rank
    kind: ContainerKind
    count: int


def standing_of(used: float, share: float) -> int:
    """Standing of a queue: what it holds for its share, in eighths of it, so that little changes no bid.

    The share is that of a queue which wants everything. What waits in Heddle is in no report, so a queue that holds
    nothing would look as if it wanted nothing, and were entitled to nothing.
    """
    return int(HOLDS_ITS_PART * used / share + _ROUNDING) if share > 0 else HOLDS_ITS_PART


def rank_among_queues(*, is_overdue: bool, standing: int, waited_s: float) -> Rank:
    """Rank of a request: by what its queue has for its share, then overtaken for too long, then how long it waits.

    Who was overtaken was so within its queue: that is no claim on the room of a queue which has less.

    Args:
        is_overdue: Whether others of its queue went before it for too long.
    """
    *_, step = rank_of(FIFO, 1.0 / (1.0 + max(0.0, waited_s)), 0.0, 0.0)
    return standing, -int(is_overdue), step


def is_better(rank: Rank, standing: int) -> bool:
    """Return whether a rank is that of a queue which has less for its share than one of this standing."""
    return rank[0] < standing


class CapacityBidder:
    """See the module. It never reads a clock: times are told, in seconds by one clock.

    Args:
        me: Name of the role of this Global Master, as its links tell it.
    """

    def __init__(self, me: GlobalMasterId, incarnation: int) -> None:
        self._me = me
        self._incarnation = incarnation
        self._waiting: dict[str, tuple[int, Mapping[SubClusterId, Sequence[WaitingDemand]]]] = {}
        self._last: dict[SubClusterId, tuple[CapacityBid, float]] = {}

    def put(self, queue: str, term: int, waiting: Mapping[SubClusterId, Sequence[WaitingDemand]]) -> None:
        """Note what waits in a queue, in the place of what waited before.

        Args:
            term: Fence of the lease by which it is this Global Master's; 0 if it has none.
        """
        if any(waiting.values()):
            self._waiting[queue] = term, waiting
        else:
            self._waiting.pop(queue, None)

    def next_bid(self, subcluster: SubClusterId, at_s: float) -> CapacityBid | None:
        """The bid that a Local Master is to hear now; None if it knows."""
        lines = tuple(self._lines(subcluster))
        last = self._last.get(subcluster)
        if last is None and not lines:
            return None
        if last is not None and last[0].lines == lines and (not lines or at_s < last[1] + _AGAIN_S):
            return None
        version = 1 if last is None else last[0].version + 1
        bid = CapacityBid(self._me, self._incarnation, version, lines)
        self._last[subcluster] = bid, at_s
        return bid

    def _lines(self, subcluster: SubClusterId) -> Iterable[CapacityBidLine]:
        wanted = Counter[_Need]()
        ranked: list[tuple[_Need, Rank]] = []
        for queue, (term, waiting) in self._waiting.items():
            for each in waiting.get(subcluster, ()):
                need = (each.kind, queue, term)
                wanted[need] += each.count
                ranked.append((need, each.rank))
        ranked.sort(key=lambda each: each[1])
        for rank, (kind, queue, term), count in urgent_needs(ranked, wanted):
            yield CapacityBidLine(rank, kind, count, queue, term)
