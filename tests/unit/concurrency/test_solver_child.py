"""A child that solves: whatever becomes of it, there is an answer in time or none, and the next problem is solved."""

import os
import signal
import time

import numpy as np
import pytest

from shim.concurrency.solver_child import SolverChild, solve_here
from tests.support import solver_children

FLOW = {
    "tail": np.array([0, 0, 1]),
    "head": np.array([1, 2, 2]),
    "capacity": np.array([2, 1, 2]),
    "cost": np.array([1, 5, 1]),
    "supply": np.array([2, 0, -2]),
}


@pytest.fixture
def child():
    made = []

    def make(work=None):
        made.append(SolverChild(work))
        return made[-1]

    yield make
    for each in made:
        each.close()
        assert each.pid is None


def test_it_solves_as_this_process_does_and_is_kept(child):
    solver = child()
    assert solver.solve("min-cost-flow", FLOW, 20.0).tolist() == [2.0, 0.0, 2.0]
    pid = solver.pid
    assert solver.solve("min-cost-flow", FLOW, 20.0).tolist() == solve_here("min-cost-flow", FLOW, 20.0).tolist()
    assert solver.pid == pid
    assert solver.killed == 0


def test_a_problem_that_has_no_answer_or_no_solver_gets_none_and_the_child_lives(child):
    solver = child()
    assert solver.solve("min-cost-flow", FLOW | {"supply": np.array([9, 0, -9])}, 20.0) is None
    assert solver.solve("nothing", FLOW, 20.0) is None
    assert solver.killed == 0


@pytest.mark.parametrize("work", ["hangs", "dies", "answers_another", "never_starts"])
def test_no_answer_comes_within_the_limit_and_the_child_is_gone(child, work):
    solver = child(getattr(solver_children, work))
    began = time.monotonic()
    assert solver.solve("min-cost-flow", FLOW, 0.2) is None
    assert solver.pid is None
    assert solver.killed == 1
    assert time.monotonic() - began < 20.0


def test_a_child_that_is_killed_between_two_problems_is_replaced(child):
    solver = child()
    assert solver.solve("min-cost-flow", FLOW, 20.0) is not None
    pid = solver.pid
    os.kill(pid, signal.SIGKILL)
    answers = [solver.solve("min-cost-flow", FLOW, 20.0) for _ in range(2)]
    assert answers[-1] is not None
    assert solver.pid != pid
