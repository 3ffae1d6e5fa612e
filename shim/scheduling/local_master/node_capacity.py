"""Room left on the nodes of a sub-cluster: the newest report, less what is counted on since."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from shim.domain.ids import SubClusterId
from shim.domain.launches import ContainerKind
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import NodeReport
from shim.errors import InvariantViolationError

_MEMORY, _VCORES = "memory-mb", "vcores"
_RUNNING = "RUNNING"
_NO_BOUND = 1 << 31

Places = dict[int, int]
"""Rows of nodes, and how many containers are counted there."""


class NodeCapacity:
    """int64 arrays of shape (n_nodes, n_resources): memory in MiB, virtual cores, then the other types by name.

    Args:
        subcluster: Whose nodes.
    """

    def __init__(self, subcluster: SubClusterId) -> None:
        self._subcluster = subcluster
        self._types: tuple[str, ...] = (_MEMORY, _VCORES)
        self._reported: NDArray[np.int64] = np.zeros((0, 2), dtype=np.int64)
        self._left = self._reported.copy()
        self._nodes: list[NodeReport] = []
        self._masks: dict[tuple[str, tuple[str, ...]], NDArray[np.bool_]] = {}

    @property
    def left(self) -> NDArray[np.int64]:
        """Room left on each node; not to be written."""
        return self._left

    @property
    def types(self) -> tuple[str, ...]:
        """Resource types by column."""
        return self._types

    @property
    def reports(self) -> Sequence[NodeReport]:
        """The nodes by row; another list after each report."""
        return self._nodes

    def apply(self, nodes: Sequence[NodeReport]) -> None:
        """Take over a report of every node: nothing is counted on any more."""
        self._nodes = [node for node in nodes if node.state == _RUNNING]
        others = {name for node in self._nodes if node.total.others for name in node.total.others}
        self._types = (_MEMORY, _VCORES, *sorted(others))
        self._reported = _left_on(self._nodes, self._types[2:])
        self._masks.clear()
        self.reset()

    def reset(self) -> None:
        """Forget all that was counted on."""
        self._left = self._reported.copy()

    def count(self, kind: ContainerKind) -> int:
        """Number of containers of a kind that the nodes could hold."""
        return int(self.slots(kind).sum())

    def could_hold(self, kind: ContainerKind) -> bool:
        """Return whether a node could hold one of a kind if it were empty."""
        need, columns = self._need(kind)
        rows = np.flatnonzero(self._mask(kind))
        totals = (self._amounts(self._nodes[row].total) for row in rows.tolist())  # mostly the first one could
        return bool(columns) and any((np.array(total) >= need).all() for total in totals)

    def slots(self, kind: ContainerKind) -> NDArray[np.int64]:
        """Number of containers of a kind that each node could hold; int64 array of shape (n_nodes,)."""
        need, columns = self._need(kind)
        if not columns or not self._left.size:
            return np.zeros(len(self._nodes), dtype=np.int64)
        return self._slots(kind, need, columns)

    def slots_on(self, row: int, kind: ContainerKind) -> int:
        """Number of containers of a kind that one node could hold."""
        need, columns = self._need(kind)
        if not columns or not self._mask(kind)[row]:
            return 0
        return max(0, min(int(self._left[row, column] // need[column]) for column in columns))

    def take(self, kind: ContainerKind, count: int) -> Places:
        """Count containers on nodes that could hold them; fewer, if there are too few such nodes."""
        need, _ = self._need(kind)
        slots = self.slots(kind)
        before = np.cumsum(slots) - slots
        taken = np.clip(count - before, 0, slots)
        rows = np.flatnonzero(taken)
        self._left[rows] -= np.outer(taken[rows], need)
        return {int(row): int(taken[row]) for row in rows}

    def give_back(self, kind: ContainerKind, places: Mapping[int, int]) -> None:
        """Count on these no longer."""
        need, _ = self._need(kind)
        for row, count in places.items():
            self._left[row] += need * count

    def check(self, counted: Iterable[tuple[ContainerKind, Mapping[int, int]]]) -> None:
        """Compare what is left with what was reported less what is counted on.

        Raises:
            InvariantViolationError: If something is counted on twice, or got lost.
        """
        expected = self._reported.copy()
        for kind, places in counted:
            need, _ = self._need(kind)
            for row, count in places.items():
                expected[row] -= need * count
                if count and not self._mask(kind)[row]:
                    raise InvariantViolationError(f"{self._subcluster}: {kind} is promised on another's node")
        if (expected != self._left).any():
            raise InvariantViolationError(f"{self._subcluster}: {self._left} left, but {expected} by its promises")
        if ((self._left < 0) & (self._reported >= 0)).any():
            raise InvariantViolationError(f"{self._subcluster}: more is promised of a node than it has")

    def _amounts(self, vector: ResourceVector) -> list[int]:
        return [vector.memory_mib, vector.vcores, *(vector.others.get(name, 0) for name in self._types[2:])]

    def _need(self, kind: ContainerKind) -> tuple[NDArray[np.int64], list[int]]:
        """Amounts of each type in a container, and the types that it takes something of."""
        need = np.array(self._amounts(kind.resource), dtype=np.int64)
        return need, [int(column) for column in np.flatnonzero(need > 0)]

    def _slots(self, kind: ContainerKind, need: NDArray[np.int64], columns: list[int]) -> NDArray[np.int64]:
        """Number of such containers that each node could hold."""
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


def _left_on(nodes: Sequence[NodeReport], others: Sequence[str]) -> NDArray[np.int64]:
    """Room on nodes: memory, virtual cores, then the other types; int64 array of shape (n_nodes, n_resources).

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


def fitting(left: ResourceVector | None, need: ResourceVector) -> int:
    """Number of containers that fit in what is left; a type of -1 bounds nothing."""
    if left is None:
        return _NO_BOUND
    pairs = ((left.memory_mib, need.memory_mib), (left.vcores, need.vcores))
    return min((have // amount for have, amount in pairs if amount > 0 and have >= 0), default=_NO_BOUND)
