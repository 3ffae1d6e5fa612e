"""Bids for room of the queues whose cycles run here, told to Local Masters after each cycle."""

from collections.abc import Callable, Sequence

from shim.domain.ids import SubClusterId
from shim.peers.launches import LaunchService
from shim.ports.clock import Clock
from shim.scheduling.global_master.capacity_bids import CapacityBidder, is_better
from shim.scheduling.queue_table import QueueTable


class QueueBids:
    """Bids for what waits after a cycle.

    Args:
        subclusters: Whose Local Masters are told.
        standing_of: How a queue stands against what it is entitled to, by its path.
        term_of: Fence of the lease by which it is owned here; 0 for none.
        are_several: Whether there are other Global Masters: without, there is nobody to bid against.
    """

    def __init__(
        self,
        bidder: CapacityBidder,
        subclusters: Sequence[SubClusterId],
        *,
        standing_of: Callable[[str], int],
        term_of: Callable[[str], int],
        are_several: Callable[[], bool],
        clock: Clock,
    ) -> None:
        self._bidder = bidder
        self._subclusters = tuple(subclusters)
        self._standing_of = standing_of
        self._term_of = term_of
        self._are_several = are_several
        self._clock = clock

    def outbid_at(self, queue: str, launches: LaunchService) -> frozenset[SubClusterId]:
        """Name the sub-clusters for whose room another Global Master waits whose queue has less for its share.

        Args:
            launches: Knows what Local Masters told.
        """
        standing = self._standing_of(queue)
        best = ((each, launches.best_of_others(each)) for each in self._subclusters)
        return frozenset(each for each, rank in best if rank is not None and is_better(rank, standing))

    def look(
        self,
        queue: str,
        table: QueueTable,
        queue_at: Callable[[SubClusterId], str | None],
        launches: LaunchService,
    ) -> None:
        """Bid for what waits in a queue now.

        Args:
            queue_at: What a sub-cluster calls it; None if it has no such queue.
            launches: The way to Local Masters.
        """
        now_s = self._clock.now_s()
        names = {each: queue_at(each) for each in self._subclusters} if self._are_several() else {}
        waiting = table.waiting_demand(
            {each: name for each, name in names.items() if name}, self._standing_of(queue), now_s
        )
        self._bidder.put(queue, self._term_of(queue), waiting)
        for subcluster in self._subclusters:
            bid = self._bidder.next_bid(subcluster, now_s)
            if bid is not None:
                launches.bid(subcluster, bid)
