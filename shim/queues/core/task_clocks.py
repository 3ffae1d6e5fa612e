"""Times of tasks from counts alone: tasks of a stage are alike, so that the one that began first is taken to end first.

An engine that runs one task after the other in a container hides their ends from YARN; its counts show them.
"""

from collections import deque
from collections.abc import Sequence

from shim.domain.job_graphs import TaskCounts

__all__ = ["TaskClocks"]

_MOST_UNSEEN = 64
"""Tasks that began and ended between two counts of which times are told; more teach nothing."""


class TaskClocks:
    """Clocks of one job's tasks, by stage."""

    def __init__(self) -> None:
        self._since_s: dict[int, deque[float]] = {}
        self._succeeded: dict[int, int] = {}
        self._at_s: float | None = None

    def running(self, stage: int) -> tuple[float, ...]:
        """Give when each task of a stage that runs was first counted, the earliest first."""
        return tuple(self._since_s.get(stage, ()))

    def take(self, counts: Sequence[TaskCounts], at_s: float) -> list[tuple[int, float]]:
        """Take counts in.

        Args:
            counts: Of each stage.
            at_s: When they were told.

        Returns:
            Stage and seconds of each task that has ended since the counts before; of one that began since, too, the
            time between both, which is the longest that it can have run. Of what had ended before the first counts
            nothing is known.
        """
        before_s, self._at_s = self._at_s, at_s
        found: list[tuple[int, float]] = []
        for stage, each in enumerate(counts):
            clocks = self._since_s.setdefault(stage, deque())
            ended = each.succeeded - self._succeeded.get(stage, 0)
            self._succeeded[stage] = each.succeeded
            if before_s is not None:
                told = min(ended, len(clocks) + _MOST_UNSEEN)
                found += [(stage, at_s - (clocks.popleft() if clocks else before_s)) for _ in range(told)]
            while len(clocks) > each.running:
                clocks.pop()  # failed or killed: begins anew
            clocks.extend([at_s] * (each.running - len(clocks)))
        return found
