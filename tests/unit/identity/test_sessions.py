"""Sealed cookies of browsers."""

import os

import pytest

from shim.identity.sessions import Sessions
from tests.doubles.clock import FakeClock

SECRET, OTHER = b"s" * 32, b"o" * 32


def sessions(clock: FakeClock | None = None, secret: bytes = SECRET, *others: bytes) -> Sessions:
    return Sessions(secret, clock or FakeClock(), os.urandom, lasts_s=100.0, other_secrets=others)


def test_a_session_is_found_by_its_cookie_and_tells_nothing_outside() -> None:
    kept = sessions()
    text = kept.begin("alice", frozenset({"oidc:ops"}))
    found = kept.find(text)
    assert found is not None
    assert (found.user, found.groups) == ("alice", frozenset({"oidc:ops"}))
    assert "alice" not in text
    assert kept.begin("alice", frozenset()) != kept.begin("alice", frozenset())


def test_what_was_changed_is_none() -> None:
    kept = sessions()
    text = kept.begin("alice", frozenset())
    changed = [text[:at] + ("A" if text[at] != "A" else "B") + text[at + 1 :] for at in range(len(text) - 1)]
    for each in (*changed, text[:-4], text + "AAAA", "", "!", "é", "A" * 5000, text[:10]):
        assert kept.find(each) is None, each


async def test_a_session_ends() -> None:
    clock = FakeClock()
    kept = sessions(clock)
    text = kept.begin("alice", frozenset())
    await clock.advance(99.0)
    assert kept.find(text) is not None
    await clock.advance(1.5)
    assert kept.find(text) is None


def test_a_logout_ends_one_session_and_no_other() -> None:
    kept = sessions()
    one, other = kept.begin("alice", frozenset()), kept.begin("alice", frozenset())
    found = kept.find(one)
    assert found is not None
    kept.end(found)
    assert kept.find(one) is None
    assert kept.find(other) is not None


def test_a_login_that_was_begun_is_no_session_nor_the_other_way_round() -> None:
    kept = sessions()
    attempt, text = kept.attempt("/console/")
    assert kept.find(text) is None
    assert kept.find_attempt(kept.begin("alice", frozenset())) is None
    assert kept.find_attempt(text) == attempt
    assert len({attempt.state, attempt.nonce, attempt.verifier}) == 3


async def test_a_login_that_was_begun_ends_after_ten_minutes() -> None:
    clock = FakeClock()
    kept = sessions(clock)
    _, text = kept.attempt("/")
    await clock.advance(599.0)
    assert kept.find_attempt(text) is not None
    await clock.advance(2.0)
    assert kept.find_attempt(text) is None


def test_secrets_are_changed_without_a_logout_and_others_open_nothing() -> None:
    text = sessions(None, OTHER).begin("alice", frozenset())
    assert sessions(None, SECRET, OTHER).find(text) is not None
    assert sessions(None, SECRET).find(text) is None


def test_a_login_stays_used_up_though_others_are_used_after_it() -> None:
    kept = sessions()
    first, second = (kept.attempt("/console/")[0] for _ in range(2))
    assert [kept.use(each) for each in (first, second, first, second)] == [True, True, False, False]


def test_as_many_logouts_are_remembered_as_are_allowed_the_last_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shim.identity.sessions._MOST_ENDED", 3)
    kept = sessions()
    texts = [kept.begin(f"u{number}", frozenset()) for number in range(5)]
    for text in texts[:4]:
        found = kept.find(text)
        assert found is not None
        kept.end(found)
    assert [kept.find(text) is not None for text in texts] == [True, False, False, False, True]


async def test_what_has_ended_by_itself_makes_room_before_what_has_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shim.identity.sessions._MOST_ENDED", 2)
    clock = FakeClock()
    kept, short = sessions(clock), Sessions(SECRET, clock, os.urandom, lasts_s=10.0)
    texts = [kept.begin("mine", frozenset()), short.begin("over", frozenset()), kept.begin("later", frozenset())]
    for text, pause_s in zip(texts, (0.0, 10.0, 0.0), strict=True):
        found = kept.find(text)
        assert found is not None
        kept.end(found)
        await clock.advance(pause_s)
    assert [kept.find(text) for text in texts] == [None, None, None]


async def test_a_session_and_a_login_end_at_their_last_moment() -> None:
    clock = FakeClock()
    kept = sessions(clock)
    text, (attempt, begun) = kept.begin("alice", frozenset()), kept.attempt("/")
    await clock.advance(100.0)
    assert kept.find(text) is None
    await clock.advance(499.9)
    assert kept.find_attempt(begun) == attempt
    await clock.advance(0.1)
    assert kept.find_attempt(begun) is None


async def test_a_login_is_used_up_for_as_long_as_it_is_good_and_then_forgotten() -> None:
    clock = FakeClock()
    kept = sessions(clock)
    attempt, _ = kept.attempt("/")
    assert kept.use(attempt)
    await clock.advance(599.0)
    assert not kept.use(attempt)


def test_a_cookie_of_any_length_is_read_up_to_the_longest() -> None:
    kept = sessions()
    lengths = {}
    for name in ["a" * length for length in (*range(1, 9), *range(2800, 2960))]:
        text = kept.begin(name, frozenset())
        lengths[len(text)] = kept.find(text)
    assert {length % 4 for length in lengths} == {0, 2, 3}, "each rest of base64, which is written without its end"
    assert {4096} < set(lengths)
    assert all((found is not None) is (length <= 4096) for length, found in lengths.items())


def test_a_browser_uses_its_own_login_alone() -> None:
    kept = sessions()
    attempt, text = kept.attempt("/console/", browser="one")
    assert kept.find_attempt(text, browser="one") == attempt
    assert kept.find_attempt(text, browser="other") is None
    assert kept.find_attempt(text) is None
    assert attempt.back_to == "/console/"
