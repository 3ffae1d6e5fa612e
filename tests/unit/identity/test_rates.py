"""Rates of users and addresses: one does not pay for another, and buckets do not fill the memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.errors import TooManyCallsError
from shim.identity.rates import CallRates, Rate, RateLimits
from shim.identity.service import Caller
from tests.doubles.clock import FakeClock

ALICE, BOB = Caller("alice", "alice"), Caller("bob", "bob")


async def test_each_user_and_each_address_has_a_bucket_of_its_own():
    clock, told = FakeClock(), []
    rates = CallRates(RateLimits(Rate(1.0, 2), Rate(1.0, 3)), clock, told.append)
    for _ in range(2):
        rates.by_user(ALICE)
    with pytest.raises(TooManyCallsError, match="the user alice calls more than 1 times a second") as caught:
        rates.by_user(ALICE)
    assert caught.value.retry_after_s == 1
    rates.by_user(BOB)
    rates.by_user(Caller("alice2", "alice"))
    for _ in range(3):
        rates.from_address("10.0.0.1")
    with pytest.raises(TooManyCallsError, match=r"the address 10\.0\.0\.1"):
        rates.from_address("10.0.0.1")
    rates.from_address("10.0.0.2")
    assert told == ["user", "address"]
    await clock.advance(1.0)
    rates.by_user(ALICE)
    with pytest.raises(TooManyCallsError):
        rates.by_user(ALICE)


def test_retry_after_is_whole_seconds_and_long_enough():
    rates = CallRates(RateLimits(user=Rate(0.3, 1)), FakeClock())
    rates.by_user(ALICE)
    with pytest.raises(TooManyCallsError) as caught:
        rates.by_user(ALICE)
    assert caught.value.retry_after_s == 4


def test_who_names_nobody_counts_for_the_address_alone():
    rates = CallRates(RateLimits(user=Rate(1.0, 1)), FakeClock())
    for _ in range(100):
        rates.by_user(Caller("dr.who", "dr.who", is_anonymous=True))


def test_without_limits_nothing_is_kept():
    rates = CallRates(RateLimits(), FakeClock())
    for number in range(1000):
        rates.by_user(Caller(f"u{number}", f"u{number}"))
        rates.from_address(f"10.0.0.{number}")
    assert not rates.buckets


def test_made_up_users_do_not_fill_the_memory():
    rates = CallRates(RateLimits(Rate(1.0, 1), Rate(1.0, 1), remembered=5), FakeClock())
    for number in range(100):
        rates.by_user(Caller(f"u{number}", f"u{number}"))
        rates.from_address(f"10.0.0.{number}")
    assert rates.buckets == 10
    with pytest.raises(TooManyCallsError):
        rates.by_user(Caller("u99", "u99"))
    rates.by_user(Caller("u0", "u0"))


@pytest.mark.parametrize(
    ("user", "address"), [(Rate(0.0, 1), Rate(1.0, 1)), (Rate(1.0, 1), Rate(0.0, 1))], ids=["address", "user"]
)
def test_one_rate_holds_where_the_other_is_not_limited(user, address):
    rates = CallRates(RateLimits(user, address), FakeClock())
    rates.at_once("10.0.0.1", ALICE)
    with pytest.raises(TooManyCallsError):
        rates.at_once("10.0.0.1", ALICE)


def test_a_call_that_is_not_let_in_at_once_takes_nothing_of_either_and_is_not_told():
    told = []
    rates = CallRates(RateLimits(Rate(1.0, 1), Rate(1.0, 3)), FakeClock(), told.append)
    rates.at_once("10.0.0.1", ALICE)
    for _ in range(50):
        with pytest.raises(TooManyCallsError):
            rates.at_once("10.0.0.1", ALICE)
    rates.at_once("10.0.0.1", BOB)
    rates.from_address("10.0.0.1")
    assert not told
    with pytest.raises(TooManyCallsError):
        rates.at_once("10.0.0.1", Caller("carl", "carl"))
    rates.by_user(Caller("carl", "carl"))


def test_calls_under_way_are_counted_by_user_until_they_end():
    told = []
    rates = CallRates(RateLimits(user_calls=2), FakeClock(), told.append)
    with rates.under_way(ALICE), rates.under_way(Caller("alice", "knox")):
        with pytest.raises(TooManyCallsError, match="2 calls of the user alice are under way already") as caught:
            rates.under_way(ALICE).__enter__()
        assert caught.value.retry_after_s == 1
        with rates.under_way(BOB):
            pass
    assert told == ["user_calls"]
    with pytest.raises(KeyError), rates.under_way(ALICE):
        raise KeyError  # a call that fails has ended, too
    for _ in range(3):
        with rates.under_way(ALICE):
            pass


def test_the_nameless_and_calls_without_a_limit_are_not_counted():
    nameless = Caller("dr.who", "", is_anonymous=True)
    rates, unlimited = CallRates(RateLimits(user_calls=1), FakeClock()), CallRates(RateLimits(), FakeClock())
    with rates.under_way(nameless), rates.under_way(nameless), unlimited.under_way(ALICE), unlimited.under_way(ALICE):
        pass


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


def test_the_bucket_used_longest_ago_is_forgotten_and_not_one_that_was_used_since():
    rates = CallRates(RateLimits(user=Rate(1.0, 2), remembered=2), FakeClock())
    for name in ("a", "b", "a", "c"):
        rates.by_user(Caller(name, name))
    with pytest.raises(TooManyCallsError):
        rates.by_user(Caller("a", "a"))
    for _ in range(2):
        rates.by_user(Caller("b", "b"))  # forgotten, so full again


async def test_the_longest_wait_of_the_two_is_told_where_both_refuse():
    clock = FakeClock()
    rates = CallRates(RateLimits(Rate(0.1, 1), Rate(0.5, 1)), clock)
    rates.at_once("10.0.0.1", ALICE)
    with pytest.raises(TooManyCallsError, match="the address") as caught:
        rates.at_once("10.0.0.1", ALICE)
    assert caught.value.retry_after_s == 2
    await clock.advance(2.0)
    with pytest.raises(TooManyCallsError, match=r"the user alice calls more than 0\.1 times") as caught:
        rates.at_once("10.0.0.1", ALICE)
    assert caught.value.retry_after_s == 8
