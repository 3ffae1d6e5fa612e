"""Room that placement constraints leave to requests: containers with some tags that a cluster or a node may still have.

Requests of one application for containers with the same tags are *kin*: what one is granted, the others have less.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

__all__ = ["NO_TAG_BOUNDS", "TagBounds", "TagHeadroom"]

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class TagBounds:
    """Bounds of one request.

    Attributes:
        kin: Number that it shares with its kin.
        at_cluster: int64 array of shape (n_clusters,): containers that each cluster may have beyond those it has.
        at_node: int64 array of shape (N,): the same of nodes.
    """

    kin: int
    at_cluster: IntArray
    at_node: IntArray


NO_TAG_BOUNDS: Mapping[int, TagBounds] = MappingProxyType({})


class TagHeadroom:
    """Bounds less what a cycle has granted so far.

    Args:
        bounds: By row of the request; a request without an entry is not bounded.
    """

    def __init__(self, bounds: Mapping[int, TagBounds]) -> None:
        self._bounds = bounds
        self._at_cluster: dict[int, IntArray] = {}
        self._at_node: dict[int, IntArray] = {}

    def __contains__(self, request: int) -> bool:
        return request in self._bounds

    def at_clusters(self, request: int) -> IntArray:
        """Containers that each cluster may still have of a bounded request; shape (n_clusters,)."""
        bounds = self._bounds[request]
        left: IntArray = np.maximum(bounds.at_cluster - self._at_cluster.get(bounds.kin, 0), 0)
        return left

    def at_nodes(self, request: int) -> IntArray:
        """The same of nodes; shape (N,)."""
        bounds = self._bounds[request]
        left: IntArray = np.maximum(bounds.at_node - self._at_node.get(bounds.kin, 0), 0)
        return left

    def at(self, request: int, cluster: int, node: int) -> int:
        """Containers that one node in a cluster may still have of a request that is bounded."""
        return int(min(self.at_clusters(request)[cluster], self.at_nodes(request)[node]))

    def within(self, request: int, clusters: IntArray, room: IntArray) -> IntArray:
        """So much of the room of some cells, whose clusters are named, as a request may have; shape (n_cells,)."""
        return np.minimum(room, self.at_clusters(request)[clusters]) if request in self._bounds else room

    def take_of_cells(self, request: int, clusters: IntArray, taken: IntArray) -> None:
        """Note what was taken of each cell, whose clusters are named."""
        for cluster, count in zip(clusters.tolist(), taken.tolist(), strict=True) if request in self._bounds else ():
            self.take(request, cluster, count)

    def take(self, request: int, cluster: int, count: int, node: int | None = None) -> None:
        """Note a grant; a negative count takes one back. A request that is not bounded changes nothing."""
        bounds = self._bounds.get(request)
        if bounds is None:
            return
        self._at_cluster.setdefault(bounds.kin, np.zeros_like(bounds.at_cluster))[cluster] += count
        if node is not None:
            self._at_node.setdefault(bounds.kin, np.zeros_like(bounds.at_node))[node] += count
