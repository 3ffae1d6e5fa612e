"""The truth about one cluster's nodes, and the verification of launches against it.

Whatever a Global Master believes, capacity is given out here, and nothing is given out twice: `free + running + held +
offered == capacity` for each node and resource type at every moment (`check`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shim.domain.ids import GlobalMasterId
from shim.domain.messages import InconsistencyKind, Launch
from shim.errors import InvariantViolationError
from shim.scheduling.local_master.events import NodeSpec

LaunchKey = tuple[GlobalMasterId, int]
"""Global Master and the launch's number, which is unique among all of its lives."""


@dataclass(slots=True)
class VerifiedLaunch:
    """A verified launch that holds capacity.

    Attributes:
        started_at_s: Since when it holds capacity, in seconds.
        is_held: Whether it waits for the rest of its gang.
    """

    launch: Launch
    started_at_s: float
    is_held: bool


class Truth:
    """Free capacity, owners and running launches of a cluster's nodes.

    Attributes:
        free: int64 array of shape (n_nodes, n_resources): free amount of each resource type. Rows are written through
            a flat view of the same memory, which is several times faster than numpy for single numbers.
        owners: The Global Master of each node's partition.
        running: Every launch that holds capacity.
        usage: What each queue holds of each resource type.
        vacant: Bit i is set while node i has something free.
    """

    def __init__(self, nodes: Sequence[NodeSpec], owners: Sequence[GlobalMasterId], n_resources: int) -> None:
        self.n_resources = n_resources
        self.capacity: list[tuple[int, ...]] = [spec.capacity for spec in nodes]
        self.properties: list[frozenset[str]] = [spec.properties for spec in nodes]
        self.owners: tuple[GlobalMasterId, ...] = tuple(owners)
        self.free: NDArray[np.int64] = np.array(self.capacity, dtype=np.int64).reshape(len(nodes), n_resources)
        self._flat = self.free.data.cast("B").cast("q")
        self.running: dict[LaunchKey, VerifiedLaunch] = {}
        self.usage: dict[str, list[int]] = {}
        self.vacant = 0
        for node in range(len(nodes)):
            self._note_vacancy(node)

    def __len__(self) -> int:
        return len(self.capacity)

    def free_of(self, node: int) -> tuple[int, ...]:
        """Free amount of each resource type on a node."""
        start = node * self.n_resources
        return tuple(self._flat[start : start + self.n_resources])

    def fits(self, node: int, demand: tuple[int, ...]) -> bool:
        flat, place = self._flat, node * self.n_resources
        for amount in demand:
            if amount > flat[place]:
                return False
            place += 1
        return True

    def reject_reason(self, global_master: GlobalMasterId, launch: Launch) -> InconsistencyKind | None:
        """Reason why the launch cannot be: its node lacks room or a property. None when it can."""
        node, need = launch.node, launch.need
        if 0 <= node < len(self.capacity):
            if self.fits(node, need.demand) and (not need.is_constrained or need.admits(self.properties[node])):
                return None
            if self.owners[node] == global_master:
                return InconsistencyKind.INTERNAL
        return InconsistencyKind.EXTERNAL

    def take(self, key: LaunchKey, launch: Launch, at_s: float) -> None:
        """Give capacity to a launch whose `reject_reason` is None."""
        self.shift(launch.node, launch.need.demand, -1)
        self.running[key] = VerifiedLaunch(launch, at_s, launch.is_held)
        self._book(launch.queue, launch.need.demand, +1)

    def release(self, key: LaunchKey) -> VerifiedLaunch | None:
        """Take the capacity of a launch back; None if it holds none."""
        ended = self.running.pop(key, None)
        if ended is not None:
            self.shift(ended.launch.node, ended.launch.need.demand, +1)
            self._book(ended.launch.queue, ended.launch.need.demand, -1)
        return ended

    def shift(self, node: int, amounts: tuple[int, ...], sign: int) -> None:
        """Add (`sign` +1) or take away (-1) free capacity of a node."""
        flat, place = self._flat, node * self.n_resources
        for amount in amounts:
            flat[place] += sign * amount
            place += 1
        self._note_vacancy(node)

    def resize(self, node: int, spec: NodeSpec) -> None:
        """Give a node another capacity and other properties; what runs there stays.

        Free capacity may become negative: nothing is launched there until enough has ended.
        """
        before = self.capacity[node]
        self.shift(node, tuple(new - old for new, old in zip(spec.capacity, before, strict=True)), +1)
        self.capacity[node] = spec.capacity
        self.properties[node] = spec.properties

    def running_on(self, node: int) -> list[LaunchKey]:
        return [key for key, running in self.running.items() if running.launch.node == node]

    def check(self, offered: Iterable[tuple[int, tuple[int, ...]]]) -> None:
        """Compare free capacity with the sum of what runs, is held and is offered.

        Raises:
            InvariantViolationError: If a node gives out more than it has, or the books do not balance.
        """
        expected = np.array(self.capacity, dtype=np.int64).reshape(self.free.shape)
        for running in self.running.values():
            expected[running.launch.node] -= running.launch.need.demand
        for node, room in offered:
            expected[node] -= room
        wrong = np.flatnonzero((expected != self.free).any(axis=1))
        if wrong.size:
            node = int(wrong[0])
            raise InvariantViolationError(
                f"node {node} has {self.free[node]} free, but {expected[node]} by its launches"
            )

    def _book(self, queue: str, demand: tuple[int, ...], sign: int) -> None:
        held = self.usage.setdefault(queue, [0] * self.n_resources)
        for kind, amount in enumerate(demand):
            held[kind] += sign * amount

    def _note_vacancy(self, node: int) -> None:
        flat, start = self._flat, node * self.n_resources
        for place in range(start, start + self.n_resources):
            if flat[place] > 0:
                self.vacant |= 1 << node
                return
        self.vacant &= ~(1 << node)
