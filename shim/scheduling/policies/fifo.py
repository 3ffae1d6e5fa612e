"""First come, first served; any cluster, in proportion to its room."""

from shim.scheduling.orderings import first_come
from shim.scheduling.policy import CellChoice, NodeChoice, Ordering, Placement, Policy
from shim.scheduling.snapshot import Scope

__all__ = ["BY_ROOM", "FIFO"]

BY_ROOM = Placement(CellChoice.BY_ROOM, NodeChoice.PACK, Scope.CLUSTER)
"""Preferred places first, then clusters in proportion to room and weight; their own schedulers pick the nodes."""

FIFO = Policy("fifo", Ordering(first_come), BY_ROOM, summary="first come, first served")
