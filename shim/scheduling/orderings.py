"""Orderings: the keys by which policies order pending requests, smallest first.

A kernel looks at a snapshot and some rows of its requests, and gives one key for each. It sees columns, never names.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shim.scheduling.job_table import Column, FloatArray
from shim.scheduling.snapshot import Snapshot

OrderingKernel = Callable[[Snapshot, NDArray[np.intp]], FloatArray]
"""From a snapshot and rows of its requests, intp array of shape (n,), to one key for each, float64 of shape (n,)."""


def first_come(snapshot: Snapshot, rows: NDArray[np.intp]) -> FloatArray:
    """Arrival of the job, in seconds."""
    return snapshot.of_job(Column.ARRIVED_S, rows)


def fewest_running(snapshot: Snapshot, rows: NDArray[np.intp]) -> FloatArray:
    """Number of the job's tasks that run: equal shares of slots between jobs."""
    return snapshot.of_job(Column.RUNNING, rows)


def fewest_unfinished(snapshot: Snapshot, rows: NDArray[np.intp]) -> FloatArray:
    """Number of the job's tasks that have not ended, running ones included.

    Source: the order of the public simulator of Megha.
    """
    return snapshot.of_job(Column.TASKS, rows) - snapshot.of_job(Column.FINISHED, rows)


def estimated_work(snapshot: Snapshot, rows: NDArray[np.intp]) -> FloatArray:
    """Slot-seconds that the job's waiting tasks will take, by the submitter's estimate."""
    return snapshot.of_job(Column.WAITING, rows) * snapshot.of_job(Column.ESTIMATE_S, rows)


def learnt_work(snapshot: Snapshot, rows: NDArray[np.intp]) -> FloatArray:
    """Slot-seconds that the job's waiting tasks are expected to take, by what was learnt, within the horizon.

    Of a job that has not begun: what it costs to try it (`DurationModel.trial_work`).
    """
    jobs = snapshot.job_columns(rows)
    has_begun = jobs[Column.RUNNING] + jobs[Column.FINISHED] > 0.0
    work_s = jobs[Column.WAITING] * jobs[Column.COUNTED_S]
    keys: FloatArray = np.where(has_begun, work_s, jobs[Column.TRIAL_S])
    return keys


def least_share(snapshot: Snapshot, rows: NDArray[np.intp]) -> FloatArray:
    """Dominant share of what the job's running tasks hold: dominant resource fairness between jobs."""
    return snapshot.of_job(Column.SHARE, rows)
