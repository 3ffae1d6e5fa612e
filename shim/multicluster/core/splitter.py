"""Split of a demand over sub-clusters.

`AskSplitter` is what the ledger needs; the one in `planned.py` carries out the plans of the queue's cycle. The splitter
below needs nothing but a look at the sub-clusters, and stands in where that one cannot.

What is asked for already stays where it is asked for, unless it starves there: moving an ask loses its place in a
queue.

The rules of `CapacitySplitter`, in their order:

1. sub-clusters that cannot have it (no queue, no such label, no node so large, closed) are out; if all are, the home
   gets everything, and says what a ResourceManager says;
2. asks that starve where they stand move to where there is room for them;
3. more is asked for: first where the nodes and racks are that were named, then by free room and weight, then, where
   nothing is free, by size and weight;
4. less is asked for: the first to be asked for less is the one with the least room.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from shim.domain.allocations import AskKey, TaggedSpot
from shim.domain.ids import ContainerId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.multicluster.core.cluster_capacity import ClusterCapacity
from shim.multicluster.core.containers import ContainerWatch
from shim.multicluster.core.demands import Demand, GangDemand
from shim.multicluster.core.events import LedgerEffect
from shim.multicluster.core.plan_events import PlanEvent

__all__ = [
    "AskSplitter",
    "CapacitySplitter",
    "Demand",
    "GangDemand",
    "SplitSettings",
    "could_hold",
    "data_in",
    "may_have",
    "named_there",
    "shares_of",
    "sizes_of",
    "slots_of",
    "split_strictly",
    "why_too_old",
    "why_unmatched",
]

_NO_BOUND = 1 << 31


@dataclass(frozen=True, slots=True)
class SplitSettings:
    """Limits of a split: how long an ask stays where it is, and how old a view may be.

    Attributes:
        patience: Heartbeats without a grant after which an ask may move.
        oldest_s: A view that is older is not planned on: asks are split by capacity alone.
    """

    patience: int
    oldest_s: float


class AskSplitter(ContainerWatch, Protocol):
    """Decides how many of a demand each sub-cluster is asked for."""

    takes_constraints: bool
    """Whether `split` takes demands with a placement constraint."""

    @property
    def awaits_plan(self) -> bool:
        """Tell whether containers are wanted that are to be planned before anybody is asked for them."""
        ...

    def drain(self) -> Sequence[LedgerEffect]:
        """Return effects beyond the ledger since the last call."""
        ...

    def take(self, event: PlanEvent) -> None:
        """Take in what a cycle or a Local Master says; the next `split` goes by it."""
        ...

    def split(self, demand: Demand, capacities: Sequence[ClusterCapacity]) -> Mapping[SubClusterId, int]:
        """Counts by sub-cluster.

        They add up to the demand's total, less what somebody is still asked about, and what is withheld as others go
        first; to more where `has_spares`.
        """
        ...

    def has_spares(self, key: AskKey) -> bool:
        """Tell whether the last `split` asks several sub-clusters for the same containers: the first to grant binds."""
        ...

    def pins(self, key: AskKey) -> Mapping[SubClusterId, Mapping[str, int]]:
        """Hosts that are named to a scheduler for what the last `split` asks it for, with how many at each.

        Schedulers of sub-clusters that are not in here are told of every place that the asks name.
        """
        ...

    def granted(self, key: AskKey, subcluster: SubClusterId, host: str = "") -> None:
        """A scheduler granted a container of these asks, on a host if that is known."""
        ...

    def drop(self, key: AskKey) -> None:
        """Forget a key: nothing more of these asks is wanted."""
        ...

    def begin_anew(self) -> None:
        """Begin anew: every ask will be stated once more."""
        ...

    def clear(self) -> None:
        """Forget every ask."""
        ...


class CapacitySplitter:
    """Splits by free capacity.

    Args:
        patience: Beats without a grant after which an ask may move.
    """

    awaits_plan = False
    takes_constraints = False

    def __init__(self, patience: int = 10) -> None:
        self._patience = patience

    def split(self, demand: Demand, capacities: Sequence[ClusterCapacity]) -> Mapping[SubClusterId, int]:
        """See the rules above."""
        if demand.is_withheld:
            return {}
        home = next(room.subcluster for room in capacities if room.is_home)
        eligible = [room for room in capacities if may_have(room, demand) and not room.is_trial]
        if not eligible:
            return {home: demand.total}
        if demand.is_strict:
            return split_strictly(demand, eligible, home)
        local = data_in(eligible, demand)
        kept = {room.subcluster: demand.standing.get(room.subcluster, 0) for room in eligible}
        slots = {room.subcluster: slots_of(room, demand) for room in eligible}
        self._move_starving(demand, kept, slots)
        surplus = sum(kept.values()) - demand.total
        for room in sorted(eligible, key=lambda room: slots[room.subcluster] - kept[room.subcluster]):
            taken = min(kept[room.subcluster], max(0, surplus))
            kept[room.subcluster] -= taken
            surplus -= taken
        _add(kept, demand.total, [local, slots, sizes_of(eligible, demand)], eligible)
        return {subcluster: count for subcluster, count in kept.items() if count}

    def drain(self) -> Sequence[LedgerEffect]:
        """See `AskSplitter`: nothing."""
        return ()

    def take(self, event: PlanEvent) -> None:
        """See `AskSplitter`: nobody plans for it."""

    def pins(self, key: AskKey) -> Mapping[SubClusterId, Mapping[str, int]]:  # noqa: ARG002 - the protocol's signature
        """See `AskSplitter`: all are told of every place."""
        return {}

    def has_spares(self, key: AskKey) -> bool:  # noqa: ARG002 - the protocol's signature
        """See `AskSplitter`: never."""
        return False

    def granted(self, key: AskKey, subcluster: SubClusterId, host: str = "") -> None:
        """See `AskSplitter`: it remembers nothing."""

    def drop(self, key: AskKey) -> None:
        """See `AskSplitter`."""

    def begin_anew(self) -> None:
        """See `AskSplitter`."""

    def clear(self) -> None:
        """See `AskSplitter`."""

    def begun(
        self,
        container: ContainerId,
        since_s: float | None,
        resource: ResourceVector | None = None,
        spot: TaggedSpot | None = None,
    ) -> None:
        """See `ContainerWatch`."""

    def ended(self, container: ContainerId, *, is_whole: bool) -> None:
        """See `ContainerWatch`."""

    def _move_starving(self, demand: Demand, kept: dict[SubClusterId, int], slots: Mapping[SubClusterId, int]) -> None:
        """Take asks that starve back, as many as there is room for elsewhere."""
        is_starving = {each: demand.starved.get(each, 0) >= self._patience for each in kept}
        room = sum(max(0, slots[each] - kept[each]) for each in kept if not is_starving[each])
        for each, standing in kept.items():
            if is_starving[each]:
                moved = min(standing, room)
                kept[each] -= moved
                room -= moved


def may_have(room: ClusterCapacity, demand: Demand) -> bool:
    """Tell whether the sub-cluster can be asked at all; what a placement constraint says of it is not looked at."""
    key = demand.key
    if key.is_opportunistic and not room.is_home:
        return False  # they need a scheduler that is set up for them
    has_label = not key.label or key.label in room.labels or "*" in room.labels
    return has_label and could_hold(room, demand)


def could_hold(room: ClusterCapacity, demand: Demand) -> bool:
    """Tell whether a sub-cluster is open to such asks, and has nodes large enough."""
    if not room.is_open or room.subcluster in demand.refused or room.weight <= 0:
        return False
    return _fits(demand.key.resource, room.largest)


def why_unmatched(demand: Demand, eligible: Mapping[SubClusterId, ClusterCapacity]) -> str:
    """Reason that an ask is not matched with free nodes, whatever the view shows; empty if it can be."""
    if not eligible:
        return "no sub-cluster can have it: the home says so in its own words"
    if demand.is_strict and not demand.allowed:
        return "only the named places will do, and none is named"
    return "such containers queue at nodes" if demand.key.is_opportunistic else ""


def why_too_old(eligible: Mapping[SubClusterId, ClusterCapacity], oldest_s: float) -> str:
    """Name the sub-clusters with too old a view, and its age; empty if all are fresh enough."""
    old = [room for room in eligible.values() if room.age_s > oldest_s]
    named = ", ".join(f"{each.subcluster} {each.age_s:.1f} s" for each in old)
    return f"the view is too old: {named}" if old else ""


def _fits(needed: ResourceVector, largest: ResourceVector) -> bool:
    """A type that the sub-cluster does not tell of is not held against it."""
    known = {name: amount for name, amount in needed.others.items() if name in largest.others}
    vcores = needed.vcores if largest.vcores > 0 else 0
    return ResourceVector(needed.memory_mib, vcores, known).fits_in(largest)


def named_there(room: ClusterCapacity, demand: Demand) -> int:
    """Count the asks at its hosts; a rack's name alone says little, as most are `/default-rack`."""
    return sum(count for place, count in demand.places.items() if place in room.racks)


