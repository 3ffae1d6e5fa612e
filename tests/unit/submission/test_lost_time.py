"""A store that was restored from an old copy, over scripted ResourceManagers: nothing runs twice, nothing is hidden."""

import pytest

from shim.domain.applications import YarnApplicationState
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.submissions import NOWHERE, SubmissionRecord, SubmissionState
from shim.errors import ConflictError, UnavailableError
from shim.simulation.state_stores import InMemoryHistoryStore, InMemoryStateStore
from shim.submission.entrance import Accepted
from shim.submission.lost_time import NOTHING_LOST, Observations, RestoreGap, RestoreGapSettings
from tests.doubles.builders import FEDERATION_TIMESTAMP_MS, a_record, a_submission
from tests.doubles.federation import ScriptedFederation, ScriptedHeddle
from tests.doubles.misbehaviours import IsNeverReached
from tests.doubles.resource_manager import AnswersProperly

EAST, WEST = SubClusterId("east"), SubClusterId("west")
AN_ID = ApplicationId(FEDERATION_TIMESTAMP_MS, 1)
INTENDED, SUBMITTED, LOST, WAITING = (
    SubmissionState.INTENDED,
    SubmissionState.SUBMITTED,
    SubmissionState.LOST,
    SubmissionState.WAITING,
)


@pytest.fixture
async def store() -> InMemoryStateStore:
    founded = InMemoryStateStore(now_s=lambda: FEDERATION_TIMESTAMP_MS / 1000)
    await founded.begin_epoch([])
    return founded


@pytest.fixture
def federation(store: InMemoryStateStore) -> ScriptedFederation:
    made = ScriptedFederation(store=store, history=InMemoryHistoryStore(store))
    store.now_s = made.clock.now_s
    return made


async def left_behind(federation: ScriptedFederation, **changes: object) -> SubmissionRecord:
    """A record of the copy: INTENDED for east a minute ago."""
    at_ms = int((federation.clock.now_s() - 60) * 1000)
    values: dict[str, object] = {
        "started_on_ms": federation["east"].started_on_ms,
        "intended_at_ms": at_ms,
    }
    record = a_record(**(values | changes))  # type: ignore[arg-type]
    await federation.store.insert_intent(record)
    return record


async def stands(federation: ScriptedFederation) -> SubmissionRecord:
    record = await federation.store.find(AN_ID)
    assert record is not None
    return record


async def repaired(federation: ScriptedFederation, heddle: ScriptedHeddle) -> None:
    await heddle.poll()
    await federation.wait_for(heddle.repair.repair_all())


async def test_what_was_moved_in_the_lost_time_is_found_at_its_new_home(
    federation: ScriptedFederation, store: InMemoryStateStore
) -> None:
    await left_behind(federation)
    store.note_restored()
    federation["west"].add_application(AN_ID)
    heddle = await federation.start()
    await repaired(federation, heddle)
    assert federation.who_has(AN_ID) == [WEST]
    assert (await stands(federation)).state is SUBMITTED
    assert (await stands(federation)).home_subcluster == WEST


async def test_nothing_is_sent_again_while_a_cluster_that_may_have_it_is_away(
    federation: ScriptedFederation, store: InMemoryStateStore
) -> None:
    await left_behind(federation)
    store.note_restored()
    federation["west"].add_application(AN_ID)
    federation["west"].behave(IsNeverReached())
    heddle = await federation.start()
    await repaired(federation, heddle)
    assert federation["east"].submissions == {}
    assert (await stands(federation)).state is INTENDED
    federation["west"].behave(AnswersProperly())
    await repaired(federation, heddle)
    assert federation.who_has(AN_ID) == [WEST]
    assert federation["east"].submissions == {}


async def test_what_is_nowhere_is_sent_once_every_cluster_has_said_so(
    federation: ScriptedFederation, store: InMemoryStateStore
) -> None:
    await left_behind(federation)
    store.note_restored()
    heddle = await federation.start()
    await repaired(federation, heddle)
    assert federation.who_has(AN_ID) == [EAST]


async def test_a_restore_that_nobody_told_of_shows_by_what_a_cluster_lists(federation: ScriptedFederation) -> None:
    await left_behind(federation)
    federation["west"].add_application(AN_ID)
    heddle = await federation.start()
    assert heddle.lost_time is not None
    assert heddle.lost_time.adopted == {AN_ID: WEST}
    await repaired(federation, heddle)
    assert federation.who_has(AN_ID) == [WEST]


async def test_what_the_store_does_not_know_is_adopted_by_name_listed_and_routed(
    federation: ScriptedFederation,
) -> None:
    federation["west"].add_application(AN_ID)
    heddle = await federation.start()
    assert heddle.lost_time is not None
    assert heddle.lost_time.adopted == {AN_ID: WEST}
    assert await heddle.routing.home_of(AN_ID) == WEST
    assert [document.summary.application_id for document in heddle.view.applications.newest_first()] == [AN_ID]


