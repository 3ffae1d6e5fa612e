"""What is open while an ApplicationMaster of Heddle's own begins; its life is in test_service.py."""

import asyncio

import pytest

from shim.domain.ids import ApplicationId, SubClusterId
from shim.errors import CannotSpanError
from shim.multicluster.unmanaged import UnmanagedAMs, UnmanagedSettings
from shim.ports.multicluster_store import RemoteSession
from shim.ports.resource_manager_rpc import RPCAnswer
from shim.simulation.stores import InMemoryMultiClusterStore
from shim.simulation.virtual_time import VirtualClock
from tests.doubles.scheduling_clusters import SchedulingCluster, SchedulingClusters

EAST, WEST = SubClusterId("east"), SubClusterId("west")
APPLICATION = ApplicationId(1_700_000_000_000, 1)


class SlowToRegister(SchedulingClusters):
    """Logins that answer no call."""

    def __init__(self, clusters):
        super().__init__(clusters)
        self.is_waiting = asyncio.Event()

    def log_in(self, subcluster, token):
        login = super().log_in(subcluster, token)

        async def waits(method, payload, *, timeout_s=None) -> RPCAnswer:
            del method, payload, timeout_s
            self.is_waiting.set()
            await asyncio.Event().wait()
            raise AssertionError

        login.call = waits
        return login


def opens(servers):
    unmanaged_ams = UnmanagedAMs(
        servers.clusters, servers, InMemoryMultiClusterStore(), VirtualClock(), UnmanagedSettings(poll_s=0.01)
    )
    return unmanaged_ams.open(RemoteSession(APPLICATION, WEST, EAST, "ada"), "root.default")


@pytest.fixture
def clusters():
    return {WEST: SchedulingCluster(WEST, 200)}


async def test_a_login_is_open_as_long_as_its_master_is_registered(clusters):
    servers = SchedulingClusters(clusters)
    opened = await opens(servers)
    assert [login.is_open for login in servers.logins] == [True]
    assert opened.login is servers.logins[0]


async def test_a_login_whose_registration_is_refused_is_closed(clusters):
    servers = SchedulingClusters(clusters)
    opened = await opens(servers)
    clusters[WEST].applications.clear()
    unmanaged_ams = UnmanagedAMs(servers.clusters, servers, InMemoryMultiClusterStore(), VirtualClock())
    with pytest.raises(CannotSpanError, match="does not register"):
        await unmanaged_ams.open(opened.session, "root.default")
    assert [login.is_open for login in servers.logins] == [True, False]


async def test_a_login_is_closed_if_nobody_waits_for_its_registration_any_more(clusters):
    servers = SlowToRegister(clusters)
    opening = asyncio.create_task(opens(servers))
    await asyncio.wait_for(servers.is_waiting.wait(), 10.0)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert [login.is_open for login in servers.logins] == [False]
