"""Queries on a fixed number of executors, as Spark runs them: executors stay with a job, and moving them costs time.

An executor goes on with its stage while that has tasks. Then it is given to another stage whose needs are at least all
launched: of its own job if there is one, else of the job that the policy names. A task takes what was measured: longest
on an executor that is new to the job, shortest on one that has just worked for the same stage.

Source of the model: the simulator of Decima (Mao et al., SIGCOMM 2019), `spark_env`.
"""

import bisect
import heapq
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from statistics import fmean

from fairness import jain_index
from shim.simulation.dag_jobs import DagJob
from shim.simulation.dag_results import DagOutcome
from shim.simulation.executor_policies import EXECUTOR_POLICIES, Goal, Policy, RunningJob, RunningStage
from shim.simulation.parallel import OnJobEnd

_SAMPLE_MS = 5000.0
_MEASURED_AT = (5, 10, 20, 40, 50, 60, 80, 100)
"""Numbers of executors that tasks were measured with."""


@dataclass(frozen=True, slots=True)
class ExecutorSettings:
    """Assumptions of the model.

    Attributes:
        warming_ms: Added where no task of a fresh executor was measured.
    """

    executors: int = 50
    moving_ms: float = 2000.0
    warming_ms: float = 1000.0


@dataclass(slots=True, eq=False)
class _Executor:
    number: int
    job: RunningJob | None = None
    stage: RunningStage | None = None  # whose task it last ran; None if it is new to its job


def run_on_executors(
    jobs: Sequence[DagJob],
    policy: str,
    *,
    seed: int = 0,
    settings: ExecutorSettings | None = None,
    on_job_end: OnJobEnd = lambda: None,
) -> DagOutcome:
    """Run jobs until all have ended; `on_job_end` is called at the end of each."""
    rng = Random(seed)  # noqa: S311 - a simulation
    return _Run(jobs, EXECUTOR_POLICIES[policy], rng, settings or ExecutorSettings(), on_job_end).run()


