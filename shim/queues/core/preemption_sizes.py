"""Amounts of preemption: how many containers a queue lacks, and whose containers would make room for one of them.

Resources are rounded to whole containers, to the nearest: otherwise two queues could take the same container from each
other for ever.
"""

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from fairness import FloatArray, PreemptionProblem, choose_victims
from shim.domain.ids import SubClusterId
from shim.domain.preemption import HeldContainer, QueueShare, ShareSnapshot
from shim.domain.resources import ResourceVector

NOTHING = ResourceVector()
_ALMOST_HALF = 0.499  # more than half a container counts as one; of two queues only one can have that
_ENDLESS = sys.maxsize


def total_of(amounts: Iterable[ResourceVector]) -> ResourceVector:
    return sum(amounts, start=NOTHING)


def part_of(amount: ResourceVector, scarce: ResourceVector) -> ResourceVector:
    return ResourceVector(
        amount.memory_mib if scarce.memory_mib > 0 else 0,
        amount.vcores if scarce.vcores > 0 else 0,
        {name: value for name, value in amount.others.items() if scarce.others.get(name, 0) > 0},
    )


def plenty(scarce: ResourceVector) -> ResourceVector:
    return ResourceVector(0 if scarce.memory_mib > 0 else _ENDLESS, 0 if scarce.vcores > 0 else _ENDLESS)


def smaller(one: ResourceVector, other: ResourceVector) -> ResourceVector:
    others = {name: min(amount, other.others.get(name, 0)) for name, amount in one.others.items()}
    return ResourceVector(min(one.memory_mib, other.memory_mib), min(one.vcores, other.vcores), others)


def positive(amount: ResourceVector) -> ResourceVector:
    """Without what is below zero."""
    others = {name: max(0, value) for name, value in amount.others.items()}
    return replace(amount, memory_mib=max(0, amount.memory_mib), vcores=max(0, amount.vcores), others=others)


def count_fitting(amount: ResourceVector, unit: ResourceVector, *, slack: float = _ALMOST_HALF) -> int:
    """Number of containers of a size that fit into an amount; of the last one `slack` may be missing."""
    pairs = [(amount.memory_mib, unit.memory_mib), (amount.vcores, unit.vcores)]
    pairs += [(amount.others.get(name, 0), each) for name, each in unit.others.items()]
    return min((max(0, int(have / each + slack)) for have, each in pairs if each > 0), default=_ENDLESS)


def easy(queue: QueueShare) -> dict[SubClusterId, int]:
    """Number of waiting containers that there is room for, by the sub-cluster where they wait, there or elsewhere."""
    found = {name: min(work.count, work.free) for name, work in queue.waiting.items()}
    spare = {name: work.free - found[name] for name, work in queue.waiting.items()}
    for name, work in queue.waiting.items():
        for other, count in work.elsewhere.items():
            moved = min(count, work.count - found[name], spare.get(other, 0))
            if moved > 0:
                found[name] += moved
                spare[other] -= moved
    return found


def lacking(queue: QueueShare, scarce: ResourceVector, on_way: Mapping[SubClusterId, int]) -> dict[SubClusterId, int]:
    """For how many containers that wait on each sub-cluster room is to be made, there or where they could be.

    Args:
        on_way: Containers for which room is being made already.
    """
    coming = total_of(_times(work.unit, on_way.get(name, 0)) for name, work in queue.waiting.items())
    with_room = easy(queue)
    there = total_of(_times(work.unit, with_room[name]) for name, work in queue.waiting.items())
    missing = queue.entitled - queue.used - coming - there
    found: dict[SubClusterId, int] = {}
    for name, work in sorted(queue.waiting.items(), key=lambda item: with_room[item[0]] - item[1].count):
        wanted = max(0, work.count - with_room[name] - on_way.get(name, 0))
        found[name] = min(wanted, count_fitting(missing, part_of(work.unit, scarce)))
        missing -= _times(work.unit, found[name])
    return {name: count for name, count in found.items() if count}


