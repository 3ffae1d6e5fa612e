"""Who is next: the table of a Global Master's jobs, and the keys by which recipes order them (smallest first).

Kernels see columns of the table, one entry per job that has waiting tasks; identities stay in the machine.
"""

from collections.abc import Callable
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from shim.scheduling.global_master.durations import ENOUGH_FINISHED, DurationModel, FloatArray, log2_of

__all__ = [
    "Column",
    "JobColumns",
    "JobTable",
    "OrderingKernel",
    "estimated_work",
    "expect_durations",
    "fewest_unfinished",
    "first_come",
    "learnt_work",
    "least_share",
    "order_jobs",
]

JobColumns = FloatArray
"""float64 array of shape (len(Column), n_jobs)."""

OrderingKernel = Callable[[JobColumns, DurationModel, float], FloatArray]
"""From columns, learnt durations and the time in seconds to one key per job; array of shape (n_jobs,)."""

_FIRST_ROWS = 64
_HOLDS_FOR = 0.05
_HOLDS_AT_LEAST_S = 0.01
_OUT_OF_DATE = float("-inf")


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
    DEFICIT = 9
    """Whose queue goes first, smallest first: written by the entitle step as the recipe's `queues` says."""
    FINISHED_LOG2 = 10
    """Sum of the binary logarithms of the seconds that the finished tasks ran."""
    EXPECTED_S = 11
    """What a task is expected to run; written by the order step if the recipe learns durations."""
    EXPECTED_UNTIL_S = 12
    """When `EXPECTED_S` is out of date."""
    SHARE = 13
    """Dominant share of what its running tasks hold; written by the order step if the recipe reads it."""


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
        """A row of zeros."""
        if not self._free_rows:
            self._grow()
        row = self._free_rows.pop()
        self._columns[:, row] = 0.0
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

    def count_ended(self, row: int, ran_for_s: float) -> bool:
        """One more task of a job has ended; says whether it is the job's first."""
        self.shift(Column.FINISHED_S, row, ran_for_s)
        self.shift(Column.FINISHED_LOG2, row, log2_of(ran_for_s))
        self.expect_anew(row)
        return self.shift(Column.FINISHED, row, +1.0) == 1.0

    def expect_anew(self, row: int) -> None:
        """What is expected of a job's tasks is out of date."""
        self.put(Column.EXPECTED_UNTIL_S, row, _OUT_OF_DATE)

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
        """Whether no job has a task to place."""
        return not self._waiting

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


def first_come(columns: JobColumns, durations: DurationModel, now_s: float) -> FloatArray:  # noqa: ARG001 - a kernel
    """Arrival order.

    Parameters
    ----------
    columns : float64 array of shape (len(Column), n_jobs)
    durations : DurationModel
        Not used.
    now_s : float
        Not used.

    Returns:
    -------
    float64 array of shape (n_jobs,)
        Arrival in seconds.
    """
    keys: FloatArray = columns[Column.ARRIVED_S]
    return keys


def fewest_unfinished(columns: JobColumns, durations: DurationModel, now_s: float) -> FloatArray:  # noqa: ARG001 - a kernel
    """Fewest unfinished tasks first, running ones included.

    Parameters
    ----------
    columns : float64 array of shape (len(Column), n_jobs)
    durations : DurationModel
        Not used.
    now_s : float
        Not used.

    Returns:
    -------
    float64 array of shape (n_jobs,)
        Number of tasks that have not ended.

    Source: the order of the public simulator of Megha.
    """
    keys: FloatArray = columns[Column.TASKS] - columns[Column.FINISHED]
    return keys


def estimated_work(columns: JobColumns, durations: DurationModel, now_s: float) -> FloatArray:  # noqa: ARG001 - a kernel
    """Least capacity still to be given, by the submitter's estimate.

    Parameters
    ----------
    columns : float64 array of shape (len(Column), n_jobs)
    durations : DurationModel
        Not used.
    now_s : float
        Not used.

    Returns:
    -------
    float64 array of shape (n_jobs,)
        Slot-seconds that the waiting tasks will take.
    """
    keys: FloatArray = columns[Column.WAITING] * columns[Column.ESTIMATE_S]
    return keys


def learnt_work(columns: JobColumns, durations: DurationModel, now_s: float) -> FloatArray:  # noqa: ARG001 - a kernel
    """Least capacity still to be given, by what was learnt; of a job that has not begun, what it costs to try it.

    Parameters
    ----------
    columns : float64 array of shape (len(Column), n_jobs)
    durations : DurationModel
        What earlier jobs taught.
    now_s : float
        Not used.

    Returns:
    -------
    float64 array of shape (n_jobs,)
        Slot-seconds that the waiting tasks are expected to take.
    """
    waiting = columns[Column.WAITING]
    has_begun = columns[Column.RUNNING] + columns[Column.FINISHED] > 0.0
    keys: FloatArray = np.where(has_begun, waiting * columns[Column.EXPECTED_S], durations.trial_work(waiting))
    return keys


def expect_durations(
    table: JobTable, durations: DurationModel, now_s: float, rows: NDArray[np.intp] | None = None
) -> None:
    """Bring `EXPECTED_S` up to date, for the jobs with waiting tasks if no rows are given.

    What running tasks tell changes with time, but slowly: an expectation holds until they have run a twentieth longer,
    or one of them ends.
    """
    if rows is None:
        rows = table.waiting_rows()
    stale = rows[table.column(Column.EXPECTED_UNTIL_S)[rows] < now_s]
    if not stale.size:
        return
    columns = table.columns(stale)
    running, finished = columns[Column.RUNNING], columns[Column.FINISHED]
    elapsed_s = np.maximum(running * now_s - columns[Column.STARTED_S], 0.0) / np.maximum(running, 1.0)
    expected_s = durations.expected(finished, columns[Column.FINISHED_LOG2], running, elapsed_s)
    is_known = finished >= ENOUGH_FINISHED
    expected_s[is_known] = columns[Column.FINISHED_S][is_known] / finished[is_known]
    table.write(Column.EXPECTED_S, stale, expected_s)
    holds_s = np.where(running > 0.0, _HOLDS_FOR * elapsed_s + _HOLDS_AT_LEAST_S, np.inf)
    table.write(Column.EXPECTED_UNTIL_S, stale, np.where(is_known, np.inf, now_s + holds_s))


def least_share(columns: JobColumns, durations: DurationModel, now_s: float) -> FloatArray:  # noqa: ARG001 - a kernel
    """Dominant resource fairness between jobs: who holds least is next.

    Parameters
    ----------
    columns : float64 array of shape (len(Column), n_jobs)
    durations : DurationModel
        Not used.
    now_s : float
        Not used.

    Returns:
    -------
    float64 array of shape (n_jobs,)
        Dominant shares.
    """
    keys: FloatArray = columns[Column.SHARE]
    return keys


def order_jobs(columns: JobColumns, keys: FloatArray) -> NDArray[np.intp]:
    """Positions in the order of priority, queue deficit, key; equal ones stay as they are.

    Parameters
    ----------
    columns : float64 array of shape (len(Column), n_jobs)
    keys : float64 array of shape (n_jobs,)

    Returns:
    -------
    intp array of shape (n_jobs,)
        A permutation; empty for no jobs.
    """
    return np.lexsort((keys, columns[Column.DEFICIT], -columns[Column.PRIORITY]))
