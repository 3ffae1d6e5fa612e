"""A cycle whose plan a solver may improve: the greedy plan stands until, and unless, a better answer comes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from shim.domain.ids import NodeId
from shim.scheduling.cycle import run_cycle
from shim.scheduling.placements import CycleState
from shim.scheduling.plan import Plan
from shim.scheduling.policy import Policy, Problem, Solver
from shim.scheduling.queue_rows import QueueRows, RowKey
from shim.scheduling.snapshot import RequestColumn, Snapshot
from shim.scheduling.solvers import SolveFunction


def run_solved_cycle(
    snapshot: Snapshot, policy: Policy, state: CycleState, solve: SolveFunction | None, limit_s: float
) -> Plan:
    """Run a cycle, and let the policy's solver look for a better plan.

    Args:
        solve: Reaches a solver; it gives None when there is no answer in time, whatever became of it.
        limit_s: Seconds that it has.
    """
    greedy = run_cycle(snapshot, policy, state)
    if policy.solver is None or solve is None:
        return greedy
    problem = policy.solver.prepare(snapshot, greedy)
    if problem is None:
        return greedy
    return improve(snapshot, policy.solver, problem, solve(problem.solver, problem.arrays, limit_s))


def improve(now: Snapshot, solver: Solver, problem: Problem, answer: object | None) -> Plan:
    """Make a plan of a solver's answer; what it does not decide is as the greedy plan has it.

    Args:
        now: What is known now, which may be later than the problem.
    """
    greedy, plan = problem.greedy, solver.finish(now, problem, answer)
    if plan is greedy:
        return greedy
    return replace(
        plan, turns=greedy.turns, declined=greedy.declined, take_backs=[*greedy.take_backs, *plan.take_backs]
    )


# Problems that a queue's next cycle would have solved, and how an answer is read once the world has moved on.


@dataclass(frozen=True, slots=True)
class StatedProblems:
    """Problems of a queue for solvers, and their answers.

    Attributes:
        order: The policy that asks, as `queue_policy` knows it.
        problems: Of nodes without a label (False), and of those with labels.
        snapshots: What they were stated on, likewise; good until the next change of the queue's rows.
        rows: What each row stood for: by the time of the answer it may stand for something else.
    """

    order: str
    problems: Mapping[bool, Problem]
    snapshots: Mapping[bool, Snapshot]
    rows: Mapping[int, RowKey]
    nodes: tuple[NodeId, ...]
    answers: Mapping[bool, object] = field(default_factory=dict)

    @classmethod
    def of(
        cls, order: str, problems: Mapping[bool, Problem], snapshots: Mapping[bool, Snapshot], rows: QueueRows
    ) -> "StatedProblems":
        return cls(order, problems, snapshots, rows.by_row(), rows.node_names())

    def answers_for(self, rows: QueueRows) -> "AnswersNow | None":
        """Read the answers by what rows stand for at present; None if the nodes have changed."""
        return AnswersNow(self, rows.by_row()) if self.nodes == rows.node_names() else None


@dataclass(frozen=True, slots=True)
class AnswersNow:
    """Answers to problems that were stated a while ago."""

    stated: StatedProblems
    rows: Mapping[int, RowKey]

    def improve(self, snapshot: Snapshot, solver: Solver, greedy: Plan, *, has_label: bool) -> Plan:
        """Give the better of a greedy plan and what an answer is worth now."""
        if has_label not in self.stated.answers:
            return greedy
        problem = replace(self.stated.problems[has_label], greedy=greedy)
        return improve(self._as_stated(snapshot), solver, problem, self.stated.answers[has_label])

    def _as_stated(self, snapshot: Snapshot) -> Snapshot:
        requests = snapshot.requests
        live = set(requests.live.tolist())
        others = [row for row, key in self.stated.rows.items() if row not in live or self.rows.get(row) != key]
        if not others:
            return snapshot
        numbers = requests.numbers.copy()
        numbers[RequestColumn.COUNT, others] = 0
        return replace(snapshot, requests=replace(requests, numbers=numbers))
