"""Free amounts over time: a step function from seconds to amounts."""

import sys
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from fairness.arrays import FloatArray


class RoomProfile:
    """Free amounts over [0, infinity), changed by reservations.

    Amounts may become negative: who reserves decides whether that is allowed.

    Parameters
    ----------
    capacity : float64 array of shape (n_resources,)
        What is free where nothing is reserved.
    """

    def __init__(self, capacity: FloatArray) -> None:
        self._times = np.zeros(1)
        self._free = np.array(capacity, dtype=np.float64)[None, :]

    @classmethod
    def of(cls, capacity: FloatArray, start: FloatArray, end: FloatArray, amount: FloatArray) -> "RoomProfile":
        """Build a profile with many reservations at once.

        Parameters
        ----------
        capacity : float64 array of shape (n_resources,)
            What is free where nothing is reserved.
        start, end : float64 arrays of shape (n_reservations,)
            Each reservation is of [start, end).
        amount : float64 array of shape (n_reservations, n_resources)
            What each takes.
        """
        room = cls(capacity)
        if not start.size:
            return room
        changes = np.maximum(np.concatenate([start, end]), 0.0)
        order = np.argsort(changes, kind="stable")
        changes = changes[order]
        step = np.concatenate([[0], np.cumsum(np.diff(changes) > EPSILON)])  # equal times, but for rounding, are one
        times = changes[np.concatenate([[True], np.diff(step) > 0])]
        delta = np.zeros((times.size, amount.shape[1]))
        np.subtract.at(delta, step, np.concatenate([amount, -amount])[order])
        if times[0] > EPSILON:
            times, delta = np.concatenate([[0.0], times]), np.concatenate([np.zeros((1, amount.shape[1])), delta])
        times[0] = 0.0
        room._times, room._free = times, room._free + np.cumsum(delta, axis=0)
        return room

    def steps(self) -> tuple[FloatArray, FloatArray]:
        """Start of each step, of shape (n_times,), and what is free from then on, of shape (n_times, n_resources)."""
        return self._times.copy(), self._free.copy()

    def reserve(self, start: float, end: float, amount: FloatArray) -> None:
        """Take an amount away on [start, end); a negative amount gives it back."""
        first, last = self._cut(max(0.0, start)), self._cut(max(0.0, end))
        self._free[first:last] -= amount

    def reserve_all(self, start: FloatArray, end: FloatArray, amount: FloatArray) -> None:
        """Take amounts away as `reserve` does, all at once; the arguments are those of `of`."""
        if not start.size:
            return
        times, more = RoomProfile.of(np.zeros(self._free.shape[1]), start, end, amount).steps()
        step = self._times.searchsorted(times + EPSILON, side="right") - 1
        is_new = times - self._times[step] > EPSILON
        self._times = np.insert(self._times, step[is_new] + 1, times[is_new])
        self._free = np.insert(self._free, step[is_new] + 1, self._free[step[is_new]], axis=0)
        begins = step + np.cumsum(is_new)  # each step of what is reserved begins with one of the new profile
        self._free += np.repeat(more, np.diff(begins, append=self._times.size), axis=0)

    def lowest(self, start: float, end: float) -> FloatArray:
        """The least that is free of each resource at any time of [start, end), of shape (n_resources,)."""
        lowest: FloatArray = self._free[self._step(start) : self._beyond(start, end)].min(axis=0)
        return lowest

    def fits(self, start: float, end: float, demand: FloatArray) -> int:
        """Tasks of one demand that fit during all of [start, end)."""
        return how_many_fit(demand.tolist(), self.lowest(start, end).tolist())

    def latest_start(self, demand: FloatArray, duration: float, not_after: float, not_before: float) -> float:
        """The latest start in [not_before, not_after] at which one task fits for its duration.

        `not_before` if there is none: the caller knows that the task may start there.
        """
        first, beyond = self._step(not_before), self._beyond(not_before, not_after + duration)
        blocked = first + np.flatnonzero((demand > self._free[first:beyond] + EPSILON).any(axis=1))
        if not blocked.size:
            return not_after
        # gaps between blocked steps, the last first: a task fits where its latest start is in its gap
        ends = np.append(self._times[blocked], np.inf)
        begins = np.concatenate([[not_before], np.append(self._times, np.inf)[blocked + 1]])
        latest = np.minimum(ends - duration, not_after)
        fitting = np.flatnonzero(latest >= np.maximum(begins, not_before) - EPSILON)
        return float(latest[fitting[-1]]) if fitting.size else not_before

    def _step(self, at: float) -> int:
        """Index of the step that holds a time; a time just before a step's start, by rounding, belongs to that step."""
        return max(0, int(self._times.searchsorted(at + EPSILON, side="right")) - 1)

    def _beyond(self, start: float, end: float) -> int:
        """Index behind the last step that begins before `end`: at least one step is looked at."""
        return max(self._step(start) + 1, int(self._times.searchsorted(end - EPSILON, side="left")))

    def _cut(self, at: float) -> int:
        """Let a step begin at a time; gives its index."""
        step = self._step(at)
        if abs(self._times[step] - at) <= EPSILON:
            return step
        self._times = np.insert(self._times, step + 1, at)
        self._free = np.insert(self._free, step + 1, self._free[step], axis=0)
        return step + 1


# Amounts of resources as plain numbers: the packing loops handle a few at a time, where arrays are slow.

EPSILON = 1e-9
"""Amounts and times that differ by less are equal: sums of decimal fractions are not exact."""

Amounts: TypeAlias = Sequence[float]
"""One number for each resource."""


def how_many_fit(demand: Amounts, free: Amounts) -> int:
    """Tasks of one demand that fit into what is free; 0 where something is already overdrawn."""
    fits = [(left + EPSILON) // needed for needed, left in zip(demand, free, strict=True) if needed > 0]
    return max(0, int(min(fits))) if fits else sys.maxsize
