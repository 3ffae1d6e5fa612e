"""Nodes with room for a demand, by the newest knowledge: the part of a snapshot that a match reads.

Nodes are rows of int64 arrays. Rows of one *cell* are contiguous: the nodes of one cluster that one Global Master owns
(a partition of Megha's), or a whole cluster. Each cell has bit-vectors (Python integers, bit b stands for the cell's
b-th row): one per property that some node has, and one per *shape* (a distinct demand) with the nodes where it fits
now. A match is the AND of a few such integers: independent of what the nodes look like, and a microsecond for thousands
of nodes. Shapes are few on a real cluster; all are dropped beyond a limit and computed again when they are asked for.

Its owner writes it between cycles; a cycle only reads it, and subtracts what it plans on a copy (`placements.py`).

Source: Megha, section IV-B and algorithm 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from shim.domain.resources import Need
from shim.errors import InvariantViolationError

_MOST_SHAPES = 64
_MOST_NEEDS = 4096


@dataclass(slots=True)
class Cell:
    """Nodes of one cluster that are searched together.

    Attributes:
        weight: How much placements that spread prefer it; 0 closes it to them.
        vectors: For each property, the bits of the nodes that have it.
        fits: For each shape, the bits of the nodes where it fits.
    """

    cluster: int
    start: int
    size: int
    weight: float = 1.0
    vectors: dict[str, int] = field(default_factory=dict)
    fits: list[int] = field(default_factory=list)

    @property
    def all_bits(self) -> int:
        return (1 << self.size) - 1

    @property
    def rows(self) -> slice:
        return slice(self.start, self.start + self.size)

    def eligible(self, need: Need) -> int:
        """Bits of the nodes whose properties satisfy the need (Megha's algorithm 1, the AND)."""
        bits = self.all_bits
        for name in need.requires:
            bits &= self.vectors.get(name, 0)
        for name in need.avoids:
            bits &= ~self.vectors.get(name, 0)
        return bits


CellT_co = TypeVar("CellT_co", bound=Cell, covariant=True)


class NodeIndex(Generic[CellT_co]):
    """Nodes by resources, in cells, with bit-vectors for matching.

    Attributes:
        free: int64 array of shape (n_nodes, n_resources): what may still be allocated.
        racks: int64 array of shape (n_nodes,): number of each node's rack; empty where racks are not known.
        cells: In the order of their rows.
        internal_mask: Bit i is set when cell i belongs to this Global Master: it is searched first.
        open_masks: For each shape, bit i is set while it fits somewhere in cell i.
    """

    def __init__(self, n_resources: int) -> None:
        self.n_resources = n_resources
        self.free: NDArray[np.int64] = np.zeros((0, n_resources), dtype=np.int64)
        self.racks: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.cells: list[CellT_co] = []
        self.internal_mask = 0
        self.open_masks: list[int] = []
        self._cell_of: list[int] = []
        self._shapes: dict[tuple[int, ...], int] = {}
        self._shape_list: list[tuple[int, ...]] = []
        self._eligible: dict[Need, dict[int, int]] = {}
        self._flat = memoryview(b"").cast("q")

    def __len__(self) -> int:
        return len(self._cell_of)

    @property
    def shapes(self) -> Sequence[tuple[int, ...]]:
        """The distinct demands by number."""
        return self._shape_list

    def cell_of(self, row: int) -> int:
        return self._cell_of[row]

    def free_of(self, row: int) -> tuple[int, ...]:
        """Free amount of each resource type."""
        start = row * self.n_resources
        return tuple(self._flat[start : start + self.n_resources])

    def shape_of(self, demand: tuple[int, ...]) -> int:
        """Number of a shape; its bit-vectors are made when it is new."""
        shape = self._shapes.get(demand)
        if shape is None:
            if len(self._shape_list) >= _MOST_SHAPES:
                self._drop_shapes()
            shape = self._shapes[demand] = len(self._shape_list)
            self._shape_list.append(demand)
            self.open_masks.append(0)
            for index, cell in enumerate(self.cells):
                cell.fits.append(0)
                self._compute_fits(shape, index)
        return shape

    def count_fitting(self, demand: tuple[int, ...]) -> int:
        shape = self.shape_of(demand)
        return sum([cell.fits[shape].bit_count() for cell in self.cells])  # a list: a generator costs a third more

    def eligible(self, need: Need, index: int) -> int:
        """Bits of the nodes of a cell whose properties satisfy the need; remembered."""
        if len(self._eligible) > _MOST_NEEDS:
            self._eligible.clear()
        known = self._eligible.setdefault(need, {})
        bits = known.get(index)
        if bits is None:
            bits = known[index] = self.cells[index].eligible(need)
        return bits

    def has_room_for(self, demand: tuple[int, ...]) -> bool:
        """True if the demand fits anywhere."""
        return self.open_masks[self.shape_of(demand)] != 0

    def shift(self, row: int, demand: tuple[int, ...], sign: int) -> None:
        """Add (`sign` +1) or take away (-1) free amounts of a node; bit-vectors follow."""
        flat, place = self._flat, row * self.n_resources
        for amount in demand:
            flat[place] += sign * amount
            place += 1
        self.refresh(row)

    def refresh(self, row: int) -> None:
        """Bring the bits of a row in line with its free amounts."""
        index = self._cell_of[row]
        cell = self.cells[index]
        bit = 1 << (row - cell.start)
        flat, start, fits = self._flat, row * self.n_resources, cell.fits
        for shape, demand in enumerate(self._shape_list):
            place = start
            for amount in demand:
                if amount > flat[place]:
                    fits[shape] &= ~bit
                    if not fits[shape]:
                        self.open_masks[shape] &= ~(1 << index)
                    break
                place += 1
            else:
                fits[shape] |= bit
                self.open_masks[shape] |= 1 << index

    def with_free(self, free: NDArray[np.int64]) -> "SharedNodes":
        """The same nodes with other free amounts: an int64 array of the same shape, which the new index keeps."""
        index = SharedNodes(self.n_resources)
        index.free, index.racks, index.internal_mask = free, self.racks, self.internal_mask
        index.cells = [Cell(each.cluster, each.start, each.size, each.weight, each.vectors) for each in self.cells]
        index.adopt(self._cell_of, self._eligible)
        return index

    def adopt(self, cell_of: list[int], eligible: dict[Need, dict[int, int]]) -> None:
        """Take `free` and `cells` for what is indexed, once both are complete."""
        self._cell_of, self._eligible = cell_of, eligible
        self._bind()

    def check(self) -> None:
        """Compare the bit-vectors with the arrays.

        Raises:
            InvariantViolationError: If a bit is wrong.
        """
        for index, cell in enumerate(self.cells):
            for shape, demand in enumerate(self._shape_list):
                expected = self._fitting(cell.rows, demand)
                if cell.fits[shape] != expected or bool(expected) != bool(self.open_masks[shape] >> index & 1):
                    raise InvariantViolationError(f"bits of cell {index} are wrong for {demand}")

    def _bind(self) -> None:
        """Make a flat view of the array's memory: single numbers are read and written several times faster there."""
        self._flat = self.free.data.cast("B").cast("q") if self.free.size else memoryview(b"").cast("q")

    def _compute_fits(self, shape: int, index: int) -> None:
        """Make a shape's bit-vector in one cell."""
        cell = self.cells[index]
        bits = cell.fits[shape] = self._fitting(cell.rows, self._shape_list[shape])
        if bits:
            self.open_masks[shape] |= 1 << index

    def _fitting(self, rows: slice, demand: tuple[int, ...]) -> int:
        """Bits of the rows where the demand fits."""
        enough: NDArray[np.bool_] = np.logical_and.reduce(self.free[rows] >= np.array(demand, dtype=np.int64), axis=1)
        return pack_bits(enough)

    def _drop_shapes(self) -> None:
        self._shapes.clear()
        self._shape_list.clear()
        self.open_masks.clear()
        for cell in self.cells:
            cell.fits.clear()


SharedNodes = NodeIndex[Cell]
"""Nodes of which nothing is known but what every world knows."""


def index_nodes(
    free: NDArray[np.int64],
    cells: Sequence[Cell],
    properties: Sequence[frozenset[str]] = (),
) -> SharedNodes:
    """Make an index of arrays, once for each report.

    Parameters
    ----------
    free : int64 array of shape (n_nodes, n_resources)
        C-contiguous; the index keeps it and writes to it.
    cells : sequence of Cell
        They cover all rows, in order; their bit-vectors are filled in.
    properties : sequence of frozenset of str
        What each node has; none gives nodes without properties.

    Returns:
    -------
    NodeIndex
    """
    index = SharedNodes(free.shape[1])
    index.free, index.cells = free, list(cells)
    index.internal_mask = (1 << len(index.cells)) - 1
    for cell in index.cells:
        cell.vectors = property_vectors(properties[cell.rows])
    index.adopt([number for number, cell in enumerate(index.cells) for _ in range(cell.size)], {})
    return index


def property_vectors(properties: Sequence[frozenset[str]]) -> dict[str, int]:
    """For each property, the bits of the nodes that have it."""
    flags: dict[str, NDArray[np.bool_]] = {}
    for bit, names in enumerate(properties):
        for name in names:
            if name not in flags:
                flags[name] = np.zeros(len(properties), dtype=np.bool_)
            flags[name][bit] = True
    return {name: pack_bits(having) for name, having in flags.items()}


def pack_bits(flags: NDArray[np.bool_]) -> int:
    """Bit-vector of some flags.

    Parameters
    ----------
    flags : bool array of shape (n_nodes,)
        Empty gives 0.

    Returns:
    -------
    int
        Bit i is ``flags[i]``.
    """
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def unpack_bits(bits: int, size: int) -> NDArray[np.bool_]:
    """Flags of a bit-vector: the other way round from `pack_bits`; bool array of shape (size,)."""
    raw = np.frombuffer(bits.to_bytes((size + 7) // 8, "little"), dtype=np.uint8)
    return np.unpackbits(raw, count=size, bitorder="little").astype(np.bool_)
