"""The groups of users: asked for in threads, kept, and never guessed."""

import asyncio
import concurrent.futures
import gc
import os
import pwd
import threading
from collections import Counter
from typing import Any

import pytest
import structlog

from shim.app.directory import open_groups
from shim.app.groups import GroupDirectory
from shim.app.host_limits import current_user, groups_of
from shim.config.ldap import LDAPConfig
from shim.errors import ConfigError, GroupsUnknownError, UnavailableError
from shim.identity.service import in_time


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


async def told(directory: GroupDirectory, user: str = "ada") -> frozenset[str]:
    return await in_time(lambda: directory(user))


async def test_trouble_is_logged_once_in_a_while_and_by_its_reason(machine):
    directory = directory_of(machine)
    machine.fails = True
    with structlog.testing.capture_logs() as logged:
        for now_s in (0.0, 59.0, 61.0):
            machine.now_s = now_s
            with pytest.raises(UnavailableError):
                await told(directory)
    assert [each["error"] for each in logged] == ["the directory is away"] * 2


async def test_they_are_asked_for_once(machine):
    directory = directory_of(machine)
    assert await asyncio.gather(*(told(directory) for _ in range(3))) == [{"staff"}] * 3
    assert directory("ada") == {"staff"}
    assert machine.asked == {"ada": 1}


async def test_what_is_old_is_used_while_it_is_asked_for_again(machine):
    directory = directory_of(machine, fresh_s=10, stale_s=100)
    await told(directory)
    machine.goes_on.clear()
    machine.now_s, machine.groups = 11.0, frozenset({"guests"})
    assert [directory("ada") for _ in range(3)] == [{"staff"}] * 3
    machine.goes_on.set()
    while directory("ada") == {"staff"}:  # noqa: ASYNC110 - it is asked meanwhile
        await asyncio.sleep(0.001)  # without a rest, one of many calls may fall between the answer and its being kept
    assert machine.asked == {"ada": 2}


async def test_who_cannot_be_told_is_not_taken_for_one_without_groups(machine):
    machine.goes_on.clear()
    directory = directory_of(machine, wait_s=0.001)
    with pytest.raises(UnavailableError, match="not known yet"):
        await told(directory)


async def test_what_is_too_old_is_not_used(machine):
    directory = directory_of(machine, fresh_s=10, stale_s=100)
    await told(directory)
    machine.now_s, machine.fails = 101.0, True
    with pytest.raises(UnavailableError):
        await told(directory)


async def test_a_question_that_hangs_gathers_nobody_who_has_given_it_up(machine):
    machine.goes_on.clear()
    directory = directory_of(machine, wait_s=0.0)
    open_before = count_of_open_futures()
    for _ in range(100):
        with pytest.raises(GroupsUnknownError):
            await told(directory)
    assert count_of_open_futures() <= open_before + 2


def count_of_open_futures() -> int:
    gc.collect()
    kinds = (asyncio.Future, concurrent.futures.Future)
    return sum(1 for each in gc.get_objects() if isinstance(each, kinds) and not each.done())


def test_questions_are_bounded(machine):
    machine.goes_on.clear()
    threads_before = threading.active_count()
    directory = directory_of(machine, most_open=5)
    for number in range(100):
        with pytest.raises(UnavailableError):
            directory(f"u{number}")
    assert len(directory._open) == 5
    assert threading.active_count() <= threads_before + 2


async def test_what_is_kept_is_bounded(machine):
    directory = directory_of(machine, most_kept=10)
    for number in range(50):
        await told(directory, f"u{number}")
    assert len(directory) == 10


@pytest.mark.parametrize("user", ["nobody-has-this-name", "a\0b", "\ud800", "a" * 5000])
def test_a_name_that_is_nobodys_has_no_groups(user):
    assert groups_of(user) == frozenset()


async def test_this_user_has_groups():
    assert await told(GroupDirectory(wait_s=60.0), current_user()) == groups_of(current_user()) != frozenset()


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


async def test_made_up_names_hold_up_nobody(machine, monkeypatch):
    """A directory that takes a while for an answer held the event loop for all of them."""
    waited, wait = set(), threading.Condition.wait

    def noted(self, timeout=None):
        if timeout is not None:  # without one, a thread waits for the start of another
            waited.add(threading.get_ident())
        return wait(self, timeout)

    monkeypatch.setattr(threading.Condition, "wait", noted)
    machine.goes_on.clear()
    directory = directory_of(machine)
    waiting = [asyncio.create_task(told(directory, f"name{number}")) for number in range(50)]
    asyncio.get_running_loop().call_soon(machine.goes_on.set)
    assert await asyncio.gather(*waiting) == [{"staff"}] * 50
    assert threading.get_ident() not in waited


async def test_no_fault_of_whoever_tells_ends_the_thread_that_asks(machine):
    """A name service, a directory or its library may fail by whatever error: else nobody would be told ever again."""

    def look_up(user: str) -> frozenset[str]:
        if user.startswith("odd"):
            raise {0: ValueError, 1: KeyError, 2: TypeError, 3: UnicodeError, 4: MemoryError}[len(user) % 5]("fails")
        return frozenset({"staff"})

    directory = GroupDirectory(look_up, now_s=machine.time, wait_s=60.0)
    for number in range(10):
        with pytest.raises(UnavailableError):
            await told(directory, "odd" + "x" * number)
    assert await told(directory) == {"staff"}
