"""Look ahead of policies that place by themselves: who is asked for before there is room.

Between the end of a container and the next cycle's placement lie seconds in which a place of short tasks stays free. So
schedulers are asked for those next in the policy's own rank as well, for as many containers as come free meanwhile.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from shim.domain.ids import SubClusterId
from shim.scheduling.cycle import CycleState, entitle, order
from shim.scheduling.first_in_line import ComingFree, Spot
from shim.scheduling.plan import Plan
from shim.scheduling.policy import Policy
from shim.scheduling.snapshot import Snapshot

__all__ = ["Place", "asked_ahead"]


class Place(NamedTuple):
    """Place in the line of those that wait.

    Attributes:
        spot: Where a request may have its containers.
        is_kept: Whether it waits on purpose: it stays before those after it, and no scheduler is asked for it.
    """

    spot: Spot
    is_kept: bool


def asked_ahead(
    policy: Policy,
    snapshot: Snapshot,
    state: CycleState,
    plan: Plan,
    coming: ComingFree,
    place_of: Callable[[int], Place | None],
) -> Mapping[int, Mapping[SubClusterId, int]]:
    """Count containers of each request that schedulers are asked for before there is room; by row.

    Args:
        policy: A policy with any placement; nothing is asked for ahead where it has no kernel.
        snapshot: What the cycle started from.
        state: What the cycle handed on.
        plan: What the cycle decided.
        coming: What comes free; what is asked for is taken from it.
        place_of: Where a request is in line, by its row; None for what no single place that comes free will do for.
    """
    if policy.placement.kernel is None or not coming.is_any:
        return {}
    turns = plan.turns or order(snapshot, policy, entitle(snapshot))
    found: dict[int, dict[SubClusterId, int]] = {}
    for row, count in policy.placement.rank(snapshot, state.memory, turns, plan):
        place = place_of(row)
        if place is None:
            continue
        taken = coming.take(place.spot, count)
        counts = {} if place.is_kept else found.setdefault(row, {})
        for name, more in taken.items():
            counts[name] = counts.get(name, 0) + more
    return {row: counts for row, counts in found.items() if counts}
