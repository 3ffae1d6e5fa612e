"""The loop in virtual time: order, jumps, threads that are none, and a run that is stuck.

Processes in virtual time: what is killed does nothing any more, what is stopped waits at its gate.
"""

import asyncio
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.errors import InvariantViolationError, NeverReachedError, NoAnswerError
from shim.simulation.virtual_time import EPOCH_S, GatedClock, ProcessGate, VirtualClock, own_tasks, run_in_virtual_time


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


def play(story):
    async def main():
        asyncio.get_running_loop().set_task_factory(own_tasks)
        gate = ProcessGate("heddle")
        return await story(gate, GatedClock(VirtualClock(), gate))

    return run_in_virtual_time(main())


def test_a_killed_process_leaves_without_doing_what_it_would_in_leaving():
    done = []

    async def story(gate, clock):
        async def child():
            try:
                await clock.sleep(100.0)
            finally:
                await gate.through()
                done.append("written in leaving")

        async def work():
            begun = asyncio.create_task(child())
            await clock.sleep(5.0)
            done.append("five seconds")
            await begun

        gate.spawn(work(), "work")
        await asyncio.sleep(10.0)
        gate.kill()
        await asyncio.sleep(200.0)

    play(story)
    assert done == ["five seconds"]


def test_its_clients_hear_of_a_death():
    async def story(gate, clock):
        asking = asyncio.create_task(gate.serve(lambda: clock.sleep(100.0), "call"))
        await asyncio.sleep(1.0)
        gate.kill()
        with pytest.raises(NoAnswerError):
            await asking
        with pytest.raises(NeverReachedError):
            await gate.serve(lambda: clock.sleep(1.0), "call")

    play(story)


def test_a_stopped_process_goes_on_later():
    async def story(gate, clock):
        work = gate.spawn(clock.sleep(2.0), "work")
        await asyncio.sleep(1.0)
        gate.pause()
        await asyncio.sleep(50.0)
        assert not work.done()
        gate.resume()
        await asyncio.sleep(0.1)
        assert work.done()

    play(story)


def test_what_clients_are_answered_is_what_was_done():
    async def story(gate, _):
        async def work():
            return 7

        return await gate.serve(work, "call")

    assert play(story) == 7
