"""The table of jobs (attempts): what is known and learnt of each, column by column.

Whoever places their tasks keeps it up to date; a snapshot is a look at it. Identities stay with the keeper.
"""

import math
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from shim.scheduling.durations import ENOUGH_FINISHED, DurationModel, FloatArray, Resemblance, log2_of

__all__ = ["Column", "FloatArray", "JobColumns", "JobTable", "expect_durations"]

JobColumns = FloatArray
"""float64 array of shape (len(Column), n_jobs)."""

_FIRST_ROWS = 64
_HOLDS_FOR = 0.05
_HOLDS_AT_LEAST_S = 0.01
_OUT_OF_DATE = float("-inf")
_FEW = 4
"""Rows of which each is looked at by itself: one operation on an array costs as much as two of them."""


class Column(IntEnum):
    """Columns of the job table."""

    TASKS = 0
    WAITING = 1
    """Tasks that are neither running nor on their way to a node."""
    RUNNING = 2
    FINISHED = 3
    FINISHED_S = 4
    """Seconds that the finished tasks ran in all."""
    STARTED_S = 5
    """Sum of the launch times of the running tasks."""
    ESTIMATE_S = 6
    """Mean task time that the submitter stated; 0 for none."""
    ARRIVED_S = 7
    PRIORITY = 8
    """Larger goes first."""
    QUEUE = 9
    """Row of its queue in `Queues`; -1 for a queue without a share."""
    FINISHED_LOG2 = 10
    """Sum of the binary logarithms of the seconds that the finished tasks ran."""
    EXPECTED_S = 11
    """What a task is expected to run, if the policy learns durations."""
    EXPECTED_UNTIL_S = 12
    """When `EXPECTED_S` is out of date."""
    SHARE = 13
    """Dominant share of what its running tasks hold, if the policy reads it."""
    TRIAL_S = 14
    """What it costs to try a job of which nothing has begun, if the policy learns durations."""
    DEADLINE_S = 15
    """When the job should have ended; 0 for no deadline."""
    COMPARED_LOG2 = 16
    """Sum over the finished tasks of `Resemblance.log2_of`."""
    COMPARED_SQUARES = 17
    """Sum of the squares of the same."""
    COUNTED_S = 18
    """What a task counts for in an order with a horizon: as `EXPECTED_S`, but no task for longer than that."""
    HORIZON_S = 19
    """The horizon of `COUNTED_S`."""


class JobTable:
    """Numbers of all jobs of a Global Master, column by column.

    Rows are reused when jobs end. Single numbers are written through a flat view of the same memory, which is several
    times faster than numpy for that.
    """

    def __init__(self) -> None:
        self._width = _FIRST_ROWS
        self._columns: JobColumns = np.zeros((len(Column), _FIRST_ROWS))
        self._flat: memoryview[float] = self._columns.data.cast("B").cast("d")
        self._free_rows = list(range(_FIRST_ROWS - 1, -1, -1))
        self._waiting: dict[int, None] = {}
        self._waiting_rows: NDArray[np.intp] | None = None

    def add(self) -> int:
        """A row of zeros, of a queue without a share."""
        if not self._free_rows:
            self._grow()
        row = self._free_rows.pop()
        self._columns[:, row] = 0.0
        self._columns[Column.QUEUE, row] = -1.0
        return row

    def remove(self, row: int) -> None:
        """Give a row back."""
        self._free_rows.append(row)
        self.set_waiting(row, is_waiting=False)

    def get(self, column: Column, row: int) -> float:
        """One number."""
        return self._flat[column * self._width + row]

    def put(self, column: Column, row: int, value: float) -> None:
        """Write one number."""
        self._flat[column * self._width + row] = value

    def shift(self, column: Column, row: int, change: float) -> float:
        """Add to one number; gives the sum."""
        place = column * self._width + row
        total = self._flat[place] + change
        self._flat[place] = total
        return total

    def count_ended(self, row: int, ran_for_s: float, resemblance: Resemblance) -> bool:
        """One more task of a job has ended; says whether it is the job's first."""
        compared = resemblance.log2_of(ran_for_s)
        self.shift(Column.COMPARED_LOG2, row, compared)
        self.shift(Column.COMPARED_SQUARES, row, compared * compared)
        self.shift(Column.FINISHED_S, row, ran_for_s)
        self.shift(Column.FINISHED_LOG2, row, log2_of(ran_for_s))
        self.expect_anew(row)
        return self.shift(Column.FINISHED, row, +1.0) == 1.0

    def compare(self, row: int, resemblance: Resemblance) -> None:
        """Let a job that has ended tell how much its tasks resembled each other."""
        sums = (self.get(each, row) for each in (Column.FINISHED, Column.COMPARED_LOG2, Column.COMPARED_SQUARES))
        resemblance.compare(*sums)

    def expect_anew(self, row: int) -> None:
        """Mark the expected durations of a job's tasks as out of date."""
        self.put(Column.EXPECTED_UNTIL_S, row, _OUT_OF_DATE)

    def is_stale(self, row: int, now_s: float, horizon_s: float) -> bool:
        """Return whether what is expected of a job's tasks is to be told anew; of one without any it always is."""
        flat, width = self._flat, self._width
        return (
            flat[Column.EXPECTED_UNTIL_S * width + row] < now_s
            or flat[Column.HORIZON_S * width + row] != horizon_s
            or flat[Column.RUNNING * width + row] + flat[Column.FINISHED * width + row] == 0.0
        )

    def set_waiting(self, row: int, *, is_waiting: bool) -> None:
        """Note whether the job has tasks to place."""
        if is_waiting == (row in self._waiting):
            return
        if is_waiting:
            self._waiting[row] = None
        else:
            del self._waiting[row]
        self._waiting_rows = None

    def waiting_rows(self) -> NDArray[np.intp]:
        """Rows of the jobs with tasks to place, in the order in which they began to wait."""
        if self._waiting_rows is None:
            self._waiting_rows = np.fromiter(self._waiting, dtype=np.intp, count=len(self._waiting))
        return self._waiting_rows

    @property
    def is_idle(self) -> bool:
        """Return whether no job has a task to place."""
        return not self._waiting

    @property
    def width(self) -> int:
        """Number of rows, those of no job included."""
        return self._width

    @property
    def all_columns(self) -> JobColumns:
        """The columns of every row; to be read only, and until the next `add`."""
        return self._columns

    def columns(self, rows: NDArray[np.intp]) -> JobColumns:
        """Copies of the columns for some rows."""
        return self._columns.take(rows, axis=1)

    def column(self, column: Column) -> FloatArray:
        """One number of every row, by row."""
        numbers: FloatArray = self._columns[column]
        return numbers

    def write(self, column: Column, rows: NDArray[np.intp], values: FloatArray) -> None:
        """Write one number of some rows."""
        self._columns[column, rows] = values

    def _grow(self) -> None:
        before = self._width
        self._width = 2 * before
        self._columns = np.concatenate((self._columns, np.zeros_like(self._columns)), axis=1)
        self._flat = self._columns.data.cast("B").cast("d")
        self._free_rows = list(range(2 * before - 1, before - 1, -1))


