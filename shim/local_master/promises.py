"""What a Local Master has promised and its ResourceManager has not granted yet.

The truth about free resources is the newest report: what each node has, less what it holds. A promise takes away from
that until its containers are granted and a report that was begun later shows them, until it is withdrawn, or until it
is too old: whoever got it may have died. Containers are promised by the nodes that could hold them now, so that no two
promises count on the same memory of the same node; on which node they come to run is the ResourceManager's to say.

A Global Master keeps the same book of what it believes, with what it was told of others' promises in it.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shim.domain.ids import SubClusterId
from shim.domain.launches import ContainerKind, LaunchNews, LaunchProposal, LaunchVerdict, Promised
from shim.domain.queues import QueueReport
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import NodeReport
from shim.domain.verdicts import Verdict
from shim.errors import InvariantViolationError

__all__ = ["Kinds", "PromiseBook"]

_MEMORY, _VCORES = "memory-mb", "vcores"
_RUNNING = "RUNNING"
_OTHERS = ""
_BEFORE = "before"
_MOST_ANSWERS = 8192
_MOST_TOLD = 256
_NO_BOUND = 1 << 31

ProposalKey = tuple[str, int]
"""Who proposed, and the number of the proposal."""
Kinds = tuple[tuple[ContainerKind, int], ...]
"""Containers of several kinds, and how many of each."""


@dataclass(slots=True)
class _Promise:
    """Containers of one kind that are counted though no report shows them.

    Attributes:
        count: How many of them.
        at_s: Since when.
        places: Rows of nodes, and how many are counted there.
    """

    holder: str
    kind: ContainerKind
    count: int
    at_s: float
    places: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Answer:
    """What was answered to a proposal, and what became of it."""

    accepted: int
    honoured: int = 0
    withdrawn: int = 0


class PromiseBook:
    """See the module. It never reads a clock: times are told, in seconds by one clock.

    Args:
        subcluster: Whose.
        lasts_s: A promise that is older than this is no more.
    """

    def __init__(self, subcluster: SubClusterId, lasts_s: float) -> None:
        self._subcluster = subcluster
        self._lasts_s = lasts_s
        self._types: tuple[str, ...] = (_MEMORY, _VCORES)
        self._reported: NDArray[np.int64] = np.zeros((0, 2), dtype=np.int64)
        self._left = self._reported.copy()
        self._nodes: list[NodeReport] = []
        self._masks: dict[tuple[str, tuple[str, ...]], NDArray[np.bool_]] = {}
        self._queues: Mapping[str, QueueReport] = {}
        self._promises: dict[ProposalKey, _Promise] = {}
        self._granted: list[_Promise] = []
        self._answers: OrderedDict[ProposalKey, _Answer] = OrderedDict()
        self._rooms: dict[tuple[ContainerKind, Kinds], int] = {}
        self.reported_at_s = float("-inf")

    # ------------------------------------------------------------------ what reports tell

    def apply(self, nodes: Sequence[NodeReport], queues: Mapping[str, QueueReport], polled_at_s: float) -> None:
        """Take over a report, unless a newer one is known. What it shows is no longer counted as promised.

        Args:
            nodes: Every node of the sub-cluster.
            queues: By path.
            polled_at_s: When the poll began.
        """
        if polled_at_s <= self.reported_at_s:
            return
        self.reported_at_s, self._queues = polled_at_s, queues
        running = [node for node in nodes if node.state == _RUNNING]
        others = {name for node in running if node.total.others for name in node.total.others}
        self._types = (_MEMORY, _VCORES, *sorted(others))
        self._reported = _left_on(running, self._types[2:])
        self._nodes = running
        self._masks.clear()
        self._granted = [each for each in self._granted if each.at_s >= polled_at_s]
        for key in [key for key in self._promises if key[0] == _OTHERS]:
            del self._promises[key]
        self._place_again()

    def expire(self, at_s: float) -> None:
        """Forget promises that are too old."""
        for key, promise in list(self._promises.items()):
            if promise.at_s + self._lasts_s < at_s:
                self._release(key, promise.count)
        if any(each.at_s + self._lasts_s < at_s for each in self._granted):  # reports have stopped, not the cluster
            self._granted = [each for each in self._granted if each.at_s + self._lasts_s >= at_s]
            self._place_again()

    # ------------------------------------------------------------------ proposals

    def room(self, kind: ContainerKind, before: Kinds = ()) -> int:
        """How many containers of a kind could be promised now.

        Args:
            kind: Which.
            before: What others are to have first, as far as they could: room that they cannot use is left.
        """
        known = self._rooms.get((kind, before))
        if known is not None:
            return known
        if any(other != kind for other, _ in before):
            known = self._room_behind(kind, before)
        elif before:
            known = max(0, self.room(kind) - sum(count for _, count in before))
        else:
            need, columns = self._need(kind)
            on_nodes = self._slots(kind, need, columns).sum() if columns and self._left.size else 0
            known = int(min(self._queue_room(kind), on_nodes))
        self._rooms[kind, before] = known
        return known

    def _room_behind(self, kind: ContainerKind, before: Kinds) -> int:
        """What is left of the room if others were promised what they wait for: it is, and taken back."""
        for number, (other, wanted) in enumerate(before):
            count = min(wanted, self.room(other))
            if count:
                self._promises[_BEFORE, number] = promise = _Promise(_BEFORE, other, count, self.reported_at_s)
                self._place(promise)
        left = self.room(kind)
        for number in range(len(before)):
            self._release((_BEFORE, number), _NO_BOUND)
        self._rooms.clear()
        return left

    def propose(self, sender: str, proposal: LaunchProposal, at_s: float) -> LaunchVerdict:
        """Promise as much of a proposal as there is room for. A repeated proposal has the answer of the first."""
        self.expire(at_s)
        key = (sender, proposal.number)
        known = self._answers.get(key)
        if known is None:
            accepted = min(proposal.count, self.room(proposal.kind)) if proposal.count > 0 else 0
            if accepted:
                self._promises[key] = promise = _Promise(proposal.holder, proposal.kind, accepted, at_s)
                self._place(promise)
            known = self._remember(key, _Answer(accepted))
        return self._verdict(sender, proposal, known.accepted, at_s)

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
        promise = self._promises.get(key)
        if promise is None:
            return
        moved = min(honoured, promise.count)
        if moved:
            places = self._release(key, moved, keeps_places=True)
            self._granted.append(_Promise(promise.holder, promise.kind, moved, at_s, places))
        self._release(key, withdrawn)

    def correct(self, sender: str, number: int, accepted: int) -> None:
        """A belief was too good: of this proposal only so much was promised."""
        known = self._answers.get((sender, number))
        if known is not None and accepted < known.accepted:
            surplus, known.accepted = known.accepted - accepted, accepted
            self._release((sender, number), surplus)

    def learn(self, promised: Iterable[Promised], at_s: float) -> None:
        """Take over what others were promised, in place of what was told before; until the next report."""
        for key in [key for key in self._promises if key[0] == _OTHERS]:
            self._release(key, self._promises[key].count)
        for number, each in enumerate(promised):
            count = min(each.count, self.room(each.kind))
            if count:
                self._promises[_OTHERS, number] = promise = _Promise("others", each.kind, count, at_s)
                self._place(promise)

    @property
    def open(self) -> int:
        """How many containers are promised and not granted."""
        return sum(promise.count for promise in self._promises.values())

    def check(self) -> None:
        """Compare what is left with what was reported less what was promised.

        Raises:
            InvariantViolationError: If something was promised twice, or got lost.
        """
        expected = self._reported.copy()
        for promise in (*self._promises.values(), *self._granted):
            need, _ = self._need(promise.kind)
            for row, count in promise.places.items():
                expected[row] -= need * count
                if count and not self._mask(promise.kind)[row]:
                    raise InvariantViolationError(f"{self._subcluster}: {promise.kind} is promised on another's node")
        if (expected != self._left).any():
            raise InvariantViolationError(f"{self._subcluster}: {self._left} left, but {expected} by its promises")
        if ((self._left < 0) & (self._reported >= 0)).any():
            raise InvariantViolationError(f"{self._subcluster}: more is promised of a node than it has")

    # ------------------------------------------------------------------ books

    def _verdict(self, sender: str, proposal: LaunchProposal, accepted: int, at_s: float) -> LaunchVerdict:
        age_s = at_s - self.reported_at_s
        if accepted >= proposal.count:
            return LaunchVerdict(self._subcluster, proposal.number, Verdict.ACCEPTED, accepted, age_s=age_s)
        others: dict[ContainerKind, int] = {}
        for (who, _), promise in self._promises.items():
            if who != sender:
                others[promise.kind] = others.get(promise.kind, 0) + promise.count
        told = tuple(Promised(kind, count) for kind, count in list(others.items())[:_MOST_TOLD])
        reason = f"room for {accepted} of {proposal.count}; {sum(others.values())} are promised to others"
        return LaunchVerdict(
            self._subcluster, proposal.number, Verdict.REJECTED, accepted, reason, age_s=age_s, promised=told
        )

    def _remember(self, key: ProposalKey, answer: _Answer) -> _Answer:
        self._answers[key] = answer
        while len(self._answers) > _MOST_ANSWERS:
            self._answers.popitem(last=False)
        return answer

    def _place_again(self) -> None:
        """Lay every promise on the nodes anew, the oldest first; what does not fit any more waits for its time."""
        self._rooms.clear()
        self._left = self._reported.copy()
        for promise in (*self._granted, *self._promises.values()):
            promise.places = {}
            self._place(promise)

    def _place(self, promise: _Promise) -> None:
        self._rooms.clear()
        need, columns = self._need(promise.kind)
        if not columns or not self._left.size:
            return
        slots = self._slots(promise.kind, need, columns)
        before = np.cumsum(slots) - slots
        taken = np.clip(promise.count - before, 0, slots)
        rows = np.flatnonzero(taken)
        promise.places = {int(row): int(taken[row]) for row in rows}
        self._left[rows] -= np.outer(taken[rows], need)

    def _release(self, key: ProposalKey, count: int, *, keeps_places: bool = False) -> dict[int, int]:
        """Take containers off a promise; their room is free again, or goes along to whoever takes it over."""
        promise = self._promises.get(key)
        if promise is None or count <= 0:
            return {}
        self._rooms.clear()
        promise.count -= min(count, promise.count)
        surplus = sum(promise.places.values()) - promise.count
        freed: dict[int, int] = {}
        for row in list(promise.places):
            moved = min(promise.places[row], max(0, surplus - sum(freed.values())))
            if moved:
                freed[row] = moved
                promise.places[row] -= moved
        if not keeps_places:
            need, _ = self._need(promise.kind)
            for row, moved in freed.items():
                self._left[row] += need * moved
        if not promise.count:
            del self._promises[key]
        return freed

    # ------------------------------------------------------------------ amounts

    def _amounts(self, vector: ResourceVector) -> list[int]:
        return [vector.memory_mib, vector.vcores, *(vector.others.get(name, 0) for name in self._types[2:])]

    def _need(self, kind: ContainerKind) -> tuple[NDArray[np.int64], list[int]]:
        """What a container takes of each type, and the types that it takes something of."""
        need = np.array(self._amounts(kind.resource), dtype=np.int64)
        return need, [int(column) for column in np.flatnonzero(need > 0)]

    def _slots(self, kind: ContainerKind, need: NDArray[np.int64], columns: list[int]) -> NDArray[np.int64]:
        """How many such containers each node could hold."""
        slots = np.min(self._left[:, columns] // need[columns], axis=1)
        return np.where(self._mask(kind), np.maximum(slots, 0), 0)

    def _mask(self, kind: ContainerKind) -> NDArray[np.bool_]:
        """Nodes that will do: of a label's partition, which is that of no label for those without; of named places."""
        label, places = kind.label, frozenset(kind.places)
        mask = self._masks.get((label, kind.places))
        if mask is None:
            fits = (label in node.labels if label else not node.labels for node in self._nodes)
            mask = np.fromiter(fits, np.bool_, len(self._nodes))
            if places:
                named = (node.node.host in places or node.rack in places for node in self._nodes)
                mask &= np.fromiter(named, np.bool_, len(self._nodes))
            self._masks[label, kind.places] = mask
        return mask

    def _queue_room(self, kind: ContainerKind) -> int:
        """How many more the queue may have; of its part of labelled nodes reports tell nothing."""
        queue = self._queues.get(kind.queue)
        if queue is None or kind.label:
            return _NO_BOUND
        left = queue.maximum - queue.used
        for promise in (*self._promises.values(), *self._granted):
            if promise.kind.queue == kind.queue:
                taken = promise.kind.resource
                left -= ResourceVector(taken.memory_mib * promise.count, taken.vcores * promise.count)
        most, need = queue.maximum, kind.resource
        triples = ((most.memory_mib, left.memory_mib, need.memory_mib), (most.vcores, left.vcores, need.vcores))
        bounds = (max(0, have) // amount for limit, have, amount in triples if amount > 0 and limit > 0)
        return min(bounds, default=_NO_BOUND)


def _left_on(nodes: Sequence[NodeReport], others: Sequence[str]) -> NDArray[np.int64]:
    """What nodes have left: memory, virtual cores, then the other types; int64 array of shape (n_nodes, n_resources).

    Type by type, as 10,000 nodes are read at a time: an array made of rows takes several times as long.
    """
    totals, used = [node.total for node in nodes], [node.used for node in nodes]
    left = np.empty((len(nodes), 2 + len(others)), dtype=np.int64)
    left[:, 0] = [each.memory_mib for each in totals]
    left[:, 0] -= np.array([each.memory_mib for each in used], dtype=np.int64)
    left[:, 1] = [each.vcores for each in totals]
    left[:, 1] -= np.array([each.vcores for each in used], dtype=np.int64)
    for column, name in enumerate(others, start=2):
        left[:, column] = [each.others.get(name, 0) for each in totals]
        left[:, column] -= np.array([each.others.get(name, 0) for each in used], dtype=np.int64)
    return left
