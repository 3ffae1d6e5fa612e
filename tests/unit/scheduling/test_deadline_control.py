"""Utility, raw allocation and hysteresis to the digit, and how they answer to lateness."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.scheduling.deadline_control import DeadlineRules, raw_allocation, smoothed, utility_of_end

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
