"""Least expected work first, with durations learnt from what has ended: Heddle's order, for clusters that launch."""

from shim.scheduling.orderings import learnt_work
from shim.scheduling.policies.fifo import BY_ROOM
from shim.scheduling.policy import Ordering, Policy

__all__ = ["LEARNT_WORK"]

LEARNT_WORK = Policy(
    "learnt-work",
    Ordering(learnt_work, learns_durations=True),
    BY_ROOM,
    summary="least expected work first; durations are learnt",
)
