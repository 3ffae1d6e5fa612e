"""Indicators and Amdahl's estimate to the digit: a map of 4 x 10 s, then a reduce of 2 x 20 s."""

import pytest

from shim.scheduling.completion_table import simulate_run
from shim.scheduling.former_runs import INDICATORS, FormerStage, amdahl_s, critical_path_s
from shim.simulation.engine import seeded

STAGES = (FormerStage((10.0,), 4), FormerStage((20.0,), 2, (0,)))
FORMER = simulate_run(STAGES, 2, seeded(1, "former").randrange).stages


def test_a_former_run_on_two_containers_tells_queueing_and_times():
    assert [stage.queued_s for stage in FORMER] == [20.0, 0.0]
    assert [(stage.begins_s, stage.ends_s) for stage in FORMER] == [(0.0, 20.0), (20.0, 40.0)]
    assert critical_path_s(STAGES, (0.0, 0.0)) == 30.0


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0)),
        ((0.5, 0.0), (0.3, 0.25, 0.3333, 0.1667, 0.25)),
        ((1.0, 0.0), (0.6, 0.5, 0.6667, 0.3333, 0.5)),
        ((1.0, 0.5), (0.8, 0.75, 0.8333, 0.6667, 0.75)),
        ((1.0, 1.0), (1.0, 1.0, 1.0, 1.0, 1.0)),
    ],
)
def test_progress_by_each_indicator(parts, expected):
    names = ("work-with-queueing", "work", "tasks", "critical-path", "earliest-stage")
    assert [INDICATORS[name](FORMER, parts) for name in names] == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((0.0, 0.0), (110.0, 70.0, 50.0)),
        ((0.5, 0.0), (85.0, 55.0, 40.0)),
        ((1.0, 0.0), (60.0, 40.0, 30.0)),
        ((1.0, 0.5), (30.0, 20.0, 15.0)),
    ],
)
def test_amdahl_on_one_two_and_four_containers(parts, expected):
    assert [amdahl_s(STAGES, parts, allocation) for allocation in (1, 2, 4)] == list(expected)
