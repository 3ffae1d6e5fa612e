"""Offers of room that a report shows free: to the best bid among Global Masters, for a short time.

The choice is that of Local Masters which launch by themselves (`offers.py`), node by node: the smallest rank, and among
equals whose part of the nodes it is (`partition.py`). An offer is room for containers of one kind, and ends by itself.
It is no right to a node: the ResourceManager decides on which node a container runs.

Whoever leaves an offer until its time is over is passed over for as long, and twice as long each further time; so the
next best has it, and nobody starves. One bidder alone is offered nothing: nobody else is known to want the room.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shim.domain.capacity_bids import CapacityBid, CapacityBidLine, CapacityNotice, PersistentBid
from shim.domain.ids import GlobalMasterId
from shim.domain.launches import ContainerKind, proposer
from shim.domain.messages import Rank
from shim.scheduling.local_master.offers import BidsOf, divide_nodes
from shim.scheduling.local_master.tentative_allocations import TentativeAllocations

BIDS_LAST_S = 10.0
"""At least; longer where reports are rare, as cycles run when one comes."""
_LONGEST_PASSED_OVER_S = 30.0
_MOST_NODES = 2000
"""Nodes that are offered after one report, as all of it is one turn of the event loop; the rest is for everybody."""


@dataclass(slots=True)
class _Backoff:
    """Time for which somebody is passed over who left an offer.

    Attributes:
        taken: Containers offered to him that he had taken at the last look; `expired` those that he had left.
    """

    until_s: float = float("-inf")
    for_s: float = 0.0
    taken: int = 0
    expired: int = 0


class CapacityOffers:
    """See the module. It never reads a clock: times are told, in seconds by one clock.

    Args:
        book: What the nodes have left, with the offers in it.
        offer_s: How long an offer stands; 0 makes none.
        bids_last_s: A bid that is older is no more: who wants room says so again in time.
    """

    def __init__(self, book: TentativeAllocations, offer_s: float, bids_last_s: float = BIDS_LAST_S) -> None:
        self._bids_last_s = bids_last_s
        self._book = book
        self._offer_s = offer_s
        self._bids = BidsOf[CapacityBid]()
        self._heard_s: dict[GlobalMasterId, float] = {}
        self._terms: dict[str, int] = {}
        self._backoffs: dict[str, _Backoff] = {}

    def place(self, bid: CapacityBid, at_s: float) -> None:
        """Hear a bid. Offers that the bidder does not want any more end; an old bid changes nothing."""
        known = self._bids.of(bid.global_master)
        if not self._bids.place(bid):
            return
        if known is not None and known.incarnation != bid.incarnation:
            self._book.offered.trim(_name(known), {})
            self._book.offered.forget(_name(known))
            self._backoffs.pop(_name(known), None)
        self._heard_s[bid.global_master] = at_s
        for line in bid.lines:
            self._terms[line.queue] = max(line.term, self._terms.get(line.queue, 0))
        wanted = Counter[ContainerKind]()
        for line in self._valid(bid):
            wanted[line.kind] += line.count
        self._book.offered.trim(_name(bid), wanted)

    def knows(self, sender: str) -> bool:
        """Return whether a proposal's sender has ever bid: an older Heddle does not know what an offer is."""
        return any(bid is not None and _name(bid) == sender for bid in map(self._bids.of, self._heard_s))

    def told(self, at_s: float) -> CapacityNotice:
        """Return what is spoken for at this moment."""
        self._book.expire(at_s)
        notice = self._book.offered.told(at_s, self._book.promised())
        return replace(notice, bids=tuple(self._standing(at_s)))

    def decide(self, at_s: float) -> None:
        """Offer what is free now: a report has come."""
        self._book.expire(at_s)
        self._learn_backoffs(at_s)
        living = self._living(at_s)
        if self._offer_s <= 0.0 or len(living) < 2:  # noqa: PLR2004 - with one there is no choice
            return
        lines: dict[GlobalMasterId, list[CapacityBidLine]] = {}
        for name, bid in self._in_turn(living, at_s):
            lines[name] = self._valid(bid)
            self._bids.unanswered[name] = sum(self._book.offered.left_to(_name(bid)).values())
        _Round(self._book, self._bids, lines, divide_nodes(len(self._book.nodes.reports), living)).run(
            at_s + self._offer_s
        )

    def _living(self, at_s: float) -> list[GlobalMasterId]:
        return sorted(name for name in self._bids.bidders if self._heard_s[name] + self._bids_last_s >= at_s)

    def _in_turn(self, living: Sequence[GlobalMasterId], at_s: float) -> Iterator[tuple[GlobalMasterId, CapacityBid]]:
        """Bids of those that are not passed over."""
        for name in living:
            bid = self._bids.of(name)
            if bid is not None and self._backoff_of(_name(bid)).until_s <= at_s:
                yield name, bid

    def _standing(self, at_s: float) -> Iterator[PersistentBid]:
        """Bids for more than is offered, of which some node and the queue's limit could have at least one container."""
        if self._offer_s <= 0.0:
            return
        for _, bid in self._in_turn(self._living(at_s), at_s):
            left = self._book.offered.left_to(_name(bid))
            for line in self._valid(bid):
                known, left[line.kind] = left[line.kind], max(0, left[line.kind] - line.count)
                if line.count > known and self._book.could_have(line.kind):
                    yield PersistentBid(_name(bid), line.rank)
                    break

    def _valid(self, bid: CapacityBid) -> list[CapacityBidLine]:
        """Lines of queues that nobody is known to have taken over since."""
        return [line for line in bid.lines if line.count > 0 and line.term >= self._terms.get(line.queue, 0)]

    def _backoff_of(self, to: str) -> _Backoff:
        return self._backoffs.setdefault(to, _Backoff())

    def _learn_backoffs(self, at_s: float) -> None:
        """See who left an offer since the last look, and who took one."""
        for to, counts in self._book.offered.counts.items():
            backoff = self._backoff_of(to)
            if counts.taken > backoff.taken:
                backoff.for_s = 0.0
            if counts.expired > backoff.expired:
                backoff.for_s = min(max(2.0 * backoff.for_s, self._offer_s), _LONGEST_PASSED_OVER_S)
                backoff.until_s = at_s + backoff.for_s
            backoff.taken, backoff.expired = counts.taken, counts.expired


