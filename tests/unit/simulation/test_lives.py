"""Amounts over time by the lives of jobs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.simulation.figures_file import JobBar
from shim.simulation.lives import life_of, memory_over_time, unfinished_over_time

TIMES = st.floats(0.0, 1000.0)


def test_a_life_begins_at_its_arrival():
    assert life_of("a", 10.0, 2.0, 5.0, 7.0).bar == JobBar("a", 10.0, 12.0, 15.0)


@given(st.lists(st.tuples(TIMES, TIMES, st.floats(0.1, 1000.0), st.floats(1.0, 1e6)), min_size=1, max_size=8))
def test_memory_is_neither_lost_nor_made(drawn):
    lives = [life_of("x", at_s, start_s, start_s + ran_s, mib_s) for at_s, start_s, ran_s, mib_s in drawn]
    middles_s, gib = memory_over_time(lives)
    width_s = middles_s[1] - middles_s[0]
    assert float(gib.sum() * width_s * 1024.0) == pytest.approx(sum(each.mib_s for each in lives))
    assert (gib >= -1e-9).all()


def test_memory_is_held_from_launch_to_end():
    middles_s, gib = memory_over_time([life_of("x", 0.0, 50.0, 100.0, 1024.0 * 50)])
    assert gib[middles_s < 50.0].max() == 0.0
    np.testing.assert_allclose(gib[middles_s > 50.0], 1.0)


def test_jobs_count_from_arrival_to_end():
    at_s, counts = unfinished_over_time([JobBar("a", 0.0, 0.0, 24.0), JobBar("b", 6.0, 8.0, 12.0)])
    found = dict(zip(at_s.round(1), counts, strict=True))
    assert [found[time_s] for time_s in (0.0, 5.9, 6.0, 11.9, 12.0, 23.9, 24.0)] == [1, 1, 2, 2, 1, 1, 0]
