"""Constraints between containers by tags: affinity, anti-affinity, cardinality, and choices between conjunctions.

A container with the subject's tags shall be in a set of nodes that holds at least and at most so many other containers
with some tags. Affinity is (1, no bound), anti-affinity (0, 0). All are soft: breaking one costs its weight times how
far it is broken.

Source: Garefalakis et al., "Medea: Scheduling of Long Running Applications in Shared Production Clusters", EuroSys
2018, section 4.

Room that placement constraints leave to requests: containers with some tags that a cluster or a node may still have.

Requests of one application for containers with the same tags are *kin*: what one is granted, the others have less.

Placement constraints of a queue's requests on real clusters: what they leave to clusters and nodes in a cycle.

The ResourceManager of a cluster judges each container and has the last word. What is counted here is what it would take
as far as is known: where the attempt's containers are, and how many of its promises await a grant in each cluster.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from shim.domain.allocations import PendingRequest, PlacementConstraint, TagBound, TaggedSpot
from shim.domain.ids import ApplicationAttemptId, NodeId, SubClusterId
from shim.domain.placement_rules import CLUSTER, NO_RULES, NODE, RACK, CountWish, OperatorConstraint, PlacementRules
from shim.domain.resources import Need
from shim.scheduling.node_index import Cell, SharedNodes, unpack_bits

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
NO_MOST = 1 << 20
"""Containers of a tag where nothing bounds them."""
NO_BOUND = 1 << 31
"""Containers that a queue may still have where nothing bounds it."""
_OF_OTHERS = frozenset({"all", "not-self"})
"""Namespaces in which other applications' tags are."""


@dataclass(frozen=True, slots=True)
class TagCount:
    """Bounds of a number of containers in a set of nodes.

    Attributes:
        group: Name of the node group: `node`, `rack`, or one of `ServiceFacts.node_groups`.
    """

    tags: frozenset[str]
    least: int
    most: int = NO_MOST
    group: str = "node"


@dataclass(frozen=True, slots=True)
class TagConstraint:
    """A wish of each container with the subject's tags.

    Attributes:
        any_of: Conjunctions, of which one shall hold.
        weight: A ratio far above the others' stands for a hard constraint; 0 for none at all.
        is_soft: Whether it may be broken even where constraints are hard, as no ResourceManager knows it.
    """

    subject: frozenset[str]
    any_of: tuple[tuple[TagCount, ...], ...]
    weight: float = 1.0
    is_soft: bool = False


@dataclass(frozen=True, slots=True)
class TaggedContainers:
    """Running containers of a service on one node."""

    node: int
    tags: frozenset[str]
    count: int = 1


@dataclass(frozen=True, slots=True)
class ServiceFacts:
    """Long-running services and what is wanted of their places.

    Attributes:
        tags: Of the containers of a waiting request, by its row; a request without an entry is of a task.
        node_groups: Sets of node rows, by name; `node` and `rack` are known without.
        keep_free: What a node should keep free for tasks, by resource type; empty for nothing.
    """

    tags: Mapping[int, frozenset[str]] = field(default_factory=lambda: MappingProxyType({}))
    running: tuple[TaggedContainers, ...] = ()
    constraints: tuple[TagConstraint, ...] = ()
    node_groups: Mapping[str, tuple[tuple[int, ...], ...]] = field(default_factory=lambda: MappingProxyType({}))
    keep_free: tuple[int, ...] = ()


NO_SERVICES = ServiceFacts()


def without_cardinality(constraint: TagConstraint) -> TagConstraint | None:
    """Return the rest of a constraint for a scheduler that knows affinity and anti-affinity alone; None for nothing.

    At least some containers become at least one; a bound that allows some is none. Kubernetes' scheduler is like this.
    """
    told = tuple(
        tuple(
            replace(count, least=min(count.least, 1), most=count.most if count.most == 0 else NO_MOST)
            for count in choice
            if count.least or not count.most
        )
        for choice in constraint.any_of
    )
    return replace(constraint, any_of=told) if all(told) else None


def extents_of(count: TagCount, found: IntArray) -> FloatArray:
    """Extent to which numbers of other containers break the bounds, 0 where they do not; of the shape of `found`."""
    short: FloatArray = np.maximum(count.least - found, 0) / max(count.least, 1)
    return short + np.maximum(found - count.most, 0) / max(count.most, 1)


