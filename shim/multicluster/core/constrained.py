"""Split of asks with a placement constraint: at home what it can hold, the rest where the constraint can be judged.

A scheduler judges a constraint by the containers on its own nodes. Where the constraint bounds how many containers with
some tags a node or a rack may have, each sub-cluster judges its own part, and the count can be split. Where it wants
containers with some tags to be there already, only sub-clusters that have such containers are asked.

A sub-cluster that has rejected such an ask is not asked again before the ApplicationMaster asks again.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from shim.domain.allocations import AskKey, ConstraintHandling, PlacementConstraint
from shim.domain.ids import SubClusterId
from shim.domain.resources import ResourceVector
from shim.multicluster.core.cluster_capacity import ClusterCapacity
from shim.multicluster.core.demands import Demand
from shim.multicluster.core.splitter import could_hold, shares_of, slots_of

__all__ = ["HeldTags", "SpokenFor", "free_elsewhere", "split_constrained"]

HeldTags = Mapping[SubClusterId, Mapping[frozenset[str], int]]
"""How many containers the application has with exactly these tags, by sub-cluster."""

_NO_BOUND = 1 << 31
_JUDGES = frozenset({ConstraintHandling.TOTALS, ConstraintHandling.ADDS})


class SpokenFor:
    """Room that asks with a constraint are asked for: DistributedShell has one for each container."""

    def __init__(self) -> None:
        self._tags: dict[SubClusterId, Counter[frozenset[str]]] = {}
        self._amounts: dict[SubClusterId, ResourceVector] = {}

    def add(self, key: AskKey, targets: Mapping[SubClusterId, int], sign: int = 1) -> None:
        """Add what sub-clusters are asked for, or take it off."""
        tags = frozenset() if key.placement is None else key.placement.tags
        for name, count in targets.items():
            self._tags.setdefault(name, Counter())[tags] += sign * count
            self._amounts[name] = self._amounts.get(name, ResourceVector()) + key.resource.times(sign * count)

    def tagged(self, subcluster: SubClusterId, tags: frozenset[str]) -> int:
        """Count the containers with all of these tags that a sub-cluster is asked for."""
        return _count(self._tags.get(subcluster, {}), tags)

    def left(self, room: ClusterCapacity) -> ClusterCapacity:
        """Return a sub-cluster with what is free beside that."""
        return replace(room, free=room.free - self._amounts.get(room.subcluster, ResourceVector()))


def split_constrained(
    demand: Demand,
    capacities: Sequence[ClusterCapacity],
    held: HeldTags,
    patience: int,
    spoken: SpokenFor | None = None,
) -> Mapping[SubClusterId, int]:
    """Counts by sub-cluster, which add up to the demand's total.

    Args:
        demand: With a placement.
        capacities: The sub-clusters as they are known now, the home among them.
        held: Tags of what the application has.
        patience: Beats without a grant after which an ask may move.
        spoken: What the application's other asks are asked for.
    """
    spoken = spoken or SpokenFor()
    places = [room for room in _places(demand, capacities, held) if room.subcluster not in demand.rejected]
    if not places:
        return {next(room.subcluster for room in capacities if room.is_home): demand.total}
    kept = {room.subcluster: demand.standing.get(room.subcluster, 0) for room in places}
    fresh = [room for room in places if demand.starved.get(room.subcluster, 0) < patience]
    if sum(kept.values()) == demand.total == sum(kept[room.subcluster] for room in fresh):
        return {name: count for name, count in kept.items() if count}  # all of it waits, and not for too long
    slots = {room.subcluster: _slots(room, demand, held, spoken) for room in places}
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


def free_elsewhere(
    demand: Demand, capacities: Sequence[ClusterCapacity], held: HeldTags, spoken: SpokenFor | None = None
) -> int:
    """Count the containers that could still be asked for where nobody has rejected them."""
    free, spoken = 0, spoken or SpokenFor()
    for room in _places(demand, capacities, held):
        name = room.subcluster
        if name not in demand.rejected and room.is_home:
            free += _NO_BOUND
        elif name not in demand.rejected:
            free += max(0, _slots(room, demand, held, spoken) - demand.standing.get(name, 0))
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


def _slots(room: ClusterCapacity, demand: Demand, held: HeldTags, spoken: SpokenFor) -> int:
    """Count the containers that fit in the free room, and that the constraint leaves to the nodes."""
    placement = demand.key.placement or PlacementConstraint()
    slots = slots_of(spoken.left(room), demand)
    if placement.most_a_node is None:
        return slots
    there = _count(held.get(room.subcluster, {}), placement.tags)
    there += spoken.tagged(room.subcluster, placement.tags)
    return min(slots, max(0, room.nodes * placement.most_a_node - there))


def _count(counts: Mapping[frozenset[str], int], tags: frozenset[str]) -> int:
    """Count the containers that have all of the tags."""
    return sum(count for each, count in counts.items() if tags <= each)


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