async def test_a_cluster_that_was_silent_is_compared_when_it_is_back(federation: ScriptedFederation) -> None:
    federation["west"].behave(IsNeverReached())
    heddle = await federation.start()
    assert heddle.lost_time is not None
    federation["west"].behave(AnswersProperly())
    federation["west"].add_application(AN_ID)
    await heddle.poll()
    await heddle.lost_time.round()
    assert heddle.lost_time.adopted == {AN_ID: WEST}


async def test_a_cluster_that_was_heard_is_compared_again_when_it_was_silent_and_is_back(
    federation: ScriptedFederation,
) -> None:
    heddle = await federation.start()
    assert heddle.lost_time is not None
    federation["west"].behave(IsNeverReached())
    await federation.clock.advance(3600.0)
    await heddle.poll()
    assert WEST in heddle.view.late(federation.clock.now_s())
    await heddle.lost_time.round()
    federation["west"].behave(AnswersProperly())
    federation["west"].add_application(AN_ID)
    await heddle.poll()
    assert not heddle.lost_time.adopted
    await heddle.lost_time.round()
    assert heddle.lost_time.adopted == {AN_ID: WEST}


async def test_ids_of_others_are_no_sign_of_a_restore(federation: ScriptedFederation) -> None:
    federation["west"].add_application(ApplicationId(FEDERATION_TIMESTAMP_MS + 5, 1))
    heddle = await federation.start()
    assert heddle.lost_time is not None
    assert not heddle.lost_time.adopted
    assert not heddle.lost_time.restored_at_ms


async def test_a_client_that_repeats_a_submission_of_the_lost_time_has_its_application(
    federation: ScriptedFederation, store: InMemoryStateStore
) -> None:
    heddle = await federation.start()
    store.note_restored()
    await federation.clock.advance(1.0)
    federation["west"].add_application(AN_ID)
    assert heddle.lost_time is not None
    await heddle.lost_time.round()
    taken = await federation.wait_for(heddle.submissions.submit(a_submission()))
    assert taken == Accepted(WEST, is_delivered=True)
    assert federation.who_has(AN_ID) == [WEST]


async def test_a_client_that_uses_an_id_of_the_lost_time_waits_for_the_clusters_that_may_know_it(
    federation: ScriptedFederation, store: InMemoryStateStore
) -> None:
    store.note_restored()
    federation["west"].behave(IsNeverReached())
    heddle = await federation.start()
    with pytest.raises(UnavailableError, match="west cannot say now"):
        await federation.wait_for(heddle.submissions.submit(a_submission()))
    federation["west"].behave(AnswersProperly())
    await heddle.poll()
    await federation.wait_for(heddle.submissions.submit(a_submission()))
    assert federation.who_has(AN_ID) == [EAST]


async def test_an_id_that_heddle_did_not_issue_and_a_cluster_has_as_another_application_is_refused(
    federation: ScriptedFederation,
) -> None:
    heddle = await federation.start()
    made_up = ApplicationId(77, 1)
    federation["west"].add_application(made_up, name="other")
    with pytest.raises(ConflictError, match="name 'other' instead of 'job'"):
        await federation.wait_for(heddle.submissions.submit(a_submission(application_id=made_up)))
    assert federation.who_has(made_up) == [WEST]


async def test_a_repetition_is_compared_with_what_the_home_has_whatever_its_record_says(
    federation: ScriptedFederation,
) -> None:
    heddle = await federation.start()
    await federation.wait_for(heddle.submissions.submit(a_submission()))
    federation["east"].add_application(AN_ID, name="other")  # its id was issued once more by a copy of the store
    await heddle.poll()
    with pytest.raises(ConflictError, match="name 'other' instead of 'job'"):
        await federation.wait_for(heddle.submissions.submit(a_submission()))


async def test_a_repetition_is_taken_as_one_though_the_home_has_moved_it_to_another_queue(
    federation: ScriptedFederation,
) -> None:
    heddle = await federation.start()
    await federation.wait_for(heddle.submissions.submit(a_submission()))
    federation["east"].add_application(AN_ID, queue="root.elsewhere")
    await heddle.poll()
    taken = await federation.wait_for(heddle.submissions.submit(a_submission()))
    assert taken == Accepted(EAST, is_delivered=True)


async def test_an_acknowledged_submission_whose_id_is_another_applications_fails_and_says_why(
    federation: ScriptedFederation,
) -> None:
    await left_behind(federation)
    federation["east"].add_application(AN_ID, name="other", user="bob")
    heddle = await federation.start()
    await repaired(federation, heddle)
    record = await stands(federation)
    assert record.state is LOST
    assert "user 'bob' instead of 'alice'" in record.rejection
    federation["east"].move(AN_ID, "FINISHED")
    for seen in (heddle, await federation.start()):
        await federation.clock.advance(1.0)
        await seen.poll()
        document = seen.view.applications.find(AN_ID)
        assert document is not None
        assert document.summary.state is YarnApplicationState.FAILED
        assert b"Submit it again under a new id" in document.raw


