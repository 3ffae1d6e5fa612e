"""What every `LeaseStore` promises: in memory, on SQLite and on PostgreSQL."""

import asyncio
import time

import pytest

from shim.simulation.stores import InMemoryLeaseStore
from tests.doubles.clock import FakeClock
from tests.support.databases import an_empty_store

LONG_S = 3600.0


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def store(request):
    if request.param == "memory":
        yield InMemoryLeaseStore(FakeClock())
        return
    async with an_empty_store(request) as opened:
        yield opened.leases


async def take(store, holder, *, name="lm/east", for_s=LONG_S):
    return await store.acquire(name, holder=holder, address=f"{holder}:1", for_s=for_s)


async def test_one_holder_at_a_time(store):
    assert (await take(store, "a")).fence == 1
    assert await take(store, "b") is None


async def test_prolonging_keeps_the_fence(store):
    await take(store, "a")
    assert (await take(store, "a")).fence == 1


async def test_a_lease_that_has_ended_goes_to_the_next_with_a_greater_fence(store):
    await take(store, "a", for_s=0.0)
    lease = await take(store, "b")
    assert (lease.holder, lease.address, lease.fence) == ("b", "b:1", 2)
    assert await take(store, "a") is None


async def test_a_lease_that_is_given_back_is_free_and_its_fence_is_not_used_again(store):
    await take(store, "a")
    await store.release("lm/east", holder="a")
    assert (await take(store, "a")).fence == 2


async def test_nobody_gives_back_what_another_holds(store):
    await take(store, "a")
    await store.release("lm/east", holder="b")
    assert await take(store, "b") is None


async def test_leases_are_listed_by_prefix_with_what_remains(store):
    await take(store, "a", name="queue/root.b")
    await take(store, "a", name="queue/root.a", for_s=0.0)
    await take(store, "a", name="lm/east")
    await take(store, "a", name="queue_root")  # no wild card
    listed = await store.leases("queue/")
    assert [(lease.name, lease.is_live) for lease in listed] == [("queue/root.a", False), ("queue/root.b", True)]
    assert LONG_S - 60 < listed[1].remaining_s <= LONG_S


async def test_of_many_that_try_at_once_one_wins(store):
    won = await asyncio.gather(*(take(store, f"holder-{number}") for number in range(12)))
    assert len([lease for lease in won if lease is not None]) == 1


async def test_many_leases_are_had_at_once_but_not_those_of_others(store):
    await take(store, "b", name="queue/root.b")
    wanted = {"queue/root.c", "queue/root.b", "queue/root.a"}
    had = await store.acquire_all(wanted, holder="a", address="a:1", for_s=LONG_S)
    assert [(lease.name, lease.holder, lease.fence) for lease in had] == [
        ("queue/root.a", "a", 1),
        ("queue/root.c", "a", 1),
    ]


async def test_two_that_want_the_same_many_leases_at_once_both_get_an_answer(store):
    names = [f"queue/{number}" for number in range(40)]
    both = await asyncio.gather(
        store.acquire_all(names, holder="a", address="a:1", for_s=LONG_S),
        store.acquire_all(reversed(names), holder="b", address="b:1", for_s=LONG_S),
    )
    assert sorted(map(len, both)) == [0, 40]


async def test_a_process_that_ends_gives_everything_back_at_once_and_nothing_of_others(store):
    await store.acquire_all(["gm/a", "queue/x"], holder="a", address="a:1", for_s=LONG_S)
    await take(store, "b", name="gm/b")
    await store.release_all(holder="a")
    assert {lease.name: lease.is_live for lease in await store.leases()} == {
        "gm/a": False,
        "gm/b": True,
        "queue/x": False,
    }
    assert (await take(store, "b", name="queue/x")).fence == 2


async def test_nobody_takes_a_lease_just_before_it_ends(store):
    """What is asked within the lease's time is refused however little is left; a slow machine tries again."""
    for attempt in range(50):
        name, began_s = f"lm/east-{attempt}", time.monotonic()
        await take(store, "a", name=name, for_s=0.8)
        taken = await take(store, "b", name=name)
        if time.monotonic() - began_s < 0.7:
            assert taken is None
            return
    raise AssertionError("no two statements within 0.7 s, 50 times")
