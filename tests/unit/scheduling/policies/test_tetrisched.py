"""TetriSched: what the window sees, deadlines first, and plans that are worth no less than the greedy one."""

from dataclasses import replace

import numpy as np
import pytest

from shim.domain.wishes import GangShape, JobWishes
from shim.scheduling.knowledge import NOTHING_KNOWN, Knowledge
from shim.scheduling.node_index import Cell, index_nodes
from shim.scheduling.plan import MadeBy
from shim.scheduling.policies.orders import FIFO
from shim.scheduling.policies.tetrisched import TETRISCHED, SpaceTimeRules, tetrisched
from shim.scheduling.snapshot import Running
from shim.scheduling.solvers import mixed_integer
from shim.scheduling.solving import run_solved_cycle
from tests.support.cycle_scenes import CycleScene


def solved(scene, policy=TETRISCHED):
    return run_solved_cycle(scene.snapshot(), policy, scene.state, lambda _, arrays, s: mixed_integer(arrays, s), 20.0)


def three_jobs():
    """Three equal machines, as in the paper: 2 for 10 s by 10 s; 1 for 20 s by 40 s; 3 for 10 s by 20 s."""
    scene = CycleScene([[1]] * 3)
    asks = [(2, 10.0, 10.0), (1, 20.0, 40.0), (3, 10.0, 20.0)]
    rows = [
        scene.ask(count, gang=at + 1, expected_s=takes_s, deadline_s=by_s)
        for at, (count, takes_s, by_s) in enumerate(asks)
    ]
    return scene, rows


def test_planning_ahead_lets_the_second_wait_so_that_all_meet_their_deadlines():
    scene, (first, second, third) = three_jobs()
    plan = solved(scene)
    assert {grant.request for grant in plan.grants} == {first}
    assert {(hold.request, hold.until_s) for hold in plan.holds} == {(third, 10.0), (second, 20.0)}
    assert plan.made_by is MadeBy.BOUNDED


def test_without_a_window_who_fits_now_starts_now():
    scene, (first, second, _) = three_jobs()
    plan = solved(scene, tetrisched(SpaceTimeRules(quanta=1)))
    assert {grant.request for grant in plan.grants} == {first, second}


def test_a_gang_starts_whole_or_not_at_all():
    scene = CycleScene([[1]] * 3)
    gang = scene.ask(4, gang=1, expected_s=10.0)
    plan = scene.decide(TETRISCHED)
    assert not plan.grants
    assert [(hold.request, hold.count) for hold in plan.holds] == [(gang, 4)]


@pytest.mark.parametrize("answer", [None, np.zeros(2), "text"])
def test_without_an_answer_the_greedy_plan_stands(answer):
    scene, _ = three_jobs()
    greedy = scene.decide(TETRISCHED)
    plan = run_solved_cycle(scene.snapshot(), TETRISCHED, scene.state, lambda *_: answer, 1.0)
    assert list(plan.grants) == list(greedy.grants)
    assert plan.made_by is MadeBy.GREEDY


@pytest.mark.parametrize(("policy", "solve"), [(TETRISCHED, None), (FIFO, lambda *_: np.zeros(2))])
def test_without_a_solver_nobody_is_asked_for_a_plan(policy, solve):
    scene, _ = three_jobs()
    greedy = scene.decide(policy)
    plan = run_solved_cycle(scene.snapshot(), policy, scene.state, solve, 1.0)
    assert (plan.granted(), plan.made_by) == (greedy.granted(), greedy.made_by)


def test_an_answer_that_is_worth_less_than_the_greedy_plan_is_left():
    scene, _ = three_jobs()
    greedy = scene.decide(TETRISCHED)
    nothing = run_solved_cycle(
        scene.snapshot(), TETRISCHED, scene.state, lambda _, arrays, __: np.zeros(len(arrays["value"]) + 1), 1.0
    )
    assert greedy.grants
    assert list(nothing.grants) == list(greedy.grants)
    assert nothing.made_by is MadeBy.GREEDY


def busy(node, *, until_s):
    """A container on a node that is expected to end by then."""
    one = np.zeros(1, dtype=np.int64)
    return Running(one, one, one + node, one[:, None] + 1, np.zeros(1), np.array([until_s]))


def one_that_would_rather_be_on_the_first_node(until_s, **ask):
    """Two nodes of one place, the first of them taken."""
    scene = CycleScene([[0], [1]])
    scene.running = busy(0, until_s=until_s)
    row = scene.ask(1, nodes=[(0, 1)], expected_s=20.0, **ask)
    scene.knowledge = Knowledge(wishes={0: JobWishes(slowdown=2.0)})
    return scene, row


@pytest.mark.parametrize("ask", [{}, {"gang": 1}])
@pytest.mark.parametrize(("until_s", "waits"), [(10.0, True), (40.0, False)])
def test_a_preferred_place_is_waited_for_while_that_ends_sooner_than_to_run_elsewhere(until_s, waits, ask):
    scene, row = one_that_would_rather_be_on_the_first_node(until_s, **ask)
    plan = solved(scene)
    assert [(grant.request, grant.place) for grant in plan.grants] == ([] if waits else [(row, 1)])
    assert [(hold.request, hold.until_s) for hold in plan.holds] == ([(row, 10.0)] if waits else [])


def test_where_it_does_not_matter_where_a_named_place_is_not_waited_for():
    scene, row = one_that_would_rather_be_on_the_first_node(10.0)
    scene.knowledge = NOTHING_KNOWN
    assert solved(scene, tetrisched(SpaceTimeRules(slowdown=1.0))).granted() == {row: 1}
    assert solved(scene, tetrisched(SpaceTimeRules(slowdown=3.0))).granted() == {}


def test_a_deadline_that_can_be_met_elsewhere_alone_is_met_there():
    scene, row = one_that_would_rather_be_on_the_first_node(30.0, deadline_s=45.0)
    plan = solved(scene)
    assert [(grant.request, grant.place) for grant in plan.grants] == [(row, 1)]


def test_a_gang_in_one_cluster_is_not_torn():
    scene = CycleScene([[1], [1], [1]])
    row = scene.ask(2, gang=1, expected_s=10.0)
    scene.knowledge = Knowledge(wishes={0: JobWishes(slowdown=3.0, shape=GangShape.ONE_CLUSTER)})
    cells = [Cell(0, 0, 1), Cell(1, 1, 2)]
    nodes = index_nodes(scene.free.copy(), cells)
    request = solved_on(scene, replace(scene.snapshot(), nodes=nodes))
    assert sorted(grant.place for grant in request.grants) == [1, 2]
    assert request.granted() == {row: 2}


def solved_on(scene, snapshot):
    return run_solved_cycle(snapshot, TETRISCHED, scene.state, lambda _, arrays, s: mixed_integer(arrays, s), 20.0)
