"""Runs Sparrow's decision code in simulated time, with the variants that its paper compares."""

from collections.abc import Callable, Sequence

import numpy as np

from shim.scheduling.policies.sparrow import (
    Batch,
    ReservationQueue,
    Sampling,
    SparrowRules,
    SparrowScheduler,
    batches_of,
    least_loaded,
)
from shim.simulation.results import RunOutcome
from shim.simulation.run import Run
from shim.simulation.traces import TraceJob

SPARROW_VARIANTS = {
    "sparrow": SparrowRules(),
    "sparrow-late-binding": SparrowRules(cancellation=False),
    "sparrow-with-replacement": SparrowRules(cancellation=False, distinct_nodes=False),
    "sparrow-batch": SparrowRules(late_binding=False, cancellation=False),
    "sparrow-per-task": SparrowRules(sampling=Sampling.PER_TASK, late_binding=False, cancellation=False),
    "random": SparrowRules(sampling=Sampling.NONE, late_binding=False, cancellation=False),
}


class _Sparrow:
    """Schedulers, node queues and the messages between them; jobs go round-robin to the schedulers."""

    def __init__(self, run: Run, policy: str) -> None:
        setting = run.setting
        self._run = run
        self._policy = policy
        self._rules = SPARROW_VARIANTS[policy]
        self._rng = run.rng(policy)
        self._schedulers = [SparrowScheduler(self._rules) for _ in range(setting.n_gms)]
        self._queues = [ReservationQueue(setting.slots_per_worker) for _ in range(setting.n_workers)]
        self._everyone: Sequence[int] = range(setting.n_workers)
        self._bits = np.array(setting.worker_constraints, dtype=np.int64)
        self._able: dict[int, Sequence[int]] = {0: self._everyone}

    def simulate(self) -> RunOutcome:
        self._run.start_arrivals(self._arrive)
        self._run.engine.run()
        return self._run.outcome(self._policy)

    def _candidates(self, constraints: int) -> Sequence[int]:
        if constraints not in self._able:
            self._able[constraints] = np.flatnonzero((self._bits & constraints) == constraints).tolist()
        return self._able[constraints]

    def _scheduler_of(self, batch: Batch) -> SparrowScheduler:
        return self._schedulers[batch.job % len(self._schedulers)]

    def _arrive(self, job: TraceJob) -> None:
        send = self._run.network.send
        for batch in batches_of(job.index, job.constraints, job.n_tasks):
            nodes = self._scheduler_of(batch).submit(batch, self._candidates(batch.constraints), self._rng)
            if self._rules.late_binding:
                for node in nodes:
                    send("probe", self._reserve, batch, node)
            elif self._rules.sampling is Sampling.NONE:
                self._send_tasks(batch, nodes)
            else:
                self._run.network.count("probe", number=2 * len(nodes))
                self._run.engine.after(self._run.network.hop_s, self._measure, batch, nodes)

    # Early binding: the loads are read when the probes arrive, the tasks follow a round trip later.

    def _measure(self, batch: Batch, nodes: Sequence[int]) -> None:
        loads = {node: self._queues[node].load for node in nodes}
        chosen = least_loaded(self._rules, len(batch.tasks), nodes, loads)
        self._run.engine.after(self._run.network.hop_s, self._send_tasks, batch, chosen)

    def _send_tasks(self, batch: Batch, nodes: Sequence[int]) -> None:
        for task, node in zip(batch.tasks, nodes, strict=True):
            single = Batch(batch.job, batch.constraints, (task,))
            self._run.network.send("task", self._reserve, single, node)

    # Late binding: a due reservation asks its scheduler for a task.

    def _reserve(self, batch: Batch, node: int) -> None:
        self._queues[node].reserve(batch)
        self._serve(node)

    def _serve(self, node: int) -> None:
        batch = self._queues[node].due()
        if batch is None:
            return
        if self._rules.late_binding:
            self._run.network.send("task request", self._bind, batch, node)
        else:
            self._start(batch, batch.tasks[0], node)

    def _bind(self, batch: Batch, node: int) -> None:
        send = self._run.network.send
        binding = self._scheduler_of(batch).bind(batch, node)
        if binding.task is None:
            send("no task", self._freed, node)
        else:
            send("task", self._start, batch, binding.task, node)
        for other in binding.cancelled:
            send("cancellation", self._queues[other].cancel, batch)

    def _start(self, batch: Batch, task: int, node: int) -> None:
        duration_s = self._run.ledger.start(batch.job, task, self._run.engine.now_s)
        self._run.engine.after(duration_s, self._end, batch, task, node)

    def _end(self, batch: Batch, task: int, node: int) -> None:
        self._run.ledger.end(batch.job, task, self._run.engine.now_s)
        self._run.network.count("completion")
        self._freed(node)

    def _freed(self, node: int) -> None:
        self._queues[node].free()
        self._serve(node)


def sparrow(policy: str) -> Callable[[Run], RunOutcome]:
    """The simulator of one variant, by its name in `SPARROW_VARIANTS`."""
    return lambda run: _Sparrow(run, policy).simulate()
