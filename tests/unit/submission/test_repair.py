"""Repair of what a Heddle left INTENDED, over scripted ResourceManagers."""

import asyncio
import json
from dataclasses import replace

import pytest

from shim.domain.applications import YarnApplicationState
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.submissions import SubmissionRecord, SubmissionState
from shim.ports.resource_manager import RestRequest
from tests.doubles.builders import FEDERATION_TIMESTAMP_MS, a_record, a_submission
from tests.doubles.failing_stores import SwitchableStore
from tests.doubles.federation import ScriptedFederation, ScriptedHeddle
from tests.doubles.misbehaviours import (
    IsNeverReached,
    IsPaused,
    IsRecovering,
    LosesTheAnswer,
    MisbehavesFor,
    RejectsSubmissions,
)
from tests.doubles.resource_manager import AnswersProperly

EAST, WEST = SubClusterId("east"), SubClusterId("west")
AN_ID = ApplicationId(FEDERATION_TIMESTAMP_MS, 1)
INTENDED, SUBMITTED, REJECTED = SubmissionState.INTENDED, SubmissionState.SUBMITTED, SubmissionState.REJECTED


@pytest.fixture
def federation() -> ScriptedFederation:
    return ScriptedFederation()


async def left_behind(
    federation: ScriptedFederation, *, home: str = "east", age_s: float = 60.0, reservation: str | None = None
) -> SubmissionRecord:
    """A record as a Heddle leaves it that dies after the intent."""
    manager = federation[home]
    intended_at_ms = int((federation.clock.now_s() - age_s) * 1000)
    record = a_record(
        home=home, started_on_ms=manager.started_on_ms, intended_at_ms=intended_at_ms, reservation=reservation
    )
    await federation.store.insert_intent(record)
    return record


async def stands(federation: ScriptedFederation) -> SubmissionRecord:
    record = await federation.store.find(AN_ID)
    assert record is not None
    return record


async def restarted(federation: ScriptedFederation, heddle: ScriptedHeddle, name: str, *, after_s: float) -> None:
    await federation.clock.advance(after_s)
    federation[name].restart(forgets=True)
    await heddle.poll()


async def test_what_the_home_knows_is_settled_and_not_sent_again(federation: ScriptedFederation) -> None:
    await left_behind(federation)
    federation["east"].add_application(AN_ID)
    heddle = await federation.start()
    await heddle.repair.repair_all()
    assert (await stands(federation)).state is SUBMITTED
    assert federation["east"].submissions == {}


async def test_what_the_home_does_not_know_is_sent_to_it(federation: ScriptedFederation) -> None:
    await left_behind(federation, home="west")
    heddle = await federation.start()
    await heddle.repair.repair_all()
    assert (await stands(federation)).state is SUBMITTED
    assert federation.who_has(AN_ID) == [WEST]
    assert federation["west"].applications[AN_ID]["user"] == "alice"


async def test_what_was_written_a_moment_ago_is_left_to_whoever_wrote_it(federation: ScriptedFederation) -> None:
    await left_behind(federation, age_s=1.0)
    heddle = await federation.start()
    await heddle.repair.repair_all()
    assert federation.who_has(AN_ID) == []
    await federation.clock.advance(3.0)
    await heddle.poll()
    await heddle.repair.repair_all()
    assert federation.who_has(AN_ID) == [EAST]


async def test_it_is_listed_as_submitted_from_the_first_round_on(federation: ScriptedFederation) -> None:
    await left_behind(federation)
    federation["east"].behave(IsNeverReached())
    heddle = await federation.start()
    await heddle.repair.repair_all()
    document = heddle.view.applications.find(AN_ID)
    assert document is not None
    assert document.summary.state is YarnApplicationState.SUBMITTED
    assert document.summary.home_subcluster == EAST


@pytest.mark.parametrize("behaviour", [IsNeverReached, IsPaused, IsRecovering], ids=lambda kind: kind.__name__)
async def test_a_home_that_is_not_active_is_waited_for(
    federation: ScriptedFederation, behaviour: type[IsNeverReached | IsPaused | IsRecovering]
) -> None:
    await left_behind(federation)
    heddle = await federation.start()
    misbehaving = behaviour()
    federation["east"].behave(misbehaving)
    await federation.wait_for(heddle.repair.repair_all())
    assert (await stands(federation)).state is INTENDED
    assert federation.who_has(AN_ID) == []
    if isinstance(misbehaving, IsRecovering):
        assert misbehaving.harmful == []
    federation["east"].behave(AnswersProperly())
    await heddle.poll()
    await heddle.repair.repair_all()
    assert federation.who_has(AN_ID) == [EAST]


