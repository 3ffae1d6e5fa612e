"""Containers that a Local Master counts though no report shows them."""

from dataclasses import dataclass, field

from shim.domain.launches import ContainerKind
from shim.scheduling.local_master.node_capacity import Places

__all__ = ["CountedContainers"]


@dataclass(slots=True)
class CountedContainers:
    """Containers of one kind that are counted though no report shows them.

    Attributes:
        count: How many of them.
        at_s: Since when.
        short_since_s: Since which report nodes lack room for some of them; None if they do not.
        sender: Who proposed them; empty where nobody did.
    """

    holder: str
    kind: ContainerKind
    count: int
    at_s: float
    places: Places = field(default_factory=dict)
    short_since_s: float | None = None
    sender: str = ""

    @property
    def short(self) -> int:
        """Number of its containers that no node has room for."""
        return self.count - sum(self.places.values())
