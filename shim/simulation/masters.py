"""Heddle's masters in simulated time: Global and Local Masters exchange their real messages over the network.

Every leg is a message of one hop: between masters, from a Local Master to a node (what one event makes it start there),
and from a node to its Local Master (the end of a task). Legs to and from nodes are repeated when they are lost, as
heartbeats of nodes repeat them. A job belongs to the Global Master that `HomeRule` of the setting says.
"""

import math
import time
from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from shim.domain.ids import GlobalMasterId, LocalMasterId
from shim.domain.messages import (
    Bid,
    Launch,
    LaunchRequest,
    LocalMasterReport,
    ReportRequest,
    TaskRef,
)
from shim.scheduling.global_master import events as gm_events
from shim.scheduling.global_master.machine import GlobalMaster
from shim.scheduling.local_master import events as lm_events
from shim.scheduling.local_master.machine import LocalMaster
from shim.scheduling.policies.heddle import HEDDLE, HEDDLE_ESTIMATES
from shim.scheduling.policies.megha import MEGHA
from shim.scheduling.policy import Policy
from shim.simulation.constraints import need_of, properties_of
from shim.simulation.results import RunOutcome
from shim.simulation.run import HomeRule, Run
from shim.simulation.traces import TraceJob

_TICK_S = 1.0

_HEADER_BYTES = 40
_ITEM_BYTES = 24
"""A message's frame and one launch, verdict, node or offer in msgpack with small integers, rounded up."""


def _request_bytes(message: LaunchRequest | Bid | ReportRequest) -> int:
    if isinstance(message, LaunchRequest):
        lines = len(message.bid.lines) if message.bid else 0
        items = (
            len(message.launches)
            + len(message.declined)
            + len(message.starts)
            + len(message.cancels)
            + len(message.learnt)
            + lines
        )
        return _HEADER_BYTES + _ITEM_BYTES * items
    return _HEADER_BYTES + (_ITEM_BYTES * len(message.lines) if isinstance(message, Bid) else 0)


def _report_bytes(report: LocalMasterReport) -> int:
    items = (
        len(report.nodes)
        + len(report.rejected)
        + len(report.ended)
        + len(report.offers)
        + len(report.running)
        + len(report.learnt)
    )
    return _HEADER_BYTES + _ITEM_BYTES * items


@dataclass(frozen=True, slots=True)
class Faults:
    """Faults of a run; times count from the first arrival.

    Attributes:
        kill_global_master_at_s: A Global Master dies and its successor starts with nothing; infinite for never.
        local_master_away_at_s: A Local Master dies; infinite for never. Its standby, which has received everything
            that happened on the nodes and of every request that arrived, takes over.
        local_master_away_for_s: How long that takes: until then every message to and from it is lost.
    """

    kill_global_master_at_s: float = math.inf
    global_master: int = 0
    local_master_away_at_s: float = math.inf
    local_master_away_for_s: float = 5.0
    local_master: int = 0

    @property
    def is_none(self) -> bool:
        """Return whether nothing goes wrong."""
        return math.isinf(self.kill_global_master_at_s) and math.isinf(self.local_master_away_at_s)


_REQUEST_KINDS = {LaunchRequest: "launch-request", Bid: "bid", ReportRequest: "report-request"}


