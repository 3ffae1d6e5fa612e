"""Policies in the shadow of queues' cycles: they plan on the same snapshots, and nothing of it is carried out.

Where such a policy asks a solver, that is another one than the cycles' own, and no cycle waits for it. When it has
answered, its plan is compared with what the policy in force had planned on the same snapshot.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from shim.multicluster.queue_solves import QueueSolves
from shim.ports.clock import Clock
from shim.ports.solver import Solve
from shim.scheduling.capacity import Capacity
from shim.scheduling.queue_planner import QueuePlans
from shim.scheduling.queue_policies import asks_solver, queue_policy, shadow_objection
from shim.scheduling.queue_table import QueueTable
from shim.scheduling.shadow_plans import ShadowPlans
from shim.scheduling.shadow_report import ShadowReport

__all__ = ["QueueShadows"]

_RESTS_FOR = 9.0
"""Times as long as a plan took, none is made after it: a tenth of the time at most is spent on them."""


class QueueShadows:
    """Compares the plans of queues with those of another policy.

    A plan that took long is followed by a rest of nine times as long, of all queues together: cycles meanwhile are
    counted as skipped. So it is with solvers; and cycles are skipped while one works.

    Args:
        shadow_of: The policy that a queue has in its shadow, by its full path; empty for none.
        clock: For what a plan takes, and for when.
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
            queue: Its full path.
            table: What waits there.
            capacity: What the cycle began with.
            order: The policy in force.
            in_force: Its plans.
        """
        shadow = self._shadow_of(queue)
        if shadow_objection(shadow) or queue_policy(shadow) is None or shadow == order:
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
        """Wait for no solver any more."""
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
