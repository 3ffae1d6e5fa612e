"""Split of a request over sub-clusters.

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

Split of asks with a placement constraint: at home what it can hold, the rest where the constraint can be judged.

A scheduler judges a constraint by the containers on its own nodes. Where the constraint bounds how many containers with
some tags a node or a rack may have, each sub-cluster judges its own part, and the count can be split. Where it wants
containers with some tags to be there already, only sub-clusters that have such containers are asked.

A sub-cluster that has rejected such an ask is not asked again before the ApplicationMaster asks again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from shim.domain.allocations import (
    AskKey,
    ConstraintHandling,
    HeldTags,
    PendingRequest,
    PlacementConstraint,
    TagCounts,
    TaggedSpot,
    count_tagged,
)
from shim.domain.ids import ContainerId, SubClusterId
from shim.domain.launches import LaunchVerdict, WorkEstimate
from shim.domain.resources import ResourceVector
from shim.multicluster.core.ask_group import AskGroup
from shim.multicluster.core.containers import ContainerWatch
from shim.multicluster.core.events import ClusterCapacity, LedgerEffect, PlanEvent

_NO_BOUND = 1 << 31


@dataclass(frozen=True, slots=True)
class SplitSettings:
    """Limits of a split: how long an ask stays where it is, and how old a view may be.

    Attributes:
        move_after_beats: Heartbeats without a grant after which an ask may move.
        oldest_view_s: A view that is older is not planned on: asks are split by capacity alone.
    """

    move_after_beats: int
    oldest_view_s: float


class AskSplitter(ContainerWatch, Protocol):
    """Decides how many of a request each sub-cluster is asked for."""

    groups: dict[AskKey, AskGroup]
    """What the attempt asks for, shared with its `AskBook`; a splitter that carries out plans keeps its part there."""

    takes_constraints: bool
    """Whether `split` takes requests with a placement constraint."""

    @property
    def awaits_plan(self) -> bool:
        """Return whether containers are wanted that are to be planned before anybody is asked for them."""
        ...

    def drain(self) -> Sequence[LedgerEffect]:
        """Return effects beyond the ledger since the last call."""
        ...

    def take(self, event: PlanEvent) -> None:
        """Take in what a cycle or a Local Master says; the next `split` goes by it."""
        ...

    def split(self, request: PendingRequest, capacities: Sequence[ClusterCapacity]) -> Mapping[SubClusterId, int]:
        """Counts by sub-cluster.

        They add up to the request's count, less what somebody is still asked about, and what is withheld as others go
        first; to more where `has_spares`.
        """
        ...

    def has_spares(self, key: AskKey) -> bool:
        """True if the last `split` asks several sub-clusters for the same containers: the first to grant binds."""
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

    def clear(self) -> None: ...


class CapacitySplitter:
    """Splits by free capacity.

    Args:
        move_after_beats: Beats without a grant after which an ask may move.
    """

    awaits_plan = False
    takes_constraints = False

    def __init__(self, move_after_beats: int = 10) -> None:
        self.groups: dict[AskKey, AskGroup] = {}
        self._move_after_beats = move_after_beats

    def split(self, request: PendingRequest, capacities: Sequence[ClusterCapacity]) -> Mapping[SubClusterId, int]:
        """See the rules above."""
        if request.is_withheld:
            return {}
        home = next(room.subcluster for room in capacities if room.is_home)
        eligible = [room for room in capacities if may_have(room, request) and not room.is_trial]
        if not eligible:
            return {home: request.wanted}
        if request.is_strict:
            return split_strictly(request, eligible, home)
        local = data_in(eligible, request)
        kept = {room.subcluster: request.standing.get(room.subcluster, 0) for room in eligible}
        slots = {room.subcluster: slots_of(room, request) for room in eligible}
        self._move_starving(request, kept, slots)
        surplus = sum(kept.values()) - request.wanted
        for room in sorted(eligible, key=lambda room: slots[room.subcluster] - kept[room.subcluster]):
            taken = min(kept[room.subcluster], max(0, surplus))
            kept[room.subcluster] -= taken
            surplus -= taken
        _add(kept, request.wanted, [local, slots, sizes_of(eligible, request)], eligible)
        return {subcluster: count for subcluster, count in kept.items() if count}

    def drain(self) -> Sequence[LedgerEffect]:
        return ()

    def take(self, event: PlanEvent) -> None:
        """See `AskSplitter`: nobody plans for it."""

    def pins(self, key: AskKey) -> Mapping[SubClusterId, Mapping[str, int]]:  # noqa: ARG002 - the protocol's signature
        return {}

    def has_spares(self, key: AskKey) -> bool:  # noqa: ARG002 - the protocol's signature
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

    def _move_starving(
        self, request: PendingRequest, kept: dict[SubClusterId, int], slots: Mapping[SubClusterId, int]
    ) -> None:
        """Take asks that starve back, as many as there is room for elsewhere."""
        is_starving = {each: request.starved.get(each, 0) >= self._move_after_beats for each in kept}
        room = sum(max(0, slots[each] - kept[each]) for each in kept if not is_starving[each])
        for each, standing in kept.items():
            if is_starving[each]:
                moved = min(standing, room)
                kept[each] -= moved
                room -= moved


def may_have(room: ClusterCapacity, request: PendingRequest) -> bool:
    """Return whether the sub-cluster can be asked at all; what a placement constraint says of it is not looked at."""
    key = request.key
    if key.is_opportunistic and not room.is_home:
        return False  # they need a scheduler that is set up for them
    has_label = not key.label or key.label in room.labels or "*" in room.labels
    return has_label and could_hold(room, request)


def could_hold(room: ClusterCapacity, request: PendingRequest) -> bool:
    """Return whether a sub-cluster is open to such asks, and has nodes large enough."""
    if not room.is_open or room.subcluster in request.refused or room.weight <= 0:
        return False
    return _fits(request.key.resource, room.largest)


def why_unmatched(request: PendingRequest, eligible: Mapping[SubClusterId, ClusterCapacity]) -> str:
    """Reason that an ask is not matched with free nodes, whatever the view shows; empty if it can be."""
    if not eligible:
        return "no sub-cluster can have it: the home says so in its own words"
    if request.is_strict and not request.places:
        return "only the named places will do, and none is named"
    return "such containers queue at nodes" if request.key.is_opportunistic else ""


def why_too_old(eligible: Mapping[SubClusterId, ClusterCapacity], oldest_view_s: float) -> str:
    """Name the sub-clusters with too old a view, and its age; empty if all are fresh enough."""
    old = [room for room in eligible.values() if room.age_s > oldest_view_s]
    named = ", ".join(f"{each.subcluster} {each.age_s:.1f} s" for each in old)
    return f"the view is too old: {named}" if old else ""


def _fits(needed: ResourceVector, largest: ResourceVector) -> bool:
    """A type that the sub-cluster does not tell of is not held against it."""
    known = {name: amount for name, amount in needed.others.items() if name in largest.others}
    vcores = needed.vcores if largest.vcores > 0 else 0
    return ResourceVector(needed.memory_mib, vcores, known).fits_in(largest)


def named_there(room: ClusterCapacity, request: PendingRequest) -> int:
    """Count the asks at its hosts; a rack's name alone says little, as most are `/default-rack`."""
    return sum(count for place, count in request.named.items() if place in room.racks)


