"""Token buckets, against an oracle that counts: never more than a burst and what the time gives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.rates import Rate

RATES = st.builds(Rate, st.sampled_from([0.5, 1.0, 3.0, 10.0, 1000.0]), st.integers(1, 20))
GAPS = st.lists(st.sampled_from([0.0, 0.0, 0.0, 1e-4, 0.05, 0.1, 0.34, 1.0, 2.0, 50.0]), max_size=120)


def played(rate, gaps, start_s=1000.0):
    """Times of calls, whether each was let in, and how long it was told to wait."""
    now_s, full_at_s, told = start_s, None, []
    for gap_s in gaps:
        now_s += gap_s
        taken = rate.take(full_at_s, now_s)
        full_at_s = taken.full_at_s
        told.append((now_s, taken.wait_s))
    return told


@given(RATES, GAPS)
def test_in_any_stretch_of_time_no_more_is_let_in_than_a_burst_and_the_rate(rate, gaps):
    let_in = [at_s for at_s, wait_s in played(rate, gaps) if not wait_s]
    for first, begins_s in enumerate(let_in):
        for last in range(first, len(let_in)):
            most = rate.burst + (let_in[last] - begins_s) * rate.per_s
            assert last - first + 1 <= most + 1e-3


@given(RATES, GAPS)
def test_it_lets_in_just_what_a_bucket_that_is_refilled_would(rate, gaps):
    level, before_s = float(rate.burst), 1000.0
    for at_s, wait_s in played(rate, gaps):
        level = min(float(rate.burst), level + (at_s - before_s) * rate.per_s)
        before_s = at_s
        if abs(level - 1.0) < 1e-4:  # too near for floating-point numbers to agree: follow it
            level = level - 1.0 if not wait_s else level
            continue
        assert (wait_s == 0.0) is (level >= 1.0)
        if not wait_s:
            level -= 1.0


@given(RATES, GAPS)
def test_who_waits_as_long_as_told_is_let_in_and_who_comes_earlier_is_not(rate, gaps):
    full_at_s, now_s = None, 1000.0
    for gap_s in gaps:
        now_s += gap_s
        taken = rate.take(full_at_s, now_s)
        full_at_s = taken.full_at_s
        if taken.wait_s:
            assert rate.take(full_at_s, now_s + taken.wait_s).wait_s == 0.0
            assert rate.take(full_at_s, now_s + taken.wait_s * 0.9).wait_s > 0.0
            assert taken.wait_s <= 1.0 / rate.per_s + 1e-6


def test_a_call_that_is_not_let_in_takes_nothing():
    rate = Rate(1.0, 1)
    bucket = rate.take(None, 0.0).full_at_s
    for _ in range(1000):
        taken = rate.take(bucket, 0.5)
        assert taken.wait_s > 0
        bucket = taken.full_at_s
    assert rate.take(bucket, 1.0).wait_s == 0.0


def test_a_silence_gives_a_burst_and_no_more():
    rate = Rate(2.0, 5)
    assert [wait_s > 0 for _, wait_s in played(rate, [1e6] + [0.0] * 6)] == [False] * 5 + [True] * 2


@pytest.mark.parametrize("per_s", [0.0, -1.0])
def test_no_rate_is_no_limit(per_s):
    assert not any(wait_s for _, wait_s in played(Rate(per_s, 1), [0.0] * 100))
