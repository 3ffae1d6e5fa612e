"""Messages between a Global and a Local Master about room that comes free on a real cluster: bids, and offers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from shim.domain.ids import GlobalMasterId
from shim.domain.launches import ContainerKind
from shim.domain.messages import Rank


@dataclass(frozen=True, slots=True)
class CapacityBidLine:
    """Containers of one kind that wait and that nobody has promised.

    Attributes:
        rank: Urgency of the most urgent of them.
        queue: The federation's queue in which they wait; `kind` has the sub-cluster's word for it.
        term: Fence of the lease by which the bidder owns that queue; 0 if it has none.
    """

    rank: Rank
    kind: ContainerKind
    count: int
    queue: str = ""
    term: int = 0


@dataclass(frozen=True, slots=True)
class CapacityBid:
    """A Global Master's bid for room of one sub-cluster that it does not see; no lines: nothing.

    Attributes:
        incarnation: Life of the Global Master.
        version: Grows with each bid of this life to this sub-cluster; an older one never replaces a newer one.
    """

    global_master: GlobalMasterId
    incarnation: int
    version: int
    lines: tuple[CapacityBidLine, ...] = ()


@dataclass(frozen=True, slots=True)
class CapacityOffer:
    """Containers for which a Local Master keeps room for one Global Master.

    Attributes:
        to: Who proposes, in which life, as a proposal's sender is named.
        for_s: How much longer they are kept, in seconds.
    """

    to: str
    kind: ContainerKind
    count: int
    for_s: float


@dataclass(frozen=True, slots=True)
class UnreportedContainers:
    """Containers that somebody was promised, or granted, and that no report shows yet."""

    to: str
    kind: ContainerKind
    count: int


@dataclass(frozen=True, slots=True)
class PersistentBid:
    """A Global Master that would have more room of a sub-cluster than it is offered, and could.

    Attributes:
        to: Whose bid it is, as a proposal's sender is named.
        rank: Of its most urgent line.
    """

    to: str
    rank: Rank


@dataclass(frozen=True, slots=True)
class OfferCounts:
    """Containers that a Local Master has offered to one Global Master, in this life of both.

    Attributes:
        taken: Those of them that it proposed in time, and was promised.
        returned: Those that it did not want any more, by a later bid, or that had no room any more.
        expired: Those that it left until their time was over.
    """

    made: int = 0
    taken: int = 0
    returned: int = 0
    expired: int = 0


@dataclass(frozen=True, slots=True)
class CapacityNotice:
    """Room of a sub-cluster that is claimed and that its report shows as free.

    Attributes:
        promised: To all Global Masters, the oldest first.
        offers: Those that stand, to all Global Masters.
        counts: What became of offers so far, by who got them.
        bids: Those of Global Masters that wait for more than they are offered, and would be offered it.
    """

    promised: tuple[UnreportedContainers, ...] = ()
    offers: tuple[CapacityOffer, ...] = ()
    counts: Mapping[str, OfferCounts] = field(default_factory=dict)
    bids: tuple[PersistentBid, ...] = ()
