"""C(p, a) to the digit, and what holds of every table."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shim.scheduling.completion_table import (
    CompletionTable,
    JobForecast,
    allocation_grid,
    build_forecast,
    simulate_run,
)
from shim.scheduling.former_runs import FormerStage
from shim.simulation.engine import seeded
from tests.support.examples import examples

STAGES = (FormerStage((10.0,), 4), FormerStage((20.0,), 2, (0,)))


def test_what_is_left_at_the_begin_and_with_all_maps_done():
    forecast = build_forecast(STAGES, 4, seeded(1, "table").randrange)
    assert forecast.table.grid == (1, 2, 3, 4)
    assert forecast.table.at(0.0).tolist() == [80.0, 40.0, 40.0, 30.0]
    progress, parts = forecast.progress((4, 0))
    grid, left_s = forecast.left_s(progress, parts, 9)
    assert (grid, left_s.tolist()) == ((1, 2, 3, 4), [40.0, 20.0, 20.0, 20.0])
    assert forecast.left_s(progress, parts, 2)[0] == (1, 2)


def test_between_two_buckets_the_line_through_them_counts():
    table = CompletionTable((1,), np.array([[40.0], [20.0], [0.0]]))
    assert [table.at(progress)[0] for progress in (0.0, 0.25, 0.5, 0.75, 1.0, 2.0)] == [
        40.0,
        30.0,
        20.0,
        10.0,
        0.0,
        0.0,
    ]


@pytest.mark.parametrize(("count", "every"), [(50, 1), (799, 1), (800, 2), (1200, 3)])
def test_of_a_large_stage_an_event_is_as_many_ends_as_make_four_hundred_of_them(count, every):
    run = simulate_run((FormerStage((1.0,), count),), 1, seeded(1, "run").randrange)
    assert [round(part * count) for _, (part,) in run.events] == [*range(0, count, every), count]


@pytest.mark.parametrize("count", [1, 2, 7])
def test_the_part_of_a_stage_that_has_ended_is_of_its_tasks_and_none_of_one_without(count):
    forecast = JobForecast((FormerStage((10.0,), count), FormerStage((10.0,), 0)))
    for done in range(count + 2):
        assert forecast.progress((done, 0))[1] == (min(1.0, done / count), 0.0)


@pytest.mark.parametrize(("most", "grid"), [(1, (1,)), (5, (1, 2, 3, 4, 5)), (16, (1, 2, 3, 4, 6, 8, 10, 12, 15, 16))])
def test_allocations_of_the_columns(most, grid):
    assert allocation_grid(most) == grid


@settings(max_examples=examples(25), deadline=None)
@given(
    sizes=st.lists(st.tuples(st.integers(1, 9), st.floats(0.5, 30.0)), min_size=1, max_size=4),
    allocation=st.integers(1, 12),
    seed=st.integers(0, 99),
)
def test_a_run_works_off_everything_and_no_sooner_than_possible(sizes, allocation, seed):
    stages = tuple(
        FormerStage((mean_s, mean_s / 2), count, (at - 1,) if at else ()) for at, (count, mean_s) in enumerate(sizes)
    )
    run, again = (simulate_run(stages, allocation, seeded(seed, "run").randrange) for _ in range(2))
    assert run == again
    assert run.events[-1] == (run.ends_s, (1.0,) * len(stages))
    least_s = sum(count * mean_s / 2 for count, mean_s in sizes) / allocation
    assert run.ends_s >= least_s - 1e-9
    times = [at_s for at_s, _ in run.events]
    assert times == sorted(times)
