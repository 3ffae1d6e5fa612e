"""Cycles whose policy asks a solver wait for its answer and no longer, and miss nothing that changes meanwhile."""

import asyncio
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest

from shim.domain.allocations import ConstraintHandling, PendingRequest, PlacementConstraint, TagBound
from shim.multicluster.core.splitter import SplitSettings
from shim.multicluster.queue_cycles import CycleSettings, QueueCycles
from shim.multicluster.queue_solves import QueueSolves
from shim.scheduling.policies.medea import MedeaRules
from shim.scheduling.solvers import SOLVERS
from shim.scheduling.solving import StatedProblems
from tests.doubles.settings import usual
from tests.support.planned import DrivenSplitter
from tests.unit.multicluster.test_queue_cycles import CAPACITIES, EAST, KEY, QUEUE, WEST, Queue


class SlowSolver:
    """Implements `Solve`: answers when the test says so, or that there is no answer."""

    def __init__(self):
        self.asked = []
        self.may_answer = asyncio.Event()
        self.has_answers = True

    async def __call__(self, name, arrays, limit_s):
        self.asked.append((name, limit_s))
        await self.may_answer.wait()
        return SOLVERS[name](arrays, 20.0) if self.has_answers else None


class SolvingQueue(Queue):
    """A queue whose cycles ask a solver."""

    def __init__(self, order="quincy"):
        super().__init__(order)
        self.solver = SlowSolver()
        settings = usual(CycleSettings, cycle_s=0.25, solve_s=0.7)
        rng = Random(0)  # noqa: S311 - a test
        self.cycles = QueueCycles(self.launches, self.order_of, self.view, self.clock, rng, settings, solve=self.solver)
        self.running = None

    def order_of(self, name):
        return self.order if name == QUEUE else "fifo"

    async def runs(self):
        if self.running is None:
            self.running = asyncio.create_task(self.cycles.run())
        for _ in range(8):
            await asyncio.sleep(0)

    async def later(self):
        await self.clock.advance(0.3)
        await self.runs()


def named(wanted, *hosts):
    return PendingRequest(KEY, wanted, named=dict.fromkeys(hosts, wanted))


@pytest.fixture
async def queue():
    made = SolvingQueue()
    made.report(east=0, west=0)
    yield made
    if made.running is not None:
        made.running.cancel()


@pytest.fixture
async def two(queue):
    """Two that wait for one host, which the first need not have; one container fits in each cluster by now."""
    first, second = queue.enters(1), queue.enters(2)
    first.split(named(1, "east-0", "west-0"), CAPACITIES)
    second.split(named(1, "east-0"), CAPACITIES)
    queue.report(east=1, west=1)
    await queue.runs()
    return first, second


async def test_a_cycle_waits_for_the_answer_and_goes_by_it(queue, two):
    first, second = two
    assert queue.solver.asked == [("min-cost-flow", 0.7)]
    assert queue.cycles.cycles == 0
    await queue.later()
    assert queue.cycles.cycles == 0, "it has not answered"
    queue.solver.may_answer.set()
    await queue.later()
    assert first.split(named(1, "east-0", "west-0"), CAPACITIES) == {WEST: 1}
    assert second.split(named(1, "east-0"), CAPACITIES) == {EAST: 1}
    assert (queue.cycles.solves.solved, queue.cycles.solves.unsolved) == (1, 0)


async def test_without_an_answer_the_cycle_goes_by_its_own_plan(queue, two):
    first, second = two
    queue.solver.has_answers = False
    queue.solver.may_answer.set()
    await queue.later()
    assert first.split(named(1, "east-0", "west-0"), CAPACITIES) == {EAST: 1}
    assert second.split(named(1, "east-0"), CAPACITIES) == {}
    assert (queue.cycles.solves.solved, queue.cycles.solves.unsolved) == (0, 1)


async def test_what_came_while_it_waited_has_the_next_cycle(queue, two):
    third = queue.enters(3)
    third.split(named(1, "west-0"), CAPACITIES)
    queue.report(east=2, west=2)
    await queue.later()
    assert len(queue.solver.asked) == 1, "one at a time"
    queue.solver.may_answer.set()
    for _ in range(4):
        await queue.later()
    assert third.split(named(1, "west-0"), CAPACITIES) == {WEST: 1}


async def test_another_queue_does_not_wait(queue, two):
    attempt = replace(queue.enters(4).plans.attempt, queue="root.other")
    other = DrivenSplitter(queue.cycles, attempt, lambda _: QUEUE, usual(SplitSettings, move_after_beats=3))
    other.split(PendingRequest(KEY, 1), CAPACITIES)
    await queue.later()
    assert queue.cycles.cycles == 1
    assert sum(other.split(PendingRequest(KEY, 1), CAPACITIES).values()) == 1


