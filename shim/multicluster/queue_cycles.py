"""Runs the cycles of the queues that this Global Master owns, and carries between them and the ledgers of attempts.

A queue's cycle runs when something changed that it could act on: a report, a row, a rejection; and at most every
`every_s`. What an ApplicationMaster newly asks for is planned at once by itself, within its call. The decisions are
those of `shim.scheduling`; here are the clock, the Local Masters and the names.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from shim.domain.allocations import AskKey
from shim.domain.deadlines import JobTimes, job_times
from shim.domain.ids import ApplicationAttemptId, ApplicationId, SubClusterId
from shim.domain.launches import ContainerKind, LaunchNews, LaunchVerdict
from shim.domain.requests import RequestPlan
from shim.domain.subclusters import SubClusterReport
from shim.domain.verdicts import Verdict
from shim.domain.work_left import WorkLeft
from shim.errors import HeddleError, InvariantViolationError
from shim.federation.core.federation_view import Applied, FederationView
from shim.multicluster.core import Event
from shim.multicluster.core.plan_events import (
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
from shim.scheduling.capacity import Capacity
from shim.scheduling.durations import DurationModel
from shim.scheduling.global_master.recurring_jobs import FormerRuns, RecurringJobModels, recurring_key
from shim.scheduling.placements import RandomSource
from shim.scheduling.queue_table import QueueTable

__all__ = ["AttemptPlans", "CycleSettings", "QueueCycles"]


@dataclass(frozen=True, slots=True)
class CycleSettings:
    """How cycles run.

    Attributes:
        every_s: From one cycle of a queue to the next, at least.
        starvation_s: An attempt that was overtaken for longer goes first.
    """

    every_s: float = 0.25
    starvation_s: float = 60.0


class QueueCycles:
    """The tables of all queues, and their cycles.

    Args:
        launches: Proposals to Local Masters, and what is believed of their books.
        order_of: The order of containers that a queue has now, by its full path.
        view: What is known of applications, by which recurring ones are recognised.
        clock: For the times that tables are told.
        rng: What policies draw from.
        settings: How cycles run.
        runs: Takes what runs of recurring jobs have taught; others may read it.

    Attributes:
        cycles: Cycles that were run.
    """

    def __init__(
        self,
        launches: LaunchService,
        order_of: Callable[[str], str],
        view: FederationView,
        clock: Clock,
        rng: RandomSource,
        settings: CycleSettings | None = None,
        runs: FormerRuns | None = None,
    ) -> None:
        self._runs = FormerRuns() if runs is None else runs
        self._rng = rng
        self.launches = launches
        self.clock = clock
        self.cycles = 0
        self._order_of = order_of
        self._view = view
        self._settings = settings or CycleSettings()
        self._everything = DurationModel()
        self._tables: dict[str, QueueTable] = {}
        self._attempts: dict[str, dict[ApplicationAttemptId, AttemptPlans]] = {}
        self._names: dict[str, Callable[[SubClusterId], str | None]] = {}
        self._due: dict[str, None] = {}
        self._has_more: set[str] = set()
        self._again_at_s: dict[str, float] = {}
        self._wake = asyncio.Event()

    # ------------------------------------------------------------------ who takes part

    def enter(
        self,
        attempt: Attempt,
        queue_at: Callable[[SubClusterId], str | None],
        tell: Callable[[Event], None],
    ) -> "AttemptPlans":
        """Let an attempt take part in the cycles of its queue.

        Args:
            attempt: Whose requests they are.
            queue_at: What a sub-cluster calls its queue; None if it has no such queue.
            tell: Takes plans and verdicts; their effects are carried out before it returns.
        """
        queue = attempt.queue
        if queue not in self._tables:
            self._tables[queue] = QueueTable(
                self._view.subclusters,
                self._settings.starvation_s,
                RecurringJobModels(self._everything, queue, self._runs),
                self._recurring_key,
                self._rng,
                self._times,
            )
        self._names[queue] = queue_at
        plans = AttemptPlans(self, self._tables[queue], attempt, queue_at, tell)
        self._attempts.setdefault(queue, {})[attempt.id] = plans
        return plans

    def leave(self, attempt: Attempt) -> None:
        """An attempt wants nothing any more: what it waited for is another's."""
        self._attempts.get(attempt.queue, {}).pop(attempt.id, None)
        self.is_due(attempt.queue)

    def _capacity(self, queue: str) -> Capacity:
        names = self._names[queue]
        return self.launches.capacity(lambda subcluster: names(subcluster) or "")

    def _recurring_key(self, application: ApplicationId) -> str:
        document = self._view.find(application)
        return "" if document is None else recurring_key(document.summary)

    def _times(self, application: ApplicationId) -> JobTimes | None:
        document = self._view.find(application)
        if document is None:
            return None
        told_ms = self._view.submitted_at_ms.get(application, document.summary.started_at_ms)
        return job_times(told_ms / 1000, document.summary.tags)

    # ------------------------------------------------------------------ when cycles run

    def reported(self, report: SubClusterReport, applied: Applied) -> None:  # noqa: ARG002 - the listener's signature
        """See `PollListener`: a report may show capacity that somebody waits for."""
        self.has_more()

    def failed(self, subcluster: SubClusterId, error: HeddleError) -> None:
        """See `PollListener`: nothing is known better."""

    def has_more(self) -> None:
        """Capacity came free that no queue's cycle has looked at."""
        for queue in self._tables:
            self._has_more.add(queue)
            self.is_due(queue)

    def is_due(self, queue: str) -> None:
        """Something changed that a cycle of the queue could act on."""
        if queue in self._tables and queue not in self._due:
            self._due[queue] = None
            self._wake.set()

    async def run(self) -> None:
        """Run cycles until cancelled."""
        while True:
            await self._something_due()
            self._wake.clear()
            due, self._due = self._due, {}
            for queue in due:
                self.cycle(queue)
            await self.clock.sleep(self._settings.every_s)

    async def _something_due(self) -> None:
        """Wait until something changed, or until the time of a request that waits on purpose is over."""
        while not self._wake.is_set():
            now_s = self.clock.now_s()
            for queue in [queue for queue, at_s in self._again_at_s.items() if at_s <= now_s]:
                del self._again_at_s[queue]
                self.is_due(queue)
            if not self._again_at_s:
                await self._wake.wait()
                return
            left_s = min(self._again_at_s.values()) - now_s
            waiting = [asyncio.ensure_future(each) for each in (self._wake.wait(), self.clock.sleep(left_s))]
            try:
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for each in waiting:
                    each.cancel()

    def cycle(self, queue: str) -> None:
        """One cycle of a queue: take back what stands no more, plan, and tell the attempts whose plan is another."""
        attempts, table = self._attempts.get(queue, {}), self._tables[queue]
        self._has_more.discard(queue)
        for each in tuple(attempts.values()):
            each.expire()
        if not table.is_waiting:
            return
        self.cycles += 1
        plans = table.plan(self._capacity(queue), self._order_of(queue), self.clock.now_s())
        self._again_at_s.pop(queue, None)
        if table.again_at_s is not None:
            self._again_at_s[queue] = table.again_at_s
        for attempt, told in plans.items():
            if attempt in attempts:
                attempts[attempt].hear(told)

    def plan_alone(self, plans: "AttemptPlans") -> tuple[RequestPlan, ...]:
        """Plan what one attempt asks for by itself, between two cycles.

        What others of the queue wait for goes first: they had their cycle, and what has come free since is the next
        cycle's to give.
        """
        queue = plans.attempt.queue
        now_s, id_ = self.clock.now_s(), plans.attempt.id
        is_stale = queue in self._has_more and self._tables[queue].others_wait(id_)
        capacity = None if is_stale else self._capacity(queue)
        return self._tables[queue].plan(capacity, self._order_of(queue), now_s, only=id_).get(id_, ())


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
        cycles: QueueCycles,
        table: QueueTable,
        attempt: Attempt,
        queue_at: Callable[[SubClusterId], str | None],
        tell: Callable[[Event], None],
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

    def carry_out(self, effect: PlanEffect) -> Sequence[Event]:
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
                table.granted(id_, now_s)
                if is_unplanned:
                    self._cycles.launches.took(subcluster, str(id_), self._kind(subcluster, key, ()))
            case ContainerBegan(container, since_s):
                table.began(id_, container, now_s if since_s is None else min(since_s, now_s))
            case ContainerEnded(container, is_whole):
                table.ended(id_, container, now_s, is_whole=is_whole)
            case LeftQueue():
                table.leave(id_)
                self._cycles.leave(self.attempt)
            case _:
                raise InvariantViolationError(f"no cycle knows what {effect} means")
        return ()

    def work_left(self) -> WorkLeft | None:
        """Tell what is left of its containers, as far as it was learnt."""
        return self._table.work_left(self.attempt.id)

    def heard(self) -> None:
        """The ApplicationMaster calls: it would take a container."""
        self._table.heard(self.attempt.id, self._cycles.clock.now_s())

    def _publish(self, effect: PublishRequests) -> Sequence[Event]:
        self._table.put(self.attempt.id, effect.requests, effect.dropped, self._cycles.clock.now_s())
        for key in effect.dropped:
            self.latest.pop(key, None)
        self._cycles.is_due(self.attempt.queue)
        if not effect.is_urgent:
            return ()
        plans = self._cycles.plan_alone(self)
        self.latest |= {plan.key: plan for plan in plans}
        return (Planned(plans),)

    def _propose(self, effect: Propose) -> Sequence[Event]:
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
        changed = tuple(plan for plan in plans if plan.starts or self._may_queue(plan.key) != plan.may_queue)
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

    def _may_queue(self, key: AskKey) -> frozenset[SubClusterId] | None:
        known = self.latest.get(key)
        return None if known is None else known.may_queue

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
