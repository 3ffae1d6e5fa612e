"""The first in line at each sub-cluster, among those that wait there: only they may wait in its scheduler's queue.

Look ahead of policies that place by themselves: who is asked for before there is room.

Between the end of a container and the next cycle's placement lie seconds in which a place of short tasks stays free. So
schedulers are asked for those next in the policy's own rank as well, for as many containers as come free meanwhile.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from shim.domain.ids import ApplicationAttemptId, SubClusterId
from shim.domain.requests import PendingRequest
from shim.scheduling.cycle import CycleState, entitle, order
from shim.scheduling.plan import Plan
from shim.scheduling.policy import Policy
from shim.scheduling.snapshot import Snapshot

_MOST_NAMED = 16


_Place = tuple[SubClusterId, str]


class Spot(NamedTuple):
    """Nodes of one label in some sub-clusters: where a request waits, or may have its containers."""

    subclusters: frozenset[SubClusterId]
    label: str


@dataclass(slots=True)
class ComingFree:
    """Containers that come free at each sub-cluster soon, and those who want them in their order.

    Attributes:
        soon: Containers that come free at each sub-cluster before whoever is next could be told; none where it has no
            entry.
        before: Containers that those in line so far want, by sub-cluster and label of nodes.
    """

    soon: Mapping[SubClusterId, float] = field(default_factory=dict)
    before: dict[_Place, float] = field(default_factory=dict)

    @property
    def is_any(self) -> bool:
        """Return whether anything comes free anywhere."""
        return any(int(count) for count in self.soon.values())

    def is_left(self, place: _Place) -> bool:
        """Return whether those in line want less than comes free."""
        return self.before.get(place, 0.0) < int(self.soon.get(place[0], 0.0))

    def join(self, place: _Place, count: float) -> None:
        """Put whoever wants so many containers at the end of the line."""
        self.before[place] = self.before.get(place, 0.0) + count

    def take(self, spot: Spot, count: int) -> Mapping[SubClusterId, int]:
        """Put a request at the end of the line, and give it what is left of what comes free, up to so many in all."""
        found: dict[SubClusterId, int] = {}
        left = {name: self.left((name, spot.label)) for name in spot.subclusters}
        for name in sorted(left, key=lambda name: (-left[name], name)):
            taken = min(left[name], count - sum(found.values()))
            if taken > 0:
                found[name] = taken
                self.join((name, spot.label), taken)
        return found

    def left(self, place: _Place) -> int:
        """Count what comes free there beyond what those in line want."""
        return int(self.soon.get(place[0], 0.0)) - math.ceil(self.before.get(place, 0.0))


@dataclass(slots=True)
class FirstInLine:
    """The attempts that go first at each sub-cluster, on nodes of each label, among those that wait there.

    Where containers come free faster than news of it, the first alone would leave them idle: the next ones may wait in
    the scheduler's queue, too, as long as those before them want fewer containers than come free meanwhile.

    Nobody asks a scheduler for more than comes free soon: an ask that waits there stands before what comes later, in a
    scheduler that serves by arrival even before ApplicationMasters that could start. The first in line asks for one.

    Attributes:
        soon: As of `ComingFree`.
        waiting: Attempts in their order, with where each waits for something.
    """

    soon: Mapping[SubClusterId, float] = field(default_factory=dict)
    waiting: list[tuple[ApplicationAttemptId, Spot]] = field(default_factory=list)
    _line: ComingFree = field(init=False)
    _firsts: dict[ApplicationAttemptId, set[_Place]] = field(default_factory=dict)
    _full: set[Spot] = field(default_factory=set)
    _open: dict[Spot, frozenset[SubClusterId]] = field(default_factory=dict)
    _names: dict[Spot, tuple[str, ...]] = field(default_factory=dict)
    _most: dict[tuple[ApplicationAttemptId, _Place], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._line = ComingFree(self.soon)

    def note(self, attempt: ApplicationAttemptId, spot: Spot, count: int = 1) -> None:
        """Take in where an attempt waits for how many containers; attempts come in their order."""
        self.waiting.append((attempt, spot))
        if spot in self._full:  # somebody is first at each of these, and wants all that comes free
            return
        mine, each = self._firsts.get(attempt, set()), max(1, count) / max(1, len(spot.subclusters))
        for name in spot.subclusters:
            place = name, spot.label
            if self._is_open(place):
                self._firsts.setdefault(attempt, mine).add(place)
                self._most[attempt, place] = max(1, self._line.left(place))
            self._line.join(place, each)
        if not any(self._is_open((name, spot.label)) for name in spot.subclusters):
            self._full.add(spot)

    def _is_open(self, place: _Place) -> bool:
        """True if nobody waits there, or those who do want less than comes free soon."""
        return place not in self._line.before or self._line.is_left(place)

    def may_queue(self, attempt: ApplicationAttemptId, spot: Spot) -> frozenset[SubClusterId]:
        """Name the sub-clusters at which no other goes before an attempt that waits for something there."""
        found = self._open.get(spot)
        if found is None:
            found = self._open[spot] = frozenset(name for name in spot.subclusters if self._is_open((name, spot.label)))
        mine = self._firsts.get(attempt)
        if mine is None:
            return found
        return found | {name for name in spot.subclusters if (name, spot.label) in mine}

    def at_most(self, attempt: ApplicationAttemptId, spot: Spot) -> Mapping[SubClusterId, int]:
        """Count the containers that an attempt may ask each of those schedulers for before there is room."""
        places = ((name, spot.label) for name in self.may_queue(attempt, spot))
        return {place[0]: self._most.get((attempt, place)) or max(1, self._line.left(place)) for place in places}

    def names(self, attempt: ApplicationAttemptId, spot: Spot) -> tuple[str, ...]:
        """Applications that go before an attempt somewhere, the first of them first."""
        names = self._names.get(spot)
        if names is None:
            matching = (
                str(each.application)
                for each, there in self.waiting
                if there.label == spot.label and not there.subclusters.isdisjoint(spot.subclusters)
            )
            names = self._names[spot] = tuple(islice(dict.fromkeys(matching), _MOST_NAMED))
        own = str(attempt.application)
        return names[: names.index(own)] if own in names else names


def spot_of(request: PendingRequest) -> Spot:
    """Nodes that a request may have its containers on."""
    return Spot(request.may_use, request.key.label)


def waits_at(request: PendingRequest, closed: frozenset[SubClusterId] = frozenset()) -> Spot:
    """Nodes where a request goes before later ones: it is allocated something there, or could have what it lacks.

    It lacks nothing that it could have where it is `closed` by its placement constraint.
    """
    promised = frozenset(request.tentative)
    places = (request.may_use - closed) | promised if request.unallocated else promised
    return Spot(places - request.unresponsive if request.unresponsive else places, request.key.label)


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
