"""Eagle (Delgado et al., SoCC 2016): Hawk's hybrid without stealing; short tasks avoid long ones.

- *Succinct state sharing*: workers reject probes of short jobs while they run or queue a long task, and give the
  newest picture they have of where long tasks are; the rejected probes are sent again to workers that are free of
  long tasks in the newest picture seen, at last to the short partition, where no long task ever runs.
- *Sticky batch probing*: a worker keeps the probe of a short job until the job has no tasks left.
- *SRPT at the worker*: the probe of the job with the least remaining estimated work is served first, unless that
  would delay an older short probe by more than five times its own task time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from shim.simulation.baselines.late_binding import PROBE_RATIO, JobState, Probe, Worker, draw_workers
from shim.simulation.baselines.least_work_left import LeastWorkLeft
from shim.simulation.results import RunOutcome
from shim.simulation.run import Run
from shim.simulation.traces import TraceJob

MIN_PROBES = 20
MAX_SLOWDOWN = 5
"""A short probe may be overtaken by at most so many of its own task times."""


@dataclass(slots=True, eq=False)
class _Picture:
    """Long tasks when a long job was placed: the workers without one, at that time."""

    at_s: float
    without_long: Sequence[int] = field(repr=False)


class _Eagle(LeastWorkLeft):
    policy = "eagle"

    def __init__(self, run: Run, cutoff_s: float) -> None:
        super().__init__(run, cutoff_s)
        self._pictures: list[_Picture | None] = [None] * len(self._workers)
        self._short_partition = range(self._first_long)

    def _arrive(self, job: TraceJob) -> None:
        state = self._state_of(job)
        if state.is_long:
            self._arrive_long(state)
        else:
            self._arrive_short(state)

    def _arrive_long(self, state: JobState) -> None:
        chosen = self._place_long(state, self._first_long)
        queued_s = self._table.queued_s
        picture = _Picture(self._engine.now_s, [number for number in self._everyone if not queued_s[number]])
        for number in chosen:
            self._run.engine.after(self._run.network.hop_s, self._learn, number, picture)

    def _learn(self, number: int, picture: _Picture) -> None:
        self._pictures[number] = picture

    def _arrive_short(self, state: JobState) -> None:
        newest: _Picture | None = None
        among: Sequence[int] = self._everyone
        missing = max(PROBE_RATIO * state.job.n_tasks, MIN_PROBES)
        for hops in (1, 2):
            drawn = draw_workers(self._rng, among, missing)
            accepted = [number for number in drawn if not self._workers[number].serves_long]
            for number in accepted:
                self._send_probe(state, number, hops)
            missing -= len(accepted)
            if not missing:
                return
            self._run.network.count("rejected probe", number=2 * missing)
            newest = max((newest, *(self._pictures[number] for number in drawn)), key=_age_key)
            among = (newest.without_long if newest else None) or self._short_partition or self._everyone
        for number in draw_workers(self._rng, self._short_partition or self._everyone, missing):
            self._send_probe(state, number, hops=2)

    def _next_probe(self, worker: Worker) -> Probe | None:
        queue = worker.queue
        for probe in [probe for probe in queue if probe.state.remaining_s < 0]:
            queue.remove(probe)
        position = _least_remaining(queue)
        if position is None:
            return None
        probe = queue[position]
        if probe.state.is_long:
            del queue[position]
        return probe

    def _give(self, worker: Worker, probe: Probe) -> None:
        if not probe.state.is_long and not probe.state.n_left and probe in worker.queue:
            worker.queue.remove(probe)
        super()._give(worker, probe)

    def _on_given(self, worker: Worker, probe: Probe) -> None:
        state = probe.state
        self._engine.after(self._run.network.hop_s, _shrink, state)
        if state.is_long:
            return
        for older in worker.queue:
            if older is probe:
                break
            older.delayed_s += state.estimate_s


def _age_key(picture: _Picture | None) -> float:
    return picture.at_s if picture else -1.0


def _shrink(state: JobState) -> None:
    """Workers learn that a task was given out."""
    state.remaining_s = state.remaining_s - state.estimate_s if state.n_left else -1.0


def _least_remaining(queue: Sequence[Probe]) -> int | None:
    """Position of the probe to serve: least remaining work, as far as the slack of those in front allows."""
    best: int | None = None
    best_s = float("inf")
    slack_s = float("inf")
    for position, probe in enumerate(queue):
        state = probe.state
        if (state.is_long and position == 0) or (state.remaining_s < best_s and state.estimate_s <= slack_s):
            best, best_s = position, state.remaining_s
            if state.is_long:
                return best
        if not state.is_long:
            slack_s = min(slack_s, MAX_SLOWDOWN * state.estimate_s - probe.delayed_s)
    return best


def eagle(run: Run) -> RunOutcome:
    """Run Eagle."""
    return _Eagle(run, run.workload.cutoff_s).simulate()
