"""Calls that hang: nobody waits for them, and no more of them begin than may hang."""

import threading

import pytest

from adapters.ldap.directory import LimitedCalls
from shim.errors import UnavailableError


@pytest.fixture
def gate():
    made = threading.Event()
    yield made
    made.set()


def test_what_returns_or_raises_in_time_is_passed_on():
    calls = LimitedCalls(60.0)
    assert calls.run(lambda: 7) == 7
    with pytest.raises(KeyError):
        calls.run(lambda: {}["nothing"])


def test_a_call_that_hangs_is_given_up_and_counts_until_it_ends(gate):
    calls = LimitedCalls(0.01, most=2)
    for _ in range(2):
        with pytest.raises(UnavailableError, match="not done within"):
            calls.run(gate.wait)
    with pytest.raises(UnavailableError, match="2 calls have not ended"):
        calls.run(lambda: 7)
    gate.set()
    while True:
        try:
            assert calls.run(lambda: 7) == 7
        except UnavailableError:
            continue
        break
