"""Partitions of nodes: those that no request tells apart, and what each of them has free, quantum by quantum.

A request tells nodes apart by the hosts (or else racks) that it names, and by their clusters.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shim.scheduling.locality import places_of
from shim.scheduling.open_room import OpenRoom
from shim.scheduling.snapshot import IntArray, Snapshot

__all__ = ["NodePartitions", "preferred_nodes"]


def preferred_nodes(snapshot: Snapshot, row: int) -> Mapping[int, int]:
    """Nodes that a request names, each with how many containers are wanted there; without hosts, those of its racks."""
    places = places_of(snapshot, snapshot.requests.prefers(row))
    if places.nodes.size:
        found: dict[int, int] = {}
        for node, count in zip(places.nodes.tolist(), places.counts.tolist(), strict=True):
            found[node] = found.get(node, 0) + count
        return found
    return dict.fromkeys(places.near.tolist(), np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True, eq=False)
class NodePartitions:
    """See the module.

    Attributes:
        of_node: Number of each node's partition: int64 array of shape (N,).
        preferred: Partitions that each request prefers, by its row; no entry where all are alike to it.
        clusters: Partitions of each cluster.
    """

    of_node: IntArray
    preferred: Mapping[int, tuple[int, ...]]
    clusters: tuple[tuple[int, ...], ...]

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.of_node.max(initial=0)) + 1

    @classmethod
    def of(cls, snapshot: Snapshot, rows: Sequence[int], most: int) -> "NodePartitions":
        """Divide the nodes by what requests prefer, the first of them first, into about `most` partitions at most.

        Requests whose preferences would make more of them have none.
        """
        n_nodes = len(snapshot.nodes)
        sizes = [cell.size for cell in snapshot.nodes.cells]
        cluster: IntArray = np.repeat([cell.cluster for cell in snapshot.nodes.cells], sizes).astype(np.int64)
        parts, liked = _numbered(cluster), dict[int, NDArray[np.bool_]]()
        for row in rows:
            is_liked = np.zeros(n_nodes, dtype=np.bool_)
            is_liked[list(preferred_nodes(snapshot, row))] = True
            if not is_liked.any() or is_liked.all():
                continue
            finer = _numbered(2 * parts + is_liked)
            if int(finer.max(initial=0)) < max(most, int(parts.max(initial=0)) + 1):
                parts, liked[row] = finer, is_liked
        preferred = {row: tuple(np.unique(parts[is_liked]).tolist()) for row, is_liked in liked.items()}
        clusters = tuple(tuple(np.unique(parts[cluster == each]).tolist()) for each in np.unique(cluster))
        return cls(parts, preferred, clusters)

    def nodes(self, parts: Sequence[int]) -> IntArray:
        """Rows of the nodes of some partitions."""
        return np.flatnonzero(np.isin(self.of_node, parts)).astype(np.int64)

    def available(
        self, snapshot: Snapshot, room: OpenRoom, rows: Sequence[int], n_quanta: int, quantum_s: float
    ) -> IntArray:
        """Count what is free of each resource type, and what is expected to come free, by partition and quantum.

        Of each node as much as any of the requests could use: places of one size would count small containers as large
        ones. What runs where nobody knows comes free in the largest partition. What runs for longer than it was
        expected to ends with the first quantum.

        Returns:
            int64 array of shape (n_partitions, n_quanta, n_types).
        """
        needs = snapshot.requests.needs
        usable = [np.multiply.outer(room.slots(row), np.array(needs[row].demand, dtype=np.int64)) for row in rows]
        on_nodes: IntArray = np.max(usable, axis=0)
        free = np.zeros((self.count, on_nodes.shape[1]), dtype=np.int64)
        np.add.at(free, self.of_node, on_nodes)
        found = np.repeat(free[:, np.newaxis], n_quanta, axis=1)
        running = snapshot.running
        largest = int(np.argmax(np.bincount(self.of_node, minlength=1)))
        ends_s = np.maximum(running.since_s + running.expected_s, snapshot.now_s + 1.0) - snapshot.now_s
        ends = np.ceil(ends_s / quantum_s).tolist()
        for node, end, demand in zip(running.node.tolist(), ends, running.demand, strict=True):
            if end < n_quanta:
                found[int(self.of_node[node]) if 0 <= node < len(self.of_node) else largest, int(end) :] += demand
        return found


def _numbered(keys: IntArray) -> IntArray:
    """Numbers from 0 for equal keys."""
    numbers: IntArray = np.unique(keys, return_inverse=True)[1].astype(np.int64).reshape(keys.shape)
    return numbers
