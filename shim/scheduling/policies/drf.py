"""Dominant resource fairness between the jobs of a queue: whose dominant share is least is next.

Source: Ghodsi et al., NSDI 2011. Between queues, the shares of all clusters together decide in any policy.
"""

from shim.scheduling.orderings import least_share
from shim.scheduling.policies.fifo import BY_ROOM
from shim.scheduling.policy import Fact, Ordering, Policy

__all__ = ["DRF"]

DRF = Policy(
    "drf",
    Ordering(least_share, reads_shares=True),
    BY_ROOM,
    summary="least dominant share first",
    source="Ghodsi et al., NSDI 2011",
    needs=frozenset({Fact.VECTORS}),
)
