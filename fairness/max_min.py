"""Weighted max-min fairness of one resource, with floors and ceilings."""

import numpy as np
from numpy.typing import ArrayLike

from fairness.arrays import FloatArray, amounts, expect_shape


def weighted_max_min(
    demand: ArrayLike, weights: ArrayLike, capacity: float, *, guaranteed: ArrayLike | None = None
) -> FloatArray:
    """Divide one resource so that nobody can get more without somebody poorer by weight getting less.

    Each row gets ``clip(weight * level, min(guaranteed, demand), demand)`` at the one `level` at which all of the
    capacity, or all of the demand, is given out.

    Parameters
    ----------
    demand : float64 array of shape (n_queues,)
        The most that each can use; ``inf`` for no limit.
    weights : float64 array of shape (n_queues,)
        A row of weight 0 gets its guarantee, and what is left when everybody else has all they demand: rows of
        weight 0 share that equally.
    capacity : float
        Amount to divide.
    guaranteed : float64 array of shape (n_queues,), optional
        Given first, as far as it is demanded. If the guarantees exceed the capacity they shrink in proportion.

    Returns
    -------
    float64 array of shape (n_queues,)
        Sums to ``min(capacity, demand.sum())`` up to rounding.

    Raises
    ------
    ShapeMismatchError
        If the axes differ.
    ValueError
        If an amount is negative.

    Source: Bertsekas and Gallager, Data Networks, 6.5.2; with floors as YARN's ComputeFairShares.
    """
    ceiling = amounts("demand", demand, 1)
    weight = amounts("weights", weights, 1)
    expect_shape("weights", weight, ceiling.shape)
    floor = np.zeros_like(ceiling) if guaranteed is None else amounts("guaranteed", guaranteed, 1)
    expect_shape("guaranteed", floor, ceiling.shape)
    floor = np.minimum(floor, ceiling)
    if floor.sum() >= capacity:
        return floor * (capacity / floor.sum()) if floor.sum() > 0 else floor
    given = _fill(floor, ceiling, weight, capacity)
    left = capacity - float(given.sum())
    idle = (weight == 0) & (given < ceiling)
    if left > 0 and idle.any():
        given[idle] += _fill(np.zeros(int(idle.sum())), (ceiling - given)[idle], np.ones(int(idle.sum())), left)
    return given


def _fill(floor: FloatArray, ceiling: FloatArray, weight: FloatArray, capacity: float) -> FloatArray:
    """Raise the level until the capacity or the demand is used up."""
    counted = weight > 0
    fixed = float(floor[~counted].sum())
    low, high = floor[counted] / weight[counted], ceiling[counted] / weight[counted]
    level = _level(low, high, weight[counted], capacity - fixed)
    given = floor.copy()
    given[counted] = np.clip(weight[counted] * level, floor[counted], ceiling[counted])
    return given


def _level(low: FloatArray, high: FloatArray, weight: FloatArray, capacity: float) -> float:
    """Level at which ``sum(weight * clip(level, low, high))`` reaches the capacity; infinite if it never does.

    The sum is piecewise linear in the level: it steepens by `weight` at each `low` and flattens by it at each `high`,
    so its values at all break points are running sums over the sorted break points.
    """
    finite = np.isfinite(high)
    points = np.concatenate([low, high[finite]])
    bends = np.concatenate([weight, -weight[finite]])
    order = np.argsort(points, kind="stable")
    points, slopes = points[order], np.cumsum(bends[order])
    if points.size == 0:
        return np.inf
    sums = float((weight * low).sum()) + np.concatenate([[0.0], np.cumsum(slopes[:-1] * np.diff(points))])
    segment = int(np.searchsorted(sums, capacity, side="right")) - 1
    if segment < 0:
        return float(points[0])
    # running sums have lost what is small beside a heavy row that stopped rising: this segment is added up anew
    start = points[segment]
    slope = float(weight[(low <= start) & (start < high)].sum())
    if slope == 0:
        return np.inf if segment == points.size - 1 else float(points[segment + 1])
    rest = capacity - float((weight * np.clip(start, low, high)).sum())
    return float(start + rest / slope)
