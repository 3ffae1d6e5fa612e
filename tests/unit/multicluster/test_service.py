"""Applications that span, between a home and two clusters that keep YARN's order of calls."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping

import pytest

from shim.domain.gangs import Gang
from shim.domain.ids import ApplicationAttemptId, ApplicationId, SubClusterId
from shim.domain.preemption import PREEMPTED_EXIT_STATUS
from shim.domain.resources import ResourceVector
from shim.errors import NoAnswerError, StoreUnavailableError
from shim.multicluster.core import ClusterCapacity, ReleaseOrder
from shim.multicluster.core.crossings import Crossings
from shim.multicluster.core.splitter import SplitSettings
from shim.multicluster.running_containers import RunningContainers
from shim.multicluster.service import MultiClusterCalls, MultiClusterService
from shim.multicluster.sessions import SessionSettings, SessionTools
from shim.multicluster.splitters import AttemptMatching
from shim.multicluster.unmanaged import UnmanagedAMs, UnmanagedSettings
from shim.ports.attempt_calls import Attempt
from shim.ports.multicluster_store import RemoteSession
from shim.ports.resource_manager_rpc import RPCRefusal
from shim.protocol.hrpc import JavaClass
from shim.protocol.proto.messages import (
    AllocateRequestProto,
    AllocateResponseProto,
    ContainerIdProto,
    FinishApplicationMasterRequestProto,
    NodeStateProto,
    PriorityProto,
    RegisterApplicationMasterResponseProto,
    ResourceProto,
    ResourceRequestProto,
)
from shim.simulation.stores import InMemoryMultiClusterStore
from shim.simulation.virtual_time import VirtualClock
from tests.doubles.scheduling_clusters import SchedulingCluster, SchedulingClusters
from tests.doubles.settings import usual

EAST, WEST = SubClusterId("east"), SubClusterId("west")
APPLICATION = ApplicationId(1_700_000_000_000, 1)
FIRST = ApplicationAttemptId(APPLICATION, 1)
BIG = ResourceVector(8192, 8)
SETTINGS = SessionSettings(beat_s=0.01, lost_after_s=0.1, retry_s=0.01)
QUICK = UnmanagedSettings(token_within_s=0.2, poll_s=0.01, tries=3)


class TwoClusterCapacities:
    """Implements what `MultiClusterAttempt` needs of `ClusterCapacities`: both clusters, with what they have left."""

    def __init__(self, clusters: dict[SubClusterId, SchedulingCluster]) -> None:
        self._clusters = clusters
        self.closed: set[SubClusterId] = set()

    def queue_at(self, _subcluster: SubClusterId, told: str) -> str:
        return f"root.{told}"

    called_at = queue_at

    def look(
        self, home: SubClusterId, _told: str, sessions: Mapping[SubClusterId, bool], *, is_served: bool
    ) -> tuple[ClusterCapacity, ...]:
        del is_served
        return tuple(
            ClusterCapacity(
                name,
                is_home=name == home,
                is_open=name == home or (name not in self.closed and sessions.get(name, True)),
                free=ResourceVector(1024 * cluster.may_grant, cluster.may_grant),
                size=BIG,
                largest=BIG,
                nodes=1,
                racks={f"{name}-1": "/r"},
            )
            for name, cluster in self._clusters.items()
        )


class SeenCrossings(Crossings):
    """Notes what sessions took."""

    def __init__(self, reached_from: Callable[[SubClusterId], Collection[SubClusterId]]) -> None:
        super().__init__(reached_from)
        self.seen_s: list[float] = []

    def took(self, seconds: float) -> None:
        self.seen_s.append(seconds)
        super().took(seconds)


class TwoClusterFederation:
    """Two clusters, a store, and Heddles that come and go."""

    def __init__(self) -> None:
        self.clusters = {EAST: SchedulingCluster(EAST, 100), WEST: SchedulingCluster(WEST, 200)}
        self.servers = SchedulingClusters(self.clusters)
        self.store = InMemoryMultiClusterStore()
        self.keeps = False
        self.gang: Gang | None = None
        self.capacities = TwoClusterCapacities(self.clusters)
        self.crossings = SeenCrossings(lambda _: (WEST,))
        self.heddle = self.start()

    def start(self) -> MultiClusterService:
        unmanaged_ams = UnmanagedAMs(self.clusters, self.servers, self.store, VirtualClock(), QUICK)
        self.unmanaged_ams = unmanaged_ams
        return MultiClusterService(
            SessionTools(
                unmanaged_ams=unmanaged_ams,
                store=self.store,
                capacities=self.capacities,  # type: ignore[arg-type]  # as far as it is needed
                matching=AttemptMatching(usual(SplitSettings, move_after_beats=3)),
                clock=VirtualClock(),
                settings=SETTINGS,
                keeps_containers=self._keeps,
                running=RunningContainers(self.clusters, VirtualClock(), retry_s=0.01).of,
                crossings=self.crossings,
            )
        )

    async def _keeps(self, _application: ApplicationId) -> bool:
        return self.keeps

    def log_in(self, attempt: ApplicationAttemptId = FIRST) -> "LibraryApplicationMaster":
        home = self.servers.at_home(EAST, attempt)
        calls = self.heddle.enter(Attempt(attempt, EAST, "default", "ada", gang=self.gang), home)
        return LibraryApplicationMaster(calls)

    async def has_kept(self, count: int) -> bool:
        """Whether the store has as many containers of west: they are written behind the answer."""
        return len((await self.store.containers(APPLICATION)).get(WEST, ())) == count

    async def has_asked_west(self) -> bool:
        return "submitApplication" in self.clusters[WEST].calls

    async def restart(self) -> None:
        await self.heddle.close()
        self.heddle = self.start()


class LibraryApplicationMaster:
    """An ApplicationMaster, as its library behaves."""

    def __init__(self, calls: MultiClusterCalls) -> None:
        self.calls = calls
        self.response_id = 0
        self.has: list[ContainerIdProto] = []
        self.ended: dict[int, int] = {}
        self.nodes: dict[str, int] = {}
        self.tokens: set[str] = set()

    async def register(self) -> RegisterApplicationMasterResponseProto:
        answer = await self.calls.register(b"")
        assert answer.refusal is None, answer.refusal
        self.response_id = 0
        return RegisterApplicationMasterResponseProto.FromString(answer.payload)

    async def allocate(self, count: int | None = None) -> AllocateResponseProto:
        answer = await self.calls.allocate(self.request(count).SerializeToString())
        assert answer.refusal is None, answer.refusal
        told = AllocateResponseProto.FromString(answer.payload)
        self.response_id = told.response_id
        self.has += [container.id for container in told.allocated_containers]
        self.ended |= {each.container_id.id: each.exit_status for each in told.completed_container_statuses}
        self.nodes |= {report.nodeId.host: report.node_state for report in told.updated_nodes}
        self.tokens |= {token.nodeId.host for token in told.nm_tokens}
        return told

    def request(self, count: int | None = None) -> AllocateRequestProto:
        request = AllocateRequestProto(response_id=self.response_id)
        if count is not None:
            row = ResourceRequestProto(
                priority=PriorityProto(priority=20),
                resource_name="*",
                capability=ResourceProto(memory=1024, virtual_cores=1),
                num_containers=count,
            )
            request.ask.append(row)
        return request

    def at(self, epoch: int) -> list[int]:
        return [each.id for each in self.has if each.id >> 40 == epoch]

    async def until(self, holds: Callable[[], bool]) -> None:
        for _ in range(300):
            if holds():
                return
            await self.allocate()
            await asyncio.sleep(0.01)
        raise AssertionError("it did not come to hold")


async def comes_to(holds: Callable[[], Awaitable[bool]]) -> None:
    for _ in range(12_000):  # two minutes
        if await holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not come to hold")


@pytest.fixture
async def world() -> AsyncIterator[TwoClusterFederation]:
    made = TwoClusterFederation()
    yield made
    await made.heddle.close()


async def a_spanning_master(world: TwoClusterFederation, count: int = 6) -> LibraryApplicationMaster:
    world.clusters[EAST].may_grant = count // 2
    world.clusters[WEST].may_grant = count - count // 2
    master = world.log_in()
    await master.register()
    await master.allocate(count)
    await master.until(lambda: len(master.has) == count)
    await comes_to(lambda: world.has_kept(len(master.at(200))))
    return master


async def test_one_answer_has_the_containers_of_both_clusters(world):
    master = await a_spanning_master(world)
    assert (len(master.at(100)), len(master.at(200))) == (3, 3)
    (submission,) = world.clusters[WEST].submissions
    context = submission.application_submission_context
    assert context.unmanaged_am
    assert context.queue == "root.default"
    assert context.HasField("am_container_spec"), "a ResourceManager dereferences it"


async def test_what_a_session_took_to_bring_its_first_container_is_learnt(world):
    await asyncio.sleep(10.0)  # in virtual time, which begins with nothing
    began_s = asyncio.get_running_loop().time()
    await a_spanning_master(world)
    (took_s,) = world.crossings.seen_s
    assert 0.0 <= took_s <= asyncio.get_running_loop().time() - began_s


async def test_a_cluster_that_is_not_needed_hears_nothing(world):
    world.clusters[WEST].may_grant = 0
    master = world.log_in()
    await master.register()
    await master.allocate(3)
    assert len(master.has) == 3
    assert world.clusters[WEST].calls == []


async def test_ends_come_back_and_the_end_ends_everything(world):
    master = await a_spanning_master(world)
    world.clusters[WEST].end(APPLICATION, 3)
    await master.until(lambda: len(master.ended) == 3)
    assert set(master.ended.values()) == {3}
    finish = FinishApplicationMasterRequestProto(diagnostics="done", final_application_status=1)
    assert (await master.calls.finish(finish.SerializeToString())).refusal is None
    assert world.clusters[WEST].calls[-2:] == ["finishApplicationMaster", "getApplicationReport"]
    assert list(await world.store.sessions()) == []


async def test_another_heddle_takes_over_and_nothing_is_granted_twice(world):
    master = await a_spanning_master(world)
    await world.restart()
    master.calls = world.log_in().calls
    refused = await master.calls.allocate(master.request().SerializeToString())
    assert refused.refusal is not None
    assert refused.refusal.java_class == JavaClass.APPLICATION_MASTER_NOT_REGISTERED
    registered = await master.register()
    assert world.clusters[EAST].calls.count("registerApplicationMaster") == 1, "the home knew it all along"
    assert not registered.containers_from_previous_attempts, "it is the same attempt: it has them"
    before = len(master.has)
    world.clusters[WEST].may_grant = 2
    await master.allocate(2)
    await master.until(lambda: len(master.has) == before + 2)
    assert len({each.id for each in master.has}) == len(master.has)
    assert len(world.clusters[WEST].submissions) == 1
    assert not master.ended


@pytest.mark.parametrize("is_another_heddle", [False, True])
async def test_a_home_that_forgets_an_attempt_at_its_end_is_registered_with_again(world, is_another_heddle):
    master = await a_spanning_master(world)
    home = world.clusters[EAST]
    if is_another_heddle:
        await world.restart()
        master.calls = world.log_in().calls
    home.restart()
    end = FinishApplicationMasterRequestProto().SerializeToString()
    refused = await master.calls.finish(end)
    assert refused.refusal is not None
    assert refused.refusal.java_class == JavaClass.APPLICATION_MASTER_NOT_REGISTERED
    await master.register()
    assert home.calls.count("registerApplicationMaster") == 2
    await master.register()
    assert home.calls.count("registerApplicationMaster") == 2, "it knows it again"
    assert (await master.calls.finish(end)).refusal is None


async def test_another_heddle_knows_what_an_attempt_holds_and_may_take_it_back(world):
    master = await a_spanning_master(world)
    await world.restart()
    master.calls = world.log_in().calls
    await master.calls.allocate(master.request().SerializeToString())
    world.clusters[EAST].is_away = True  # it is asked again
    await master.register()
    world.clusters[EAST].is_away = False
    (span,) = world.heddle.spans
    await master.until(lambda: len(span.holdings.held) == 6)
    held = {each.id: each for each in span.holdings.held}
    assert sorted(each.number for each in held) == sorted(each.id for each in master.has), "and not the master's own"
    assert {each.grant.resource for each in held.values() if each.grant} == {ResourceVector(1024, 1)}
    assert {each.grant.priority for each in held.values() if each.grant} == {20}
    assert {each.since_s for each in held.values() if each.subcluster == EAST} == {1_700_000_123.0}
    taken = [next(each.id for each in held.values() if each.subcluster == name) for name in (EAST, WEST)]
    span.tell(ReleaseOrder(tuple(taken)))
    await master.until(lambda: len(master.ended) == 2)
    assert master.ended == {each.number: PREEMPTED_EXIT_STATUS for each in taken}
    await master.until(lambda: len(world.clusters[WEST].applications[APPLICATION].live) == 2)
    assert len(world.clusters[EAST].applications[APPLICATION].live) == 2


async def test_a_kept_container_of_an_earlier_attempt_is_known_as_held(world):
    await a_spanning_master(world)
    world.clusters[EAST].applications[APPLICATION].is_registered = False
    await world.restart()
    second = world.log_in(ApplicationAttemptId(APPLICATION, 2))
    assert len((await second.register()).containers_from_previous_attempts) == 3
    (span,) = world.heddle.spans
    await second.allocate(0)
    await second.until(lambda: len([each for each in span.holdings.held if each.subcluster == EAST]) == 3)


async def test_an_answer_of_the_home_that_died_with_heddle_arrives_by_the_next(world):
    master = await a_spanning_master(world)
    world.clusters[EAST].may_grant = 1
    lost = await world.servers.at_home(EAST, FIRST).call("allocate", master.request(1).SerializeToString())
    (container,) = AllocateResponseProto.FromString(lost.payload).allocated_containers
    await world.restart()
    master.calls = world.log_in().calls
    await master.calls.allocate(master.request().SerializeToString())
    await master.register()
    await master.allocate(1)
    assert container.id in master.has
    assert len({each.id for each in master.has}) == len(master.has)


async def test_what_an_answer_gave_that_died_with_heddle_is_released(world):
    """Its note is stored, and the ApplicationMaster's next call shows that the answer has not arrived."""
    master = await a_spanning_master(world)
    world.clusters[WEST].may_grant = 1
    request = master.request(1).SerializeToString()
    unheard = AllocateResponseProto.FromString((await master.calls.allocate(request)).payload)
    while not unheard.allocated_containers:
        await asyncio.sleep(0.01)
        master.response_id = unheard.response_id
        request = master.request().SerializeToString()
        unheard = AllocateResponseProto.FromString((await master.calls.allocate(request)).payload)
    assert await world.has_kept(4), "an answer that may arrive is known before it leaves"
    await world.restart()
    for _ in range(2):  # the refusal is lost, too
        master.calls = world.log_in().calls
        assert (await master.calls.allocate(request)).refusal is not None
    await master.register()
    await master.allocate(0)
    live = world.clusters[WEST].applications[APPLICATION].live
    await master.until(lambda: len(live) == 3)
    assert set(live) == set(master.at(200)), "and what an answer gave that did arrive is not"
    assert not master.ended


