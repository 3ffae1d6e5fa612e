"""Jockey: what deadlines take, who goes first, what is given back, and what it does without former runs."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.scheduling.completion_table import JobForecast, build_forecast
from shim.scheduling.former_runs import FormerStage
from shim.scheduling.knowledge import Knowledge, StageOutline
from shim.scheduling.policies.jockey import (
    JOCKEY,
    DeadlineRules,
    JockeyRules,
    forecast_of,
    jockey,
    raw_allocation,
    slowdown_of,
    smoothed,
    utility_of_end,
)
from shim.scheduling.snapshot import Column
from shim.simulation.engine import seeded
from tests.support.cycle_scenes import CycleScene

STAGES = (FormerStage((10.0,), 4), FormerStage((20.0,), 2, (0,)))
FORECAST = build_forecast(STAGES, 4, seeded(1, "jockey").randrange)
AT_ONCE_RULES = JockeyRules(DeadlineRules(slack=1.0, dead_periods=0.0, hysteresis=1.0))
AT_ONCE = jockey(AT_ONCE_RULES)


def scene_of(deadline_s, n_free=4, finished=(0, 0)):
    """One job with the maps waiting, and one without a deadline that takes all it can get."""
    scene = CycleScene([[n_free]])
    job, other = scene.job(deadline_s=deadline_s), scene.job(arrived_s=1.0)
    mine, others = scene.ask(4, job=job), scene.ask(50, job=other)
    scene.knowledge = Knowledge(finished={job: finished, other: (0,)}, forecasts={job: FORECAST})
    return scene, job, mine, others


def granted(plan):
    return dict(plan.granted())


@pytest.mark.parametrize(("deadline_s", "containers"), [(90.0, 1), (40.0, 2), (30.0, 4)])
def test_a_deadline_gets_what_it_takes_and_no_more_while_others_wait(deadline_s, containers):
    scene, job, mine, others = scene_of(deadline_s)
    plan = scene.decide(AT_ONCE)
    assert plan.shares == {job: containers}
    assert granted(plan) == {mine: containers, **({others: 4 - containers} if containers < 4 else {})}


def test_what_nobody_else_can_use_is_spare():
    scene, job, mine, others = scene_of(90.0, n_free=4)
    scene.requests.set_count(others, 1)
    plan = scene.decide(AT_ONCE)
    assert plan.shares == {job: 1}
    assert granted(plan) == {mine: 3, others: 1}


def test_who_is_ahead_gives_back_and_who_is_late_gets_more():
    scene, job, _, _ = scene_of(50.0)
    assert scene.decide(AT_ONCE).shares == {job: 2}
    scene.knowledge = Knowledge(finished={job: (4, 0)}, forecasts={job: FORECAST})
    assert scene.decide(AT_ONCE, 5.0).shares == {job: 1}
    assert scene.decide(AT_ONCE, 20.0).shares == {job: 2}


def test_within_a_control_period_nothing_is_computed_anew():
    scene, job, _, _ = scene_of(50.0)
    assert scene.decide(AT_ONCE).shares == {job: 2}
    scene.knowledge = Knowledge(finished={job: (4, 0)}, forecasts={job: FORECAST})
    assert scene.decide(AT_ONCE, 1.0).shares == {job: 2}
    assert scene.decide(AT_ONCE, 1.3).shares == {job: 1}


def test_a_run_slower_than_expected_gets_more_before_its_progress_tells():
    scene, job, _, _ = scene_of(60.0)
    outline = tuple(StageOutline(each.n_tasks, each.work_s / each.n_tasks, (1,), each.parents) for each in STAGES)
    scene.knowledge = Knowledge({job: outline}, {job: (2, 0)}, {job: FORECAST})

    def share(policy, took_s):
        scene.state.memory.clear()
        scene.jobs.put(Column.FINISHED_S, job, took_s)
        return scene.decide(policy, 15.0).shares[job]

    by_progress = jockey(replace(AT_ONCE_RULES, keeps_pace=False))
    assert [share(by_progress, took_s) for took_s in (20.0, 40.0)] == [2, 2]
    assert [share(AT_ONCE, took_s) for took_s in (20.0, 40.0)] == [2, 4]


def test_progress_never_falls():
    scene, job, _, _ = scene_of(60.0, finished=(4, 0))
    first = scene.decide(AT_ONCE, 5.0).shares
    scene.knowledge = Knowledge(finished={job: (0, 0)}, forecasts={job: FORECAST})
    assert scene.decide(AT_ONCE, 10.0).shares == first == {job: 1}


def test_least_slack_goes_first_where_not_all_deadlines_can_be_backed():
    scene = CycleScene([[3]])
    loose, tight = scene.job(deadline_s=90.0), scene.job(deadline_s=31.0, arrived_s=0.5)
    rows = [scene.ask(4, job=job) for job in (loose, tight)]
    scene.knowledge = Knowledge(
        finished={loose: (0, 0), tight: (0, 0)}, forecasts=dict.fromkeys((loose, tight), FORECAST)
    )
    plan = scene.decide(AT_ONCE)
    assert granted(plan) == {rows[1]: 3}
    assert {hold.request for hold in plan.holds} == set(rows)


def test_a_row_that_another_job_uses_begins_anew():
    scene, job, _, _ = scene_of(30.0)
    slow = jockey(JockeyRules(DeadlineRules(slack=1.0, dead_periods=0.0)))
    assert scene.decide(slow).shares == {job: 4}
    scene.jobs.put(Column.ARRIVED_S, job, 100.0)
    scene.jobs.put(Column.DEADLINE_S, job, 190.0)
    assert scene.decide(slow, 100.0).shares == {job: 1}


def test_without_former_runs_what_is_stated_counts_by_amdahl_and_without_that_all_is_backed():
    scene = CycleScene([[8]])
    job = scene.job(deadline_s=40.0)
    scene.ask(8, job=job, expected_s=10.0)
    assert scene.decide(AT_ONCE).shares == {job: 3}  # 10 + 80 / 3 s
    unknown = CycleScene([[8]])
    unknown.ask(8, job=unknown.job(deadline_s=40.0))
    plan = unknown.decide(JOCKEY)
    assert list(plan.shares.values()) == [8], "nobody can say that fewer would do"
    assert sum(grant.count for grant in plan.grants) == 8


def test_variants_keep_the_first_allocation_or_a_fixed_one():
    scene, job, _, _ = scene_of(50.0)
    once, fixed = jockey(JockeyRules(adapts=False)), jockey(JockeyRules(fixed=3))
    first = scene.decide(once).shares
    assert scene.decide(once, 45.0).shares == first
    scene.state.memory.clear()
    assert scene.decide(fixed).shares == {job: 3}


GRAPH = (StageOutline(40, 10.0, (1,)), StageOutline(20, 20.0, (1,), (0,)))


EXPECTED = (FormerStage((10.0,), 40), FormerStage((20.0,), 20, (0,)))


def slowdown(finished, took_s, expected=EXPECTED):
    scene = CycleScene([[4]])
    return slowdown_of(scene.snapshot(), scene.job(finished_s=took_s), expected, finished)


@pytest.mark.parametrize(
    ("finished", "took_s", "expected"),
    [
        ((0, 0), 0.0, 1.0),
        ((40, 0), 400.0, 1.0),
        ((40, 0), 808.0, 2.0),
        ((40, 10), 296.0, 0.5),
        ((1, 0), 100.0, 108 / 18),  # a hundredth of the 800 s counts as expected
    ],
)
def test_slowdown_is_what_ended_tasks_took_beside_what_was_expected_of_them(finished, took_s, expected):
    assert slowdown(finished, took_s) == pytest.approx(expected)


def test_slowdown_is_one_where_nothing_is_expected():
    assert slowdown((3,), 100.0, ()) == 1.0
    assert slowdown((3,), 100.0) == 1.0, "counts of other stages than the graph's"
    assert slowdown((3, 0), 100.0, (FormerStage((0.0,), 4), FormerStage((0.0,), 2))) == 1.0
    assert slowdown((3, 0), 0.0) == 1.0, "what they took is not known"


def test_forecast_is_of_former_runs_first_then_of_the_graph_then_of_the_request():
    scene = CycleScene([[4]])
    job = scene.job()
    row = scene.ask(6, job=job, expected_s=5.0)
    alone = forecast_of(scene.snapshot(), job, row)
    assert alone is not None
    assert alone.stages == (FormerStage((5.0,), 6),)
    scene.knowledge = Knowledge(graphs={job: GRAPH})
    stages = (FormerStage((10.0,), 40), FormerStage((20.0,), 20, (0,)))
    found = forecast_of(scene.snapshot(), job, row)
    assert found is not None
    assert found.stages == stages
    told = JobForecast((FormerStage((1.0,), 42), FormerStage((1.0,), 19, (0,))))
    scene.knowledge = Knowledge(graphs={job: GRAPH}, forecasts={job: told})
    assert forecast_of(scene.snapshot(), job, row) is told


def test_former_runs_of_other_stages_or_other_sizes_are_not_taken_at_their_word():
    scene, job, mine, _ = scene_of(90.0)
    same = (StageOutline(4, 10.0, (1,)), StageOutline(2, 20.0, (1,), (0,)))
    grown = (StageOutline(400, 10.0, (1,)), StageOutline(2, 20.0, (1,), (0,)))

    def found(graph, finished):
        scene.knowledge = Knowledge({job: graph}, {job: finished}, {job: FORECAST})
        scene.state.memory.clear()
        return forecast_of(scene.snapshot(), job, mine), scene.decide(AT_ONCE).shares[job]

    assert found(same, (0, 0)) == (FORECAST, 1)
    larger, share = found(grown, (0, 0))
    assert (larger.table, [stage.n_tasks for stage in larger.stages]) == (None, [400, 2])
    assert share == 4, "4,000 s of work by 90 s"
    other, share = found((*same, StageOutline(1, 5.0, (1,), (1,))), (0, 0, 0))
    assert [stage.n_tasks for stage in other.stages] == [4, 2, 1]
    assert share == 2


def test_a_former_run_of_quite_other_times_is_not_believed():
    stages = (FormerStage((10.0,), 40), FormerStage((20.0,), 20, (0,)))
    scene = CycleScene([[100]])
    job = scene.job(deadline_s=4000.0)
    scene.ask(34, job=job)
    scene.ask(1000, job=scene.job())
    forecast = build_forecast(stages, 60, seeded(1, "jockey").randrange)

    def share(took_s, own_s, policy=AT_ONCE):
        own = (StageOutline(40, own_s, (1,)), StageOutline(20, 2.0 * own_s, (1,), (0,)))
        scene.knowledge = Knowledge({job: own}, {job: (6, 0)}, {job: forecast})
        scene.state.memory.clear()
        scene.jobs.put(Column.FINISHED_S, job, took_s)
        scene.jobs.put(Column.TASKS, job, 60.0)
        return scene.decide(policy, 60.0).shares[job]

    assert share(60.0, 300.0) == 1, "its pace is as expected: the former run counts"
    assert share(1800.0, 300.0) == share(1800.0, 300.0, jockey(replace(AT_ONCE_RULES, uses_table=False))) > 5
    assert share(1800.0, 0.0) == 34, "nothing is known of its own times: all that it asks for"
    assert share(1800.0, 300.0, jockey(replace(AT_ONCE_RULES, trusted_pace=1000.0))) != share(1800.0, 300.0)


@pytest.mark.parametrize("finished", [(), (0,), (0, 0, 0)])
def test_counts_of_other_stages_than_the_forecasts_break_no_cycle(finished):
    scene, job, _, _ = scene_of(90.0, finished=finished)
    plan = scene.decide(AT_ONCE)
    assert sum(granted(plan).values()) == 4
    assert plan.shares[job] >= 1


def test_forecast_is_missing_where_a_stage_of_the_graph_is_unknown():
    scene = CycleScene([[4]])
    job = scene.job()
    row = scene.ask(6, job=job, expected_s=5.0)
    scene.knowledge = Knowledge(graphs={job: (StageOutline(4, 0.0, (1,)),)})
    assert forecast_of(scene.snapshot(), job, row) is None


GRID = (1, 2, 3, 4)
BEGIN, MAPS_DONE = np.array([80.0, 40.0, 40.0, 30.0]), np.array([40.0, 20.0, 20.0, 20.0])


@pytest.mark.parametrize(
    ("end", "worth"), [(60, 1.0), (65, 0.0), (70, -1.0), (71, -2.009), (100, -31.273), (1060, -1000.0)]
)
def test_worth_of_an_end_for_a_deadline_at_60(end, worth):
    assert utility_of_end(end, 60.0) == pytest.approx(worth, abs=5e-4)


@pytest.mark.parametrize(
    ("left", "elapsed", "deadline", "slack", "dead", "expected"),
    [
        (BEGIN, 0.0, 60.0, 1.2, 3.0, 2),
        (BEGIN, 0.0, 45.0, 1.0, 0.0, 2),
        (BEGIN, 0.0, 45.0, 1.2, 0.0, 4),
        (BEGIN, 0.0, 45.0, 1.2, 10.0, 4),
        (MAPS_DONE, 20.0, 45.0, 1.2, 0.0, 2),
        (MAPS_DONE, 30.0, 45.0, 1.2, 0.0, 2),  # lost: more containers would not help
    ],
)
def test_the_least_allocation_that_is_worth_most(left, elapsed, deadline, slack, dead, expected):
    rules = DeadlineRules(slack=slack, dead_periods=dead)
    assert raw_allocation(GRID, left, elapsed, deadline, rules) == expected


def test_hysteresis_from_10_to_20():
    at, used = 10.0, []
    for _ in range(8):
        at = smoothed(at, 20, 0.2)
        used.append(math.ceil(at - 1e-9))
    assert used == [12, 14, 15, 16, 17, 18, 18, 19]
    assert at == pytest.approx(18.322, abs=5e-4)
    assert smoothed(None, 7, 0.2) == 7.0


@given(st.lists(st.integers(0, 500), min_size=4, max_size=4), st.integers(0, 300), st.integers(0, 300))
def test_who_is_later_is_never_given_less_while_containers_still_help_in_time(left, elapsed, later):
    falling = np.sort(np.array(left, dtype=np.float64))[::-1]
    rules = DeadlineRules(slack=1.0, dead_periods=0.0)
    deadline = elapsed + later + float(falling[-1])  # the most containers make it even when later
    first = raw_allocation(GRID, falling, elapsed, deadline, rules)
    assert raw_allocation(GRID, falling, elapsed + later, deadline, rules) >= first


@given(st.floats(0.0, 2000.0), st.floats(0.0, 2000.0), st.floats(1.0, 500.0))
def test_an_earlier_end_is_worth_no_less(one, other, deadline):
    early, late = sorted((one, other))
    assert utility_of_end(early, deadline) >= utility_of_end(late, deadline)


def test_the_pace_goes_by_times_of_tasks_where_containers_run_several():
    scene = CycleScene([[4]])
    job = scene.job(finished_s=10.0)
    scene.knowledge = Knowledge(ran_s={job: (20.0, 0.0)})
    found = slowdown_of(scene.snapshot(), job, EXPECTED, (30, 5))
    assert found == pytest.approx((600.0 + 8.0) / (300.0 + 8.0)), "the second stage was not timed: it says nothing"
