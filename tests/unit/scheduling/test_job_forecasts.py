"""Pace of a run beside what was expected of it, and what a job is predicted by."""

import pytest

from shim.scheduling.completion_table import JobForecast
from shim.scheduling.former_runs import FormerStage
from shim.scheduling.job_forecasts import forecast_of, slowdown_of
from shim.scheduling.knowledge import Knowledge, StageOutline
from tests.support.cycle_scenes import CycleScene

GRAPH = (StageOutline(40, 10.0, (1,)), StageOutline(20, 20.0, (1,), (0,)))


def slowdown(finished, took_s, graph=GRAPH):
    scene = CycleScene([[4]])
    job = scene.job(finished_s=took_s)
    scene.knowledge = Knowledge(graphs={} if graph is None else {job: graph})
    return slowdown_of(scene.snapshot(), job, finished)


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
    assert slowdown((3,), 100.0, graph=None) == 1.0
    assert slowdown((3,), 100.0) == 1.0, "counts of other stages than the graph's"
    assert slowdown((3, 0), 100.0, graph=(StageOutline(4, 0.0, (1,)), StageOutline(2, 0.0, (1,)))) == 1.0


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
    told = JobForecast((FormerStage((1.0,), 2),))
    scene.knowledge = Knowledge(graphs={job: GRAPH}, forecasts={job: told})
    assert forecast_of(scene.snapshot(), job, row) is told


def test_forecast_is_missing_where_a_stage_of_the_graph_is_unknown():
    scene = CycleScene([[4]])
    job = scene.job()
    row = scene.ask(6, job=job, expected_s=5.0)
    scene.knowledge = Knowledge(graphs={job: (StageOutline(4, 0.0, (1,)),)})
    assert forecast_of(scene.snapshot(), job, row) is None
