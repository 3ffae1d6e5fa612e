"""Keeps the outlines of jobs up to date, in queues whose policy goes by graphs.

Nothing here is on the path of an allocate call or of a cycle: jobs are planned beside the event loop, for a tenth of
the time at most. Until a job is planned its policy treats it as one whose graph is not known.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from shim.concurrency.off_loop import OffLoop
from shim.domain.ids import ApplicationAttemptId
from shim.domain.job_graphs import StagesOfJob
from shim.federation.core.federation_view import FederationView
from shim.ports.clock import Clock
from shim.ports.job_graphs import JobGraphs
from shim.queues.core.outlining import OutlinedStages, outlined
from shim.queues.job_sights import JobObservations, SeenAttempt
from shim.scheduling.durations import FloatArray
from shim.scheduling.job_outlines import JobOutline, JobOutlines
from shim.scheduling.knowledge import StageOutline
from shim.scheduling.virtual_space import stage_weights

_PAUSE = 9.0
"""Rest after a look, in times of its length."""
_PIECES = 480
_FEWEST_PIECES, _MOST_PIECES = 8, 48
"""Of the stages of a plan together, and of each: a graph of 20 stages takes a third of a second, one of 60 half."""
_MOST_TASKS = 400
"""Of a plan; a stage that has more is planned as one of fewer and longer ones."""
_MOST_AT_ONCE = 8
"""Jobs that are planned in one look: the others keep their plans until the next."""
_Graph = tuple[StageOutline, ...]
_Planned = tuple[_Graph, Mapping[int, float]]


@dataclass(frozen=True, slots=True)
class OutlineWorld:
    """Collaborators of the reader.

    Attributes:
        goes_by_graphs: Whether the policy of a queue, in force or in the shadow, reads graphs.
        interval_s: From one look to the next, at least.
    """

    goes_by_graphs: Callable[[str], bool]
    view: FederationView
    graphs: JobGraphs
    clock: Clock
    interval_s: float


class OutlineReader:
    """Looks, for ever. `run` does it until cancelled; `look` once."""

    def __init__(self, world: OutlineWorld, outlines: JobOutlines, spans: Callable[[], Sequence[SeenAttempt]]) -> None:
        self._world = world
        self._outlines = outlines
        self._spans = spans
        self._sights = JobObservations(world.view, world.graphs)
        self._weights: dict[ApplicationAttemptId, _Planned] = {}
        self._work = OffLoop()

    async def run(self) -> None:
        clock = self._world.clock
        while True:
            seen, began_s = self._seen(), clock.monotonic_s()
            changed = self._changed(seen)
            planned = await self._work.run_own(partial(_plans, changed, self._capacity())) if changed else {}
            spent_s = clock.monotonic_s() - began_s
            self._put(seen, planned)
            await clock.sleep(max(self._world.interval_s, _PAUSE * spent_s))

    def look(self) -> None:
        """Look once, and plan within the call."""
        seen = self._seen()
        self._put(seen, _plans(self._changed(seen), self._capacity()))

    def _seen(self) -> dict[ApplicationAttemptId, OutlinedStages]:
        """Outline the jobs whose stages are known; forget those that are gone."""
        found: dict[ApplicationAttemptId, OutlinedStages] = {}
        now_s, here = self._world.clock.now_s(), set[ApplicationAttemptId]()
        for span in self._spans():
            if not self._world.goes_by_graphs(span.attempt.queue):
                continue
            here.add(span.attempt.id)
            sight = self._sights.look(span, now_s)
            if isinstance(sight.stages, StagesOfJob) and sight.is_current:
                stages = outlined(sight.stages, sight.seen)
                if stages is not None:
                    found[span.attempt.id] = stages
        self._sights.keep(here, now_s)
        self._outlines.keep(found.keys())
        self._weights = {attempt: known for attempt, known in self._weights.items() if attempt in here}
        return found

    def _changed(self, seen: Mapping[ApplicationAttemptId, OutlinedStages]) -> dict[ApplicationAttemptId, _Graph]:
        """Choose the jobs to be planned now: those without a plan first."""
        changed = [
            attempt
            for attempt, (graph, _, _) in seen.items()
            if attempt not in self._weights or self._weights[attempt][0] != graph
        ]
        changed.sort(key=lambda attempt: attempt in self._weights)
        return {attempt: seen[attempt][0] for attempt in changed[:_MOST_AT_ONCE]}

    def _capacity(self) -> FloatArray:
        """Memory and virtual cores of all clusters."""
        whole = self._world.view.capacity(self._world.clock.now_s())
        return np.array([whole.memory_mib, whole.vcores], dtype=np.float64)

    def _put(
        self,
        seen: Mapping[ApplicationAttemptId, OutlinedStages],
        planned: Mapping[ApplicationAttemptId, _Planned],
    ) -> None:
        self._weights |= planned
        for attempt, (graph, finished, by_priority) in seen.items():
            if attempt in self._weights:
                outline = JobOutline(graph, finished, by_priority, self._weights[attempt][1])
                self._outlines.put(attempt, outline)


def _plans(graphs: Mapping[ApplicationAttemptId, _Graph], capacity: FloatArray) -> dict[ApplicationAttemptId, _Planned]:
    """Plan jobs, each by itself on an empty pool; the more stages a graph has, the less exactly."""
    return {attempt: (graph, _weights(graph, capacity)) for attempt, graph in graphs.items()}


def _weights(graph: _Graph, capacity: FloatArray) -> Mapping[int, float]:
    pieces = max(_FEWEST_PIECES, min(_MOST_PIECES, _PIECES // max(1, len(graph))))
    most = max(pieces, _MOST_TASKS // max(1, len(graph)))
    return stage_weights([_with_fewer_tasks(stage, most) for stage in graph], capacity, pieces)


def _with_fewer_tasks(stage: StageOutline, most: int) -> StageOutline:
    """The same work in no more than so many tasks: a job may say that it has any number."""
    if stage.n_tasks <= most:
        return stage
    return replace(stage, n_tasks=most, expected_s=stage.expected_s * stage.n_tasks / most)
