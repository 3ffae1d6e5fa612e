"""Containers that a Local Master has promised and its ResourceManager has not granted yet.

The truth about free resources is the newest report: what each node has, less what it holds. A tentative allocation is
subtracted from that until a later report shows its containers, until it is withdrawn, or until it is too old: its
holder may have died. Containers are allocated on the nodes that could hold them now, so that no two allocations count
on the same memory of the same node. The ResourceManager decides on which node they run.

A Global Master keeps the same book of what it believes, with what it was told of others' promises in it.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice

from shim.domain.ids import SubClusterId
from shim.domain.launches import (
    ConflictKind,
    ContainerKind,
    LaunchNews,
    LaunchProposal,
    LaunchVerdict,
    TentativelyAllocated,
    UnreportedContainers,
    Verdict,
)
from shim.domain.queues import QueueReport
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import NodeReport
from shim.scheduling.capacity import NodeCapacity, Places, fitting


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
    """See the module. It never reads a clock: times are told, in seconds by one clock."""

    def __init__(self, subcluster: SubClusterId, lasts_s: float) -> None:
        self._subcluster = subcluster
        self._lasts_s = lasts_s
        self._nodes = NodeCapacity(subcluster)
        self._queues: Mapping[str, QueueReport] = {}
        self._allocations: dict[ProposalKey, CountedContainers] = {}
        self._granted: list[CountedContainers] = []
        self._answers: OrderedDict[ProposalKey, _Answer] = OrderedDict()
        self._rooms: dict[ContainerKind, int] = {}
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
        """Forget promises that are too old."""
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
            known = self._remember(key, self._judge(key, proposal, at_s))
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
        return self._left_of(path, self._every())

    def _left_of(self, path: str, counted: Iterable[CountedContainers]) -> ResourceVector | None:
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
        self._nodes.check([(each.kind, each.places) for each in self._every()])

    # ------------------------------------------------------------------ books

    def _conflict(self, sender: str, proposal: LaunchProposal) -> ConflictKind:
        """Find what is in the way of a proposal for which there is too little room now."""
        kind, by_queue = proposal.kind, self.queue_room(proposal.kind)
        if by_queue < self._nodes.count(kind):
            return ConflictKind.QUEUE if self._reported_queue_room(kind) < proposal.count else ConflictKind.CLAIMED
        if not self._nodes.could_hold(kind):
            return ConflictKind.NODE
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
