"""The pool: it launches what a policy says, as far as it fits, and measures."""

import heapq
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from altruism import Progress, StageGraph
from fairness import FloatArray, IntArray, jain_index
from scripts.papers.dag_pool.jobs import PoolJob
from shim.errors import InvariantViolationError
from shim.simulation.results import Summary

_ROUNDING = 1e-9
_WINDOW_S = 60.0
_SAMPLE_S = 5.0


@dataclass(slots=True, eq=False)
class LiveJob:
    """A job that has arrived and not ended.

    Attributes:
        waiting, unfinished: Tasks of each stage that were not launched, or did not end.
        running: End as it will be, end as it is believed, stage and number of tasks, by the first.
        ended_stages: Grows with each stage that ends: who plans by it sees what changed.
    """

    number: int
    spec: PoolJob
    waiting: IntArray
    unfinished: IntArray
    running: list[tuple[float, float, int, int]] = field(default_factory=list)
    held: FloatArray = field(default_factory=lambda: np.zeros(1))
    ended_stages: int = 0
    _begun: tuple[int, list[int]] = (-1, [])

    @property
    def graph(self) -> StageGraph:
        """The job as it is believed to be."""
        return self.spec.believed

    def progress(self, now_s: float) -> Progress:
        """Give its progress, as it is believed."""
        rows = self.running
        return Progress(  # as `Progress.of`, whose checks would cost as much again: there is one a job and look
            self.waiting.copy(),
            np.array([stage for _, _, stage, _ in rows], dtype=np.int64),
            np.array([count for _, _, _, count in rows], dtype=np.int64),
            np.array([max(0.0, believed_s - now_s) for _, believed_s, _, _ in rows], dtype=np.float64),
        )

    def runnable(self) -> list[int]:
        """Stages with tasks that may start, in the order of the graph."""
        if self._begun[0] != self.ended_stages:  # only the end of a stage lets others begin
            blocked = np.asarray((self.graph.needs & (self.unfinished > 0)[None, :]).any(axis=1), dtype=np.bool_)
            self._begun = self.ended_stages, [stage for stage in self.graph.order if not blocked[stage]]
        return [stage for stage in self._begun[1] if self.waiting[stage]]


class PoolPolicy(Protocol):
    """Decides what starts."""

    def launches(self, jobs: Sequence[LiveJob], free: FloatArray, now_s: float) -> Sequence[tuple[LiveJob, int, int]]:
        """Give (job, stage, count) of what shall start now, the most urgent first; what does not fit waits."""
        ...

    def next_look_s(self, now_s: float) -> float:
        """Give the time at which it has to be asked again even if nothing happens; infinite if never."""
        ...


@dataclass(frozen=True, slots=True)
class PoolOutcome:
    """Result of a run.

    Attributes:
        completions_s: From arrival to end, in the order of the jobs.
        makespan_s: When the last one ended.
        jain: Jain's index of what hungry jobs hold, of each window of 60 s.
        looks_s: Processor seconds of each decision.
    """

    completions_s: tuple[float, ...]
    makespan_s: float
    jain: tuple[float, ...]
    looks_s: tuple[float, ...] = field(compare=False, default=())

    @property
    def completion(self) -> Summary:
        """Summary of the completion times."""
        return Summary.of(self.completions_s)


def run_pool(jobs: Sequence[PoolJob], policy: PoolPolicy) -> PoolOutcome:
    """Run jobs to their end on a pool of 1 of each resource."""
    return _Pool(jobs, policy).run()


