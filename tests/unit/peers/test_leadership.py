import asyncio

import pytest

from shim.peers.leadership import LeaseKeeper
from shim.simulation.stores import InMemoryLeaseStore
from tests.doubles.clock import FakeClock

FOR_S = 4.0


class KeeperStory:
    """What a keeper said, in order."""

    def __init__(self):
        self.told = []

    async def gained(self, fence):
        self.told.append(fence)

    async def lost(self):
        self.told.append("lost")


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def store(clock):
    return InMemoryLeaseStore(clock)


def keeper_of(store, clock, holder):
    return LeaseKeeper(store, clock, name="lm/east", holder=holder, address=f"{holder}:1", for_s=FOR_S)


async def start(store, clock, holder):
    keeper, story = keeper_of(store, clock, holder), KeeperStory()
    task = asyncio.create_task(keeper.run(gained=story.gained, lost=story.lost))
    await clock.settle()
    return keeper, story, task


async def stop(task):
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_first_gains_the_role_and_the_second_stands_by(store, clock):
    first, first_story, task_one = await start(store, clock, "a")
    second, second_story, task_two = await start(store, clock, "b")
    await clock.advance(10 * FOR_S)
    assert (first.is_held, second.is_held) == (True, False)
    assert (first_story.told, second_story.told) == ([1], [])
    await stop(task_one)
    await stop(task_two)


async def test_the_standby_takes_over_when_the_holder_dies_without_a_word(store, clock):
    await keeper_of(store, clock, "dead").try_once()
    standby, story, task = await start(store, clock, "b")
    await clock.advance(FOR_S + FOR_S / 4)
    assert standby.is_held
    assert story.told == [2]
    await stop(task)


async def test_who_stops_gives_the_role_back_at_once(store, clock):
    _, story, task = await start(store, clock, "a")
    await stop(task)
    assert story.told == [1, "lost"]
    assert await keeper_of(store, clock, "b").try_once()


async def test_a_holder_stops_believing_before_the_store_gives_the_role_away(store, clock):
    keeper, story, task = await start(store, clock, "a")
    store.is_away = True
    await clock.advance(FOR_S - 0.01)
    assert keeper.is_held
    await clock.advance(0.02)
    assert not keeper.is_held
    await clock.advance(FOR_S / 4)
    assert story.told == [1, "lost"]
    store.is_away = False
    await clock.advance(FOR_S)
    assert story.told == [1, "lost", 1]
    await stop(task)


async def test_a_holder_that_was_paused_learns_that_another_took_over(store, clock):
    keeper = keeper_of(store, clock, "paused")
    await keeper.try_once()
    await clock.advance(FOR_S)
    assert not keeper.is_held
    assert await keeper_of(store, clock, "b").try_once()
    assert not await keeper.try_once()


async def test_a_store_that_is_away_at_the_end_does_not_keep_the_process(store, clock):
    _, story, task = await start(store, clock, "a")
    store.is_away = True
    await stop(task)
    assert story.told == [1, "lost"]


class SlowLeaseStore(InMemoryLeaseStore):
    """Decides at once, and answers `late_s` afterwards."""

    late_s = 1.0

    async def acquire(self, name, *, holder, address, for_s):
        """See `LeaseStore`."""
        lease = await super().acquire(name, holder=holder, address=address, for_s=for_s)
        await self.clock.sleep(self.late_s)
        return lease


async def test_a_lease_counts_from_before_it_was_asked_for_and_not_from_the_answer(clock):
    store = SlowLeaseStore(clock)
    keeper = keeper_of(store, clock, "a")
    asking = asyncio.create_task(keeper.try_once())
    await clock.advance(store.late_s)
    assert await asking
    await clock.advance(FOR_S - store.late_s - 0.01)
    assert keeper.is_held
    await clock.advance(0.02)
    assert not keeper.is_held, "the store gives it to others from now on"
    taking = asyncio.create_task(keeper_of(store, clock, "b").try_once())
    await clock.advance(store.late_s)
    assert await taking


async def test_an_answer_that_comes_after_the_lease_has_ended_is_not_believed(clock):
    store = SlowLeaseStore(clock)
    store.late_s = FOR_S + 0.5
    keeper = keeper_of(store, clock, "a")
    asking = asyncio.create_task(keeper.try_once())
    await clock.advance(store.late_s)
    assert not await asking
