"""The free slots of a set of workers, and which of them satisfies the constraints of a task."""

from collections.abc import Sequence

import numpy as np


class FreeWorkers:
    """Free slots by worker; constraints are bits, a worker serves a task when it has every bit of the task.

    Without constraints a slot is taken in constant time. With constraints the least capable free worker that serves
    the task is taken, so that the able ones stay free for those who need them; equally capable ones by number.
    """

    __slots__ = ("_bits", "_capability", "_free", "_numbers", "_positions", "_stack")

    def __init__(self, workers: Sequence[int], bits: Sequence[int], slots_per_worker: int = 1) -> None:
        """Start with every slot free.

        Args:
            bits: The constraints that each of all workers satisfies, by its number; empty when there are none.
        """
        own = [bits[worker] for worker in workers] if bits else []
        self._stack = [worker for worker in reversed(workers) for _ in range(slots_per_worker)] if not bits else []
        self._numbers = workers
        self._positions = {worker: position for position, worker in enumerate(workers)} if bits else {}
        self._bits = np.array(own, dtype=np.int64)
        self._capability = np.array([value.bit_count() for value in own], dtype=np.int64)
        self._free = np.full(len(own), slots_per_worker, dtype=np.int64)

    def take(self, constraints: int = 0) -> int | None:
        """Take a slot that serves these constraints; `None` when no free one does."""
        if not self._positions:
            return self._stack.pop() if self._stack else None
        able = np.flatnonzero((self._free > 0) & ((self._bits & constraints) == constraints))
        if not len(able):
            return None
        position = int(able[np.argmin(self._capability[able])])
        self._free[position] -= 1
        return self._numbers[position]

    def give_back(self, worker: int) -> None:
        """Return a slot that was taken."""
        if self._positions:
            self._free[self._positions[worker]] += 1
        else:
            self._stack.append(worker)
