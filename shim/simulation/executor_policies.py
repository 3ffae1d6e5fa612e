"""Policies on who may have more executors, and jobs as they see them."""

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from shim.simulation.dag_jobs import DagJob, QueryStage


@dataclass(slots=True, eq=False)
class RunningStage:
    """Progress of a stage.

    Attributes:
        holders: Executors that run a task of it.
        plans: Where those go that run out of its tasks, first come first served.
    """

    spec: QueryStage
    launched: int = 0
    ended: int = 0
    index: int = 0
    expected: int = 0
    holders: set[int] = field(default_factory=set)
    plans: "deque[Goal | None]" = field(default_factory=deque)

    @property
    def has_tasks(self) -> bool:
        return self.launched < self.spec.tasks

    @property
    def is_saturated(self) -> bool:
        """True if nothing is left of it for one more executor."""
        return self.launched + self.expected >= self.spec.tasks

    @property
    def is_done(self) -> bool:
        """True if all of its tasks have ended."""
        return self.ended == self.spec.tasks


@dataclass(slots=True, eq=False)
class RunningJob:
    """Progress of a job."""

    index: int
    spec: DagJob
    stages: list[RunningStage]
    executors: set[int] = field(default_factory=set)
    coming: int = 0
    granted: int = 0

    def can_run(self, stage: RunningStage) -> bool:
        """True if a stage has tasks to launch, and all that it needs has ended."""
        return stage.has_tasks and all(self.stages[need].is_done for need in stage.spec.needs)

    def next_stage(self) -> RunningStage | None:
        """The first that can run now, else the first that will when what is launched has ended."""
        open_ = [
            stage
            for stage in self.stages
            if not stage.is_saturated and all(self.stages[need].is_saturated for need in stage.spec.needs)
        ]
        return next((stage for stage in open_ if self.can_run(stage)), open_[0] if open_ else None)

    @property
    def is_done(self) -> bool:
        """True if all of its stages have ended."""
        return all(stage.is_done for stage in self.stages)

    @property
    def left_ms(self) -> float:
        """Work that is not launched, by the means."""
        return sum((stage.spec.tasks - stage.launched) * stage.spec.mean_ms for stage in self.stages)

    def held(self, policy: "Policy") -> int:
        """Count against the most that a policy gives: what it has, or, as in Spark's FIFO there, ever got."""
        return self.granted if policy is _fifo else len(self.executors) + self.coming


@dataclass(frozen=True, slots=True, eq=False)
class Goal:
    """Next place of an executor."""

    job: RunningJob
    stage: RunningStage
    is_move: bool


Policy = Callable[[Sequence[RunningJob], int], Sequence[tuple[RunningJob, int]]]
"""From the jobs that are there, by arrival, and the number of executors: who may have more, and how many in all."""


def _fair(jobs: Sequence[RunningJob], executors: int) -> Sequence[tuple[RunningJob, int]]:
    """An equal part for every job that has something to launch."""
    hungry = sum(any(not stage.is_saturated for stage in job.stages) for job in jobs)
    part = math.ceil(executors / max(1, hungry))
    return [(job, part) for job in jobs]


def _fifo(jobs: Sequence[RunningJob], executors: int) -> Sequence[tuple[RunningJob, int]]:
    return [(job, executors) for job in jobs]


def _least_share(jobs: Sequence[RunningJob], executors: int) -> Sequence[tuple[RunningJob, int]]:
    """One at a time to whoever holds least: dominant resource fairness of one resource."""
    return [(job, executors) for job in sorted(jobs, key=lambda job: len(job.executors) + job.coming)]


def _least_work(jobs: Sequence[RunningJob], executors: int) -> Sequence[tuple[RunningJob, int]]:
    return [(job, executors) for job in sorted(jobs, key=lambda job: job.left_ms)]


EXECUTOR_POLICIES: dict[str, Policy] = {
    "fair": _fair,
    "fifo": _fifo,
    "drf": _least_share,
    "srtf": _least_work,
}
