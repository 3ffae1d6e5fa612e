"""Times of tasks from counts alone: tasks of a stage are alike, so that the one that began first is taken to end first.

An engine that runs one task after the other in a container hides their ends from YARN; its counts show them.
"""

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import replace

from shim.domain.job_graphs import TaskCounts

__all__ = ["TaskClocks"]

_MOST_UNSEEN = 64
"""Tasks that began and ended between two counts of which times are told; more teach nothing."""
_SOON_S = 10.0
"""A job that is over so long after its last counts: when it ended is not known any more."""


class TaskClocks:
    """Clocks of one job's tasks, by stage."""

    def __init__(self) -> None:
        self._since_s: dict[int, deque[float]] = {}
        self._at_s: float | None = None
        self._counts: tuple[TaskCounts, ...] = ()

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
        before_s, before = self._at_s, self._counts
        self._at_s, self._counts = at_s, tuple(counts)
        found: list[tuple[int, float]] = []
        for stage, each in enumerate(counts):
            clocks = self._since_s.setdefault(stage, deque())
            if before_s is not None:
                ended = each.succeeded - before[stage].succeeded
                told = min(ended, len(clocks) + _MOST_UNSEEN)
                found += [(stage, at_s - (clocks.popleft() if clocks else before_s)) for _ in range(told)]
            while len(clocks) > each.running:
                clocks.pop()  # failed or killed: begins anew
            clocks.extend([at_s] * (each.running - len(clocks)))
        return found

    def over(self, stages: Collection[int], at_s: float) -> list[tuple[int, float]]:
        """Tell of a job that is over, which nobody counts any more, how long the tasks that were left ran.

        Args:
            stages: Those of which something may have been left. If there was more the job did not end by itself.
            at_s: When it was seen to be over.

        Returns:
            As of `take`.
        """
        if self._at_s is None or at_s - self._at_s > _SOON_S:
            return []
        left = {stage: (each.total or 0) - each.succeeded for stage, each in enumerate(self._counts)}
        if any(count > 0 and stage not in stages for stage, count in left.items()):
            return []
        ended = [replace(each, running=0, succeeded=max(each.succeeded, each.total or 0)) for each in self._counts]
        return self.take(ended, at_s)
