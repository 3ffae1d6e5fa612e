"""Stages of jobs, as their containers show them from look to look: what runs, what has run, and for how long.

A container counts for the stage whose asks it was granted for. An engine that runs several tasks in a container is
believed to have longer tasks than it has: its plans are then earlier than they need to be, which harms nobody.
"""

import math
from collections import OrderedDict, deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from shim.domain.allocations import AskKey
from shim.domain.ids import ApplicationAttemptId, ContainerId
from shim.domain.job_graphs import StagesOfJob
from shim.domain.resources import ResourceVector

__all__ = ["JobWatch", "StageContainer", "StageFacts"]

_ENOUGH = 4
"""Tasks that have to have ended before anything is concluded from them."""
_QUANTILE = 0.75
_REMEMBERED_TIMES = 64
_REMEMBERED_STAGES = 10_000


@dataclass(frozen=True, slots=True)
class StageContainer:
    """A container of a job, as its ledger has it.

    Attributes:
        key: What it was granted for; None if that is not known.
    """

    id: ContainerId
    key: AskKey | None


@dataclass(frozen=True, slots=True)
class StageFacts:
    """One stage of a job now.

    Attributes:
        waiting: Containers that it still wants or will want, held back or not.
        running_since_s: When each of its containers was first seen.
        ended: How many have ended.
        seconds: How long one is expected to run.
        size: Of one container.
    """

    waiting: int
    running_since_s: tuple[float, ...]
    ended: int
    seconds: float
    size: ResourceVector


@dataclass(slots=True)
class _Watched:
    since_s: dict[ContainerId, tuple[int, float]] = field(default_factory=dict)
    seconds: dict[int, deque[float]] = field(default_factory=dict)
    ended: dict[int, int] = field(default_factory=dict)
    asked: set[int] = field(default_factory=set)
    sizes: dict[int, ResourceVector] = field(default_factory=dict)
    has_strangers: bool = False


class JobWatch:
    """Watches the jobs of queues that are altruistic."""

    def __init__(self) -> None:
        self._jobs: dict[ApplicationAttemptId, _Watched] = {}
        self._earlier: OrderedDict[tuple[str, str], deque[float]] = OrderedDict()

    def observe(
        self,
        attempt: ApplicationAttemptId,
        stages: StagesOfJob,
        kin: str,
        held: Iterable[StageContainer],
        asks: Mapping[AskKey, int],
        at_s: float,
    ) -> None:
        """Take in what a job has and wants.

        Args:
            attempt: The job.
            stages: Of it.
            kin: By what it is known again; empty if that is not known.
            held: Containers but for the ApplicationMaster's own.
            asks: Containers of each ask that no scheduler has granted.
            at_s: Now.
        """
        job = self._jobs.setdefault(attempt, _Watched())
        job.has_strangers = any(key.priority not in stages.by_priority for key, count in asks.items() if count)
        here: set[ContainerId] = set()
        for container in held:
            here.add(container.id)
            if container.id in job.since_s:
                continue
            stage = None if container.key is None else stages.by_priority.get(container.key.priority)
            if stage is None or container.key is None:
                job.has_strangers = True
                continue
            job.since_s[container.id] = stage, at_s
            job.sizes[stage] = container.key.resource
        for key in asks:
            if key.priority in stages.by_priority:
                stage = stages.by_priority[key.priority]
                job.asked.add(stage)
                job.sizes[stage] = key.resource
        for container_id in [each for each in job.since_s if each not in here]:
            stage, since_s = job.since_s.pop(container_id)
            self._ended(job, stages, kin, stage, at_s - since_s)

    def _ended(self, job: _Watched, stages: StagesOfJob, kin: str, stage: int, seconds: float) -> None:
        job.ended[stage] = job.ended.get(stage, 0) + 1
        job.seconds.setdefault(stage, deque(maxlen=_REMEMBERED_TIMES)).append(seconds)
        if not kin:
            return
        key = kin, stages.graph.stages[stage].name
        self._earlier.setdefault(key, deque(maxlen=_REMEMBERED_TIMES)).append(seconds)
        self._earlier.move_to_end(key)
        while len(self._earlier) > _REMEMBERED_STAGES:
            self._earlier.popitem(last=False)

    def keep(self, attempts: Collection[ApplicationAttemptId]) -> None:
        """Forget the jobs that are not here any more; what they taught stays."""
        self._jobs = {attempt: job for attempt, job in self._jobs.items() if attempt in attempts}

    def facts(
        self, attempt: ApplicationAttemptId, stages: StagesOfJob, kin: str, asks: Mapping[AskKey, int]
    ) -> tuple[StageFacts, ...] | str:
        """Give what is known of each stage of a job, or why that is not enough to plan it."""
        job = self._jobs.get(attempt)
        if job is None or job.has_strangers:
            return "some of its containers or asks belong to no stage that is known"
        found: list[StageFacts] = []
        for number, stage in enumerate(stages.graph.stages):
            wanted = sum(count for key, count in asks.items() if stages.by_priority.get(key.priority) == number)
            running = tuple(since_s for at, since_s in job.since_s.values() if at == number)
            seconds = self._seconds(job, kin, number, stage.name)
            waiting = wanted if number in job.asked or stage.tasks is None else stage.tasks
            if seconds is None and (waiting or running):
                return f"how long tasks of stage {stage.name!r} run is not known as yet"
            size = job.sizes.get(number, ResourceVector(max(1, stage.memory_mib), max(1, stage.vcores)))
            found.append(StageFacts(waiting, running, job.ended.get(number, 0), seconds or 0.0, size))
        return tuple(found)

    def _seconds(self, job: _Watched, kin: str, number: int, name: str) -> float | None:
        """Upper quantile of this stage's tasks, else of the same stage of earlier runs, else of all of the job's."""
        own = job.seconds.get(number, ())
        earlier = self._earlier.get((kin, name), ()) if kin else ()
        everything = [seconds for times in job.seconds.values() for seconds in times]
        known = next((times for times in (own, earlier, everything) if len(times) >= _ENOUGH), None)
        return None if known is None else max(1.0, _upper(known))


def _upper(times: Iterable[float]) -> float:
    ordered = sorted(times)
    return ordered[math.ceil(_QUANTILE * len(ordered)) - 1]
