"""Dominant resource fairness: progressive filling of many jobs over many resources.

Source: Ghodsi, Zaharia, Hindman, Konwinski, Shenker, Stoica, Dominant Resource Fairness, NSDI 2011.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fairness.arrays import BoolArray, FloatArray, amounts, expect_shape, ratio

_FULL = 1e-9  # a resource with less than this part of it left is used up: what is left is rounding


@dataclass(frozen=True, slots=True)
class DRFAllocation:
    """The result of `dominant_resource_fairness`.

    Attributes
    ----------
    tasks : float64 array of shape (n_jobs,)
        Tasks of each job, fractions included.
    dominant_share : float64 array of shape (n_jobs,)
        Dominant share of each job, in [0, 1].
    """

    tasks: FloatArray
    dominant_share: FloatArray


def dominant_resource_fairness(
    demand: ArrayLike, capacity: ArrayLike, *, weights: ArrayLike | None = None, max_tasks: ArrayLike | None = None
) -> DRFAllocation:
    """Divide resources among jobs by (weighted) DRF with demand caps.

    Every job's dominant share over its weight rises at the same pace until the job has all it wants or a resource
    that it needs is used up; the others go on.

    Parameters
    ----------
    demand : float64 array of shape (n_jobs, n_resources)
        What one task of each job needs. A row of zeros gets no tasks.
    capacity : float64 array of shape (n_resources,)
        A job that needs a resource of capacity 0 gets no tasks.
    weights : float64 array of shape (n_jobs,), optional
        1 for every job if left out. A job of weight 0 gets no tasks.
    max_tasks : float64 array of shape (n_jobs,), optional
        The most tasks that each job can use; without a limit if left out.

    Returns
    -------
    DRFAllocation

    Raises
    ------
    ShapeMismatchError
        If axes differ.
    ValueError
        If an amount is negative.

    Source: DRF, algorithm 1 in its divisible form, section 4.3 for weights.
    """
    need, total = amounts("demand", demand, 2), amounts("capacity", capacity, 1)
    n_jobs = need.shape[0]
    expect_shape("demand", need, (n_jobs, total.shape[0]))
    weight = np.ones(n_jobs) if weights is None else amounts("weights", weights, 1)
    limit = np.full(n_jobs, np.inf) if max_tasks is None else amounts("max_tasks", max_tasks, 1)
    expect_shape("weights", weight, (n_jobs,))
    expect_shape("max_tasks", limit, (n_jobs,))

    can_run = (need > 0).any(axis=1) & (weight > 0) & ~((need > 0) & (total == 0)).any(axis=1)
    fraction = ratio(need[can_run], total[None, :])  # of each resource, by one task
    per_task, weight, limit = fraction.max(axis=1, initial=0.0), weight[can_run], limit[can_run]
    pace = fraction * (weight / per_task)[:, None]  # of each resource, as the level rises by 1
    level = _levels(pace, limit * per_task / weight, total > 0)

    tasks, share = np.zeros(n_jobs), np.zeros(n_jobs)
    tasks[can_run] = np.minimum(level * weight / per_task, limit)
    share[can_run] = tasks[can_run] * per_task
    return DRFAllocation(tasks=tasks, dominant_share=share)


def _levels(pace: FloatArray, ceiling: FloatArray, exists: BoolArray) -> FloatArray:
    """Level at which each job stops: one pass for each resource that fills up, never one for each job."""
    level = ceiling.copy()
    rising = np.ones(ceiling.size, dtype=np.bool_)
    by_ceiling = np.argsort(ceiling, kind="stable")
    room = np.where(exists, 1.0, np.inf)
    for _ in range(room.size):
        order = by_ceiling[rising[by_ceiling]]
        if order.size == 0:
            break
        stop = _saturation_levels(pace[order], ceiling[order], room)
        lowest = float(stop.min())
        if not np.isfinite(lowest):
            break
        full = stop <= lowest * (1 + _FULL)
        ends = rising & (pace[:, full] > 0).any(axis=1)
        level[ends] = np.minimum(ceiling[ends], lowest)
        room = np.where(full, np.inf, room - level[ends] @ pace[ends])
        rising &= ~ends
    return level


def _saturation_levels(pace: FloatArray, ceiling: FloatArray, room: FloatArray) -> FloatArray:
    """Level at which each resource is used up if nobody stops for another resource; infinite if never.

    Rows are sorted by ceiling. At the ceiling of row i, rows before it hold ``pace * ceiling`` and the rest rise on.
    """
    held = np.cumsum(pace * np.where(np.isfinite(ceiling), ceiling, 0.0)[:, None], axis=0)
    before = np.vstack([np.zeros(pace.shape[1]), held[:-1]])
    rising = np.cumsum(pace[::-1], axis=0)[::-1]
    stop = np.full(room.size, np.inf)
    for resource in np.flatnonzero(np.isfinite(room)):
        slope, held_before = rising[:, resource], before[:, resource]
        wanted = np.divide(room[resource] - held_before, slope, out=np.full(slope.size, np.inf), where=slope > 0)
        reached = wanted <= ceiling
        if reached.any():
            stop[resource] = max(wanted[int(np.argmax(reached))], 0.0)
    return stop
