"""Bids of the Global Masters, and the choice of who is offered capacity that came free.

The rule: whoever needs it most (smallest rank), the owner of the partition first among equals, then whoever released it
(its report is due anyway), then the order of the Global Masters.

Offers of room that a report shows free: to the best bid among Global Masters, for a short time.

The choice is that of Local Masters which launch by themselves, node by node: the smallest rank, and among
equals whose part of the nodes it is (`partition.py`). An offer is room for containers of one kind, and ends by itself.
It is no right to a node: the ResourceManager decides on which node a container runs.

Whoever leaves an offer until its time is over is passed over for as long, and twice as long each further time; so the
next best has it, and nobody starves. One bidder alone is offered nothing: nobody else is known to want the room.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import Generic, Protocol, TypeVar

import numpy as np

from shim.domain.capacity_bids import CapacityBid, CapacityBidLine, CapacityNotice, PersistentBid
from shim.domain.ids import GlobalMasterId
from shim.domain.launches import ContainerKind, proposer
from shim.domain.messages import Bid, BidLine, Rank
from shim.scheduling.local_master.tentative_allocations import TentativeAllocations
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


class AnyLine(Protocol):
    """A line of a bid, whatever it is for."""

    @property
    def count(self) -> int:
        """Number of containers or tasks that wait."""
        ...


class AnyBid(Protocol):
    """A bid, for whatever its lines are for."""

    @property
    def global_master(self) -> GlobalMasterId: ...

    @property
    def incarnation(self) -> int:
        """Life of the bidder."""
        ...

    @property
    def version(self) -> int:
        """Grows with each bid of a life."""
        ...

    @property
    def lines(self) -> Sequence[AnyLine]:
        """Kinds of room that are wanted, the most urgent first."""
        ...


BidT = TypeVar("BidT", bound=AnyBid)


class BidsOf(Generic[BidT]):
    """The newest bid of each Global Master, and how many offers to it are unanswered."""

    def __init__(self) -> None:
        self._bids: dict[GlobalMasterId, BidT] = {}
        self._wanted: dict[GlobalMasterId, int] = {}
        self.unanswered: Counter[GlobalMasterId] = Counter()

    def place(self, bid: BidT) -> bool:
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

    def of(self, global_master: GlobalMasterId) -> BidT | None:
        """Give the newest bid of a Global Master."""
        return self._bids.get(global_master)

    @property
    def bidders(self) -> Sequence[GlobalMasterId]:
        return tuple(self._wanted)

    @property
    def is_empty(self) -> bool:
        return not self._wanted

    def best_among(
        self, rank_of: Callable[[BidT], Rank | None], owner: GlobalMasterId, released_by: GlobalMasterId | None
    ) -> Winner | None:
        """Winner of room that came free; None when no bid can use it.

        A Global Master with as many unanswered offers as waiting tasks is passed over.

        Args:
            rank_of: The rank of the most urgent line of a bid that the room would do for; None if there is none.
            owner: Of the partition that the room is in.
        """
        ranked: list[tuple[Rank, bool, bool, GlobalMasterId]] = []
        for global_master, wanted in self._wanted.items():
            if self.unanswered[global_master] >= wanted:
                continue
            rank = rank_of(self._bids[global_master])
            if rank is not None:
                ranked.append((rank, global_master != owner, global_master != released_by, global_master))
        if not ranked:
            return None
        ranked.sort()
        return Winner(ranked[0][3], ranked[1][0] if len(ranked) > 1 else None)


class BidBook(BidsOf[Bid]):
    """Bids for nodes where masters launch by themselves.

    Args:
        kept: How many nodes tasks that run long leave free for short ones.
    """

    def __init__(self, kept: int = 0) -> None:
        super().__init__()
        self._kept = kept

    def best_for(self, truth: Truth, node: int, released_by: GlobalMasterId | None) -> Winner | None:
        """Winner of the free capacity of a node; None when no bid can use it."""
        is_for_short = truth.vacant.bit_count() <= self._kept

        def rank_of(bid: Bid) -> Rank | None:
            lines = [line for line in bid.lines if not line.is_long] if is_for_short else bid.lines
            return _best_rank(lines, truth, node)

        winner = self.best_among(rank_of, truth.owners[node], released_by)
        return winner if winner is None or not is_for_short else replace(winner, is_for_short=True)

    def best_besides(self, global_master: GlobalMasterId) -> Rank | None:
        """Rank of the most urgent bid of anybody else, whatever it is for; None if there is none."""
        others = (self.of(bidder) for bidder in self.bidders if bidder != global_master)
        return min((bid.lines[0].rank for bid in others if bid is not None), default=None)


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
