"""A scheduling policy as data: who is next, where, how it is made final, what is taken back."""

from dataclasses import dataclass
from enum import Enum

from shim.scheduling.global_master.match import NodeChoice
from shim.scheduling.global_master.ordering import OrderingKernel
from shim.scheduling.global_master.repartition import PartitionChoice

__all__ = ["Commitment", "Placement", "QueueOrder", "Reallocation", "Recipe"]


@dataclass(frozen=True, slots=True)
class Placement:
    """Where: how the search in the view goes."""

    partitions: PartitionChoice
    nodes: NodeChoice


@dataclass(frozen=True, slots=True)
class Commitment:
    """How a match is made final.

    Attributes:
        answers_acceptance: Whether a Local Master answers accepted launches at once. Otherwise its next report says so.
        bids: Whether waiting work bids for capacity that comes free, which Local Masters then offer.
        ranks_per_octave: How finely bids tell urgencies apart: so many steps for each doubling.
        bids_per_launch: Renewed bids that each launch pays for; bounds the messages of a task, whatever the load is
        like.
    """

    answers_acceptance: bool
    bids: bool
    ranks_per_octave: float = 4.0
    bids_per_launch: float = 2.5


class Reallocation(Enum):
    """What is taken back while somebody entitled waits."""

    NONE = "none"
    QUEUE_SHARE = "queue-share"
    """Tasks of the queue that is furthest above its share (Megha, algorithm 2)."""


class QueueOrder(Enum):
    """How queues are ordered before the jobs in them; the recipe's ordering is that of the jobs."""

    NONE = "none"
    OWED_FIRST = "owed-first"
    """Those below their share before all others (Megha, algorithm 2)."""
    MOST_OWED_FIRST = "most-owed-first"
    """By how far below its share each is, in shares: a queue at half of its share before one at two thirds."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Ordering x placement x commitment x reallocation.

    Attributes:
        reads_shares: Whether the ordering reads `Column.SHARE`.
        learns_durations: Whether the ordering reads `Column.EXPECTED_S`.
    """

    name: str
    ordering: OrderingKernel
    placement: Placement
    commitment: Commitment
    reallocation: Reallocation
    learns_durations: bool = False
    reads_shares: bool = False
    queues: QueueOrder = QueueOrder.OWED_FIRST
