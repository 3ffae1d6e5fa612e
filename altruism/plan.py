"""A job's plan: what has to start now for the job to end as early as with its share alone, and what can wait.

A plan is kept as long as a new one would end later (rule 1 of altruism.md): heuristic packings made anew at each
event break the promise in some 1 % of jobs.

Fair shares between jobs, in closed form.

Source: Ghodsi et al., Dominant Resource Fairness, NSDI 2011; the closed form is that of Carbyne, section 3.2.1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from altruism.graph import Progress, StageGraph
from altruism.justify import justify_right
from altruism.packing import Packer, Packing, alignment, pack_backward, pack_forward
from altruism.profile import EPSILON
from fairness.arrays import FloatArray, IntArray, amounts, expect_shape, ratio


@dataclass(frozen=True, slots=True, eq=False)
class JobPlan:
    """Latest starts of the waiting tasks of a job.

    Attributes
    ----------
    made_at_s : float
        The time that `packing` counts from.
    ends_by_s : float
        The promise: when the job ends if every task starts by its time.
    packing : Packing
        Latest starts of what waits.
    """

    made_at_s: float
    ends_by_s: float
    packing: Packing

    def must(self, now_s: float, n_stages: int, *, lead_s: float = 0.0) -> IntArray:
        """Tasks of each stage that have to be asked for by now, of shape (n_stages,).

        Parameters
        ----------
        now_s : float
            The time.
        n_stages : int
            Stages of the job.
        lead_s : float
            Seconds from an ask to the start of a task.
        """
        return self.packing.starting_by(now_s + lead_s - self.made_at_s, n_stages)

    def next_start_s(self, now_s: float) -> float:
        """The next time at which more tasks have to start; infinite if there is none."""
        later = self.packing.start[self.packing.start > now_s - self.made_at_s + EPSILON]
        return self.made_at_s + float(later.min()) if later.size else float("inf")

    def seen_from(self, now_s: float) -> Packing:
        """Return the packing with its starts in seconds from a time; those that are overdue are negative."""
        packing = self.packing
        start = packing.start + (self.made_at_s - now_s)
        return Packing(self.ends_by_s - now_s, start, packing.stage, packing.count)

    def groups(self) -> list[tuple[float, int, int]]:
        """(start time, stage, count) of each group, by start."""
        return [(self.made_at_s + start, stage, count) for start, stage, count in self.packing.groups()]

    def without_launched(self, waiting: IntArray, now_s: float) -> "JobPlan":
        """Return the plan of what still waits.

        Of a stage, launched tasks stand for its due groups first, then for its latest: a task that started on leftover
        is one less to start at the end.

        Parameters
        ----------
        waiting : int64 array of shape (n_stages,)
            Tasks of each stage that have not been launched.
        now_s : float
            The time.
        """
        gone = self.packing.starting_by(float("inf"), waiting.size) - waiting
        if not (gone > 0).any():
            return self
        due_s, left = now_s - self.made_at_s + EPSILON, list[tuple[float, int, int]]()
        due = [group for group in self.packing.groups() if group[0] <= due_s]
        latest = [group for group in reversed(self.packing.groups()) if group[0] > due_s]
        for start, stage, count in due + latest:
            taken = min(count, max(0, int(gone[stage])))
            gone[stage] -= taken
            if count > taken:
                left.append((start, stage, count - taken))
        return JobPlan(self.made_at_s, self.ends_by_s, Packing.of(self.packing.makespan, left))


def plan_job(
    graph: StageGraph,
    progress: Progress,
    share: FloatArray,
    now_s: float,
    *,
    previous: JobPlan | None = None,
    yields: bool = True,
    slack: float = 0.0,
    score: Packer = alignment,
    rank: Sequence[float] | None = None,
) -> JobPlan | None:
    """Plan a job within its share.

    Parameters
    ----------
    graph, progress
        The job.
    share : float64 array of shape (n_resources,)
        Its fair share, in the unit of the demands.
    now_s : float
        The time.
    previous : JobPlan, optional
        The plan in force; kept where a new one would end later. Leave it out when the share has fallen or estimates
        have changed: the old promise does not hold any more.
    yields : bool
        Whether the job puts off what it can (the caller draws P(altruism)); else every task starts as early as it can.
    slack : float
        Part of the job's remaining time that it gives up; 0 gives up nothing.
    score : Packer
        Who goes first in a packing.
    rank : sequence of float, optional
        What comes before the score: see `stage_ranks`.

    Returns
    -------
    JobPlan or None
        None if a task is larger than the share: such a job cannot be planned.

    Source: Carbyne, section 3.2.2; Rev(task) there is the start in the reversed packing.
    """
    forward = pack_forward(graph, progress, share, score=score, rank=rank)
    kept = None if previous is None else previous.without_launched(progress.waiting, now_s)
    if forward is None:
        return kept
    ends_by_s = now_s + forward.makespan * (1 + slack)
    if kept is not None and previous is not None and now_s + forward.makespan > previous.ends_by_s + EPSILON:
        return kept
    if kept is not None and previous is not None:
        ends_by_s = min(ends_by_s, previous.ends_by_s)
    if not yields:
        return JobPlan(now_s, ends_by_s, forward)
    makespan = ends_by_s - now_s
    backward = pack_backward(graph, progress, share, makespan, score=score, rank=rank)
    return JobPlan(now_s, ends_by_s, _later(graph, progress, share, forward, makespan, backward))


def _later(
    graph: StageGraph,
    progress: Progress,
    share: FloatArray,
    forward: Packing,
    makespan: float,
    backward: Packing | None,
) -> Packing:
    """Choose the late packing that uses less now: the justified one, or the reversed one if it is not too long."""
    justified = justify_right(graph, progress, share, forward, makespan=makespan)
    if backward is not None and _used_now(graph, backward) < _used_now(graph, justified) - EPSILON:
        return backward
    return justified


def _used_now(graph: StageGraph, packing: Packing) -> float:
    """Use of the tasks that start at once, summed over the resources."""
    return float((packing.starting_by(0.0, graph.n_stages) @ graph.demand).sum())


def drf_shares(mean_demand: ArrayLike, capacity: ArrayLike, *, weights: ArrayLike | None = None) -> FloatArray:
    """Divide a capacity among jobs so that weighted dominant shares are equal, whatever each can use at the moment.

    Parameters
    ----------
    mean_demand : float64 array of shape (n_jobs, n_resources)
        Mean demand of a task over all tasks of each job. Keep it for the job's life: a mean over the unfinished tasks
        lets shares fall without any arrival, and breaks promises.
    capacity : float64 array of shape (n_resources,)
        What is divided.
    weights : float64 array of shape (n_jobs,), optional
        1 for every job if left out.

    Returns
    -------
    float64 array of shape (n_jobs, n_resources)
        The share of each job; a row of zeros for a job that demands nothing or has weight 0.

    Raises
    ------
    ShapeMismatchError
        If axes differ.
    ValueError
        If an amount is negative.
    """
    demand, total = amounts("mean_demand", mean_demand, 2), amounts("capacity", capacity, 1)
    expect_shape("mean_demand", demand, (demand.shape[0], total.shape[0]))
    weight = np.ones(demand.shape[0]) if weights is None else amounts("weights", weights, 1)
    expect_shape("weights", weight, (demand.shape[0],))
    fraction = ratio(demand, total[None, :])
    fraction[((demand > 0) & (total == 0)).any(axis=1)] = 0.0  # nobody can run what needs a resource that is not there
    direction = ratio(fraction, fraction.max(axis=1, initial=0.0)[:, None]) * weight[:, None]
    fullest = direction.sum(axis=0).max(initial=0.0)
    return direction * (total / fullest if fullest else 0.0)
