"""Processes in virtual time: what is killed does nothing any more, what is stopped waits at its gate."""

import asyncio

import pytest

from shim.errors import NeverReachedError, NoAnswerError
from shim.simulation.virtual_time import VirtualClock, run_in_virtual_time
from shim.simulation.yarn_sim.process import GatedClock, ProcessGate, own_tasks


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
