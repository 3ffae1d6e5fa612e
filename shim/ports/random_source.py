"""Chance as an object, so that a run can be repeated from one seed."""

from typing import Protocol


class RandomSource(Protocol):
    """Source of random numbers.

    `random.SystemRandom` is one that nobody can guess, and what production uses; `random.Random` repeats itself.
    """

    def random(self) -> float:
        """A number from 0 to below 1."""
        ...

    def randbytes(self, n: int, /) -> bytes:
        """A number of random bytes."""
        ...
