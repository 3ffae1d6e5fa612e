"""Policies that are an order alone: any cluster, in proportion to its free capacity.

Source of dominant resource fairness: Ghodsi et al., NSDI 2011. Between queues, the shares of all clusters together
decide in any policy.
"""

from shim.scheduling.policy import (
    CellChoice,
    Fact,
    Ordering,
    Placement,
    Policy,
    fewest_running,
    fewest_unfinished,
    first_come,
    learnt_work,
    least_share,
)
from shim.scheduling.snapshot import Scope

BY_ROOM = Placement(CellChoice.BY_ROOM, Scope.CLUSTER)
"""Preferred places first, then clusters in proportion to room and weight; their own schedulers pick the nodes."""

FIFO = Policy("fifo", Ordering(first_come), BY_ROOM, summary="first come, first served")


DRF = Policy(
    "drf",
    Ordering(least_share, reads_shares=True),
    BY_ROOM,
    summary="least dominant share first",
    source="Ghodsi et al., NSDI 2011",
    needs=frozenset({Fact.VECTORS}),
)

FAIR = Policy("fair", Ordering(fewest_running), BY_ROOM, summary="fewest running containers first")

FEWEST_TASKS = Policy(
    "fewest-tasks", Ordering(fewest_unfinished), BY_ROOM, summary="fewest unfinished tasks first", source="as in Megha"
)

LEARNT_WORK = Policy(
    "learnt-work",
    Ordering(learnt_work, learns_durations=True),
    BY_ROOM,
    summary="least expected work first; durations are learnt",
)
