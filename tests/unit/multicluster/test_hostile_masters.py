"""ApplicationMasters that are hostile, or wrong: what is read of their calls is bounded, and harms only themselves."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from random import Random

import pytest
import structlog

from shim.domain.ids import ApplicationId
from shim.errors import BadRequestError, HeddleError
from shim.multicluster.core.asks import MOST_GROUPS, MOST_ROWS
from shim.ports.resource_manager_rpc import RPCAnswer
from shim.protocol.proto.messages import (
    AllocateRequestProto,
    AllocateResponseProto,
    ApplicationAttemptIdProto,
    ApplicationIdProto,
    ContainerIdProto,
    PriorityProto,
    ResourceBlacklistRequestProto,
    ResourceInformationProto,
    ResourceProto,
    ResourceRequestProto,
    SchedulingRequestProto,
    UpdateContainerRequestProto,
)
from tests.support.loop_watch import LoopWatch, too_long
from tests.support.odd_messages import odd
from tests.unit.multicluster.test_service import (
    APPLICATION,
    EAST,
    FIRST,
    WEST,
    LibraryApplicationMaster,
    TwoClusterFederation,
)

INT32 = 2**31 - 1
INT64 = 2**63 - 1
OTHER = ApplicationId(APPLICATION.cluster_timestamp, 2)


@pytest.fixture
async def world() -> AsyncIterator[TwoClusterFederation]:
    made = TwoClusterFederation()
    yield made
    await made.heddle.close()


@pytest.fixture
async def master(world: TwoClusterFederation) -> LibraryApplicationMaster:
    for cluster in world.clusters.values():
        cluster.may_grant = 0
    made = world.log_in()
    await made.register()
    return made


def row(
    *, priority: int = 20, place: str = "*", memory: int = 1024, count: int = 1, request_id: int = -1, label: str = ""
) -> ResourceRequestProto:
    return ResourceRequestProto(
        priority=PriorityProto(priority=priority),
        resource_name=place,
        capability=ResourceProto(memory=memory, virtual_cores=1),
        num_containers=count,
        allocation_request_id=request_id,
        node_label_expression=label or None,
    )


def strange(name: str) -> ResourceRequestProto:
    made = row()
    made.capability.resource_value_map.append(ResourceInformationProto(key=name, value=1, units="", type=0))
    return made


def container(application: ApplicationId, number: int, attempt: int = 1) -> ContainerIdProto:
    named = ApplicationIdProto(cluster_timestamp=application.cluster_timestamp, id=application.sequence)
    return ContainerIdProto(
        app_attempt_id=ApplicationAttemptIdProto(application_id=named, attemptId=attempt), id=number
    )


async def say(master: LibraryApplicationMaster, request: AllocateRequestProto) -> RPCAnswer:
    request.response_id = master.response_id
    answer = await master.calls.allocate(request.SerializeToString())
    if answer.refusal is None:
        master.response_id = AllocateResponseProto.FromString(answer.payload).response_id
    return answer


async def refused(master: LibraryApplicationMaster, request: AllocateRequestProto) -> str:
    """The class of what it is told."""
    answer = await say(master, request)
    assert answer.refusal is not None
    return answer.refusal.java_class.rpartition(".")[2]


def asks(rows: Sequence[ResourceRequestProto]) -> AllocateRequestProto:
    return AllocateRequestProto(ask=rows)


@pytest.mark.parametrize(
    "request_of_master",
    [
        AllocateRequestProto(release=[container(OTHER, 2)]),
        AllocateRequestProto(release=[container(ApplicationId(-1, -1), -5, -2)]),
        AllocateRequestProto(release=[ContainerIdProto()]),
    ],
    ids=["another", "negative", "empty"],
)
async def test_a_container_of_another_application_is_not_released(master, request_of_master):
    assert await refused(master, request_of_master) == "InvalidContainerReleaseException"
    assert (await say(master, AllocateRequestProto())).refusal is None, "the next call is not refused for it"


async def test_a_container_of_another_application_is_not_updated(master):
    update = UpdateContainerRequestProto(
        container_id=container(OTHER, 2), capability=ResourceProto(memory=1), container_version=0, update_type=0
    )
    assert await refused(master, AllocateRequestProto(update_requests=[update])) == (
        "InvalidApplicationMasterRequestException"
    )
    assert (await say(master, AllocateRequestProto())).refusal is None


async def test_what_the_home_refused_is_not_said_again(world, master):
    home = world.clusters[EAST]
    blacklist = ResourceBlacklistRequestProto(blacklist_additions=["*"])
    said = AllocateRequestProto(release=[container(APPLICATION, 77, attempt=9)], blacklist_request=blacklist)
    assert await refused(master, said) == "InvalidResourceBlacklistRequestException"
    assert (await say(master, AllocateRequestProto())).refusal is None
    assert home.heard is not None
    assert not home.heard.release
    assert not home.heard.blacklist_request.blacklist_additions


@pytest.mark.parametrize("place", ["h" * 1000, "h\0"])
async def test_a_long_or_strange_place_is_refused(master, place):
    assert await refused(master, asks([row(place=place)])) == "InvalidResourceRequestException"
    blacklist = ResourceBlacklistRequestProto(blacklist_additions=[place])
    said = AllocateRequestProto(blacklist_request=blacklist)
    assert await refused(master, said) == "InvalidResourceBlacklistRequestException"
    assert await refused(master, asks([row(label=place * 2)])) == "InvalidResourceRequestException"
    assert (await say(master, asks([row()]))).refusal is None


@pytest.mark.parametrize(
    "strange_row",
    [
        row(count=INT32),
        row(count=-INT32 - 1),
        row(count=-1, place="east-1"),
        row(count=INT32, memory=INT64),
        row(memory=-1),
        row(priority=INT32),
        row(priority=-INT32 - 1),
        row(request_id=INT64),
    ],
    ids=str,
)
async def test_numbers_at_the_ends_of_their_types_are_taken(world, master, strange_row):
    world.clusters[WEST].may_grant = 2
    for _ in range(3):
        assert (await say(master, asks([strange_row]))).refusal is None
        await asyncio.sleep(0.02)
        await master.calls.allocate(AllocateRequestProto(response_id=master.response_id).SerializeToString())
        master.response_id += 1
    assert (await say(master, asks([row(count=0)]))).refusal is None


async def test_less_than_nothing_asks_for_nothing(world, master):
    assert (await say(master, asks([row(count=3), row(place="east-1", count=-2)]))).refusal is None
    heard = world.clusters[EAST].heard
    assert heard is not None
    assert {ask.resource_name for ask in heard.ask} == {"*"}
    assert all(ask.num_containers > 0 for ask in heard.ask)


async def test_kept_asks_are_bounded_over_many_calls(master):
    per_call = 500
    told = 0
    for turn in range(2 * MOST_GROUPS // per_call):
        rows = [row(request_id=turn * per_call + each) for each in range(per_call)]
        answer = await say(master, asks(rows))
        told += answer.refusal is None
    assert told == MOST_GROUPS // per_call
    assert await refused(master, asks([row(request_id=10**6)])) == "InvalidResourceRequestException"
    assert (await say(master, asks([row(request_id=0, count=7)]))).refusal is None, "what is kept may change"
    assert (await say(master, asks([row(request_id=each, count=0) for each in range(10)]))).refusal is None
    assert (await say(master, AllocateRequestProto())).refusal is None
    assert (await say(master, asks([row(request_id=10**6)]))).refusal is None, "what has ended makes room"


async def test_kept_places_are_bounded_and_those_that_want_nothing_are_not_kept(master):
    first = await say(master, asks([row(), *(row(place=f"h{each}") for each in range(MOST_ROWS - 1))]))
    assert first.refusal is None
    assert await refused(master, asks([row(place="more")])) == "InvalidResourceRequestException"
    assert (await say(master, asks([row(place=f"h{each}", count=0) for each in range(4000)]))).refusal is None
    for turn in range(5):
        rows = [row(place=f"{turn}-{each}", count=0) for each in range(4000)]
        assert (await say(master, asks(rows))).refusal is None
    assert (await say(master, asks([row(place="more")]))).refusal is None


@pytest.mark.parametrize("response_id", [-1, -INT32 - 1, INT32, 5])
async def test_response_ids_out_of_order_are_refused_and_harm_nothing(world, master, response_id):
    answer = await master.calls.allocate(AllocateRequestProto(response_id=response_id).SerializeToString())
    assert answer.refusal is not None
    assert "expect responseId to be 0" in answer.refusal.message
    await world.restart()
    again = world.log_in()
    answer = await again.calls.allocate(AllocateRequestProto(response_id=response_id).SerializeToString())
    assert answer.refusal is not None
    kept = await world.store.find_attempt(FIRST)
    assert kept is not None
    assert 0 <= kept.home_response_id <= INT32, "it goes into the store, and into a message"
    await again.register()
    assert (await say(again, AllocateRequestProto())).refusal is None


async def tried(master: LibraryApplicationMaster, request: AllocateRequestProto) -> None:
    with suppress(BadRequestError):  # told to the ApplicationMaster by the server
        await say(master, request)


def dear_requests() -> Iterator[tuple[str, AllocateRequestProto]]:
    yield "groups", asks([row(request_id=each) for each in range(MOST_GROUPS)])
    yield "places", asks([row(), *(row(place=f"h{each}") for each in range(MOST_ROWS - 1))])
    yield "nothing", asks([row(request_id=each, count=0) for each in range(8000)])
    yield "nowhere", asks([row(place=f"h{each}", count=0) for each in range(8000)])
    yield "types", asks([strange(f"t{each}") for each in range(MOST_GROUPS)])
    yield "too many", asks([row(request_id=each) for each in range(15_000)])
    yield "releases", AllocateRequestProto(release=[container(APPLICATION, each) for each in range(10_000)])
    places = [f"h{each}" for each in range(1000)]
    yield "blacklist", AllocateRequestProto(blacklist_request=ResourceBlacklistRequestProto(blacklist_additions=places))


@pytest.mark.parametrize("name", [name for name, _ in dear_requests()])
async def test_no_call_holds_the_loop(name):
    dear = dict(dear_requests())[name]
    what = ""

    async def attempt() -> float:
        nonlocal what
        watch = await held_by(dear)
        what = watch.what
        return watch.longest_s

    assert await too_long(attempt) is None, what


async def held_by(dear: AllocateRequestProto) -> LoopWatch:
    """How long a call, and those after it, hold the loop; with a session elsewhere whose beats go through it all."""
    world = TwoClusterFederation()
    world.clusters[EAST].may_grant, world.clusters[WEST].may_grant = 0, 3
    master = world.log_in()
    await master.register()
    with LoopWatch() as watch:
        for said in (dear, AllocateRequestProto(), asks([row(count=3)]), dear):
            await asyncio.wait({asyncio.create_task(tried(master, said))})
            await asyncio.sleep(0.03)
    await world.heddle.close()
    return watch


async def test_scheduling_requests_are_counted_as_other_asks_and_their_constraints_are_not_endless(master):
    requests = [SchedulingRequestProto(allocationRequestId=number) for number in range(MOST_GROUPS + 1)]
    assert (
        await refused(master, AllocateRequestProto(scheduling_requests=requests)) == "InvalidResourceRequestException"
    )
    long = SchedulingRequestProto(allocationTags=["t" * 200] * 100)
    assert await refused(master, AllocateRequestProto(scheduling_requests=[long])) == "InvalidResourceRequestException"
    answer = await say(master, AllocateRequestProto(scheduling_requests=requests[1:]))
    assert answer.refusal is None


@pytest.mark.parametrize("first_seed", [0, 60, 120])
async def test_whatever_a_master_says_harms_itself_alone(first_seed):
    """Names, tags, ids, counts and progress that are none: answered, refused, and everybody else goes on."""
    with structlog.testing.capture_logs() as logs:
        world = TwoClusterFederation()
        master = world.log_in()
        await master.register()
        taken = 0
        for seed in range(first_seed, first_seed + 60):
            draw = Random(seed)  # noqa: S311 - examples
            request = AllocateRequestProto.FromString(odd(AllocateRequestProto, draw))
            if not request.IsInitialized():
                continue
            with suppress(HeddleError):
                taken += (await say(master, request)).refusal is None
            assert (await say(master, AllocateRequestProto())).refusal is None, seed
            await asyncio.sleep(0)
        await world.heddle.close()
    assert [each for each in logs if each["log_level"] == "error"] == []
    assert taken
