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
from shim.multicluster.core.tag_counts import HeldTags, TagCounts, count_tagged

__all__ = ["free_elsewhere", "most_by_nodes", "places_of", "queue_by_tags", "split_constrained"]

_NO_BOUND = 1 << 31
_JUDGES = frozenset({ConstraintHandling.TOTALS, ConstraintHandling.ADDS})


def split_constrained(
    demand: Demand, capacities: Sequence[ClusterCapacity], patience: int
) -> Mapping[SubClusterId, int]:
    """Counts by sub-cluster, which add up to the demand's total.

    Args:
        demand: With a placement.
        capacities: The sub-clusters as they are known now, the home among them.
        patience: Beats without a grant after which an ask may move.
    """
    tags = demand.tags or TagCounts()
    places = [room for room in places_of(demand, capacities) if room.subcluster not in demand.rejected]
    if not places:
        return {next(room.subcluster for room in capacities if room.is_home): demand.total}
    kept = {room.subcluster: demand.standing.get(room.subcluster, 0) for room in places}
    fresh = [room for room in places if demand.starved.get(room.subcluster, 0) < patience]
    if sum(kept.values()) == demand.total == sum(kept[room.subcluster] for room in fresh):
        return {name: count for name, count in kept.items() if count}  # all of it waits, and not for too long
    slots = {room.subcluster: _slots(room, demand, tags) for room in places}
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


def free_elsewhere(demand: Demand, capacities: Sequence[ClusterCapacity]) -> int:
    """Count the containers that could still be asked for where nobody has rejected them."""
    free, tags = 0, demand.tags or TagCounts()
    for room in places_of(demand, capacities):
        name = room.subcluster
        if name not in demand.rejected and room.is_home:
            free += _NO_BOUND
        elif name not in demand.rejected:
            free += max(0, _slots(room, demand, tags) - demand.standing.get(name, 0))
    return free


def places_of(demand: Demand, capacities: Sequence[ClusterCapacity]) -> Sequence[ClusterCapacity]:
    """Sub-clusters that may be asked, also those that have rejected it; the home first, if it is one of them."""
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
    held = {} if demand.tags is None else demand.tags.held
    has = [room for room in places if placement.needs <= _tags_at(room.subcluster, held)]
    return has or [home]


def _tags_at(subcluster: SubClusterId, held: HeldTags) -> frozenset[str]:
    return frozenset().union(*held.get(subcluster, ()))


def _slots(room: ClusterCapacity, demand: Demand, tags: TagCounts) -> int:
    """Count the containers that fit in the free room, and that the constraint leaves to the nodes."""
    slots, most = slots_of(tags.spoken.left(room), demand), most_by_nodes(room, demand, tags.held)
    if most is None or demand.key.placement is None:
        return slots
    return min(slots, max(0, most - tags.spoken.tagged(room.subcluster, demand.key.placement.tags)))


def most_by_nodes(room: ClusterCapacity, demand: Demand, held: HeldTags) -> int | None:
    """Count the containers that the nodes of a sub-cluster can have beside what is held; None if nothing bounds them.

    May be negative: nodes went, or schedulers bound by a rack as well.
    """
    placement = demand.key.placement
    if placement is None or placement.most_a_node is None:
        return None
    return room.nodes * placement.most_a_node - count_tagged(held.get(room.subcluster, {}), placement.tags)


def queue_by_tags(
    demand: Demand,
    capacities: Sequence[ClusterCapacity],
    most_at: Mapping[SubClusterId, int],
    asked: Mapping[SubClusterId, int],
    missing: int,
) -> Mapping[SubClusterId, int]:
    """Divide what no plan has a place for: at home first, and there, too, what the constraint leaves no room for.

    Args:
        demand: With a placement.
        capacities: Sub-clusters whose schedulers may be asked.
        most_at: Containers that the constraint leaves to the nodes of each; none where nothing bounds them.
        asked: Containers that each is asked for by now.
        missing: Containers to be divided.
    """
    tags = frozenset() if demand.key.placement is None else demand.key.placement.tags
    added: dict[SubClusterId, int] = {}
    places = sorted(capacities, key=lambda room: not room.is_home)
    for name in [room.subcluster for room in places]:
        taken = asked.get(name, 0) + (demand.tags.spoken.tagged(name, tags) if demand.tags else 0)
        added[name] = min(missing, max(0, most_at.get(name, taken + missing) - taken))
        missing -= added[name]
    added[places[0].subcluster] += missing
    return added


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
