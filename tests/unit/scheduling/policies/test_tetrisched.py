"""TetriSched: what the window sees, deadlines first, and plans that are worth no less than the greedy one."""

import numpy as np
import pytest

from shim.scheduling.plan import MadeBy
from shim.scheduling.policies.tetrisched import TETRISCHED, SpaceTimeRules, tetrisched
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


def test_an_answer_that_is_worth_less_than_the_greedy_plan_is_left():
    scene, _ = three_jobs()
    greedy = scene.decide(TETRISCHED)
    nothing = run_solved_cycle(
        scene.snapshot(), TETRISCHED, scene.state, lambda _, arrays, __: np.zeros(len(arrays["value"]) + 1), 1.0
    )
    assert greedy.grants
    assert list(nothing.grants) == list(greedy.grants)
    assert nothing.made_by is MadeBy.GREEDY