class _Round:
    """Room that one report shows free, offered node by node.

    Args:
        book: What the nodes have left.
        bids: Of everybody.
        lines: What may be offered to whom.
        owners: Whose part of the nodes each node is.
    """

    def __init__(
        self,
        book: TentativeAllocations,
        bids: BidsOf[CapacityBid],
        lines: Mapping[GlobalMasterId, Sequence[CapacityBidLine]],
        owners: Sequence[GlobalMasterId],
    ) -> None:
        self._book = book
        self._bids = bids
        self._lines = lines
        self._owners = owners
        self._left: dict[tuple[GlobalMasterId, ContainerKind], int] = {}
        for name, its_lines in lines.items():
            bid = bids.of(name)
            offered = Counter[ContainerKind]() if bid is None else book.offered.left_to(_name(bid))
            for line in its_lines:
                key = (name, line.kind)
                self._left[key] = self._left.get(key, -offered[line.kind]) + line.count

    def run(self, until_s: float) -> None:
        """Offer until nobody wants more, or nothing is free."""
        kinds = {kind for _, kind in self._left}
        has_room = np.zeros(len(self._owners), dtype=np.bool_)
        for kind in kinds:
            has_room |= self._book.nodes.slots(kind) > 0
        for row in np.flatnonzero(has_room)[:_MOST_NODES].tolist():
            self._offer_node(row, until_s)

    def _offer_node(self, row: int, until_s: float) -> None:
        while True:
            winner = self._bids.best_among(lambda bid: self._rank_at(bid, row), self._owners[row], None)
            line = None if winner is None else self._line_at(winner.global_master, row)
            if winner is None or line is None:
                return
            name = winner.global_master
            bid = self._bids.of(name)
            assert bid is not None  # noqa: S101 - it won
            count = min(self._fitting(name, line.kind), self._book.nodes.slots_on(row, line.kind))
            self._book.offered.make(_name(bid), line.kind, {row: count}, until_s)
            self._left[name, line.kind] -= count
            self._bids.unanswered[name] += count

    def _rank_at(self, bid: CapacityBid, row: int) -> Rank | None:
        line = self._line_at(bid.global_master, row)
        return None if line is None else line.rank

    def _line_at(self, name: GlobalMasterId, row: int) -> CapacityBidLine | None:
        """Most urgent line of somebody that a node has room for; lines are in the order of their ranks."""
        for line in self._lines.get(name, ()):
            if self._book.nodes.slots_on(row, line.kind) > 0 and self._fitting(name, line.kind) > 0:
                return line
        return None

    def _fitting(self, name: GlobalMasterId, kind: ContainerKind) -> int:
        """Containers that somebody still wants, and that the queue may have."""
        left = self._left[name, kind]
        return min(left, self._book.queue_room(kind)) if left > 0 else 0


def _name(bid: CapacityBid) -> str:
    return proposer(bid.global_master, bid.incarnation)
