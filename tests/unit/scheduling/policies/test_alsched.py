"""alsched: scarce places go to who would lose most without them, and nobody waits for one."""

import numpy as np
import pytest

from shim.domain.wishes import JobWishes
from shim.scheduling.knowledge import Knowledge
from shim.scheduling.plan import MadeBy
from shim.scheduling.policies.tetrisched import ALSCHED, UtilityRules, alsched
from shim.scheduling.solvers import mixed_integer
from shim.scheduling.solving import run_solved_cycle
from tests.support.cycle_scenes import CycleScene


def solved(scene, policy=ALSCHED):
    return run_solved_cycle(scene.snapshot(), policy, scene.state, lambda _, arrays, s: mixed_integer(arrays, s), 20.0)


def two_that_want_the_same_node(**wishes):
    """One place on the node that both name, one elsewhere; the first would lose little, the second much."""
    scene = CycleScene([[1], [1]])
    little, much = (scene.ask(1, nodes=[(0, 1)], expected_s=10.0) for _ in range(2))
    scene.knowledge = Knowledge(wishes={0: JobWishes(slowdown=1.2), 1: JobWishes(slowdown=5.0, **wishes)})
    return scene, little, much


def places(plan):
    return {grant.request: grant.place for grant in plan.grants}


def test_the_scarce_place_goes_to_who_would_lose_most_and_the_other_starts_elsewhere_at_once():
    scene, little, much = two_that_want_the_same_node()
    plan = solved(scene)
    assert places(plan) == {much: 0, little: 1}
    assert plan.made_by is MadeBy.BOUNDED
    assert plan.objective == pytest.approx(1.0 + 1.0 / 1.2)


def test_one_by_one_it_goes_to_who_came_first():
    scene, little, much = two_that_want_the_same_node()
    assert places(solved(scene, alsched(UtilityRules(solves=False)))) == {little: 0, much: 1}


def test_a_small_budget_loses_less():
    scene, little, much = two_that_want_the_same_node(budget=0.1)
    assert places(solved(scene)) == {little: 0, much: 1}


def test_nobody_waits_for_a_place_that_is_taken():
    scene, little, much = two_that_want_the_same_node()
    scene.free[0] = 0
    assert set(places(solved(scene)).values()) == {1}
    assert len(places(solved(scene))) == 1
    assert {little, much} >= set(places(solved(scene)))


def test_without_a_preference_no_program_is_stated():
    scene = CycleScene([[1], [1]])
    row = scene.ask(2, expected_s=10.0)
    plan = run_solved_cycle(scene.snapshot(), ALSCHED, scene.state, lambda *_: pytest.fail("asked"), 1.0)
    assert plan.granted() == {row: 2}


def test_a_gang_at_its_places_is_whole():
    scene = CycleScene([[1], [1], [1]])
    gang = scene.ask(2, gang=1, nodes=[(0, 1), (1, 1)], expected_s=10.0)
    one = scene.ask(1, nodes=[(0, 1)], expected_s=10.0)
    scene.knowledge = Knowledge(wishes={0: JobWishes(slowdown=10.0), 1: JobWishes(slowdown=1.1)})
    plan = solved(scene)
    assert sorted((grant.request, grant.place) for grant in plan.grants) == [(gang, 0), (gang, 1), (one, 2)]
    assert np.isclose(plan.objective, 1.0 + 1.0 / 1.1)