class _Pool:
    def __init__(self, jobs: Sequence[PoolJob], policy: PoolPolicy) -> None:
        self._jobs, self._policy = jobs, policy
        self._coming = sorted(range(len(jobs)), key=lambda number: -jobs[number].arrival_s)  # the next one is last
        self._free = np.ones(jobs[0].graph.demand.shape[1])
        self._live: dict[int, LiveJob] = {}
        self._ends: list[tuple[float, int]] = []
        self._ended_s: dict[int, float] = {}
        self._looks_s: list[float] = []
        self._jain = _JainWindows()

    def run(self) -> PoolOutcome:
        now_s = 0.0
        while self._live or self._coming:
            now_s = self._next_s(now_s)
            self._jain.until(now_s, self._live.values())
            self._end(now_s)
            while self._coming and self._jobs[self._coming[-1]].arrival_s <= now_s + _ROUNDING:
                self._arrive(self._coming.pop())
            began_s = time.process_time()
            wanted = self._policy.launches(list(self._live.values()), self._free, now_s)
            self._looks_s.append(time.process_time() - began_s)
            for job, stage, count in wanted:
                self._launch(job, stage, count, now_s)
        completions = tuple(self._ended_s[number] - job.arrival_s for number, job in enumerate(self._jobs))
        return PoolOutcome(completions, now_s, tuple(self._jain.found), tuple(self._looks_s))

    def _next_s(self, now_s: float) -> float:
        times = [self._policy.next_look_s(now_s)] if self._live else []
        times += [self._ends[0][0]] if self._ends else []
        times += [self._jobs[self._coming[-1]].arrival_s] if self._coming else []
        at_s = min(times)
        if not at_s < float("inf"):
            raise InvariantViolationError("nothing runs, and the policy starts nothing of what waits")
        return max(at_s, now_s)

    def _arrive(self, number: int) -> None:
        graph = self._jobs[number].graph
        held = np.zeros(self._free.size)
        self._live[number] = LiveJob(number, self._jobs[number], graph.tasks.copy(), graph.tasks.copy(), held=held)

    def _end(self, now_s: float) -> None:
        while self._ends and self._ends[0][0] <= now_s + _ROUNDING:
            _, number = heapq.heappop(self._ends)
            job = self._live[number]
            _, _, stage, count = job.running.pop(0)
            job.unfinished[stage] -= count
            freed = count * job.spec.graph.demand[stage]
            self._free += freed
            job.held = job.held - freed
            job.ended_stages += not job.unfinished[stage]
            if not job.unfinished.any():
                self._ended_s[number] = now_s
                del self._live[number]

    def _launch(self, job: LiveJob, stage: int, wanted: int, now_s: float) -> None:
        if stage not in job.runnable():
            raise InvariantViolationError(f"{job.spec.name}: stage {stage} was started before what it needs had ended")
        graph = job.spec.graph
        demand = graph.demand[stage]
        fits = ((self._free + _ROUNDING)[demand > 0] // demand[demand > 0]).min(initial=float("inf"))
        count = int(max(0, min(wanted, job.waiting[stage], fits)))
        if not count:
            return
        self._free -= count * demand
        job.held = job.held + count * demand
        job.waiting[stage] -= count
        end_s = now_s + float(graph.duration[stage])
        job.running.append((end_s, now_s + float(job.graph.duration[stage]), stage, count))
        job.running.sort()
        heapq.heappush(self._ends, (end_s, job.number))


class _JainWindows:
    """Jain's index over windows, of jobs that wanted more at every sample of a window."""

    def __init__(self) -> None:
        self.found: list[float] = []
        self._next_s = _SAMPLE_S
        self._samples = 0
        self._held: dict[int, list[float]] = {}

    def until(self, at_s: float, jobs: Iterable[LiveJob]) -> None:
        """Take the samples up to a time, during which nothing has changed."""
        if self._next_s >= at_s:
            return
        hungry = [(job.number, float(job.held.max())) for job in jobs if job.runnable()]
        while self._next_s < at_s:
            for number, held in hungry:
                self._held.setdefault(number, []).append(max(0.0, held))
            self._samples += 1
            self._next_s += _SAMPLE_S
            if self._samples * _SAMPLE_S >= _WINDOW_S:
                whole = [sum(held) for held in self._held.values() if len(held) == self._samples]
                self.found += [jain_index(whole)] if len(whole) > 1 else []
                self._held, self._samples = {}, 0
