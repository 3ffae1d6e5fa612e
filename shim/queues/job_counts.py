"""Asks ApplicationMasters of altruistic queues' jobs how far their stages are, beside their own calls.

Of engines whose graphs are read elsewhere only jobs are asked whose graph is known. One that does not answer is asked
less and less often; its counts lapse, and what is known of it is what its containers tell.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import structlog

from shim.domain.ids import ApplicationId
from shim.domain.job_graphs import StagesOfJob
from shim.errors import MalformedJobGraphError
from shim.ports.clock import Clock
from shim.ports.job_graphs import JobCounts
from shim.queues.engines import EngineGraphs
from shim.queues.job_reading import JobReader, PlannedFor

_log = structlog.get_logger("heddle.altruism")
_AT_ONCE = 8
_MOST_PAUSE_S = 60.0


@dataclass(slots=True)
class _Silence:
    """Pause of an ApplicationMaster that did not answer."""

    pause_s: float
    until_s: float


class JobCountReader(JobReader[JobCounts]):
    """A `JobReader` of counts: how far the tasks of each stage are, asked again and again."""

    def __init__(
        self,
        graphs: EngineGraphs,
        sources: Sequence[JobCounts],
        jobs: Callable[[], Sequence[PlannedFor]],
        clock: Clock,
        interval_s: float = 2.0,
    ) -> None:
        super().__init__(graphs, sources, jobs, clock, interval_s)
        self._silent: dict[ApplicationId, _Silence] = {}

    async def look(self) -> None:
        jobs = self._readable()
        here = {job.application for job in jobs}
        self._silent = {id_: silence for id_, silence in self._silent.items() if id_ in here}
        due = iter([job for job in jobs if self._is_due(job.application)])
        await asyncio.gather(*(self._ask_all(due) for _ in range(min(_AT_ONCE, len(jobs)))))

    def _is_due(self, application: ApplicationId) -> bool:
        silence = self._silent.get(application)
        return silence is None or self._clock.monotonic_s() >= silence.until_s

    async def _ask_all(self, due: Iterator[PlannedFor]) -> None:
        for job in due:
            found = self._graphs.stages(job.application, job.engine)
            known = found if isinstance(found, StagesOfJob) else None
            if known is not None or not self._sources[job.engine].needs_plan:
                await self._ask(job, known)

    async def _ask(self, job: PlannedFor, known: StagesOfJob | None) -> None:
        source = self._sources[job.engine]
        try:
            counted = await source.counts(job.application, job.home, job.user, known)
        except MalformedJobGraphError as error:
            silence = self._silent.get(job.application)
            pause_s = self._interval_s if silence is None else min(_MOST_PAUSE_S, 2 * silence.pause_s)
            self._silent[job.application] = _Silence(pause_s, self._clock.monotonic_s() + pause_s)
            if silence is None:
                _log.info("a job does not count its tasks", application=str(job.application), reason=str(error))
            if isinstance(self._graphs.counts(job.application, self._clock.now_s()), str):
                self._graphs.count(job.application, str(error), self._clock.now_s())
            return
        self._silent.pop(job.application, None)
        if isinstance(counted, str):
            self._graphs.count(job.application, counted, self._clock.now_s())
            return
        if counted.stages is not known:
            self._graphs.put(job.application, counted.stages)
        self._graphs.count(job.application, counted.counts, self._clock.now_s())