class Masters:
    """Global and Local Masters wired to one run."""

    def __init__(self, run: Run, policy: Policy, faults: Faults | None = None) -> None:
        self._run = run
        self._policy = policy
        self._name = HEDDLE.name if policy is HEDDLE_ESTIMATES else policy.name
        self._faults = faults or Faults()
        setting = run.setting
        self._gm_ids = [GlobalMasterId(f"gm{index}") for index in range(setting.n_gms)]
        self.global_masters = {name: self._global_master(name, 1) for name in self._gm_ids}
        self.local_masters: dict[LocalMasterId, LocalMaster] = {
            LocalMasterId(f"lm{index}"): self._local_master(LocalMasterId(f"lm{index}"), workers)
            for index, workers in enumerate(_ranges(setting.n_workers, setting.n_lms))
        }
        self._submitted: defaultdict[GlobalMasterId, list[TraceJob]] = defaultdict(list)
        self._begun: set[TaskRef] = set()
        self._unfilled: set[GlobalMasterId] = set()
        self._away: LocalMasterId | None = None
        self._decision_s = array("d")

    def _global_master(self, name: GlobalMasterId, incarnation: int) -> GlobalMaster:
        rng = self._run.rng(f"{name}/{incarnation}")
        return GlobalMaster(name, self._policy, n_resources=1, rng=rng, incarnation=incarnation)

    def _local_master(self, name: LocalMasterId, workers: range) -> LocalMaster:
        setting = self._run.setting
        bits = setting.worker_constraints
        nodes = [
            lm_events.NodeSpec((setting.slots_per_worker,), properties_of(bits[worker]) if bits else frozenset())
            for worker in workers
        ]
        return LocalMaster(name, nodes, self._gm_ids, n_resources=1, commitment=self._policy.commitment)

    def simulate(self) -> RunOutcome:
        run = self._run
        self._introduce()
        for name in self.local_masters:
            run.engine.after(run.setting.heartbeat_s, self._heartbeat, name)
        self._plan_faults()
        run.start_arrivals(self._arrive)
        run.engine.run()
        outcome = run.outcome(self._name, uses_estimates=run.setting.uses_estimates)
        for master in self.global_masters.values():
            for kind, number in master.counters.inconsistencies.items():
                outcome.inconsistencies[kind.value] += number
            outcome.repartitions += master.counters.repartitions
        outcome.decision_s = self._decision_s
        return outcome

    def _introduce(self) -> None:
        """Let every Local Master report to every Global Master before the first job arrives; nothing is lost there."""
        for name, master in self.global_masters.items():
            found = gm_events.LocalMastersFound(self._run.engine.now_s, tuple(self.local_masters))
            for effect in master.handle(found):
                if isinstance(effect, gm_events.SendMessage):
                    received = lm_events.MessageReceived(self._run.engine.now_s, effect.message)
                    for answer in self.local_masters[effect.to].handle(received):
                        if isinstance(answer, lm_events.SendReport):
                            self._to_global_master(name, answer.report)

    def _plan_faults(self) -> None:
        engine, faults = self._run.engine, self._faults
        if self._run.setting.loss or not faults.is_none:
            engine.after(_TICK_S, self._tick)
        if math.isfinite(faults.kill_global_master_at_s):
            engine.after(faults.kill_global_master_at_s, self._kill, self._gm_ids[faults.global_master])
        if math.isfinite(faults.local_master_away_at_s):
            name = LocalMasterId(f"lm{faults.local_master}")
            engine.after(faults.local_master_away_at_s, self._set_away, name)
            engine.after(faults.local_master_away_at_s + faults.local_master_away_for_s, self._set_away, None)

    def _arrive(self, job: TraceJob) -> None:
        by_tasks = self._run.setting.home_rule is HomeRule.TASKS
        name = self._gm_ids[(job.n_tasks if by_tasks else job.index) % len(self._gm_ids)]
        if not self._faults.is_none:
            self._submitted[name].append(job)
        if name not in self._unfilled:
            self._tell(name, gm_events.JobSubmitted(self._run.engine.now_s, _request_of(job, range(job.n_tasks))))

    def _heartbeat(self, name: LocalMasterId) -> None:
        if self._run.ledger.is_done:
            return
        self._obey(name, self.local_masters[name].handle(lm_events.HeartbeatDue(self._run.engine.now_s)))
        self._run.engine.after(self._run.setting.heartbeat_s, self._heartbeat, name)

    def _tick(self) -> None:
        if self._run.ledger.is_done:
            return
        now_s = self._run.engine.now_s
        for local_master, master in self.local_masters.items():
            self._obey(local_master, master.handle(lm_events.LocalMasterTick(now_s)))
        for global_master in self._gm_ids:
            self._tell(global_master, gm_events.GlobalMasterTick(now_s))
        self._run.engine.after(_TICK_S, self._tick)

    def _kill(self, name: GlobalMasterId) -> None:
        """A Global Master dies; its successor starts at once and knows nothing."""
        self._unfilled.add(name)
        self.global_masters[name] = self._global_master(name, 2)
        self._tell(name, gm_events.LocalMastersFound(self._run.engine.now_s, tuple(self.local_masters)))

    def _set_away(self, name: LocalMasterId | None) -> None:
        self._away = name

    def _resubmit(self, name: GlobalMasterId) -> None:
        """Once the successor has a report of every cluster, submitters ask again for what neither runs nor is done."""
        master = self.global_masters[name]
        if not master.is_filled:
            return
        self._unfilled.discard(name)
        kept = self._begun | {launch.task for launch in master.adopted.values()}
        for job in self._submitted[name]:
            left = [index for index in range(job.n_tasks) if TaskRef(str(job.index), index) not in kept]
            if left:
                self._tell(name, gm_events.JobSubmitted(self._run.engine.now_s, _request_of(job, left)))

    def _tell(self, name: GlobalMasterId, event: gm_events.GlobalMasterEvent) -> None:
        """Give an event to a Global Master, and carry out its effects."""
        started_s = time.perf_counter()
        effects = self.global_masters[name].handle(event)
        if isinstance(event, gm_events.JobSubmitted):
            self._decision_s.append(time.perf_counter() - started_s)
        network = self._run.network
        for effect in effects:
            if isinstance(effect, gm_events.SendMessage):
                message = effect.message
                kind = _REQUEST_KINDS[type(message)]
                network.send(kind, self._to_local_master, effect.to, message, size_bytes=_request_bytes(message))

    def _obey(self, name: LocalMasterId, effects: Sequence[lm_events.LocalMasterEffect]) -> None:
        """Carry out a Local Master's effects."""
        run = self._run
        starts: defaultdict[int, list[lm_events.StartTask]] = defaultdict(list)
        for effect in effects:
            if isinstance(effect, lm_events.SendReport):
                if name != self._away:
                    report = effect.report
                    kind, size = report.occasion.value, _report_bytes(report)
                    run.network.send(kind, self._to_global_master, effect.to, report, size_bytes=size)
            elif isinstance(effect, lm_events.StartTask):
                starts[effect.launch.node].append(effect)
        for batch in starts.values():
            size = _HEADER_BYTES + _ITEM_BYTES * len(batch)
            run.network.send_again("launch", self._start_all, name, batch, size_bytes=size)

    def _to_local_master(self, name: LocalMasterId, message: LaunchRequest | Bid | ReportRequest) -> None:
        if name != self._away:
            event = lm_events.MessageReceived(self._run.engine.now_s, message)
            self._obey(name, self.local_masters[name].handle(event))

    def _to_global_master(self, name: GlobalMasterId, report: LocalMasterReport) -> None:
        self._tell(name, gm_events.ReportReceived(self._run.engine.now_s, report))
        if name in self._unfilled:
            self._resubmit(name)

    def _start_all(self, name: LocalMasterId, batch: Sequence[lm_events.StartTask]) -> None:
        for effect in batch:
            self._start(name, effect.global_master, effect.launch)

    def _start(self, name: LocalMasterId, global_master: GlobalMasterId, launch: Launch) -> None:
        engine = self._run.engine
        if not self._faults.is_none:
            self._begun.add(launch.task)
        duration_s = self._run.ledger.start(int(launch.task.job), launch.task.index, engine.now_s)
        engine.after(duration_s, self._end, name, global_master, launch)

    def _end(self, name: LocalMasterId, global_master: GlobalMasterId, launch: Launch) -> None:
        run = self._run
        run.ledger.end(int(launch.task.job), launch.task.index, run.engine.now_s)
        size = _HEADER_BYTES + _ITEM_BYTES
        run.network.send_again("end", self._hear_end, name, global_master, launch, size_bytes=size)

    def _hear_end(self, name: LocalMasterId, global_master: GlobalMasterId, launch: Launch) -> None:
        event = lm_events.TaskEnded(self._run.engine.now_s, global_master, launch.number)
        self._obey(name, self.local_masters[name].handle(event))


def _ranges(n_workers: int, n_lms: int) -> list[range]:
    """Contiguous ranges of workers, one for each Local Master; sizes differ by at most one."""
    bounds = [n_workers * index // n_lms for index in range(n_lms + 1)]
    return [range(start, end) for start, end in pairwise(bounds)]


def _request_of(job: TraceJob, tasks: Iterable[int]) -> gm_events.JobRequest:
    """Some tasks of a job as its Global Master sees them: no duration is in it."""
    by_bits: defaultdict[int, list[int]] = defaultdict(list)
    for index in tasks:
        by_bits[job.constraints[index] if job.constraints else 0].append(index)
    groups = tuple(gm_events.TaskGroup(need_of(bits), tuple(indices)) for bits, indices in by_bits.items())
    return gm_events.JobRequest(str(job.index), groups, estimate_s=job.estimate_s)


def megha(run: Run) -> RunOutcome:
    return Masters(run, MEGHA).simulate()


def heddle(run: Run) -> RunOutcome:
    """Heddle's recipe, with learnt durations, or with the trace's estimates if the setting gives them."""
    return Masters(run, HEDDLE_ESTIMATES if run.setting.uses_estimates else HEDDLE).simulate()
