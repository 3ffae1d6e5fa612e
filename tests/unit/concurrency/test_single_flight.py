import asyncio

import pytest

from shim.concurrency.single_flight import SingleFlight


async def test_those_who_ask_together_share_one_call_and_later_ones_make_another():
    flights = SingleFlight()
    calls = []

    async def call():
        calls.append(1)
        await asyncio.sleep(0)
        return len(calls)

    assert await asyncio.gather(*(flights.do("a", call) for _ in range(5))) == [1] * 5
    assert await flights.do("a", call) == 2


async def test_a_failure_is_that_of_everybody_who_asked():
    flights = SingleFlight()

    async def fail():
        await asyncio.sleep(0)
        raise ValueError("no")

    outcomes = await asyncio.gather(*(flights.do("a", fail) for _ in range(3)), return_exceptions=True)
    assert [str(outcome) for outcome in outcomes] == ["no"] * 3


async def test_a_failure_that_nobody_waits_for_is_not_reported_as_unseen():
    flights = SingleFlight()

    async def fail():
        await asyncio.sleep(0)
        raise ValueError("no")

    waiter = asyncio.create_task(flights.do("a", fail))
    await asyncio.sleep(0)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    await asyncio.sleep(0)
    assert await flights.do("a", lambda: asyncio.sleep(0, "fresh")) == "fresh"
