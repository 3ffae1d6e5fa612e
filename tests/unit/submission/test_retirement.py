"""A sub-cluster is declared dead: what waited for it goes elsewhere once, what ran there is lost, and it stays away."""

import asyncio
import json
from collections.abc import Collection

import pytest

from shim.domain.applications import SPAN_TAG, YarnApplicationState
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import Admission
from shim.domain.submissions import SubmissionState
from shim.errors import ConflictError, NeverReachedError, NotFoundError, UnavailableError
from shim.ports.multicluster_store import RemoteSession
from shim.ports.resource_manager import RestRequest
from shim.submission.entrance import Accepted
from tests.doubles.builders import FEDERATION_TIMESTAMP_MS, a_submission
from tests.doubles.failing_stores import SwitchableStore
from tests.doubles.federation import ScriptedFederation, ScriptedHeddle
from tests.doubles.misbehaviours import IsNeverReached, IsPaused, IsRecovering, MisbehavesFor
from tests.doubles.resource_manager import AnswersProperly

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
    assert moved.intended_at_ms == int(federation.clock.now_s() * 1000), "it was intended for west just now"
    lost = await heddle.store.find(ONE)
    assert lost is not None
    assert (lost.state, lost.home_subcluster) == (SubmissionState.LOST, EAST)
    document = heddle.view.applications.find(ONE)
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
    document = heddle.view.applications.find(ONE)
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
    assert other.view.applications.home_of(TWO) == WEST
    document = other.view.applications.find(ONE)
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
        await heddle.managers[EAST].forward(RestRequest("GET", "/ws/v1/cluster/info"))
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


async def a_heddle_whose_masters_are_left_at_a_retired_cluster(federation: ScriptedFederation) -> ScriptedHeddle:
    """ONE runs on west and spanned to east; east is retired, and still knows Heddle's ApplicationMaster of ONE."""
    heddle = await federation.start()
    await heddle.administration.cordon(EAST, by="root")
    assert await heddle.submissions.submit(a_submission(1)) == Accepted(WEST, is_delivered=True)
    await federation.wait_for(heddle.submissions.finish())
    await heddle.spans.save_session(RemoteSession(ONE, EAST, WEST, "ada"))
    await heddle.administration.undrain(EAST, by="root")
    dies(federation)
    plan = await heddle.retirement.retire(EAST, by="root")
    assert plan.spanning == {ONE: 0}
    federation["east"].behave(AnswersProperly())
    federation["east"].add_application(ONE, applicationTags=SPAN_TAG)
    return heddle


@pytest.mark.parametrize("state", ["ACCEPTED", "FINISHED"])
async def test_masters_of_heddles_own_do_not_keep_a_cluster_from_coming_back(
    federation: ScriptedFederation, state: str
) -> None:
    heddle = await a_heddle_whose_masters_are_left_at_a_retired_cluster(federation)
    federation["west"].move(ONE, state)
    has_ended = state == "FINISHED"
    if has_ended:  # its session is forgotten with it, as the cluster is retired
        await heddle.spans.remove_session(ONE, EAST)
    orphans = (ONE,) if has_ended else ()
    assert await heddle.retirement.revive(EAST, by="root", is_dry_run=True) == orphans
    assert heddle.administration.is_retired(EAST)
    assert await heddle.retirement.revive(EAST, by="root") == orphans
    assert not heddle.administration.is_retired(EAST)
    (session,) = await heddle.spans.sessions()  # the watch over spans ends it, or its application goes on with it
    assert (session.application, session.subcluster, session.home) == (ONE, EAST, WEST)


async def test_an_application_that_only_calls_itself_a_master_is_a_leftover(federation: ScriptedFederation) -> None:
    heddle = await a_heddle_with_one_acknowledged_and_one_on_its_way(federation)
    await heddle.retirement.retire(EAST, by="root")
    await rounds(federation, heddle)
    federation["east"].behave(AnswersProperly())
    federation["east"].add_application(ONE, applicationTags=SPAN_TAG)
    with pytest.raises(ConflictError, match=str(ONE)):
        await heddle.retirement.revive(EAST, by="root")


class HoldsNotes(SwitchableStore):
    """Writes down what homes have taken only when it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may_note = asyncio.Event()

    async def note_taken(self, application_ids: Collection[ApplicationId]) -> None:
        """See `StateStore`."""
        await self.may_note.wait()
        await super().note_taken(application_ids)


async def test_what_this_heddle_knows_to_be_taken_is_not_moved_though_the_store_says_intended() -> None:
    store = HoldsNotes()
    federation = ScriptedFederation(store=store)
    heddle = await federation.start()
    assert await heddle.submissions.submit(a_submission(1)) == Accepted(EAST, is_delivered=True)
    dies(federation)
    await heddle.retirement.retire(EAST, by="root")
    await rounds(federation, heddle)
    record = await heddle.store.find(ONE)
    assert record is not None
    assert (record.state, record.home_subcluster) == (SubmissionState.INTENDED, EAST)
    store.may_note.set()
    await federation.wait_for(heddle.submissions.finish())
    await rounds(federation, heddle)
    record = await heddle.store.find(ONE)
    assert record is not None
    assert record.state is SubmissionState.LOST, "it had run there: it is not run again"
    assert federation.who_has(ONE) == [EAST]
