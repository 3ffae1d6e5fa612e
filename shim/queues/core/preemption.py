"""Asks that are held back, and containers that are asked back, so that each queue gets its share while others run.

Idle capacity is borrowed freely. Only while a queue holds less than it is entitled to, and has work waiting that it
could have, those that hold more are made to give back, the largest violation first, in three stages:

    held back ──▶ asked back ──▶ demanded ──▶ released
    (the asks)        └──────────────┴──────▶ spared

Asks are held back at once; containers are asked back when that did not suffice for `preempt_after_s`. What is on its
way back counts as given, so that nothing is asked back twice. While a sub-cluster does not tell how it is, nothing
happens.

Source: Megha, algorithm 2; `PreemptionMessage` and the waits of YARN's ProportionalCapacityPreemptionPolicy.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, SubClusterId
from shim.domain.preemption import (
    AskingAttempt,
    HeldContainer,
    PreemptionSettings,
    PreemptionStage,
    QueueShare,
    ShareSnapshot,
)
from shim.domain.resources import ResourceVector
from shim.queues.core.preemption_effects import CapDemand, PreemptionEffect, Remind, Step
from shim.queues.core.preemption_memory import Begun, Memory, Taken
from shim.queues.core.preemption_sizes import (
    NOTHING,
    Fleet,
    easy,
    lacking,
    part_of,
    plenty,
    positive,
    smaller,
    total_of,
    within,
)

_MINUTE_S = 60.0
_MS = 1000
_WELL = "nobody else waits for its share any more"
_STALE = "a sub-cluster does not tell how it is: who waits for its share is not known"


class Preemption:
    """See the module. Mutate through `handle` only; it never reads a clock: the snapshot's moment is the time."""

    def __init__(self, settings: PreemptionSettings) -> None:
        self.settings = settings
        self._owed_since: dict[str, float] = {}
        self._idle: dict[str, tuple[float, ResourceVector]] = {}
        self._victims = Victims(self.settings.settle_s, self.settings.stuck_s)
        self._numbers = count()
        self._taken: dict[str, set[Taken]] = {}
        self._restrained: dict[ApplicationAttemptId, ResourceVector] = {}
        self._begun: dict[ContainerId, tuple[float, Begun]] = {}
        self._held_back: set[ApplicationId] = set()
        self._reminders: list[Remind] = []
        self._fresh_s = float("-inf")

    @property
    def victims(self) -> Mapping[ContainerId, PreemptionStage]:
        return {each.container.id: each.stage for each in self._victims.active()}

    @property
    def limits(self) -> Mapping[ApplicationAttemptId, ResourceVector]:
        return self._restrained

    @property
    def is_busy(self) -> bool:
        return bool(self._restrained or self._victims or self._begun or self._held_back)

    def recall(self, memory: Memory, at_s: float) -> None:
        """Go on with what an earlier process had begun, when the containers are seen; budgets count what it took."""
        self._begun |= {each.container: (at_s, each) for each in memory.begun if each.container not in self._victims}
        self._held_back |= memory.held_back
        for queue, taken in memory.taken.items():
            self._taken.setdefault(queue, set()).update(taken)

    def handle(self, now: ShareSnapshot) -> list[PreemptionEffect]:
        """Look at the federation; return what is to be done, in this order."""
        self._follow(now)
        if not now.is_fresh and now.at_s - self._fresh_s < self.settings.stale_s:
            return []
        owed = self._owed(now) if now.is_fresh else []
        effects: list[PreemptionEffect] = list(self._restrain(now, owed))
        if now.is_fresh:
            self._fresh_s = now.at_s
            effects += self._reminders
            self._reminders = []
            effects += self._spare(now)
            effects += self._advance(now)
            effects += self._choose(now, owed)
        return effects

    def budget(self, now: ShareSnapshot) -> Mapping[str, int]:
        """Give how many containers of each queue may be asked back now."""
        return self._budget(now)

    def spend(self, queue: str, container: ContainerId, at_s: float) -> None:
        self._taken.setdefault(queue, set()).add((int(at_s * _MS), container))

    # -- what is known -----------------------------------------------------------------------------------------------

    def _follow(self, now: ShareSnapshot) -> None:
        for each in now.containers:
            if each.id in self._begun:
                self._go_on(each, self._begun.pop(each.id)[1], now.at_s)
        self._begun = {
            name: known for name, known in self._begun.items() if now.at_s - known[0] < self.settings.stuck_s
        }
        self._victims.follow(now)

    def _go_on(self, held: HeldContainer, begun: Begun, at_s: float) -> None:
        """Release once more what was released and still is there."""
        self._victims.add(Victim(held, begun.taker, begun.room, held.subcluster, begun.since_s, at_s, begun.stage))
        self._reminders.append(Remind(held, begun.stage))

    def _owed(self, now: ShareSnapshot) -> list[QueueShare]:
        """Queues below their entitlement with work that they could have, the largest violation first."""
        found = [
            queue for queue in now.queues if within(queue, now.capacity) and not self._leaves_it_idle(queue, now.at_s)
        ]
        paths = {queue.path for queue in found}
        self._owed_since = {path: since for path, since in self._owed_since.items() if path in paths}
        for path in paths:
            self._owed_since.setdefault(path, now.at_s)
        return sorted(
            found, key=lambda queue: (-(queue.entitled - queue.used).dominant_share_of(now.capacity), queue.path)
        )

    def _leaves_it_idle(self, queue: QueueShare, at_s: float) -> bool:
        """True if there has been room for everything that the queue waits for, and it did not take it."""
        with_room = easy(queue)
        has_room = all(with_room[name] >= work.count for name, work in queue.waiting.items())
        known = self._idle.get(queue.path)
        if not has_room:
            self._idle.pop(queue.path, None)
            return False
        if known is None or known[1] != queue.used:
            self._idle[queue.path] = (at_s, queue.used)
            return False
        return at_s - known[0] >= self.settings.idle_s

    # -- the first stage ---------------------------------------------------------------------------------------------

    def _restrain(self, now: ShareSnapshot, owed: list[QueueShare]) -> Iterable[CapDemand]:
        """Give each attempt what its queue may still have; who came first goes first."""
        room = {queue.path: self._room(now, queue, owed) for queue in now.queues}
        before, self._restrained = self._restrained, {}
        for attempt in sorted(now.attempts, key=lambda each: each.id):
            left = room.get(attempt.queue)
            is_known = attempt.id in before or attempt.id.application in self._held_back
            self._held_back.discard(attempt.id.application)
            if left is None or not _competes(attempt, owed):
                if is_known:
                    yield CapDemand(attempt.id, None, _WELL if now.is_fresh else _STALE)
                continue
            amount = smaller(left, attempt.wants)
            room[attempt.queue] = left - amount
            self._restrained[attempt.id] = amount
            reason = "" if is_known else self._why_held_back(now, attempt, owed)
            yield CapDemand(attempt.id, amount, reason)

    @staticmethod
    def _room(now: ShareSnapshot, queue: QueueShare, owed: list[QueueShare]) -> ResourceVector | None:
        if not queue.may_be_taken_from or all(other.path == queue.path for other in owed):
            return None
        fresh = total_of(
            each.resource
            for each in now.containers
            if each.queue == queue.path and each.since_s >= now.as_of(each.subcluster)
        )  # granted since the reports
        return positive(queue.entitled - queue.used - fresh) + plenty(now.capacity)

    @staticmethod
    def _why_held_back(now: ShareSnapshot, attempt: AskingAttempt, owed: list[QueueShare]) -> str:
        queue = next(each for each in now.queues if each.path == attempt.queue)
        waiting = [other.path for other in owed if other.path != queue.path]
        wait = "waits for its share" if len(waiting) == 1 else "wait for their shares"
        return f"{_standing(now, queue)}, while {' and '.join(waiting)} {wait}"

    # -- the others --------------------------------------------------------------------------------------------------

    def _spare(self, now: ShareSnapshot) -> Iterable[Step]:
        """Spare the dearest victims where whoever waited needs less, or a queue would fall below its entitlement."""
        queues = {queue.path: queue for queue in now.queues}
        for each in self._victims.dearest(now.at_s):
            giver = queues.get(each.container.queue)
            if each.container.id in self._victims and (giver is None or not giver.may_be_taken_from):
                yield from self._spare_group(each.group, now, f"nothing is taken from {each.container.queue} any more")
        for taker in sorted({each.taker for each in self._victims.active()}):
            queue = queues.get(taker)
            needed = 0 if queue is None else sum(lacking(queue, now.capacity, {}).values())
            surplus = sum(self._victims.coming(taker, now.at_s, with_gone=False).values()) - needed
            groups = [each.group for each in self._victims.dearest(now.at_s) if each.taker == taker]
            for group in tuple(dict.fromkeys(groups))[: max(0, surplus)]:
                yield from self._spare_group(group, now, f"{taker} has its share, or waits no more")
        for queue in now.queues:
            for each in self._victims.dearest(now.at_s):
                left = queue.used - self._victims.leaving(now).get(queue.path, NOTHING)
                is_mine = each.container.queue == queue.path and each.container.id in self._victims
                if is_mine and _is_below(left, queue, now):
                    yield from self._spare_group(each.group, now, f"{_standing(now, queue)}: no more than that")

    def _spare_group(self, group: str, now: ShareSnapshot, reason: str) -> Iterable[Step]:
        for each in [each for each in self._victims.dearest(now.at_s) if each.group == group]:
            self._victims.remove(each.container.id)
            yield Step(each.container, PreemptionStage.SPARED, each.taker, reason, group)

    def _advance(self, now: ShareSnapshot) -> Iterable[Step]:
        """One stage at a time, when it is due."""
        grace_s = self.settings.preempt_grace_s
        for each in self._victims.active():
            waited_s = now.at_s - each.since_s
            if each.stage is PreemptionStage.ASKED and waited_s >= grace_s / 2:
                stage, reason = PreemptionStage.DEMANDED, f"not given back in {waited_s:.0f} s"
            elif each.stage is PreemptionStage.DEMANDED and waited_s >= grace_s:
                stage, reason = (
                    PreemptionStage.RELEASED,
                    f"not given back in {waited_s:.0f} s, of {grace_s:g} s grace",
                )
            else:
                continue
            each.stage, each.changed_s = stage, now.at_s
            said = f"{reason}, while {each.taker} waits for its share"
            yield Step(each.container, stage, each.taker, said, each.group)

    def _choose(self, now: ShareSnapshot, owed: list[QueueShare]) -> Iterable[Step]:
        """Ask back what is still lacking, container by container, within the budgets."""
        due = [queue for queue in owed if now.at_s - self._owed_since[queue.path] >= self.settings.preempt_after_s]
        budget = self._budget(now)
        givers = {path for path, left in budget.items() if left}
        takeable = [
            each
            for each in (now.containers if due else ())
            if each.is_given and not each.is_master and each.id not in self._victims and each.queue in givers
        ]
        fleet = Fleet(now, takeable, self._victims.leaving(now))
        for queue in due:
            while True:
                places = lacking(queue, now.capacity, self._victims.coming(queue.path, now.at_s, with_gone=True))
                plans = [
                    (name, at, plan)
                    for name in sorted(places)
                    for at in self._could_be(queue, name)
                    if (plan := fleet.choose(part_of(queue.waiting[name].unit, now.capacity), queue.path, at, budget))
                ]
                if not plans:
                    break
                name, _, plan = min(plans, key=lambda item: (_own(item[2]), *fleet.cost(item[2]), item[0] != item[1]))
                fleet.take(plan)
                yield from self._ask_back(now, queue, name, plan, budget)

    def _could_be(self, queue: QueueShare, name: SubClusterId) -> list[SubClusterId]:
        """Sub-clusters where a container that waits may be had: there, or where fewer move to than could."""
        moving = self._victims.moving(queue.path, name)
        others = sorted(at for at, most in queue.waiting[name].elsewhere.items() if most > moving.get(at, 0))
        return [name, *others]

    def _ask_back(
        self,
        now: ShareSnapshot,
        queue: QueueShare,
        at: SubClusterId,
        plan: tuple[HeldContainer, ...],
        budget: dict[str, int],
    ) -> Iterable[Step]:
        at_ms = int(now.at_s * _MS)
        group = f"{at_ms}.{next(self._numbers)}"  # no process names another so
        shares = {each.path: each for each in now.queues}
        for held in plan:
            budget[held.queue] -= 1
            self._taken.setdefault(held.queue, set()).add((at_ms, held.id))
            self._victims.add(Victim(held, queue.path, group, at, now.at_s, now.at_s))
            waited_s = now.at_s - self._owed_since[queue.path]
            reason = f"{_standing(now, shares[held.queue])}; {_standing(now, queue)} and has waited {waited_s:.0f} s"
            yield Step(held, PreemptionStage.ASKED, queue.path, reason, group)

    def _budget(self, now: ShareSnapshot) -> dict[str, int]:
        """Number of containers of each queue that may be asked back now."""
        left = {}
        for queue in now.queues:
            taken = self._taken.get(queue.path, set())
            self._taken[queue.path] = {each for each in taken if now.at_s - each[0] / _MS < _MINUTE_S}
            most = queue.budget if queue.may_be_taken_from else 0
            left[queue.path] = max(0, most - len(self._taken[queue.path]))
        return left


