"""From ids to sub-clusters: by the view, by the store, by asking everybody once."""

import asyncio

import pytest

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.submissions import SubmissionState
from shim.errors import HomeUnreachableError, NotFoundError
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.federation.routing import ContainerPlaces, ReservationIssuers, Routing, RoutingSettings
from shim.ports.multicluster_store import RegisteredAttempt
from shim.simulation.stores import InMemoryMultiClusterStore
from tests.doubles.builders import FEDERATION_TIMESTAMP_MS, a_record
from tests.doubles.failing_stores import AwayStore, SwitchableStore
from tests.doubles.federation import ScriptedFederation
from tests.doubles.misbehaviours import IsNeverReached, IsPaused, IsRecovering
from tests.doubles.settings import usual

EAST, WEST = SubClusterId("east"), SubClusterId("west")
AN_ID = ApplicationId(FEDERATION_TIMESTAMP_MS, 1)


@pytest.fixture
def federation() -> ScriptedFederation:
    return ScriptedFederation()


async def test_what_the_view_knows_is_not_asked_for(federation: ScriptedFederation) -> None:
    federation["west"].add_application(AN_ID)
    heddle = await federation.start()
    asked = [len(manager.requests) for manager in federation.managers.values()]
    assert await heddle.routing.home_of(AN_ID) == WEST
    assert await heddle.routing.place_of_container(ContainerId(ApplicationAttemptId(AN_ID, 1), 7)) == WEST
    assert [len(manager.requests) for manager in federation.managers.values()] == asked


async def test_what_the_store_knows_is_not_asked_for(federation: ScriptedFederation) -> None:
    heddle = await federation.start()
    await federation.store.insert_intent(a_record(home="west"))
    await federation.store.settle(AN_ID, SubmissionState.SUBMITTED)
    asked = len(federation["west"].requests)
    assert await heddle.routing.home_of(AN_ID) == WEST
    assert len(federation["west"].requests) == asked


async def test_one_that_a_sub_cluster_was_given_directly_is_found_and_remembered(
    federation: ScriptedFederation,
) -> None:
    heddle = await federation.start()
    federation["west"].add_application(AN_ID)
    homes = await asyncio.gather(*(heddle.routing.home_of(AN_ID) for _ in range(20)))
    assert set(homes) == {WEST}
    asked = len(federation["west"].requests)
    assert await heddle.routing.home_of(AN_ID) == WEST
    assert len(federation["west"].requests) == asked
    assert sum(str(AN_ID) in request.path for request in federation["west"].requests) == 1


async def test_an_unknown_one_is_not_found_and_not_asked_for_again_at_once(federation: ScriptedFederation) -> None:
    heddle = await federation.start()
    for _ in range(3):
        with pytest.raises(NotFoundError, match=f"app with id: {AN_ID} not found"):
            await heddle.routing.home_of(AN_ID)
    assert sum(str(AN_ID) in request.path for request in federation["east"].requests) == 1
    federation["east"].add_application(AN_ID)
    await federation.clock.advance(1.5)
    assert await heddle.routing.home_of(AN_ID) == EAST


@pytest.mark.parametrize("behaviour", [IsNeverReached, IsPaused, IsRecovering], ids=lambda kind: kind.__name__)
async def test_unknown_to_all_but_a_silent_one_is_not_called_unknown(
    federation: ScriptedFederation, behaviour: type[IsNeverReached | IsPaused | IsRecovering]
) -> None:
    heddle = await federation.start()
    federation["west"].behave(behaviour())
    with pytest.raises(HomeUnreachableError, match="west"):
        await federation.wait_for(heddle.routing.home_of(AN_ID), most_s=2.25)


async def test_what_one_knows_is_found_while_another_is_silent(federation: ScriptedFederation) -> None:
    heddle = await federation.start()
    federation["west"].behave(IsNeverReached())
    federation["east"].add_application(AN_ID)
    assert await heddle.routing.home_of(AN_ID) == EAST


async def test_without_the_store_the_sub_clusters_are_asked() -> None:
    federation = ScriptedFederation(store=AwayStore())
    heddle = await federation.start()
    federation["west"].add_application(AN_ID)
    assert await heddle.routing.home_of(AN_ID) == WEST


async def test_the_home_of_an_intent_is_not_remembered_as_it_may_change() -> None:
    federation = ScriptedFederation(store=SwitchableStore())
    heddle = await federation.start()
    record = a_record(home="east")
    await federation.store.insert_intent(record)
    assert await heddle.routing.home_of(AN_ID) == EAST
    await federation.store.rehome(a_record(home="west", intended_at_ms=6000), was=record.progress)
    assert await heddle.routing.home_of(AN_ID) == WEST


