"""Stages of jobs, as their containers show them from look to look: what runs, what has run, and for how long.

A container counts for the stage whose asks it was granted for. An engine that runs several tasks in a container is
believed to have longer tasks than it has: its plans are then earlier than they need to be, which harms nobody.

Times of tasks from counts alone: tasks of a stage are alike, so that the one that began first is taken to end first.

An engine that runs one task after the other in a container hides their ends from YARN; its counts show them.
"""

import math
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from shim.domain.allocations import AskKey
from shim.domain.ids import ApplicationAttemptId, ContainerId
from shim.domain.job_graphs import JobGraph, Stage, StagesOfJob, TaskCounts
from shim.domain.resources import ResourceVector

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


_ENOUGH = 4
"""Tasks that have to have ended before anything is concluded from them."""
_QUANTILE = 0.75
MOST_WAITING = 100_000
"""Tasks of a job that may be left: a plan takes time for each wave of them, and an application may tell any number."""
_KNOWN_WITHIN_S = 30.0
"""How long to wait for a ResourceManager's word on how an application has ended."""
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
        running_since_s: When each of its containers was first seen.
        seconds: How long one is expected to run.
    """

    waiting: int
    running_since_s: tuple[float, ...]
    ended: int
    seconds: float
    size: ResourceVector


@dataclass(frozen=True, slots=True)
class StageSeen:
    """Findings on one stage, as far as they go.

    Attributes:
        waiting: As in `StageFacts`; None if that is not known.
        times_from: Whose tasks the seconds are of; empty if they are not known.
        is_counted: Whether the ApplicationMaster counted its tasks; else its containers are.
        tasks: All of its tasks; None as long as the engine has not decided.
        ran_s: What its tasks that have ended ran in this run, in the mean; 0 where none was timed.
    """

    waiting: int | None
    running_since_s: tuple[float, ...]
    ended: int
    seconds: float | None
    times_from: str
    n_times: int
    size: ResourceVector
    is_counted: bool = False
    tasks: int | None = None
    ran_s: float = 0.0


@dataclass(frozen=True, slots=True)
class StageRun:
    """What a stage was in a run that has ended well.

    Attributes:
        seconds: What its tasks ran: the last of them.
        tasks: How many it had.
        queued_s: How long its containers were asked for and not granted, in all.
        begins_s, ends_s: When its first task was seen and its last one had ended, from the begin of the run.
    """

    seconds: tuple[float, ...]
    tasks: int
    queued_s: float
    begins_s: float
    ends_s: float


@dataclass(frozen=True, slots=True)
class JobRun:
    """A run that has ended well, of which every stage was seen; `runs` are in the order of the graph's stages."""

    attempt: ApplicationAttemptId
    stages: StagesOfJob
    runs: tuple[StageRun, ...]


@dataclass(slots=True)
class _Watched:
    since_s: dict[ContainerId, tuple[int, float]] = field(default_factory=dict)
    seconds: dict[int, deque[float]] = field(default_factory=dict)
    ended: dict[int, int] = field(default_factory=dict)
    asked: set[int] = field(default_factory=set)
    sizes: dict[int, ResourceVector] = field(default_factory=dict)
    has_strangers: bool = False
    counted: TaskClocks | None = None
    stages: StagesOfJob | None = None
    recurring_key: str = ""
    first_s: float = 0.0
    looked_s: float = 0.0
    queued_s: dict[int, float] = field(default_factory=dict)
    begun_s: dict[int, float] = field(default_factory=dict)
    over_s: dict[int, float] = field(default_factory=dict)


