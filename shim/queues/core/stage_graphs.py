"""Graphs of jobs as `altruism` wants them, built anew only where something of a job has changed."""

from collections.abc import Collection, Sequence

import numpy as np

from altruism import StageGraph
from fairness import FloatArray
from shim.domain.ids import ApplicationAttemptId
from shim.domain.job_graphs import StagesOfJob
from shim.queues.core.job_watch import StageFacts

__all__ = ["StageGraphs"]


class StageGraphs:
    """Graphs of one queue's jobs. Most jobs are at a look what they were at the one before."""

    def __init__(self) -> None:
        self._known: dict[ApplicationAttemptId, tuple[tuple[object, ...], StageGraph]] = {}

    def keep(self, attempts: Collection[ApplicationAttemptId]) -> None:
        """Forget all others."""
        self._known = {attempt: known for attempt, known in self._known.items() if attempt in attempts}

    def of(
        self, attempt: ApplicationAttemptId, stages: StagesOfJob, facts: Sequence[StageFacts], capacity: FloatArray
    ) -> StageGraph:
        """Give the graph of what waits and runs of a job; demands are parts of the queue's capacity.

        Args:
            attempt: Of the job.
            stages: Of it.
            facts: Of each stage.
            capacity: The queue's, of shape (2,): MiB and vcores.
        """
        tasks = tuple(each.waiting + len(each.running_since_s) for each in facts)
        rest = tuple((each.size, each.seconds) for each in facts)
        made_of = (stages.graph, tasks, rest, capacity.tobytes())
        known = self._known.get(attempt)
        if known is None or known[0] != made_of:
            known = self._known[attempt] = made_of, _built(stages, tasks, facts, capacity)
        return known[1]


def _built(stages: StagesOfJob, tasks: Sequence[int], facts: Sequence[StageFacts], capacity: FloatArray) -> StageGraph:
    n_stages = len(stages.graph.stages)
    needs = np.zeros((n_stages, n_stages), dtype=np.bool_)
    for child, stage in enumerate(stages.graph.stages):
        needs[child, list(stage.waits_for)] = True
    sizes = np.array([[each.size.memory_mib, each.size.vcores] for each in facts], dtype=np.float64)
    return StageGraph.of(needs, tasks, sizes / capacity, [each.seconds for each in facts])