async def test_what_an_answer_gave_that_arrived_is_kept_whatever_the_ids_of_later_registrations(world):
    master = await a_spanning_master(world)
    given_by = master.response_id
    for heard in (given_by, given_by - 1):  # response ids begin at 0 with each registration
        while master.response_id < heard:
            await master.allocate()
        await world.restart()
        master.calls = world.log_in().calls
        assert (await master.calls.allocate(master.request().SerializeToString())).refusal is not None
        await master.register()
        await master.allocate(0)
    for _ in range(10):
        await master.allocate()
        await asyncio.sleep(0.01)
    assert set(world.clusters[WEST].applications[APPLICATION].live) == set(master.at(200))
    assert len(master.at(200)) == 3


async def test_what_the_home_kept_is_handed_over_once(world):
    master = await a_spanning_master(world)
    world.clusters[EAST].applications[APPLICATION].is_registered = False
    second = world.log_in(ApplicationAttemptId(APPLICATION, 2))
    assert len((await second.register()).containers_from_previous_attempts) == 3
    await second.allocate(0)
    await world.restart()
    second.calls = world.log_in(ApplicationAttemptId(APPLICATION, 2)).calls
    await second.calls.allocate(second.request().SerializeToString())
    assert not (await second.register()).containers_from_previous_attempts, "it knows them"
    assert len(master.has) == 6


