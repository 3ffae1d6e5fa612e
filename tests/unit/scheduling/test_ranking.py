"""Ranks of what a cycle left waiting, by each policy that places by itself."""

import pytest

from shim.scheduling.completion_table import build_forecast
from shim.scheduling.cycle import order
from shim.scheduling.former_runs import FormerStage
from shim.scheduling.knowledge import Knowledge, StageOutline
from shim.scheduling.packing import TETRIS, PackingRules, tetris
from shim.scheduling.plan import Hold, Plan, Reason, ReasonCode
from shim.scheduling.policies.delay import DELAY
from shim.scheduling.policies.graphene import GRAPHENE
from shim.scheduling.policies.jockey import JOCKEY
from shim.scheduling.policies.quincy import QUINCY
from shim.simulation.engine import seeded
from tests.support.cycle_scenes import CycleScene


def ranked(policy, scene, plan=None, now_s=0.0):
    """What the policy's cycle leaves waiting, in its rank; or what another plan does."""
    found = scene.decide(policy, now_s) if plan is None else plan
    snapshot = scene.snapshot(now_s)
    turns = order(snapshot, policy, None).rows
    return list(policy.placement.rank(snapshot, scene.state.memory, turns, found))


def test_what_started_or_is_held_is_not_ranked():
    scene = CycleScene([[3]])
    first, second, third = (scene.ask(2, arrived_s=float(number)) for number in range(3))
    assert ranked(DELAY, scene) == [(second, 1), (third, 2)]
    held = Plan(holds=[Hold(first, 2, Reason(ReasonCode.WAITS_FOR_PLACE))])
    assert ranked(DELAY, scene, held) == [(second, 2), (third, 2)]


def test_by_quincy_what_waits_longest_is_next():
    scene = CycleScene([[0]])
    late, early = scene.ask(1, since_s=-1.0), scene.ask(2, since_s=-5.0, arrived_s=9.0)
    assert ranked(QUINCY, scene) == [(early, 2), (late, 1)]


def test_by_tetris_short_jobs_are_next_and_then_what_fills_most():
    scene = CycleScene([[0, 0]])
    long, short = scene.ask(9, (1, 1), expected_s=100.0), scene.ask(1, (1, 1), expected_s=1.0, arrived_s=1.0)
    assert ranked(TETRIS, scene) == [(short, 1), (long, 9)]
    packs = tetris(PackingRules(short_jobs=0.0, fairness=0.0))
    large = scene.ask(1, (4, 4), arrived_s=2.0)
    assert ranked(packs, scene)[0] == (large, 1)


def test_by_tetris_jobs_that_have_most_come_last_those_counted_that_start_now():
    scene = CycleScene([[8, 8]])
    rich = scene.ask(30, (1, 1), job=scene.job(running=1.0))
    others = [scene.ask(9, (1, 1), job=scene.job(running=2.0)) for _ in range(3)]
    fair = tetris(PackingRules(short_jobs=0.0, fairness=0.25))
    assert ranked(fair, scene, Plan())[0] == (rich, 30), "all equal: in turn"
    plan = scene.decide(tetris(PackingRules(short_jobs=-1.0, fairness=0.0)))
    assert plan.granted()[rich] == 8
    assert ranked(fair, scene, plan) == [*((other, 9) for other in others), (rich, 22)]


def test_by_graphene_the_stage_that_its_plan_wants_earlier_is_next():
    stages = (StageOutline(4, 1.0, (1, 1)), StageOutline(1, 50.0, (1, 1)))
    scene = CycleScene([[0, 0]])
    job = scene.job()
    rows = [scene.ask(count, (1, 1), job=job, stage=stage) for stage, count in enumerate((4, 1))]
    scene.knowledge = Knowledge(graphs={job: stages}, stage_weights={job: {0: 0.2, 1: 1.0}}, finished={job: (0, 0)})
    assert ranked(GRAPHENE, scene) == [(rows[1], 1), (rows[0], 4)]


@pytest.mark.parametrize("others_wait", [True, False])
def test_by_jockey_what_deadlines_take_is_next_and_then_jobs_without_and_no_more(others_wait):
    scene = CycleScene([[0]])
    job = scene.job(deadline_s=90.0)
    mine = scene.ask(4, job=job)
    others = [scene.ask(50, job=scene.job(arrived_s=1.0))] if others_wait else []
    stages = (FormerStage((10.0,), 4), FormerStage((20.0,), 2, (0,)))
    forecast = build_forecast(stages, 4, seeded(1, "ranking").randrange)
    scene.knowledge = Knowledge(finished={job: (0, 0)}, forecasts={job: forecast})
    (first, takes), *rest = ranked(JOCKEY, scene)
    assert first == mine
    assert 0 < takes < 4
    assert rest == [(other, 50) for other in others]
