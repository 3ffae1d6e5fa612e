"""The global view: what a Global Master believes about every node of every cluster (Megha, section IV-B).

Nodes, bit-vectors and shapes are those of `shim/scheduling/node_index.py`. Within a partition, rows are in the order of
how many properties their nodes have, so that the lowest bit is the node that a picky task misses least.

The view never decides. It is written by reports (`apply_node`), by own launches on their way (`take`) and by their
verdicts (`settle`): free = reported - launches on their way.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shim.domain.ids import GlobalMasterId, LocalMasterId
from shim.domain.messages import NodeState
from shim.errors import InvariantViolationError
from shim.scheduling.node_index import Cell, NodeIndex, property_vectors

# A partition of the global view: the nodes of one cluster that one Global Master owns, as bit-vectors.

_NOBODY, _NOWHERE = GlobalMasterId(""), LocalMasterId("")


@dataclass(slots=True)
class Partition(Cell):
    """The nodes of one Local Master that belong to one Global Master."""

    owner: GlobalMasterId = _NOBODY
    local_master: LocalMasterId = _NOWHERE


class GlobalView(NodeIndex[Partition]):
    """Nodes by resources, in partitions, with bit-vectors for matching.

    Args:
        owner: The Global Master whose view it is: its partitions are internal, all others external.

    Attributes:
        free: int64 array of shape (n_nodes, n_resources): reported free amounts less own launches on their way.
        versions: int64 array of shape (n_nodes,): sequence of the report that last spoke of the node.
        cells: In the order in which their Local Masters first reported.
        as_of_s: For each Local Master, the time of its last report.
    """

    def __init__(self, owner: GlobalMasterId, n_resources: int) -> None:
        super().__init__(n_resources)
        self.owner = owner
        self.versions: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.as_of_s: dict[LocalMasterId, float] = {}
        self._on_way: NDArray[np.int64] = self.free.copy()
        self._rows: dict[LocalMasterId, list[int]] = {}
        self._nodes: list[int] = []
        self._properties: list[frozenset[str]] = []
        self._bind()

    def _bind(self) -> None:
        super()._bind()
        self._flat_way = self._on_way.data.cast("B").cast("q") if self.free.size else self._flat
        self._flat_versions = self.versions.data

    def local_masters(self) -> Sequence[LocalMasterId]:
        return tuple(self._rows)

    def place_of(self, row: int) -> tuple[LocalMasterId, int]:
        """Local Master of a row, and the node's index there."""
        return self.cells[self._cell_of[row]].local_master, self._nodes[row]

    def row_of(self, local_master: LocalMasterId, node: int) -> int:
        """Row of a node; -1 when it is not known."""
        rows = self._rows.get(local_master, ())
        return rows[node] if 0 <= node < len(rows) else -1

    def properties_of(self, row: int) -> frozenset[str]:
        return self._properties[row]

    def replace_cluster(
        self, local_master: LocalMasterId, nodes: Sequence[NodeState], owners: Sequence[GlobalMasterId], version: int
    ) -> None:
        """Take over a full report: the nodes of a Local Master and the owners of their partitions.

        Launches on their way to it stay subtracted. When neither nodes, owners nor properties changed, only the amounts
        are written.
        """
        rows = self._rows.get(local_master)
        if rows is not None and self._has_same_frame(rows, nodes, owners):
            for state in nodes:
                self.apply_node(rows[state.node], state, version)
            return
        if rows is None:
            self._append(local_master, nodes, owners)
        else:
            self._rebuild(local_master, nodes, owners)

    def _has_same_frame(self, rows: list[int], nodes: Sequence[NodeState], owners: Sequence[GlobalMasterId]) -> bool:
        return len(rows) == len(nodes) and all(
            self.cells[self._cell_of[rows[state.node]]].owner == owners[state.node]
            and (state.properties is None or state.properties == self._properties[rows[state.node]])
            for state in nodes
        )

    def apply_node(self, row: int, state: NodeState, version: int) -> None:
        """Take over what the report of that sequence says of one node."""
        flat, way, place = self._flat, self._flat_way, row * self.n_resources
        for amount in state.free:
            flat[place] = amount - way[place]
            place += 1
        if state.properties is not None and state.properties != self._properties[row]:
            self._rename(row, state.properties)
        self._flat_versions[row] = version
        self.refresh(row)

    def take(self, row: int, demand: tuple[int, ...]) -> None:
        """Subtract a launch that is on its way."""
        flat, way, place = self._flat, self._flat_way, row * self.n_resources
        for amount in demand:
            flat[place] -= amount
            way[place] += amount
            place += 1
        self.refresh(row)

    def give_back(self, row: int, demand: tuple[int, ...]) -> None:
        """Undo `take` for a launch that was never sent."""
        self.settle(row, demand)
        flat, place = self._flat, row * self.n_resources
        for amount in demand:
            flat[place] += amount
            place += 1
        self.refresh(row)

    def settle(self, row: int, demand: tuple[int, ...]) -> None:
        """A launch has arrived, whatever its verdict: the next word of the Local Master on the node includes it."""
        way, place = self._flat_way, row * self.n_resources
        for amount in demand:
            way[place] -= amount
            place += 1

    def check(self) -> None:
        """Compare the bit-vectors with the arrays.

        Raises:
            InvariantViolationError: If a bit is wrong, or more is on its way than nothing.
        """
        if (self._on_way < 0).any():
            raise InvariantViolationError(f"{self.owner}: a launch was settled twice")
        super().check()

    def _rebuild(
        self, local_master: LocalMasterId, nodes: Sequence[NodeState], owners: Sequence[GlobalMasterId]
    ) -> None:
        """Lay all rows anew with one cluster's nodes replaced. Rare: other nodes or other partitions than before."""
        clusters = {name: self._states_of(name) for name in self._rows}
        clusters[local_master] = (list(nodes), list(owners))
        on_way = {place: self._way_of(row) for row, place in enumerate(map(self.place_of, range(len(self))))}
        self.cells, self._rows, self._nodes, self._cell_of, self._properties = [], {}, [], [], []
        self.free = np.zeros((0, self.n_resources), dtype=np.int64)
        self._on_way = self.free.copy()
        self.versions = np.zeros(0, dtype=np.int64)
        self.internal_mask = 0
        self.open_masks = [0] * len(self._shape_list)
        for name, (states, owned_by) in clusters.items():
            self._append(name, states, owned_by)
        for (name, node), amount in on_way.items():
            row = self.row_of(name, node)
            if row >= 0 and any(amount):
                self._on_way[row] += amount
                if name == local_master:
                    self.free[row] -= amount
                    self.refresh(row)

    def _append(self, name: LocalMasterId, states: Sequence[NodeState], owners: Sequence[GlobalMasterId]) -> None:
        """Lay rows for a cluster that has none."""
        first = len(self.cells)
        amounts: list[tuple[int, ...]] = []
        self._rows[name] = [-1] * len(states)
        for owner in dict.fromkeys(owners):
            mine = [state for state in states if owners[state.node] == owner]
            self._add_partition(owner, name, mine, amounts)
        added = np.array(amounts, dtype=np.int64).reshape(len(amounts), self.n_resources)
        self.free = np.concatenate((self.free, added))
        self._on_way = np.concatenate((self._on_way, np.zeros_like(added)))
        self.versions = np.concatenate((self.versions, np.zeros(len(amounts), dtype=np.int64)))
        self._bind()
        self._eligible.clear()
        for index in range(first, len(self.cells)):
            self._compute_bits(index)

    def _add_partition(
        self, owner: GlobalMasterId, name: LocalMasterId, mine: list[NodeState], amounts: list[tuple[int, ...]]
    ) -> None:
        partition = Partition(list(self._rows).index(name), len(self._nodes), len(mine), owner=owner, local_master=name)
        for state in sorted(mine, key=lambda state: (len(state.properties or ()), state.node)):
            self._rows[name][state.node] = len(self._nodes)
            self._nodes.append(state.node)
            self._cell_of.append(len(self.cells))
            self._properties.append(state.properties or frozenset())
            amounts.append(state.free)
        self.cells.append(partition)

    def _states_of(self, name: LocalMasterId) -> tuple[list[NodeState], list[GlobalMasterId]]:
        rows = self._rows[name]
        states = [NodeState(node, self.free_of(row), self._properties[row]) for node, row in enumerate(rows)]
        return states, [self.cells[self._cell_of[row]].owner for row in rows]

    def _way_of(self, row: int) -> tuple[int, ...]:
        start = row * self.n_resources
        return tuple(self._flat_way[start : start + self.n_resources])

    def _compute_bits(self, index: int) -> None:
        """Make the bit-vectors of a new partition."""
        partition = self.cells[index]
        if partition.owner == self.owner:
            self.internal_mask |= 1 << index
        partition.vectors = property_vectors(self._properties[partition.rows])
        partition.fits = [0] * len(self._shape_list)
        for shape in range(len(self._shape_list)):
            self._compute_fits(shape, index)

    def _rename(self, row: int, properties: frozenset[str]) -> None:
        partition = self.cells[self._cell_of[row]]
        bit = 1 << (row - partition.start)
        for name in self._properties[row] - properties:
            partition.vectors[name] &= ~bit
        for name in properties - self._properties[row]:
            partition.vectors[name] = partition.vectors.get(name, 0) | bit
        self._properties[row] = properties
        self._eligible.clear()
