"""A restart goes on where the last process stopped: pauses, counts, reasons, and what may be on its way."""

from dataclasses import replace
from typing import cast

import pytest

from shim.domain.ids import ApplicationId
from shim.domain.submissions import DeliveryFailure, SubmissionRecord, SubmissionState
from shim.simulation.state_stores import InMemoryHistoryStore, InMemoryStateStore
from shim.submission.crash_points import CrashPoint
from shim.submission.delivery_attempts import BackOff, DeliveryAttempts
from tests.doubles.builders import FEDERATION_TIMESTAMP_MS, a_record, a_submission
from tests.doubles.failing_stores import SwitchableStore
from tests.doubles.federation import ScriptedFederation, ScriptedHeddle
from tests.doubles.misbehaviours import ChokesOn, FailsWithoutWords, IsPaused
from tests.doubles.resource_manager import AnswersProperly

INTENDED, SUBMITTED, REJECTED = SubmissionState.INTENDED, SubmissionState.SUBMITTED, SubmissionState.REJECTED
ID = ApplicationId(FEDERATION_TIMESTAMP_MS, 1)
LONG_S = 2 * 900.0
FAILURE = DeliveryFailure(ID, "i1", None, 3, 1_000, 9_000, "boom", 77)


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def federation() -> ScriptedFederation:
    chosen = ScriptedFederation(["east"])
    chosen["east"].behave(ChokesOn(frozenset({ID}), FailsWithoutWords()))
    return chosen


async def stands(federation: ScriptedFederation) -> SubmissionRecord:
    record = await federation.store.find(ID)
    assert record is not None
    return record


async def pass_time(federation: ScriptedFederation, heddle: ScriptedHeddle, duration_s: float) -> None:
    for _ in range(int(duration_s)):
        await federation.wait_for(heddle.poll())
        await heddle.repair.begin_round()
        await federation.clock.advance(1.0)


def sends(federation: ScriptedFederation) -> int:
    return sum(each.method == "POST" for each in federation["east"].requests)


async def failing(federation: ScriptedFederation, duration_s: float) -> ScriptedHeddle:
    """A Heddle that took the application, failed for a while, and is gone."""
    heddle = await federation.start()
    await federation.wait_for(heddle.submissions.submit(a_submission()))
    await pass_time(federation, heddle, duration_s)
    await heddle.repair.stop()
    return heddle


async def test_one_that_provably_runs_nowhere_is_given_up_over_restarts(federation: ScriptedFederation) -> None:
    await failing(federation, 300)
    for _ in range(3):
        heddle = await federation.start()
        await pass_time(federation, heddle, 600)
        await heddle.repair.stop()
    record = await stands(federation)
    assert record.state is REJECTED
    assert "answered 500" in record.rejection
    assert federation.who_has(ID) == []


async def test_a_restart_does_not_shorten_the_pause(federation: ScriptedFederation) -> None:
    await failing(federation, 200)
    before = sends(federation)
    for _ in range(4):
        restarted = await federation.start()
        await pass_time(federation, restarted, 2)
        await restarted.repair.stop()
    heddle = await federation.start()
    await pass_time(federation, heddle, 2)
    assert sends(federation) == before
    known = heddle.repair.attempts.find(ID)
    assert known is not None
    assert known.failures > 3
    assert "answered 500" in known.reason


async def test_what_was_on_its_way_when_the_process_ended_is_not_given_up(federation: ScriptedFederation) -> None:
    """The last send was begun, and nobody heard its answer: what was kept is of an earlier intent."""
    await failing(federation, 300)

    def dies_before_it_hears(point: CrashPoint, application_id: ApplicationId) -> None:
        if point is CrashPoint.SENDING and application_id == ID:
            raise Killed

    dying = await federation.start(dies_before_it_hears)
    for _ in range(400):
        await federation.wait_for(dying.poll())
        try:
            await dying.repair.repair_all()
        except Killed:
            break
        await federation.clock.advance(1.0)
    else:
        pytest.fail("it was never tried again")
    heddle = await federation.start()
    await pass_time(federation, heddle, LONG_S)
    assert (await stands(federation)).state is INTENDED


async def test_a_send_that_was_never_answered_stays_open_over_a_restart(federation: ScriptedFederation) -> None:
    frozen = IsPaused()
    federation["east"].behave(ChokesOn(frozenset({ID}), frozen))
    await failing(federation, 300)
    heddle = await federation.start()
    await pass_time(federation, heddle, LONG_S)
    assert (await stands(federation)).state is INTENDED
    frozen.wake()
    await pass_time(federation, heddle, 400)
    assert (await stands(federation)).state is SUBMITTED


