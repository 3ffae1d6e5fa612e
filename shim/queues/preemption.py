"""Preemption at work: looks at who holds what, and has attempts hold back, give back, or be spared."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId
from shim.domain.preemption import PreemptionAct, PreemptionSettings, PreemptionStage, ShareSnapshot
from shim.domain.queues import SharePolicy
from shim.domain.resources import ResourceVector
from shim.federation.core.federation_view import FederationView
from shim.multicluster.core import DemandCap, PreemptionCancelled, PreemptionRequested, Recall, ReleaseOrder
from shim.multicluster.service import MultiClusterAttempt
from shim.ports.clock import Clock
from shim.queues.admission import AdmissionQueue
from shim.queues.core.lender_holds import LenderHolds, with_holds
from shim.queues.core.lent_recalls import LenderNeed, LentRecalls
from shim.queues.core.preemption import Preemption
from shim.queues.core.preemption_effects import CapDemand, PreemptionEffect, Remind, Step
from shim.queues.core.preemption_sizes import NOTHING
from shim.queues.preemption_log import PreemptionLog
from shim.queues.share_snapshot import FederationNow, RelayedAttempt, take_snapshot
from shim.telemetry.application_life import LifeEvent, tell

_log = structlog.get_logger("heddle.preemption")
_MS = 1000

_RECALLS: Mapping[PreemptionStage, Callable[[tuple[ContainerId, ...]], Recall]] = {
    PreemptionStage.ASKED: lambda containers: PreemptionRequested(containers, is_strict=False),
    PreemptionStage.DEMANDED: lambda containers: PreemptionRequested(containers, is_strict=True),
    PreemptionStage.RELEASED: ReleaseOrder,
    PreemptionStage.SPARED: PreemptionCancelled,
}


@dataclass(frozen=True, slots=True)
class PreemptionWorld:
    """Collaborators of preemption.

    Attributes:
        view: What is known of the sub-clusters.
        clock: The machine's.
        lent: Containers that jobs were lent by others of their queue.
        shares: What each job of such a queue may have by its share of it.
    """

    policy: Callable[[], SharePolicy]
    view: FederationView
    room: AdmissionQueue
    log: PreemptionLog
    clock: Clock
    interval_s: float
    lent: Callable[[], Collection[ContainerId]] = frozenset
    needs: Callable[[], Sequence[LenderNeed]] = tuple
    shares: Callable[[], Mapping[ApplicationAttemptId, ResourceVector]] = dict


class PreemptionService:
    """Looks, for ever. `run` does it until cancelled; `round` once."""

    def __init__(
        self, world: PreemptionWorld, spans: Callable[[], Sequence[MultiClusterAttempt]], settings: PreemptionSettings
    ) -> None:
        self._world = world
        self._spans = spans
        self._core = Preemption(settings)
        self._within = LentRecalls(settings)
        self._holds = LenderHolds(settings)
        self._seen_s: dict[ContainerId, float] = {}
        self._known: set[ApplicationId] = set()
        world.room.count_withheld(self._withheld)

    async def run(self) -> None:
        while True:
            await self.round()
            await self._world.clock.sleep(self._world.interval_s)

    async def round(self) -> None:
        """Look once, write down what is to be done, and do it."""
        has_begun = await self._world.log.begin()
        spans = {span.attempt.id: span for span in self._spans()}
        may_take = any(queue.preemptable for queue in self._world.policy().sharing)
        is_busy = self._core.is_busy or self._within.victims or self._holds.is_busy
        if not has_begun or not (may_take or is_busy):
            return
        at_s = self._world.clock.now_s()
        await self._recollect(spans, at_s)
        relayed = [
            RelayedAttempt(span.attempt, span.holdings)
            for attempt, span in spans.items()
            if attempt.application in self._known
        ]
        held = [each for one in relayed for each in one.holdings.held]
        self._seen_s = {each.id: self._seen_s.get(each.id, min(at_s, each.since_s or at_s)) for each in held}
        effects = self._decide(take_snapshot(self._now(at_s), relayed, self._seen_s, self._world.lent()))
        acts = [act for effect in effects if (act := _act(effect, spans, at_s)) is not None]
        await self._world.log.note(acts)
        for act in acts:
            _say(act)
        for effect in effects:
            _carry_out(effect, spans)

    def _decide(self, now: ShareSnapshot) -> list[PreemptionEffect]:
        """Decide on what is to be done within queues, and between them with what is left of the budgets."""
        needs = self._world.needs()
        steps = self._within.handle(now, needs, self._core.budget(now), self._core.victims)
        for step in steps:
            if step.stage is PreemptionStage.ASKED:
                self._core.spend(step.container.queue, step.container.id, now.at_s)
        holds = self._holds.handle(now, needs, self._world.shares(), self._within.lenders)
        taken = self._within.victims
        containers = tuple(replace(each, is_given=each.is_given and each.id not in taken) for each in now.containers)
        between = self._core.handle(replace(now, containers=containers) if taken else now)
        return with_holds([*steps, *between], self._core.limits, holds)

    async def _recollect(self, spans: Mapping[ApplicationAttemptId, MultiClusterAttempt], at_s: float) -> None:
        """Learn what an earlier Heddle had begun with applications; of one that is not known nothing is taken."""
        applications = {attempt.application for attempt in spans}
        self._known &= applications
        new = applications - self._known
        memory = await self._world.log.recall(sorted(new), int(at_s * _MS)) if new else None
        if memory is not None:
            self._core.recall(memory, at_s)
            self._known |= new

    def _now(self, at_s: float) -> FederationNow:
        world, policy = self._world, self._world.policy()
        return FederationNow(
            at_s=at_s,
            policy=policy,
            load=world.room.load(),
            division=world.room.division(),
            looks=[world.view.look(each, at_s) for each in world.view.subclusters],
            late=frozenset(world.view.late(at_s)),
        )

    def _withheld(self) -> Mapping[str, ResourceVector]:
        """Amounts that attempts want and no scheduler is asked for, by queue: reports do not show them."""
        amounts: dict[str, ResourceVector] = {}
        for span in self._spans():
            queue, withheld = span.attempt.queue, span.holdings.withheld
            amounts[queue] = amounts.get(queue, NOTHING) + withheld
        return amounts


def _act(
    effect: PreemptionEffect, spans: Mapping[ApplicationAttemptId, MultiClusterAttempt], at_s: float
) -> PreemptionAct | None:
    """Record of an effect; None where nothing new is done."""
    at_ms = int(at_s * _MS)
    match effect:
        case CapDemand(attempt, amount, reason) if reason:
            stage = PreemptionStage.HELD_BACK if amount is not None else None
            return PreemptionAct(at_ms, attempt.application, spans[attempt].attempt.queue, stage, reason)
        case Step(held, stage, taker, reason, room):
            application = held.id.attempt.application
            return PreemptionAct(at_ms, application, held.queue, stage, reason, held.id, held.subcluster, taker, room)
        case _:
            return None


def _carry_out(effect: PreemptionEffect, spans: Mapping[ApplicationAttemptId, MultiClusterAttempt]) -> None:
    match effect:
        case CapDemand(attempt, amount):
            spans[attempt].tell(DemandCap(amount))
        case Step(held, stage) | Remind(held, stage):
            span = spans.get(held.id.attempt) or _of_application(spans, held.id)
            if span is not None:
                span.tell(_RECALLS[stage]((held.id,)))


def _say(act: PreemptionAct) -> None:
    tell(
        LifeEvent.PREEMPTED,
        act.application,
        queue=act.queue,
        done=act.done,
        container="" if act.container is None else str(act.container),
        taker=act.taker,
        reason=act.reason,
    )


def _of_application(
    spans: Mapping[ApplicationAttemptId, MultiClusterAttempt], container: ContainerId
) -> MultiClusterAttempt | None:
    """A container of an earlier attempt that was kept belongs to the application's attempt of now."""
    application = container.attempt.application
    return next((span for attempt, span in spans.items() if attempt.application == application), None)
