"""Least work left: each task of a job goes to the worker whose queue holds the least estimated work.

Hawk and Eagle place their long jobs so. `central-least-work-left` places every job so, long ones in the long
partition alone.
"""

import heapq
from collections.abc import Iterator, Sequence
from itertools import islice

from shim.simulation.baselines.late_binding import JobState, LateBinding, Worker
from shim.simulation.results import RunOutcome
from shim.simulation.run import Run
from shim.simulation.traces import TraceJob


class WorkTable:
    """Estimated work that each worker has been given and has not ended, in seconds."""

    def __init__(self, n_workers: int) -> None:
        self.queued_s = [0] * n_workers
        self._idle = (1 << n_workers) - 1

    def choose(
        self, workers: Sequence[Worker], first: int, n_tasks: int, estimate_s: int, *, now_s: float, round_trip_s: float
    ) -> list[int]:
        """Choose a worker for each task, from number `first` up, and book the tasks there.

        What the running task has already done is taken off, up to its estimate, which the table derives from the
        booked work alone: a task that overruns its estimate leaves its worker looking idle.
        """
        idle = self._idle >> first
        if estimate_s and idle.bit_count() >= n_tasks:  # nothing beats a worker that has been given nothing
            chosen = list(islice(_bits(idle, first), n_tasks))
        else:
            chosen = self._least(workers, first, n_tasks, estimate_s, now_s=now_s, round_trip_s=round_trip_s)
        for number in chosen:
            self.queued_s[number] += estimate_s
            if self.queued_s[number]:
                self._idle &= ~(1 << number)
        return chosen

    def _least(
        self, workers: Sequence[Worker], first: int, n_tasks: int, estimate_s: int, *, now_s: float, round_trip_s: float
    ) -> list[int]:
        waits = [
            (queued_s and self._left_s(workers[number], queued_s, now_s, round_trip_s), number)
            for number, queued_s in enumerate(self.queued_s[first:], start=first)
        ]
        heapq.heapify(waits)
        chosen: list[int] = []
        for _ in range(n_tasks):
            wait_s, number = waits[0]
            heapq.heapreplace(waits, (wait_s + estimate_s, number))
            chosen.append(number)
        return chosen

    @staticmethod
    def _left_s(worker: Worker, queued_s: int, now_s: float, round_trip_s: float) -> float:
        if not worker.runs_long:
            return float(queued_s)
        return round_trip_s + queued_s - min(now_s - worker.long_since_s, worker.running_estimate_s)

    def end(self, number: int, estimate_s: int) -> None:
        self.queued_s[number] -= estimate_s
        if not self.queued_s[number]:
            self._idle |= 1 << number


def _bits(bits: int, offset: int) -> Iterator[int]:
    """Numbers of the set bits, lowest first, each with the offset added."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1 + offset
        bits ^= low


class LeastWorkLeft(LateBinding):
    """Late binding whose long jobs are placed centrally by least work left."""

    def __init__(self, run: Run, cutoff_s: float) -> None:
        super().__init__(run, cutoff_s)
        self._table = WorkTable(len(self._workers))

    def _place_long(self, state: JobState, first: int) -> list[int]:
        chosen = self._table.choose(
            self._workers,
            first,
            state.job.n_tasks,
            state.estimate_s,
            now_s=self._engine.now_s,
            round_trip_s=2 * self._run.network.hop_s,
        )
        for worker in chosen:
            self._send_probe(state, worker)
        return chosen

    def _on_end(self, worker: Worker, state: JobState) -> None:
        if state.is_long:
            self._table.end(worker.number, state.estimate_s)


class _CentralLeastWorkLeft(LeastWorkLeft):
    policy = "central-least-work-left"

    def __init__(self, run: Run) -> None:
        super().__init__(run, cutoff_s=-1.0)

    def _arrive(self, job: TraceJob) -> None:
        is_short = int(job.estimate_s) <= self._run.workload.cutoff_s
        self._place_long(self._state_of(job), first=0 if is_short else self._first_long)


def central_least_work_left(run: Run) -> RunOutcome:
    return _CentralLeastWorkLeft(run).simulate()
