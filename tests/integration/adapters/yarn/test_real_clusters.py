"""Heartbeats, the view and reads over real ResourceManagers: what happens to them is told honestly."""

import asyncio
import json
from contextlib import asynccontextmanager
from random import Random

import pytest

from adapters.yarn import RestResourceManager, RestSettings, read_folder
from shim.app.host_limits import SystemClock
from shim.domain.access_lists import Viewer
from shim.domain.applications import YarnApplicationState
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import HaState, SubClusterState
from shim.federation.core.federation_view import FederationView, Part, ViewSettings
from shim.federation.documents import DocumentReading
from shim.federation.poller import PollSchedule, SubClusterPollers
from shim.federation.polling import PollSettings
from shim.federation.reading import ApplicationReading, ReadingSettings
from shim.lab import SUPPORTED_VERSIONS
from shim.ports.resource_manager import RestRequest
from shim.simulation.state_stores import InMemoryStateStore
from shim.submission.core.home import choose_home
from tests.doubles.builders import a_submission
from tests.doubles.settings import usual

pytestmark = pytest.mark.lab

EAST = SubClusterId("east")
JSON = (("Content-Type", "application/json"),)


class Front:
    """What Heddle knows of one cluster of a lab; it calls it `east`."""

    def __init__(self, cluster):
        self.clock = SystemClock()
        self.found = read_folder(cluster.conf_dir)
        self.manager = RestResourceManager(EAST, self.found.web, usual(RestSettings))
        self.view = FederationView((EAST,), usual(ViewSettings, late_after_s=2.0))
        self.states = []
        self.seen = []
        managers = {EAST: self.manager}
        random = Random(1)  # noqa: S311 - spreads polls, protects nothing
        settings = PollSchedule(interval_s=0.3, poll=PollSettings(10.0, info_timeout_s=1.0))
        self.heartbeats = SubClusterPollers(self.view, managers, self.clock, settings, random=random, listeners=[self])
        store = InMemoryStateStore(now_s=self.clock.now_s)
        self.reading = ApplicationReading(self.view, managers, store, self.clock, usual(ReadingSettings))
        self.documents = DocumentReading(self.view, managers, self.clock, usual(ReadingSettings))

    def reported(self, report, _):
        self.states.append(report.ha_state)
        self.seen.append(
            {item.summary.application_id: item.summary.state for item in self.view.applications.newest_first()}
        )

    def failed(self, subcluster, error):
        """Failures are told by the view."""

    def state(self):
        return self.view.state(EAST, self.clock.now_s())

    async def submit(self, number):
        """An unmanaged application: it stays ACCEPTED as long as nobody comes."""
        application_id = ApplicationId(1_700_000_000_000, number)
        context = {
            "application-id": str(application_id),
            "application-name": f"unmanaged {number}",
            "unmanaged-AM": True,
            "am-container-spec": {"commands": {"command": "true"}},
        }
        body = json.dumps(context).encode()
        request = RestRequest("POST", "/ws/v1/cluster/apps", user="alice", headers=JSON, body=body)
        assert (await self.manager.forward(request, timeout_s=10.0)).status == 202
        return application_id

    async def kill(self, application_id):
        path = f"/ws/v1/cluster/apps/{application_id}/state"
        request = RestRequest("PUT", path, user="alice", headers=JSON, body=b'{"state":"KILLED"}')
        await self.manager.forward(request, timeout_s=10.0)
        self.reading.mark_written(application_id)

    def is_stored(self, application_id):
        """Whether its ResourceManager has it in its state store: before ACCEPTED a 202 does not survive a failover."""
        document = self.view.applications.find(application_id)
        return document is not None and document.summary.state is YarnApplicationState.ACCEPTED


@asynccontextmanager
async def watching(cluster):
    front = Front(cluster)
    front.heartbeats.start()
    try:
        await front.heartbeats.first_polls()
        yield front
    finally:
        await front.heartbeats.stop()
        await front.manager.close()


async def until(condition, *, within_s=300.0):
    """Wait for a condition that the world brings about."""
    async with asyncio.timeout(within_s):
        while not condition():  # noqa: ASYNC110 - other processes set no event
            await asyncio.sleep(0.02)


async def in_a_thread(call, *arguments):
    return await asyncio.to_thread(call, *arguments)


async def test_a_real_cluster_is_known_after_one_poll(lab):
    async with watching(lab.cluster("east")) as front:
        await until(lambda: front.state() is SubClusterState.RUNNING)
        seen = front.view.look(EAST, front.clock.now_s())
        assert seen.capacity == ResourceVector(8192, 8)
        assert seen.maximum_allocation == ResourceVector(4096, 4)
        assert {path for path, queue in seen.queues.items() if queue.is_leaf} == {
            "root.default",
            "root.prod",
            "root.dev",
        }
        assert len(seen.nodes) == 2
        assert abs(seen.clock_skew_s) < 5
        assert front.found.epoch > 0
        asked = a_submission(1, queue="prod", resource=ResourceVector(512, 1))
        assert choose_home(asked, front.view, {}, front.clock.now_s()).home_subcluster == EAST
        too_large = a_submission(1, queue="prod", resource=ResourceVector(5000, 1))
        assert choose_home(too_large, front.view, {}, front.clock.now_s()).is_lasting


def is_final(document):
    return document is not None and document.summary.state.is_final


