"""Free capacity of all sub-clusters, as rows of the snapshots of real clusters.

Room left on the nodes of a sub-cluster: the newest report, less what is counted on since.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shim.domain.ids import NodeId, SubClusterId
from shim.domain.launches import ContainerKind
from shim.domain.resources import Need, ResourceVector
from shim.domain.subclusters import NodeReport
from shim.errors import InvariantViolationError
from shim.scheduling.node_index import Cell, SharedNodes, index_nodes, pack_bits
from shim.scheduling.snapshot import IntArray, Preferred, Scope
from shim.scheduling.tag_constraints import NO_BOUND

_MEMORY, _VCORES = "memory-mb", "vcores"
_RUNNING = "RUNNING"
_NO_BOUND = 1 << 31

Places = dict[int, int]
"""Rows of nodes, and how many containers are counted there."""


class NodeCapacity:
    """int64 arrays of shape (n_nodes, n_resources): memory in MiB, virtual cores, then the other types by name."""

    def __init__(self, subcluster: SubClusterId) -> None:
        self._subcluster = subcluster
        self._types: tuple[str, ...] = (_MEMORY, _VCORES)
        self._reported: NDArray[np.int64] = np.zeros((0, 2), dtype=np.int64)
        self._left = self._reported.copy()
        self._nodes: list[NodeReport] = []
        self._masks: dict[tuple[str, tuple[str, ...]], NDArray[np.bool_]] = {}

    @property
    def left(self) -> NDArray[np.int64]:
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
        self._left = self._reported.copy()

    def count(self, kind: ContainerKind) -> int:
        return int(self.slots(kind).sum())

    def could_hold(self, kind: ContainerKind) -> bool:
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
        need = np.array(self._amounts(kind.resource), dtype=np.int64)
        return need, [int(column) for column in np.flatnonzero(need > 0)]

    def _slots(self, kind: ContainerKind, need: NDArray[np.int64], columns: list[int]) -> NDArray[np.int64]:
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


# Hosts and racks that asks name, among the nodes of all sub-clusters.


@dataclass(frozen=True, slots=True)
class NamedPlaces:
    """Nodes by the names that reports tell.

    Racks of one name in two sub-clusters are two racks: most are called `/default-rack`.

    Attributes:
        racks: int64 array of shape (n_nodes,): number of each node's rack.
    """

    nodes: Mapping[str, Sequence[int]]
    racks: IntArray
    numbers: Mapping[str, Sequence[int]]

    @staticmethod
    def of(reports: Sequence[Sequence[NodeReport]]) -> "NamedPlaces":
        """Read the nodes of each sub-cluster, in the order of their rows."""
        nodes: dict[str, list[int]] = {}
        racks: dict[tuple[int, str], int] = {}
        numbers: dict[str, list[int]] = {}
        of_row: list[int] = []
        for cluster, told in enumerate(reports):
            for node in told:
                nodes.setdefault(node.node.host, []).append(len(of_row))
                rack = racks.setdefault((cluster, node.rack), len(racks))
                of_row.append(rack)
                known = numbers.setdefault(node.rack, [])
                if rack not in known:
                    known.append(rack)
        return NamedPlaces(nodes, np.array(of_row, dtype=np.int64), numbers)

    def preferred(self, named: Mapping[str, int]) -> tuple[Preferred, ...]:
        """The places that a request names and that are known.

        A named rack is that of the named hosts, if one of theirs has its name; else any of that name.
        """
        at_nodes = [(row, count) for place, count in named.items() for row in self.nodes.get(place, ())]
        of_hosts: dict[int, int] = {}
        for row, count in at_nodes:
            rack = int(self.racks[row])
            of_hosts[rack] = of_hosts.get(rack, 0) + count
        near = dict(of_hosts)
        for place, count in named.items():
            numbers = self.numbers.get(place, ())
            if not any(number in of_hosts for number in numbers):
                near |= dict.fromkeys(numbers, count)
        return (
            *(Preferred(Scope.NODE, row, count) for row, count in at_nodes),
            *(Preferred(Scope.RACK, rack, count) for rack, count in near.items()),
        )


FIRST_TYPES = ("memory-mb", "vcores")
"""Columns that every table of nodes has: memory in MiB, virtual cores."""

_NO_BOUND_LEFT = -1


@dataclass(frozen=True, slots=True)
class Capacity:
    """Nodes, and the limits of one queue.

    Attributes:
        nodes: What the nodes of each sub-cluster have left: reported, less what is tentatively allocated.
        queue_left: What the queue may still have there; None for no bound, as -1 is for one resource type.
    """

    nodes: Mapping[SubClusterId, NodeCapacity]
    queue_left: Mapping[SubClusterId, ResourceVector | None]

    def limits(self, types: Sequence[str]) -> NDArray[np.int64]:
        """Bounds of what the queue may still have: int64 array of shape (1, n_clusters, n_types), -1 for no bound."""
        limits = np.full((1, len(self.nodes), len(types)), _NO_BOUND_LEFT, dtype=np.int64)
        for row, name in enumerate(self.nodes):
            left = self.queue_left.get(name)
            if left is not None:
                limits[0, row, :2] = (left.memory_mib, left.vcores)
        return limits


class NodeRows:
    """Rows of all nodes, one cell for each sub-cluster; what does not change between reports is kept."""

    def __init__(self) -> None:
        self._known: tuple[object, ...] = ()
        self._reports: list[Sequence[NodeReport]] = []
        self._base = SharedNodes(len(FIRST_TYPES))
        self._places: NamedPlaces | None = None
        self._total: ResourceVector | None = None

    def index(self, capacity: Capacity, types: tuple[str, ...], weights: Mapping[SubClusterId, float]) -> SharedNodes:
        """Index of the nodes' present room.

        Args:
            types: Resource types, by column.
            weights: How much the queue prefers each sub-cluster; 1 for those that are not in here.
        """
        rooms = capacity.nodes
        free = np.concatenate([_columns(room, types) for room in rooms.values()])
        known = (types, tuple(rooms), *(id(room.reports) for room in rooms.values()))
        if known != self._known:
            self._reports = [room.reports for room in rooms.values()]  # kept: their identity is the key
            self._base, self._known, self._places, self._total = _base(free, self._reports), known, None, None
        index = self._base.with_free(free)
        for cell, name in zip(index.cells, rooms, strict=True):
            cell.weight = weights.get(name, 1.0)
        return index

    @property
    def places(self) -> NamedPlaces:
        """Hosts and racks, in the rows of the newest index."""
        if self._places is None:
            self._places = NamedPlaces.of(self._reports)
        return self._places

    @property
    def total(self) -> ResourceVector:
        """Sum of what the nodes of the newest index have, whoever holds it."""
        if self._total is None:
            self._total = sum((node.total for reports in self._reports for node in reports), ResourceVector())
        return self._total

    def names(self) -> tuple[NodeId, ...]:
        """The nodes of the newest index, in the order of their rows."""
        return tuple(node.node for reports in self._reports for node in reports)

    def host(self, row: int) -> str:
        cell = self._base.cells[self._base.cell_of(row)]
        return self._reports[cell.cluster][row - cell.start].node.host

    def admit(self, needs: Iterable[Need]) -> None:
        """Make the bit-vectors of named places that some needs require, where they are not made yet."""
        for name in {name for need in needs for name in need.requires if name.startswith(_PLACES)}:
            places = frozenset(name.removeprefix(_PLACES).split(_BETWEEN))
            for cell, reports in zip(self._base.cells, self._reports, strict=True):
                if name not in cell.vectors:
                    named = (node.node.host in places or node.rack in places for node in reports)
                    cell.vectors[name] = pack_bits(np.fromiter(named, np.bool_, len(reports)))


_LABEL = "label:"
_PLACES = "in:"
_BETWEEN = "\n"


def need_of(resource: ResourceVector, label: str, places: Sequence[str], types: Sequence[str]) -> Need:
    """Requirements of a container, in the words of the index.

    Args:
        label: Node label; empty for nodes without one, which no other request may have.
        places: Hosts and racks that alone will do; empty for any.
    """
    requires = {_LABEL + label}
    if places:
        requires.add(_PLACES + _BETWEEN.join(places))
    return Need(amounts_of(resource, types), frozenset(requires))


def amounts_of(resource: ResourceVector, types: Sequence[str]) -> tuple[int, ...]:
    others = resource.others
    return (resource.memory_mib, resource.vcores, *(others.get(name, 0) for name in types[len(FIRST_TYPES) :]))


def _columns(room: NodeCapacity, types: Sequence[str]) -> NDArray[np.int64]:
    """Room left on each node; a type that a sub-cluster does not tell of is not held against it."""
    columns = np.full((len(room.left), len(types)), NO_BOUND, dtype=np.int64)
    for column, name in enumerate(types):
        if name in room.types:
            columns[:, column] = room.left[:, room.types.index(name)]
    return columns


def _base(free: NDArray[np.int64], reports: Sequence[Sequence[NodeReport]]) -> SharedNodes:
    cells, start = [], 0
    for cluster, nodes in enumerate(reports):
        cells.append(Cell(cluster, start, len(nodes)))
        start += len(nodes)
    properties = [_labels(node) for nodes in reports for node in nodes]
    return index_nodes(free, cells, properties)


def _labels(node: NodeReport) -> frozenset[str]:
    return frozenset(_LABEL + label for label in node.labels or ("",))
