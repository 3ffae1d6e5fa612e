"""Cookies: signed, in time, and remembered up to a bound."""

import tracemalloc
from collections.abc import Callable

from shim.identity.cookies import Cookies
from tests.doubles.clock import FakeClock

KEY = b"k" * 32
MIB = 1024 * 1024


def grown_by(work: Callable[[], None]) -> int:
    """Bytes that are held after some work, and were not before."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        work()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return after - before


def value_of(cookie: str | None) -> str:
    assert cookie is not None
    return cookie.partition("=")[2].partition(";")[0]


def test_a_cookie_names_its_user_until_it_expires() -> None:
    clock = FakeClock()
    cookies = Cookies(KEY, clock, validity_s=60.0)
    value = value_of(cookies.issue("alice"))
    assert cookies.verify(value) == "alice"
    assert Cookies(b"o" * 32, clock, validity_s=60.0).verify(value) is None
    clock.wall_s += 60.0
    assert cookies.verify(value) is None


def test_made_up_names_fill_no_memory() -> None:
    cookies = Cookies(KEY, FakeClock(), validity_s=60.0)

    def issue_many() -> None:
        for number in range(20_000):
            cookies.issue(f"user{number}")

    assert grown_by(issue_many) < MIB


def test_many_cookies_that_come_fill_no_memory() -> None:
    cookies = Cookies(KEY, FakeClock(), validity_s=60.0)
    values = [value_of(cookies.issue(f"user{number}")) for number in range(20_000)]

    def verify_many() -> None:
        assert all(cookies.verify(value) for value in values)

    assert grown_by(verify_many) < MIB