async def test_a_home_that_stops_between_question_and_send_is_asked_again_later(federation: ScriptedFederation) -> None:
    await left_behind(federation)
    paused = IsPaused()
    federation["east"].behave(MisbehavesFor(paused, applies=lambda request: request.method == "POST"))
    heddle = await federation.start()
    await federation.wait_for(heddle.repair.repair_all())
    assert (await stands(federation)).state is INTENDED
    paused.wake()
    await federation.clock.advance(3.0)
    await heddle.poll()
    await heddle.repair.repair_all()
    assert (await stands(federation)).state is SUBMITTED
    assert federation.who_has(AN_ID) == [EAST]


async def test_a_home_that_restarted_long_after_the_send_may_be_replaced(federation: ScriptedFederation) -> None:
    await left_behind(federation)
    heddle = await federation.start()
    await restarted(federation, heddle, "east", after_s=30.0)
    await heddle.administration.cordon(EAST, by="root")
    await heddle.repair.repair_all()
    assert federation.who_has(AN_ID) == [WEST]
    record = await stands(federation)
    assert (record.home_subcluster, record.state) == (WEST, SUBMITTED)
    assert record.home_started_on_ms == federation["west"].started_on_ms


async def test_a_home_that_has_its_reservation_is_not_replaced(federation: ScriptedFederation) -> None:
    """It has recovered its plans; no other knows the reservation."""
    await left_behind(federation, reservation="reservation_5_0001")
    heddle = await federation.start()
    await restarted(federation, heddle, "east", after_s=30.0)
    await heddle.administration.cordon(EAST, by="root")
    await heddle.repair.repair_all()
    assert federation.who_has(AN_ID) == [EAST]


async def test_a_home_that_restarted_just_after_the_send_keeps_the_application(federation: ScriptedFederation) -> None:
    await left_behind(federation, age_s=0.0)
    heddle = await federation.start()
    await restarted(federation, heddle, "east", after_s=4.0)
    await heddle.administration.cordon(EAST, by="root")
    await heddle.repair.repair_all()
    assert federation.who_has(AN_ID) == [EAST]
    assert (await stands(federation)).home_started_on_ms == federation["east"].started_on_ms


async def test_a_home_that_did_not_restart_keeps_the_application(federation: ScriptedFederation) -> None:
    await left_behind(federation)
    heddle = await federation.start()
    await heddle.administration.cordon(EAST, by="root")
    await heddle.repair.repair_all()
    assert federation.who_has(AN_ID) == [EAST]


async def test_after_a_new_intent_for_the_same_home_it_is_not_gone_any_more(federation: ScriptedFederation) -> None:
    """The send for the new intent may still be under way, so the proof begins anew."""
    await left_behind(federation)
    heddle = await federation.start()
    await restarted(federation, heddle, "east", after_s=30.0)
    paused = IsPaused()
    federation["east"].behave(MisbehavesFor(paused, applies=lambda request: request.method == "POST"))
    await federation.wait_for(heddle.repair.repair_all())
    assert (await stands(federation)).state is INTENDED
    await heddle.administration.cordon(EAST, by="root")
    await federation.clock.advance(30.0)
    await heddle.poll()
    await heddle.repair.repair_all()
    paused.wake()
    assert federation.who_has(AN_ID) == [EAST]


async def test_two_heddles_that_repair_at_once_send_once(federation: ScriptedFederation) -> None:
    await left_behind(federation)
    heddles = [await federation.start() for _ in range(3)]
    await asyncio.gather(*(heddle.repair.repair_all() for heddle in heddles))
    assert federation["east"].submissions == {AN_ID: 1}
    assert (await stands(federation)).state is SUBMITTED


async def test_one_that_is_in_flight_here_is_left_alone(federation: ScriptedFederation) -> None:
    heddle = await federation.start()
    federation["east"].behave(MisbehavesFor(IsPaused(), applies=lambda request: request.method == "POST"))
    flight = asyncio.create_task(heddle.submissions.submit(a_submission()))
    await federation.clock.settle()
    requests = len(federation["east"].requests)
    assert await heddle.repair.repair_one(AN_ID) == await stands(federation)
    assert len(federation["east"].requests) == requests
    await federation.wait_for(asyncio.wait_for(flight, None))


async def test_a_refusal_that_comes_after_the_acknowledgement_is_shown_as_a_failure(
    federation: ScriptedFederation,
) -> None:
    await left_behind(federation)
    federation["east"].behave(RejectsSubmissions("queue is gone"))
    heddle = await federation.start()
    await heddle.repair.repair_all()
    record = await stands(federation)
    assert record.state is REJECTED
    document = heddle.view.applications.find(AN_ID)
    assert document is not None
    assert document.summary.state is YarnApplicationState.FAILED
    shown = json.loads(document.raw)
    assert (shown["state"], shown["finalStatus"]) == ("FAILED", "FAILED")
    assert "queue is gone" in shown["diagnostics"]