def _own(plan: tuple[HeldContainer, ...]) -> bool:
    """True if a container goes that was not lent."""
    return not all(each.is_lent for each in plan)


def _competes(attempt: AskingAttempt, owed: Iterable[QueueShare]) -> bool:
    return any(not attempt.places.isdisjoint(queue.waiting) for queue in owed if queue.path != attempt.queue)


def _is_below(left: ResourceVector, queue: QueueShare, now: ShareSnapshot) -> bool:
    rounding = 1e-9
    return left.dominant_share_of(now.capacity) < queue.entitled.dominant_share_of(now.capacity) - rounding


def _standing(now: ShareSnapshot, queue: QueueShare) -> str:
    holds, entitled = (each.dominant_share_of(now.capacity) for each in (queue.used, queue.entitled))
    return f"queue {queue.path} holds {holds:.0%} of the federation and is entitled to {entitled:.0%}"


# Containers that are on their way back, and what there is to know of them together.

_FINAL = frozenset({PreemptionStage.RELEASED, PreemptionStage.SPARED})


@dataclass(slots=True)
class Victim:
    """A container that is asked back.

    Attributes:
        group: Names what makes room for one container; the victims of a group are asked for together.
        at: Where that container waits, as far as is known; it may be had where its victims are.
        changed_s: When it entered its stage.
    """

    container: HeldContainer
    taker: str
    group: str
    at: SubClusterId
    since_s: float
    changed_s: float
    stage: PreemptionStage = PreemptionStage.ASKED
    gone_s: float | None = None


