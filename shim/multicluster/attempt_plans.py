"""The way between the ledger of one attempt, and the cycles of its queue and Local Masters."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from shim.domain.allocations import AskKey, RequestPlan
from shim.domain.ids import SubClusterId
from shim.domain.launches import ContainerKind, LaunchNews, LaunchVerdict, Verdict
from shim.domain.wishes import WorkLeft
from shim.errors import InvariantViolationError
from shim.multicluster.core import LedgerEvent
from shim.multicluster.core.events import (
    AllocationsExpired,
    AllocationsVerified,
    ContainerBegan,
    ContainerEnded,
    ContainerGranted,
    ExpiredAllocation,
    LeftQueue,
    PlanEffect,
    Planned,
    Propose,
    PublishRequests,
    SettleAllocation,
)
from shim.peers.launches import LaunchService
from shim.ports.attempt_calls import Attempt
from shim.ports.clock import Clock
from shim.scheduling.queue_table import QueueTable

_Queues = tuple[frozenset[SubClusterId], Mapping[SubClusterId, int], bool]
"""Sub-clusters whose schedulers may be asked without a tentative allocation, for how many, and whether all for all."""


def _queues_by(plan: RequestPlan) -> _Queues:
    return plan.may_queue, plan.at_most, plan.is_late_bound


class CyclesOfQueues(Protocol):
    """The cycles that attempts take part in; implemented by `QueueCycles`."""

    launches: LaunchService
    clock: Clock

    def is_due(self, queue: str) -> None:
        """Note a change that a cycle of the queue could act on."""

    def has_more(self) -> None:
        """Capacity came free that no queue's cycle has looked at."""

    def plan_alone(self, plans: "AttemptPlans") -> tuple[RequestPlan, ...]:
        """Plan what one attempt asks for by itself, between two cycles."""
        ...

    def leave(self, attempt: Attempt) -> None:
        """Take an attempt out: it wants nothing any more."""


@dataclass(slots=True)
class _Live:
    """A tentative allocation by the number that Local Masters know it by.

    Attributes:
        accepted: How many of its containers the Local Master has accepted, as far as is known.
        withdrawn: How many of them nobody waits for any more.
    """

    number: int
    accepted: int
    withdrawn: int = 0