async def test_what_runs_elsewhere_and_was_never_given_is_released_by_another_heddle(world):
    master = await a_spanning_master(world)
    await world.store.take(APPLICATION, WEST, (await world.store.containers(APPLICATION)).get(WEST, ()))
    await world.restart()
    master.calls = world.log_in().calls
    await master.calls.allocate(master.request().SerializeToString())
    await master.register()
    await master.allocate(0)
    await master.until(lambda: not world.clusters[WEST].applications[APPLICATION].live)
    assert len(world.clusters[EAST].applications[APPLICATION].live) == 3


async def test_a_scheduler_elsewhere_that_starts_again_is_asked_again(world):
    master = await a_spanning_master(world)
    world.clusters[WEST].restart()
    world.clusters[WEST].may_grant = 1
    await master.allocate(1)
    await master.until(lambda: len(master.at(200)) == 4)
    assert world.clusters[WEST].calls.count("registerApplicationMaster") == 2
    assert not master.ended


@pytest.mark.parametrize("come_back", [True, False])
async def test_what_a_restarted_scheduler_does_not_list_is_lost_unless_its_nodes_come_back(world, come_back):
    master = await a_spanning_master(world)
    west = world.clusters[WEST]
    running = dict(west.applications[APPLICATION].live)
    west.restart(is_before_its_nodes=True)
    await comes_to(lambda: is_so(lambda: west.calls.count("registerApplicationMaster") == 2))
    if come_back:
        west.nodes_come_back()
    west.may_grant = 0
    await comes_to(lambda: is_so(lambda: "getContainers" in west.calls))
    await master.until(lambda: come_back or len(master.ended) == 3)
    await master.allocate(0)
    assert set(master.ended.values()) == (set() if come_back else {-100})
    assert west.applications[APPLICATION].live == (running if come_back else {})


