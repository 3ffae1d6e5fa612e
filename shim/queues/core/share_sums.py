"""Sums over all queues that a round needs again and again, kept up to date instead of added up anew."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from fairness import FloatArray

__all__ = ["RowSet", "ShareSums"]


class ShareSums:
    """Sums over the queues of a round.

    Args:
        parent: Row of the queue above each, below 0 for none; parents come first.
        held: Amounts by row and resource.
        promised: The same.

    Attributes:
        held_below: What each queue holds with all queues below it.
        promised: Of all queues together.
    """

    def __init__(self, parent: NDArray[np.int64], held: FloatArray, promised: FloatArray) -> None:
        self._parent = [int(above) for above in parent]
        self.held_below = held.copy()
        for row in reversed(range(len(self._parent))):
            if self._parent[row] >= 0:
                self.held_below[self._parent[row]] += self.held_below[row]
        self.promised: FloatArray = promised.sum(axis=0)

    def upwards(self, row: int) -> Iterator[int]:
        """The queue itself and every queue above it."""
        while row >= 0:
            yield row
            row = self._parent[row]

    def add(self, row: int, size: FloatArray) -> None:
        """A queue holds, and will hold, so much more."""
        for above in self.upwards(row):
            self.held_below[above] += size
        self.promised = self.promised + size


class RowSet:
    """Rows of which something is true, in order."""

    def __init__(self, rows: Iterable[int]) -> None:
        self._rows = sorted(rows)

    def put(self, row: int, *, is_in: bool) -> None:
        """Put a row in or out."""
        place = bisect_left(self._rows, row)
        was_in = self._rows[place : place + 1] == [row]
        if is_in and not was_in:
            insort(self._rows, row)
        elif was_in and not is_in:
            del self._rows[place]

    def has_other(self, row: int) -> bool:
        """True if any row but this is in."""
        return self.count_others(row) > 0

    def count_others(self, row: int) -> int:
        """Of how many rows but this it is true."""
        place = bisect_left(self._rows, row)
        return len(self._rows) - (self._rows[place : place + 1] == [row])

    def others(self, row: int, *, most: int) -> Iterator[int]:
        """The first of the rows but this."""
        return islice((other for other in self._rows if other != row), most)