async def test_a_reservation_is_where_it_was_issued(federation: ScriptedFederation) -> None:
    heddle = await federation.start()
    federation["west"].started_on_ms += 5
    await heddle.poll()
    west_id = f"reservation_{federation['west'].started_on_ms}_0001"
    assert heddle.routing.reservations.issuer_of(west_id) == WEST
    assert heddle.routing.reservations.issuer_of("reservation_1_0001") is None
    silent = ReservationIssuers(FederationView((EAST, WEST), usual(ViewSettings)))
    assert silent.issuer_of(west_id) == EAST, "whoever was not heard of yet may have issued it"

    federation["west"].started_on_ms += 5
    await heddle.poll()
    assert heddle.routing.reservations.issuer_of(west_id) == WEST, "it has recovered its plans"


async def test_a_retired_cluster_has_issued_nothing(federation: ScriptedFederation) -> None:
    heddle = await federation.start()
    federation["west"].started_on_ms += 5
    await heddle.poll()
    west_id = f"reservation_{federation['west'].started_on_ms}_0001"
    heddle.view.retire([WEST])
    assert heddle.routing.reservations.issuer_of(west_id) is None
    never_heard = FederationView((EAST, WEST), usual(ViewSettings))
    never_heard.retire([WEST])
    assert ReservationIssuers(never_heard).issuer_of(west_id) == EAST


async def test_a_node_that_nobody_told_of_is_not_found(federation: ScriptedFederation) -> None:
    heddle = await federation.start()
    with pytest.raises(NotFoundError, match="nodeId, nowhere:1, is not found"):
        heddle.routing.subcluster_of_node(NodeId("nowhere", 1))


async def test_usable_are_those_that_answered_last(federation: ScriptedFederation) -> None:
    heddle = await federation.start()
    assert heddle.routing.usable() == (EAST, WEST)
    federation["east"].behave(IsNeverReached())
    await heddle.poll()
    assert heddle.routing.usable() == (WEST,)


async def test_containers_of_an_application_that_spans_are_where_they_were_given(
    federation: ScriptedFederation,
) -> None:
    federation["west"].add_application(AN_ID)
    heddle = await federation.start()
    spans = InMemoryMultiClusterStore()
    routing = Routing(
        heddle.view,
        federation.managers,
        federation.store,
        federation.clock,
        usual(RoutingSettings),
        places=ContainerPlaces(spans),
    )
    at_home, there = ApplicationAttemptId(AN_ID, 2), ApplicationAttemptId(AN_ID, 1)
    given = ContainerId(there, (1000 << 40) | 7)
    await spans.save_attempt(RegisteredAttempt(at_home, b"registered"))
    await spans.give(AN_ID, EAST, [given], "1.1.1")
    await spans.give(AN_ID, WEST, [ContainerId(at_home, 3)], "1.1.1")

    assert await routing.place_of_container(given) == EAST
    assert await routing.place_of_container(ContainerId(at_home, 3)) == WEST
    assert await routing.place_of_container(ContainerId(at_home, 9)) == WEST, "a container that nobody noted"
    assert await routing.beyond_home(at_home) == [(EAST, there)]
    assert await routing.beyond_home(there) == [], "an earlier attempt at home has no containers"

    await spans.take(AN_ID, EAST, [given])
    assert await routing.beyond_home(at_home) == []
    spans.is_away = True
    assert await routing.place_of_container(given) == WEST
    assert await routing.beyond_home(at_home) == [], "without the store the home is asked"


async def test_what_is_remembered_of_made_up_ids_is_bounded(federation: ScriptedFederation) -> None:
    heddle = await federation.start()
    settings = usual(RoutingSettings, remembered=2, unknown_for_s=60.0)
    routing = Routing(heddle.view, federation.managers, federation.store, federation.clock, settings)

    async def is_asked_for(sequence: int) -> bool:
        asked = len(federation["west"].requests)
        with pytest.raises(NotFoundError):
            await routing.home_of(ApplicationId(7, sequence))
        return len(federation["west"].requests) > asked

    assert [await is_asked_for(each) for each in (1, 2, 2, 1)] == [True, True, False, False]
    assert [await is_asked_for(each) for each in (3, 3, 1)] == [True, False, True]
