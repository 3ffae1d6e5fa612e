"""Largest container of a federation.

Source: `ClusterNodeTracker.getMaxAllowedAllocation`.
"""

from collections.abc import Iterable, Sequence

from shim.domain.resources import ResourceVector
from shim.domain.subclusters import NodeReport

__all__ = ["largest_grant"]


def largest_grant(subclusters: Iterable[tuple[ResourceVector, Sequence[NodeReport]]]) -> ResourceVector:
    """The largest container that one of these grants, and that one of its nodes could hold.

    Args:
        subclusters: What each is configured to grant at most, and its nodes.
    """
    limits = (_capped(configured, [node.total for node in nodes]) for configured, nodes in subclusters)
    return max(limits, key=lambda limit: (limit.memory_mib, limit.vcores), default=ResourceVector())


def _capped(configured: ResourceVector, nodes: Sequence[ResourceVector]) -> ResourceVector:
    """The configured maximum, capped by the largest node; the maximum itself without nodes."""
    if not nodes:
        return configured
    return ResourceVector(
        min(configured.memory_mib, max(node.memory_mib for node in nodes)),
        min(configured.vcores, max(node.vcores for node in nodes)),
        {
            name: min(amount, max(node.others.get(name, 0) for node in nodes))
            for name, amount in configured.others.items()
        },
    )
