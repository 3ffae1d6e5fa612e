"""Containers that a Local Master has promised and its ResourceManager has not granted yet.

The truth about free resources is the newest report: what each node has, less what it holds. A tentative allocation is
subtracted from that until a later report shows its containers, until it is withdrawn, or until it is too old: its
holder may have died. Containers are allocated on the nodes that could hold them now, so that no two allocations count
on the same memory of the same node. The ResourceManager decides on which node they run.

A Global Master keeps the same book of what it believes, with what it was told of others' promises in it.

Room that a Local Master keeps for one Global Master for a short time, on the nodes where it is.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, islice

from shim.domain.capacity_bids import CapacityNotice, CapacityOffer, OfferCounts, UnreportedContainers
from shim.domain.ids import SubClusterId
from shim.domain.launches import (
    ConflictKind,
    ContainerKind,
    LaunchNews,
    LaunchProposal,
    LaunchVerdict,
    TentativelyAllocated,
    Verdict,
)
from shim.domain.queues import QueueReport
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import NodeReport
from shim.scheduling.capacity import NodeCapacity, Places, fitting

_MOST_TOLD = 256


@dataclass(slots=True)
class PersistentOffer:
    """Containers of one kind for which room is kept.

    Attributes:
        to: For whom, as a proposal's sender is named.
    """

    to: str
    kind: ContainerKind
    until_s: float
    places: Places = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Number of containers; none is kept without a place."""
        return sum(self.places.values())


class OfferBook:
    """The offers that stand. It never reads a clock: times are told, in seconds by one clock.

    Args:
        changed: Called whenever there may be more room for others, or less.

    Attributes:
        standing: In the order in which they were made.
    """

    def __init__(self, nodes: NodeCapacity, changed: Callable[[], None]) -> None:
        self._nodes = nodes
        self._changed = changed
        self.standing: list[PersistentOffer] = []
        self._counts: dict[str, OfferCounts] = {}

    def make(self, to: str, kind: ContainerKind, places: Places, until_s: float) -> None:
        """Keep room on these nodes, which have it."""
        self._nodes.give_back(kind, {row: -count for row, count in places.items()})
        self._changed()
        made = sum(places.values())
        for each in self.standing:
            if (each.to, each.kind, each.until_s) == (to, kind, until_s):
                each.places = dict(Counter(each.places) + Counter(places))
                break
        else:
            self.standing.append(PersistentOffer(to, kind, until_s, dict(places)))
        self._count(to, made=made)

    def left_to(self, to: str) -> Counter[ContainerKind]:
        """Containers that are still offered to somebody."""
        found = Counter[ContainerKind]()
        for each in self.standing:
            if each.to == to:
                found[each.kind] += each.count
        return found

    @property
    def counts(self) -> Mapping[str, OfferCounts]:
        """Fate of all offers so far, by whose they were."""
        return self._counts

    def forget(self, to: str) -> None:
        self.trim(to, {})
        self._counts.pop(to, None)

    def to_others(self, than: str) -> int:
        """Number of containers that are offered to anybody else."""
        return sum(each.count for each in self.standing if each.to != than)

    # ------------------------------------------------------------------ room for a moment

    def lift(self, to: str) -> Sequence[PersistentOffer]:
        """Take the offers to somebody away, as he may use their room; `put_back` has what is left of them."""
        lifted = [each for each in self.standing if each.to == to]
        self._remove(lifted)
        return lifted

    def put_back(self, lifted: Iterable[PersistentOffer], kind: ContainerKind, used: int) -> None:
        """Keep on offering what was not used; what has no room any more is offered no more.

        Args:
            kind: Of the containers that were promised instead.
        """
        for each in lifted:
            taken = min(used, each.count) if each.kind == kind else 0
            used -= taken
            self._count(each.to, taken=taken)
            self._lay(each, each.count - taken)

    def has_room_besides(self, kind: ContainerKind, count: int) -> bool:
        for each in self.standing:
            self._nodes.give_back(each.kind, each.places)
        has_room = self._nodes.count(kind) >= count
        for each in self.standing:
            self._nodes.give_back(each.kind, {row: -held for row, held in each.places.items()})
        return has_room

    # ------------------------------------------------------------------ ends

    def lay_again(self) -> None:
        """Lay the offers on nodes of which nothing is counted on but promises; what has no room ends."""
        offers, self.standing = self.standing, []
        for each in offers:
            self._lay(each, each.count)

    def trim(self, to: str, wanted: Mapping[ContainerKind, int]) -> None:
        left = dict(wanted)
        for each in self.lift(to):
            keep = min(each.count, left.get(each.kind, 0))
            left[each.kind] = left.get(each.kind, 0) - keep
            self._count(to, returned=each.count - keep)
            self._lay(each, keep)

    def expire(self, at_s: float) -> None:
        """End the offers whose time is over."""
        over = [each for each in self.standing if each.until_s <= at_s]
        self._remove(over)
        for each in over:
            self._count(each.to, expired=each.count)

    def believe(self, told: Iterable[CapacityOffer], at_s: float) -> None:
        """Believe what a Local Master tells: these stand, and no others."""
        self._remove(list(self.standing))
        for each in told:
            places = self._nodes.take(each.kind, each.count)
            if places:
                self.standing.append(PersistentOffer(each.to, each.kind, at_s + each.for_s, places))
        self._changed()

    def told(self, at_s: float, promised: Sequence[UnreportedContainers] = ()) -> CapacityNotice:
        """Tell of the offers that stand, and what became of all so far; of very many offers the oldest."""
        offers = (
            CapacityOffer(each.to, each.kind, each.count, each.until_s - at_s) for each in self.standing[:_MOST_TOLD]
        )
        return CapacityNotice(tuple(promised), tuple(offers), dict(self._counts))

    # ------------------------------------------------------------------ books

    def _lay(self, offer: PersistentOffer, count: int) -> None:
        """Keep so many of an offer's containers, as far as there is room for them."""
        offer.places = self._nodes.take(offer.kind, count) if count > 0 else {}
        self._count(offer.to, returned=max(0, count) - offer.count)
        if offer.places:
            self.standing.append(offer)
            self._changed()

    def _remove(self, offers: Sequence[PersistentOffer]) -> None:
        if not offers:
            return
        self._changed()
        for each in offers:
            self._nodes.give_back(each.kind, each.places)
        gone = set(map(id, offers))
        self.standing = [each for each in self.standing if id(each) not in gone]

    def _count(self, to: str, *, made: int = 0, taken: int = 0, returned: int = 0, expired: int = 0) -> None:
        known = self._counts.get(to, OfferCounts())
        self._counts[to] = replace(
            known,
            made=known.made + made,
            taken=known.taken + taken,
            returned=known.returned + returned,
            expired=known.expired + expired,
        )


