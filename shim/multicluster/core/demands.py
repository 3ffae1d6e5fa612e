"""The demand of an attempt for containers of one ask key, as a splitter sees it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from shim.domain.allocations import AskKey
from shim.domain.ids import SubClusterId
from shim.multicluster.core.tag_counts import TagCounts

__all__ = ["Demand", "GangDemand"]


@dataclass(frozen=True, slots=True)
class GangDemand:
    """The part of a gang that is not granted yet, over all keys of its attempt.

    Attributes:
        count: How many schedulers may be asked for, together; 0 for none at present.
        text: Where the gang stands, for people.
    """

    count: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Demand:
    """Containers that are wanted and that no scheduler has granted.

    Attributes:
        total: How many.
        places: How many are wanted at each named host or rack.
        is_strict: Whether they may be at those places alone; `allowed` are then the hosts, and the racks that will do.
        standing: How many each session is asked for by now.
        starved: For how many beats each session has granted none of them.
        refused: Sub-clusters whose scheduler refused such an ask.
        rejected: Sub-clusters that found no place for containers with this placement.
        held: Containers that the attempt has, of whatever kind.
        gang: Where all of the attempt's demands are to be had together; None where each is by itself.
        is_limited: Whether more is wanted than may be asked for: the rest is held back, or beyond an allowance.
        tags: What a placement constraint is judged by; None for nothing of the kind. It is looked at within a split.
    """

    key: AskKey
    total: int
    places: Mapping[str, int] = field(default_factory=dict)
    is_strict: bool = False
    allowed: tuple[str, ...] = ()
    standing: Mapping[SubClusterId, int] = field(default_factory=dict)
    starved: Mapping[SubClusterId, int] = field(default_factory=dict)
    refused: frozenset[SubClusterId] = frozenset()
    rejected: frozenset[SubClusterId] = frozenset()
    held: int = 0
    gang: GangDemand | None = None
    is_limited: bool = False
    tags: TagCounts | None = None

    @property
    def is_withheld(self) -> bool:
        """Tell whether nothing may be asked for at present: a part of a gang could be had, and not all of it."""
        return self.gang is not None and not self.gang.count
