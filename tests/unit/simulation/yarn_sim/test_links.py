"""Links between masters in virtual time: ordered, late where packets are lost, and broken when nobody answers."""

import asyncio

import pytest

from shim.errors import MasterLinkError
from shim.protocol.peers import ResyncFrame, TroubleFrame
from shim.simulation.engine import seeded
from shim.simulation.virtual_time import ProcessGate, own_tasks, run_in_virtual_time
from shim.simulation.yarn_sim.links import ModelledLinks
from shim.simulation.yarn_sim.network import ModelledNetwork


class Pair:
    """A process that dials `lm/east`, one that listens, and what the latter has heard."""

    def __init__(self):
        self.network = ModelledNetwork(seeded(1, "network"), hop_s=0.001)
        self.links = ModelledLinks(self.network)
        self.dialling, self.listening = ProcessGate("gm1"), ProcessGate("lm1")
        self.heard = []
        self.ended = asyncio.Event()
        self.links.listen("lm1:1", "lm/east", self.listening, self.accept)

    async def accept(self, link):
        try:
            while True:
                frame = await link.receive()
                self.heard.append(frame)
                await link.send(frame)
        finally:
            self.ended.set()

    async def dial(self, expected="lm/east", address="lm1:1"):
        return await self.links.dialer("gm/gm1", self.dialling).dial(address, expected=expected)


def in_virtual_time(test):
    def run():
        async def main():
            asyncio.get_running_loop().set_task_factory(own_tasks)
            await test(Pair())
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()

        run_in_virtual_time(main())

    run.__name__ = test.__name__
    return run


def now_s():
    return asyncio.get_running_loop().time()


def frames(count):
    return [TroubleFrame(f"number {number}", float(number)) for number in range(count)]


@in_virtual_time
async def test_frames_arrive_in_order_also_where_many_packets_are_lost(pair):
    link = await pair.dial()
    pair.network.loss, pair.network.jitter_s = 0.5, 0.5
    for frame in frames(50):
        await link.send(frame)
    assert [await link.receive() for _ in range(50)] == frames(50)
    assert pair.heard == frames(50)
    assert now_s() > 0.4


@in_virtual_time
async def test_a_link_that_is_cut_for_a_moment_is_only_late(pair):
    link = await pair.dial()
    pair.network.cut.add(("gm1", "lm1"))
    await link.send(ResyncFrame())
    await asyncio.sleep(1.0)
    assert pair.heard == []
    pair.network.cut.clear()
    assert await link.receive() == ResyncFrame()


@in_virtual_time
async def test_a_link_that_stays_cut_breaks_at_both_ends(pair):
    link = await pair.dial()
    pair.network.cut.add(("lm1", "gm1"))
    with pytest.raises(MasterLinkError):
        await link.receive()
    await pair.ended.wait()
    assert 5.0 <= now_s() <= 8.0
    with pytest.raises(MasterLinkError):
        await link.send(ResyncFrame())
    with pytest.raises(MasterLinkError, match="does not answer"):
        await pair.dial()


@in_virtual_time
async def test_a_process_that_is_stopped_is_noticed_and_one_that_dies_at_once(pair):
    link = await pair.dial()
    pair.listening.pause()
    with pytest.raises(MasterLinkError):
        await link.receive()
    assert 5.0 <= now_s() <= 8.0
    pair.listening.resume()
    again = await pair.dial()
    begun_s = now_s()
    pair.listening.kill()
    with pytest.raises(MasterLinkError):
        await again.receive()
    assert now_s() - begun_s < 0.1


@in_virtual_time
async def test_who_is_not_there_or_is_somebody_else_is_told(pair):
    with pytest.raises(MasterLinkError, match="refused"):
        await pair.dial(address="lm1:2")
    with pytest.raises(MasterLinkError, match="lm/east is at lm1:1 instead of lm/west"):
        await pair.dial(expected="lm/west")
    pair.listening.kill()
    with pytest.raises(MasterLinkError, match="refused"):
        await pair.dial()