def expect_durations(
    table: JobTable,
    durations: DurationModel,
    now_s: float,
    rows: NDArray[np.intp] | None = None,
    horizon_s: float = math.inf,
) -> None:
    """Bring `EXPECTED_S`, `COUNTED_S` and `TRIAL_S` up to date, for the jobs with waiting tasks if no rows are given.

    In the latter two no task counts for longer than the horizon. What running tasks tell changes with time, but slowly:
    an expectation holds until they have run a twentieth longer, or one of them ends.
    """
    if rows is None:
        rows = table.waiting_rows()
    if len(rows) <= _FEW and not any(table.is_stale(row, now_s, horizon_s) for row in rows.tolist()):
        return
    untried = rows[table.column(Column.RUNNING)[rows] + table.column(Column.FINISHED)[rows] == 0.0]
    if untried.size:
        table.write(Column.TRIAL_S, untried, durations.trial_work(table.column(Column.WAITING)[untried], horizon_s))
    is_old = table.column(Column.EXPECTED_UNTIL_S)[rows] < now_s
    stale = rows[is_old | (table.column(Column.HORIZON_S)[rows] != horizon_s)]
    if not stale.size:
        return
    columns = table.columns(stale)
    running, finished = columns[Column.RUNNING], columns[Column.FINISHED]
    elapsed_s = np.maximum(running * now_s - columns[Column.STARTED_S], 0.0) / np.maximum(running, 1.0)
    horizons_s = tuple(dict.fromkeys((math.inf, horizon_s)))  # one where there is no horizon
    means_s = durations.expected(finished, columns[Column.FINISHED_LOG2], running, elapsed_s, horizons_s)
    is_known = finished >= ENOUGH_FINISHED
    ended_s = columns[Column.FINISHED_S][is_known] / finished[is_known]
    within: dict[float, FloatArray] = {}
    for horizon, told_s in zip(horizons_s, means_s, strict=True):
        told_s[is_known] = np.minimum(ended_s, horizon)
        within[horizon] = durations.believed(told_s, finished, running, horizon)
    table.write(Column.EXPECTED_S, stale, within[math.inf])
    table.write(Column.COUNTED_S, stale, within[horizon_s])
    table.write(Column.HORIZON_S, stale, np.full(stale.size, horizon_s))
    holds_s = np.where(running > 0.0, _HOLDS_FOR * elapsed_s + _HOLDS_AT_LEAST_S, np.inf)
    table.write(Column.EXPECTED_UNTIL_S, stale, np.where(is_known, np.inf, now_s + holds_s))
