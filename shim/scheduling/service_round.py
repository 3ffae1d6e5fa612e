"""One round of placing services: what waits, what runs, and what any placement of all together is worth.

    (1/k) services placed whole - (0.5/m) weighted extent of violations + (0.25/N) nodes that keep room for tasks
        - (0/N) nodes without a service that get one - 0 largest part that any node gives of its free room

of k services, m constraints that concern any of their containers or of those that run, and N nodes. Containers that
run count as those that are placed do, and are not moved.

Source: Garefalakis et al., EuroSys 2018, section 5.2.

Caps on what services may have of the nodes of a cluster together, beside what each node has room for.

They come from the limits of a queue, and from placement constraints of which a part is promised already.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shim.scheduling.durations import FloatArray
from shim.scheduling.free_capacity import FreeCapacity
from shim.scheduling.parameters import parameter
from shim.scheduling.plan import Plan
from shim.scheduling.snapshot import Column, IntArray, RequestColumn, Snapshot
from shim.scheduling.tag_constraints import TagConstraint, TagCount, extents_of

_SOFT = 0.5
"""Of what a service placed is worth: what all of its containers lose with all soft constraints broken by one."""


@dataclass(frozen=True, slots=True)
class PlacementWeights:
    """Weights of the parts of the objective; the first three are the paper's, which names the others as aims.

    The published 0.5 of violations lets a node kept free outweigh a broken constraint once there are many constraints,
    as their extent is divided by their number.
    """

    placed: float = parameter(
        1.0, name="placed_weight", section="section 5.2 (w1)", published=1.0, meaning="Weight of services placed."
    )
    violated: float = parameter(
        0.5,
        name="violated_weight",
        section="section 5.2 (w2)",
        published=0.5,
        meaning="Weight of the extent to which constraints are broken.",
    )
    roomy: float = parameter(
        0.25,
        name="roomy_weight",
        section="section 5.2 (w3)",
        published=0.25,
        meaning="Weight of nodes that keep free capacity for tasks.",
    )
    fewer: float = parameter(
        0.0,
        name="fewer_nodes_weight",
        section="section 2.4",
        meaning="Weight of nodes without a service that get one: above 0, services share nodes.",
    )
    balanced: float = parameter(
        0.0,
        name="balance_weight",
        section="section 2.4",
        meaning="Weight of the largest part that any node gives of its free capacity: above 0, services are spread.",
    )


@dataclass(frozen=True, slots=True)
class TaggedGroup:
    """Containers of a service that are alike.

    Attributes:
        requests: Rows of the requests, of which each may have any of the places.
        service: Row of the job: all of its groups are placed whole, or none is.
    """

    requests: tuple[int, ...]
    service: int
    tags: frozenset[str]
    count: int
    demand: tuple[int, ...]


class ServiceRound:
    """Services that wait, on the nodes of a snapshot.

    A placement is an int64 array of shape (n_groups, n_nodes): containers of each group on each node.

    Attributes:
        groups: In the order of their turns.
        services: Rows of the jobs, in that order.
        free: int64 array of shape (N, R).
        may_go: bool array of shape (n_groups, N): nodes that will do, and have room for one.
        caps: What bounds groups beyond the room of nodes.
    """

    def __init__(self, snapshot: Snapshot, requests: Sequence[int], weights: PlacementWeights) -> None:
        facts = snapshot.knowledge.services
        self.groups = _groups_of(snapshot, requests)
        self.services = list(dict.fromkeys(group.service for group in self.groups))
        self.free: IntArray = np.maximum(snapshot.nodes.free, 0)
        room = FreeCapacity(snapshot)
        self.may_go: NDArray[np.bool_] = np.zeros((len(self.groups), self.n_nodes), dtype=np.bool_)
        for row, group in enumerate(self.groups):
            self.may_go[row] = room.slots(group.requests[0]) > 0
        self.caps = caps_of(snapshot, [group.requests[0] for group in self.groups])
        self.running = facts.running
        kinds = {group.tags for group in self.groups} | {each.tags for each in self.running}
        self.constraints = [
            each for each in facts.constraints if each.weight > 0.0 and any(each.subject <= tags for tags in kinds)
        ]
        self.weights = weights
        kept = facts.keep_free or (0,) * self.free.shape[1]
        self.kept: IntArray = np.array(kept, dtype=np.int64)
        self._named = dict(facts.node_groups)
        racks = snapshot.nodes.racks if len(snapshot.nodes.racks) else np.zeros(len(self.free), dtype=np.int64)
        self._racks = racks
        self._sets: dict[str, IntArray] = {}

    def price(self, constraint: TagConstraint) -> float:
        """Cost of one unit of the extent to which a constraint is broken, in the objective.

        Where some are hard, all soft ones together cost less than a service that is not placed: nobody waits for them.
        """
        if constraint.is_soft:
            soft = sum(each.weight for each in self.constraints if each.is_soft)
            waiting = sum(group.count for group in self.groups)
            return _SOFT * self.weights.placed * constraint.weight / (soft * max(1, len(self.services) * waiting))
        hard = sum(not each.is_soft for each in self.constraints)
        return self.weights.violated * constraint.weight / max(1, hard)

    @cached_property
    def has_service(self) -> NDArray[np.bool_]:
        """Nodes where services run; shape (N,)."""
        found = np.zeros(self.n_nodes, dtype=np.bool_)
        found[[each.node for each in self.running if each.count]] = True
        return found

    @property
    def n_nodes(self) -> int:
        return len(self.free)

    def sets_of(self, group: str) -> IntArray:
        """Membership of a node group: int64 array of shape (n_sets, n_nodes), 1 where a node is in a set.

        A group that nobody named has no sets: what is wanted in it is always there.
        """
        if group not in self._sets:
            self._sets[group] = self._membership(group)
        return self._sets[group]

    def n_sets(self, group: str) -> int:
        return self.n_nodes if self.is_each_node(group) else len(self.sets_of(group))

    def _membership(self, group: str) -> IntArray:
        if self.is_each_node(group):
            return np.eye(self.n_nodes, dtype=np.int64)
        if group == "rack" and group not in self._named:
            racks: IntArray = (np.unique(self._racks)[:, None] == self._racks[None, :]).astype(np.int64)
            return racks
        found = np.zeros((len(self._named.get(group, ())), self.n_nodes), dtype=np.int64)
        for row, nodes in enumerate(self._named.get(group, ())):
            found[row, list(nodes)] = 1
        return found

    @cached_property
    def _kinds(self) -> list[frozenset[str]]:
        """Tags of what waits, by group, then of what runs."""
        return [*(group.tags for group in self.groups), *(each.tags for each in self.running)]

    def with_running(self, placement: IntArray) -> IntArray:
        """A placement with a row for each running container group."""
        rows = np.zeros((len(self.running), self.n_nodes), dtype=np.int64)
        for row, each in enumerate(self.running):
            rows[row, each.node] = each.count
        return np.concatenate((placement, rows))

    def tagged(self, tags: frozenset[str], placed: IntArray) -> IntArray:
        """Containers with all of some tags by node; `placed` is `with_running`. Shape (n_nodes,)."""
        rows = [row for row, kind in enumerate(self._kinds) if tags <= kind]
        found: IntArray = placed[rows].sum(axis=0)
        return found

    def cost_by_node(self, constraint: TagConstraint, tags: frozenset[str], placed: IntArray) -> FloatArray:
        """Extent to which a container with some tags, itself among `placed`, breaks a constraint, by its node."""
        choices = [
            sum(
                (self._extents(count, placed, 1 if count.tags <= tags else 0) for count in choice),
                np.zeros(self.n_nodes),
            )
            for choice in constraint.any_of
        ]
        least: FloatArray = np.min(choices, axis=0)
        return least

    def _extents(self, count: TagCount, placed: IntArray, itself: int) -> FloatArray:
        others = self._totals(count.group, self.tagged(count.tags, placed)) - itself
        return self._by_node(count.group, extents_of(count, others))

    def _totals(self, group: str, by_node: IntArray) -> IntArray:
        found: IntArray = by_node if self.is_each_node(group) else self.sets_of(group) @ by_node
        return found

    def _by_node(self, group: str, by_set: FloatArray) -> FloatArray:
        found: FloatArray = by_set if self.is_each_node(group) else by_set @ self.sets_of(group)
        return found

    def is_each_node(self, group: str) -> bool:
        return group == "node" and group not in self._named

    def added_extent(self, count: TagCount, placed: IntArray) -> FloatArray:
        """Extent to which one more container would break bounds, by its node; it is not in `placed`."""
        return self._extents(count, placed, 0)

    def harm_to_others(self, constraint: TagConstraint, count: TagCount, placed: IntArray) -> FloatArray:
        """Harm of one more container that counts to the constraint's subjects: extent that it adds, by its node."""
        found = np.zeros(self.n_nodes)
        subjects = [row for row, tags in enumerate(self._kinds) if constraint.subject <= tags and placed[row].any()]
        totals = self._totals(count.group, self.tagged(count.tags, placed))
        for row in subjects:
            others = totals - (1 if count.tags <= self._kinds[row] else 0)
            more = self._totals(count.group, placed[row]) * (extents_of(count, others + 1) - extents_of(count, others))
            found += self._by_node(count.group, more)
        return found

    def violations(self, placement: IntArray, cost: Callable[[TagConstraint], float] = lambda one: one.weight) -> float:
        """Extent of all violations, weighted by what a unit of each constraint costs."""
        placed = self.with_running(placement)
        return sum(
            cost(constraint) * float(self.cost_by_node(constraint, tags, placed) @ placed[row])
            for constraint in self.constraints
            for row, tags in enumerate(self._kinds)
            if constraint.subject <= tags and placed[row].any()
        )

    def breaks(self, row: int, placement: IntArray) -> bool:
        """Return whether any container of a group breaks a constraint of its own that is not soft."""
        tags, placed = self.groups[row].tags, self.with_running(placement)
        wanted = (each for each in self.constraints if each.subject <= tags and not each.is_soft)
        return any(float(self.cost_by_node(each, tags, placed) @ placement[row]) > 0.0 for each in wanted)

    def placement_in(self, plan: Plan) -> IntArray:
        placement = np.zeros((len(self.groups), self.n_nodes), dtype=np.int64)
        rows = {request: row for row, group in enumerate(self.groups) for request in group.requests}
        for grant in plan.grants:
            if grant.request in rows:
                placement[rows[grant.request], grant.place] += grant.count
        return placement

    def slots_of(self, row: int, left: IntArray) -> IntArray:
        """Containers of a group that nodes have room for, no more on each than its own bounds there allow."""
        group = self.groups[row]
        demand = np.array(group.demand)
        slots: IntArray = (left[:, demand > 0] // demand[demand > 0]).min(axis=1) * self.may_go[row]
        for constraint in self.constraints:
            if constraint.subject <= group.tags and len(constraint.any_of) == 1:
                for count in constraint.any_of[0]:
                    if count.group == "node" and count.tags <= group.tags:
                        slots = np.minimum(slots, count.most + 1)
        return slots

    def left(self, placement: IntArray) -> IntArray:
        """Room that a placement leaves: int64 array of shape (N, R)."""
        demand = np.array([group.demand for group in self.groups], dtype=np.int64).reshape(-1, self.free.shape[1])
        return self.free - placement.T @ demand

    def objective(self, placement: IntArray) -> float:
        """Worth of a placement; larger is better."""
        whole = {
            service: all(
                int(placement[row].sum()) == group.count
                for row, group in enumerate(self.groups)
                if group.service == service
            )
            for service in self.services
        }
        roomy = int((self.left(placement) >= self.kept).all(axis=1).sum())
        return (
            self.weights.placed * sum(whole.values()) / max(1, len(self.services))
            - self.violations(placement, self.price)
            + self.weights.roomy * roomy / max(1, self.n_nodes)
            - self.weights.fewer * int((~self.has_service & (placement.sum(axis=0) > 0)).sum()) / max(1, self.n_nodes)
            - self.weights.balanced * self.largest_part(placement)
        )

    def largest_part(self, placement: IntArray) -> float:
        """Largest part that any node gives of what it has free, of any resource."""
        taken = self.free - self.left(placement)
        return float((taken / np.maximum(self.free, 1)).max(initial=0.0))


def _groups_of(snapshot: Snapshot, requests: Sequence[int]) -> list[TaggedGroup]:
    """Groups of requests that can stand for each other: DistributedShell has one for each container."""
    facts, numbers, alike = snapshot.knowledge.services, snapshot.requests.numbers, dict[object, list[int]]()
    for row in requests:
        bounds = snapshot.requests.tag_bounds.get(row)
        service, clusters = (int(numbers[each, row]) for each in (RequestColumn.JOB, RequestColumn.CLUSTERS))
        kind = service, clusters, facts.tags[row], snapshot.requests.needs[row], None if bounds is None else bounds.kin
        alike.setdefault(kind, []).append(row)
    return [
        TaggedGroup(
            tuple(rows),
            int(numbers[RequestColumn.JOB, rows[0]]),
            facts.tags[rows[0]],
            int(numbers[RequestColumn.COUNT, rows].sum()),
            snapshot.requests.needs[rows[0]].demand,
        )
        for rows in alike.values()
    ]


def broken_part(snapshot: Snapshot) -> float:
    """Part of the running containers of services that break any constraint."""
    rounds = ServiceRound(snapshot, (), PlacementWeights())
    placed = rounds.with_running(np.zeros((0, rounds.n_nodes), dtype=np.int64))
    broken = 0
    for row, each in enumerate(rounds.running):
        wanted = (constraint for constraint in rounds.constraints if constraint.subject <= each.tags)
        costs = [float(rounds.cost_by_node(constraint, each.tags, placed)[each.node]) for constraint in wanted]
        broken += int(placed[row].sum()) if any(costs) else 0
    return broken / max(1, int(placed.sum()))


@dataclass(frozen=True, slots=True, eq=False)
class ServiceCap:
    """Amount of something that groups take of some nodes.

    Attributes:
        amounts: int64 array of shape (n_groups,): what one container of each takes; 0 for groups that it is not about.
        nodes: bool array of shape (N,).
    """

    amounts: IntArray
    nodes: NDArray[np.bool_]
    most: int

    def taken(self, placement: IntArray) -> int:
        """Amount that a placement takes; it is an int64 array of shape (n_groups, N)."""
        return int(self.amounts @ placement[:, self.nodes].sum(axis=1))


def caps_of(snapshot: Snapshot, requests: Sequence[int]) -> Sequence[ServiceCap]:
    """Caps of the requests that are groups, in their order; none where nothing but nodes bounds them."""
    cells = snapshot.nodes.cells
    clusters = np.repeat([cell.cluster for cell in cells], [cell.size for cell in cells])
    return [*_of_queues(snapshot, requests, clusters), *_of_tags(snapshot, requests, clusters)]


def _of_queues(snapshot: Snapshot, requests: Sequence[int], clusters: IntArray) -> Iterator[ServiceCap]:
    bounds = snapshot.queues.room_at
    if not bounds.size or not requests:
        return
    jobs = snapshot.requests.numbers[RequestColumn.JOB, list(requests)]
    queues = snapshot.jobs[Column.QUEUE, jobs].astype(np.int64)
    demands = np.array([snapshot.requests.needs[row].demand for row in requests], dtype=np.int64)
    for queue, cluster, kind in np.argwhere(bounds >= 0).tolist():
        amounts = np.where(queues == queue, demands[:, kind], 0)
        if amounts.any():
            yield ServiceCap(amounts, clusters == cluster, int(bounds[queue, cluster, kind]))


def _of_tags(snapshot: Snapshot, requests: Sequence[int], clusters: IntArray) -> Iterator[ServiceCap]:
    by_kin: dict[int, list[int]] = {}
    for group, row in enumerate(requests):
        if row in snapshot.requests.tag_bounds:
            by_kin.setdefault(snapshot.requests.tag_bounds[row].kin, []).append(group)
    for groups in by_kin.values():
        amounts = np.zeros(len(requests), dtype=np.int64)
        amounts[groups] = 1
        most = snapshot.requests.tag_bounds[requests[groups[0]]].at_cluster
        for cluster in np.unique(clusters).tolist():
            yield ServiceCap(amounts, clusters == cluster, int(most[cluster]))


def without_cap_room(caps: Sequence[ServiceCap], group: int, placement: IntArray) -> NDArray[np.bool_]:
    """Nodes where one more container of a group would be beyond a cap; shape (N,)."""
    found = np.zeros(placement.shape[1], dtype=np.bool_)
    for cap in caps:
        amount = int(cap.amounts[group])
        if amount and cap.taken(placement) + amount > cap.most:
            found |= cap.nodes
    return found


def fit_in_caps(caps: Sequence[ServiceCap], placement: IntArray) -> bool:
    return all(cap.taken(placement) <= cap.most for cap in caps)
