"""Altruism on a pool: shares by DRF, late plans, leftover lent; all decided by the kernels of `altruism`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from random import Random

import numpy as np

from altruism import (
    JobPlan,
    LeftoverOrder,
    PlannedJob,
    Progress,
    adopt_plans,
    drf_shares,
    due_tasks,
    justify_in_room,
    plan_job,
    room_over_time,
    share_out,
    stage_ranks,
)
from fairness import FloatArray
from scripts.papers.dag_pool.pool import LiveJob
from shim.errors import InvariantViolationError

_ROUNDING = 1e-9


class Reach(Enum):
    """The room in which a job puts its tasks off."""

    SHARE = "share"
    """As late as it ends by its promise within its own share (Carbyne)."""
    POOL = "pool"
    """As late as it ends by its promise in the room that all others leave: when they end, their shares are free."""


@dataclass(frozen=True, slots=True)
class AltruismSettings:
    """Settings of the policy.

    Attributes:
        probability: P(altruism): with which a job yields, drawn whenever it is planned.
        order: Who gets leftover first.
        strict: Whether leftover is lent only where no plan needs it, and plans are promises; else as in the paper.
        is_ranked: Whether jobs pack by `stage_ranks` in place of the alignment alone.
        tightens: Whether a promise becomes earlier when a share grows; else it is that of the last arrival.
        slack: Part of its remaining time that a job gives up.
        lends: Whether leftover goes to anybody; else every job has its share alone, and what it cannot use idles.
    """

    probability: float = 1.0
    order: LeftoverOrder = LeftoverOrder.SHORTEST_REMAINING
    strict: bool = True
    reach: Reach = Reach.SHARE
    is_ranked: bool = False
    tightens: bool = True
    slack: float = 0.0
    lends: bool = True


@dataclass(slots=True, eq=False)
class _Standing:
    """State of a job from look to look.

    Attributes:
        mean_demand: Fixed when the job comes.
        seen_stages: `LiveJob.ended_stages` when it was planned last.
    """

    mean_demand: FloatArray
    rank: list[float] | None
    share: FloatArray | None = None
    plan: JobPlan | None = None
    seen_stages: int = -1
    yields: bool = True


class AltruisticPolicy:
    """Plans each job when it comes, when one of its stages ends, and when its share changes."""

    def __init__(self, settings: AltruismSettings, rng: Random) -> None:
        self._settings, self._rng = settings, rng
        self._known: dict[int, _Standing] = {}

    def launches(self, jobs: Sequence[LiveJob], free: FloatArray, now_s: float) -> Sequence[tuple[LiveJob, int, int]]:
        """See `PoolPolicy`."""
        if not jobs:
            self._known.clear()
            return []
        capacity = np.ones(free.size)
        planned, moved = self._plan(jobs, capacity, now_s)
        if self._settings.reach is Reach.POOL:
            planned = self._put_off(jobs, planned, moved, capacity, now_s)
        for job, plan in zip(jobs, planned, strict=True):
            self._known[job.number].plan = plan.plan
        settings = self._settings
        lent = share_out(planned, capacity, now_s, order=settings.order, strict=settings.strict)
        rows = [(due_tasks(plan, now_s), more * settings.lends) for plan, more in zip(planned, lent, strict=True)]
        work = [plan.progress.remaining_work(plan.graph) for plan in planned]
        first = sorted(range(len(jobs)), key=lambda at: (work[at], jobs[at].number))
        return [
            (jobs[at], stage, int(rows[at][part][stage]))
            for part in (0, 1)
            for at in first
            for stage in np.flatnonzero(rows[at][part]).tolist()
        ]

    def next_look_s(self, now_s: float) -> float:
        """See `PoolPolicy`."""
        plans = (standing.plan for standing in self._known.values() if standing.plan is not None)
        return min((plan.next_start_s(now_s) for plan in plans), default=float("inf"))

    def _plan(self, jobs: Sequence[LiveJob], capacity: FloatArray, now_s: float) -> tuple[list[PlannedJob], list[int]]:
        """Bring plans up to date; gives them, and the positions of the jobs that were planned anew."""
        kept: list[PlannedJob] = []
        proposed: list[JobPlan] = []
        moved: list[int] = []
        shares = self._shares(jobs, capacity)
        for at, (job, share) in enumerate(zip(jobs, shares, strict=True)):
            standing, progress = self._known[job.number], job.progress(now_s)
            old = None if standing.plan is None else standing.plan.without_launched(job.waiting, now_s)
            new = old
            if standing.share is None or standing.seen_stages != job.ended_stages or (share != standing.share).any():
                new = self._planned_anew(job, standing, progress, share, old, now_s)
                moved.append(at)
            if new is None:
                raise InvariantViolationError(f"{job.spec.name}: its share {share} is smaller than one of its tasks")
            kept.append(PlannedJob(job.graph, progress, new if old is None or new.ends_by_s > old.ends_by_s else old))
            proposed.append(new)
        if self._settings.strict:
            return adopt_plans(kept, proposed, capacity, now_s), moved
        return [replace(job, plan=plan) for job, plan in zip(kept, proposed, strict=True)], moved

    def _shares(self, jobs: Sequence[LiveJob], capacity: FloatArray) -> FloatArray:
        here = {job.number for job in jobs}
        for number in [number for number in self._known if number not in here]:
            del self._known[number]
        for job in jobs:
            if job.number not in self._known:
                rank = stage_ranks(job.graph, capacity) if self._settings.is_ranked else None
                self._known[job.number] = _Standing(job.graph.mean_demand(), rank)
        shares = drf_shares([self._known[job.number].mean_demand for job in jobs], capacity)
        for job, share in zip(jobs, shares, strict=True):  # a share that holds no task cannot be planned with
            np.maximum(share, job.graph.demand[job.unfinished > 0].max(axis=0, initial=0.0), out=share)
        return shares

    def _planned_anew(
        self,
        job: LiveJob,
        standing: _Standing,
        progress: Progress,
        share: FloatArray,
        old: JobPlan | None,
        now_s: float,
    ) -> JobPlan | None:
        settings = self._settings
        has_fallen = standing.share is not None and bool((share < standing.share - _ROUNDING).any())
        previous = old if settings.strict and not has_fallen else None
        standing.share, standing.seen_stages = share.copy(), job.ended_stages
        standing.yields = settings.probability >= 1 or self._rng.random() < settings.probability
        if previous is not None and not settings.tightens and standing.yields:
            return previous
        return plan_job(
            job.graph,
            progress,
            share,
            now_s,
            previous=previous,
            yields=standing.yields,
            slack=settings.slack,
            rank=standing.rank,
        )

    def _put_off(
        self, jobs: Sequence[LiveJob], planned: list[PlannedJob], moved: list[int], capacity: FloatArray, now_s: float
    ) -> list[PlannedJob]:
        """Let the jobs that were planned anew put off what the room of all others allows, the largest first."""
        found = list(planned)
        for at in sorted(moved, key=lambda at: -planned[at].progress.remaining_work(planned[at].graph)):
            if not self._known[jobs[at].number].yields:
                continue
            job = found[at]
            seen = job.plan.seen_from(now_s)
            groups = [(max(0.0, start), stage, count) for start, stage, count in seen.groups()]
            alone = replace(job, plan=JobPlan(now_s, job.plan.ends_by_s, type(seen).of(seen.makespan, ())))
            room = room_over_time([*found[:at], alone, *found[at + 1 :]], capacity, now_s)
            late = justify_in_room(job.graph, type(seen).of(seen.makespan, groups), room)
            found[at] = replace(job, plan=JobPlan(now_s, job.plan.ends_by_s, late))
        return found