async def test_what_a_crash_after_the_send_left_is_not_doubled(federation: ScriptedFederation) -> None:
    heddle = await federation.start()
    federation["east"].behave(MisbehavesFor(LosesTheAnswer(), applies=lambda request: request.method == "POST"))
    await heddle.submissions.submit(a_submission())
    await federation.clock.advance(4.0)
    other = await federation.start()
    await other.repair.repair_all()
    assert federation["east"].submissions == {AN_ID: 1}
    assert (await stands(federation)).state is SUBMITTED


async def test_a_home_that_is_no_longer_configured_is_left_alone(federation: ScriptedFederation) -> None:
    record = a_record(home="gone", intended_at_ms=0)
    await federation.store.insert_intent(record)
    heddle = await federation.start()
    await heddle.repair.repair_all()
    assert await stands(federation) == record


async def test_a_store_that_does_not_write_delays_the_repair_without_harm() -> None:
    store = SwitchableStore()
    federation = ScriptedFederation(store=store)
    record = await left_behind(federation)
    federation["east"].add_application(AN_ID)
    heddle = await federation.start()
    store.writes_fail = True
    await heddle.repair.repair_all()
    assert await stands(federation) == record
    store.writes_fail = False
    await heddle.repair.repair_all()
    assert (await stands(federation)).state is SUBMITTED


async def test_many_are_brought_home_in_one_round(federation: ScriptedFederation) -> None:
    first = await left_behind(federation)
    for sequence in range(2, 60):
        submission = a_submission(sequence)
        await federation.store.insert_intent(replace(first, submission=submission))
    heddle = await federation.start()
    await heddle.repair.repair_all()
    assert len(federation["east"].applications) == 59
    assert await federation.store.intended() == []


TOO_LARGE = "Invalid resource request! Cannot allocate containers as requested resource is greater than maximum"


def is_a_submission(request: RestRequest) -> bool:
    return request.method == "POST"


async def sent_nowhere(federation: ScriptedFederation) -> ScriptedHeddle:
    """A Heddle that has reached no home with an application, the last of them west."""
    heddle = await federation.start()
    for manager in federation.managers.values():
        manager.behave(MisbehavesFor(IsNeverReached(), times=9, applies=is_a_submission))
    await federation.wait_for(heddle.submissions.submit(a_submission()))
    assert (await stands(federation)).home_subcluster == WEST
    await federation.clock.advance(30.0)
    return heddle


async def repaired(federation: ScriptedFederation, heddle: ScriptedHeddle) -> SubmissionRecord:
    await federation.wait_for(heddle.poll())
    await federation.wait_for(heddle.repair.repair_all())
    return await stands(federation)


async def test_what_a_home_refuses_for_its_size_when_it_is_sent_again_goes_to_another(
    federation: ScriptedFederation,
) -> None:
    heddle = await sent_nowhere(federation)
    before = await stands(federation)
    federation["west"].behave(RejectsSubmissions(TOO_LARGE))
    federation["east"].behave(AnswersProperly())
    record = await repaired(federation, heddle)
    assert (federation.who_has(AN_ID), federation["east"].submissions) == ([EAST], {AN_ID: 1})
    assert (record.state, record.home_subcluster) == (SUBMITTED, EAST)
    assert record.home_started_on_ms == federation["east"].started_on_ms
    assert before.intended_at_ms < record.intended_at_ms <= int(federation.clock.now_s() * 1000)
    assert record.intent_id != before.intent_id
    reasons = {each.subcluster: each.reason for each in record.decision.candidates}
    assert reasons[WEST].startswith(f"refused it for its size: java.lang.Exception: {TOO_LARGE}")


@pytest.mark.parametrize("words", [TOO_LARGE, "User alice cannot submit to queue"])
async def test_what_no_other_home_takes_either_is_refused_in_words_of_a_home(
    federation: ScriptedFederation, words: str
) -> None:
    heddle = await sent_nowhere(federation)
    for manager in federation.managers.values():
        manager.behave(RejectsSubmissions(f"{words} at {manager.subcluster}"))
    record = await repaired(federation, heddle)
    assert (record.state, federation.who_has(AN_ID)) == (REJECTED, [])
    last = "east" if words == TOO_LARGE else "west"
    assert f"{words} at {last}" in record.rejection
    shown = heddle.view.applications.find(AN_ID)
    assert shown is not None
    assert shown.summary.state is YarnApplicationState.FAILED


async def test_what_may_have_been_sent_by_another_heddle_stays_where_it_is_refused(
    federation: ScriptedFederation,
) -> None:
    await left_behind(federation, home="west")
    heddle = await federation.start()
    federation["west"].behave(RejectsSubmissions(TOO_LARGE))
    record = await repaired(federation, heddle)
    assert (record.state, record.home_subcluster, federation.who_has(AN_ID)) == (REJECTED, WEST, [])