@dataclass(frozen=True, slots=True, eq=False)
class TagBounds:
    """Bounds of one request.

    Attributes:
        at_cluster: int64 array of shape (n_clusters,): containers that each cluster may have beyond those it has.
        at_node: int64 array of shape (N,): the same of nodes.
    """

    kin: int
    at_cluster: IntArray
    at_node: IntArray


NO_TAG_BOUNDS: Mapping[int, TagBounds] = MappingProxyType({})


class TagHeadroom:
    """Bounds less what a cycle has granted so far.

    Args:
        bounds: By row of the request; a request without an entry is not bounded.
    """

    def __init__(self, bounds: Mapping[int, TagBounds]) -> None:
        self._bounds = bounds
        self._at_cluster: dict[int, IntArray] = {}
        self._at_node: dict[int, IntArray] = {}

    def __contains__(self, request: int) -> bool:
        return request in self._bounds

    def at_clusters(self, request: int) -> IntArray:
        """Containers that each cluster may still have of a bounded request; shape (n_clusters,)."""
        bounds = self._bounds[request]
        left: IntArray = np.maximum(bounds.at_cluster - self._at_cluster.get(bounds.kin, 0), 0)
        return left

    def at_nodes(self, request: int) -> IntArray:
        """The same of nodes; shape (N,)."""
        bounds = self._bounds[request]
        left: IntArray = np.maximum(bounds.at_node - self._at_node.get(bounds.kin, 0), 0)
        return left

    def at(self, request: int, cluster: int, node: int) -> int:
        """Containers that one node in a cluster may still have of a request that is bounded."""
        return int(min(self.at_clusters(request)[cluster], self.at_nodes(request)[node]))

    def within(self, request: int, clusters: IntArray, room: IntArray) -> IntArray:
        """So much of the room of some cells, whose clusters are named, as a request may have; shape (n_cells,)."""
        return np.minimum(room, self.at_clusters(request)[clusters]) if request in self._bounds else room

    def take_of_cells(self, request: int, clusters: IntArray, taken: IntArray) -> None:
        for cluster, count in zip(clusters.tolist(), taken.tolist(), strict=True) if request in self._bounds else ():
            self.take(request, cluster, count)

    def take(self, request: int, cluster: int, count: int, node: int | None = None) -> None:
        """Note a grant; a negative count takes one back. A request that is not bounded changes nothing."""
        bounds = self._bounds.get(request)
        if bounds is None:
            return
        self._at_cluster.setdefault(bounds.kin, np.zeros_like(bounds.at_cluster))[cluster] += count
        if node is not None:
            self._at_node.setdefault(bounds.kin, np.zeros_like(bounds.at_node))[node] += count


_TagGroup = tuple[ApplicationAttemptId, frozenset[str]]


def slots_at(nodes: SharedNodes, need: Need) -> list[int]:
    """Count the containers that fit on the nodes of each cell."""
    slots = _slots_on(nodes, need)
    return [int(slots[cell.rows].sum()) for cell in nodes.cells]


