"""Runs the cycles of the queues that this Global Master owns, and carries between them and the ledgers of attempts.

A queue's cycle runs when something changed that it could act on: a report, a row, a rejection; and at most every
`cycle_s`. What an ApplicationMaster newly asks for is planned at once by itself, within its call. The decisions are
those of `shim.scheduling`; here are the clock, the Local Masters and the names.

Policies in the shadow of queues' cycles: they plan on the same snapshots, and nothing of it is carried out.

Where such a policy asks a solver, that is another one than the cycles' own, and no cycle waits for it. When it has
answered, its plan is compared with what the policy in force had planned on the same snapshot.

The way between the ledger of one attempt, and the cycles of its queue and Local Masters.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from shim.domain.allocations import AskKey, RequestPlan
from shim.domain.ids import ApplicationAttemptId, ApplicationId, SubClusterId
from shim.domain.launches import ContainerKind, LaunchNews, LaunchVerdict, Verdict
from shim.domain.placement_rules import NO_RULES, PlacementRules
from shim.domain.subclusters import SubClusterReport
from shim.domain.wishes import JobTimes, WorkLeft, job_times
from shim.errors import HeddleError, InvariantViolationError
from shim.federation.core.federation_view import Applied, FederationView
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
from shim.multicluster.queue_solves import QueueSolves
from shim.peers.launches import LaunchService
from shim.ports.attempt_calls import Attempt
from shim.ports.clock import Clock
from shim.ports.solver import Solve
from shim.scheduling.capacity import Capacity
from shim.scheduling.durations import DurationModel, FormerRuns, RecurringJobModels, recurring_key
from shim.scheduling.job_outlines import OutlineOf
from shim.scheduling.placements import PolicyRandom
from shim.scheduling.policy import Fact
from shim.scheduling.queue_planner import QueuePlans
from shim.scheduling.queue_policies import asks_solver, is_solved_apart, queue_policy, shadow_rejection
from shim.scheduling.queue_table import QueueTable
from shim.scheduling.reading_costs import NOTHING_SHARED, DataRules
from shim.scheduling.shadow_plans import ShadowPlans
from shim.scheduling.shadow_report import ShadowReport
from shim.scheduling.tag_constraints import owed_by_newcomers

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

    def plan_alone(self, plans: "AttemptPlans") -> tuple[RequestPlan, ...]: ...

    def leave(self, attempt: Attempt) -> None:
        """Take an attempt out: it wants nothing any more."""


@dataclass(slots=True)
class _Live:
    """A tentative allocation by the number that Local Masters know it by.

    Attributes:
        accepted: How many of its containers the Local Master has accepted, as far as is known.
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
        self._holder = str(attempt.id)
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
                    self._cycles.launches.took(subcluster, self._holder, self._kind(subcluster, key, ()))
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
        launches = self._cycles.launches
        number, verdict = launches.propose(effect.subcluster, self._holder, kind, effect.count, self._judge)
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


@dataclass(frozen=True, slots=True)
class CycleSettings:
    """Settings of cycles.

    Attributes:
        cycle_s: From one cycle of a queue to the next, at least.
        starvation_s: An attempt that was overtaken for longer goes first.
        solve_s: How long a cycle waits for a solver, where its policy asks one.
        data: What it costs to read data across sub-clusters.
    """

    cycle_s: float
    starvation_s: float
    solve_s: float
    data: DataRules = NOTHING_SHARED