def data_in(rooms: Sequence[ClusterCapacity], request: PendingRequest) -> Mapping[SubClusterId, int]:
    """Count the asks at data of each sub-cluster: at its hosts; if no host is known, at racks that not all have."""
    hosts = {room.subcluster: named_there(room, request) for room in rooms}
    if not request.named or any(hosts.values()):
        return hosts
    telling = [place for place in request.named if not all(place in room.rack_names for room in rooms)]
    return {room.subcluster: sum(request.named[each] for each in telling if each in room.rack_names) for room in rooms}


def split_strictly(
    request: PendingRequest, eligible: Sequence[ClusterCapacity], home: SubClusterId
) -> Mapping[SubClusterId, int]:
    """Only where the named places are; names that nobody knows are the home's."""
    hosts = {room.subcluster: named_there(room, request) for room in eligible}
    if not any(hosts.values()):
        hosts = {room.subcluster: sum(request.named.get(rack, 0) for rack in room.rack_names) for room in eligible}
    if not any(hosts.values()):
        return {home: request.wanted}
    split = dict.fromkeys(hosts, 0)
    _add(split, request.wanted, [hosts, {each: _NO_BOUND if count else 0 for each, count in hosts.items()}], eligible)
    return {each: count for each, count in split.items() if count}


def slots_of(room: ClusterCapacity, request: PendingRequest) -> int:
    """Count the containers of the request that fit in the free room."""
    needed = request.key.resource
    pairs = [(room.free.memory_mib, needed.memory_mib), (room.free.vcores, needed.vcores)]
    pairs += [(room.free.others[name], amount) for name, amount in needed.others.items() if name in room.free.others]
    return min((max(0, free) // amount for free, amount in pairs if amount > 0), default=_NO_BOUND)


def sizes_of(capacities: Sequence[ClusterCapacity], request: PendingRequest) -> Mapping[SubClusterId, int]:
    """Bounds for what nothing is free for: in the proportion of the sizes."""
    largest = max(room.size.memory_mib for room in capacities) or 1
    return {room.subcluster: max(1, request.wanted * room.size.memory_mib * 2 // largest) for room in capacities}


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


_JUDGES = frozenset({ConstraintHandling.TOTALS, ConstraintHandling.ADDS})


def split_constrained(
    request: PendingRequest, capacities: Sequence[ClusterCapacity], move_after_beats: int
) -> Mapping[SubClusterId, int]:
    """Counts by sub-cluster, which add up to the request's count.

    Args:
        capacities: The sub-clusters as they are known now, the home among them.
        move_after_beats: Beats without a grant after which an ask may move.
    """
    tags = request.tags or TagCounts()
    places = [room for room in places_of(request, capacities) if room.subcluster not in request.rejected]
    if not places:
        return {next(room.subcluster for room in capacities if room.is_home): request.wanted}
    kept = {room.subcluster: request.standing.get(room.subcluster, 0) for room in places}
    fresh = [room for room in places if request.starved.get(room.subcluster, 0) < move_after_beats]
    if sum(kept.values()) == request.wanted == sum(kept[room.subcluster] for room in fresh):
        return {name: count for name, count in kept.items() if count}  # all of it waits, and not for too long
    slots = {room.subcluster: _slots(room, request, tags) for room in places}
    _move_waiting(kept, slots, {room.subcluster for room in fresh})
    _trim(kept, request.wanted, places)
    missing = request.wanted - sum(kept.values())
    left = {room.subcluster: max(0, slots[room.subcluster] - kept[room.subcluster]) for room in fresh}
    weights = {room.subcluster: room.weight for room in places}
    for group in ([room for room in fresh if room.is_home], [room for room in fresh if not room.is_home]):
        added = shares_of(missing, {room.subcluster: left[room.subcluster] for room in group}, weights.__getitem__)
        for name, count in added.items():
            kept[name] += count
            missing -= count
    kept[places[0].subcluster] += missing  # it waits there: at home, if that may be asked
    return {name: count for name, count in kept.items() if count}


def free_elsewhere(request: PendingRequest, capacities: Sequence[ClusterCapacity]) -> int:
    """Count the containers that could still be asked for where nobody has rejected them."""
    free, tags = 0, request.tags or TagCounts()
    for room in places_of(request, capacities):
        name = room.subcluster
        if name not in request.rejected and room.is_home:
            free += _NO_BOUND
        elif name not in request.rejected:
            free += max(0, _slots(room, request, tags) - request.standing.get(name, 0))
    return free


def places_of(request: PendingRequest, capacities: Sequence[ClusterCapacity]) -> Sequence[ClusterCapacity]:
    """Sub-clusters that may be asked, also those that have rejected it; the home first, if it is one of them."""
    placement = request.key.placement or PlacementConstraint()
    home = next(room for room in capacities if room.is_home)
    is_split = placement.is_local and not request.key.is_opportunistic
    others = [
        room
        for room in capacities
        if is_split and not room.is_home and room.constraints in _JUDGES and could_hold(room, request)
    ]
    places = [home, *others]
    if not placement.needs:
        return places
    held = {} if request.tags is None else request.tags.held
    has = [room for room in places if placement.needs <= _tags_at(room.subcluster, held)]
    return has or [home]


def _tags_at(subcluster: SubClusterId, held: HeldTags) -> frozenset[str]:
    return frozenset().union(*held.get(subcluster, ()))


def _slots(room: ClusterCapacity, request: PendingRequest, tags: TagCounts) -> int:
    """Count the containers that fit in the free room, and that the constraint leaves to the nodes."""
    slots, most = (
        slots_of(replace(room, free=room.free - tags.claimed.amount(room.subcluster)), request),
        most_by_nodes(room, request, tags.held),
    )
    if most is None or request.key.placement is None:
        return slots
    return min(slots, max(0, most - tags.claimed.tagged(room.subcluster, request.key.placement.tags)))


def most_by_nodes(room: ClusterCapacity, request: PendingRequest, held: HeldTags) -> int | None:
    """Count the containers that the nodes of a sub-cluster can have beside what is held; None if nothing bounds them.

    May be negative: nodes went, or schedulers bound by a rack as well.
    """
    placement = request.key.placement
    if placement is None or placement.most_a_node is None:
        return None
    return room.nodes * placement.most_a_node - count_tagged(held.get(room.subcluster, {}), placement.tags)


def queue_by_tags(
    request: PendingRequest,
    capacities: Sequence[ClusterCapacity],
    most_at: Mapping[SubClusterId, int],
    asked: Mapping[SubClusterId, int],
    missing: int,
) -> Mapping[SubClusterId, int]:
    """Divide what no plan has a place for: at home first, and there, too, what the constraint leaves no room for.

    Args:
        capacities: Sub-clusters whose schedulers may be asked.
        most_at: Containers that the constraint leaves to the nodes of each; none where nothing bounds them.
        missing: Containers to be divided.
    """
    tags = frozenset() if request.key.placement is None else request.key.placement.tags
    added: dict[SubClusterId, int] = {}
    places = sorted(capacities, key=lambda room: not room.is_home)
    for name in [room.subcluster for room in places]:
        taken = asked.get(name, 0) + (request.tags.claimed.tagged(name, tags) if request.tags else 0)
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


# Decisions about an ask, as people are told of them.


@dataclass(frozen=True, slots=True)
class Weighed:
    """A sub-cluster as it was weighed for some asks.

    Attributes:
        room: Containers that could be had there by the view.
    """

    subcluster: SubClusterId
    room: int
    age_s: float


@dataclass(frozen=True, slots=True)
class AskDecision:
    """The newest split of some asks, with its grounds, for people.

    Attributes:
        wanted: Containers that no scheduler has granted.
        promised: How many of those have a tentative allocation.
        by: Which splitter decided; `reason` says why it was not the matching one.
        verdicts: The newest of these asks, each with how many were proposed.
        repairs: Promises that were not kept in time, and taken back.
        withheld: Containers that nobody is asked for, as other attempts go first; `behind` names those.
        estimate: What the order expects of the attempt, if it goes by learnt durations.
        rule: The policy of the queue that decided; empty if none did.
        gang: Where the gang stands that it is a part of; empty if it is part of none.
    """

    key: AskKey
    wanted: int
    asked: Mapping[SubClusterId, int]
    promised: Mapping[SubClusterId, int]
    by: str
    reason: str
    candidates: tuple[Weighed, ...]
    verdicts: tuple[tuple[int, LaunchVerdict], ...]
    repairs: int
    withheld: int = 0
    behind: tuple[str, ...] = ()
    estimate: WorkEstimate | None = None
    rule: str = ""
    gang: str = ""