async def test_a_cluster_that_is_silent_for_long_loses_its_containers_and_is_used_again_when_it_is_back(world):
    master = await a_spanning_master(world)
    world.clusters[WEST].is_away = True
    await master.until(lambda: len(master.ended) == 3)
    assert set(master.ended.values()) == {-100}
    assert set(master.ended) == set(master.at(200))
    assert master.nodes == {"west-1": NodeStateProto.NS_LOST}, "so that what was finished there is run again"
    world.clusters[WEST].is_away = False
    await master.until(lambda: not world.clusters[WEST].applications[APPLICATION].live)  # nobody knows of them any more
    world.clusters[WEST].may_grant = 2
    await master.allocate(2)
    await master.until(lambda: len(master.at(200)) == 5)
    assert master.nodes == {"west-1": NodeStateProto.NS_RUNNING}


async def test_asks_leave_a_cluster_that_is_drained_before_the_master_calls_again(world):
    master = await a_spanning_master(world)
    west = world.clusters[WEST].applications[APPLICATION]
    world.clusters[WEST].may_grant = 0
    world.clusters[EAST].may_grant = 0
    await master.allocate(4)
    await master.until(lambda: west.asked[20, "*"] > 0)
    calls = world.clusters[EAST].calls.count("allocate")
    world.capacities.closed.add(WEST)
    world.heddle.look_again()
    await comes_to(lambda: is_so(lambda: west.asked[20, "*"] == 0))
    assert world.clusters[EAST].calls.count("allocate") == calls, "the master has not called"
    world.clusters[EAST].may_grant = 4
    await master.until(lambda: len(master.at(100)) == 7)
    assert len(master.at(200)) == 3, "what runs there goes on"


