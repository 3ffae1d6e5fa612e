"""Plans of one cycle by a policy in the shadow of a queue, and what they become once its solver has answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from shim.domain.allocations import PendingRequest, RequestPlan
from shim.domain.ids import ApplicationAttemptId, SubClusterId
from shim.scheduling.capacity import Capacity
from shim.scheduling.plan import MadeBy
from shim.scheduling.policy import Solver
from shim.scheduling.queue_planner import PlacedRows, QueuePlanner, QueuePlans, partial_rows
from shim.scheduling.queue_policies import queue_policy
from shim.scheduling.queue_rows import QueueRows
from shim.scheduling.solving import StatedProblems, improve


@dataclass(frozen=True, slots=True)
class ShadowPlans:
    """Plans that a solver may better.

    Attributes:
        stated: What it is asked; the snapshots are kept.
    """

    greedy: QueuePlans
    stated: StatedProblems
    solver: Solver
    waiting: Mapping[ApplicationAttemptId, Sequence[tuple[PendingRequest, int]]]
    clusters: Sequence[SubClusterId]

    @classmethod
    def of(
        cls, planner: QueuePlanner, rows: QueueRows, capacity: Capacity, order: str, at_s: float
    ) -> "ShadowPlans | None":
        """Plan what waits; None where the policy asks no solver, or has no choice to make."""
        policy, stated = queue_policy(order), planner.state_problems(capacity, order, at_s)
        if stated is None or policy is None or policy.solver is None:
            return None
        kept = {key: replace(each, requests=each.requests.kept()) for key, each in stated.snapshots.items()}
        greedy = planner.plan(capacity, order, at_s)
        waiting = {attempt: rows.with_rows(attempt) for attempt in greedy}
        return cls(greedy, replace(stated, snapshots=kept), policy.solver, waiting, tuple(capacity.nodes))

    def answered(self, stated: StatedProblems) -> QueuePlans:
        """Give the plans with the answers of a solver, as far as it has given any."""
        placed, planned = PlacedRows(), set[int]()
        for has_label, answer in stated.answers.items():
            snapshot, problem = self.stated.snapshots[has_label], self.stated.problems[has_label]
            plan = improve(snapshot, self.solver, problem, answer)
            live = snapshot.requests.live.tolist()
            placed.read(plan, snapshot, self.clusters, {row: {} for row in live}, str)
            planned.update(live)
        for waiting in self.waiting.values():
            for row in partial_rows(waiting, placed.starts):
                placed.starts.pop(row, None)
        return {attempt: tuple(self._bettered(attempt, placed, planned)) for attempt in self.greedy}

    def _bettered(self, attempt: ApplicationAttemptId, placed: PlacedRows, planned: set[int]) -> Sequence[RequestPlan]:
        rows = {request.key: row for request, row in self.waiting[attempt]}
        return [
            plan
            if (row := rows[plan.key]) not in planned
            else replace(
                plan,
                starts=placed.starts.get(row, {}),
                reason=placed.reasons.get(row, ""),
                made_by=placed.made_by.get(row, MadeBy.GREEDY).value,
            )
            for plan in self.greedy[attempt]
        ]
