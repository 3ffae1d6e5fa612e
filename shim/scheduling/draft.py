"""A plan while it is made: what is granted so far, and what is left of each request.

Placement of whole requests at once: rooms of many nodes by a few array operations.

Nodes are packed one after the other, so that what is left stays in large pieces. Each distinct need has a cursor in
each cell: within a cycle room only shrinks, so that what a cursor has passed need not be looked at again.

All arrays are int64. K cells, N nodes, R resources, M rows looked at in each cell.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shim.domain.resources import Need
from shim.scheduling.node_index import unpack_bits
from shim.scheduling.placements import CellSearch, CycleState, Matcher
from shim.scheduling.plan import Hold, Plan, PlannedGrant, Reason, ReasonCode, Turns
from shim.scheduling.policy import CellChoice, Policy
from shim.scheduling.ranks import rank_of
from shim.scheduling.snapshot import (
    ANY_CLUSTER,
    Column,
    IntArray,
    OfferedCapacity,
    Preferred,
    RequestColumn,
    Scope,
    Snapshot,
)
from shim.scheduling.tag_constraints import TagHeadroom

_OFFERED = Reason(ReasonCode.OFFERED)


class Draft:
    """Grants and holds of one cycle.

    Args:
        snapshot: What the cycle starts from.
        turns: The requests in their order.
    """

    def __init__(self, snapshot: Snapshot, policy: Policy, state: CycleState, turns: Turns) -> None:
        self._snapshot = snapshot
        self._policy = policy
        self._turns = turns
        self._needs = snapshot.requests.needs
        self._counts: list[int] = snapshot.requests.numbers[RequestColumn.COUNT].tolist()
        self._granted: dict[int, int] = {}
        self._grants: list[PlannedGrant] = []
        self._holds: list[Hold] = []
        self._declined: list[int] = []
        self._used_offers = 0
        self._kept = policy.commitment.kept_of(len(snapshot.nodes))
        self._full_for_long = set[Need]()
        self._tags = TagHeadroom(snapshot.requests.tag_bounds)
        self._gangs = self._members()
        has_room = snapshot.nodes.has_room_for
        self._placeable = {need for need in snapshot.requests.distinct_needs() if has_room(need.demand)}
        self._matcher: Matcher = (
            Sweep(snapshot, policy.placement.scope)
            if policy.placement.cells is CellChoice.BY_ROOM
            else CellSearch(snapshot.nodes, state, snapshot.requests)
        )

    @property
    def has_room(self) -> bool:
        """Return whether anything that waits may still fit somewhere."""
        return bool(self._placeable)

    def plan(self) -> Plan:
        """Return the plan of all decisions so far."""
        return Plan(self._grants, self._holds, (), (), self._declined, self._used_offers, self._turns)

    def left(self, request: int) -> int:
        """Count the containers of a request that are not granted yet."""
        return self._counts[request] - self._granted.get(request, 0)

    # ------------------------------------------------------------------ offers

    def use_offer(self, offer: OfferedCapacity) -> None:
        """Grant on offered room what needs it most, unless the runner-up needs it more."""
        room, is_used = list(offer.room), False
        turns = self._turns
        for at, request in enumerate(turns.rows):
            count = self.left(request)
            if not count or request in self._tags:
                continue
            if offer.is_for_short and turns.are_long[at]:
                continue
            urgency = turns.keys[at], turns.deficits[at], turns.priorities[at]
            if offer.runner_up is not None and rank_of(self._policy, *urgency) > offer.runner_up:
                break
            need = self._needs[request]
            if need.admits(offer.properties):
                count = min(count, _fitting(need.demand, room))
                if count:
                    is_used = True
                    self._add(PlannedGrant(request, count, Scope.NODE, offer.node, _OFFERED, offer=offer.number))
                    room = [have - count * amount for have, amount in zip(room, need.demand, strict=True)]
                    if not any(room):
                        break
        if is_used:
            self._used_offers += 1
        else:
            self._declined.append(offer.number)

    # ------------------------------------------------------------------ free room

    def place(self, request: int, *, is_long: bool) -> None:
        """Place a request in its turn: all of a gang, or as much as fits."""
        gang = self._gangs.get(request)
        if gang is not None:
            if gang[0] == request:
                self._place_gang(gang)
        elif self._needs[request] in self._placeable:
            if not is_long:
                self._place_some(request, self.left(request))
            elif self._needs[request] not in self._full_for_long:
                self._place_long(request)

    def _place_long(self, request: int) -> None:
        """Place tasks that run long, but not on the last free nodes: short ones need not wait for these."""
        need = self._needs[request]
        free = self._snapshot.nodes.count_fitting(need.demand) - sum(self._granted.values()) - self._kept
        if self.left(request) >= free:
            self._full_for_long.add(need)
        self._place_some(request, min(self.left(request), free))

    def _place_some(self, request: int, count: int) -> None:
        need = self._needs[request]
        if count <= 0:
            return
        grants = self._matcher.fill(request, need, count)
        if request in self._tags:
            grants = self._within_tags(grants)
        self._grants += grants
        found = sum([grant.count for grant in grants])  # a list: one of ten numbers is made faster than it is iterated
        self._granted[request] = self._granted.get(request, 0) + found
        if found < count:
            if self._matcher.is_exhausted(need):
                self._placeable.discard(need)
            else:
                self.hold(request, ReasonCode.LIMITED)

    def _within_tags(self, grants: Sequence[PlannedGrant]) -> Sequence[PlannedGrant]:
        """So much of the grants of a request as its placement constraint allows; what it does not stays free."""
        kept: list[PlannedGrant] = []
        for grant in grants:
            at_node = grant.scope is Scope.NODE
            nodes = self._snapshot.nodes
            cluster = nodes.cells[nodes.cell_of(grant.place)].cluster if at_node else grant.place
            most = int(self._tags.at_clusters(grant.request)[cluster])
            if at_node:
                most = min(most, self._tags.at(grant.request, cluster, grant.place))
            count = min(grant.count, most)
            if count > 0:
                self._tags.take(grant.request, cluster, count, grant.place if at_node else None)
                kept.append(replace(grant, count=count))
        return kept

    def _place_gang(self, members: Sequence[int]) -> None:
        mark, found = self._matcher.mark(), list[PlannedGrant]()
        for request in members:
            found += self._matcher.fill(request, self._needs[request], self.left(request))
        n_wanted, n_found = sum(map(self.left, members)), sum(grant.count for grant in found)
        if n_found == n_wanted:
            for grant in found:
                self._add(grant)
            return
        self._matcher.undo(mark)
        reason = Reason(ReasonCode.GANG, (("count", n_wanted), ("found", n_found)))
        self._holds += [Hold(request, self.left(request), reason) for request in members]

    def _add(self, grant: PlannedGrant) -> None:
        self._grants.append(grant)
        self._granted[grant.request] = self._granted.get(grant.request, 0) + grant.count

    def hold(self, request: int, code: ReasonCode) -> None:
        queue = int(self._snapshot.jobs[Column.QUEUE, self._snapshot.requests.numbers[RequestColumn.JOB, request]])
        name = self._snapshot.queues.names[queue] if queue >= 0 else ""
        self._holds.append(Hold(request, self.left(request), Reason(code, (("queue", name),))))

    def _members(self) -> dict[int, Sequence[int]]:
        """Requests of a gang with all of their kind, in their order."""
        numbers = self._snapshot.requests.numbers[RequestColumn.GANG]
        if not numbers.any():
            return {}
        by_gang: dict[int, list[int]] = {}
        for request in self._turns.rows:
            gang = int(numbers[request])
            if gang:
                by_gang.setdefault(gang, []).append(request)
        return {request: members for members in by_gang.values() for request in members}


def _fitting(demand: Sequence[int], room: Sequence[int]) -> int:
    """Count the containers that fit."""
    return min((have // amount for have, amount in zip(room, demand, strict=True) if amount > 0), default=0)


_FIRST_LOOK = 8
_LONGEST_LOOK = 4096
_LOOKS_GROW = 4
_OFFSETS = np.arange(_LONGEST_LOOK)
_count, _add = np.count_nonzero, np.add.reduce
"""For arrays of ten numbers, counting what is not zero takes an eighth of the time of `ndarray.any`."""
_PREFERRED = Reason(ReasonCode.PREFERRED)
_ROOM = Reason(ReasonCode.ROOM)


def spread(count: int, room: IntArray, weight: NDArray[np.float64]) -> IntArray:
    """Divide containers among cells in proportion to room times weight, nowhere more than there is room.

    Parameters
    ----------
    count : int
        Non-negative.
    room : int64 array of shape (K,)
    weight : float64 array of shape (K,)
        A cell of weight 0 gets nothing.

    Returns:
    -------
    int64 array of shape (K,)
        Whole parts by the largest remainder, the roomier cell first among equal ones.
    """
    pull = room * weight
    total = sum(pull.tolist())  # a list: one of ten numbers is summed faster than an array
    if not total:
        return np.zeros_like(room)
    exact = pull * (count / total)
    shares: IntArray = np.minimum(room, exact.astype(np.int64))
    rest: int = count - sum(shares.tolist())
    while rest > 0:
        order = np.lexsort((-room, shares - exact))
        order = order[((shares < room) & (weight > 0.0))[order]]
        if not order.size:
            return shares
        shares[order[:rest]] += 1
        rest -= len(order[:rest])
    return shares


@dataclass(slots=True)
class _Supply:
    """Room for one need.

    Attributes:
        room: int64 array of shape (K,): containers that fit at most, by cell.
        cursor: int64 array of shape (K,): rows before it have no room any more.
        mask: bool array of shape (N + 1,): nodes that will do; None for all.
    """

    demand: tuple[tuple[int, int], ...]
    room: IntArray
    cursor: IntArray
    mask: NDArray[np.bool_] | None


@dataclass(frozen=True, slots=True)
class _Mark:
    free: list[IntArray]
    cell_free: list[IntArray]
    supplies: dict[tuple[Need, int], _Supply]
    held: dict[int, IntArray]


class Sweep:
    """Fills requests; implements `Matcher`.

    A request's preferred places are filled first, then everything else in proportion to room and weight. A strict one
    gets its preferred places alone. `Queues.room_at` and `Requests.tag_bounds` limit what there is in a cluster.
    """

    def __init__(self, snapshot: Snapshot, scope: Scope) -> None:
        nodes = snapshot.nodes
        self._snapshot = snapshot
        self._scope = scope
        self._open = snapshot.clusters.open_bits()
        self._starts = np.array([cell.start for cell in nodes.cells], dtype=np.int64)
        self._stops = np.array([cell.start + cell.size for cell in nodes.cells], dtype=np.int64)
        self._weights = np.array([cell.weight for cell in nodes.cells], dtype=np.float64)
        self._cluster_list = [cell.cluster for cell in nodes.cells]
        self._clusters = np.array(self._cluster_list, dtype=np.int64)
        # one row more than there are nodes: looks beyond the end of a cell land there, and find nothing
        usable = np.maximum(nodes.free, 0)
        self._free: list[IntArray] = [np.append(usable[:, kind], 0) for kind in range(nodes.n_resources)]
        sums = [usable[cell.rows].sum(axis=0) for cell in nodes.cells]
        by_cell: IntArray = np.array(sums, dtype=np.int64).reshape(len(sums), nodes.n_resources)
        self._cell_free: list[IntArray] = [by_cell[:, kind].copy() for kind in range(nodes.n_resources)]
        self._supplies: dict[tuple[Need, int], _Supply] = {}
        self._queue_held: dict[int, IntArray] = {}
        self._tags = TagHeadroom(snapshot.requests.tag_bounds)

    # ------------------------------------------------------------------ Matcher

    def fill(self, request: int, need: Need, count: int) -> Sequence[PlannedGrant]:
        """See `Matcher`: a grant for each cluster, or each node, that takes some."""
        requests = self._snapshot.requests
        allowed = requests.clusters(request) & self._open
        supply = self._supply(need, allowed)
        if not supply.demand or not _count(supply.room):
            return ()
        grants: list[PlannedGrant] = []
        preferred = requests.prefers(request)
        if preferred:
            count -= self._fill_preferred(request, supply, preferred, count, grants)
        if count and not requests.numbers[RequestColumn.STRICT, request]:
            self._fill_anywhere(request, supply, count, grants)
        return grants

    def is_exhausted(self, need: Need) -> bool:
        """See `Matcher`: a request may be held up by its own places or its queue's limit, too."""
        supply = self._supplies.get((need, self._open))
        return supply is not None and not supply.room.any()

    def mark(self) -> object:
        supplies = {
            key: replace(supply, room=supply.room.copy(), cursor=supply.cursor.copy())
            for key, supply in self._supplies.items()
        }
        held = {queue: amounts.copy() for queue, amounts in self._queue_held.items()}
        free, cell_free = ([column.copy() for column in columns] for columns in (self._free, self._cell_free))
        return _Mark(free, cell_free, supplies, held)

    def undo(self, mark: object) -> None:
        assert isinstance(mark, _Mark)  # noqa: S101 - its own mark
        self._free, self._cell_free, self._supplies, self._queue_held = (
            mark.free,
            mark.cell_free,
            mark.supplies,
            mark.held,
        )

    # ------------------------------------------------------------------ places

    def _fill_preferred(
        self, request: int, supply: _Supply, preferred: Sequence[Preferred], count: int, grants: list[PlannedGrant]
    ) -> int:
        """Fill named nodes, then racks, then clusters; gives how many found room."""
        placed = 0
        wanted = [(place.place, place.count) for place in preferred if place.scope is Scope.NODE]
        if wanted:
            rows, counts = np.array(wanted, dtype=np.int64).T
            placed += self._fill_rows(request, supply, rows, counts, count, grants)
        for place in preferred:
            if place.scope is Scope.RACK and placed < count:
                rows = np.flatnonzero(self._snapshot.nodes.racks == place.place)
                most = np.full(len(rows), count - placed)
                placed += self._fill_rows(request, supply, rows, most, min(place.count, count - placed), grants)
            elif place.scope is Scope.CLUSTER and placed < count:
                shares = np.where(self._clusters == place.place, self._room(request, supply), 0)
                shares = spread(min(place.count, count - placed), shares, self._weights)
                placed += self._take(request, supply, shares, grants, _PREFERRED)
        return placed

    def _fill_rows(
        self, request: int, supply: _Supply, rows: IntArray, counts: IntArray, count: int, grants: list[PlannedGrant]
    ) -> int:
        """Fill some nodes, in their order."""
        cells = np.searchsorted(self._starts, rows, side="right") - 1
        room = np.minimum(self._slots(supply, rows), counts)
        bound = self._room(request, supply)
        for cell in np.unique(cells):
            here = cells == cell
            room[here] = _first(room[here], int(bound[cell]))
        taken = _first(room, count)
        self._subtract(request, supply, rows, cells, taken)
        self._note(request, rows, cells, taken, grants, _PREFERRED)
        return int(taken.sum())

    def _fill_anywhere(self, request: int, supply: _Supply, count: int, grants: list[PlannedGrant]) -> None:
        """Fill cells in proportion; what one turns out not to have room for is spread once more."""
        while count:
            room = self._room(request, supply)
            shares = spread(count, room, self._weights)
            if not _count(shares):
                return
            count -= self._take(request, supply, shares, grants, _ROOM)

    def _take(self, request: int, supply: _Supply, shares: IntArray, grants: list[PlannedGrant], reason: Reason) -> int:
        """Take a share of each cell from its next nodes with room; gives how many found some.

        A cell that falls short has no room for this need any more.
        """
        missing, look = shares.copy(), _FIRST_LOOK
        while True:
            rows: IntArray = supply.cursor[:, None] + _OFFSETS[:look]
            np.putmask(rows, rows >= self._stops[:, None], len(self._snapshot.nodes))
            held = [self._free[kind].take(rows) for kind, _ in supply.demand]
            sums, wanted = self._fitting(supply, rows, held).cumsum(axis=1), missing[:, None]
            supply.cursor += _add(sums <= wanted, axis=1)
            reached = np.minimum(sums, wanted, out=sums)  # taken of each cell up to and with each row
            taken: IntArray = reached.copy()
            taken[:, 1:] -= reached[:, :-1]
            for (kind, amount), have in zip(supply.demand, held, strict=True):
                self._free[kind][rows] = have - taken * amount
            missing -= reached[:, -1]
            if self._scope is Scope.NODE:
                self._note(request, rows.ravel(), rows.ravel(), taken.ravel(), grants, reason)
            is_short = bool(_count(missing))
            if not is_short or not _count((missing > 0) & (supply.cursor < self._stops)):
                break
            look = min(look * _LOOKS_GROW, _LONGEST_LOOK)
        found: IntArray = shares - missing
        got: list[int] = found.tolist()
        self._account(request, supply, found)
        if is_short:
            supply.room[missing > 0] = 0
        if self._scope is not Scope.NODE:
            grants += self._of_clusters(request, got, reason)
        return sum(got)

    # ------------------------------------------------------------------ amounts

    def _slots(self, supply: _Supply, rows: IntArray) -> IntArray:
        """Containers that nodes have room for; of the shape of the rows."""
        return self._fitting(supply, rows, [self._free[kind][rows] for kind, _ in supply.demand])

    @staticmethod
    def _fitting(supply: _Supply, rows: IntArray, held: Sequence[IntArray]) -> IntArray:
        """The same of nodes of which it is known what is free of each type that the supply takes something of."""
        fits = [have // amount for (_, amount), have in zip(supply.demand, held, strict=True)]
        slots: IntArray = fits[0]  # a supply without a demand is not filled
        for fit in fits[1:]:
            np.minimum(slots, fit, out=slots)
        if supply.mask is not None:
            slots *= supply.mask[rows]
        return slots

    def _room(self, request: int, supply: _Supply) -> IntArray:
        """Containers that cells have room for at most; int64 array of shape (K,)."""
        room = supply.room
        for kind, amount in supply.demand:
            room = np.minimum(room, self._cell_free[kind] // amount)
        bounds = self._snapshot.queues.room_at
        if bounds.size:
            room = self._within_queue(request, supply, room, bounds)
        return self._tags.within(request, self._clusters, room)

    def _within_queue(self, request: int, supply: _Supply, room: IntArray, bounds: IntArray) -> IntArray:
        """Limit rooms to the queue's limits in each cluster; a type that a limit does not tell of is not bounded."""
        queue = self._queue_of(request)
        if queue < 0:
            return room
        held = self._queue_held.get(queue, 0)
        left = bounds[queue] - held
        for kind, amount in supply.demand:
            known = bounds[queue][:, kind] >= 0
            most = np.where(known, np.maximum(left[:, kind], 0) // amount, np.iinfo(np.int64).max)
            room = np.minimum(room, most[self._clusters])
        return room

    def _queue_of(self, request: int) -> int:
        job = self._snapshot.requests.numbers[RequestColumn.JOB, request]
        return int(self._snapshot.jobs[Column.QUEUE, job])

    def _subtract(self, request: int, supply: _Supply, rows: IntArray, cells: IntArray, taken: IntArray) -> None:
        for kind, amount in supply.demand:
            self._free[kind][rows] -= taken * amount
        self._account(request, supply, np.bincount(cells, taken, minlength=len(self._starts)).astype(np.int64))

    def _account(self, request: int, supply: _Supply, got: IntArray) -> None:
        """Bring the sums of cells, queues and tags in line with what was taken of each cell."""
        supply.room -= got
        self._tags.take_of_cells(request, self._clusters, got)
        for kind, amount in supply.demand:
            self._cell_free[kind] -= got * amount
        bounds = self._snapshot.queues.room_at
        queue = self._queue_of(request) if bounds.size else -1
        if queue >= 0:
            held = self._queue_held.setdefault(queue, np.zeros(bounds.shape[1:], dtype=np.int64))
            for kind, amount in supply.demand:
                np.add.at(held[:, kind], self._clusters, got * amount)

    def _supply(self, need: Need, allowed: int) -> _Supply:
        """Room for a need in the clusters that a request may go to; counted when it is first asked for."""
        supply = self._supplies.get((need, allowed))
        if supply is None:
            demand = tuple((kind, amount) for kind, amount in enumerate(need.demand) if amount > 0)
            rows = np.arange(len(self._snapshot.nodes))
            supply = _Supply(demand, np.zeros(len(self._starts), dtype=np.int64), self._starts.copy(), None)
            if demand:
                supply.mask = self._mask(need, allowed)
                sums = np.concatenate(([0], self._slots(supply, rows).cumsum()))
                supply.room = sums[self._stops] - sums[self._starts]
            self._supplies[need, allowed] = supply
        return supply

    def _mask(self, need: Need, allowed: int) -> NDArray[np.bool_] | None:
        cells = self._snapshot.nodes.cells
        if not need.is_constrained and allowed == ANY_CLUSTER:
            return None
        mask = np.zeros(len(self._snapshot.nodes) + 1, dtype=np.bool_)
        for index, cell in enumerate(cells):
            if allowed >> cell.cluster & 1:
                is_free = not need.is_constrained
                mask[cell.rows] = is_free or unpack_bits(self._snapshot.nodes.eligible(need, index), cell.size)
        return None if mask[:-1].all() else mask

    def _note(
        self, request: int, rows: IntArray, cells: IntArray, taken: IntArray, grants: list[PlannedGrant], reason: Reason
    ) -> None:
        """Write down grants: of nodes, or summed by cluster."""
        chosen = np.flatnonzero(taken)
        if self._scope is Scope.NODE:
            for row, count in zip(rows[chosen].tolist(), taken[chosen].tolist(), strict=True):
                grants.append(PlannedGrant(request, count, Scope.NODE, row, reason))
            return
        sums = np.bincount(cells[chosen], taken[chosen], minlength=len(self._starts)).astype(np.int64)
        grants += self._of_clusters(request, sums.tolist(), reason)

    def _of_clusters(self, request: int, got: list[int], reason: Reason) -> list[PlannedGrant]:
        """Grants of what was taken of each cell, without the nodes."""
        counts = zip(self._cluster_list, got, strict=True)
        return [PlannedGrant(request, count, Scope.CLUSTER, cluster, reason) for cluster, count in counts if count]


def _first(amounts: IntArray, most: int) -> IntArray:
    before = amounts.cumsum() - amounts
    first: IntArray = np.clip(most - before, 0, amounts)
    return first
