"""Rates of users and addresses: one does not pay for another, and buckets do not fill the memory."""

import pytest

from shim.domain.rates import Rate
from shim.errors import TooManyCallsError
from shim.identity.rates import CallRates, RateLimits
from shim.identity.service import Caller
from shim.testing.clock import FakeClock

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
    rates = CallRates(RateLimits(at_one_time=2), FakeClock(), told.append)
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
    rates, unlimited = CallRates(RateLimits(at_one_time=1), FakeClock()), CallRates(RateLimits(), FakeClock())
    with rates.under_way(nameless), rates.under_way(nameless), unlimited.under_way(ALICE), unlimited.under_way(ALICE):
        pass