class JobWatch:
    """Watches the jobs of queues that are altruistic."""

    def __init__(self) -> None:
        self._jobs: dict[ApplicationAttemptId, _Watched] = {}
        self._gone: dict[ApplicationAttemptId, tuple[_Watched, float]] = {}
        self._earlier: OrderedDict[tuple[str, str], deque[float]] = OrderedDict()

    def observe(
        self,
        attempt: ApplicationAttemptId,
        stages: StagesOfJob,
        recurring_key: str,
        held: Iterable[StageContainer],
        asks: Mapping[AskKey, int],
        at_s: float,
        counts: Sequence[TaskCounts] | None = None,
    ) -> None:
        """Take in what a job has and wants.

        Args:
            recurring_key: By what it is known again; empty if that is not known.
            held: Containers but for the ApplicationMaster's own.
            asks: Containers of each ask that no scheduler has granted.
            counts: Of the tasks of each stage, if its ApplicationMaster tells them; None if it does not.
        """
        job = self._jobs.get(attempt)
        if job is None or job.stages is None or not stages.is_same_as(job.stages):
            if job is not None:  # the part before may have been killed
                self._end(job, at_s, is_whole=False)
            # stages of another part are others
            job = self._jobs[attempt] = _Watched(
                stages=stages, recurring_key=recurring_key, first_s=at_s, looked_s=at_s
            )
        self._observe_containers(job, stages, recurring_key, held, asks, at_s)
        if counts is None:
            return
        job.counted = job.counted or TaskClocks()
        for stage, seconds in job.counted.take(counts, at_s):
            self._learn(job, stages, recurring_key, stage, seconds)

    def _observe_containers(
        self,
        job: _Watched,
        stages: StagesOfJob,
        recurring_key: str,
        held: Iterable[StageContainer],
        asks: Mapping[AskKey, int],
        at_s: float,
    ) -> None:
        if stages.slots:
            keys = [*(each.key for each in held if each.key is not None), *asks]
            sizes = {key.resource for key in keys}
            job.has_strangers = len(sizes) > 1
            job.sizes = (
                dict.fromkeys(stages.by_priority.values(), _slot(keys[0].resource, stages.slots)) if keys else {}
            )
            return
        job.has_strangers = any(key.priority not in stages.by_priority for key, count in asks.items() if count)
        step_s, job.looked_s = at_s - job.looked_s, at_s
        here: set[ContainerId] = set()
        for container in held:
            here.add(container.id)
            if container.id in job.since_s:
                continue
            stage = None if container.key is None else stages.by_priority.get(container.key.priority)
            if stage is None or container.key is None:
                # one of an earlier part runs tasks of this one, too: those are counted
                job.has_strangers = job.has_strangers or not stages.has_parts
                continue
            job.since_s[container.id] = stage, at_s
            job.begun_s.setdefault(stage, at_s)
            job.sizes[stage] = container.key.resource
        for key, count in asks.items():
            if key.priority in stages.by_priority:
                stage = stages.by_priority[key.priority]
                job.asked.add(stage)
                job.sizes[stage] = key.resource
                job.queued_s[stage] = job.queued_s.get(stage, 0.0) + count * step_s
        for container_id in [each for each in job.since_s if each not in here]:
            stage, since_s = job.since_s.pop(container_id)
            job.ended[stage] = job.ended.get(stage, 0) + 1
            if job.counted is None:  # else tasks are timed one by one, whichever containers they run in
                self._learn(job, stages, recurring_key, stage, at_s - since_s)

    def _learn(self, job: _Watched, stages: StagesOfJob, recurring_key: str, stage: int, seconds: float) -> None:
        job.seconds.setdefault(stage, deque(maxlen=_REMEMBERED_TIMES)).append(seconds)
        job.over_s[stage] = job.looked_s
        if not recurring_key:
            return
        key = recurring_key, stages.graph.stages[stage].name
        self._earlier.setdefault(key, deque(maxlen=_REMEMBERED_TIMES)).append(seconds)
        self._earlier.move_to_end(key)
        while len(self._earlier) > _REMEMBERED_STAGES:
            self._earlier.popitem(last=False)

    def keep(self, attempts: Collection[ApplicationAttemptId], at_s: float) -> None:
        """Forget the jobs that are not here any more; what they taught stays."""
        for attempt in [each for each in self._jobs if each not in attempts]:
            self._gone[attempt] = self._jobs.pop(attempt), at_s

    def unsettled(self) -> Collection[ApplicationAttemptId]:
        """Give the jobs that are over and wait for `settle`."""
        return self._gone.keys()

    def settle(self, has_succeeded: Callable[[ApplicationAttemptId], bool | None], now_s: float) -> list[JobRun]:
        """Learn from the last tasks of jobs that are over, of which no count, or look, has seen the end.

        Args:
            has_succeeded: Tells whether a job that is not here any more has ended well; None as long as that is not
                known. Of a job of which it does not become known soon nothing is learnt.

        Returns:
            Runs that were seen whole: a job that ran before it was looked at has told too little.
        """
        found: list[JobRun] = []
        for attempt, (job, gone_s) in list(self._gone.items()):
            is_well = has_succeeded(attempt)
            if is_well:
                self._end(job, gone_s, is_whole=True)
                found += _whole_run(attempt, job, gone_s)
            if is_well is not None or now_s - gone_s > _KNOWN_WITHIN_S:
                del self._gone[attempt]
        return found

    def _end(self, job: _Watched, at_s: float, *, is_whole: bool) -> None:
        """Learn from the last tasks of a job; one that may not have run whole tells of stages that none waits for."""
        if job.stages is None or job.counted is None:
            return
        stages = job.stages.graph.stages
        waited_for = set() if is_whole else {each for stage in stages for each in stage.waits_for}
        for stage, seconds in job.counted.over(set(range(len(stages))) - waited_for, at_s):
            self._learn(job, job.stages, job.recurring_key, stage, seconds)

    def facts(
        self,
        attempt: ApplicationAttemptId,
        stages: StagesOfJob,
        recurring_key: str,
        asks: Mapping[AskKey, int],
        counts: Sequence[TaskCounts] | None = None,
    ) -> tuple[StageFacts, ...] | str:
        """Give what is known of each stage of a job, or why that is not enough to plan it.

        Args:
            counts: See `observe`; the newest that were observed.
        """
        job = self._jobs.get(attempt)
        if job is None or job.has_strangers:
            return "some of its containers or asks belong to no stage that is known"
        if stages.has_parts and counts is None:
            return "its tasks are not counted now, so that it is not known which part of it runs"
        found: list[StageFacts] = []
        for stage, seen in zip(
            stages.graph.stages, self.seen(attempt, stages, recurring_key, asks, counts), strict=True
        ):
            if seen.waiting is None:
                return (
                    f"how many tasks of stage {stage.name!r} are left is not known: it has not asked, and its tasks"
                    " may run in containers of other stages"
                )
            if seen.seconds is None and (seen.waiting or seen.running_since_s):
                return f"how long tasks of stage {stage.name!r} run is not known as yet"
            found.append(StageFacts(seen.waiting, seen.running_since_s, seen.ended, seen.seconds or 0.0, seen.size))
        if sum(each.waiting for each in found) > MOST_WAITING:
            return f"more than {MOST_WAITING:,} of its tasks are left: so many are not planned"
        return tuple(found)

    def seen(
        self,
        attempt: ApplicationAttemptId,
        stages: StagesOfJob,
        recurring_key: str,
        asks: Mapping[AskKey, int],
        counts: Sequence[TaskCounts] | None = None,
    ) -> tuple[StageSeen, ...]:
        """Give what is known of each stage of a job, for its plan and for people; see `facts`."""
        job = self._jobs.get(attempt, _Watched())
        wanted = [0] * len(stages.graph.stages)
        for key, count in asks.items():
            if key.priority in stages.by_priority:
                wanted[stages.by_priority[key.priority]] += count
        found: list[StageSeen] = []
        for number, (stage, waiting) in enumerate(
            zip(stages.graph.stages, _waiting(stages.graph, wanted, job.asked), strict=True)
        ):
            times_from, times = self._times(job, recurring_key, number, stage)
            size = job.sizes.get(number, ResourceVector(max(1, stage.memory_mib), max(1, stage.vcores)))
            seconds = max(1.0, _upper(times)) if times else None
            running = tuple(since_s for at, since_s in job.since_s.values() if at == number)
            own = job.seconds.get(number, ())
            ran_s = sum(own) / len(own) if own else 0.0
            ended = job.ended.get(number, 0)
            seen = StageSeen(
                waiting, running, ended, seconds, times_from, len(times), size, tasks=stage.tasks, ran_s=ran_s
            )
            if counts is not None and job.counted is not None:
                seen = _counted(seen, counts[number], job.counted.running(number))
            found.append(seen)
        return tuple(found)

    def _times(self, job: _Watched, recurring_key: str, number: int, stage: Stage) -> tuple[str, Sequence[float]]:
        """Times of this stage's tasks, else of the same stage of earlier runs, else of all of the job's.

        As many tasks of earlier runs as the stage has are all of one run: a join of one task is known after that.
        """
        of_a_run = _ENOUGH if stage.tasks is None else max(1, min(_ENOUGH, stage.tasks))
        earlier = self._earlier.get((recurring_key, stage.name), ()) if recurring_key else ()
        others = [seconds for times in job.seconds.values() for seconds in times]
        sources = (
            ("its own tasks", tuple(job.seconds.get(number, ())), _ENOUGH),
            ("earlier runs", tuple(earlier), of_a_run),
            ("other stages", tuple(others), _ENOUGH),
        )
        return next(((source, times) for source, times, enough in sources if len(times) >= enough), ("", ()))


