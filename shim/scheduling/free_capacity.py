"""Room while a policy decides by itself: a copy of the snapshot's, and the plan that grows on it.

A kernel asks where a request fits, grants and holds; room, the limits of queues and what is left of each request are
kept in step. So that whatever order a policy decides in, it never grants more than there is, nor where a request may
not go.
"""

from collections.abc import Sequence

import numpy as np

from shim.domain.resources import Need
from shim.scheduling.node_index import unpack_bits
from shim.scheduling.plan import Hold, Plan, PlannedGrant, PlannedReservation, Reason, ReasonCode, TakeBack
from shim.scheduling.snapshot import Column, IntArray, RequestColumn, Scope, Snapshot
from shim.scheduling.tag_constraints import TagHeadroom

_Key = tuple[Need, int]
_ROOM = Reason(ReasonCode.ROOM)
_UNBOUNDED = np.iinfo(np.int64).max


class FreeCapacity:
    """Room of N nodes with R resource types, and decisions of one cycle.

    Args:
        snapshot: What the cycle starts from; it is not written to.

    Attributes:
        free: int64 array of shape (N, R): what is left.
        grants: What was granted, in its order; `holds`, `reservations` and `take_backs` likewise.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        nodes = snapshot.nodes
        self.free: IntArray = np.maximum(nodes.free, 0)
        self.grants: list[PlannedGrant] = []
        self.holds: list[Hold] = []
        self.reservations: list[PlannedReservation] = []
        self.take_backs: list[TakeBack] = []
        self._snapshot = snapshot
        self._counts = snapshot.requests.numbers[RequestColumn.COUNT]
        self._granted: dict[int, int] = {}
        self._slots: dict[_Key, IntArray] = {}
        self._most: dict[_Key, int] = {}
        self._open = snapshot.clusters.open_bits()
        sizes = [cell.size for cell in nodes.cells]
        self._clusters: IntArray = np.repeat([cell.cluster for cell in nodes.cells], sizes).astype(np.int64)
        weights = np.repeat([cell.weight for cell in nodes.cells], sizes)
        self._is_closed = weights <= 0.0
        self._queue_left: IntArray = snapshot.queues.room_at.copy()
        self._tags = TagHeadroom(snapshot.requests.tag_bounds)

    # ------------------------------------------------------------------ what there is

    def left(self, request: int) -> int:
        """Containers of a request that are not granted yet."""
        return int(self._counts[request]) - self._granted.get(request, 0)

    def slots(self, request: int) -> IntArray:
        """Containers of a request that each node has room for; int64 array of shape (N,), to be read only.

        The limits of the request's queue, and what its constraint leaves, are not in it: `grant` keeps to them. Of a
        request that names data, only the clusters with room where it costs least to read are in it.
        """
        slots = self._fitting(request)
        costs = self._costs_of(request)
        if costs is None or self._snapshot.requests.numbers[RequestColumn.GANG, request]:
            return slots
        allows = self._queue_allows(request)
        has_room = (slots > 0) & ((allows[self._clusters] if allows.size > 1 else allows[0]) > 0)
        if not has_room.any():
            return slots
        return np.where(costs == costs[has_room].min(), slots, 0)

    def _costs_of(self, request: int) -> IntArray | None:
        """Costs of reading at each node; None where all are the same, or a constraint says where it goes."""
        costs = self._snapshot.requests.reading_costs.get(request)
        return None if costs is None or request in self._tags else costs[self._clusters]

    def _fitting(self, request: int) -> IntArray:
        """Containers that each node has room for, wherever the data is."""
        key = self._key(request)
        known = self._slots.get(key)
        if known is None:
            known = self._slots[key] = self._count(request)
            self._most[key] = int(known.sum())
        return known

    def has_room(self, request: int) -> bool:
        """Return whether one container of a request fits anywhere."""
        self._fitting(request)
        return self._most[self._key(request)] > 0 and bool(self._queue_allows(request).any())

    def _key(self, request: int) -> _Key:
        clusters = int(self._snapshot.requests.numbers[RequestColumn.CLUSTERS, request])
        return (self._snapshot.requests.needs[request], clusters)

    def _count(self, request: int) -> IntArray:
        nodes, need = self._snapshot.nodes, self._snapshot.requests.needs[request]
        kinds = [kind for kind, amount in enumerate(need.demand) if amount > 0]
        if not kinds:
            return np.zeros(len(nodes), dtype=np.int64)
        demand = np.array([need.demand[kind] for kind in kinds], dtype=np.int64)
        slots: IntArray = np.min(self.free[:, kinds] // demand, axis=1)
        allowed = self._snapshot.requests.clusters(request) & self._open
        for number, cell in enumerate(nodes.cells):
            if not allowed >> cell.cluster & 1:
                slots[cell.rows] = 0
            elif need.is_constrained:
                slots[cell.rows] *= unpack_bits(nodes.eligible(need, number), cell.size)
        slots[self._is_closed] = 0
        return slots

    def _queue_allows(self, request: int) -> IntArray:
        """Containers that the limits of the request's queue leave, by cluster; one large number for no limits."""
        queue = self._queue_of(request)
        if not self._queue_left.size or queue < 0:
            return np.full(1, _UNBOUNDED)
        left = self._queue_left[queue]
        most: IntArray = np.full(len(left), _UNBOUNDED)
        for kind, amount in enumerate(self._snapshot.requests.needs[request].demand):
            if amount > 0:
                is_bound = self._snapshot.queues.room_at[queue][:, kind] >= 0
                most = np.where(is_bound, np.minimum(most, np.maximum(left[:, kind], 0) // amount), most)
        return most

    def _queue_of(self, request: int) -> int:
        return int(self._snapshot.jobs[Column.QUEUE, self._snapshot.requests.numbers[RequestColumn.JOB, request]])

    # ------------------------------------------------------------------ what is decided

    def grant(self, request: int, node: int, count: int, reason: Reason) -> int:
        """Grant containers of a request on a node, as many as fit of so many; return how many."""
        count = min(count, int(self._fitting(request)[node]))
        count = min(count, self.left(request)) if count > 0 else 0
        if count <= 0:
            return 0
        allows = self._queue_allows(request)
        cluster = int(self._clusters[node])
        count = min(count, int(allows[cluster] if allows.size > 1 else allows[0]))
        if request in self._tags:
            count = min(count, self._tags.at(request, cluster, node))
        if count <= 0:
            return 0
        demand = self._snapshot.requests.needs[request].demand
        self.free[node] -= np.array(demand, dtype=np.int64) * count
        queue = self._queue_of(request)
        if self._queue_left.size and queue >= 0:
            self._queue_left[queue, cluster] -= np.array(demand, dtype=np.int64) * count
        self._tags.take(request, cluster, count, node)
        self._refresh(node)
        self._granted[request] = self._granted.get(request, 0) + count
        self.grants.append(PlannedGrant(request, count, Scope.NODE, int(node), reason))
        return count

    def fill(self, request: int, nodes: IntArray, count: int, reason: Reason) -> int:
        """Grant containers on some nodes, in their order, each to the full; return how many.

        Where data is nearer goes before that order.
        """
        placed, costs = 0, self._costs_of(request)
        if costs is not None:
            nodes = nodes[np.argsort(costs[nodes], kind="stable")]
        for node in nodes[self._fitting(request)[nodes] > 0].tolist():
            if placed >= count:
                break
            placed += self.grant(request, node, count - placed, reason)
        return placed

    def _refresh(self, node: int) -> None:
        """Bring what is counted for each kind of request in line with what a node has left."""
        free = self.free[node].tolist()
        for key, slots in self._slots.items():
            before = int(slots[node])
            if before:
                demand = key[0].demand
                fits = min(have // amount for have, amount in zip(free, demand, strict=True) if amount > 0)
                slots[node] = min(before, fits)
                self._most[key] += int(slots[node]) - before

    def hold(self, request: int, reason: Reason, until_s: float | None = None) -> None:
        """Let what is left of a request wait, and say why."""
        left = self.left(request)
        if left:
            self.holds.append(Hold(request, left, reason, until_s))

    def plan(self) -> Plan:
        """Give the decisions so far."""
        return Plan(self.grants, self.holds, self.reservations, self.take_backs)

    def undo(self, n_grants: int) -> None:
        while len(self.grants) > n_grants:
            grant = self.grants.pop()
            demand = np.array(self._snapshot.requests.needs[grant.request].demand, dtype=np.int64) * grant.count
            self.free[grant.place] += demand
            self._granted[grant.request] -= grant.count
            queue = self._queue_of(grant.request)
            if self._queue_left.size and queue >= 0:
                self._queue_left[queue, self._clusters[grant.place]] += demand
            self._tags.take(grant.request, int(self._clusters[grant.place]), -grant.count, grant.place)
        self._slots.clear()

    def together(self, requests: Sequence[int]) -> bool:
        """Grant all that is left of some requests anywhere, or nothing; return whether it was done."""
        mark = len(self.grants)
        for request in requests:
            self.fill(request, np.flatnonzero(self.slots(request)), self.left(request), _ROOM)
            if self.left(request):
                self.undo(mark)
                return False
        return True
