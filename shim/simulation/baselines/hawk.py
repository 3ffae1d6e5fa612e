"""Hawk (Delgado et al., USENIX ATC 2015): long jobs centrally, short ones by probes, idle workers steal.

Long jobs go by least work left to the long partition. A short job sends two probes a task to random workers of the
whole cluster. A worker that runs out of probes asks up to ten random workers of the long partition and takes the
first group of short probes there that waits behind a long task. As in the published simulator a steal takes no time;
its messages are counted.
"""

from shim.simulation.baselines.late_binding import PROBE_RATIO, Probe, Worker, draw_workers
from shim.simulation.baselines.least_work_left import LeastWorkLeft
from shim.simulation.results import RunOutcome
from shim.simulation.run import Run
from shim.simulation.traces import TraceJob

STEAL_ATTEMPTS = 10


class _Hawk(LeastWorkLeft):
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
    """Run Hawk."""
    return _Hawk(run, run.workload.cutoff_s).simulate()