class _Run:
    """The state of one run."""

    def __init__(
        self, jobs: Sequence[DagJob], policy: Policy, rng: Random, settings: ExecutorSettings, on_job_end: OnJobEnd
    ) -> None:
        self._policy = policy
        self._on_job_end = on_job_end
        self._rng = rng
        self._settings = settings
        self._jobs = [
            RunningJob(index, job, [RunningStage(stage, index=number) for number, stage in enumerate(job.stages)])
            for index, job in enumerate(jobs)
        ]
        self._here: list[RunningJob] = []
        self._idle: list[_Executor] = [_Executor(number) for number in range(settings.executors)]
        self._at_job: dict[int, list[_Executor]] = {job.index: [] for job in self._jobs}
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._now_ms = 0.0
        self._ends_ms: dict[int, float] = {}
        self._samples: list[float] = []

    def run(self) -> DagOutcome:
        for arrival_ms, jobs in itertools.groupby(self._jobs, key=lambda job: job.spec.arrival_ms):
            self._at(arrival_ms, partial(self._arrive, list(jobs)))
        self._at(_SAMPLE_MS, self._sample)
        while self._events:
            self._now_ms, _, act = heapq.heappop(self._events)
            act()
        completions = tuple((self._ends_ms[job.index] - job.spec.arrival_ms) / 1000 for job in self._jobs)
        arrivals = tuple(job.spec.arrival_ms / 1000 for job in self._jobs)
        return DagOutcome(completions, arrivals, max(self._ends_ms.values()) / 1000, fmean(self._samples or [1.0]))

    def _sample(self) -> None:
        hungry = [len(job.executors) for job in self._here if any(not stage.is_saturated for stage in job.stages)]
        if len(hungry) > 1:
            self._samples.append(jain_index(hungry))
        if len(self._ends_ms) < len(self._jobs):
            self._at(self._now_ms + _SAMPLE_MS, self._sample)

    def _at(self, time_ms: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._events, (time_ms, next(self._numbers), act))

    # -- events ------------------------------------------------------------------------------------------------------

    def _arrive(self, jobs: list[RunningJob]) -> None:
        self._here.extend(jobs)
        waiting, self._idle = self._idle, []
        for executor in waiting:
            self._go(executor, self._choose(None))

    def _end_task(self, executor: _Executor, job: RunningJob, stage: RunningStage) -> None:
        stage.ended += 1
        if stage.has_tasks:
            self._launch(executor, job, stage)
            return
        opens = stage.is_done and any(job.can_run(other) and stage.index in other.spec.needs for other in job.stages)
        if not stage.plans and not opens:
            self._plan(job, stage)
        stage.holders.discard(executor.number)
        freed = [executor] if opens and not stage.plans else []
        if not freed:
            self._go(executor, stage.plans.popleft())
        if opens:  # what waits in the job is asked anew
            freed += self._at_job[job.index]
            self._at_job[job.index] = []
        for one in freed:
            self._go(one, self._choose(job))
        if job.is_done:
            self._finish(job)

    def _plan(self, job: RunningJob, stage: RunningStage) -> None:
        """The first executor that runs out of tasks decides for all that still run one of the same stage."""
        for _ in range(len(stage.holders)):
            stage.plans.append(self._choose(job))

    def _finish(self, job: RunningJob) -> None:
        """Let executors that waited in the job wait for the next one to arrive."""
        self._ends_ms[job.index] = self._now_ms
        self._here.remove(job)
        job.executors.clear()
        for executor in self._at_job[job.index]:
            executor.job = executor.stage = None
            self._idle.append(executor)
        self._at_job[job.index] = []
        self._on_job_end()

    def _come(self, executor: _Executor, goal: Goal) -> None:
        """An executor arrives at its new job."""
        goal.job.coming -= 1
        goal.stage.expected -= 1
        if goal.job.is_done:
            self._fall_back(executor)
            return
        executor.job, executor.stage = goal.job, None
        goal.job.executors.add(executor.number)
        self._take_up(executor, goal)

    def _take_up(self, executor: _Executor, goal: Goal) -> None:
        """Run the goal's stage with an executor of its job, unless nothing of it is left or its turn has not come."""
        if not goal.stage.has_tasks:
            self._fall_back(executor)
        elif goal.job.can_run(goal.stage):
            self._launch(executor, goal.job, goal.stage)
        else:
            self._park(executor, goal.job)

    # -- decisions ---------------------------------------------------------------------------------------------------

    def _choose(self, source: RunningJob | None) -> Goal | None:
        """Next goal of an executor of a job: its own job first. The goal expects it from now on."""
        if source is not None and not source.is_done:
            stage = source.next_stage()
            if stage is not None:
                stage.expected += 1
                return Goal(source, stage, is_move=False)
        for job, most in self._policy(self._here, self._settings.executors):
            stage = job.next_stage() if job is not source and job.held(self._policy) < most else None
            if stage is not None:
                stage.expected += 1
                job.coming += 1
                job.granted += 1
                return Goal(job, stage, is_move=True)
        return None

    def _go(self, executor: _Executor, goal: Goal | None) -> None:
        if goal is None:
            self._rest(executor)
        elif goal.is_move:
            self._move(executor, goal)
        else:
            goal.stage.expected -= 1
            self._take_up(executor, goal)

    def _move(self, executor: _Executor, goal: Goal) -> None:
        if not goal.stage.has_tasks or goal.job.is_done:
            goal.stage.expected -= 1
            goal.job.coming -= 1
            self._fall_back(executor)
            return
        self._leave(executor)
        self._at(self._now_ms + self._settings.moving_ms, lambda: self._come(executor, goal))

    def _fall_back(self, executor: _Executor) -> None:
        """Find another goal as this one has no tasks left: any stage of the job, else any stage at all, else rest."""
        job = executor.job
        stage = None if job is None or job.is_done else next((one for one in job.stages if job.can_run(one)), None)
        if job is not None and stage is not None and not stage.is_saturated:
            self._launch(executor, job, stage)
            return
        for other in self._here:
            stage = other.next_stage()
            if stage is not None:
                stage.expected += 1
                other.coming += 1
                self._move(executor, Goal(other, stage, is_move=True))
                return
        self._rest(executor)

    def _rest(self, executor: _Executor) -> None:
        """Let an executor rest: with its job while that may still need it, else in the pool of all."""
        job = executor.job
        if job is not None and not job.is_done and any(stage.has_tasks for stage in job.stages):
            self._park(executor, job)
            return
        self._leave(executor)
        self._idle.append(executor)

    def _park(self, executor: _Executor, job: RunningJob) -> None:
        executor.stage = None
        self._at_job[job.index].append(executor)

    def _leave(self, executor: _Executor) -> None:
        if executor.job is not None:
            executor.job.executors.discard(executor.number)
        executor.job = executor.stage = None

    # -- tasks -------------------------------------------------------------------------------------------------------

    def _launch(self, executor: _Executor, job: RunningJob, stage: RunningStage) -> None:
        duration_ms = self._duration_ms(executor, job, stage)
        stage.launched += 1
        stage.holders.add(executor.number)
        executor.stage = stage
        self._at(self._now_ms + duration_ms, lambda: self._end_task(executor, job, stage))

    def _duration_ms(self, executor: _Executor, job: RunningJob, stage: RunningStage) -> float:
        measured = stage.spec.measured
        key = self._key(len(job.executors), measured.first)
        fresh, first, rest = (wave.get(key, ()) for wave in (measured.fresh, measured.first, measured.rest))
        if executor.stage is None:
            return self._rng.choice(fresh) if fresh else self._rng.choice(first) + self._settings.warming_ms
        if executor.stage is stage and rest:
            return self._rng.choice(rest)
        return self._rng.choice(first or fresh)

    def _key(self, executors: int, known: object) -> int:
        """Measurement for a job with so many executors: one of the two neighbours, by distance."""
        assert isinstance(known, dict)  # noqa: S101 - as read
        position = bisect.bisect_left(_MEASURED_AT, executors)
        right = _MEASURED_AT[min(position, len(_MEASURED_AT) - 1)]
        left = right if executors == right else _MEASURED_AT[max(0, position - 1)]
        key = right
        if left != right:
            key = left if self._rng.randint(1, right - left) <= executors - left else right
        return key if key in known else max(known)
