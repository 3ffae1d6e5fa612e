"""A sub-cluster is declared dead: what waited for it goes elsewhere once, what ran there is lost, and it stays away."""

import json

import pytest

from shim.domain.applications import YarnApplicationState
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import Admission
from shim.domain.submissions import SubmissionState
from shim.errors import ConflictError, NeverReachedError, NotFoundError, UnavailableError
from shim.ports.resource_manager import RestRequest
from shim.services.submission import Accepted
from shim.testing.builders import FEDERATION_TIMESTAMP_MS, a_submission
from shim.testing.federation import ScriptedFederation, ScriptedHeddle
from shim.testing.misbehaviours import IsNeverReached, IsPaused, IsRecovering, MisbehavesFor
from shim.testing.resource_manager import AnswersProperly
from shim.testing.state_stores import SwitchableStore

EAST, WEST = SubClusterId("east"), SubClusterId("west")
ONE, TWO = (ApplicationId(FEDERATION_TIMESTAMP_MS, number) for number in (1, 2))


@pytest.fixture
def store() -> SwitchableStore:
    return SwitchableStore()


@pytest.fixture
def federation(store: SwitchableStore) -> ScriptedFederation:
    return ScriptedFederation(store=store)


async def a_heddle_with_one_acknowledged_and_one_on_its_way(federation: ScriptedFederation) -> ScriptedHeddle:
    """Both for east, which is gone afterwards."""
    heddle = await federation.start()
    assert await heddle.submissions.submit(a_submission(1)) == Accepted(EAST, is_delivered=True)
    await federation.wait_for(heddle.submissions.finish())
    await heddle.poll()
    federation["east"].behave(MisbehavesFor(IsPaused(), times=1, applies=lambda request: request.method == "POST"))
    taken = await federation.wait_for(heddle.submissions.submit(a_submission(2)))
    assert taken == Accepted(EAST, is_delivered=False)
    dies(federation)
    await federation.wait_for(heddle.poll())
    return heddle


def dies(federation: ScriptedFederation) -> None:
    federation["east"].behave(IsNeverReached())


async def rounds(federation: ScriptedFederation, heddle: ScriptedHeddle) -> None:
    await federation.clock.advance(11.0)
    await federation.wait_for(heddle.poll())
    await federation.wait_for(heddle.retirement.round())


async def test_what_waited_for_it_runs_elsewhere_and_what_it_had_is_lost(federation: ScriptedFederation) -> None:
    heddle = await a_heddle_with_one_acknowledged_and_one_on_its_way(federation)
    plan = await heddle.retirement.retire(EAST, by="root")
    assert (plan.was, plan.to_move, plan.to_lose) == (Admission.OPEN, (TWO,), (ONE,))
    await rounds(federation, heddle)
    assert federation.who_has(TWO) == [WEST]
    moved = await heddle.store.find(TWO)
    assert moved is not None
    assert (moved.state, moved.home_subcluster) == (SubmissionState.SUBMITTED, WEST)
    lost = await heddle.store.find(ONE)
    assert lost is not None
    assert (lost.state, lost.home_subcluster) == (SubmissionState.LOST, EAST)
    document = heddle.view.find(ONE)
    assert document is not None
    assert document.summary.state is YarnApplicationState.FAILED
    told = json.loads(document.raw)["diagnostics"]
    assert "east, which an operator has retired" in told
    assert "It was ACCEPTED when" in told


async def test_a_young_intent_is_left_alone_as_its_writer_may_be_sending(federation: ScriptedFederation) -> None:
    heddle = await a_heddle_with_one_acknowledged_and_one_on_its_way(federation)
    await heddle.retirement.retire(EAST, by="root")
    await federation.wait_for(heddle.retirement.round())
    record = await heddle.store.find(TWO)
    assert record is not None
    assert record.home_subcluster == EAST


async def test_a_plan_changes_nothing(federation: ScriptedFederation) -> None:
    heddle = await a_heddle_with_one_acknowledged_and_one_on_its_way(federation)
    plan = await heddle.retirement.plan(EAST)
    assert (plan.to_move, plan.to_lose) == ((TWO,), (ONE,))
    assert await heddle.store.admissions() == {}


async def test_what_was_submitted_to_it_directly_is_shown_as_failed(federation: ScriptedFederation) -> None:
    heddle = await federation.start()
    federation["east"].add_application(ONE)
    await heddle.poll()
    dies(federation)
    plan = await heddle.retirement.retire(EAST, by="root")
    assert plan.to_lose == (ONE,)
    await rounds(federation, heddle)
    document = heddle.view.find(ONE)
    assert document is not None
    assert document.summary.state is YarnApplicationState.FAILED