def _whole_run(attempt: ApplicationAttemptId, job: _Watched, gone_s: float) -> Iterator[JobRun]:
    """Give the run of a job, if as many tasks of each stage were seen to end as it had."""
    stages = job.stages
    if stages is None or stages.slots or stages.has_parts or job.has_strangers:
        return
    last = defaultdict[int, list[float]](list)  # ended with the job, between two looks
    for at, since_s in job.since_s.values():
        last[at].append(max(0.0, gone_s - since_s))
    runs: list[StageRun] = []
    for number, stage in enumerate(stages.graph.stages):
        ended = job.ended.get(number, 0) + len(last[number])
        seconds = (*job.seconds.get(number, ()), *(() if job.counted is not None else last[number]))
        tasks = ended if stage.tasks is None else stage.tasks
        if not tasks or not seconds or (job.counted is None and ended < tasks):
            return
        over_s = gone_s if last[number] else job.over_s.get(number, gone_s)
        begun_s = job.begun_s.get(number, over_s)
        queued_s = job.queued_s.get(number, 0.0)
        runs.append(StageRun(seconds, tasks, queued_s, begun_s - job.first_s, max(begun_s, over_s) - job.first_s))
    yield JobRun(attempt, stages, tuple(runs))


def _counted(seen: StageSeen, counts: TaskCounts, running: tuple[float, ...]) -> StageSeen:
    """Put the counts of an ApplicationMaster in the place of what containers tell."""
    if counts.total is None:
        return replace(seen, running_since_s=running, ended=counts.succeeded, is_counted=True, tasks=None)
    left = max(0, counts.total - counts.succeeded - counts.running)
    return replace(
        seen, waiting=left, running_since_s=running, ended=counts.succeeded, is_counted=True, tasks=counts.total
    )


