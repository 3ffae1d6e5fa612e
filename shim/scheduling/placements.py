"""Search of one cycle for nodes with room, on a working copy of the snapshot.

What a cycle has planned is subtracted on the copy alone. There are two ways to search. `CellSearch` takes one node
after the other by bit-vectors, from random places on: masters that do not talk to one another seldom collide. `Sweep`
(`sweep.py`) fills whole requests with a few array operations: a cluster's own scheduler picks the node in the end.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from shim.domain.resources import Need
from shim.scheduling.node_index import Cell, NodeIndex
from shim.scheduling.plan import PlannedGrant, Reason, ReasonCode
from shim.scheduling.snapshot import Requests, Scope

_EVERY_CELL = -1
_ROOM, _BORROWED = Reason(ReasonCode.ROOM), Reason(ReasonCode.BORROWED)


class PolicyRandom(Protocol):
    """Random source of a policy; handed in, so that a run can be repeated (`random.Random` is one)."""

    def randrange(self, stop: int, /) -> int:
        """An integer in [0, stop)."""
        ...


@dataclass(slots=True)
class CycleState:
    """State that one cycle hands on to the next.

    Attributes:
        memory: A policy's own, such as skip counts or the last plan, by the policy's name.
    """

    rng: PolicyRandom
    memory: dict[str, object] = field(default_factory=dict)


class Matcher(Protocol):
    """Finds room, and keeps account of what the cycle has planned."""

    def fill(self, request: int, need: Need, count: int) -> Sequence[PlannedGrant]:
        """Place up to so many containers of a request; what is granted is taken."""
        ...

    def is_exhausted(self, need: Need) -> bool:
        """True if a need that was not placed whole has no room anywhere any more."""
        ...

    def mark(self) -> object:
        """Remember what is taken by now."""
        ...

    def undo(self, mark: object) -> None:
        """Give back what was taken since the mark."""
        ...


def pick_bit(bits: int, start: int) -> int:
    """The lowest set bit at or above `start`, else the lowest at all; `bits` is not zero."""
    above = bits >> start
    if above:
        return start + (above & -above).bit_length() - 1
    return (bits & -bits).bit_length() - 1


@dataclass(slots=True)
class _Fitting:
    """Nodes where a demand fits by the working copy.

    Attributes:
        open_cells: Bit i is set while it fits somewhere in cell i.
        bits: Nodes where it fits, by open cell.
    """

    open_cells: int
    bits: dict[int, int]


class CellSearch:
    """Matches one task after another: internal cells first, then a repartition, borrowing from an external one.

    Source: Megha, section IV-B and algorithm 1.
    """

    def __init__(self, nodes: NodeIndex[Cell], state: CycleState, requests: Requests | None = None) -> None:
        self._nodes = nodes
        self._requests = requests
        self._was_near_data = False
        self._state = state
        self._free: dict[int, list[int]] = {}
        self._fitting: dict[tuple[int, ...], _Fitting] = {}
        self._journal: list[tuple[int, tuple[int, ...]]] = []

    def fill(self, request: int, need: Need, count: int) -> Sequence[PlannedGrant]:
        """See `Matcher`: a grant for each task."""
        grants: list[PlannedGrant] = []
        levels = self._levels_of(request)
        self._was_near_data = levels != (_EVERY_CELL,)
        while len(grants) < count:
            row, is_borrowed = -1, False
            for cells in levels:
                row, is_borrowed = self.find(need, cells)
                if row >= 0:
                    break
            if row < 0:
                break
            self.take(row, need.demand)
            reason = _BORROWED if is_borrowed else _ROOM
            grants.append(PlannedGrant(request, 1, Scope.NODE, row, reason, is_borrowed=is_borrowed))
        return grants

    def is_exhausted(self, need: Need) -> bool:  # noqa: ARG002 - a need that found nothing finds nothing later
        """See `Matcher`: what was looked for near its data alone may be had elsewhere by others."""
        return not self._was_near_data

    def mark(self) -> object:
        return len(self._journal)

    def undo(self, mark: object) -> None:
        assert isinstance(mark, int)  # noqa: S101 - its own mark
        while len(self._journal) > mark:
            row, demand = self._journal.pop()
            self._free[row] = [have + more for have, more in zip(self._free[row], demand, strict=True)]
        self._fitting.clear()

    def find(self, need: Need, cells: int = _EVERY_CELL) -> tuple[int, bool]:
        """Row of a node that satisfies the need, and whether it is borrowed; row -1 when no cell has one.

        `cells` are those that will do, as a bit set.
        """
        fitting = self._fitting_of(need.demand)
        internal = self._nodes.internal_mask
        row = self._search(need, fitting, fitting.open_cells & cells & internal)
        if row >= 0:
            return row, False
        return self._search(need, fitting, fitting.open_cells & cells & ~internal), True

    def _levels_of(self, request: int) -> Sequence[int]:
        """Bit sets of the cells to look at, one after the other: where reading a request's data costs least first."""
        costs = None if self._requests is None else self._requests.reading_costs.get(request)
        if costs is None or self._requests is None:
            return (_EVERY_CELL,)
        allowed = self._requests.clusters(request)
        levels: dict[int, int] = {}
        for number, cell in enumerate(self._nodes.cells):
            if allowed >> cell.cluster & 1:
                cost = int(costs[cell.cluster])
                levels[cost] = levels.get(cost, 0) | 1 << number
        return [levels[cost] for cost in sorted(levels)]

    def take(self, row: int, demand: tuple[int, ...]) -> None:
        """Subtract a match from the working copy."""
        free = self._free.get(row)
        if free is None:
            free = self._free[row] = list(self._nodes.free_of(row))
        for kind, amount in enumerate(demand):
            free[kind] -= amount
        self._journal.append((row, demand))
        index = self._nodes.cell_of(row)
        for known, fitting in self._fitting.items():
            self._close(fitting, index, row, free, known)

    def _search(self, need: Need, fitting: _Fitting, mask: int) -> int:
        """Try the cells of a mask, one after another from the place where the search begins."""
        if not mask:
            return -1
        start = self._state.rng.randrange(len(self._nodes.cells))
        while mask:
            index = pick_bit(mask, start)
            row = self._match_in_cell(need, fitting, index)
            if row >= 0:
                return row
            mask &= ~(1 << index)
            start = index
        return -1

    def _match_in_cell(self, need: Need, fitting: _Fitting, index: int) -> int:
        """The match operation: the AND of bit-vectors within one cell; -1 for no match."""
        cell = self._nodes.cells[index]
        bits = fitting.bits[index]
        if need.is_constrained:
            bits &= self._nodes.eligible(need, index)
        if not bits:
            return -1
        return cell.start + pick_bit(bits, self._state.rng.randrange(cell.size))

    def _fitting_of(self, demand: tuple[int, ...]) -> _Fitting:
        """A demand's bit-vectors, less what was taken before it was first asked for."""
        known = self._fitting.get(demand)
        if known is not None:
            return known
        nodes = self._nodes
        shape = nodes.shape_of(demand)
        mask = open_cells = nodes.open_masks[shape]
        fitting = self._fitting[demand] = _Fitting(open_cells, {})
        while mask:
            index = pick_bit(mask, 0)
            fitting.bits[index] = nodes.cells[index].fits[shape]
            mask &= mask - 1
        for row, free in self._free.items():
            self._close(fitting, nodes.cell_of(row), row, free, demand)
        return fitting

    def _close(self, fitting: _Fitting, index: int, row: int, free: list[int], demand: tuple[int, ...]) -> None:
        """Clear a node's bit once the demand fits there no more."""
        bits = fitting.bits.get(index, 0)
        bit = 1 << (row - self._nodes.cells[index].start)
        if bits & bit and not all(map(int.__le__, demand, free)):
            fitting.bits[index] = bits & ~bit
            if bits == bit:
                fitting.open_cells &= ~(1 << index)