def data_in(rooms: Sequence[ClusterCapacity], demand: Demand) -> Mapping[SubClusterId, int]:
    """Count the asks at data of each sub-cluster: at its hosts; if no host is known, at racks that not all have."""
    hosts = {room.subcluster: named_there(room, demand) for room in rooms}
    if not demand.places or any(hosts.values()):
        return hosts
    telling = [place for place in demand.places if not all(place in room.rack_names for room in rooms)]
    return {room.subcluster: sum(demand.places[each] for each in telling if each in room.rack_names) for room in rooms}


def split_strictly(
    demand: Demand, eligible: Sequence[ClusterCapacity], home: SubClusterId
) -> Mapping[SubClusterId, int]:
    """Only where the named places are; names that nobody knows are the home's."""
    hosts = {room.subcluster: named_there(room, demand) for room in eligible}
    if not any(hosts.values()):
        hosts = {room.subcluster: sum(demand.places.get(rack, 0) for rack in room.rack_names) for room in eligible}
    if not any(hosts.values()):
        return {home: demand.total}
    split = dict.fromkeys(hosts, 0)
    _add(split, demand.total, [hosts, {each: _NO_BOUND if count else 0 for each, count in hosts.items()}], eligible)
    return {each: count for each, count in split.items() if count}


def slots_of(room: ClusterCapacity, demand: Demand) -> int:
    """Count the containers of the demand that fit in the free room."""
    needed = demand.key.resource
    pairs = [(room.free.memory_mib, needed.memory_mib), (room.free.vcores, needed.vcores)]
    pairs += [(room.free.others[name], amount) for name, amount in needed.others.items() if name in room.free.others]
    return min((max(0, free) // amount for free, amount in pairs if amount > 0), default=_NO_BOUND)


def sizes_of(capacities: Sequence[ClusterCapacity], demand: Demand) -> Mapping[SubClusterId, int]:
    """Bounds for what nothing is free for: in the proportion of the sizes."""
    largest = max(room.size.memory_mib for room in capacities) or 1
    return {room.subcluster: max(1, demand.total * room.size.memory_mib * 2 // largest) for room in capacities}


def _add(
    counts: dict[SubClusterId, int],
    total: int,
    bounds: Sequence[Mapping[SubClusterId, int]],
    capacities: Sequence[ClusterCapacity],
) -> None:
    """Raise the counts to the total, up to each of the bounds in turn, by weight below a bound."""
    weights = {room.subcluster: room.weight for room in capacities}
    last = dict.fromkeys(counts, _NO_BOUND)
    for bound in (*bounds, last):
        missing = total - sum(counts.values())
        if missing <= 0:
            return
        left = {each: max(0, bound[each] - counts[each]) for each in counts}
        for each, share in shares_of(missing, left, lambda name: weights[name]).items():
            counts[each] += share


def shares_of(
    amount: int, left: Mapping[SubClusterId, int], weight: Callable[[SubClusterId], float]
) -> Mapping[SubClusterId, int]:
    """At most `amount` in whole parts, in proportion to what is left times the weight, nowhere more than is left."""
    most = min(amount, sum(left.values()))
    pull = {name: bound * weight(name) for name, bound in left.items()}
    total = sum(pull.values())
    exact = {name: most * value / total if total else 0.0 for name, value in pull.items()}
    shares = {name: min(left[name], int(value)) for name, value in exact.items()}
    while sum(shares.values()) < most:
        name = max(
            (name for name in shares if shares[name] < left[name]),
            key=lambda name: (exact[name] - shares[name], left[name]),
        )
        shares[name] += 1
    return shares
