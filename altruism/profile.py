"""What is free over time: a step function from seconds to amounts."""

from bisect import bisect_left, bisect_right

import numpy as np

from altruism.graph import EPSILON
from altruism.packing import how_many_fit
from fairness.arrays import FloatArray

__all__ = ["RoomProfile"]


class RoomProfile:
    """Free amounts over [0, infinity), changed by reservations.

    Amounts may become negative: who reserves decides whether that is allowed.

    Parameters
    ----------
    capacity : float64 array of shape (n_resources,)
        What is free where nothing is reserved.
    """

    def __init__(self, capacity: FloatArray) -> None:
        self._times: list[float] = [0.0]
        self._free: list[FloatArray] = [np.array(capacity, dtype=np.float64)]

    def steps(self) -> tuple[FloatArray, FloatArray]:
        """Start of each step, of shape (n_times,), and what is free from then on, of shape (n_times, n_resources)."""
        return np.array(self._times), np.array(self._free)

    def reserve(self, start: float, end: float, amount: FloatArray) -> None:
        """Take an amount away on [start, end); a negative amount gives it back."""
        first, last = self._cut(max(0.0, start)), self._cut(max(0.0, end))
        for step in range(first, last):
            self._free[step] = self._free[step] - amount

    def lowest(self, start: float, end: float) -> FloatArray:
        """The least that is free of each resource at any time of [start, end), of shape (n_resources,)."""
        lowest: FloatArray = np.min(np.array(self._free[self._step(start) : self._beyond(start, end)]), axis=0)
        return lowest

    def fits(self, start: float, end: float, demand: FloatArray) -> int:
        """Tasks of one demand that fit during all of [start, end)."""
        return how_many_fit(demand, self.lowest(start, end))

    def latest_start(self, demand: FloatArray, duration: float, not_after: float, not_before: float) -> float:
        """The latest start in [not_before, not_after] at which one task fits for its duration.

        `not_before` if there is none: the caller knows that the task may start there.
        """
        start = not_after
        while start > not_before + EPSILON:
            blocked = self._last_blocked(start, start + duration, demand)
            if blocked is None:
                return start
            start = blocked - duration
        return not_before

    def _last_blocked(self, start: float, end: float, demand: FloatArray) -> float | None:
        """Start of the last step in [start, end) in which the demand does not fit."""
        for step in range(self._beyond(start, end) - 1, self._step(start) - 1, -1):
            if (demand > self._free[step] + EPSILON).any():
                return self._times[step]
        return None

    def _step(self, at: float) -> int:
        """Index of the step that holds a time; a time just before a step's start, by rounding, belongs to that step."""
        return max(0, bisect_right(self._times, at + EPSILON) - 1)

    def _beyond(self, start: float, end: float) -> int:
        """Index behind the last step that begins before `end`: at least one step is looked at."""
        return max(self._step(start) + 1, bisect_left(self._times, end - EPSILON))

    def _cut(self, at: float) -> int:
        """Let a step begin at a time; gives its index."""
        step = self._step(at)
        if abs(self._times[step] - at) <= EPSILON:
            return step
        self._times.insert(step + 1, at)
        self._free.insert(step + 1, self._free[step])
        return step + 1