async def is_so(holds: Callable[[], bool]) -> bool:
    return holds()


async def test_asks_go_elsewhere_when_a_cluster_refuses_the_application(world):
    world.clusters[WEST].refuses = RPCRefusal(JavaClass.YARN, "not here")
    world.clusters[EAST].may_grant = 0
    world.clusters[WEST].may_grant = 3
    master = world.log_in()
    await master.register()
    await master.allocate(3)
    await comes_to(world.has_asked_west)
    world.clusters[EAST].may_grant = 3
    await master.until(lambda: len(master.at(100)) == 3)


@pytest.mark.parametrize("is_before_its_nodes", [False, True])
async def test_a_second_attempt_gives_back_what_the_first_had_unless_containers_are_kept(world, is_before_its_nodes):
    master = await a_spanning_master(world)
    had = set(master.at(200))
    world.clusters[EAST].applications[APPLICATION].is_registered = False
    world.clusters[WEST].restart(is_before_its_nodes=is_before_its_nodes)
    second = world.log_in(ApplicationAttemptId(APPLICATION, 2))
    registered = await second.register()
    assert not had & {each.id.id for each in registered.containers_from_previous_attempts}
    await second.allocate(0)
    await comes_to(lambda: is_so(lambda: world.clusters[WEST].calls.count("registerApplicationMaster") > 1))
    world.clusters[WEST].nodes_come_back()
    await second.until(lambda: not world.clusters[WEST].applications[APPLICATION].live)


