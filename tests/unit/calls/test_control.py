"""Changes reach the home that knows the application, or are refused."""

import json

import pytest

from shim.calls.control import kill_request
from shim.domain.ids import ApplicationId, SubClusterId
from shim.errors import HomeUnreachableError
from tests.doubles.builders import FEDERATION_TIMESTAMP_MS, a_record, a_submission
from tests.doubles.failing_stores import SwitchableStore
from tests.doubles.federation import ScriptedFederation
from tests.doubles.misbehaviours import IsNeverReached, IsPaused

EAST, WEST = SubClusterId("east"), SubClusterId("west")
AN_ID = ApplicationId(FEDERATION_TIMESTAMP_MS, 1)


@pytest.fixture
def federation() -> ScriptedFederation:
    return ScriptedFederation()


async def test_a_kill_is_the_homes_own_and_is_read_at_once(federation: ScriptedFederation) -> None:
    federation["west"].add_application(AN_ID)
    heddle = await federation.start()
    answer = await heddle.control.kill(AN_ID, user="alice")
    assert answer.status == 202
    assert json.loads(answer.body) == {"state": "RUNNING"}
    sent = federation["west"].taken[-1]
    assert (sent.user, json.loads(sent.body)) == ("alice", {"state": "KILLED"})
    assert heddle.view.applications.is_outdated(AN_ID)


async def test_an_unknown_application_is_refused_in_the_words_of_a_resource_manager(
    federation: ScriptedFederation,
) -> None:
    heddle = await federation.start()
    answer = await heddle.control.kill(AN_ID, user="alice")
    assert answer.status == 404
    assert b"NotFoundException" in answer.body


async def test_an_unknown_application_cannot_be_judged_when_nobody_answers(federation: ScriptedFederation) -> None:
    for manager in federation.managers.values():
        manager.behave(IsNeverReached())
    heddle = await federation.start()
    with pytest.raises(HomeUnreachableError):
        await heddle.control.kill(AN_ID, user="alice")


async def test_one_that_is_not_delivered_is_delivered_first(federation: ScriptedFederation) -> None:
    await federation.store.insert_intent(a_record(started_on_ms=federation["east"].started_on_ms))
    heddle = await federation.start()
    answer = await heddle.control.change(AN_ID, kill_request(AN_ID, user="alice"))
    assert answer.status == 202
    assert federation["east"].applications[AN_ID]["state"] == "KILLED"


async def test_one_whose_frozen_home_may_have_it_is_not_promised_to_be_killed(federation: ScriptedFederation) -> None:
    heddle = await federation.start()
    paused = IsPaused()
    federation["east"].behave(paused)
    await federation.wait_for(heddle.submissions.submit(a_submission()))
    with pytest.raises(HomeUnreachableError, match="is safe"):
        await federation.wait_for(heddle.control.kill(AN_ID, user="alice"))
    paused.wake()
    await heddle.poll()
    answer = await heddle.control.kill(AN_ID, user="alice")
    assert answer.status == 202


async def test_a_home_that_does_not_answer_means_repeat(federation: ScriptedFederation) -> None:
    federation["east"].add_application(AN_ID)
    heddle = await federation.start()
    federation["east"].behave(IsNeverReached())
    with pytest.raises(HomeUnreachableError, match="repeat the call") as caught:
        await heddle.control.kill(AN_ID, user="alice")
    assert caught.value.retry_after_s >= 1
    assert heddle.view.applications.is_outdated(AN_ID)


async def test_without_the_store_what_is_known_can_be_changed() -> None:
    store = SwitchableStore()
    federation = ScriptedFederation(store=store)
    heddle = await federation.start()
    await heddle.submissions.submit(a_submission())
    store.writes_fail = store.reads_fail = True
    assert (await heddle.control.kill(AN_ID, user="alice")).status == 202


async def test_one_that_its_home_has_just_taken_can_be_changed_at_once(federation: ScriptedFederation) -> None:
    heddle = await federation.start()
    await heddle.submissions.submit(a_submission())
    asked_before = len(federation["east"].taken)
    answer = await heddle.control.kill(AN_ID, user="alice")
    assert answer.status == 202
    assert federation["east"].applications[AN_ID]["state"] == "KILLED"
    assert len(federation["east"].taken) == asked_before + 1
