"""The loop in virtual time: order, jumps, threads that are none, and a run that is stuck."""

import asyncio
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.errors import InvariantViolationError
from shim.simulation.virtual_time import EPOCH_S, VirtualClock, run_in_virtual_time


def test_a_day_takes_no_processor_time():
    clock = VirtualClock()

    async def main():
        await clock.sleep(86_400.0)
        return clock.monotonic_s(), clock.now_s()

    began_s = time.process_time()
    assert run_in_virtual_time(main()) == (pytest.approx(86_400.0), pytest.approx(EPOCH_S + 86_400.0))
    assert time.process_time() - began_s < 60.0


@given(st.lists(st.floats(0.0, 1e6), max_size=30))
def test_sleepers_wake_in_the_order_of_their_times(durations_s):
    woken = []

    async def sleeper(duration_s):
        await asyncio.sleep(duration_s)
        woken.append((asyncio.get_running_loop().time(), duration_s))

    async def main():
        await asyncio.gather(*map(sleeper, durations_s))

    run_in_virtual_time(main())
    assert [duration_s for _, duration_s in woken] == sorted(durations_s)
    assert all(at_s == pytest.approx(duration_s, abs=1e-6) for at_s, duration_s in woken)


def test_timeouts_are_of_virtual_time():
    async def main():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 7.5)
        return asyncio.get_running_loop().time()

    assert run_in_virtual_time(main()) == pytest.approx(7.5)


def test_what_a_thread_would_do_is_done_at_once():
    async def main():
        loop = asyncio.get_running_loop()
        with pytest.raises(ZeroDivisionError):
            await asyncio.to_thread(lambda: 1 / 0)
        return await asyncio.to_thread(sum, (1, 2)), loop.time()

    assert run_in_virtual_time(main()) == (3, 0.0)


def test_a_run_in_which_nothing_can_happen_any_more_says_so():
    async def main():
        await asyncio.Event().wait()

    with pytest.raises(InvariantViolationError, match="stuck"):
        run_in_virtual_time(main())


def test_the_wall_clock_can_be_set_while_time_goes_on():
    clock = VirtualClock()

    async def main():
        await clock.sleep(10.0)
        clock.step_s -= 3600.0
        await clock.sleep(0.0)
        return clock.now_s() - EPOCH_S, clock.monotonic_s()

    assert run_in_virtual_time(main()) == (pytest.approx(-3590.0), pytest.approx(10.0))
