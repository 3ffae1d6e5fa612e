"""Measures of holdings: dominant shares, deficits, and the evenness of a division."""

import numpy as np
from numpy.typing import ArrayLike

from fairness.arrays import FloatArray, amounts, expect_shape, ratio


def dominant_share(used: ArrayLike, capacity: ArrayLike) -> FloatArray:
    """Dominant share of each row.

    Parameters
    ----------
    used : float64 array of shape (n_queues, n_resources)
        Resources held, each column in the unit of `capacity`. Non-negative.
    capacity : float64 array of shape (n_resources,)
        Capacity of the federation. A zero entry means that the resource does not exist; it is ignored.

    Returns
    -------
    float64 array of shape (n_queues,)
        ``max_r used[q, r] / capacity[r]``; 0.0 for an idle row. Exceeds 1.0 while capacity shrinks.

    Raises
    ------
    ShapeMismatchError
        If the resource axes differ.

    Source: Ghodsi et al., DRF, NSDI 2011, section 4.1; cf. YARN's DominantResourceCalculator.
    """
    held, total = amounts("used", used, 2), amounts("capacity", capacity, 1)
    expect_shape("used", held, (held.shape[0], total.shape[0]))
    shares: FloatArray = ratio(held, total[None, :]).max(axis=1, initial=0.0)
    return shares


def deficit(entitlement: ArrayLike, used: ArrayLike, capacity: ArrayLike) -> FloatArray:
    """Distance of each row below its entitlement, as a dominant share.

    Parameters
    ----------
    entitlement, used : float64 arrays of shape (n_queues, n_resources)
    capacity : float64 array of shape (n_resources,)

    Returns
    -------
    float64 array of shape (n_queues,)
        Dominant share entitled to, less dominant share held. Positive: is owed. Negative: has borrowed.

    Raises
    ------
    ShapeMismatchError
        If axes differ.
    """
    owed = dominant_share(entitlement, capacity)
    held = dominant_share(used, capacity)
    expect_shape("used", held, owed.shape)
    return owed - held


def jain_index(shares: ArrayLike) -> float:
    """Jain's fairness index of a division.

    Parameters
    ----------
    shares : float64 array of shape (n_queues,)
        What each got, already divided by what each should have got if those differ. Non-negative.

    Returns
    -------
    float
        ``(sum x)^2 / (n sum x^2)``: 1 when all are equal, 1/n when one has everything; 1.0 for nobody or nothing.

    Source: Jain, Chiu and Hawe, DEC-TR-301, 1984.
    """
    values = amounts("shares", shares, 1)
    largest = values.max(initial=0.0)
    if largest == 0.0:
        return 1.0
    scaled = values / largest  # squares of very small or very large shares would leave the range of a float
    return float(scaled.sum() ** 2 / (scaled.size * np.square(scaled).sum()))
