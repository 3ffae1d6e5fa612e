"""Equal shares of slots between the jobs of a queue: fewest running containers first; any cluster with room."""

from shim.scheduling.orderings import fewest_running
from shim.scheduling.policies.fifo import BY_ROOM
from shim.scheduling.policy import Ordering, Policy

__all__ = ["FAIR"]

FAIR = Policy("fair", Ordering(fewest_running), BY_ROOM, summary="fewest running containers first")
