import asyncio
from random import Random

import pytest

from shim.domain.ids import SubClusterId
from shim.domain.launches import Verdict
from shim.domain.submissions import HomeProposal
from shim.errors import MasterLinkError
from shim.federation.core.federation_view import ViewSettings
from shim.federation.poller import PollSchedule
from shim.peers.leadership import LeaseKeeper
from shim.peers.local import LocalMasterSettings, StandingLocalMaster
from shim.protocol.peers import HelloFrame, ProposalFrame, ReportFollower
from shim.simulation.stores import InMemoryLeaseStore
from tests.doubles.builders import a_submission
from tests.doubles.clock import FakeClock
from tests.doubles.master_links import linked
from tests.doubles.resource_manager import ScriptedResourceManager
from tests.doubles.settings import usual

EAST = SubClusterId("east")
LEASE_S = 2.0


class Federation:
    """Local Masters of one sub-cluster over one lease store."""

    def __init__(self):
        self.clock = FakeClock()
        self.store = InMemoryLeaseStore(self.clock)
        self.manager = ScriptedResourceManager("east", clock=self.clock)
        self.running = {}
        self.serving = []

    async def start(self, life):
        keeper = LeaseKeeper(self.store, self.clock, name="lm/east", holder=life, address=f"{life}:1", for_s=LEASE_S)
        settings = LocalMasterSettings(usual(PollSchedule, interval_s=1.0, jitter=0.0), usual(ViewSettings), 30.0)
        master = StandingLocalMaster(self.manager, keeper, self.clock, settings, life=life, random=Random(1))  # noqa: S311 - no jitter
        self.running[life] = asyncio.create_task(master.run())
        await self.clock.settle()
        return master

    async def follow(self, master, hello=None):
        """A Global Master's end of a link."""
        ours, theirs = linked("gm/a", "lm/east")
        self.serving.append(asyncio.create_task(master.serve(theirs)))
        await ours.send(hello or HelloFrame("a"))
        await self.clock.settle()
        return ours

    async def stop(self):
        for task in (*self.running.values(), *self.serving):
            task.cancel()
        await asyncio.gather(*self.running.values(), *self.serving, return_exceptions=True)


async def drained(link):
    while True:
        await link.receive()


@pytest.fixture
async def federation():
    made = Federation()
    yield made
    await made.stop()


async def test_the_active_one_polls_and_reports_and_the_standby_does_neither(federation):
    active, standby = await federation.start("one"), await federation.start("two")
    link = await federation.follow(active)
    (report,) = ReportFollower("a").receive(await link.receive())
    assert (report.subcluster, report.incarnation, report.sequence) == (EAST, 1, 1)
    asked = len(federation.manager.requests)
    other = await federation.follow(standby)
    with pytest.raises(MasterLinkError):
        await other.receive()
    assert len(federation.manager.requests) == asked
    assert (active.followers, standby.followers) == (("gm/a",), ())


async def test_the_standbys_reports_are_of_a_later_life(federation):
    await federation.start("one")
    standby = await federation.start("two")
    federation.store.is_away = True  # it dies without giving its lease back
    federation.running["one"].cancel()
    await federation.clock.settle()
    federation.store.is_away = False
    await federation.clock.advance(LEASE_S * 1.3)
    link = await federation.follow(standby)
    (report,) = ReportFollower("a").receive(await link.receive())
    assert (report.incarnation, report.sequence) == (2, 1)


async def test_one_that_ends_hands_over_at_once(federation):
    await federation.start("one")
    standby = await federation.start("two")
    federation.running["one"].cancel()
    await federation.clock.advance(LEASE_S / 4)
    link = await federation.follow(standby)
    assert ReportFollower("a").receive(await link.receive())


async def test_one_whose_lease_was_taken_ends_its_links_and_polls_no_more(federation):
    active = await federation.start("one")
    link = await federation.follow(active)
    await link.receive()
    await federation.store.release("lm/east", holder="one")  # as if it had been stopped for longer than its lease
    await federation.store.acquire("lm/east", holder="two", address="two:1", for_s=100.0)
    await federation.clock.advance(LEASE_S / 2)
    asked = len(federation.manager.requests)
    await federation.clock.advance(5.0)
    assert len(federation.manager.requests) == asked
    assert active.followers == ()
    with pytest.raises(MasterLinkError):
        await drained(link)


async def test_without_the_store_it_goes_on_reporting(federation):
    active = await federation.start("one")
    link = await federation.follow(active)
    federation.store.is_away = True
    await federation.clock.advance(LEASE_S * 5)
    follower = ReportFollower("a")
    reports = [follower.receive(await link.receive())[0] for _ in range(8)]
    assert [report.sequence for report in reports] == list(range(1, 9))


async def test_proposals_are_judged_by_its_own_polls(federation):
    active = await federation.start("one")
    link = await federation.follow(active)
    await link.receive()
    await link.send(ProposalFrame(7, HomeProposal(a_submission(1, queue="root.nowhere"))))
    await federation.clock.settle()
    answer = await link.receive()
    assert (answer.number, answer.verdict.verdict, answer.verdict.score) == (7, Verdict.REJECTED, None)
    assert "has no queue root.nowhere" in answer.verdict.reason