class AttemptPlans:
    """Carries out what the ledger of one attempt wants of its queue's cycle and of Local Masters.

    Made by `QueueCycles.enter`.
    """

    def __init__(
        self,
        cycles: CyclesOfQueues,
        table: QueueTable,
        attempt: Attempt,
        queue_at: Callable[[SubClusterId], str | None],
        tell: Callable[[LedgerEvent], None],
    ) -> None:
        self.attempt = attempt
        self.latest: dict[AskKey, RequestPlan] = {}
        self._cycles = cycles
        self._table = table
        self._queue_at = queue_at
        self._tell = tell
        self._live: dict[tuple[SubClusterId, int], _Live] = {}
        self._own: dict[tuple[SubClusterId, int], int] = {}
        self._queues: dict[SubClusterId, str] = {}

    # ------------------------------------------------------------------ what the ledger wants

    def carry_out(self, effect: PlanEffect) -> Sequence[LedgerEvent]:
        """Do what an effect says; return what the ledger is to be told at once."""
        table, id_, now_s = self._table, self.attempt.id, self._cycles.clock.now_s()
        match effect:
            case PublishRequests():
                return self._publish(effect)
            case Propose():
                return self._propose(effect)
            case SettleAllocation():
                self._settle(effect)
            case ContainerGranted(subcluster, key, is_unplanned):
                table.granted(id_, subcluster, now_s)
                if is_unplanned:
                    self._cycles.launches.took(subcluster, str(id_), self._kind(subcluster, key, ()))
            case ContainerBegan(container, since_s, resource, spot):
                table.began(id_, container, now_s if since_s is None else min(since_s, now_s), resource, spot)
            case ContainerEnded(container, is_whole):
                table.ended(id_, container, now_s, is_whole=is_whole)
            case LeftQueue():
                table.leave(id_)
                self._cycles.leave(self.attempt)
            case _:
                raise InvariantViolationError(f"no cycle knows what {effect} means")
        return ()

    def work_left(self) -> WorkLeft | None:
        """Return what is left of its containers, as far as it was learnt."""
        return self._table.work_left(self.attempt.id)

    def heard(self) -> None:
        """The ApplicationMaster calls: it would take a container."""
        self._table.heard(self.attempt.id, self._cycles.clock.now_s())

    def _publish(self, effect: PublishRequests) -> Sequence[LedgerEvent]:
        self._table.put(self.attempt.id, effect.requests, effect.dropped, self._cycles.clock.now_s())
        for key in effect.dropped:
            self.latest.pop(key, None)
        self._cycles.is_due(self.attempt.queue)
        if not effect.is_urgent:
            return ()
        plans = self._cycles.plan_alone(self)
        self.latest |= {plan.key: plan for plan in plans}
        return (Planned(plans),)

    def _propose(self, effect: Propose) -> Sequence[LedgerEvent]:
        kind = self._kind(effect.subcluster, effect.key, effect.places)
        launches, holder = self._cycles.launches, str(self.attempt.id)
        number, verdict = launches.propose(effect.subcluster, holder, kind, effect.count, self._judge)
        self._live[effect.subcluster, effect.number] = _Live(number, effect.count)
        self._own[effect.subcluster, number] = effect.number
        return () if verdict is None else (self._verified([verdict]),)

    def _settle(self, effect: SettleAllocation) -> None:
        live = self._live.get((effect.subcluster, effect.number))
        if live is not None:
            news = LaunchNews(live.number, effect.honoured, effect.withdrawn)
            self._cycles.launches.tell(effect.subcluster, news)
            if effect.withdrawn > live.withdrawn:
                live.withdrawn = effect.withdrawn
                self._cycles.has_more()
            if effect.honoured + effect.withdrawn >= live.accepted:
                self._forget(effect.subcluster, effect.number)

    def _forget(self, subcluster: SubClusterId, own: int) -> None:
        live = self._live.pop((subcluster, own))
        self._own.pop((subcluster, live.number), None)

    # ------------------------------------------------------------------ what cycles and Local Masters say

    def hear(self, plans: tuple[RequestPlan, ...]) -> None:
        """A cycle has run: the ledger hears of plans that change what it asks for."""
        changed = tuple(plan for plan in plans if plan.starts or self._queues_of(plan.key) != _queues_by(plan))
        self.latest |= {plan.key: plan for plan in plans}
        if changed:
            self._tell(Planned(changed))

    def expire(self) -> None:
        """Tell the ledger of tentative allocations that stand no more."""
        lost = self._cycles.launches.lost
        expired = tuple(
            ExpiredAllocation(subcluster, own, count)
            for (subcluster, own), live in self._live.items()
            if (count := lost(subcluster, live.number))
        )
        if expired:
            self._tell(AllocationsExpired(expired))

    def _queues_of(self, key: AskKey) -> _Queues | None:
        known = self.latest.get(key)
        return None if known is None else _queues_by(known)

    def _judge(self, verdicts: Sequence[LaunchVerdict]) -> None:
        """Verdicts that were not there at once; a rejection is an event of the next cycle."""
        self._tell(self._verified(verdicts))
        self._cycles.is_due(self.attempt.queue)

    def _verified(self, verdicts: Sequence[LaunchVerdict]) -> AllocationsVerified:
        """Verdicts by the ledger's own numbers; of what nobody waits for any more there is nothing to say."""
        told: list[LaunchVerdict] = []
        for verdict in verdicts:
            own = self._own.get((verdict.subcluster, verdict.number))
            if own is None:
                continue
            told.append(replace(verdict, number=own))
            live = self._live[verdict.subcluster, own]
            if verdict.verdict is not Verdict.UNVERIFIED:
                live.accepted = min(live.accepted, verdict.accepted)
            if not live.accepted:
                self._forget(verdict.subcluster, own)
        return AllocationsVerified(tuple(told))

    def _kind(self, subcluster: SubClusterId, key: AskKey, places: tuple[str, ...]) -> ContainerKind:
        return ContainerKind(self._queue(subcluster), key.resource, key.label, places)

    def _queue(self, subcluster: SubClusterId) -> str:
        queue = self._queues.get(subcluster) or self._queue_at(subcluster) or ""
        if queue:
            self._queues[subcluster] = queue
        return queue