async def test_what_is_settled_is_forgotten(federation: ScriptedFederation) -> None:
    heddle = await federation.start()
    await federation.wait_for(heddle.submissions.submit(a_submission()))
    await pass_time(federation, heddle, 60)
    assert len(await federation.store.delivery_failures([ID])) == 1
    federation["east"].behave(AnswersProperly())
    await pass_time(federation, heddle, 100)
    assert (await stands(federation)).state is SUBMITTED
    assert await federation.store.delivery_failures([ID]) == []


async def test_a_failure_that_a_restored_store_tells_of_proves_nothing(federation: ScriptedFederation) -> None:
    """What was sent in the lost time may be on its way."""
    await failing(federation, 300)
    await InMemoryHistoryStore(cast("InMemoryStateStore", federation.store)).note_restored()
    assert await federation.store.delivery_failures([ID]) == []


async def test_a_store_that_is_locked_does_not_stop_the_repair() -> None:
    store = SwitchableStore()
    federation = ScriptedFederation(["east"], store=store)
    store.now_s = federation.clock.now_s
    federation["east"].behave(ChokesOn(frozenset({ID}), FailsWithoutWords()))
    heddle = await federation.start()
    await federation.wait_for(heddle.submissions.submit(a_submission()))
    store.writes_fail = True
    await pass_time(federation, heddle, 60)
    store.writes_fail = False
    await pass_time(federation, heddle, 300)
    assert await store.delivery_failures([ID])


def test_a_clock_that_was_set_neither_hastens_nor_delays() -> None:
    attempts = DeliveryAttempts(BackOff())
    attempts.recall(FAILURE, now_s=100.0, now_ms=-10_000_000)
    known = attempts.find(ID)
    assert known is not None
    assert known.next_s <= 100.0 + attempts.back_off.longest_pause_s
    assert known.failed_since_s == 100.0


def test_what_is_known_here_is_not_overwritten() -> None:
    attempts = DeliveryAttempts(BackOff())
    record = a_record(1)
    attempts.begin(record)
    attempts.recall(replace(FAILURE, failures=99), now_s=0.0, now_ms=0)
    known = attempts.find(ID)
    assert known is not None
    assert (known.intent_id, known.failures) == (record.intent_id, 0)


def test_what_is_kept_is_recalled_as_it_was() -> None:
    attempts, later = DeliveryAttempts(BackOff()), DeliveryAttempts(BackOff())
    record = a_record(1)
    attempts.begin(record)
    assert attempts.kept(ID, now_s=0.0, now_ms=0) is None
    for _ in range(3):
        attempts.failed(record.progress, "boom", started_on_ms=7, now_s=50.0)
    kept = attempts.kept(ID, now_s=51.0, now_ms=1_051_000)
    assert kept == DeliveryFailure(ID, record.intent_id, None, 3, 1_050_000, 1_058_000, "boom", 7)
    assert kept is not None
    later.recall(kept, now_s=5.0, now_ms=1_055_000)
    assert later.kept(ID, now_s=5.0, now_ms=1_055_000) == kept


def test_what_may_be_on_its_way_is_kept_as_such() -> None:
    attempts = DeliveryAttempts(BackOff(give_up_after=1, give_up_s=0.0))
    record = a_record(1)
    kept = replace(FAILURE, intent_id=record.intent_id)
    for open_ms, hopeless in ((None, True), (5, False)):
        attempts.recall(replace(kept, open_ms=open_ms), now_s=0.0, now_ms=10_000)
        again = attempts.kept(ID, now_s=0.0, now_ms=10_000)
        assert again is not None
        assert again.open_ms == open_ms
        assert attempts.is_hopeless(record.progress, 10.0) is hopeless
        attempts.forget(ID)


def test_of_very_many_failures_the_newest_are_remembered() -> None:
    attempts, most = DeliveryAttempts(BackOff()), 100_000
    for number in range(1, most + 2):
        failure = replace(FAILURE, application_id=ApplicationId(1, number))
        attempts.recall(failure, now_s=0.0, now_ms=0)
    assert [attempts.has_failed(ApplicationId(1, number)) for number in (1, 2, most + 1)] == [False, True, True]
