"""The groups of users: asked for in threads, kept, and never guessed."""

import itertools
import os
import pwd
import threading
import time
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
import structlog

from shim.app.directory import open_groups
from shim.app.groups import GroupDirectory
from shim.app.host_limits import current_user, groups_of
from shim.config.ldap import LDAPConfig
from shim.errors import ConfigError, UnavailableError


class GroupsOfHost:
    """Tells everybody's groups, or takes as long as it likes."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.fails = False
        self.now_s = 0.0
        self.groups = frozenset({"staff"})

    def look_up(self, user: str) -> frozenset[str]:
        self.asked[user] += 1
        assert self.goes_on.wait(60)
        if self.fails:
            raise OSError("the directory is away")
        return self.groups

    def time(self) -> float:
        return self.now_s


@pytest.fixture
def machine():
    made = GroupsOfHost()
    yield made
    made.goes_on.set()


def directory_of(machine: GroupsOfHost, **options: Any) -> GroupDirectory:
    return GroupDirectory(machine.look_up, now_s=machine.time, **{"wait_s": 60.0, **options})


def test_trouble_is_logged_once_in_a_while_and_by_its_reason(machine):
    directory = directory_of(machine)
    machine.fails = True
    with structlog.testing.capture_logs() as logged:
        for now_s in (0.0, 59.0, 61.0):
            machine.now_s = now_s
            with pytest.raises(UnavailableError):
                directory("ada")
    assert [each["error"] for each in logged] == ["the directory is away"] * 2


def test_they_are_asked_for_once(machine):
    directory = directory_of(machine)
    assert [directory("ada") for _ in range(3)] == [{"staff"}] * 3
    assert machine.asked == {"ada": 1}


def test_what_is_old_is_used_while_it_is_asked_for_again(machine):
    directory = directory_of(machine, fresh_s=10, stale_s=100)
    directory("ada")
    machine.goes_on.clear()
    machine.now_s, machine.groups = 11.0, frozenset({"guests"})
    assert [directory("ada") for _ in range(3)] == [{"staff"}] * 3
    machine.goes_on.set()
    while directory("ada") == {"staff"}:
        time.sleep(0.001)  # without a rest, one of many calls may fall between the answer and its being kept
    assert machine.asked == {"ada": 2}


def test_who_cannot_be_told_is_not_taken_for_one_without_groups(machine):
    machine.goes_on.clear()
    directory = directory_of(machine, wait_s=0.001)
    with pytest.raises(UnavailableError, match="not known yet"):
        directory("ada")


def test_what_is_too_old_is_not_used(machine):
    directory = directory_of(machine, fresh_s=10, stale_s=100)
    directory("ada")
    machine.now_s, machine.fails = 101.0, True
    with pytest.raises(UnavailableError):
        directory("ada")


def test_nobody_waits_where_no_thread_is_free(machine):
    machine.goes_on.clear()
    directory = directory_of(machine, wait_s=0.001, threads=2)
    for user in ("a", "b"):
        with pytest.raises(UnavailableError):
            directory(user)
    patient = directory_of(machine, threads=0)  # it would wait for a minute
    with pytest.raises(UnavailableError):
        patient("c")
    with pytest.raises(UnavailableError):
        directory("a")


def test_questions_are_bounded(machine):
    machine.goes_on.clear()
    threads_before = threading.active_count()
    directory = directory_of(machine, wait_s=0.001, most_open=5)
    for number in range(100):
        with pytest.raises(UnavailableError):
            directory(f"u{number}")
    assert len(directory._open) == 5
    assert threading.active_count() <= threads_before + 2


def test_what_is_kept_is_bounded(machine):
    directory = directory_of(machine, most_kept=10)
    for number in range(50):
        directory(f"u{number}")
    assert len(directory) == 10


@pytest.mark.parametrize("user", ["nobody-has-this-name", "a\0b", "\ud800", "a" * 5000])
def test_a_name_that_is_nobodys_has_no_groups(user):
    assert groups_of(user) == frozenset()


def test_this_user_has_groups():
    assert GroupDirectory(wait_s=60.0)(current_user()) == groups_of(current_user()) != frozenset()


def test_who_the_machine_finds_by_other_letters_has_no_groups(monkeypatch):
    """A directory behind the machine's names compares without case."""
    found = pwd.getpwuid(os.getuid())
    monkeypatch.setattr(pwd, "getpwnam", lambda _: found)
    assert groups_of(found.pw_name)
    assert groups_of(found.pw_name.upper()) == groups_of(f"{found.pw_name} ") == frozenset()


@pytest.mark.parametrize("user_filter", ["(!({user}))", "(uid>={user})", "(uid:caseExactMatch:={user})"])
def test_a_filter_that_compares_no_attribute_is_refused(user_filter):
    config = LDAPConfig(urls=("ldaps://x",), user_base="dc=x", user_filter=user_filter)
    with pytest.raises(ConfigError, match="compares no attribute"):
        open_groups(config)


def test_made_up_names_make_callers_wait_for_a_small_part_of_the_time():
    """A directory that takes 15 ms for an answer held the event loop for all of them."""
    ticks = itertools.count()
    waited = []

    def look_up(user):
        waited.append(user)
        return frozenset({"staff"})

    directory = GroupDirectory(look_up, now_s=lambda: float(next(ticks)), fresh_s=1e6, stale_s=1e6, wait_s=5.0)
    told = 0
    for number in range(100):
        with suppress(UnavailableError):
            told += directory(f"name{number}") == {"staff"}
    assert 1 <= told < 50, "some wait, and are told"


def test_no_fault_of_whoever_tells_ends_the_thread_that_asks(machine):
    """A name service, a directory or its library may fail by whatever error: else nobody would be told ever again."""

    def look_up(user: str) -> frozenset[str]:
        if user.startswith("odd"):
            raise {0: ValueError, 1: KeyError, 2: TypeError, 3: UnicodeError, 4: MemoryError}[len(user) % 5]("fails")
        return frozenset({"staff"})

    directory = GroupDirectory(look_up, now_s=machine.time, wait_s=60.0)
    for number in range(10):
        with pytest.raises(UnavailableError):
            directory("odd" + "x" * number)
    assert directory("ada") == {"staff"}