async def test_a_second_attempt_gets_the_nodes_tokens_though_nothing_runs_there_any_more(world):
    """A ResourceManager remembers for which nodes an ApplicationMaster has tokens, and this one stays the same."""
    master = await a_spanning_master(world)
    world.clusters[WEST].end(APPLICATION)
    await master.until(lambda: len(master.ended) == 3)
    await world.restart()
    second = world.log_in(ApplicationAttemptId(APPLICATION, 2))
    await second.register()
    world.clusters[WEST].may_grant = 1
    await second.allocate(1)
    await second.until(lambda: len(second.at(200)) == 1)
    assert "west-1" in second.tokens


async def test_a_second_attempt_is_handed_the_kept_containers_of_all_clusters(world):
    world.keeps = True
    master = await a_spanning_master(world)
    second = world.log_in(ApplicationAttemptId(APPLICATION, 2))
    registered = await second.register()
    handed = {each.id.id for each in registered.containers_from_previous_attempts}
    assert handed == {each.id for each in master.has}
    await second.allocate(0)
    assert len(world.clusters[WEST].applications[APPLICATION].live) == 3


async def test_kept_containers_are_handed_over_though_heddle_died_before_it_answered(monkeypatch, world):
    world.keeps = True
    master = await a_spanning_master(world)
    await world.restart()
    second = world.log_in(ApplicationAttemptId(APPLICATION, 2))

    async def hangs(*_: object) -> None:
        await asyncio.Event().wait()

    with monkeypatch.context() as patched:
        patched.setattr(UnmanagedAMs, "open", hangs)
        registering = asyncio.create_task(second.register())
        await comes_to(lambda: is_registered(world, ApplicationAttemptId(APPLICATION, 2)))
        registering.cancel()
        await asyncio.gather(registering, return_exceptions=True)
        await world.restart()
    second.calls = world.log_in(ApplicationAttemptId(APPLICATION, 2)).calls
    registered = await second.register()
    handed = {each.id.id for each in registered.containers_from_previous_attempts}
    assert handed == {each.id for each in master.has}
    await second.allocate(0)
    assert len(world.clusters[WEST].applications[APPLICATION].live) == 3


