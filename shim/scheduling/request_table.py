"""The table of pending requests: kept up to date by whoever hears of them, and looked at by snapshots."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shim.domain.messages import Need
from shim.scheduling.job_table import FloatArray
from shim.scheduling.snapshot import (
    ANY_CLUSTER,
    IntArray,
    Preferred,
    RequestClass,
    RequestColumn,
    Requests,
    RequestTime,
)

_FIRST_ROWS = 64
_NOTHING = Need(())


class RequestTable:
    """Numbers of all requests of a Global Master, column by column; rows are reused when requests end.

    Single numbers are written through a flat view of the same memory: several times faster than numpy for that.

    Attributes:
        wanted: How many containers of each distinct need wait.
    """

    def __init__(self) -> None:
        self.wanted: Counter[Need] = Counter()
        self._width = _FIRST_ROWS
        self._numbers: IntArray = np.zeros((len(RequestColumn), _FIRST_ROWS), dtype=np.int64)
        self._times: FloatArray = np.zeros((len(RequestTime), _FIRST_ROWS))
        self._needs: list[Need] = [_NOTHING] * _FIRST_ROWS
        self._preferred: list[tuple[Preferred, ...]] = [()] * _FIRST_ROWS
        self._n_preferring = 0
        self._free_rows = list(range(_FIRST_ROWS - 1, -1, -1))
        self._live: dict[int, None] = {}
        self._live_rows: NDArray[np.intp] | None = None
        self._flat = self._numbers.data.cast("B").cast("q")

    def add(
        self,
        job: int,
        need: Need,
        count: int,
        *,
        since_s: float = 0.0,
        priority: int = 0,
        stage: int = 0,
        gang: int = 0,
        request_class: RequestClass = RequestClass.DEFAULT,
        clusters: int = ANY_CLUSTER,
        expected_s: float = 0.0,
        deadline_s: float = float("inf"),
    ) -> int:
        """A row for a request of a job; see `RequestColumn` and `RequestTime`."""
        if not self._free_rows:
            self._grow()
        row = self._free_rows.pop()
        self._needs[row] = need
        self._numbers[:, row] = (job, 0, priority, stage, gang, request_class, 0, clusters)
        self._times[:, row] = (since_s, expected_s, deadline_s)
        self.set_count(row, count)
        return row

    def prefer(self, row: int, places: Sequence[Preferred], *, is_strict: bool = False) -> None:
        """Name the places where a request's containers are wanted.

        Args:
            row: Of the request.
            places: They take the place of those that were named before.
            is_strict: Whether no other place will do.
        """
        self._n_preferring += bool(places) - bool(self._preferred[row])
        self._preferred[row] = tuple(places)
        self._numbers[RequestColumn.STRICT, row] = is_strict

    def remove(self, row: int) -> None:
        """Give a row back."""
        self.set_count(row, 0)
        self.prefer(row, ())
        self._needs[row] = _NOTHING
        self._free_rows.append(row)

    @property
    def needs(self) -> Sequence[Need]:
        """Needs of each row."""
        return self._needs

    def count(self, row: int) -> int:
        """Number of waiting containers of a request."""
        return self._flat[RequestColumn.COUNT * self._width + row]

    def set_count(self, row: int, count: int) -> None:
        """Note how many containers of a request wait."""
        place, need = RequestColumn.COUNT * self._width + row, self._needs[row]
        change = count - self._flat[place]
        self._flat[place] = count
        self.wanted[need] += change
        if not self.wanted[need]:
            del self.wanted[need]
        if (count > 0) != (row in self._live):
            if count > 0:
                self._live[row] = None
            else:
                del self._live[row]
            self._live_rows = None

    def requests(self) -> Requests:
        """Requests as a snapshot sees them; good until the next change."""
        if self._live_rows is None:
            self._live_rows = np.fromiter(self._live, dtype=np.intp, count=len(self._live))
        preferred = self._preferred if self._n_preferring else ()
        return Requests(self._live_rows, self._numbers, self._times, self._needs, preferred, self.wanted.keys())

    def _grow(self) -> None:
        before = self._width
        self._width = 2 * before
        self._numbers = np.concatenate((self._numbers, np.zeros_like(self._numbers)), axis=1)
        self._times = np.concatenate((self._times, np.zeros_like(self._times)), axis=1)
        self._needs += [_NOTHING] * before
        self._preferred += [()] * before
        self._flat = self._numbers.data.cast("B").cast("q")
        self._free_rows = list(range(2 * before - 1, before - 1, -1))
