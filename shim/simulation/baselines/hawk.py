"""Hawk (Delgado et al., USENIX ATC 2015), and Eagle (the same, SoCC 2016): its hybrid without stealing.

In Eagle short tasks avoid long ones:

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
    return _Eagle(run, run.workload.cutoff_s).simulate()


STEAL_ATTEMPTS = 10


class _Hawk(LeastWorkLeft):
    """Long jobs centrally, short ones by probes; idle workers steal.

    Long jobs go by least work left to the long partition. A short job sends two probes a task to random workers of the
    whole cluster. A worker that runs out of probes asks up to ten random workers of the long partition and takes the
    first group of short probes there that waits behind a long task. As in the published simulator a steal takes no
    time; its messages are counted.
    """

    policy = "hawk"

    def _arrive(self, job: TraceJob) -> None:
        state = self._state_of(job)
        if state.is_long:
            self._place_long(state, self._first_long)
            return
        for worker in draw_workers(self._rng, self._everyone, PROBE_RATIO * job.n_tasks):
            self._send_probe(state, worker)

    def _on_idle(self, worker: Worker) -> None:
        for _ in range(STEAL_ATTEMPTS):
            victim = self._workers[self._rng.randrange(self._first_long, len(self._workers))]
            self._run.network.count("steal", number=2)
            stolen = _short_behind_long(victim)
            if stolen:
                worker.queue.extend(stolen)
                self._serve(worker)
                return


def _short_behind_long(victim: Worker) -> list[Probe]:
    """Take out of the victim's queue the first run of short probes behind a long task; empty when there is none."""
    if not victim.serves_long:
        return []
    probes = list(victim.queue)
    start = 0
    if not victim.runs_long:
        while start < len(probes) and not probes[start].state.is_long:
            start += 1
    while start < len(probes) and probes[start].state.is_long:
        start += 1
    end = start
    while end < len(probes) and not probes[end].state.is_long:
        end += 1
    if start < end:
        victim.queue.clear()
        victim.queue.extend(probes[:start] + probes[end:])
    return probes[start:end]


def hawk(run: Run) -> RunOutcome:
    return _Hawk(run, run.workload.cutoff_s).simulate()