def within(queue: QueueShare, scarce: ResourceVector) -> int:
    """Number of waiting containers that are within a queue's share, wherever there is room for them."""
    if scarce == NOTHING:
        return 0
    return max(
        (
            min(work.count, count_fitting(queue.entitled - queue.used, part_of(work.unit, scarce)))
            for work in queue.waiting.values()
        ),
        default=0,
    )


def _times(unit: ResourceVector, count: int) -> ResourceVector:
    others = {name: amount * count for name, amount in unit.others.items()}
    return ResourceVector(unit.memory_mib * count, unit.vcores * count, others)


class Fleet:
    """The containers that may be taken at one moment, as the kernels want them."""

    def __init__(
        self, now: ShareSnapshot, takeable: Sequence[HeldContainer], leaving: Mapping[str, ResourceVector]
    ) -> None:
        self._containers = takeable
        self._names = sorted(now.capacity.others)
        rows = {queue.path: row for row, queue in enumerate(now.queues)}
        nodes = {node: number for number, node in enumerate(sorted({each.node for each in takeable}))}
        size = self._array([each.resource for each in takeable])
        age_s = np.array([max(0.0, now.at_s - each.since_s) for each in takeable])
        self._problem = PreemptionProblem(
            size=size,
            queue=np.array([rows[each.queue] for each in takeable], dtype=np.int64),
            cluster=np.array([nodes[each.node] for each in takeable], dtype=np.int64),
            lost_work=age_s * size[:, 0],
            may_preempt=np.ones(len(takeable), dtype=np.bool_),
            used=self._array([queue.used - leaving.get(queue.path, NOTHING) for queue in now.queues]),
            entitlement=self._array([queue.entitled for queue in now.queues]),
            capacity=self._array([now.capacity])[0],
        )

    def _array(self, amounts: Sequence[ResourceVector]) -> FloatArray:
        rows = [[each.memory_mib, each.vcores, *(each.others.get(name, 0) for name in self._names)] for each in amounts]
        return np.array(rows, dtype=np.float64).reshape(len(amounts), 2 + len(self._names))

    def choose(
        self, unit: ResourceVector, taker: str, subcluster: SubClusterId, budget: Mapping[str, int]
    ) -> tuple[HeldContainer, ...]:
        """Containers of one sub-cluster that make room for one of a size: lent ones if they are enough.

        They are on one node if any has enough.

        Args:
            unit: The size, of what is scarce.
            taker: Whose it will be: nothing is taken from the same queue.
            budget: How many may be taken from each queue that takeable containers are of.
        """
        may = np.array(
            [
                each.subcluster == subcluster and each.queue != taker and budget[each.queue] > 0
                for each in self._containers
            ],
            dtype=np.bool_,
        )
        is_lent = np.array([each.is_lent for each in self._containers], dtype=np.bool_)
        for pool in (may & is_lent, may):
            problem = replace(self._problem, may_preempt=self._problem.may_preempt & pool)
            chosen = [self._containers[row] for row in choose_victims(problem, self._array([unit])[0])]
            queues = [each.queue for each in chosen]
            if chosen and not any(queues.count(path) > budget[path] for path in set(queues)):
                return tuple(chosen)
        return ()

    def cost(self, chosen: Collection[HeldContainer]) -> tuple[int, float]:
        """Give how many they are, and the work that is lost with them in MiB-seconds."""
        rows = [row for row, each in enumerate(self._containers) if each in chosen]
        return len(chosen), float(self._problem.lost_work[rows].sum())

    def take(self, chosen: Collection[HeldContainer]) -> None:
        rows = [row for row, each in enumerate(self._containers) if each in chosen]
        used, may = self._problem.used.copy(), self._problem.may_preempt.copy()
        for row in rows:
            used[self._problem.queue[row]] -= self._problem.size[row]
            may[row] = False
        self._problem = replace(self._problem, used=used, may_preempt=may)
