"""Split of asks with a placement constraint: at home what it can hold, the rest where the constraint can be judged.

A scheduler judges a constraint by the containers on its own nodes. Where the constraint bounds how many containers with
some tags a node or a rack may have, each sub-cluster judges its own part, and the count can be split. Where it wants
containers with some tags to be there already, only sub-clusters that have such containers are asked.

A sub-cluster that has rejected such an ask is not asked again before the ApplicationMaster asks again.
"""

from collections.abc import Mapping, Sequence

from shim.domain.allocations import ConstraintHandling, PlacementConstraint
from shim.domain.ids import SubClusterId
from shim.multicluster.core.cluster_capacity import ClusterCapacity
from shim.multicluster.core.demands import Demand
from shim.multicluster.core.splitter import could_hold, shares_of, slots_of

__all__ = ["HeldTags", "free_elsewhere", "split_constrained"]

HeldTags = Mapping[SubClusterId, Sequence[frozenset[str]]]
"""Tags of each container that the application has, by sub-cluster."""

_NO_BOUND = 1 << 31
_JUDGES = frozenset({ConstraintHandling.TOTALS, ConstraintHandling.ADDS})


def split_constrained(
    demand: Demand, capacities: Sequence[ClusterCapacity], held: HeldTags, patience: int
) -> Mapping[SubClusterId, int]:
    """Counts by sub-cluster, which add up to the demand's total.

    Args:
        demand: With a placement.
        capacities: The sub-clusters as they are known now, the home among them.
        held: Tags of what the application has.
        patience: Beats without a grant after which an ask may move.
    """
    places = [room for room in _places(demand, capacities, held) if room.subcluster not in demand.rejected]
    if not places:
        return {next(room.subcluster for room in capacities if room.is_home): demand.total}
    slots = {room.subcluster: _slots(room, demand, held) for room in places}
    kept = {name: demand.standing.get(name, 0) for name in slots}
    fresh = [room for room in places if demand.starved.get(room.subcluster, 0) < patience]
    _move_waiting(kept, slots, {room.subcluster for room in fresh})
    _trim(kept, demand.total, places)
    missing = demand.total - sum(kept.values())
    left = {room.subcluster: max(0, slots[room.subcluster] - kept[room.subcluster]) for room in fresh}
    weights = {room.subcluster: room.weight for room in places}
    for group in ([room for room in fresh if room.is_home], [room for room in fresh if not room.is_home]):
        added = shares_of(missing, {room.subcluster: left[room.subcluster] for room in group}, weights.__getitem__)
        for name, count in added.items():
            kept[name] += count
            missing -= count
    kept[places[0].subcluster] += missing  # it waits there: at home, if that may be asked
    return {name: count for name, count in kept.items() if count}


def free_elsewhere(demand: Demand, capacities: Sequence[ClusterCapacity], held: HeldTags) -> int:
    """Count the containers that could still be asked for where nobody has rejected them."""
    free = 0
    for room in _places(demand, capacities, held):
        name = room.subcluster
        if name not in demand.rejected:
            free += _NO_BOUND if room.is_home else max(0, _slots(room, demand, held) - demand.standing.get(name, 0))
    return free


def _places(demand: Demand, capacities: Sequence[ClusterCapacity], held: HeldTags) -> Sequence[ClusterCapacity]:
    """Sub-clusters that may be asked; the home first, if it is one of them."""
    placement = demand.key.placement or PlacementConstraint()
    home = next(room for room in capacities if room.is_home)
    is_split = placement.is_local and not demand.key.is_opportunistic
    others = [
        room
        for room in capacities
        if is_split and not room.is_home and room.constraints in _JUDGES and could_hold(room, demand)
    ]
    places = [home, *others]
    if not placement.needs:
        return places
    has = [room for room in places if placement.needs <= _tags_at(room.subcluster, held)]
    return has or [home]


def _tags_at(subcluster: SubClusterId, held: HeldTags) -> frozenset[str]:
    return frozenset().union(*held.get(subcluster, ()))


def _slots(room: ClusterCapacity, demand: Demand, held: HeldTags) -> int:
    """Count the containers that fit in the free room, and that the constraint leaves to the nodes."""
    placement = demand.key.placement or PlacementConstraint()
    slots = slots_of(room, demand)
    if placement.most_a_node is None:
        return slots
    there = sum(placement.tags <= tags for tags in held.get(room.subcluster, ()))
    return min(slots, max(0, room.nodes * placement.most_a_node - there))


def _move_waiting(kept: dict[SubClusterId, int], slots: Mapping[SubClusterId, int], fresh: set[SubClusterId]) -> None:
    """Take back what waits too long, as much as there is room for elsewhere."""
    room = sum(max(0, slots[name] - kept[name]) for name in fresh)
    for name in kept.keys() - fresh:
        moved = min(kept[name], room)
        kept[name] -= moved
        room -= moved


def _trim(kept: dict[SubClusterId, int], total: int, places: Sequence[ClusterCapacity]) -> None:
    """Ask for less, at home last."""
    surplus = max(0, sum(kept.values()) - total)
    for room in reversed(places):
        taken = min(kept[room.subcluster], surplus)
        kept[room.subcluster] -= taken
        surplus -= taken
