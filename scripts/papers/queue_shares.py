"""Queues with shares on Heddle's masters: who holds what while queues come one after another.

Every queue has more tasks than there are slots from the moment it comes. The first ones borrow everything; when a later
one comes, what it is entitled to is taken back from those that hold most above their share (Megha, algorithm 2).
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from shim.domain.ids import GlobalMasterId, LocalMasterId
from shim.domain.messages import Bid, Launch, LaunchRequest, LocalMasterReport, ReportRequest
from shim.domain.resources import Need
from shim.scheduling.global_master import events as gm_events
from shim.scheduling.global_master.machine import GlobalMaster
from shim.scheduling.local_master import events as lm_events
from shim.scheduling.local_master.machine import LocalMaster
from shim.scheduling.policies import MEGHA
from shim.scheduling.policy import Policy
from shim.simulation.engine import Engine, seeded

_SLOT = Need((1,))
_SAMPLE_S = 1.0
_TASKS_A_JOB = 50


@dataclass(frozen=True, slots=True)
class QueuePlan:
    """A queue: its share, when it comes, and which Global Master has it."""

    name: str
    share: float
    comes_s: float
    global_master: int


MEGHA_QUEUES = (
    QueuePlan("d", 0.50, 0.0, 0),
    QueuePlan("b", 0.25, 60.0, 1),
    QueuePlan("c", 0.15, 120.0, 2),
    QueuePlan("a", 0.10, 180.0, 2),
)
"""The four queues over three Global Masters of Megha's experiment."""


@dataclass(frozen=True, slots=True)
class ShareSetting:
    """Sizes and rules of a run."""

    queues: tuple[QueuePlan, ...] = MEGHA_QUEUES
    n_gms: int = 3
    n_lms: int = 4
    nodes_per_lm: int = 50
    heartbeat_s: float = 5.0
    hop_s: float = 0.0005
    task_s: float = 10.0
    horizon_s: float = 420.0
    seed: int = 1


@dataclass(slots=True)
class ShareOutcome:
    """Observations of a run.

    Attributes:
        samples: Time, and the part of all slots that each queue holds.
        preempted: Tasks that were taken back.
    """

    samples: list[tuple[float, dict[str, float]]] = field(default_factory=list)
    preempted: int = 0

    def mean_shares(self, from_s: float, until_s: float = math.inf) -> dict[str, float]:
        """Time averages."""
        chosen = [held for at_s, held in self.samples if from_s <= at_s < until_s]
        return {queue: sum(held[queue] for held in chosen) / len(chosen) for queue in chosen[0]}

    def settles_after_s(self, plan: QueuePlan, *, within: float = 0.02) -> float:
        """Time until a queue first held its share, in seconds; infinite if it never did."""
        found = (at_s - plan.comes_s for at_s, held in self.samples if held[plan.name] >= plan.share - within)
        return next((after_s for after_s in found if after_s >= 0), math.inf)


def run_queue_shares(setting: ShareSetting | None = None, policy: Policy = MEGHA) -> ShareOutcome:
    """Run the queues until the horizon."""
    return _Shares(setting or ShareSetting(), policy).run()


