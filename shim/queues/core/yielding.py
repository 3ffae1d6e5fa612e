"""Stages that the jobs of one queue put off: plans by the kernels of `altruism`, turned into numbers of containers.

What is due is asked for (DEFAULT). What the plans of all leave room for is asked for, too (ALTRUISTIC). The rest stays
in the ledger. A job of which too little is known asks for everything, and its share is taken off what is lent.

Source: Carbyne, section 4.1; docs/researchers/altruism.md tells what differs.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from altruism import (
    JobPlan,
    LeftoverOrder,
    PlannedJob,
    Progress,
    StageGraph,
    adopt_plans,
    drf_shares,
    plan_job,
    share_out,
    stage_ranks,
)
from fairness import FloatArray, IntArray
from shim.domain.allocations import AskKey
from shim.domain.ids import ApplicationAttemptId
from shim.domain.job_graphs import StagesOfJob
from shim.domain.resources import ResourceVector
from shim.errors import InvariantViolationError
from shim.queues.core.held_back import by_stage, given_part, held_ahead, held_back, held_part
from shim.queues.core.job_watch import StageFacts


@dataclass(frozen=True, slots=True)
class YieldRules:
    """A queue's settings of altruism.

    Attributes:
        slack: Part of its remaining time that a job gives up.
        lead_s: From an ask to the start of a task.
        is_ranked: Whether stages go by the order in which the whole job packs shortest (`stage_ranks`).
    """

    order: LeftoverOrder = LeftoverOrder.SHORTEST_REMAINING
    slack: float = 0.0
    lead_s: float = 5.0
    is_ranked: bool = False


@dataclass(frozen=True, slots=True)
class QueueJob:
    """A job of the queue now.

    Attributes:
        asks: Containers of each ask that no scheduler has granted, held back or not.
        held: What its containers hold.
        stages, facts: What is known of its stages; None and the reason where that is too little.
        containers: How many it has, but for the ApplicationMaster's own.
        form: Any ask that it made, for what asks of it look like; None if none is known.
    """

    attempt: ApplicationAttemptId
    asks: Mapping[AskKey, int]
    held: ResourceVector
    stages: StagesOfJob | None = None
    facts: tuple[StageFacts, ...] | str = ""
    yields: bool = True
    containers: int = 0
    form: AskKey | None = None


@dataclass(frozen=True, slots=True)
class YieldedStage:
    """Containers of a stage that are put off.

    Attributes:
        next_start_s: When more of it has to start; infinite if never.
    """

    name: str
    count: int
    next_start_s: float
    waits_for: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Yield:
    """Stages that a job puts off.

    Attributes:
        not_due: Containers of each ask that are not needed as yet; more than `held_back` where some find leftover.
        reason: Why nothing is known of it; empty where it is planned.
        ends_by_s: When it ends by its plan; None where there is none.
        stages: What is put off, for people.
        share, given, beyond: Parts of the queue, of the dominant resource: its share, what it puts off of that, and
            what it holds beyond it.
    """

    held_back: Mapping[AskKey, int] = field(default_factory=dict)
    not_due: Mapping[AskKey, int] = field(default_factory=dict)
    ahead: Mapping[AskKey, int] = field(default_factory=dict)
    reason: str = ""
    ends_by_s: float | None = None
    stages: tuple[YieldedStage, ...] = ()
    share: float = 0.0
    given: float = 0.0
    beyond: float = 0.0


class QueueYields:
    """Plans the jobs of one queue."""

    def __init__(self) -> None:
        self._standing: dict[ApplicationAttemptId, JobStanding] = {}
        self._graphs = StageGraphs()
        self._told: dict[ApplicationAttemptId, tuple[tuple[object, ...], Yield]] = {}

    def look(
        self, jobs: Sequence[QueueJob], total: ResourceVector, rules: YieldRules, now_s: float
    ) -> Mapping[ApplicationAttemptId, Yield]:
        """Decide what each job puts off now.

        Args:
            now_s: Seconds by a clock that does not jump.
        """
        capacity = np.array([total.memory_mib, total.vcores], dtype=np.float64)
        if not jobs or (capacity <= 0).any():
            self._keep(())
            return {job.attempt: Yield(reason="nothing is known of the queue's share") for job in jobs}
        jobs = [replace(job, yields=job.yields and not self._is_late(job.attempt)) for job in jobs]
        self._keep({job.attempt for job in jobs})
        graphs = {
            job.attempt: self._graphs.of(job.attempt, job.stages, job.facts, capacity)
            for job in jobs
            if job.stages is not None and not isinstance(job.facts, str)
        }
        shares = self._shares(jobs, graphs, capacity)
        yields = {
            job.attempt: Yield(
                reason=job.facts if isinstance(job.facts, str) else "", share=float(shares[job.attempt].max())
            )
            for job in jobs
        }
        running = [job for job in jobs if job.attempt in graphs and graphs[job.attempt].tasks.sum()]
        room = np.ones(2) - sum((shares[job.attempt] for job in jobs if isinstance(job.facts, str)), np.zeros(2))
        planned = self._planned(running, graphs, shares, np.maximum(room, 0.0), rules, now_s)
        lent = share_out(planned, room, now_s, order=rules.order, lead_s=rules.lead_s)
        for job, plan, more in zip(running, planned, lent, strict=True):
            yields[job.attempt] = self._yield_of(job, plan, more.tolist(), rules, now_s)
        return yields

    def _keep(self, attempts: Collection[ApplicationAttemptId]) -> None:
        """Forget all other jobs."""
        self._graphs.keep(attempts)
        self._standing = {attempt: kept for attempt, kept in self._standing.items() if attempt in attempts}
        self._told = {attempt: told for attempt, told in self._told.items() if attempt in attempts}

    def _is_late(self, attempt: ApplicationAttemptId) -> bool:
        kept = self._standing.get(attempt)
        return kept is not None and kept.is_late

    def _shares(
        self, jobs: Sequence[QueueJob], graphs: Mapping[ApplicationAttemptId, StageGraph], capacity: FloatArray
    ) -> Mapping[ApplicationAttemptId, FloatArray]:
        for job in jobs:
            graph = graphs.get(job.attempt)
            kept = self._standing.get(job.attempt)
            if kept is None or kept.plan is None or _is_another_part(kept.stages, job.stages):
                mean = _mean_size(job, capacity) if graph is None else graph.mean_demand()
                self._standing[job.attempt] = JobStanding(mean, np.zeros(2), job.stages)  # fixed from the first plan on
        shares = drf_shares([self._standing[job.attempt].mean_demand for job in jobs], np.ones(2))
        found: dict[ApplicationAttemptId, FloatArray] = {}
        for job, share in zip(jobs, shares, strict=True):
            graph = graphs.get(job.attempt)
            largest = np.zeros(2) if graph is None or not graph.n_stages else graph.demand.max(axis=0)
            found[job.attempt] = np.maximum(share, largest)  # a share that holds no task cannot be planned with
        return found

    def _planned(
        self,
        jobs: Sequence[QueueJob],
        graphs: Mapping[ApplicationAttemptId, StageGraph],
        shares: Mapping[ApplicationAttemptId, FloatArray],
        room: FloatArray,
        rules: YieldRules,
        now_s: float,
    ) -> list[PlannedJob]:
        kept: list[PlannedJob] = []
        proposed: list[JobPlan] = []
        for job in jobs:
            graph, progress, share = graphs[job.attempt], _progress_of(job, now_s), shares[job.attempt]
            standing = self._standing[job.attempt]
            is_same_work = standing.is_same_work(graph)
            standing.has_put_off &= is_same_work  # new estimates or tasks are a reason for another promise
            previous = standing.plan if is_same_work and standing.covers(share) else None
            old = None if previous is None else previous.without_launched(progress.waiting, now_s)
            is_same = old is not None and job.yields and standing.yields and standing.seen == _seen(progress, share)
            rank = standing.ranked(graph, share) if rules.is_ranked and not is_same else None
            anew = partial(plan_job, yields=job.yields, slack=rules.slack, rank=rank)
            new = old if is_same else anew(graph, progress, share, now_s, previous=previous)
            if new is None:
                raise InvariantViolationError(f"{job.attempt}: its share {share} is smaller than one of its tasks")
            old, standing.seen, standing.yields = old or new, _seen(progress, share), job.yields
            standing.share, standing.tasks = share, graph.tasks
            if not is_same_work:
                standing.seconds = graph.duration
            kept.append(PlannedJob(graph, progress, old))
            proposed.append(new)
        found = adopt_plans(kept, proposed, room, now_s)
        for job, plan in zip(jobs, found, strict=True):
            self._standing[job.attempt].promise(plan.plan)
        return found

    def _yield_of(
        self, job: QueueJob, planned: PlannedJob, lent: Sequence[int], rules: YieldRules, now_s: float
    ) -> Yield:
        """Turn a plan into numbers of containers; what was told at the look before where nothing has changed since."""
        standing = self._standing[job.attempt]
        due = planned.plan.must(now_s, planned.graph.n_stages, lead_s=rules.lead_s).tolist()
        asks = tuple(job.asks.items())
        of_job = (job.stages, job.facts, asks, job.containers, job.form, job.yields, standing.share.tobytes())
        made_of = (*of_job, planned.graph, planned.plan, tuple(due), tuple(lent))
        told = self._told.get(job.attempt)
        if told is None or told[0] != made_of:
            told = self._told[job.attempt] = made_of, _made_yield(job, planned, due, lent, standing.share)
        standing.has_put_off |= any(told[1].held_back.values())
        return told[1]


def _made_yield(
    job: QueueJob, planned: PlannedJob, due: Sequence[int], lent: Sequence[int], share: FloatArray
) -> Yield:
    assert job.stages is not None  # noqa: S101 - only such jobs are planned
    assert not isinstance(job.facts, str)  # noqa: S101 - the same
    # a task that the plan does not know has no time to wait for
    known = np.minimum(planned.progress.waiting, planned.plan.must(math.inf, planned.graph.n_stages)).tolist()
    is_free = [job.yields and may for may in may_wait(job.stages, planned)]
    not_due = [max(0, waits - start) if free else 0 for waits, start, free in zip(known, due, is_free, strict=True)]
    put_off = [max(0, off - more) for off, more in zip(not_due, lent, strict=True)]
    sizes = [each.size for each in job.facts]
    held = held_back(job.stages, job.asks, job.containers, planned, put_off)
    has = held_part(job.stages, job.containers, planned)
    return Yield(
        held_back=held,
        not_due=held_back(job.stages, job.asks, job.containers, planned, not_due),
        ahead=held_ahead(job.stages, job.form, sizes, job.asks, planned, put_off),
        ends_by_s=planned.plan.ends_by_s,
        stages=_stages_of(job.stages, by_stage(job.stages, held, planned, put_off), planned.plan),
        share=float(share.max()),
        given=given_part(job.stages, job.asks, held, planned, share, has),
        beyond=float(max(0.0, (has - share).max())),
    )


def _is_another_part(kept: StagesOfJob | None, now: StagesOfJob | None) -> bool:
    return kept is not None and now is not None and not now.is_same_as(kept)


def _progress_of(job: QueueJob, now_s: float) -> Progress:
    assert not isinstance(job.facts, str)  # noqa: S101 - only such jobs come here
    rows = [
        (stage, max(0.0, each.seconds - (now_s - since_s)))
        for stage, each in enumerate(job.facts)
        for since_s in each.running_since_s
    ]
    return Progress.of(
        [each.waiting for each in job.facts],
        [stage for stage, _ in rows],
        [1] * len(rows),
        [rest_s for _, rest_s in rows],
    )


def _mean_size(job: QueueJob, capacity: FloatArray) -> FloatArray:
    count = sum(job.asks.values())
    if not count:
        return np.array([job.held.memory_mib, job.held.vcores]) / capacity
    memory = sum(key.resource.memory_mib * each for key, each in job.asks.items())
    vcores = sum(key.resource.vcores * each for key, each in job.asks.items())
    return np.array([memory, vcores]) / count / capacity


def _seen(progress: Progress, share: FloatArray) -> tuple[object, ...]:
    """Inputs whose change makes a new plan worth its time: the stages that are not over, and the share."""
    return (progress.unfinished() > 0).tobytes(), share.tobytes()


def _stages_of(stages: StagesOfJob, counts: Mapping[int, int], plan: JobPlan) -> tuple[YieldedStage, ...]:
    first_s = {stage: start_s for start_s, stage, _ in reversed(plan.groups())}  # groups go by their starts
    return tuple(
        YieldedStage(
            stages.graph.stages[stage].name,
            count,
            first_s.get(stage, math.inf),
            tuple(stages.graph.stages[parent].name for parent in stages.graph.stages[stage].waits_for),
        )
        for stage, count in sorted(counts.items())
    )


# Stages that may be put off without harm, by the order in which engines serve them.


def may_wait(stages: StagesOfJob, planned: PlannedJob) -> list[bool]:
    """Tell of each stage if it may be put off."""
    above = _nothing_runs_below(stages, planned)
    return _served_last(stages, planned, above) if stages.reuses_containers else above


def _nothing_runs_below(stages: StagesOfJob, planned: PlannedJob) -> list[bool]:
    """Find stages of which no descendant runs: an engine would kill that for them."""
    runs = set(planned.progress.run_stage.tolist())
    above: set[int] = set()  # whatever has a descendant that runs
    for stage in reversed(planned.graph.order):
        if stage in runs or stage in above:
            above.update(stages.graph.stages[stage].waits_for)
    return [stage not in above for stage in range(planned.graph.n_stages)]


def _served_last(stages: StagesOfJob, planned: PlannedJob, is_free: list[bool]) -> list[bool]:
    """Take out stages that the engine serves before another one that could begin.

    The job's own containers, as they come free, go to the waiting stage of the smallest priority number. Were that put
    off, the others would begin only after it, however early they are needed: the job's promise would be lost.
    """
    runnable = planned.runnable()
    last = max((priority for priority, stage in stages.by_priority.items() if stage in runnable), default=0)
    latest = {stage: priority for priority, stage in sorted(stages.by_priority.items())}
    return [free and latest.get(stage, last) >= last for stage, free in enumerate(is_free)]


# Graphs of jobs as `altruism` wants them, built anew only where something of a job has changed.


class StageGraphs:
    """Graphs of one queue's jobs. Most jobs are at a look what they were at the one before."""

    def __init__(self) -> None:
        self._known: dict[ApplicationAttemptId, tuple[tuple[object, ...], StageGraph]] = {}

    def keep(self, attempts: Collection[ApplicationAttemptId]) -> None:
        self._known = {attempt: known for attempt, known in self._known.items() if attempt in attempts}

    def of(
        self, attempt: ApplicationAttemptId, stages: StagesOfJob, facts: Sequence[StageFacts], capacity: FloatArray
    ) -> StageGraph:
        """Give the graph of what waits and runs of a job; demands are parts of the queue's capacity.

        Args:
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


# State of a job that puts work off, from look to look: its plan, and what it was promised.

_ROUNDING = 1e-9
_ANOTHER = 0.1
"""An estimate that changed by a larger part makes a new plan."""
_LATE_S = 5.0
"""What a plan may end later than was promised, before a job counts as late."""


@dataclass(slots=True, eq=False)
class JobStanding:
    """State of a job; its mean demand is fixed when it is planned first.

    Attributes:
        seen: Inputs of the plan whose change is worth a new one.
        promised_s: Earliest end that was promised for this work by these estimates, since something was put off.
        seconds: Estimates that its promise is for. Those of later looks may differ by less than a tenth, and all looks
            together by no more: else what drifts slowly would never be another estimate.
        rank: Order of its stages; None for the packer's own.
        ranked_for_s: Durations that it was found for; None before it was looked for.
    """

    mean_demand: FloatArray
    share: FloatArray
    stages: StagesOfJob | None = None
    plan: JobPlan | None = None
    promised_s: float = math.inf
    has_put_off: bool = False
    seconds: FloatArray | None = None
    tasks: IntArray | None = None
    seen: tuple[object, ...] = ()
    yields: bool = True
    rank: Sequence[float] | None = None
    ranked_for_s: FloatArray | None = None

    @property
    def is_late(self) -> bool:
        """Return whether the plan in force ends later than was promised: its share fell after it had put something off.

        With its share alone it would have done that work while it had the larger share. It puts off no more, or it
        would be later with each further fall, though no single promise was broken.
        """
        return self.plan is not None and self.plan.ends_by_s > self.promised_s + _LATE_S

    def promise(self, plan: JobPlan) -> None:
        """Take over a plan.

        A job that has put nothing off so far is promised whatever its share allows now: with its share alone it would
        be no earlier.
        """
        self.plan = plan
        self.promised_s = min(self.promised_s, plan.ends_by_s) if self.has_put_off else plan.ends_by_s

    def ranked(self, graph: StageGraph, share: FloatArray) -> Sequence[float] | None:
        """Order the stages; anew only where durations have changed, as that takes a hundred packings."""
        if self.ranked_for_s is None or not _are_close(graph.duration, self.ranked_for_s):
            self.rank, self.ranked_for_s = stage_ranks(graph, share), graph.duration
        return self.rank

    def covers(self, share: FloatArray) -> bool:
        """True if the plan in force was made for no larger share than this."""
        return not bool((share < self.share - _ROUNDING).any())

    def is_same_work(self, graph: StageGraph) -> bool:
        """True if the plan in force was made by these estimates, for no fewer tasks of any stage."""
        if self.plan is None or self.seconds is None or self.seconds.shape != graph.duration.shape:
            return False
        has_grown = self.tasks is None or bool((graph.tasks > self.tasks).any())
        return _are_close(graph.duration, self.seconds) and not has_grown


def _are_close(seconds: FloatArray, before: FloatArray) -> bool:
    """Tell of estimates of the same stages whether they are what they were."""
    if seconds.shape != before.shape:
        return False
    return bool((np.abs(seconds - before) <= _ANOTHER * np.maximum(before, 1.0)).all())
