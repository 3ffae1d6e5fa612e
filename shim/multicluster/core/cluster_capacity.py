"""The capacity of a sub-cluster, as far as a queue may use it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from shim.domain.allocations import ConstraintHandling
from shim.domain.ids import SubClusterId
from shim.domain.resources import ResourceVector

__all__ = ["ClusterCapacity"]


@dataclass(frozen=True, slots=True)
class ClusterCapacity:
    """Capacity of a sub-cluster for one queue.

    Attributes:
        is_home: Whether the application's own ApplicationMaster runs there.
        is_open: Whether containers may be asked for there now.
        free: What the queue could still get there.
        size: What the queue could have there in all.
        largest: The largest container that may be had there.
        weight: How much the queue prefers it; 1 is usual, 0 is never.
        nodes: How many nodes it has.
        racks: Rack of each host, by name.
        rack_names: Every rack; found out from `racks` if not given.
        labels: Node labels that the queue may ask for; `*` for all.
        age_s: Of the report that all of this is from.
        constraints: How its scheduler takes asks with a placement constraint; None as long as that is not known.
        is_trial: Whether nobody knows if the application finds there what it needs: one container is to try.
    """

    subcluster: SubClusterId
    is_home: bool = False
    is_open: bool = True
    free: ResourceVector = field(default_factory=ResourceVector)
    size: ResourceVector = field(default_factory=ResourceVector)
    largest: ResourceVector = field(default_factory=ResourceVector)
    weight: float = 1.0
    nodes: int = 0
    racks: Mapping[str, str] = field(default_factory=dict)
    labels: frozenset[str] = frozenset()
    rack_names: frozenset[str] = frozenset()
    age_s: float = 0.0
    constraints: ConstraintHandling | None = None
    is_trial: bool = False

    def __post_init__(self) -> None:
        if self.racks and not self.rack_names:
            object.__setattr__(self, "rack_names", frozenset(self.racks.values()))

    def has_place(self, place: str) -> bool:
        """Tell whether a host or rack of this name is there."""
        return place in self.racks or place in self.rack_names
