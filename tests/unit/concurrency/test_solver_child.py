"""A child that solves: whatever becomes of it, there is an answer in time or none, and the next problem is solved."""

import asyncio
import os
import signal
import time
from contextlib import suppress

import numpy as np
import pytest

from shim.concurrency.solver_child import SolverBeside, SolverChild, solve_here
from tests.support import solver_children

FLOW = {
    "tail": np.array([0, 0, 1]),
    "head": np.array([1, 2, 2]),
    "capacity": np.array([2, 1, 2]),
    "cost": np.array([1, 5, 1]),
    "supply": np.array([2, 0, -2]),
}


LONG_S = 300.0
BEATS = 6


@pytest.fixture(autouse=True)
def _may_start_slowly(monkeypatch):
    """How long a new process takes to come up is not what is tested."""
    monkeypatch.setattr("shim.concurrency.solver_child._START_S", LONG_S)


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
    assert solver.solve("min-cost-flow", FLOW, LONG_S).tolist() == [2.0, 0.0, 2.0]
    pid = solver.pid
    assert solver.solve("min-cost-flow", FLOW, LONG_S).tolist() == solve_here("min-cost-flow", FLOW, LONG_S).tolist()
    assert solver.pid == pid
    assert solver.killed == 0


def test_a_problem_that_has_no_answer_or_no_solver_gets_none_and_the_child_lives(child):
    solver = child()
    assert solver.solve("min-cost-flow", FLOW | {"supply": np.array([9, 0, -9])}, LONG_S) is None
    assert solver.solve("nothing", FLOW, LONG_S) is None
    assert solver.killed == 0


@pytest.mark.parametrize("work", ["hangs", "dies", "answers_another", "never_starts"])
def test_no_answer_comes_within_the_limit_and_the_child_is_gone(child, work):
    solver = child(getattr(solver_children, work))
    began = time.monotonic()
    assert solver.solve("min-cost-flow", FLOW, 0.2) is None
    assert solver.pid is None
    assert solver.killed == 1
    assert time.monotonic() - began < 120.0


def test_a_child_that_is_killed_between_two_problems_is_replaced(child):
    solver = child()
    assert solver.solve("min-cost-flow", FLOW, LONG_S) is not None
    pid = solver.pid
    os.kill(pid, signal.SIGKILL)
    answers = [solver.solve("min-cost-flow", FLOW, LONG_S) for _ in range(2)]
    assert answers[-1] is not None
    assert solver.pid != pid


# ---------------------------------------------------------------------- beside an event loop


async def until(holds):
    async with asyncio.timeout(60.0):
        while not holds():  # noqa: ASYNC110 - another process tells nobody by itself
            await asyncio.sleep(0.01)


@pytest.fixture
def beside():
    made = []

    def make(work=None):
        child = SolverChild(work)
        made.append((SolverBeside(child), child))
        return made[-1]

    yield make
    for solver, child in made:
        with suppress(RuntimeError):  # the test has closed it
            solver.close()
        while child.pid is not None:  # its thread closes it
            time.sleep(0.01)


async def test_the_loop_goes_on_while_the_child_comes_up_and_solves(beside, tmp_path, monkeypatch):
    gate = tmp_path / "gate"
    monkeypatch.setenv("HEDDLE_TEST_GATE", str(gate))  # a child inherits it
    solver, _ = beside(solver_children.comes_up_when_let)
    solving = asyncio.create_task(solver.solve("min-cost-flow", FLOW, LONG_S))
    beats = 0
    while not (await asyncio.wait([solving], timeout=0.01))[0]:
        beats += 1
        if beats == BEATS:
            gate.touch()
    assert (await solving).tolist() == [2.0, 0.0, 2.0]
    assert beats >= BEATS
    solver.close()


async def test_a_child_that_hangs_costs_its_limit_and_the_next_problem_has_its_own(beside):
    solver, _ = beside(solver_children.hangs)
    for _ in range(2):
        async with asyncio.timeout(60.0):  # it never answers: without its limit there would be no end
            assert await solver.solve("min-cost-flow", FLOW, 0.2) is None
    solver.close()


async def test_two_at_a_time_are_solved_one_after_the_other(beside):
    solver, _ = beside()
    both = await asyncio.gather(*(solver.solve("min-cost-flow", FLOW, LONG_S) for _ in range(2)))
    assert [each.tolist() for each in both] == [[2.0, 0.0, 2.0]] * 2
    solver.close()


async def test_closing_kills_a_child_that_works_and_whoever_waits_has_no_answer(beside):
    solver, child = beside(solver_children.hangs)
    solving = asyncio.create_task(solver.solve("min-cost-flow", FLOW, 600.0))
    await until(lambda: child.pid is not None)
    solver.close()
    assert await solving is None
    await until(lambda: child.pid is None)
