"""Reads the plans of altruistic queues' jobs, beside the calls of their ApplicationMasters.

A plan is read once; of an application that runs several one after the other it is looked for the next. One that is not
there is looked for a few times at once, as clients write it before they submit and a shared file system may show it
later; and then now and again for as long as the application is here, as a session or a driver may idle for long before
it has one. What cannot be read makes the job one of which nothing is known: it puts nothing off.
"""

from collections.abc import Callable, Sequence
from functools import partial

import structlog

from shim.concurrency.off_loop import OffLoop
from shim.domain.ids import ApplicationId
from shim.domain.job_graphs import StagesOfJob
from shim.errors import MalformedJobGraphError, UnavailableError
from shim.ports.clock import Clock
from shim.ports.job_graphs import JobPlans
from shim.queues.engines import EngineGraphs
from shim.queues.job_reading import JobReader, PlannedFor

_log = structlog.get_logger("heddle.altruism")
_TRIES = 8
_LOOKS_BETWEEN = 8
"""From one look for a plan that was not there in time to the next."""
_MOST_AT_ONCE = 16
_LIMIT_S = 5.0


class JobPlanReader(JobReader[JobPlans]):
    """A `JobReader` of plans: graphs of stages, each read once."""

    def __init__(
        self,
        graphs: EngineGraphs,
        sources: Sequence[JobPlans],
        jobs: Callable[[], Sequence[PlannedFor]],
        clock: Clock,
        interval_s: float = 1.0,
    ) -> None:
        super().__init__(graphs, sources, jobs, clock, interval_s)
        self._tries: dict[ApplicationId, int] = {}
        self._turns: dict[ApplicationId, int] = {}
        self._turn = 0
        self._work = OffLoop(limit_s=_LIMIT_S)

    async def look(self) -> None:
        self._turn += 1
        readable = self._readable()
        here = {job.application for job in readable}
        self._tries = {id_: count for id_, count in self._tries.items() if id_ in here}
        self._turns = {id_: turn for id_, turn in self._turns.items() if id_ in here}
        wanted = [job for job in readable if self._is_wanted(job)]
        for job in sorted(wanted, key=lambda each: self._turns.get(each.application, 0))[:_MOST_AT_ONCE]:
            self._turns[job.application] = self._turn  # the longest unread first: none starves
            await self._try(job)

    def _is_wanted(self, job: PlannedFor) -> bool:
        known = self._graphs.stages(job.application, job.engine)
        if isinstance(known, StagesOfJob):
            return known.has_parts
        if self._tries.get(job.application, 0) >= _TRIES:
            return self._turn >= self._turns[job.application] + _LOOKS_BETWEEN
        return job.application not in self._graphs

    async def _try(self, job: PlannedFor) -> None:
        known = self._graphs.stages(job.application, job.engine)
        before = known if isinstance(known, StagesOfJob) else None
        found: StagesOfJob | str | None
        try:
            read = partial(self._sources[job.engine].read, job.application, job.user, before)
            found = await self._work.run("plans", read)
        except MalformedJobGraphError as error:
            found = str(error)
        except UnavailableError:
            return  # a file system hangs: nothing is concluded from that
        if before is not None:
            if isinstance(found, StagesOfJob) and found is not before:
                self._put(job, found)
            return
        if found is not None:
            self._tries.pop(job.application, None)
            self._put(job, found)
            return
        count = self._tries[job.application] = self._tries.get(job.application, 0) + 1
        if count == _TRIES:
            self._put(
                job, f"the stages of this {job.engine} job are not known: it has no plan where plans are looked for"
            )

    def _put(self, job: PlannedFor, found: StagesOfJob | str) -> None:
        self._graphs.put(job.application, found)
        why = {"reason": found} if isinstance(found, str) else {"stages": len(found.graph.stages), "part": found.part}
        _log.info("read a job's plan", application=str(job.application), **why)