async def test_documents_are_those_of_the_resource_manager_byte_for_byte(lab):
    async with watching(lab.cluster("east")) as front:
        application_id = await front.submit(1)
        await front.kill(application_id)
        await until(lambda: is_final(front.view.applications.find(application_id)))
        read = await front.reading.application(application_id, viewer=Viewer("alice"))
        request = RestRequest("GET", f"/ws/v1/cluster/apps/{application_id}")
        assert (await front.manager.forward(request)).body == b'{"app":%s}' % read.document.raw
        info = RestRequest("GET", "/ws/v1/cluster/info")
        read_info = await front.documents.part_of(EAST, Part.INFO)
        assert read_info.documents[EAST].raw == (await front.manager.forward(info)).body


async def test_a_killed_and_restarted_resource_manager_never_ends_an_application(fresh_lab):
    lab = fresh_lab(clusters=1, nodes=1)
    async with watching(lab.cluster("east")) as front:
        application_id = await front.submit(1)
        await until(lambda: front.is_stored(application_id))
        started_on_ms = front.view.look(EAST, front.clock.now_s()).started_on_ms
        await in_a_thread(lab.kill, "east-rm")
        await until(lambda: front.view.late(front.clock.now_s()))
        await until(lambda: front.state() is SubClusterState.LOST)
        read = await front.reading.application(application_id, viewer=Viewer("alice"))
        assert read.freshness.missing == (EAST,)
        assert front.clock.now_s() - read.freshness.as_of_s > 1.0
        assert not read.document.summary.state.is_final
        assert (await front.reading.applications(viewer=Viewer("alice"))).freshness.missing == (EAST,)
        front.states.clear()
        await in_a_thread(lab.start, "east-rm")
        await until(lambda: front.state() is SubClusterState.RUNNING)
        seen = front.view.look(EAST, front.clock.now_s())
        assert seen.started_on_ms != started_on_ms
        assert set(front.states) <= {HaState.INITIALIZING, HaState.STANDBY, HaState.ACTIVE}
        assert all(application_id in seen for seen in front.seen[-len(front.states) :])
        assert all(not seen[application_id].is_final for seen in front.seen if application_id in seen)
        await front.kill(application_id)
        await until(lambda: application_id not in front.view.applications.live(EAST))


async def test_a_paused_resource_manager_keeps_nobody_waiting(fresh_lab):
    lab = fresh_lab(clusters=1, nodes=1)
    async with watching(lab.cluster("east")) as front:
        application_id = await front.submit(1)
        await until(lambda: application_id in front.view.applications.live(EAST))
        await in_a_thread(lab.pause, "east-rm")
        await until(lambda: front.view.late(front.clock.now_s()), within_s=120.0)
        waits = asyncio.create_task(front.manager.forward(RestRequest("GET", "/ws/v1/cluster/info")))
        await asyncio.sleep(0)  # it asks before the reads do
        reads = [front.reading.application(application_id, viewer=Viewer("alice")) for _ in range(50)]
        told = await asyncio.gather(*reads)
        assert not waits.done(), "reads waited as long as who asks the ResourceManager itself"
        waits.cancel()
        assert {read.freshness.missing for read in told} == {(EAST,)}
        assert choose_home(a_submission(1), front.view, {}, front.clock.now_s()).home_subcluster is None
        await in_a_thread(lab.resume, "east-rm")
        await until(lambda: not front.view.late(front.clock.now_s()), within_s=120.0)


async def test_a_standby_takes_over_and_is_followed(fresh_lab):
    lab = fresh_lab(clusters=1, nodes=1, standby=True)
    async with watching(lab.cluster("east")) as front:
        assert len(front.found.web) == 2
        await until(lambda: front.state() is SubClusterState.RUNNING)
        application_id = await front.submit(1)
        await until(lambda: front.is_stored(application_id))
        first = front.manager.active_address
        names = [layout.name for layout in lab.cluster("east").record.layout.resource_managers]
        active = names[front.found.web.index(first)]
        await in_a_thread(lab.kill, active)
        await in_a_thread(lab.make_active, next(name for name in names if name != active))
        await until(lambda: front.state() is SubClusterState.RUNNING and not front.view.late(front.clock.now_s()))
        await until(lambda: front.manager.active_address != first)
        assert application_id in front.view.applications.live(EAST)


@pytest.mark.versions
@pytest.mark.parametrize("hadoop", SUPPORTED_VERSIONS)
async def test_every_version_is_read(cluster_of_version, hadoop):
    async with watching(cluster_of_version[hadoop]) as front:
        await until(lambda: front.state() is SubClusterState.RUNNING and not front.view.late(front.clock.now_s()))
        application_id = await front.submit(1)
        await until(lambda: application_id in front.view.applications.live(EAST))
        seen = front.view.look(EAST, front.clock.now_s())
        assert seen.version == hadoop
        assert seen.capacity == ResourceVector(4096, 4)
        assert {path for path, queue in seen.queues.items() if queue.is_leaf} == {
            "root.default",
            "root.prod",
            "root.dev",
        }
        assert all(queue.capacity.memory_mib > 0 for queue in seen.queues.values())
        assert [node.total for node in seen.nodes] == [ResourceVector(4096, 4)]
        await front.kill(application_id)
        await until(lambda: application_id not in front.view.applications.live(EAST))
