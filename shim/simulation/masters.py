"""The production masters in simulated time: Global and Local Masters exchange their real messages over the network.

A message takes one hop, a verified task reaches its node after one more, and an ended task is known to its Local
Master at once, as in the public simulator of Megha. A job belongs to the Global Master whose number is its task count
modulo the number of Global Masters: that simulator's rule, which stands for "a queue belongs to one Global Master".
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from shim.domain.ids import GlobalMasterId, LocalMasterId
from shim.domain.messages import (
    Bid,
    Launch,
    LaunchRequest,
    LocalMasterReport,
    Need,
    ReportRequest,
)
from shim.global_master import events as gm_events
from shim.global_master.machine import GlobalMaster
from shim.global_master.recipe import Recipe
from shim.local_master import events as lm_events
from shim.local_master.machine import LocalMaster
from shim.policies.heddle import HEDDLE, HEDDLE_ESTIMATES
from shim.policies.megha import MEGHA
from shim.simulation.results import Outcome
from shim.simulation.run import Run
from shim.simulation.traces import Job

__all__ = ["Masters", "heddle", "megha"]

_SLOT = (1,)
_TICK_S = 1.0

_HEADER_BYTES = 40
_ITEM_BYTES = 24
"""A message's frame and one launch, verdict, node or offer in msgpack with small integers, rounded up."""


@cache
def _property_of(bit: int) -> str:
    return f"c{bit}"


@cache
def _properties_of(bits: int) -> frozenset[str]:
    return frozenset(_property_of(bit) for bit in range(bits.bit_length()) if bits >> bit & 1)


@cache
def _need_of(bits: int) -> Need:
    return Need(_SLOT, _properties_of(bits))


def _request_bytes(message: LaunchRequest | Bid | ReportRequest) -> int:
    if isinstance(message, LaunchRequest):
        lines = len(message.bid.lines) if message.bid else 0
        items = len(message.launches) + len(message.declined) + len(message.starts) + len(message.cancels) + lines
        return _HEADER_BYTES + _ITEM_BYTES * items
    return _HEADER_BYTES + (_ITEM_BYTES * len(message.lines) if isinstance(message, Bid) else 0)


def _report_bytes(report: LocalMasterReport) -> int:
    items = len(report.nodes) + len(report.rejected) + len(report.ended) + len(report.offers) + len(report.running)
    return _HEADER_BYTES + _ITEM_BYTES * items


_REQUEST_KINDS = {LaunchRequest: "launch-request", Bid: "bid", ReportRequest: "report-request"}