async def is_registered(world, attempt):
    return await world.store.find_attempt(attempt) is not None


@pytest.mark.parametrize("is_away", [False, True])
async def test_a_kept_container_that_the_second_attempt_is_not_told_of_is_released(monkeypatch, world, is_away):
    """Its node comes back later than its ResourceManager, or that does not answer in time."""
    monkeypatch.setattr("shim.multicluster.sessions._KEPT_WITHIN_S", 0.05)
    world.keeps = True
    master = await a_spanning_master(world)
    elsewhere = set(master.at(200))
    west = world.clusters[WEST]
    await world.restart()
    west.restart(is_before_its_nodes=not is_away)
    west.is_away = is_away
    second = world.log_in(ApplicationAttemptId(APPLICATION, 2))
    registered = await second.register()
    assert not elsewhere & {each.id.id for each in registered.containers_from_previous_attempts}
    assert WEST not in await world.store.containers(APPLICATION)
    west.is_away = False
    await second.allocate(0)
    west.nodes_come_back()
    await second.until(lambda: not west.applications[APPLICATION].live)
    assert not second.ended


async def test_an_attempt_that_nobody_saw_registering_lives_at_home(world):
    home = world.servers.at_home(EAST, FIRST)
    await home.call("registerApplicationMaster", b"")
    master = world.log_in()
    await master.allocate(2)
    assert len(master.at(100)) == 2
    assert world.clusters[WEST].calls == []


async def test_a_repeated_call_has_the_same_answer(world):
    master = await a_spanning_master(world)
    world.clusters[EAST].may_grant = 1
    request = master.request(1).SerializeToString()
    first = await master.calls.allocate(request)
    again = await world.log_in().calls.allocate(request)
    assert AllocateResponseProto.FromString(first.payload) == AllocateResponseProto.FromString(again.payload)


async def test_what_was_begun_and_never_accepted_is_begun_again(world):
    session = RemoteSession(APPLICATION, WEST, EAST, "ada")
    await world.store.save_session(session)  # and then Heddle died
    opened = await world.unmanaged_ams.open(session, "root.default")
    assert opened.live == ()
    (kept,) = await world.store.sessions()
    assert kept.token
    assert await world.unmanaged_ams.end(kept, "over")
    assert list(await world.store.sessions()) == []


async def test_the_intent_is_in_the_store_before_a_cluster_is_asked(world):
    """Whoever comes after a crash between the two ends what may be there."""
    session = RemoteSession(APPLICATION, WEST, EAST, "ada")
    world.clusters[WEST].is_away = True
    with pytest.raises(NoAnswerError):
        await world.unmanaged_ams.open(session, "root.default")
    assert world.clusters[WEST].calls == ["submitApplication"]
    assert list(await world.store.sessions()) == [session]


async def test_a_token_that_was_rolled_is_the_one_that_another_heddle_logs_in_with(world):
    master = await a_spanning_master(world)
    (before,) = await world.store.sessions()
    world.clusters[WEST].rolls = True
    await master.until(lambda: not world.clusters[WEST].rolls)
    await comes_to(lambda: has_other_token(world, before.token))
    world.clusters[WEST].refuses_old_tokens = True
    await world.restart()
    master.calls = world.log_in().calls
    assert (await master.calls.allocate(master.request().SerializeToString())).refusal is not None
    await master.register()
    world.clusters[WEST].may_grant = 1
    await master.allocate(1)
    await master.until(lambda: len(master.at(200)) == 4)
    assert not master.ended