def _slots_on(nodes: SharedNodes, need: Need) -> IntArray:
    """Containers that fit on each node that will do; int64 array of shape (N,)."""
    columns = [column for column, amount in enumerate(need.demand) if amount]
    if not columns:
        return np.zeros(len(nodes), dtype=np.int64)
    amounts = np.array([need.demand[column] for column in columns], dtype=np.int64)
    slots: IntArray = np.maximum(np.min(nodes.free[:, columns] // amounts, axis=1), 0)
    for number, cell in enumerate(nodes.cells):
        slots[cell.rows] *= unpack_bits(nodes.eligible(need, number), cell.size)
    return slots


class TentativeByTags:
    """Counts of what is tentatively allocated to an attempt's requests, by the tags that its containers shall have."""

    def __init__(self, requests_of: Callable[[ApplicationAttemptId], Iterable[PendingRequest]]) -> None:
        self._requests_of = requests_of
        self._counts: dict[ApplicationAttemptId, Mapping[frozenset[str], Mapping[SubClusterId, int]]] = {}

    def forget(self, attempt: ApplicationAttemptId) -> None:
        """Count those of an attempt anew when they are asked for next: its requests have changed."""
        self._counts.pop(attempt, None)

    def of(self, attempt: ApplicationAttemptId, request: PendingRequest) -> Mapping[SubClusterId, int]:
        """Containers that are promised to a request and its kin, by sub-cluster."""
        if attempt not in self._counts:
            counts: dict[frozenset[str], Counter[SubClusterId]] = {}
            for each in self._requests_of(attempt):
                if each.key.placement is not None:
                    counts.setdefault(each.key.placement.tags, Counter()).update(each.tentative)
            self._counts[attempt] = counts
        return self._counts[attempt].get(_placement(request).tags, {})


def _placement(request: PendingRequest) -> PlacementConstraint:
    return request.key.placement or PlacementConstraint()


class TagBook:
    """Bounds of the requests of one cycle.

    Args:
        subclusters: In the order of their rows.
    """

    def __init__(
        self,
        subclusters: Sequence[SubClusterId],
        nodes: SharedNodes,
        names: Sequence[NodeId],
        tagged: Mapping[ApplicationAttemptId, Sequence[TaggedSpot]],
    ) -> None:
        self._subclusters = subclusters
        self._nodes = nodes
        self._rows = {name: row for row, name in enumerate(names)}
        self._tagged = tagged
        self._kin: dict[_TagGroup, int] = {}
        self._slots: dict[Need, IntArray] = {}
        self._left: dict[tuple[_TagGroup, int | None], IntArray] = {}
        self._usable: dict[tuple[_TagGroup, int | None, Need], Sequence[int]] = {}

    def bounds_of(
        self, attempt: ApplicationAttemptId, request: PendingRequest, need: Need, promised: Mapping[SubClusterId, int]
    ) -> TagBounds:
        """Bounds of a request whose constraint bounds it.

        Args:
            promised: What is allocated tentatively to its kin.
        """
        placement = _placement(request)
        kin, most_a_node = (attempt, placement.tags), placement.most_a_node
        if (kin, most_a_node) not in self._left:
            self._left[kin, most_a_node] = self._left_on_nodes(attempt, placement)
        at_node = self._left[kin, most_a_node]
        if (kin, most_a_node, need) not in self._usable:
            self._usable[kin, most_a_node, need] = self._usable_at(need, at_node)
        usable = self._usable[kin, most_a_node, need]
        most = [request.most_at.get(name, NO_BOUND) - promised.get(name, 0) for name in self._subclusters]
        at_cluster = np.clip(np.minimum(most, usable), 0, None).astype(np.int64)
        return TagBounds(self._kin.setdefault(kin, len(self._kin)), at_cluster, at_node)

    def _usable_at(self, need: Need, at_node: IntArray) -> Sequence[int]:
        """Containers that the nodes of each sub-cluster have room for, and may have."""
        if need not in self._slots:
            self._slots[need] = _slots_on(self._nodes, need)
        usable, counts = np.minimum(self._slots[need], at_node), [0] * len(self._subclusters)
        for cell in self._nodes.cells:
            counts[cell.cluster] += int(usable[cell.rows].sum())
        return counts

    def _left_on_nodes(self, attempt: ApplicationAttemptId, placement: PlacementConstraint) -> IntArray:
        most = NO_BOUND if placement.most_a_node is None else placement.most_a_node
        left = np.full(len(self._nodes), most, dtype=np.int64)
        for spot in self._tagged.get(attempt, ()):
            row = self._rows.get(spot.node)
            if row is not None and placement.tags <= spot.placement.tags:
                left[row] -= 1
        return np.maximum(left, 0)


# ---------------------------------------------------------------------- for policies that plan by constraints


def is_service(request: PendingRequest) -> bool:
    """Return whether an ask is of a service: its containers have tags, or a constraint says where they may be."""
    placement = request.key.placement
    return placement is not None and bool(placement.tags or placement.constraint)


def services_among(asks: Iterable[Iterable[tuple[PendingRequest, int]]]) -> frozenset[int]:
    """Rows of the asks of services, among those of several attempts."""
    return frozenset(row for each in asks for request, row in each if is_service(request))


def service_facts(
    requests: Iterable[tuple[ApplicationAttemptId, PendingRequest, int]],
    tagged: Mapping[ApplicationAttemptId, Sequence[TaggedSpot]],
    names: Sequence[NodeId],
    rules: PlacementRules = NO_RULES,
    cells: Sequence[Cell] = (),
) -> ServiceFacts:
    """Tags and constraints of what waits, and of what runs, in the words of a snapshot.

    A container has each tag twice: as it is, and as one of its application. Bounds of all others' tags (`not-self`) are
    left to the ResourceManagers, and so is what is asked of attributes.

    Args:
        tagged: Where each attempt has containers with tags.
        cells: Where the nodes of each sub-cluster are.
    """
    rows = {name: row for row, name in enumerate(names)}
    tags: dict[int, frozenset[str]] = {}
    constraints: dict[TagConstraint, None] = {}
    for attempt, request, row in requests:
        if is_service(request):
            tags[row] = _known_by(attempt, _placement(request))
            constraints |= dict.fromkeys(_constraints(attempt, _placement(request)))
    running: Counter[tuple[int, frozenset[str]]] = Counter()
    for attempt, spots in tagged.items():
        for spot in spots:
            if spot.node in rows:
                running[rows[spot.node], _known_by(attempt, spot.placement)] += 1
                constraints |= dict.fromkeys(_constraints(attempt, spot.placement))
    there = tuple(TaggedContainers(node, kind, count) for (node, kind), count in running.items())
    stated = tuple(map(_stated, rules.constraints))
    groups = _node_sets(rules, tuple(name.host for name in names)) if stated else {}
    if any(wish.group == CLUSTER for each in rules.constraints for choice in each.any_of for wish in choice):
        rows_at: dict[int, list[int]] = {}
        for cell in cells:
            rows_at.setdefault(cell.cluster, []).extend(range(cell.start, cell.start + cell.size))
        groups = {**groups, CLUSTER: tuple(map(tuple, rows_at.values()))}
    return ServiceFacts(tags, there, (*constraints, *stated), groups)


def _stated(constraint: OperatorConstraint) -> TagConstraint:
    """An operator's constraint in the words of a snapshot."""
    any_of = tuple(
        tuple(
            TagCount(wish.tags, wish.least, NO_MOST if wish.most is None else min(wish.most, NO_MOST), wish.group)
            for wish in choice
        )
        for choice in constraint.any_of
    )
    return TagConstraint(constraint.subject, any_of, constraint.weight, is_soft=not constraint.is_hard)


def owed_by_newcomers(placements: Iterable[PlacementConstraint]) -> tuple[OperatorConstraint, ...]:
    """What containers that want others' tags kept away need of those that come later: anti-affinity, the other way.

    A ResourceManager judges a container by its own constraint alone, when it comes. What is one of several choices, or
    of containers with several tags, cannot be told it.
    """
    found: dict[tuple[str, str, str], None] = {}
    for placement in placements:
        if len(placement.choices) == 1 and len(placement.tags) == 1:
            (own,), (choice,) = placement.tags, placement.choices
            away = (each for each in choice if each.most == 0 and each.whose in _OF_OTHERS and each.tag != own)
            found |= dict.fromkeys((each.tag, own, RACK if each.is_rack else NODE) for each in away)
    return tuple(
        OperatorConstraint(
            f"{own} without {tag}",
            frozenset({tag}),
            ((CountWish(frozenset({own}), 0, 0, group),),),
            weight=1.0,
            is_hard=True,
        )
        for tag, own, group in found
    )


@lru_cache(maxsize=8)
def _node_sets(rules: PlacementRules, hosts: tuple[str, ...]) -> Mapping[str, tuple[tuple[int, ...], ...]]:
    return MappingProxyType({group.name: group.members(hosts) for group in rules.node_groups})


def _own(application: object, tag: str) -> str:
    return f"{application}/{tag}"


def _subject(attempt: ApplicationAttemptId, placement: PlacementConstraint) -> frozenset[str]:
    """Tags that select the containers of an ask: those of its application with its tags, or with its constraint."""
    own = [_own(attempt.application, tag) for tag in placement.tags]
    return frozenset(own or [_own(attempt.application, f"#{placement.constraint.hex()}")])


def _known_by(attempt: ApplicationAttemptId, placement: PlacementConstraint) -> frozenset[str]:
    return placement.tags | _subject(attempt, placement)


def _constraints(attempt: ApplicationAttemptId, placement: PlacementConstraint) -> Sequence[TagConstraint]:
    choices = tuple(
        tuple(count for bound in choice if (count := _count_of(attempt, bound)) is not None)
        for choice in placement.choices
    )
    return [TagConstraint(_subject(attempt, placement), choices)] if choices and all(choices) else []


def _count_of(attempt: ApplicationAttemptId, bound: TagBound) -> TagCount | None:
    most = NO_MOST if bound.most is None else min(bound.most, NO_MOST)
    group = "rack" if bound.is_rack else "node"
    if bound.whose == "not-self":
        return None
    of_one = bound.whose.removeprefix("app-id/") if bound.whose.startswith("app-id/") else attempt.application
    tag = bound.tag if bound.whose == "all" else _own(of_one, bound.tag)
    return TagCount(frozenset({tag}), bound.least, most, group)