class QueueCycles:
    """The tables of all queues, and their cycles.

    Args:
        launches: Proposals to Local Masters, and what is believed of their books.
        order_of: The order of containers that a queue has now, by its full path.
        view: What is known of applications, by which recurring ones are recognised.
        runs: Takes what runs of recurring jobs have taught; others may read it.
        solve: Reaches solvers; without, policies that ask one go by their greedy plans.
        shadow_solve: The same for policies in the shadow, which must not keep those in force waiting.
        shadow_of: The policy that a queue has in its shadow; empty for none.
        outline_of: The graphs of jobs, for policies that go by them.
        masters_of: How many containers that come free next a queue leaves to ApplicationMasters at each sub-cluster.
        by_arrival: Sub-clusters that serve a queue's applications in the order of their arrival.
        rules_of: What operators want of places now.

    Attributes:
        shadows: How policies in the shadow differ from those in force.
        solves: What solvers were asked; None where there are none.
    """

    def __init__(
        self,
        launches: LaunchService,
        order_of: Callable[[str], str],
        view: FederationView,
        clock: Clock,
        rng: PolicyRandom,
        settings: CycleSettings,
        runs: FormerRuns | None = None,
        *,
        solve: Solve | None = None,
        shadow_solve: Solve | None = None,
        shadow_of: Callable[[str], str] = lambda _: "",
        outline_of: OutlineOf = lambda _: None,
        masters_of: Callable[[str], Mapping[SubClusterId, int]] = lambda _: {},
        by_arrival: Callable[[str], frozenset[SubClusterId]] = lambda _: frozenset(),
        rules_of: Callable[[], PlacementRules] = lambda: NO_RULES,
    ) -> None:
        self.rules_of = rules_of
        self._masters_of = masters_of
        self._by_arrival = by_arrival
        self._outline_of = outline_of
        self._runs = FormerRuns() if runs is None else runs
        self._rng = rng
        self.launches = launches
        self.clock = clock
        self.cycles = 0
        self._order_of = order_of
        self._view = view
        self._settings = settings
        self._everything = DurationModel()
        self._tables: dict[str, QueueTable] = {}
        self._attempts: dict[str, dict[ApplicationAttemptId, AttemptPlans]] = {}
        self._names: dict[str, Callable[[SubClusterId], str | None]] = {}
        self._due: dict[str, None] = {}
        self._has_more: set[str] = set()
        self._again_at_s: dict[str, float] = {}
        self._wake = asyncio.Event()
        self.shadows = QueueShadows(shadow_of, clock, shadow_solve, self._settings.solve_s)
        self.solves = None if solve is None else QueueSolves(solve, self._settings.solve_s, self.is_due)

    # ------------------------------------------------------------------ who takes part

    def enter(
        self,
        attempt: Attempt,
        queue_at: Callable[[SubClusterId], str | None],
        tell: Callable[[LedgerEvent], None],
    ) -> AttemptPlans:
        """Let an attempt take part in the cycles of its queue.

        Args:
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
                self._outline_of,
                self._settings.data,
                rules_of=self.rules_of,
            )
        self._names[queue] = queue_at
        plans = AttemptPlans(self, self._tables[queue], attempt, queue_at, tell)
        self._attempts.setdefault(queue, {})[attempt.id] = plans
        return plans

    def imposed_on(self, queue: str) -> PlacementRules:
        """What operators want of the places of a queue's containers, and services of it that are there already."""
        rules, policy = self.rules_of(), queue_policy(self._order_of(queue))
        if policy is None or Fact.CONSTRAINTS not in policy.needs or queue not in self._tables:
            return rules
        return replace(rules, constraints=(*rules.constraints, *owed_by_newcomers(self._tables[queue].services())))

    def leave(self, attempt: Attempt) -> None:
        self._attempts.get(attempt.queue, {}).pop(attempt.id, None)
        self.is_due(attempt.queue)

    def _capacity(self, queue: str) -> Capacity:
        names = self._names[queue]
        return self.launches.capacity(lambda subcluster: names(subcluster) or "")

    def _recurring_key(self, application: ApplicationId) -> str:
        document = self._view.applications.find(application)
        return "" if document is None else recurring_key(document.summary)

    def _times(self, application: ApplicationId) -> JobTimes | None:
        document = self._view.applications.find(application)
        if document is None:
            return None
        told_ms = self._view.applications.submit_times.known.get(application, document.summary.started_at_ms)
        return job_times(told_ms / 1000, document.summary.tags)

    # ------------------------------------------------------------------ when cycles run

    def reported(self, report: SubClusterReport, applied: Applied) -> None:  # noqa: ARG002 - the listener's signature
        """See `PollListener`: a report may show capacity that somebody waits for."""
        self.has_more()

    def failed(self, subcluster: SubClusterId, error: HeddleError) -> None:
        """See `PollListener`: nothing is known better."""

    def has_more(self) -> None:
        for queue in self._tables:
            self._has_more.add(queue)
            self.is_due(queue)

    def is_due(self, queue: str) -> None:
        if queue in self._tables and queue not in self._due:
            self._due[queue] = None
            self._wake.set()

    async def run(self) -> None:
        try:
            while True:
                await self._something_due()
                self._wake.clear()
                due, self._due = deque(self._due), {}
                try:
                    while due:
                        self._cycle_due(due.popleft())
                finally:  # a queue whose cycle failed is due when something changes; the others now
                    for queue in due:
                        self.is_due(queue)
                await self.clock.sleep(self._settings.cycle_s)
        finally:
            if self.solves is not None:
                self.solves.close()
            self.shadows.close()

    def _cycle_due(self, queue: str) -> None:
        is_solving = self.awaits_answer(queue)
        if not is_solving or is_solved_apart(self._order_of(queue)):
            self.cycle(queue, is_solving=is_solving)

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

    def awaits_answer(self, queue: str) -> bool:
        """Return whether the queue's cycle waits for a solver, which is asked now if there is anything to choose."""
        solves, table = self.solves, self._tables[queue]
        if solves is None or not table.is_waiting or solves.has_answer(queue):
            return False
        if solves.is_busy(queue):
            return True
        if solves.pauses(queue):
            return False
        stated = table.state_problems(self._capacity(queue), self._order_of(queue), self.clock.now_s())
        if stated is None:
            return False
        solves.begin(queue, stated)
        return True

    def cycle(self, queue: str, *, is_solving: bool = False) -> None:
        """One cycle of a queue: take back what stands no more, plan, and tell the attempts whose plan is another.

        With `is_solving` it goes on without what a solver plans meanwhile.
        """
        attempts, table = self._attempts.get(queue, {}), self._tables[queue]
        self._has_more.discard(queue)
        stated = None if self.solves is None or is_solving else self.solves.take(queue)
        for each in tuple(attempts.values()):
            each.expire()
        if not table.is_waiting:
            return
        self.cycles += 1
        capacity, order = self._capacity(queue), self._order_of(queue)
        plans = table.plan(
            capacity,
            order,
            self.clock.now_s(),
            stated=stated,
            is_solving=is_solving,
            masters=self._masters_of(queue),
            by_arrival=self._by_arrival(queue),
        )
        if not is_solving:
            self.shadows.look(queue, table, capacity, order, plans)
        self._again_at_s.pop(queue, None)
        if table.again_at_s is not None:
            self._again_at_s[queue] = table.again_at_s
        for attempt, told in plans.items():
            if attempt in attempts:
                attempts[attempt].hear(told)

    def plan_alone(self, plans: AttemptPlans) -> tuple[RequestPlan, ...]:
        """Plan what one attempt asks for by itself, between two cycles.

        What others of the queue wait for goes first: they had their cycle, and what has come free since is the next
        cycle's to give.
        """
        queue = plans.attempt.queue
        now_s, id_ = self.clock.now_s(), plans.attempt.id
        is_stale = queue in self._has_more and self._tables[queue].others_wait(id_)
        capacity = None if is_stale else self._capacity(queue)
        told = self._tables[queue].plan(capacity, self._order_of(queue), now_s, only=id_)
        return told.get(id_, ())


