"""Solvers of policies in the shadow: their answers are compared, and no cycle waits for one."""

import asyncio
from random import Random

import pytest

from shim.multicluster.queue_cycles import CycleSettings, QueueCycles
from shim.scheduling.shadow_report import DifferenceKind
from tests.doubles.settings import usual
from tests.unit.multicluster.test_queue_cycles import CAPACITIES, EAST, QUEUE, WEST
from tests.unit.multicluster.test_queue_solves import SlowSolver, SolvingQueue, named


class ShadowSolvingQueue(SolvingQueue):
    """A queue in whose shadow a policy asks a solver of its own; the one in force has another, if it asks at all."""

    def __init__(self, order="fifo"):
        super().__init__(order)
        self.shadow = "quincy"
        self.in_force = SlowSolver()
        self.cycles = QueueCycles(
            self.launches,
            self.order_of,
            self.view,
            self.clock,
            Random(0),  # noqa: S311 - a test
            usual(CycleSettings, cycle_s=0.25, solve_s=0.7),
            solve=self.in_force,
            shadow_solve=self.solver,
            shadow_of=lambda _: self.shadow,
        )

    @property
    def told(self):
        return self.cycles.shadows.reports[QUEUE]

    async def has_another_cycle(self):
        self.cycles.is_due(QUEUE)
        await self.later()


@pytest.fixture
async def queue():
    """A container fits in each cluster; two want one host, but only the second must have it, and the first is older."""
    made = ShadowSolvingQueue()
    made.report(east=0, west=0)
    first, second = made.enters(1), made.enters(2)
    first.split(named(1, "east-0", "west-0"), CAPACITIES)
    second.split(named(1, "east-0"), CAPACITIES)
    made.report(east=1, west=1)
    await made.runs()
    yield made
    made.running.cancel()
    await asyncio.gather(made.running, return_exceptions=True)


async def test_no_cycle_waits_for_the_solver_of_the_shadow(queue):
    assert queue.solver.asked == [("min-cost-flow", 0.7)]
    assert queue.cycles.cycles == 1
    queue.report(east=1, west=1)
    await queue.has_another_cycle()
    assert queue.cycles.cycles == 2
    assert queue.in_force.asked == []
    assert (queue.told.cycles, queue.told.skipped) == (0, 1)
    assert len(queue.solver.asked) == 1, "one at a time"


async def test_its_answer_is_compared_with_what_the_policy_in_force_had_planned_then(queue):
    await queue.has_another_cycle()
    queue.solver.may_answer.set()
    await queue.runs()
    assert (queue.told.cycles, queue.told.solved, queue.told.unsolved) == (1, 1, 0)
    found = [(each.kind, each.attempt.application.sequence, each.in_force, each.shadow) for each in queue.told.newest]
    assert found == [
        (DifferenceKind.OTHER_CLUSTER, 1, {EAST: 1}, {WEST: 1}),
        (DifferenceKind.OTHER_CLUSTER, 2, {WEST: 1}, {EAST: 1}),
    ]


async def test_without_an_answer_its_own_plan_is_compared(queue):
    queue.solver.has_answers = False
    queue.solver.may_answer.set()
    await queue.runs()
    assert (queue.told.cycles, queue.told.solved, queue.told.unsolved) == (1, 0, 1)
    (found,) = queue.told.newest
    assert (found.kind, found.in_force, found.shadow) == (DifferenceKind.HELD, {WEST: 1}, {})


async def test_an_answer_runs_no_cycle(queue):
    await queue.later()
    before = queue.cycles.cycles
    queue.solver.may_answer.set()
    await queue.later()
    assert queue.cycles.cycles == before
    assert queue.told.cycles == 1


async def test_an_answer_for_a_shadow_that_is_no_more_is_told_nobody(queue):
    queue.shadow = "tetris"
    await queue.has_another_cycle()
    before = queue.told.cycles
    queue.solver.may_answer.set()
    await queue.runs()
    assert (queue.told.shadow, queue.told.cycles, queue.told.solved) == ("tetris", before, 0)


async def test_a_solver_that_took_long_rests_for_nine_times_as_long(queue):
    await queue.clock.advance(2.0)
    queue.solver.may_answer.set()
    await queue.runs()
    asked = []
    for number in range(20):
        queue.enters(10 + number).split(named(1, "east-0"), CAPACITIES)
        queue.report(east=1, west=6)
        await queue.clock.advance(1.0)
        await queue.has_another_cycle()
        asked.append(len(queue.solver.asked))
    assert asked[:10] == [1] * 10
    assert asked[-1] > 1


async def test_with_the_cycles_the_wait_ends(queue):
    queue.running.cancel()
    await asyncio.gather(queue.running, return_exceptions=True)
    await asyncio.sleep(0)
    assert not [each for each in asyncio.all_tasks() if each.get_name().startswith("solve ")]
