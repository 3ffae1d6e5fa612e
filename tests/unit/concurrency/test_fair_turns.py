"""Whose turn it is: against a model that counts, and with passes of a loop that a test makes."""

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.concurrency.fair_turns import FairTurns, RoundRobin

WHO = st.tuples(st.sampled_from(["10.0.0.1", "10.0.0.2", "10.0.0.3"]), st.sampled_from([b"", b"alice", b"bob"]))


@given(st.lists(WHO, max_size=60))
def test_every_entry_comes_once_and_each_users_own_in_their_order(entries: list[tuple[str, bytes]]) -> None:
    turns: RoundRobin[tuple[str, bytes, int]] = RoundRobin()
    for number, (address, user) in enumerate(entries):
        turns.put(address, user, (address, user, number))
    assert len(turns) == len(entries)
    taken = [turns.pop() for _ in entries]
    assert sorted(taken, key=lambda entry: entry[2]) == [(*who, number) for number, who in enumerate(entries)]
    for who in set(entries):
        own = [number for address, user, number in taken if (address, user) == who]
        assert own == sorted(own)
    with pytest.raises(IndexError):
        turns.pop()


@given(st.lists(WHO, min_size=1, max_size=60))
def test_nobody_is_two_rounds_ahead_of_another_who_waits(entries: list[tuple[str, bytes]]) -> None:
    turns: RoundRobin[tuple[str, bytes]] = RoundRobin()
    for address, user in entries:
        turns.put(address, user, (address, user))
    left, addresses, users = Counter(entries), Counter[str](), Counter[tuple[str, bytes]]()
    for _ in entries:
        address, user = turns.pop()
        left[address, user] -= 1
        addresses[address] += 1
        users[address, user] += 1
        waiting = +left
        for other, who in waiting:
            assert addresses[other] >= addresses[address] - 1
            if other == address:
                assert users[other, who] >= users[address, user] - 1


def test_one_who_sends_little_waits_one_round_beside_a_flood() -> None:
    turns: RoundRobin[str] = RoundRobin()
    for number in range(1000):
        turns.put("10.0.0.1", b"mallory", f"flood {number}")
    turns.put("10.0.0.1", b"alice", "of the same address")
    turns.put("10.0.0.2", b"bob", "of another one")
    assert [turns.pop() for _ in range(4)] == ["flood 0", "of another one", "of the same address", "flood 1"]


class Loop:
    """Passes of an event loop, made by a test."""

    def __init__(self) -> None:
        self.soon: deque[Callable[[], None]] = deque()

    def call_soon(self, work: Callable[[], None]) -> None:
        self.soon.append(work)

    def run_pass(self) -> None:
        for _ in range(len(self.soon)):
            self.soon.popleft()()


def test_so_many_begin_in_a_pass_and_the_rest_in_the_next_ones() -> None:
    loop, done = Loop(), list[int]()
    turns = FairTurns(loop.call_soon, each_pass=3)
    for number in range(8):
        if turns.take():
            done.append(number)
        else:
            turns.wait("10.0.0.1", b"alice", partial(done.append, number))
    assert done == [0, 1, 2]
    loop.run_pass()
    assert (done, len(turns)) == ([0, 1, 2, 3, 4, 5], 2)
    assert not turns.take(), "what comes now passes nobody who waits"
    loop.run_pass()
    assert (done, len(turns)) == ([0, 1, 2, 3, 4, 5, 6, 7], 0)
    assert turns.take()
    while loop.soon:
        loop.run_pass()
    assert [turns.take() for _ in range(4)] == [True, True, True, False]


def test_work_that_takes_longer_counts_for_several() -> None:
    loop, done = Loop(), list[int]()
    turns = FairTurns(loop.call_soon, each_pass=4)

    def work(number: int) -> None:
        done.append(number)
        turns.spend(2)

    assert turns.take()
    turns.spend(2)
    assert [turns.take(), turns.take()] == [True, False]
    for number in range(4):
        turns.wait("10.0.0.1", b"alice", partial(work, number))
    loop.run_pass()
    assert done == [0, 1]
    loop.run_pass()
    assert done == [0, 1, 2, 3]


def test_work_that_fails_holds_up_nobody() -> None:
    loop, done = Loop(), list[str]()
    turns = FairTurns(loop.call_soon, each_pass=1)
    assert turns.take()

    def fail() -> None:
        raise ValueError("a connection's own trouble")

    turns.wait("10.0.0.1", b"alice", fail)
    turns.wait("10.0.0.1", b"alice", lambda: done.append("next"))
    with pytest.raises(ValueError, match="own trouble"):
        loop.run_pass()
    loop.run_pass()
    assert done == ["next"]


async def test_work_after_a_wait_takes_turns_with_that_of_others():
    """One user has a hundred answers to put together, another has one: it is his turn at the second one."""
    turns = FairTurns(asyncio.get_running_loop().call_soon, each_pass=1)
    done = []

    async def work(user):
        await turns.turn("", user)
        done.append(user)

    await asyncio.gather(*(work(b"floods") for _ in range(100)), work(b"ada"))
    assert done.index(b"ada") <= 3
    assert done.count(b"floods") == 100


async def test_who_gave_up_while_waiting_takes_nobodys_turn():
    turns = FairTurns(asyncio.get_running_loop().call_soon, each_pass=1)
    tasks = [asyncio.create_task(turns.turn("", b"ada")) for _ in range(5)]
    await asyncio.sleep(0)
    for each in tasks[1:4]:
        each.cancel()
    await asyncio.wait_for(tasks[4], 5)
    assert not len(turns)
