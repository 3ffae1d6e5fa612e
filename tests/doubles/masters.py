"""Global and Local Masters with a post room between them that loses, repeats, delays and reorders on demand.

Nothing here has a clock or chance of its own: the test moves time, picks the letter that is delivered next, and ends
tasks.
"""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from shim.domain.ids import GlobalMasterId, LocalMasterId
from shim.domain.messages import Bid, EndingKind, Launch, LaunchRequest, LocalMasterReport, ReportRequest, TaskRef
from shim.errors import InvariantViolationError
from shim.scheduling.global_master import events as gm_events
from shim.scheduling.global_master.machine import GlobalMaster
from shim.scheduling.local_master import events as lm_events
from shim.scheduling.local_master.machine import LocalMaster
from shim.scheduling.policy import Policy

_MOST_LETTERS = 2_000
"""More than any exchange needs: masters that go on for longer answer each other for ever."""

Message = LaunchRequest | Bid | ReportRequest | LocalMasterReport


@dataclass(frozen=True, slots=True)
class Letter:
    """A message on its way to a master of that name."""

    to: str
    message: Message


@dataclass(slots=True)
class Federation:
    """Masters, letters on their way, and the nodes that run tasks.

    Attributes:
        letters: On their way, oldest first.
        running: Tasks that run: the launch, its Local Master and its Global Master.
        starts: How often each task was started, less the times it was taken back.
        log: Every event that a master was given and the effects that it answered with.
    """

    policy: Policy
    n_resources: int
    seed: int = 1
    now_s: float = 0.0
    letters: list[Letter] = field(default_factory=list)
    global_masters: dict[str, GlobalMaster] = field(default_factory=dict)
    local_masters: dict[str, LocalMaster] = field(default_factory=dict)
    running: dict[tuple[str, int], tuple[Launch, str]] = field(default_factory=dict)
    starts: Counter[TaskRef] = field(default_factory=Counter)
    finished: set[TaskRef] = field(default_factory=set)
    incarnations: Counter[str] = field(default_factory=Counter)
    shares: dict[str, float] = field(default_factory=dict)
    log: list[tuple[str, object, list[object]]] = field(default_factory=list)

    def add_local_master(self, name: str, nodes: Sequence[lm_events.NodeSpec], global_masters: Sequence[str]) -> None:
        """Start the Local Master of a cluster."""
        self.local_masters[name] = LocalMaster(
            LocalMasterId(name),
            nodes,
            [GlobalMasterId(owner) for owner in global_masters],
            n_resources=self.n_resources,
            commitment=self.policy.commitment,
        )

    def start_global_master(self, name: str) -> None:
        """Start a Global Master, or a new life of it: everything that the old one knew is gone."""
        self.incarnations[name] += 1
        self.global_masters[name] = GlobalMaster(
            GlobalMasterId(name),
            self.policy,
            n_resources=self.n_resources,
            rng=random.Random(f"{self.seed}/{name}/{self.incarnations[name]}"),  # noqa: S311 - repeatable on purpose
            incarnation=self.incarnations[name],
            queue_shares=self.shares,
        )
        found = gm_events.LocalMastersFound(self.now_s, tuple(map(LocalMasterId, self.local_masters)))
        self.tell_global_master(name, found)

    def tell_global_master(self, name: str, event: gm_events.GlobalMasterEvent) -> list[gm_events.GlobalMasterEffect]:
        """Give an event to a Global Master and carry out its effects."""
        effects = self.global_masters[name].handle(event)
        self.log.append((name, event, list(effects)))
        for effect in effects:
            if isinstance(effect, gm_events.SendMessage):
                self.letters.append(Letter(effect.to, effect.message))
        return effects

    def tell_local_master(self, name: str, event: lm_events.LocalMasterEvent) -> list[lm_events.LocalMasterEffect]:
        """Give an event to a Local Master and carry out its effects."""
        effects = self.local_masters[name].handle(event)
        self.log.append((name, event, list(effects)))
        for effect in effects:
            if isinstance(effect, lm_events.SendReport):
                self.letters.append(Letter(effect.to, effect.report))
            elif isinstance(effect, lm_events.StartTask):
                self._start(name, effect)
            elif isinstance(effect, lm_events.StopTask):
                launch, _ = self.running.pop((effect.global_master, effect.number))
                self.starts[launch.task] -= 1
        return effects

    def _start(self, name: str, effect: lm_events.StartTask) -> None:
        task = effect.launch.task
        if self.starts[task]:
            raise InvariantViolationError(f"{task} was started twice")
        self.starts[task] += 1
        self.running[effect.global_master, effect.launch.number] = (effect.launch, name)

    def deliver(self, index: int = 0) -> None:
        """Deliver one of the letters that are on their way."""
        letter = self.letters.pop(index)
        if isinstance(letter.message, LocalMasterReport):
            self.tell_global_master(letter.to, gm_events.ReportReceived(self.now_s, letter.message))
        else:
            self.tell_local_master(letter.to, lm_events.MessageReceived(self.now_s, letter.message))

    def deliver_all(self) -> None:
        """Deliver letters in the order in which they were sent until none is on its way."""
        for _ in range(_MOST_LETTERS):
            if not self.letters:
                return
            self.deliver()
        raise InvariantViolationError(f"letters never end; the next one is {self.letters[0]}")

    def end_task(self, index: int = 0) -> None:
        """End one of the running tasks."""
        key = list(self.running)[index]
        launch, name = self.running.pop(key)
        self.finished.add(launch.task)
        self.tell_local_master(name, lm_events.TaskEnded(self.now_s, GlobalMasterId(key[0]), key[1]))

    def lose_node(self, name: str, node: int) -> None:
        """Take a node away; its tasks are lost."""
        for key, (launch, where) in list(self.running.items()):
            if (where, launch.node) == (name, node):
                del self.running[key]
                self.starts[launch.task] -= 1
        self.tell_local_master(name, lm_events.NodeChanged(self.now_s, node, None))

    def tick(self, seconds: float = 3.0) -> None:
        """Let time pass and everybody notice; Local Masters send heartbeats."""
        self.now_s += seconds
        for name in self.local_masters:
            self.tell_local_master(name, lm_events.LocalMasterTick(self.now_s))
            self.tell_local_master(name, lm_events.HeartbeatDue(self.now_s))
        for name in self.global_masters:
            self.tell_global_master(name, gm_events.GlobalMasterTick(self.now_s))

    def check(self) -> None:
        """Check what must hold at every moment.

        Raises:
            InvariantViolationError: If a master's books do not balance, or a node runs more than it has.
        """
        for global_master in self.global_masters.values():
            global_master.check_invariants()
        for name, local_master in self.local_masters.items():
            local_master.check_invariants()
            used = [[0] * self.n_resources for _ in range(len(local_master.truth))]
            for launch, where in self.running.values():
                if where == name:
                    for kind, amount in enumerate(launch.need.demand):
                        used[launch.node][kind] += amount
            for node, amounts in enumerate(used):
                capacity = local_master.truth.capacity[node]
                if any(amount > most for amount, most in zip(amounts, capacity, strict=True)):
                    raise InvariantViolationError(f"node {node} of {name} runs {amounts} of {capacity}")

    def ended_otherwise(self, task: TaskRef, kind: EndingKind) -> bool:
        """True if some report said that the task ended in that way."""
        return any(
            ending.task == task and ending.kind is kind
            for _, event, _ in self.log
            if isinstance(event, gm_events.ReportReceived)
            for ending in event.report.ended
        )
