import asyncio

import pytest

from shim.domain.ids import GlobalMasterId
from shim.peers.ownership import OwnershipSettings, QueueOwnership
from shim.peers.roster import Roster
from shim.simulation.stores import InMemoryLeaseStore
from tests.doubles.clock import FakeClock

QUEUES = {f"root.q{number}" for number in range(12)}
LEASE_S = 2.0


class Federation:
    """Global Masters that share a lease store, under one clock."""

    def __init__(self):
        self.clock = FakeClock()
        self.store = InMemoryLeaseStore(self.clock)
        self.queues = set(QUEUES)
        self.running = {}

    async def start(self, name, *, life="1"):
        settings = OwnershipSettings(GlobalMasterId(name), f"{name}-{life}", f"{name}:1", LEASE_S)
        owner = QueueOwnership(self.store, Roster(), lambda: self.queues, self.clock, settings)
        self.running[name] = asyncio.create_task(owner.run())
        await self.clock.settle()
        return owner

    async def settle(self):
        await self.clock.advance(LEASE_S)

    def die(self, name):
        """Without giving anything back, as a process that is killed."""
        task = self.running.pop(name)
        self.store.is_away = True
        task.cancel()
        return task


@pytest.fixture
async def federation():
    made = Federation()
    yield made
    for task in made.running.values():
        task.cancel()
    await asyncio.gather(*made.running.values(), return_exceptions=True)


async def killed(federation, name):
    task = federation.die(name)
    await asyncio.gather(task, return_exceptions=True)
    federation.store.is_away = False


async def test_one_alone_owns_every_queue(federation):
    one = await federation.start("a")
    assert one.owned == QUEUES
    assert one.owner_of("root.q1").is_me


async def test_two_share_the_queues_without_overlap_and_agree_who_has_which(federation):
    one, two = await federation.start("a"), await federation.start("b")
    await federation.settle()
    assert one.owned | two.owned == QUEUES
    assert not one.owned & two.owned
    assert one.owned
    assert two.owned
    for queue in QUEUES:
        seen = {owner.owner_of(queue).master for owner in (one, two)}
        assert seen == {one.me if queue in one.owned else two.me}
    assert {one.owner_of(queue).address for queue in two.owned} == {"b:1"}


async def test_a_killed_ones_queues_are_owned_by_the_other_when_its_lease_has_ended(federation):
    one, two = await federation.start("a"), await federation.start("b")
    await federation.settle()
    lost = one.owned
    await killed(federation, "a")
    await federation.clock.advance(LEASE_S * 0.5)
    assert not lost & two.owned
    await federation.clock.advance(LEASE_S * 0.75)
    assert two.owned == QUEUES


async def test_one_that_ends_gives_its_queues_back_at_once(federation):
    one, two = await federation.start("a"), await federation.start("b")
    await federation.settle()
    assert one.owned
    federation.running.pop("a").cancel()
    await federation.clock.advance(LEASE_S / 4)
    assert two.owned == QUEUES


async def test_without_the_store_nobody_believes_in_a_queue_for_longer_than_its_lease(federation):
    one = await federation.start("a")
    federation.store.is_away = True
    await federation.clock.advance(LEASE_S * 0.7)
    assert one.owned == QUEUES
    await federation.clock.advance(LEASE_S * 0.4)
    assert one.owned == frozenset()
    assert one.owner_of("root.q1") is None
    federation.store.is_away = False
    await federation.settle()
    assert one.owned == QUEUES


async def test_a_name_belongs_to_one_process_at_a_time(federation):
    one = await federation.start("a")
    second = await federation.start("a", life="2")
    await federation.settle()
    assert (one.owned, second.owned) == (QUEUES, frozenset())


async def test_a_queue_that_comes_later_is_owned_soon_and_one_that_goes_is_let_go(federation):
    one = await federation.start("a")
    federation.queues.add("root.new")
    await federation.settle()
    assert "root.new" in one.owned
    federation.queues.remove("root.new")
    await federation.settle()
    assert "root.new" not in one.owned
