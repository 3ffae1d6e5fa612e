"""Fewest unfinished tasks first: short jobs pass long ones, with nothing known of durations."""

from shim.scheduling.orderings import fewest_unfinished
from shim.scheduling.policies.fifo import BY_ROOM
from shim.scheduling.policy import Ordering, Policy

__all__ = ["FEWEST_TASKS"]

FEWEST_TASKS = Policy(
    "fewest-tasks", Ordering(fewest_unfinished), BY_ROOM, summary="fewest unfinished tasks first", source="as in Megha"
)
