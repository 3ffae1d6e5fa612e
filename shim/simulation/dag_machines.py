"""Jobs whose tasks ask for several resources, on machines: who is next, and on which machine.

Whenever something ends or arrives, tasks are started one after another until nothing more fits. An ordering names the
job that is next; packing looks at tasks and machines together.
"""

import heapq
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np

from fairness import FloatArray, jain_index
from shim.simulation.dag_jobs import ResourceJob, ResourceStage
from shim.simulation.dag_results import DagOutcome
from shim.simulation.parallel import OnJobEnd

_SAMPLE_S = 5.0
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class MachineSettings:
    """The cluster and how busy it is.

    Attributes:
        load: Work that arrives, as a part of what the machines can do of the scarcest resource.
    """

    machines: int = 4
    load: float = 0.95


@dataclass(slots=True, eq=False)
class _Stage:
    spec: ResourceStage
    demand: FloatArray
    launched: int = 0
    ended: int = 0


@dataclass(slots=True, eq=False)
class _Job:
    index: int
    arrival_s: float
    stages: list[_Stage]
    held: FloatArray
    work: float
    open: list[_Stage] = field(default_factory=list)

    def refresh(self) -> None:
        """Stages that may start tasks now."""
        done = [stage.ended == stage.spec.tasks for stage in self.stages]
        self.open = [
            stage
            for stage in self.stages
            if stage.launched < stage.spec.tasks and all(done[need] for need in stage.spec.needs)
        ]


Key = Callable[[_Job, FloatArray], float]
"""From a job and the total capacity to its place: smallest first."""

MACHINE_ORDERINGS: dict[str, Key | None] = {
    "fifo": lambda job, _: job.arrival_s,
    "fair": lambda job, total: float(job.held[1] / total[1]),
    "drf": lambda job, total: float((job.held / total).max()),
    "srtf": lambda job, _: job.work,
    "packing": None,
}
"""`fair` evens out memory alone, as YARN's default calculator does; `packing` is Tetris' score with SRTF."""


def run_on_machines(
    jobs: Sequence[ResourceJob],
    ordering: str,
    *,
    seed: int = 0,
    settings: MachineSettings | None = None,
    on_job_end: OnJobEnd = lambda: None,
) -> DagOutcome:
    """Run jobs that arrive by a Poisson process until all have ended; `on_job_end` is called at the end of each."""
    rng = Random(seed)  # noqa: S311 - a simulation
    return _Run(jobs, MACHINE_ORDERINGS[ordering], rng, settings or MachineSettings(), on_job_end).run()


class _Run:
    def __init__(
        self, jobs: Sequence[ResourceJob], key: Key | None, rng: Random, settings: MachineSettings, on_job_end: OnJobEnd
    ) -> None:
        self._key = key
        self._on_job_end = on_job_end
        self._free = np.ones((settings.machines, 2))
        self._total = self._free.sum(axis=0)
        self._here: list[_Job] = []
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._now_s = 0.0
        self._ends_s: dict[int, float] = {}
        self._samples: list[float] = []
        works = [sum(job.work_s) for job in jobs]
        self._mean_work = sum(works) / len(works)
        scarcest = max(sum(job.work_s[size] for job in jobs) for size in range(2)) / len(jobs)
        gap_s = scarcest / (settings.load * settings.machines)
        at_s = 0.0
        self._jobs: list[_Job] = []
        for index, (job, work) in enumerate(zip(jobs, works, strict=True)):
            stages = [_Stage(stage, np.array(stage.demand)) for stage in job.stages]
            self._jobs.append(_Job(index, at_s, stages, np.zeros(2), work))
            at_s += rng.expovariate(1 / gap_s)

    def run(self) -> DagOutcome:
        for job in self._jobs:
            self._at(job.arrival_s, lambda job=job: self._arrive(job))  # type: ignore[misc]
        self._at(_SAMPLE_S, self._sample)
        while self._events:
            self._now_s, _, act = heapq.heappop(self._events)
            act()
            if not self._events or self._events[0][0] > self._now_s:
                self._start_all()
        completions = tuple(self._ends_s[job.index] - job.arrival_s for job in self._jobs)
        arrivals = tuple(job.arrival_s for job in self._jobs)
        return DagOutcome(completions, arrivals, max(self._ends_s.values()), float(np.mean(self._samples or [1.0])))

    def _at(self, at_s: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._events, (at_s, next(self._numbers), act))

    def _arrive(self, job: _Job) -> None:
        job.refresh()
        self._here.append(job)

    def _end(self, job: _Job, stage: _Stage, machine: int) -> None:
        stage.ended += 1
        self._free[machine] += stage.demand
        job.held = job.held - stage.demand
        job.work -= float(stage.demand.sum()) * stage.spec.duration_s
        if stage.ended < stage.spec.tasks:
            return
        job.refresh()
        if all(one.ended == one.spec.tasks for one in job.stages):
            self._here.remove(job)
            self._ends_s[job.index] = self._now_s
            self._on_job_end()

    def _sample(self) -> None:
        hungry = [max(0.0, float((job.held / self._total).max())) for job in self._here if job.open]
        if len(hungry) > 1:
            self._samples.append(jain_index(hungry))
        if len(self._ends_s) < len(self._jobs):
            self._at(self._now_s + _SAMPLE_S, self._sample)

    # -- starting tasks ----------------------------------------------------------------------------------------------

    def _start_all(self) -> None:
        if self._key is None:
            while self._start_best_packed():
                pass
            return
        heap = [(self._key(job, self._total), job.index, job) for job in self._here if job.open]
        heapq.heapify(heap)
        while heap:
            _, _, job = heapq.heappop(heap)
            if self._start_one(job):
                heapq.heappush(heap, (self._key(job, self._total), job.index, job))

    def _start_one(self, job: _Job) -> bool:
        """Start the job's first task that fits somewhere, on the first machine that has room."""
        for stage in job.open:
            fits = (self._free + _ROUNDING >= stage.demand).all(axis=1)
            if fits.any():
                self._start(job, stage, int(fits.argmax()))
                return True
        return False

    def _start_best_packed(self) -> bool:
        """Start the task that is best aligned with the room on a machine, small jobs preferred."""
        best: tuple[float, _Job, _Stage, int] | None = None
        for job in self._here:
            for stage in job.open:
                fits = (self._free + _ROUNDING >= stage.demand).all(axis=1)
                if not fits.any():
                    continue
                alignment = np.where(fits, self._free @ stage.demand, -np.inf)
                machine = int(alignment.argmax())
                score = float(alignment[machine]) - float(stage.demand.sum()) * job.work / self._mean_work
                if best is None or score > best[0]:
                    best = (score, job, stage, machine)
        if best is None:
            return False
        self._start(*best[1:])
        return True

    def _start(self, job: _Job, stage: _Stage, machine: int) -> None:
        stage.launched += 1
        self._free[machine] -= stage.demand
        job.held = job.held + stage.demand
        if stage.launched == stage.spec.tasks:
            job.open = [one for one in job.open if one is not stage]
        self._at(self._now_s + stage.spec.duration_s, lambda: self._end(job, stage, machine))
