"""Sweeps over what was acknowledged: ended, lost in a restart, or forgotten."""

import asyncio

import pytest

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.submissions import SubmissionRecord, SubmissionState
from tests.doubles.builders import FEDERATION_TIMESTAMP_MS, a_submission
from tests.doubles.failing_stores import SwitchableStore
from tests.doubles.federation import ScriptedFederation, ScriptedHeddle
from tests.doubles.misbehaviours import IsNeverReached, IsRecovering
from tests.doubles.resource_manager import AnswersProperly

EAST = SubClusterId("east")
AN_ID = ApplicationId(FEDERATION_TIMESTAMP_MS, 1)


@pytest.fixture
def federation() -> ScriptedFederation:
    return ScriptedFederation()


async def acknowledged(federation: ScriptedFederation) -> ScriptedHeddle:
    heddle = await federation.start()
    await heddle.submissions.submit(a_submission())
    return heddle


async def record_of(federation: ScriptedFederation) -> SubmissionRecord:
    record = await federation.store.find(AN_ID)
    assert record is not None
    return record


async def is_open(federation: ScriptedFederation) -> bool:
    return any(progress.application_id == AN_ID for progress in await federation.store.unfinished(EAST))


async def round_of(heddle: ScriptedHeddle, federation: ScriptedFederation, *, after_s: float = 2.0) -> None:
    await federation.clock.advance(after_s)
    await heddle.poll()
    await heddle.repair.repair_all()
    await heddle.reconciliation.sweep(EAST)


async def test_one_that_was_seen_final_is_done_with(federation: ScriptedFederation) -> None:
    heddle = await acknowledged(federation)
    await round_of(heddle, federation)
    assert await is_open(federation)
    federation["east"].move(AN_ID, "FINISHED")
    await round_of(heddle, federation)
    assert not await is_open(federation)


async def test_one_that_ended_while_no_heddle_ran_is_asked_for(federation: ScriptedFederation) -> None:
    await acknowledged(federation)
    federation["east"].move(AN_ID, "KILLED")
    heddle = await federation.start()
    await round_of(heddle, federation)
    await round_of(heddle, federation, after_s=10.0)
    assert not await is_open(federation)


async def test_one_that_its_home_lost_in_a_restart_is_submitted_to_it_anew(federation: ScriptedFederation) -> None:
    heddle = await acknowledged(federation)
    await round_of(heddle, federation)
    federation["east"].restart(forgets=True)
    await round_of(heddle, federation)
    assert federation.who_has(AN_ID) == [EAST]
    record = await record_of(federation)
    assert record.state is SubmissionState.SUBMITTED
    assert record.home_started_on_ms == federation["east"].started_on_ms


async def test_one_that_was_lost_before_any_poll_saw_it_is_submitted_anew(federation: ScriptedFederation) -> None:
    heddle = await acknowledged(federation)
    federation["east"].restart(forgets=True)
    await round_of(heddle, federation)
    await round_of(heddle, federation, after_s=10.0)
    assert federation.who_has(AN_ID) == [EAST]


async def test_one_that_was_lost_while_no_heddle_ran_is_submitted_anew(federation: ScriptedFederation) -> None:
    await acknowledged(federation)
    federation["east"].restart(forgets=True)
    heddle = await federation.start()
    await round_of(heddle, federation)
    await round_of(heddle, federation, after_s=10.0)
    assert federation.who_has(AN_ID) == [EAST]


async def test_one_that_survived_a_restart_is_confirmed_and_not_sent_again(federation: ScriptedFederation) -> None:
    heddle = await acknowledged(federation)
    await round_of(heddle, federation)
    federation["east"].restart()
    await round_of(heddle, federation)
    await round_of(heddle, federation)
    assert (await record_of(federation)).home_started_on_ms == federation["east"].started_on_ms
    assert federation["east"].submissions == {AN_ID: 1}


async def test_nothing_is_sent_while_the_home_recovers(federation: ScriptedFederation) -> None:
    heddle = await acknowledged(federation)
    await round_of(heddle, federation)
    federation["east"].restart()
    recovering = IsRecovering()
    federation["east"].behave(recovering)
    for _ in range(5):
        await round_of(heddle, federation, after_s=5.0)
    assert recovering.harmful == []
    federation["east"].behave(AnswersProperly())
    await round_of(heddle, federation)
    await round_of(heddle, federation, after_s=10.0)
    assert federation["east"].submissions == {AN_ID: 1}


async def test_one_that_ended_and_was_forgotten_in_the_same_life_is_done_with(federation: ScriptedFederation) -> None:
    heddle = await acknowledged(federation)
    await round_of(heddle, federation)
    del federation["east"].applications[AN_ID]
    await round_of(heddle, federation)
    await round_of(heddle, federation, after_s=10.0)
    assert not await is_open(federation)
    assert federation["east"].submissions == {AN_ID: 1}


async def test_a_home_that_does_not_answer_proves_nothing(federation: ScriptedFederation) -> None:
    heddle = await acknowledged(federation)
    await round_of(heddle, federation)
    federation["east"].behave(IsNeverReached())
    for _ in range(5):
        await round_of(heddle, federation, after_s=10.0)
    assert await is_open(federation)
    assert heddle.view.applications.find(AN_ID) is not None


async def test_two_heddles_submit_a_lost_one_anew_once(federation: ScriptedFederation) -> None:
    one = await acknowledged(federation)
    other = await federation.start()
    for heddle in (one, other):
        await round_of(heddle, federation)
    federation["east"].restart(forgets=True)
    federation["east"].submissions.clear()
    for heddle in (one, other):
        await heddle.poll()
    await asyncio.gather(*(heddle.reconciliation.sweep(EAST) for heddle in (one, other)))
    await federation.clock.advance(10.0)
    for heddle in (one, other):
        await round_of(heddle, federation, after_s=0.5)
    assert federation["east"].submissions == {AN_ID: 1}


async def test_it_runs_by_itself_and_outlives_a_store_that_is_away() -> None:
    store = SwitchableStore()
    federation = ScriptedFederation(store=store)
    heddle = await acknowledged(federation)
    await heddle.poll()
    federation["east"].move(AN_ID, "FINISHED")
    await heddle.poll()
    store.writes_fail = store.reads_fail = True
    running = asyncio.create_task(heddle.reconciliation.run())
    await federation.clock.advance(3.0)
    store.writes_fail = store.reads_fail = False
    await heddle.poll()
    await federation.clock.advance(2.0)
    assert not await is_open(federation)
    assert not running.done()
    running.cancel()


async def test_history_is_purged_by_age(federation: ScriptedFederation) -> None:
    federation.store.now_s = federation.clock.now_s  # type: ignore[attr-defined]  # the store in memory
    heddle = await acknowledged(federation)
    federation["east"].move(AN_ID, "FINISHED")
    await round_of(heddle, federation)
    await heddle.reconciliation.purge()
    assert await federation.store.find(AN_ID) is not None
    await federation.clock.advance(8 * 86_400.0)
    await heddle.reconciliation.purge()
    assert await federation.store.find(AN_ID) is None