def _waiting(graph: JobGraph, wanted: Sequence[int], asked: Collection[int]) -> list[int | None]:
    """Containers that each stage still wants or will want; None where that cannot be known.

    A stage that never asked has all its tasks before it only while one of those that it waits for has asks out: an
    engine that reuses containers may run its tasks in those of other stages, and then it never asks.
    """
    has_begun_below = _begun_below(graph, asked)
    found: list[int | None] = [None] * len(graph.stages)
    is_ahead = [False] * len(graph.stages)
    for number in sorted(range(len(graph.stages)), key=graph.distances.__getitem__):
        stage = graph.stages[number]
        if stage.tasks is None or number in asked:
            found[number] = wanted[number]
        elif not has_begun_below[number] and any(wanted[each] or is_ahead[each] for each in stage.waits_for):
            found[number], is_ahead[number] = stage.tasks, True
    return found


def _begun_below(graph: JobGraph, asked: Collection[int]) -> list[bool]:
    """Tell of each stage if one that it feeds, at any distance, has asked."""
    found = [False] * len(graph.stages)
    for number in sorted(range(len(graph.stages)), key=graph.distances.__getitem__, reverse=True):
        for source in graph.stages[number].sources:
            found[source] = found[source] or found[number] or number in asked
    return found


def _slot(container: ResourceVector, slots: int) -> ResourceVector:
    return ResourceVector(max(1, container.memory_mib // slots), max(1, container.vcores // slots))


def _upper(times: Iterable[float]) -> float:
    ordered = sorted(times)
    return ordered[math.ceil(_QUANTILE * len(ordered)) - 1]
