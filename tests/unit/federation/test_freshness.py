"""Moments as answers show them."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.federation.freshness import instant


@given(st.floats(min_value=0, max_value=4e9))
def test_a_moment_is_what_datetime_makes_of_it(time_s):
    moment = dt.datetime.fromtimestamp(time_s, dt.UTC)
    assert instant(time_s) == f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


@pytest.mark.parametrize("time_s", [0.0, 1.9999999, 1800000000.0009999, 1800000000.9999998])
def test_what_rounds_up_is_in_the_next_second(time_s):
    moment = dt.datetime.fromtimestamp(time_s, dt.UTC)
    assert instant(time_s) == f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"
