"""A cluster as one pool of resources with exact durations: what the kernels promise is tried on it.

It launches what it is told and checks what no policy may break: capacity, precedence, and that all work is done.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from altruism import JobPlan, PlannedJob, Progress, StageGraph, adopt_plans, due_tasks, plan_job, share_out

EPSILON = 1e-9


@dataclass
class Run:
    """One job on the cluster."""

    graph: StageGraph
    waiting: np.ndarray
    running: list[tuple[float, int, int]] = field(default_factory=list)  # end, stage, count
    plan: JobPlan | None = None
    share: np.ndarray | None = None
    ended_s: float = math.nan
    launched: int = 0

    def progress(self, now_s):
        rows = sorted(self.running)
        return Progress.of(
            self.waiting, [s for _, s, _ in rows], [c for _, _, c in rows], [max(0.0, e - now_s) for e, _, _ in rows]
        )


Shares = Callable[[Sequence[Run]], list[np.ndarray]]


class AggregateCluster:
    """Runs jobs that all arrive at 0.

    Args:
        graphs: The jobs.
        capacity: What there is.
        shares: Gives the shares of the jobs that have not ended.
        strict: Whether leftover is lent only where no plan needs it.
        keeps_promises: Whether a plan is kept as long as a new one would end later.
        yields: Whether jobs put off what they can.
        lends: Whether leftover is shared out at all.
    """

    def __init__(self, graphs, capacity, shares, *, strict=True, keeps_promises=True, yields=True, lends=True):
        self.runs = [Run(graph, graph.tasks.copy()) for graph in graphs]
        self.capacity, self.shares = np.asarray(capacity, dtype=float), shares
        self.strict, self.keeps_promises, self.yields, self.lends = strict, keeps_promises, yields, lends
        self.now_s = 0.0

    def run(self):
        """Run to the end; gives the completion time of each job."""
        while live := [run for run in self.runs if math.isnan(run.ended_s)]:
            self._launch(live)
            ends = [run.running[0][0] for run in live if run.running]
            starts = [run.plan.next_start_s(self.now_s) for run in live if run.plan is not None]
            self.now_s = min(ends + starts)
            assert math.isfinite(self.now_s), "nothing runs and nothing will start"
            for run in live:
                while run.running and run.running[0][0] <= self.now_s + EPSILON:
                    run.running.pop(0)
                if not run.running and not run.waiting.sum():
                    run.ended_s = self.now_s
        assert all(run.launched == run.graph.tasks.sum() for run in self.runs)
        return [run.ended_s for run in self.runs]

    def _launch(self, live):
        kept, proposed = [], []
        for run, share in zip(live, self.shares(live), strict=True):
            has_fallen = run.share is not None and bool((share < run.share - EPSILON).any())
            previous = run.plan if self.keeps_promises and not has_fallen else None
            run.share, progress = share, run.progress(self.now_s)
            plan = plan_job(run.graph, progress, share, self.now_s, previous=previous, yields=self.yields)
            old = previous.without_launched(run.waiting, self.now_s) if previous is not None else plan
            kept.append(PlannedJob(run.graph, progress, old))
            proposed.append(plan)
        jobs = adopt_plans(kept, proposed, self.capacity, self.now_s) if self.keeps_promises else kept
        for run, job in zip(live, jobs, strict=True):
            run.plan = job.plan
        counts = [due_tasks(job, self.now_s) for job in jobs]
        if self.lends:
            lent = share_out(jobs, self.capacity, self.now_s, strict=self.strict)
            counts = [due + more for due, more in zip(counts, lent, strict=True)]
        for run, job, count in zip(live, jobs, counts, strict=True):
            self._start(run, job, count)

    def _start(self, run, job, counts):
        for stage in np.flatnonzero(counts).tolist():
            assert stage in job.runnable(), "a task was launched before its parents had ended"
            demand = run.graph.demand[stage]
            used = sum(
                (c * each.graph.demand[s] for each in self.runs for _, s, c in each.running), np.zeros(demand.size)
            )
            fit = int(np.floor(((self.capacity - used + EPSILON) / np.maximum(demand, 1e-12)).min()))
            count = min(int(counts[stage]), fit, int(run.waiting[stage]))
            if count > 0:
                run.waiting[stage] -= count
                run.launched += count
                run.running.append((self.now_s + float(run.graph.duration[stage]), stage, count))
                run.running.sort()


def static_shares(capacity, n_jobs):
    """Every job has the same part, for ever."""
    part = np.asarray(capacity, dtype=float) / n_jobs
    return lambda live: [part for _ in live]


def growing_shares(capacity):
    """The jobs that have not ended divide all among them."""
    return lambda live: [np.asarray(capacity, dtype=float) / len(live) for _ in live]