class _Shares:
    """Masters, wired to an engine."""

    def __init__(self, setting: ShareSetting, policy: Policy) -> None:
        self._setting = setting
        self._engine = Engine()
        self._durations = seeded(setting.seed, "durations")
        self._outcome = ShareOutcome()
        shares = {plan.name: plan.share for plan in setting.queues}
        names = [GlobalMasterId(f"gm{index}") for index in range(setting.n_gms)]
        self._gms = {
            name: GlobalMaster(
                name, policy, n_resources=1, rng=seeded(setting.seed, name), incarnation=1, queue_shares=shares
            )
            for name in names
        }
        nodes = [lm_events.NodeSpec((1,)) for _ in range(setting.nodes_per_lm)]
        self._lms = {
            LocalMasterId(f"lm{index}"): LocalMaster(
                LocalMasterId(f"lm{index}"), nodes, names, n_resources=1, commitment=policy.commitment
            )
            for index in range(setting.n_lms)
        }
        self._running: dict[tuple[GlobalMasterId, int], Launch] = {}
        self._jobs = 0
        self._ended: Counter[str] = Counter()
        self._plans = {plan.name: plan for plan in setting.queues}

    def run(self) -> ShareOutcome:
        """All of it."""
        for name in self._gms:
            self._tell(name, gm_events.LocalMastersFound(0.0, tuple(self._lms)))
        for index, local_master in enumerate(self._lms):
            first_s = self._setting.heartbeat_s * (index + 1) / len(self._lms)
            self._engine.after(first_s, self._heartbeat, local_master)
        for plan in self._setting.queues:
            self._engine.at(plan.comes_s + 0.1, self._come, plan)
        self._engine.at(_SAMPLE_S, self._sample)
        self._engine.run(until_s=self._setting.horizon_s)
        return self._outcome

    def _come(self, plan: QueuePlan) -> None:
        """Twice as many tasks as there are slots; as many as end are followed by others."""
        slots = self._setting.n_lms * self._setting.nodes_per_lm
        for _ in range(2 * slots // _TASKS_A_JOB):
            self._submit(plan)

    def _submit(self, plan: QueuePlan) -> None:
        self._jobs += 1
        job = f"{plan.name}{self._jobs}"
        groups = (gm_events.TaskGroup(_SLOT, tuple(range(_TASKS_A_JOB))),)
        request = gm_events.JobRequest(job, groups, queue=plan.name)
        master = GlobalMasterId(f"gm{plan.global_master % self._setting.n_gms}")
        self._tell(master, gm_events.JobSubmitted(self._engine.now_s, request))

    def _heartbeat(self, name: LocalMasterId) -> None:
        self._obey(name, self._lms[name].handle(lm_events.HeartbeatDue(self._engine.now_s)))
        self._engine.after(self._setting.heartbeat_s, self._heartbeat, name)

    def _sample(self) -> None:
        slots = self._setting.n_lms * self._setting.nodes_per_lm
        held = dict.fromkeys((plan.name for plan in self._setting.queues), 0.0)
        for launch in self._running.values():
            held[launch.queue] += 1 / slots
        self._outcome.samples.append((self._engine.now_s, held))
        self._engine.after(_SAMPLE_S, self._sample)

    def _tell(self, name: GlobalMasterId, event: gm_events.GlobalMasterEvent) -> None:
        for effect in self._gms[name].handle(event):
            if isinstance(effect, gm_events.SendMessage):
                self._engine.after(self._setting.hop_s, self._to_local_master, effect.to, effect.message)

    def _to_local_master(self, name: LocalMasterId, message: LaunchRequest | Bid | ReportRequest) -> None:
        self._obey(name, self._lms[name].handle(lm_events.MessageReceived(self._engine.now_s, message)))

    def _to_global_master(self, name: GlobalMasterId, report: LocalMasterReport) -> None:
        self._tell(name, gm_events.ReportReceived(self._engine.now_s, report))

    def _obey(self, name: LocalMasterId, effects: Sequence[lm_events.LocalMasterEffect]) -> None:
        for effect in effects:
            if isinstance(effect, lm_events.SendReport):
                self._engine.after(self._setting.hop_s, self._to_global_master, effect.to, effect.report)
            elif isinstance(effect, lm_events.StartTask):
                key = effect.global_master, effect.launch.number
                self._running[key] = effect.launch
                duration_s = self._durations.expovariate(1 / self._setting.task_s)
                self._engine.after(duration_s, self._end, name, key)
            elif isinstance(effect, lm_events.StopTask):
                self._outcome.preempted += 1
                del self._running[effect.global_master, effect.number]

    def _end(self, name: LocalMasterId, key: tuple[GlobalMasterId, int]) -> None:
        launch = self._running.pop(key, None)
        if launch is None:
            return  # it was taken back
        self._obey(name, self._lms[name].handle(lm_events.TaskEnded(self._engine.now_s, key[0], key[1])))
        self._ended[launch.queue] += 1
        if self._ended[launch.queue] % _TASKS_A_JOB == 0:
            self._submit(self._plans[launch.queue])
