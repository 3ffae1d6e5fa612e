"""Where Global Masters take ApplicationMasters is told by leases, and only while they live."""

import asyncio

import pytest

from shim.domain.ids import GlobalMasterId
from shim.peers.ownership import Owner, SchedulerAddresses
from shim.peers.roster import Roster
from shim.simulation.stores import InMemoryLeaseStore
from tests.doubles.clock import FakeClock

A, B = GlobalMasterId("a"), GlobalMasterId("b")


class Federation:
    """Two Global Masters over one store; `a` owns `root.prod`."""

    def __init__(self):
        self.clock = FakeClock()
        self.store = InMemoryLeaseStore(self.clock)
        self.roster = Roster()
        self.servers = {
            me: SchedulerAddresses(
                self.store,
                self.roster,
                lambda queue, me=me: Owner(A, "a:1", is_me=me == A) if queue == "root.prod" else None,
                self.clock,
                me=me,
                life="1",
                lease_s=2.0,
            )
            for me in (A, B)
        }

    async def read(self):
        self.roster.update(await self.store.leases(), read_at_s=self.clock.monotonic_s())


@pytest.fixture
async def federation():
    federation = Federation()
    telling = asyncio.create_task(federation.servers[A].run("a.example.com:8030"))
    await asyncio.sleep(0)
    await federation.read()
    yield federation, telling
    telling.cancel()
    await asyncio.wait({telling})


async def test_the_server_of_another_owner_is_told(federation):
    federation, _ = federation
    assert federation.servers[B].address_of("root.prod") == "a.example.com:8030"


async def test_the_own_queues_and_those_of_nobody_are_served_here(federation):
    federation, _ = federation
    assert federation.servers[A].address_of("root.prod") == ""
    assert federation.servers[B].address_of("root.dev") == ""


async def test_a_server_that_is_closed_is_not_told_any_more(federation):
    federation, telling = federation
    telling.cancel()
    await asyncio.wait({telling})
    await federation.read()
    assert federation.servers[B].address_of("root.prod") == ""


async def test_a_server_whose_master_died_is_told_until_its_lease_has_ended(federation):
    federation, _ = federation
    await federation.clock.advance(2.1)
    assert federation.servers[B].address_of("root.prod") == ""
