"""Constraints between containers by tags: affinity, anti-affinity, cardinality, and choices between conjunctions.

A container with the subject's tags shall be in a set of nodes that holds at least and at most so many other containers
with some tags. Affinity is (1, no bound), anti-affinity (0, 0). All are soft: breaking one costs its weight times how
far it is broken.

Source: Garefalakis et al., "Medea: Scheduling of Long Running Applications in Shared Production Clusters", EuroSys
2018, section 4.

Room that placement constraints leave to requests: containers with some tags that a cluster or a node may still have.

Requests of one application for containers with the same tags are *kin*: what one is granted, the others have less.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
NO_MOST = 1 << 20
"""Containers of a tag where nothing bounds them."""


@dataclass(frozen=True, slots=True)
class TagCount:
    """Bounds of a number of containers in a set of nodes.

    Attributes:
        tags: A container counts if it has all of these.
        group: Name of the node group: `node`, `rack`, or one of `ServiceFacts.node_groups`.
    """

    tags: frozenset[str]
    least: int
    most: int = NO_MOST
    group: str = "node"


@dataclass(frozen=True, slots=True)
class TagConstraint:
    """A wish of each container with the subject's tags.

    Attributes:
        any_of: Conjunctions, of which one shall hold.
        weight: A ratio far above the others' stands for a hard constraint; 0 for none at all.
        is_soft: Whether it may be broken even where constraints are hard, as no ResourceManager knows it.
    """

    subject: frozenset[str]
    any_of: tuple[tuple[TagCount, ...], ...]
    weight: float = 1.0
    is_soft: bool = False


@dataclass(frozen=True, slots=True)
class TaggedContainers:
    """Running containers of a service on one node."""

    node: int
    tags: frozenset[str]
    count: int = 1


@dataclass(frozen=True, slots=True)
class ServiceFacts:
    """Long-running services and what is wanted of their places.

    Attributes:
        tags: Of the containers of a waiting request, by its row; a request without an entry is of a task.
        running: Services' containers that run.
        node_groups: Sets of node rows, by name; `node` and `rack` are known without.
        keep_free: What a node should keep free for tasks, by resource type; empty for nothing.
    """

    tags: Mapping[int, frozenset[str]] = field(default_factory=lambda: MappingProxyType({}))
    running: tuple[TaggedContainers, ...] = ()
    constraints: tuple[TagConstraint, ...] = ()
    node_groups: Mapping[str, tuple[tuple[int, ...], ...]] = field(default_factory=lambda: MappingProxyType({}))
    keep_free: tuple[int, ...] = ()


NO_SERVICES = ServiceFacts()


def without_cardinality(constraint: TagConstraint) -> TagConstraint | None:
    """Return the rest of a constraint for a scheduler that knows affinity and anti-affinity alone; None for nothing.

    At least some containers become at least one; a bound that allows some is none. Kubernetes' scheduler is like this.
    """
    told = tuple(
        tuple(
            replace(count, least=min(count.least, 1), most=count.most if count.most == 0 else NO_MOST)
            for count in choice
            if count.least or not count.most
        )
        for choice in constraint.any_of
    )
    return replace(constraint, any_of=told) if all(told) else None


def extents_of(count: TagCount, found: IntArray) -> FloatArray:
    """Extent to which numbers of other containers break the bounds, 0 where they do not; of the shape of `found`."""
    short: FloatArray = np.maximum(count.least - found, 0) / max(count.least, 1)
    return short + np.maximum(found - count.most, 0) / max(count.most, 1)


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
