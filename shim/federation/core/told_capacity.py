"""Capacity that a ResourceManager tells, against what its nodes sum up to."""

from collections.abc import Sequence

from shim.domain.resources import ResourceVector
from shim.domain.subclusters import NodeReport

__all__ = ["capacity_excess"]


def capacity_excess(told: ResourceVector, nodes: Sequence[NodeReport]) -> tuple[str, ...]:
    """Compare a sub-cluster's metrics with its list of nodes, of whatever state: no node counts for less than nothing.

    Returns:
        Each amount of which more is told than there is, as `name: told, of nodes`; none where all is well.
    """
    memory_mib = sum(max(0, node.total.memory_mib) for node in nodes)
    vcores = sum(max(0, node.total.vcores) for node in nodes)
    pairs = (("memory MiB", told.memory_mib, memory_mib), ("vcores", told.vcores, vcores))
    return tuple(f"{name}: {claimed}, of nodes {there}" for name, claimed, there in pairs if claimed > there)
