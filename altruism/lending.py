"""Leftover shared out: what jobs put off is lent to others, for as long as nobody's plan needs it back.

Source: Carbyne, section 3.2.3, with one rule more. Tasks are not preempted, so leftover that goes to a long task is not
there when its owner's barrier opens: the theorem of the paper assumes that it is. `strict` lends only what stays free
during the whole of the borrower's task.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from altruism.graph import Progress, StageGraph
from altruism.packing import Packer, alignment, reserved
from altruism.plan import JobPlan
from altruism.profile import EPSILON, RoomProfile, how_many_fit
from fairness.arrays import FloatArray, IntArray


class LeftoverOrder(Enum):
    """Order in which jobs get leftover."""

    SHORTEST_REMAINING = "srtf"
    """The job nearest its end; of its stages the one that packs best."""
    EARLIEST_PLANNED = "planned"
    """The job nearest its end; of its stages the one whose next task has to start first by the job's plan."""
    PACKING = "packing"
    """The stage that packs best; of equals that of the job nearest its end."""


@dataclass(frozen=True, slots=True, eq=False)
class PlannedJob:
    """A job with its plan in force.

    Attributes
    ----------
    graph, progress
        The job now.
    plan : JobPlan
        When what waits has to start.
    """

    graph: StageGraph
    progress: Progress
    plan: JobPlan

    def runnable(self) -> list[int]:
        """Stages whose tasks may start: all parents have ended."""
        unfinished = self.progress.unfinished()
        blocked = (self.graph.needs & (unfinished > 0)[None, :]).any(axis=1)
        return np.flatnonzero((self.progress.waiting > 0) & ~blocked).tolist()


def due_tasks(job: PlannedJob, now_s: float, *, lead_s: float = 0.0) -> IntArray:
    """Tasks of each stage to be asked for as DEFAULT, of shape (n_stages,): due by the plan, and runnable."""
    due = np.minimum(job.plan.must(now_s, job.graph.n_stages, lead_s=lead_s), job.progress.waiting)
    runnable = np.zeros(job.graph.n_stages, dtype=np.bool_)
    runnable[job.runnable()] = True
    return np.where(runnable, due, 0)


def room_over_time(
    jobs: Sequence[PlannedJob], capacity: FloatArray, now_s: float, *, strict: bool = True, lead_s: float = 0.0
) -> RoomProfile:
    """Free amounts from now on: the capacity less what runs and what is planned.

    Parameters
    ----------
    jobs : sequence of PlannedJob
        Every job that uses the capacity.
    capacity : float64 array of shape (n_resources,)
        In the unit of the demands.
    now_s : float
        The time; the profile counts from it.
    strict : bool
        Whether plans of the future count; else only what has to start now.
    lead_s : float
        Seconds from an ask to the start of a task.
    """
    if not jobs:
        return RoomProfile(capacity)
    until_s = math.inf if strict else lead_s
    rows = [reserved(job.graph, job.progress, job.plan.seen_from(now_s), until_s=until_s) for job in jobs]
    start, end, amount = (np.concatenate(column) for column in zip(*rows, strict=True))
    return RoomProfile.of(capacity, start, end, amount)


def adopt_plans(
    jobs: Sequence[PlannedJob], proposals: Sequence[JobPlan], capacity: FloatArray, now_s: float
) -> list[PlannedJob]:
    """Replace plans where the new one fits beside what runs and what all others have planned.

    A plan within a job's share need not fit: tasks of others that run on leftover hold room beyond their shares, and
    were admitted beside the plans in force. Where the old plans do not fit either (estimates were wrong), a new one
    must not make it worse.

    Parameters
    ----------
    jobs : sequence of PlannedJob
        The jobs with their plans in force, less what was launched.
    proposals : sequence of JobPlan
        A new plan for each.
    capacity, now_s
        As of `room_over_time`.
    """
    adopted = list(jobs)
    if all(new is job.plan for new, job in zip(proposals, jobs, strict=True)):
        return adopted
    room = room_over_time(jobs, capacity, now_s)
    lowest = _lowest(room)
    shortest_first = sorted(range(len(jobs)), key=lambda at: jobs[at].progress.remaining_work(jobs[at].graph))
    for at in shortest_first:
        if proposals[at] is jobs[at].plan:
            continue
        after = PlannedJob(jobs[at].graph, jobs[at].progress, proposals[at])
        _exchange(room, jobs[at], after, now_s)
        lowest_then = _lowest(room)
        if (lowest_then >= np.minimum(lowest, 0.0) - EPSILON).all():
            adopted[at], lowest = after, lowest_then
        else:
            _exchange(room, after, jobs[at], now_s)
    return adopted


def _exchange(room: RoomProfile, before: PlannedJob, after: PlannedJob, now_s: float) -> None:
    nothing_runs = Progress.of(np.zeros(before.graph.n_stages))
    out_start, out_end, out = reserved(before.graph, nothing_runs, before.plan.seen_from(now_s))
    in_start, in_end, into = reserved(after.graph, nothing_runs, after.plan.seen_from(now_s))
    room.reserve_all(
        np.concatenate([out_start, in_start]), np.concatenate([out_end, in_end]), np.concatenate([-out, into])
    )


