"""Work that runs by itself: it ends by being cancelled alone, and each failure is told, counted and got over."""

import asyncio
import itertools

import pytest
import structlog

from shim.concurrency.keep_going import aside, keep_going
from tests.doubles.clock import FakeClock


class Work:
    """Fails as often as it is told to, then runs until it is cancelled."""

    def __init__(self, failures, lasts_s=0.0, clock=None):
        self.failures, self.lasts_s, self.clock, self.begun = failures, lasts_s, clock, 0
        self.ends = False

    async def __call__(self):
        self.begun += 1
        if self.lasts_s:
            await self.clock.sleep(self.lasts_s)
        if self.begun <= self.failures:
            raise ValueError("demand holds a negative amount or NaN")
        if not self.ends:
            await asyncio.Event().wait()


async def began_at(clock, work, until_s):
    """The seconds at which the work was begun."""
    counted = []
    task = asyncio.create_task(keep_going("shares", work, clock, counted.append))
    times, begin_s = [], clock.monotonic_s()
    for second in range(until_s + 1):
        await clock.settle()
        times += [second] * (work.begun - len(times))
        await clock.advance(1.0)
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert begin_s < clock.monotonic_s()
    return times, counted


async def test_a_failure_is_told_counted_and_followed_by_another_beginning_after_longer_pauses():
    work = Work(failures=9)
    with structlog.testing.capture_logs() as logs:
        times, counted = await began_at(FakeClock(), work, 400)
    assert times == [0, 1, 3, 7, 15, 31, 63, 123, 183, 243]
    assert counted == ["shares"] * 9
    assert [each["part"] for each in logs if each["log_level"] == "error"] == ["shares"] * 9


async def test_after_a_long_time_without_trouble_the_pause_is_short_again():
    clock = FakeClock()
    times, _ = await began_at(clock, Work(failures=3, lasts_s=301.0, clock=clock), 1000)
    assert [later - earlier for earlier, later in itertools.pairwise(times)] == [302, 302, 302]


async def test_work_that_ends_by_itself_is_told_and_begun_again():
    work = Work(failures=0)
    work.ends = True
    with structlog.testing.capture_logs() as logs:
        times, counted = await began_at(FakeClock(), work, 10)
    assert times == [0, 1, 3, 7]
    assert counted == ["shares"] * 4
    assert {each["event"] for each in logs} == {"a part ended by itself, and begins again"}


async def test_what_nobody_waits_for_has_its_failure_told_at_once_and_its_cancellation_not():
    async def fails():
        raise ValueError("what nobody thought of")

    with structlog.testing.capture_logs() as logs:
        failing, lasting = aside("a note", fails()), aside("a watch", asyncio.Event().wait())
        await asyncio.wait({failing})
        lasting.cancel()
        await asyncio.wait({lasting})
        await asyncio.sleep(0)
    assert [(each["log_level"], each["work"]) for each in logs] == [("error", "a note")]
