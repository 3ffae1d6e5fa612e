"""Containers that an attempt of a queue has, with their sizes and since when it has them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from shim.domain.allocations import PlacementConstraint, TaggedSpot
from shim.domain.ids import ContainerId, NodeId
from shim.domain.resources import ResourceVector

__all__ = ["HeldContainers"]

_NO_TAGS = PlacementConstraint()


@dataclass(slots=True)
class HeldContainers:
    """Containers of one attempt; its ApplicationMaster's own is none of these. Times are seconds by one clock.

    Attributes:
        began_in_all_s: Sum of the times since when it has them.
        resource: Sum of the sizes, as far as they are known.
    """

    began_in_all_s: float = 0.0
    resource: ResourceVector = field(default_factory=ResourceVector)
    _began_s: dict[ContainerId, float] = field(default_factory=dict)
    _sizes: dict[ContainerId, ResourceVector] = field(default_factory=dict)
    _spots: dict[ContainerId, TaggedSpot] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._began_s)

    def put(
        self, container: ContainerId, since_s: float, resource: ResourceVector | None, spot: TaggedSpot | None = None
    ) -> None:
        """Take in a container, or since when it is there, said anew; the first size that is told counts."""
        if spot is not None:
            self._spots[container] = spot
        if resource is not None and container not in self._sizes:
            self._sizes[container] = resource
            self.resource += resource
        self.began_in_all_s += since_s - self._began_s.pop(container, 0.0)
        self._began_s[container] = since_s

    def pop(self, container: ContainerId) -> float | None:
        """Forget a container; return since when it was there, None if it is not known."""
        began_s = self._began_s.pop(container, None)
        if began_s is not None:
            self.began_in_all_s -= began_s
            self.resource -= self._sizes.pop(container, ResourceVector())
            self._spots.pop(container, None)
        return began_s

    def of_known_size(self) -> Iterator[tuple[float, ResourceVector, NodeId | None]]:
        """List since when each container of known size is there, the size, and its node as far as it is known."""
        for container, size in self._sizes.items():
            spot = self._spots.get(container)
            yield self._began_s[container], size, None if spot is None else spot.node

    def tagged(self) -> Sequence[TaggedSpot]:
        """List where those with tags are."""
        return tuple(spot for spot in self._spots.values() if spot.placement != _NO_TAGS)
