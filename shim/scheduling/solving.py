"""A cycle whose plan a solver may improve: the greedy plan stands until, and unless, a better answer comes."""

from dataclasses import replace

from shim.scheduling.cycle import run_cycle
from shim.scheduling.placements import CycleState
from shim.scheduling.plan import Plan
from shim.scheduling.policy import Policy, Problem, Solver
from shim.scheduling.snapshot import Snapshot
from shim.scheduling.solvers import SolveFunction

__all__ = ["improve", "run_solved_cycle"]


def run_solved_cycle(
    snapshot: Snapshot, policy: Policy, state: CycleState, solve: SolveFunction | None, limit_s: float
) -> Plan:
    """Run a cycle, and let the policy's solver look for a better plan.

    Args:
        snapshot: What is known now.
        policy: With or without a solver.
        state: Of the cycles.
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
        solver: Whose problem it is.
        problem: Its greedy plan is one of `now`.
        answer: None if there is none.
    """
    greedy, plan = problem.greedy, solver.finish(now, problem, answer)
    if plan is greedy:
        return greedy
    return replace(
        plan, turns=greedy.turns, declined=greedy.declined, take_backs=[*greedy.take_backs, *plan.take_backs]
    )