async def test_another_heddle_shows_the_same(federation: ScriptedFederation) -> None:
    heddle = await a_heddle_with_one_acknowledged_and_one_on_its_way(federation)
    other = await federation.start()
    other.listing.mark_submitted(a_submission(2), EAST)
    other.listing.mark_submitted(a_submission(1), EAST)
    await heddle.retirement.retire(EAST, by="root")
    await rounds(federation, heddle)
    await other.administration.refresh()
    await rounds(federation, other)
    assert other.view.home_of(TWO) == WEST
    document = other.view.find(ONE)
    assert document is not None
    assert document.summary.state is YarnApplicationState.FAILED


@pytest.mark.parametrize("behaviour", [AnswersProperly, IsPaused, IsRecovering])
async def test_what_holds_its_port_is_not_declared_dead(
    federation: ScriptedFederation, behaviour: type[AnswersProperly | IsPaused | IsRecovering]
) -> None:
    heddle = await federation.start()
    federation["east"].behave(behaviour())
    with pytest.raises(ConflictError, match="somebody holds its port"):
        await federation.wait_for(heddle.retirement.retire(EAST, by="root"))
    assert await heddle.store.admissions() == {}


async def test_an_unknown_sub_cluster_cannot_be_retired(federation: ScriptedFederation) -> None:
    heddle = await federation.start()
    with pytest.raises(NotFoundError, match="there are: east, west"):
        await heddle.retirement.retire(SubClusterId("north"), by="root")


async def test_without_the_store_nothing_is_declared(federation: ScriptedFederation, store: SwitchableStore) -> None:
    heddle = await federation.start()
    dies(federation)
    store.writes_fail = True
    with pytest.raises(UnavailableError, match="stays as it was"):
        await heddle.retirement.retire(EAST, by="root")
    assert heddle.administration.current == {}


async def test_nothing_reaches_the_dead_and_nothing_from_there_is_believed(federation: ScriptedFederation) -> None:
    heddle = await a_heddle_with_one_acknowledged_and_one_on_its_way(federation)
    await heddle.retirement.retire(EAST, by="root")
    federation["east"].behave(AnswersProperly())
    taken = len(federation["east"].taken)
    with pytest.raises(NeverReachedError, match="is retired"):
        await heddle.managers[EAST].exchange(RestRequest("GET", "/ws/v1/cluster/info"))
    await rounds(federation, heddle)
    assert len(federation["east"].taken) == taken
    assert EAST in heddle.view.late(federation.clock.now_s())
    assert await heddle.submissions.submit(a_submission(3)) == Accepted(WEST, is_delivered=True)


async def test_no_other_word_lifts_it(federation: ScriptedFederation) -> None:
    heddle = await federation.start()
    other = await federation.start()
    dies(federation)
    await heddle.retirement.retire(EAST, by="root")
    with pytest.raises(ConflictError, match="heddle cluster revive east"):
        await other.administration.undrain(EAST, by="root")
    assert await heddle.store.admissions() == {EAST: Admission.RETIRED}


async def test_it_comes_back_only_without_what_was_given_up_there(federation: ScriptedFederation) -> None:
    heddle = await a_heddle_with_one_acknowledged_and_one_on_its_way(federation)
    await heddle.retirement.retire(EAST, by="root")
    await rounds(federation, heddle)
    with pytest.raises(UnavailableError, match="can be revived when it answers"):
        await heddle.retirement.revive(EAST, by="root")
    federation["east"].behave(AnswersProperly())
    with pytest.raises(ConflictError, match=str(ONE)):  # it runs on, though it is told to be lost
        await heddle.retirement.revive(EAST, by="root")
    federation["east"].add_application(ONE, "KILLED")
    federation["east"].add_application(TWO, "KILLED")
    with pytest.raises(ConflictError, match=str(TWO)):  # it would be listed at two homes
        await heddle.retirement.revive(EAST, by="root")
    federation["east"].restart(forgets=True)
    await heddle.retirement.revive(EAST, by="root")
    await heddle.poll()
    assert EAST not in heddle.view.late(federation.clock.now_s())
    with pytest.raises(ConflictError, match="is not retired"):
        await heddle.retirement.revive(EAST, by="root")
