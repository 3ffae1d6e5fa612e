import asyncio

from tests.doubles.clock import FakeClock


async def test_time_stands_still_until_it_is_moved():
    clock = FakeClock(wall_s=10.0)
    before = clock.monotonic_s()
    assert (clock.now_s(), clock.monotonic_s()) == (10.0, before)
    await clock.advance(2.5)
    assert (clock.now_s(), clock.monotonic_s()) == (12.5, before + 2.5)


async def test_sleepers_wake_in_the_order_of_their_times_and_see_their_own_time():
    clock = FakeClock(wall_s=0.0)
    woken = []

    async def sleeper(duration_s):
        await clock.sleep(duration_s)
        woken.append((duration_s, clock.now_s()))

    tasks = [asyncio.create_task(sleeper(duration_s)) for duration_s in (3.0, 1.0, 2.0)]
    await clock.advance(2.0)
    assert woken == [(1.0, 1.0), (2.0, 2.0)]
    await clock.advance(1.0)
    await asyncio.gather(*tasks)
    assert woken[-1] == (3.0, 3.0)


async def test_one_that_sleeps_again_wakes_again_within_the_same_advance():
    clock = FakeClock(wall_s=0.0)
    ticks = []

    async def ticker():
        while True:
            await clock.sleep(1.0)
            ticks.append(clock.now_s())

    task = asyncio.create_task(ticker())
    await clock.advance(3.5)
    task.cancel()
    assert ticks == [1.0, 2.0, 3.0]


async def test_a_sleeper_that_was_cancelled_is_passed_over():
    clock = FakeClock()
    task = asyncio.create_task(clock.sleep(1.0))
    await clock.settle()
    task.cancel()
    await clock.advance(2.0)
    assert task.cancelled()


async def test_the_wall_clock_may_step_while_no_time_passes():
    clock = FakeClock(wall_s=100.0)
    before = clock.monotonic_s()
    clock.wall_s = 50.0
    assert (clock.now_s(), clock.monotonic_s()) == (50.0, before)