# Containers that a Local Master counts though no report shows them.


@dataclass(slots=True)
class CountedContainers:
    """Containers of one kind that are counted though no report shows them.

    Attributes:
        short_since_s: Since which report nodes lack room for some of them; None if they do not.
        sender: Who proposed them; empty where nobody did.
    """

    holder: str
    kind: ContainerKind
    count: int
    at_s: float
    places: Places = field(default_factory=dict)
    short_since_s: float | None = None
    sender: str = ""

    @property
    def short(self) -> int:
        """Number of its containers that no node has room for."""
        return self.count - sum(self.places.values())


_OTHERS = ""
_MOST_ANSWERS = 8192
_SHORT_FOR_S = 3.0
"""A container that was granted and not reported yet looks as if its promise had no room: a scheduler's client calls
every second or so."""

ProposalKey = tuple[str, int]
"""Who proposed, and the number of the proposal."""


@dataclass(slots=True)
class _Answer:
    """Answer to a proposal, and its later counts."""

    accepted: int
    conflict: ConflictKind | None = None
    honoured: int = 0
    withdrawn: int = 0


class TentativeAllocations:
    """See the module. It never reads a clock: times are told, in seconds by one clock.

    Attributes:
        offered: Room that is kept for some Global Master; of a Global Master's belief: for others.
    """

    def __init__(self, subcluster: SubClusterId, lasts_s: float) -> None:
        self._subcluster = subcluster
        self._lasts_s = lasts_s
        self._nodes = NodeCapacity(subcluster)
        self._queues: Mapping[str, QueueReport] = {}
        self._allocations: dict[ProposalKey, CountedContainers] = {}
        self._granted: list[CountedContainers] = []
        self._answers: OrderedDict[ProposalKey, _Answer] = OrderedDict()
        self._rooms: dict[ContainerKind, int] = {}
        self.offered = OfferBook(self._nodes, self._rooms.clear)
        self.reported_at_s = float("-inf")

    # ------------------------------------------------------------------ what reports tell

    def apply(self, nodes: Sequence[NodeReport], queues: Mapping[str, QueueReport], polled_at_s: float) -> None:
        """Take over a report, unless a newer one is known. What it shows is no longer counted as promised.

        Args:
            nodes: Every node of the sub-cluster.
        """
        if polled_at_s <= self.reported_at_s:
            return
        self.reported_at_s, self._queues = polled_at_s, queues
        self._nodes.apply(nodes)
        self._granted = [each for each in self._granted if each.at_s >= polled_at_s]
        for key in [key for key in self._allocations if key[0] == _OTHERS]:
            del self._allocations[key]
        self.expire(polled_at_s)
        self._place_again()

    def expire(self, at_s: float) -> None:
        """Forget promises and offers that are too old."""
        self.offered.expire(at_s)
        for key, allocation in list(self._allocations.items()):
            if allocation.at_s + self._lasts_s < at_s:
                self._release(key, allocation.count)
        if any(each.at_s + self._lasts_s < at_s for each in self._granted):  # reports have stopped, not the cluster
            self._granted = [each for each in self._granted if each.at_s + self._lasts_s >= at_s]
            self._place_again()

    # ------------------------------------------------------------------ proposals

    def room(self, kind: ContainerKind) -> int:
        known = self._rooms.get(kind)
        if known is None:
            known = self._rooms[kind] = min(self.queue_room(kind), self._nodes.count(kind))
        return known

    def propose(self, sender: str, proposal: LaunchProposal, at_s: float) -> LaunchVerdict:
        """Promise as much of a proposal as there is room for. A repeated proposal has the answer of the first."""
        self.expire(at_s)
        key = (sender, proposal.number)
        known = self._answers.get(key)
        if known is None:
            offers = self.offered.lift(sender)
            known = self._remember(key, self._judge(key, proposal, at_s))
            self.offered.put_back(offers, proposal.kind, known.accepted)
        return self._verdict(sender, proposal, known, at_s)

    def _judge(self, key: ProposalKey, proposal: LaunchProposal, at_s: float) -> _Answer:
        accepted = min(proposal.count, self.room(proposal.kind)) if proposal.count > 0 else 0
        conflict = self._conflict(key[0], proposal) if accepted < proposal.count else None
        if accepted:
            allocation = CountedContainers(proposal.holder, proposal.kind, accepted, at_s, sender=key[0])
            self._allocations[key] = allocation
            self._place(allocation)
        return _Answer(accepted, conflict)

    def tell(self, sender: str, news: LaunchNews, at_s: float) -> None:
        """Hear what became of a proposal.

        News of a proposal that never came is kept as the answer to it: it comes too late, and nothing is promised.
        """
        key = (sender, news.number)
        known = self._answers.get(key)
        if known is None:
            self._remember(key, _Answer(0))
            return
        honoured, withdrawn = max(0, news.honoured - known.honoured), max(0, news.withdrawn - known.withdrawn)
        known.honoured, known.withdrawn = known.honoured + honoured, known.withdrawn + withdrawn
        allocation = self._allocations.get(key)
        if allocation is None:
            return
        moved = min(honoured, allocation.count)
        if moved:
            places = self._release(key, moved, keeps_places=True)
            granted = CountedContainers(allocation.holder, allocation.kind, moved, at_s, places, sender=sender)
            self._granted.append(granted)
        self._release(key, withdrawn)

    def took(self, holder: str, kind: ContainerKind, at_s: float) -> None:
        """A container was granted that nobody had promised: its room is gone, though no report shows it yet."""
        allocation = CountedContainers(holder, kind, 1, at_s)
        self._granted.append(allocation)
        self._place(allocation)

    def lost(self, sender: str, number: int) -> int:
        """Number of a proposal's containers that have a tentative allocation no more, though nobody withdrew it.

        It is too old, or reports have shown for a while that there is no room: somebody else was granted that.
        """
        allocation, answer = self._allocations.get((sender, number)), self._answers.get((sender, number))
        if allocation is None:
            return 0 if answer is None else max(0, answer.accepted - answer.honoured - answer.withdrawn)
        since_s = allocation.short_since_s
        return allocation.short if since_s is not None and self.reported_at_s >= since_s + _SHORT_FOR_S else 0

    def correct(self, sender: str, number: int, accepted: int) -> None:
        """A belief was too good: of this proposal only so much was promised."""
        known = self._answers.get((sender, number))
        if known is not None and accepted < known.accepted:
            surplus, known.accepted = known.accepted - accepted, accepted
            self._release((sender, number), surplus)

    def learn(self, promised: Iterable[TentativelyAllocated], at_s: float) -> None:
        """Take over what others were promised, in place of what was told before; until the next report."""
        for key in [key for key in self._allocations if key[0] == _OTHERS]:
            self._release(key, self._allocations[key].count)
        for number, each in enumerate(promised):
            count = min(each.count, self.room(each.kind))
            if count:
                self._allocations[_OTHERS, number] = allocation = CountedContainers("others", each.kind, count, at_s)
                self._place(allocation)

    @property
    def nodes(self) -> NodeCapacity:
        """Room left on the nodes; not to be written."""
        return self._nodes

    def left_of(self, path: str) -> ResourceVector | None:
        """Amount that a queue may still have, less its tentative allocations; -1 for a type that is not bounded.

        None where nothing bounds it, or where the queue is not known.
        """
        return self._left_of(path, (*self._allocations.values(), *self._granted, *self.offered.standing))

    def _left_of(self, path: str, counted: Iterable[CountedContainers | PersistentOffer]) -> ResourceVector | None:
        queue = self._queues.get(path)
        if queue is None:
            return None
        left = queue.maximum - queue.used
        for allocation in counted:
            if allocation.kind.queue == path and not allocation.kind.label:
                taken = allocation.kind.resource
                left -= ResourceVector(taken.memory_mib * allocation.count, taken.vcores * allocation.count)
        most = queue.maximum
        memory = max(0, left.memory_mib) if most.memory_mib > 0 else -1
        return ResourceVector(memory, max(0, left.vcores) if most.vcores > 0 else -1)

    def promised(self) -> tuple[UnreportedContainers, ...]:
        """Return what is promised, or granted and in no report: what was granted has its room before all others."""
        return promises_in_order((each.sender, each.kind, each.count) for each in self._every())

    def _every(self) -> Iterable[CountedContainers]:
        return (*self._granted, *self._allocations.values())

    @property
    def open(self) -> int:
        """Number of containers that are promised and not granted."""
        return sum(allocation.count for allocation in self._allocations.values())

    def check(self) -> None:
        """Compare what is left with what was reported less what was promised.

        Raises:
            InvariantViolationError: If something was promised twice, or got lost.
        """
        counted = [(each.kind, each.places) for each in self._every()]
        self._nodes.check([*counted, *((each.kind, each.places) for each in self.offered.standing)])

    # ------------------------------------------------------------------ books

    def _conflict(self, sender: str, proposal: LaunchProposal) -> ConflictKind:
        """Find what is in the way of a proposal for which there is too little room now."""
        kind, by_queue = proposal.kind, self.queue_room(proposal.kind)
        if by_queue < self._nodes.count(kind):
            return ConflictKind.QUEUE if self._reported_queue_room(kind) < proposal.count else ConflictKind.CLAIMED
        if not self._nodes.could_hold(kind):
            return ConflictKind.NODE
        if self.offered.standing and self.offered.has_room_besides(kind, proposal.count):
            return ConflictKind.OFFERED
        others = [each for (who, _), each in self._allocations.items() if who != sender]
        claims = [each for each in (*self._granted, *others) if each.places]
        for each in claims:
            self._nodes.give_back(each.kind, each.places)
        without = self._nodes.count(kind)
        for each in claims:
            self._nodes.give_back(each.kind, {row: -count for row, count in each.places.items()})
        return ConflictKind.CLAIMED if without >= proposal.count else ConflictKind.USED

    def _verdict(self, sender: str, proposal: LaunchProposal, answer: _Answer, at_s: float) -> LaunchVerdict:
        age_s, accepted = at_s - self.reported_at_s, answer.accepted
        if accepted >= proposal.count:
            return LaunchVerdict(self._subcluster, proposal.number, Verdict.ACCEPTED, accepted, age_s=age_s)
        others = [allocation for (who, _), allocation in self._allocations.items() if who != sender]
        total = sum(allocation.count for allocation in others)
        reason = f"room for {accepted} of {proposal.count}; {total} are promised to others"
        if answer.conflict is ConflictKind.OFFERED:
            reason += f"; {self.offered.to_others(sender)} are offered to others, whose bids are better"
        return LaunchVerdict(
            self._subcluster,
            proposal.number,
            Verdict.REJECTED,
            accepted,
            reason,
            age_s=age_s,
            promised=told_in_order((each.kind, each.count) for each in others),
            conflict=answer.conflict,
        )

    def _remember(self, key: ProposalKey, answer: _Answer) -> _Answer:
        self._answers[key] = answer
        while len(self._answers) > _MOST_ANSWERS:
            self._answers.popitem(last=False)
        return answer

    def _place_again(self) -> None:
        """Lay every promise on the nodes anew, the oldest first; what does not fit any more waits for its time."""
        self._rooms.clear()
        self._nodes.reset()
        for allocation in self._every():
            self._place(allocation)
        self.offered.lay_again()

    def _place(self, allocation: CountedContainers) -> None:
        self._rooms.clear()
        allocation.places = self._nodes.take(allocation.kind, allocation.count)
        if not allocation.short:
            allocation.short_since_s = None
        elif allocation.short_since_s is None:
            allocation.short_since_s = self.reported_at_s

    def _release(self, key: ProposalKey, count: int, *, keeps_places: bool = False) -> dict[int, int]:
        """Take containers off a tentative allocation; their room is free again, or passes to the next holder."""
        allocation = self._allocations.get(key)
        if allocation is None or count <= 0:
            return {}
        self._rooms.clear()
        allocation.count -= min(count, allocation.count)
        surplus = sum(allocation.places.values()) - allocation.count
        freed: dict[int, int] = {}
        for row in list(allocation.places):
            moved = min(allocation.places[row], max(0, surplus - sum(freed.values())))
            if moved:
                freed[row] = moved
                allocation.places[row] -= moved
        if not keeps_places:
            self._nodes.give_back(allocation.kind, freed)
        if not allocation.count:
            del self._allocations[key]
        return freed

    def queue_room(self, kind: ContainerKind) -> int:
        """Number of further containers that the queue may have; of its part of labelled nodes reports tell nothing.

        What is promised on labelled nodes is not counted, as limits and use are those of nodes without a label.
        Source: `AbstractCSQueue.getUsedResources`, the use of the default partition.
        """
        return fitting(None if kind.label else self.left_of(kind.queue), kind.resource)

    def could_have(self, kind: ContainerKind) -> bool:
        """Return whether a container of a kind could be had if what runs ended: by its queue's limit, on some node."""
        return self.queue_room(kind) > 0 and self._nodes.could_hold(kind)

    def _reported_queue_room(self, kind: ContainerKind) -> int:
        """Number of further containers that the queue may have by the newest report alone."""
        return fitting(None if kind.label else self._left_of(kind.queue, ()), kind.resource)