class Victims:
    """Each container that was asked back, until it has been gone for long enough.

    Args:
        settle_s: What has gone counts as on its way for this long, until reports show who has it now.
        stuck_s: A release that takes longer does not count as on its way any more.
    """

    def __init__(self, settle_s: float, stuck_s: float) -> None:
        self._settle_s = settle_s
        self._stuck_s = stuck_s
        self._all: dict[ContainerId, Victim] = {}

    def __len__(self) -> int:
        return len(self._all)

    def __contains__(self, container: ContainerId) -> bool:
        return container in self._all

    def add(self, victim: Victim) -> None:
        self._all[victim.container.id] = victim

    def remove(self, container: ContainerId) -> None:
        del self._all[container]

    def follow(self, now: ShareSnapshot) -> None:
        held = {each.id for each in now.containers}
        for name, victim in list(self._all.items()):
            if name in held:
                continue
            victim.gone_s = now.at_s if victim.gone_s is None else victim.gone_s
            if now.at_s - victim.gone_s >= self._settle_s:
                del self._all[name]

    def active(self) -> list[Victim]:
        return [each for each in self._all.values() if each.gone_s is None]

    def dearest(self, at_s: float) -> list[Victim]:
        """Victims that may still be spared, first those whose loss costs most."""
        standing = [each for each in self.active() if each.stage not in _FINAL]
        return sorted(standing, key=lambda each: (-_lost(each.container, at_s), each.container.id))

    def coming(self, taker: str, at_s: float, *, with_gone: bool) -> Mapping[SubClusterId, int]:
        """For how many containers of a queue room is being made, by the sub-cluster where they wait."""
        groups = {
            (each.at, each.group)
            for each in self._of(taker)
            if (with_gone or each.gone_s is None)
            and not (each.stage is PreemptionStage.RELEASED and at_s - each.changed_s >= self._stuck_s)
        }
        return Counter(name for name, _ in groups)

    def moving(self, taker: str, waits_at: SubClusterId) -> Mapping[SubClusterId, int]:
        """For how many of a queue's containers that wait on a sub-cluster room is being made elsewhere, by where."""
        groups = {
            (each.group, each.container.subcluster)
            for each in self._of(taker)
            if each.at == waits_at and each.container.subcluster != waits_at
        }
        return Counter(at for _, at in groups)

    def leaving(self, now: ShareSnapshot) -> Mapping[str, ResourceVector]:
        """Amounts on their way back from each queue that are in what the queue is said to use."""
        amounts: dict[str, ResourceVector] = {}
        for each in self._all.values():
            held = each.container
            if each.gone_s is None or each.gone_s >= now.as_of(held.subcluster):
                amounts[held.queue] = amounts.get(held.queue, NOTHING) + held.resource
        return amounts

    def _of(self, taker: str) -> Iterator[Victim]:
        return (each for each in self._all.values() if each.taker == taker)


def _lost(held: HeldContainer, at_s: float) -> float:
    """Work that is lost with a container; MiB-seconds."""
    return max(0.0, at_s - held.since_s) * held.resource.memory_mib
