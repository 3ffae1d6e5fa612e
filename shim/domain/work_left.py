"""Work left of applications: containers that have not ended, and what a number of them at a time makes of it."""

import math
from dataclasses import dataclass

__all__ = ["WorkLeft"]


@dataclass(frozen=True, slots=True)
class WorkLeft:
    """Containers of an application that have not ended, as far as it was learnt.

    Attributes:
        containers: That have not ended, those that it has not asked for yet included if former runs tell of them.
        container_s: How long one is expected to run.
        running: Containers that it has.
        runs: Former runs that this was learnt from; 0 for its own containers alone.
    """

    containers: int
    container_s: float
    running: int
    runs: int

    def left_s(self, allocation: int) -> float:
        """Seconds until all have ended on so many at a time; source: Amdahl's law, as Jockey's section 4.1 has it."""
        return self.container_s + self.containers * self.container_s / max(1, allocation) if self.containers else 0.0

    def least_allocation(self, within_s: float) -> int | None:
        """Fewest containers at a time that end in time; None if no number does."""
        if not self.containers:
            return 0
        over_s = within_s - self.container_s
        if over_s <= 0.0:
            return 1 if self.containers == 1 and self.container_s <= within_s else None
        return max(1, math.ceil(self.containers * self.container_s / over_s))