# Promises to others as a rejection tells them, so that a Global Master believes what its Local Master has.

_MOST = 256


def told_in_order(promises: Iterable[tuple[ContainerKind, int]]) -> tuple[TentativelyAllocated, ...]:
    """Tell of promises in their order: more may be promised than there is room for, and the older have theirs first.

    Of very many the counts of each kind are told together, and of more than 256 kinds the first.

    Args:
        promises: Kind and count of each, the oldest first.
    """
    grouped = groupby(promises, key=lambda each: each[0])
    runs = [(kind, sum(count for _, count in run)) for kind, run in grouped]
    if len(runs) > _MOST:
        counts = Counter[ContainerKind]()
        for kind, count in runs:
            counts[kind] += count
        runs = list(counts.items())
    return tuple(TentativelyAllocated(kind, count) for kind, count in runs[:_MOST])


def promises_in_order(promises: Iterable[tuple[str, ContainerKind, int]]) -> tuple[UnreportedContainers, ...]:
    """Tell of promises in their order, with whose they are; those of one holder and kind in a row together.

    Args:
        promises: Holder, kind and count of each, the oldest first.
    """
    grouped = groupby(promises, key=lambda each: each[:2])
    runs = (UnreportedContainers(to, kind, sum(each[2] for each in run)) for (to, kind), run in grouped)
    return tuple(islice(runs, _MOST))