async def test_an_answer_for_a_policy_that_is_changed_meanwhile_is_left(queue, two):
    queue.order = "fifo"
    queue.solver.may_answer.set()
    await queue.later()
    first, second = two
    granted = [each.split(named(1, "east-0"), CAPACITIES) for each in (first, second)]
    assert [sum(each.values()) for each in granted] == [1, 1]


async def test_with_the_cycles_the_wait_ends(queue, two):
    queue.running.cancel()
    await asyncio.gather(queue.running, return_exceptions=True)
    await asyncio.sleep(0)
    left = [each for each in asyncio.all_tasks() if each.get_name().startswith("solve ")]
    assert not left


async def test_while_nothing_is_free_nobody_is_asked(queue):
    queue.enters(1).split(named(1, "east-0"), CAPACITIES)
    await queue.runs()
    assert queue.solver.asked == []
    assert queue.cycles.cycles == 1


async def test_where_there_is_no_answer_more_and_more_cycles_ask_for_none(queue, two):
    queue.solver.has_answers = False
    queue.solver.may_answer.set()
    asked_at = []
    for _ in range(40):
        queue.report(east=1, west=1)
        for _ in range(4):
            await queue.later()
        if len(queue.solver.asked) > len(asked_at):
            asked_at.append(queue.cycles.cycles)
    gaps = [later - earlier for earlier, later in pairwise(asked_at)]
    assert gaps == sorted(gaps)
    assert len(set(gaps)) > 2, gaps


async def test_an_answer_that_nobody_waits_for_any_more_is_forgotten(queue, two):
    for attempt in two:
        attempt.drop(KEY)
    queue.solver.may_answer.set()
    await queue.later()
    assert not queue.cycles.solves.has_answer(QUEUE)


@pytest.mark.parametrize("has_changed", [True, False])
async def test_a_change_while_a_cycle_waits_makes_another_due(has_changed):
    due, solver = [], SlowSolver()
    solves = QueueSolves(solver, 1.0, due.append)
    solves.begin(QUEUE, StatedProblems("quincy", {}, {}, {}, ()))
    if has_changed:
        assert solves.is_busy(QUEUE)
    solver.may_answer.set()
    await asyncio.sleep(0)
    assert (solves.has_answer(QUEUE), due) == (True, [QUEUE])
    assert solves.take(QUEUE) is not None
    assert due == [QUEUE] * (2 if has_changed else 1)


# ---------------------------------------------------------------------- medea: only services wait

APART = PlacementConstraint(
    frozenset({"web"}), b"apart", most_a_node=1, is_local=True, choices=((TagBound("web", most=0),),)
)
SERVICE = replace(KEY, priority=3, placement=APART)
JUDGES = tuple(replace(room, nodes=1, constraints=ConstraintHandling.TOTALS) for room in CAPACITIES)


@pytest.fixture
async def services():
    """A service of two that wants to be apart, and what its queue does; its round is due."""
    made = SolvingQueue("medea")
    made.report(east=4, west=4)
    await made.runs()
    splitter = made.enters(1)
    splitter.split(PendingRequest(SERVICE, 2), JUDGES)
    await made.later()
    assert not made.solver.asked, "before its round"
    await made.clock.advance(MedeaRules().every_s)
    await made.runs()
    yield made, splitter
    made.running.cancel()


async def test_while_services_are_solved_tasks_go_on_and_no_scheduler_is_asked_for_a_service(services):
    queue, service = services
    assert queue.solver.asked == [("mixed-integer", 0.7)]
    assert service.split(PendingRequest(SERVICE, 2), JUDGES) == {}
    assert service.decisions[0].rule == "medea"
    assert "placed together, in rounds" in service.decisions[0].reason
    tasks = queue.enters(2)
    tasks.split(PendingRequest(KEY, 3), CAPACITIES)
    await queue.later()
    assert sum(tasks.split(PendingRequest(KEY, 3), CAPACITIES).values()) == 3
    assert service.split(PendingRequest(SERVICE, 2), JUDGES) == {}
    queue.solver.may_answer.set()
    await queue.later()
    assert service.split(PendingRequest(SERVICE, 2), JUDGES) == {EAST: 1, WEST: 1}
    assert queue.cycles.solves.solved == 1


async def test_a_solver_without_an_answer_leaves_services_to_the_heuristics(services):
    queue, service = services
    queue.solver.has_answers = False
    queue.solver.may_answer.set()
    await queue.later()
    assert service.split(PendingRequest(SERVICE, 2), JUDGES) == {EAST: 1, WEST: 1}
    assert queue.cycles.solves.unsolved == 1
