"""Fair shares between jobs, in closed form.

Source: Ghodsi et al., Dominant Resource Fairness, NSDI 2011; the closed form is that of Carbyne, section 3.2.1.
"""

import numpy as np
from numpy.typing import ArrayLike

from fairness.arrays import FloatArray, amounts, expect_shape, ratio

__all__ = ["drf_shares"]


def drf_shares(mean_demand: ArrayLike, capacity: ArrayLike, *, weights: ArrayLike | None = None) -> FloatArray:
    """Divide a capacity among jobs so that weighted dominant shares are equal, whatever each can use at the moment.

    Parameters
    ----------
    mean_demand : float64 array of shape (n_jobs, n_resources)
        Mean demand of a task over all tasks of each job. Keep it for the job's life: a mean over the unfinished tasks
        lets shares fall without any arrival, and breaks promises.
    capacity : float64 array of shape (n_resources,)
        What is divided.
    weights : float64 array of shape (n_jobs,), optional
        1 for every job if left out.

    Returns
    -------
    float64 array of shape (n_jobs, n_resources)
        The share of each job; a row of zeros for a job that demands nothing or has weight 0.

    Raises
    ------
    ShapeMismatchError
        If axes differ.
    ValueError
        If an amount is negative.
    """
    demand, total = amounts("mean_demand", mean_demand, 2), amounts("capacity", capacity, 1)
    expect_shape("mean_demand", demand, (demand.shape[0], total.shape[0]))
    weight = np.ones(demand.shape[0]) if weights is None else amounts("weights", weights, 1)
    expect_shape("weights", weight, (demand.shape[0],))
    fraction = ratio(demand, total[None, :])
    fraction[((demand > 0) & (total == 0)).any(axis=1)] = 0.0  # nobody can run what needs a resource that is not there
    direction = ratio(fraction, fraction.max(axis=1, initial=0.0)[:, None]) * weight[:, None]
    fullest = direction.sum(axis=0).max(initial=0.0)
    return direction * (total / fullest if fullest else 0.0)
