"""Moments as answers show them."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.ids import SubClusterId
from shim.federation.core.federation_view import FederationView, Part, ViewSettings
from shim.federation.freshness import Freshness, freshness_of, instant
from tests.doubles.reports import a_report
from tests.doubles.settings import usual

EAST, WEST = SubClusterId("east"), SubClusterId("west")


@given(st.floats(min_value=0, max_value=4e9))
def test_a_moment_is_what_datetime_makes_of_it(time_s):
    moment = dt.datetime.fromtimestamp(time_s, dt.UTC)
    assert instant(time_s) == f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


@pytest.mark.parametrize("time_s", [0.0, 1.9999999, 1800000000.0009999, 1800000000.9999998])
def test_what_rounds_up_is_in_the_next_second(time_s):
    moment = dt.datetime.fromtimestamp(time_s, dt.UTC)
    assert instant(time_s) == f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


@pytest.mark.parametrize("failed", [None, EAST, WEST])
def test_an_answer_is_as_old_as_the_oldest_of_its_parts_that_are_in_time(failed):
    view = FederationView((EAST, WEST), usual(ViewSettings, late_after_s=6.0))
    assert freshness_of(view, Part.NODES, 50.0) == Freshness(50.0, (EAST, WEST))
    view.apply(a_report("east", polled_at_s=100.0))
    view.apply(a_report("west", polled_at_s=103.0))
    if failed is not None:
        view.note_failure(failed, "it is gone", at_s=104.0)
    found = freshness_of(view, Part.NODES, 104.0)
    assert found == Freshness(103.0 if failed is EAST else 100.0, (failed,) if failed else ())
    for each in (EAST, WEST):
        view.note_failure(each, "it is gone", at_s=104.0)
    assert freshness_of(view, Part.NODES, 104.0) == Freshness(100.0, (EAST, WEST))