class Masters:
    """Global and Local Masters wired to one run."""

    def __init__(self, run: Run, recipe: Recipe) -> None:
        self._run = run
        self._recipe = recipe
        setting = run.setting
        self._gm_ids = [GlobalMasterId(f"gm{index}") for index in range(setting.n_gms)]
        self.global_masters: dict[GlobalMasterId, GlobalMaster] = {
            name: GlobalMaster(name, recipe, n_resources=1, rng=run.rng(name)) for name in self._gm_ids
        }
        self.local_masters: dict[LocalMasterId, LocalMaster] = {
            LocalMasterId(f"lm{index}"): self._local_master(LocalMasterId(f"lm{index}"), workers)
            for index, workers in enumerate(_ranges(setting.n_workers, setting.n_lms))
        }

    def _local_master(self, name: LocalMasterId, workers: range) -> LocalMaster:
        setting = self._run.setting
        bits = setting.worker_constraints
        nodes = [
            lm_events.NodeSpec((setting.slots_per_worker,), _properties_of(bits[worker]) if bits else frozenset())
            for worker in workers
        ]
        offers = self._recipe.commitment.bids
        return LocalMaster(name, nodes, self._gm_ids, n_resources=1, offers_freed=offers)

    def simulate(self) -> Outcome:
        """Run the whole workload."""
        run = self._run
        for master in self.global_masters.values():
            self._execute(master.handle(gm_events.LocalMastersFound(run.engine.now_s, tuple(self.local_masters))))
        run.engine.run(run.engine.now_s + 2 * run.setting.hop_s)
        for name in self.local_masters:
            run.engine.after(run.setting.heartbeat_s, self._heartbeat, name)
        run.start_arrivals(self._arrive)
        run.engine.run()
        outcome = run.outcome(self._recipe.name, uses_estimates=run.setting.uses_estimates)
        for master in self.global_masters.values():
            for kind, number in master.counters.inconsistencies.items():
                outcome.inconsistencies[kind.value] += number
            outcome.repartitions += master.counters.repartitions
        return outcome

    def _arrive(self, job: Job) -> None:
        name = self._gm_ids[job.n_tasks % len(self._gm_ids)]
        event = gm_events.JobSubmitted(self._run.engine.now_s, _request_of(job))
        self._execute(self.global_masters[name].handle(event))

    def _heartbeat(self, name: LocalMasterId) -> None:
        if self._run.ledger.is_done:
            return
        self._obey(name, self.local_masters[name].handle(lm_events.HeartbeatDue(self._run.engine.now_s)))
        self._run.engine.after(self._run.setting.heartbeat_s, self._heartbeat, name)

    def _execute(self, effects: Sequence[gm_events.Effect]) -> None:
        """Carry out a Global Master's effects."""
        network = self._run.network
        for effect in effects:
            if isinstance(effect, gm_events.SendMessage):
                message = effect.message
                kind = _REQUEST_KINDS[type(message)]
                network.send(kind, self._to_local_master, effect.to, message, size_bytes=_request_bytes(message))

    def _obey(self, name: LocalMasterId, effects: Sequence[lm_events.Effect]) -> None:
        """Carry out a Local Master's effects."""
        run = self._run
        for effect in effects:
            if isinstance(effect, lm_events.SendReport):
                report = effect.report
                kind, size = report.occasion.value, _report_bytes(report)
                run.network.send(kind, self._to_global_master, effect.to, report, size_bytes=size)
            elif isinstance(effect, lm_events.StartTask):
                run.engine.after(run.setting.hop_s, self._start, name, effect.global_master, effect.launch)

    def _to_local_master(self, name: LocalMasterId, message: LaunchRequest | Bid | ReportRequest) -> None:
        event = lm_events.MessageReceived(self._run.engine.now_s, message)
        self._obey(name, self.local_masters[name].handle(event))

    def _to_global_master(self, name: GlobalMasterId, report: LocalMasterReport) -> None:
        event = gm_events.ReportReceived(self._run.engine.now_s, report)
        self._execute(self.global_masters[name].handle(event))

    def _start(self, name: LocalMasterId, global_master: GlobalMasterId, launch: Launch) -> None:
        engine = self._run.engine
        duration_s = self._run.ledger.start(int(launch.task.job), launch.task.index, engine.now_s)
        engine.after(duration_s, self._end, name, global_master, launch)

    def _end(self, name: LocalMasterId, global_master: GlobalMasterId, launch: Launch) -> None:
        now_s = self._run.engine.now_s
        self._run.ledger.end(int(launch.task.job), launch.task.index, now_s)
        event = lm_events.TaskEnded(now_s, global_master, launch.number)
        self._obey(name, self.local_masters[name].handle(event))


def _ranges(n_workers: int, n_lms: int) -> list[range]:
    """Contiguous ranges of workers, one for each Local Master; sizes differ by at most one."""
    bounds = [n_workers * index // n_lms for index in range(n_lms + 1)]
    return [range(start, end) for start, end in pairwise(bounds)]


def _request_of(job: Job) -> gm_events.JobRequest:
    """A job as its Global Master sees it: no duration is in it."""
    if not job.constraints:
        groups: tuple[gm_events.TaskGroup, ...] = (gm_events.TaskGroup(_need_of(0), tuple(range(job.n_tasks))),)
    else:
        by_bits: defaultdict[int, list[int]] = defaultdict(list)
        for index, bits in enumerate(job.constraints):
            by_bits[bits].append(index)
        groups = tuple(gm_events.TaskGroup(_need_of(bits), tuple(indices)) for bits, indices in by_bits.items())
    return gm_events.JobRequest(str(job.index), groups, estimate_s=job.estimate_s)


def megha(run: Run) -> Outcome:
    """Megha as published."""
    return Masters(run, MEGHA).simulate()


def heddle(run: Run) -> Outcome:
    """Heddle's recipe, with learnt durations, or with the trace's estimates if the setting gives them."""
    return Masters(run, HEDDLE_ESTIMATES if run.setting.uses_estimates else HEDDLE).simulate()
