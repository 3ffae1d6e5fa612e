"""Constraints between containers by tags: affinity, anti-affinity, cardinality, and choices between conjunctions.

A container with the subject's tags shall be in a set of nodes that holds at least and at most so many other containers
with some tags. Affinity is (1, no bound), anti-affinity (0, 0). All are soft: breaking one costs its weight times how
far it is broken.

Source: Garefalakis et al., "Medea: Scheduling of Long Running Applications in Shared Production Clusters", EuroSys
2018, section 4.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "NO_MOST",
    "NO_SERVICES",
    "ServiceFacts",
    "TagConstraint",
    "TagCount",
    "TaggedContainers",
    "extents_of",
    "without_cardinality",
]

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
    """

    subject: frozenset[str]
    any_of: tuple[tuple[TagCount, ...], ...]
    weight: float = 1.0


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