async def test_tokens_that_come_while_the_store_is_away_are_stored_later_and_cost_nothing(world):
    master = await a_spanning_master(world)
    (before,) = await world.store.sessions()
    west = world.clusters[WEST]
    world.store.is_away = west.rolls = True
    await comes_to(lambda: is_so(lambda: not west.rolls))
    for _ in range(3):
        await master.allocate()
        await asyncio.sleep(0.01)
    world.store.is_away = False
    await comes_to(lambda: has_other_token(world, before.token))
    west.may_grant = 1
    await master.allocate(1)
    await master.until(lambda: len(master.at(200)) == 4)
    assert not master.ended


async def has_other_token(world, before):
    (session,) = await world.store.sessions()
    return session.token not in (b"", before)


async def test_nobody_misses_what_an_earlier_attempt_gave_back(world):
    master = await a_spanning_master(world)
    assert len(master.at(200)) == 3
    world.clusters[EAST].applications[APPLICATION].is_registered = False
    second = world.log_in(ApplicationAttemptId(APPLICATION, 2))
    await second.register()
    assert await world.store.containers(APPLICATION) == {}


class FailsOnce(InMemoryMultiClusterStore):
    """Fails one of its operations, the `fails_at`-th from now on."""

    def __init__(self) -> None:
        super().__init__()
        self.fails_at = 0
        self.has_failed = False

    def _check(self) -> None:
        self.fails_at -= 1
        if self.fails_at == 0:
            self.has_failed = True
            raise StoreUnavailableError("it fails once")


@pytest.mark.parametrize("fails_at", [1, 2, 3, 4, 6])  # the fifth is a worker's, which gives its cluster up
async def test_a_store_that_fails_while_a_master_registers_costs_it_a_repetition_and_nothing_else(fails_at):
    world = TwoClusterFederation()
    store = world.store = FailsOnce()
    await world.restart()
    world.keeps = True
    first = await a_spanning_master(world)
    world.clusters[EAST].restart()  # it knows the second attempt no more than a ResourceManager would
    world.clusters[EAST].calls.clear()
    store.fails_at = fails_at
    second = world.log_in(ApplicationAttemptId(APPLICATION, 2))
    tries = 0
    while True:
        tries += 1
        try:
            registration = await second.register()
        except StoreUnavailableError:
            continue
        break
    assert (tries, world.clusters[EAST].calls.count("registerApplicationMaster")) == (1 + store.has_failed, 1)
    kept = {each.id.id for each in registration.containers_from_previous_attempts}
    assert {number for number in kept if number >> 40 == 200} == set(first.at(200))
    await second.allocate(0)
    await world.heddle.close()


async def test_another_heddle_gives_back_what_was_held_for_a_gang_and_keeps_what_was_given(world):
    world.gang = Gang(6)
    home, west = world.clusters[EAST], world.clusters[WEST]
    home.may_grant, west.may_grant = 2, 1

    async def another_heddle() -> None:
        await world.restart()
        master.calls = world.log_in().calls
        refused = await master.calls.allocate(master.request().SerializeToString())
        assert refused.refusal is not None
        await master.register()

    def live(cluster):
        known = cluster.applications.get(APPLICATION)
        return 0 if known is None else len(known.live)

    master = world.log_in()
    await master.register()
    await master.allocate(6)
    await master.until(lambda: live(home) == 2 and live(west) == 1)
    assert not master.has
    home.may_grant = west.may_grant = 0
    await another_heddle()
    await master.allocate(6)
    await master.until(lambda: live(home) == live(west) == 0)
    assert not master.has
    home.may_grant = west.may_grant = 6
    sizes: set[int] = set()
    await master.until(lambda: sizes.add(len(master.has)) or len(master.has) == 6)
    assert sizes <= {0, 6}, "in one answer"
    home.may_grant = west.may_grant = 0

    async def all_are_kept() -> bool:
        return sum(map(len, (await world.store.containers(APPLICATION)).values())) == 6

    await comes_to(all_are_kept)
    await master.allocate()
    await another_heddle()
    for _ in range(20):
        await master.allocate()
        await asyncio.sleep(0.01)
    assert live(home) + live(west) == 6
    assert not master.ended