_RESTS_FOR = 9.0
"""Times as long as a plan took, none is made after it: a tenth of the time at most is spent on them."""


class QueueShadows:
    """Compares the plans of queues with those of another policy.

    A plan that took long is followed by a rest of nine times as long, of all queues together: cycles meanwhile are
    counted as skipped. So it is with solvers; and cycles are skipped while one works.

    Args:
        shadow_of: The policy that a queue has in its shadow, by its full path; empty for none.
        solve: Reaches solvers that nobody else asks; without, policies are compared by their greedy plans.
        limit_s: Seconds for each problem.
    """

    def __init__(
        self, shadow_of: Callable[[str], str], clock: Clock, solve: Solve | None = None, limit_s: float = 0.0
    ) -> None:
        self._shadow_of = shadow_of
        self._clock = clock
        self._solve = solve
        self._solves = QueueSolves(self._solve_and_rest, limit_s, self._answered)
        self._reports: dict[str, ShadowReport] = {}
        self._asked: dict[str, _Asked] = {}
        self._rests_until_s = float("-inf")
        self._solvers_rest_until_s = float("-inf")

    @property
    def reports(self) -> Mapping[str, ShadowReport]:
        """By queue; a queue whose policies change begins anew, and one without a shadow has none."""
        return {queue: each for queue, each in self._reports.items() if self._shadow_of(queue) == each.shadow}

    def look(self, queue: str, table: QueueTable, capacity: Capacity, order: str, in_force: QueuePlans) -> None:
        """Compare one cycle, before anything of it is carried out.

        Args:
            capacity: What the cycle began with.
        """
        shadow = self._shadow_of(queue)
        if shadow_rejection(shadow) or queue_policy(shadow) is None or shadow == order:
            self._reports.pop(queue, None)
            return
        report, now_s = self._reports.get(queue), self._clock.now_s()
        if report is None or (report.in_force, report.shadow) != (order, shadow):
            report = self._reports[queue] = ShadowReport(order, shadow, now_s)
        began_s = self._clock.monotonic_s()
        if began_s < self._rests_until_s:
            report.skipped += 1
            return
        self._compare(queue, report, table, capacity, in_force)
        ended_s = self._clock.monotonic_s()
        self._rests_until_s = ended_s + _RESTS_FOR * (ended_s - began_s)

    def close(self) -> None:
        self._solves.close()

    def _compare(
        self, queue: str, report: ShadowReport, table: QueueTable, capacity: Capacity, in_force: QueuePlans
    ) -> None:
        """Compare now, or when the solver has answered; skip the cycle while it has another to answer, or rests."""
        solves, now_s = self._solves, self._clock.now_s()
        is_asked = self._solve is not None and asks_solver(report.shadow)
        if is_asked and (solves.is_busy(queue) or self._clock.monotonic_s() < self._solvers_rest_until_s):
            report.skipped += 1
            return
        if is_asked and not solves.pauses(queue):  # in force it would go by its greedy plan meanwhile, too
            plans = table.state_in_shadow(capacity, report.shadow, now_s)
            if plans is not None:
                self._asked[queue] = _Asked(report, in_force, plans, now_s)
                solves.begin(queue, plans.stated)
                return
        report.compare(in_force, table.plan_in_shadow(capacity, report.shadow, now_s), now_s)

    def _answered(self, queue: str) -> None:
        """Compare what was planned when the solver was asked."""
        asked, stated = self._asked.pop(queue, None), self._solves.take(queue)
        if asked is not None and stated is not None:
            asked.report.compare(asked.in_force, asked.plans.answered(stated), asked.at_s)
            asked.report.solved += bool(stated.answers)
            asked.report.unsolved += not stated.answers

    async def _solve_and_rest(self, name: str, arrays: Mapping[str, object], limit_s: float) -> object | None:
        if self._solve is None:
            return None
        began_s = self._clock.monotonic_s()
        answer = await self._solve(name, arrays, limit_s)
        ended_s = self._clock.monotonic_s()
        self._solvers_rest_until_s = ended_s + _RESTS_FOR * (ended_s - began_s)
        return answer


@dataclass(frozen=True, slots=True)
class _Asked:
    """Plans of one cycle that are compared when a solver has answered."""

    report: ShadowReport
    in_force: QueuePlans
    plans: ShadowPlans
    at_s: float
