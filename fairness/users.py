"""How much of a queue one user may hold."""

import numpy as np
from numpy.typing import ArrayLike

from fairness.arrays import FloatArray, amounts

__all__ = ["user_limit"]


def user_limit(
    demand: ArrayLike, queue_amount: float, *, minimum_percent: float = 100.0, factor: float = 1.0
) -> FloatArray:
    """Most of one resource that each user of a queue may hold.

    Parameters
    ----------
    demand : float64 array of shape (n_users,)
        What each user holds and waits for; a user of demand 0 is not active and does not count.
    queue_amount : float
        What the queue is entitled to.
    minimum_percent : float
        Percentage of the queue below which the limit does not fall, however many are active.
    factor : float
        Multiple of the queue that one user may reach when others leave room.

    Returns
    -------
    float64 array of shape (n_users,)
        ``max(equal part, minimum_percent of the queue)``, at most ``factor * queue_amount``; 0 for inactive users.

    Raises
    ------
    ValueError
        If `minimum_percent` is outside (0, 100] or `factor` is not positive.

    Source: YARN's capacity scheduler, `minimum-user-limit-percent` and `user-limit-factor`.
    """
    wanted = amounts("demand", demand, 1)
    if not 0 < minimum_percent <= 100:  # noqa: PLR2004 - a percentage
        raise ValueError(f"minimum_percent is {minimum_percent}, allowed is more than 0 and at most 100")
    if factor <= 0:
        raise ValueError(f"factor is {factor}, allowed is more than 0")
    active = wanted > 0
    equal_part = queue_amount / max(int(active.sum()), 1)
    limit = min(max(equal_part, queue_amount * minimum_percent / 100), queue_amount * factor)
    return np.where(active, limit, 0.0)