async def test_one_that_its_home_took_for_a_repetition_is_not_told_the_others_success(
    federation: ScriptedFederation,
) -> None:
    await left_behind(federation)
    federation["east"].add_application(AN_ID, name="other")
    federation["east"].move(AN_ID, "FINISHED")
    await federation.store.settle(AN_ID, SUBMITTED)
    heddle = await federation.start()
    await federation.wait_for(heddle.reconciliation.sweep(EAST))
    assert (await stands(federation)).state is LOST
    document = heddle.view.applications.find(AN_ID)
    assert document is not None
    assert document.summary.state is YarnApplicationState.FAILED


async def test_one_that_waits_by_the_copy_and_was_started_since_is_not_started_again(
    federation: ScriptedFederation, store: InMemoryStateStore
) -> None:
    waits = await left_behind(federation, state=WAITING, home=NOWHERE)
    store.note_restored()
    federation["west"].add_application(AN_ID)
    heddle = await federation.start()
    outcome = await federation.wait_for(heddle.submissions.start(waits))
    assert outcome == Accepted(WEST, is_delivered=True)
    assert federation.who_has(AN_ID) == [WEST]
    assert (await stands(federation)).state is SUBMITTED


async def test_one_that_waits_by_the_copy_waits_on_while_a_cluster_is_away(
    federation: ScriptedFederation, store: InMemoryStateStore
) -> None:
    waits = await left_behind(federation, state=WAITING, home=NOWHERE)
    store.note_restored()
    federation["west"].behave(IsNeverReached())
    heddle = await federation.start()
    await federation.wait_for(heddle.submissions.start(waits))
    assert federation.who_has(AN_ID) == []
    assert (await stands(federation)).state is WAITING
    federation["west"].behave(AnswersProperly())
    await heddle.poll()
    await federation.wait_for(heddle.submissions.start(waits))
    assert federation.who_has(AN_ID) == [EAST]


async def test_where_nothing_is_lost_no_id_is_doubtful_and_nobody_is_asked() -> None:
    progress = a_record(intended_at_ms=0).progress
    assert not NOTHING_LOST.concerns(progress)
    assert not NOTHING_LOST.is_lost_time(AN_ID)
    assert not NOTHING_LOST.is_foreign(ApplicationId(77, 1))
    assert await NOTHING_LOST.look_for([AN_ID]) == Observations({}, ())


@pytest.mark.parametrize(
    ("timestamp", "is_lost_time", "is_foreign"),
    [(0, False, True), (1, True, True), (999, True, False), (1000, True, True), (1001, False, False)],
)
async def test_ids_are_of_the_lost_time_up_to_the_restore_and_foreign_if_no_epoch_is_known(
    federation: ScriptedFederation, store: InMemoryStateStore, timestamp: int, *, is_lost_time: bool, is_foreign: bool
) -> None:
    past = RestoreGap(
        InMemoryHistoryStore(store),
        (await federation.start()).view,
        {},
        federation.clock,
        RestoreGapSettings(records_s=1.0),
        restored_at_ms=1000,
        epochs=frozenset({999, 1001}),
    )
    an_id = ApplicationId(timestamp, 1)
    assert (past.is_lost_time(an_id), past.is_foreign(an_id)) == (is_lost_time, is_foreign)
    assert past.concerns(a_record(intended_at_ms=timestamp).progress) is (timestamp <= 1000)


async def test_what_its_own_home_lists_was_sent_there_and_is_no_sign_of_a_restore(
    federation: ScriptedFederation,
) -> None:
    await left_behind(federation, home="west")
    federation["west"].add_application(AN_ID)
    heddle = await federation.start()
    assert (heddle.lost_time.adopted, heddle.lost_time.restored_at_ms) == ({}, 0)


async def test_what_is_only_shown_as_submitted_is_no_sign_of_a_restore(federation: ScriptedFederation) -> None:
    federation["west"].behave(IsNeverReached())
    heddle = await federation.start()
    heddle.listing.mark_submitted(a_submission(), WEST)
    federation["west"].behave(AnswersProperly())
    await heddle.poll()
    assert heddle.view.applications.home_of(AN_ID) == WEST
    await heddle.lost_time.round()
    assert (heddle.lost_time.adopted, heddle.lost_time.restored_at_ms) == ({}, 0)


@pytest.mark.parametrize(
    ("state", "ended_ago_ms", "is_adopted"),
    [("FINISHED", 59_999, True), ("FINISHED", 60_000, False), ("FINISHED", 10**9, False), ("RUNNING", 0, True)],
)
async def test_one_that_ended_so_long_ago_that_its_record_is_purged_is_no_sign_of_a_restore(
    federation: ScriptedFederation, store: InMemoryStateStore, state: str, ended_ago_ms: int, *, is_adopted: bool
) -> None:
    heddle = await federation.start()
    ended_at_ms = int(federation.clock.now_s() * 1000) - ended_ago_ms if state == "FINISHED" else 0
    federation["west"].add_application(AN_ID, state, finishedTime=ended_at_ms)
    await heddle.poll()
    settings = RestoreGapSettings(records_s=60.0)
    past = RestoreGap(InMemoryHistoryStore(store), heddle.view, heddle.managers, federation.clock, settings)
    await past.round()
    assert past.adopted == ({AN_ID: WEST} if is_adopted else {})
    assert bool(past.restored_at_ms) is is_adopted
