"""Tags of what an attempt has and of what is asked for: what a constraint is judged by, as far as it is known here."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from shim.domain.allocations import AskKey
from shim.domain.ids import SubClusterId
from shim.domain.resources import ResourceVector
from shim.multicluster.core.cluster_capacity import ClusterCapacity

__all__ = ["HeldTags", "SpokenFor", "TagCounts", "count_tagged"]

HeldTags = Mapping[SubClusterId, Mapping[frozenset[str], int]]
"""How many containers the application has with exactly these tags, by sub-cluster."""


class SpokenFor:
    """Room that asks with a constraint are asked for: DistributedShell has one for each container."""

    def __init__(self) -> None:
        self._tags: dict[SubClusterId, Counter[frozenset[str]]] = {}
        self._amounts: dict[SubClusterId, ResourceVector] = {}

    def add(self, key: AskKey, targets: Mapping[SubClusterId, int], sign: int = 1) -> None:
        """Add what sub-clusters are asked for, or take it off."""
        tags = frozenset() if key.placement is None else key.placement.tags
        for name, count in targets.items():
            self._tags.setdefault(name, Counter())[tags] += sign * count
            self._amounts[name] = self._amounts.get(name, ResourceVector()) + key.resource.times(sign * count)

    def tagged(self, subcluster: SubClusterId, tags: frozenset[str]) -> int:
        """Count the containers with all of these tags that a sub-cluster is asked for."""
        return count_tagged(self._tags.get(subcluster, {}), tags)

    def left(self, room: ClusterCapacity) -> ClusterCapacity:
        """Return a sub-cluster with what is free beside that."""
        return replace(room, free=room.free - self._amounts.get(room.subcluster, ResourceVector()))


@dataclass(frozen=True, slots=True)
class TagCounts:
    """Containers that a constraint looks at.

    Attributes:
        held: What the application has.
        spoken: What its other asks are asked for.
    """

    held: HeldTags = field(default_factory=dict)
    spoken: SpokenFor = field(default_factory=SpokenFor)


def count_tagged(counts: Mapping[frozenset[str], int], tags: frozenset[str]) -> int:
    """Count the containers that have all of the tags."""
    return sum(count for each, count in counts.items() if tags <= each)