def _lowest(room: RoomProfile) -> FloatArray:
    """The least that is ever free of each resource."""
    lowest: FloatArray = room.steps()[1].min(axis=0)
    return lowest


def share_out(
    jobs: Sequence[PlannedJob],
    capacity: FloatArray,
    now_s: float,
    *,
    order: LeftoverOrder = LeftoverOrder.SHORTEST_REMAINING,
    strict: bool = True,
    score: Packer = alignment,
    lead_s: float = 0.0,
) -> list[IntArray]:
    """Lend what is left over now.

    Parameters
    ----------
    jobs, capacity, now_s, strict, lead_s
        As of `room_over_time`.
    order : LeftoverOrder
        Who is first.
    score : Packer
        How well a task packs.

    Returns
    -------
    list of int64 arrays of shape (n_stages,), one for each job
        Tasks that start on leftover, beyond those of `due_tasks`: asked for as ALTRUISTIC.
    """
    room = room_over_time(jobs, capacity, now_s, strict=strict, lead_s=lead_s)
    work = [job.progress.remaining_work(job.graph) for job in jobs]
    lenders = [_Lender(job, now_s, lead_s, strict=strict) for job in jobs]
    if order is LeftoverOrder.PACKING:
        _lend_best_fit(jobs, lenders, work, room, score)
    else:
        for number in sorted(range(len(jobs)), key=lambda number: (work[number], number)):
            _lend_to_job(jobs[number], lenders[number], room, score, by_plan=order is LeftoverOrder.EARLIEST_PLANNED)
    return [lender.granted for lender in lenders]


def _lend_to_job(job: PlannedJob, lender: "_Lender", room: RoomProfile, score: Packer, *, by_plan: bool) -> None:
    """Lend to the stages of one job: the first by its plan, or the one that packs best into what is then left."""
    if not _any_fits(job, room.lowest(0.0, EPSILON)):
        return  # lending leaves less free now, never more: what does not fit at first never does
    left = [stage for stage in job.runnable() if lender.has_more(stage)]
    demand = {stage: job.graph.demand[stage].tolist() for stage in left}
    while left:
        free = room.lowest(0.0, EPSILON).tolist()
        fit = {each: -score(demand[each], free) for each in left}
        first = {each: lender.next_start(each) if by_plan else fit[each] for each in left}
        stage = min(left, key=lambda each, first=first: (first[each], each))  # type: ignore[misc]
        left.remove(stage)
        if how_many_fit(demand[stage], free):
            lender.lend(stage, room)


def _any_fits(job: PlannedJob, free: FloatArray) -> bool:
    """True if one task of any stage that has tasks left fits into what is free."""
    demand = job.graph.demand[job.progress.waiting > 0]
    return bool(((demand <= free + EPSILON) | (demand == 0)).all(axis=1).any())


def _lend_best_fit(
    jobs: Sequence[PlannedJob], lenders: Sequence["_Lender"], work: Sequence[float], room: RoomProfile, score: Packer
) -> None:
    """Lend to the stage of any job that packs best into what is then left."""
    rows = [
        (number, stage)
        for number, job in enumerate(jobs)
        for stage in job.runnable()
        if lenders[number].has_more(stage)
    ]
    while rows:
        free = room.lowest(0.0, EPSILON).tolist()

        def key(row: tuple[int, int], free: list[float] = free) -> tuple[float, float, int, int]:
            number, stage = row
            return -score(jobs[number].graph.demand[stage].tolist(), free), work[number], number, stage

        number, stage = best = min(rows, key=key)
        lenders[number].lend(stage, room)
        rows.remove(best)


class _Lender:
    """Lets tasks of one job start before their planned time."""

    def __init__(self, job: PlannedJob, now_s: float, lead_s: float, *, strict: bool) -> None:
        self.granted = np.zeros(job.graph.n_stages, dtype=np.int64)
        self._graph, self._strict = job.graph, strict
        packing = job.plan.packing
        start = job.plan.made_at_s + packing.start - now_s
        is_later = start > lead_s + EPSILON
        self._start, self._stage, self._count = start[is_later], packing.stage[is_later], packing.count[is_later]

    def has_more(self, stage: int) -> bool:
        return bool((self._stage == stage).any())

    def next_start(self, stage: int) -> float:
        """Seconds until the next task of a stage has to start; infinite if none is put off."""
        return float(self._start[self._stage == stage].min(initial=math.inf))

    def lend(self, stage: int, room: RoomProfile) -> None:
        """Start as many tasks of a stage now as there is room for, those planned last first."""
        demand, duration = self._graph.demand[stage], float(self._graph.duration[stage])
        for row in np.flatnonzero(self._stage == stage)[::-1].tolist():
            start, count = float(self._start[row]), int(self._count[row])
            # a task's own later place is free once it runs now: beyond the start of that place it needs no other
            beside = min(duration, start) if self._strict else duration
            moved = min(count, room.fits(0.0, beside, demand)) if beside > EPSILON else count
            if self._strict:
                room.reserve(start, start + duration, -moved * demand)
            room.reserve(0.0, duration, moved * demand)
            self.granted[stage] += moved
            if moved < count:
                return
