"""An application that waits is moved once its home has ended it, and nothing else is; exactly once, whoever dies."""

import asyncio
import json
from dataclasses import replace

import pytest

from shim.domain.applications import YarnApplicationState
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.submissions import SubmissionState
from shim.errors import ConflictError, MalformedAnswerError, NotFoundError, UnavailableError
from shim.ports.resource_manager import RestRequest
from shim.submission.crash_points import CrashPoint
from shim.submission.rehoming import Move, _has_begun
from tests.doubles.builders import FEDERATION_TIMESTAMP_MS, a_submission
from tests.doubles.federation import ScriptedFederation
from tests.doubles.misbehaviours import IsNeverReached, LosesTheAnswer, MisbehavesFor
from tests.doubles.resource_manager import AnswersProperly, ok_answer

EAST, WEST = SubClusterId("east"), SubClusterId("west")
AN_ID = ApplicationId(FEDERATION_TIMESTAMP_MS, 1)
QUEUED = {"queue": "root.default"}


def is_kill(request: RestRequest) -> bool:
    return request.method == "PUT"


async def waiting_at_east(submission=None, *, names=("east", "west"), **started):
    federation = ScriptedFederation(names=names)
    heddle = await federation.start(**started)
    await heddle.submissions.submit(submission or a_submission(**QUEUED))
    await federation.clock.advance(0.5)
    await federation.wait_for(heddle.poll())
    assert federation.who_has(AN_ID) == [EAST]
    return federation, heddle


async def moved(federation, heddle):
    return await federation.wait_for(heddle.repair.rehoming.rehome(AN_ID))


def alive(federation):
    """Where it lives; a home that has ended it knows it still."""
    return [
        name
        for name, manager in federation.managers.items()
        if AN_ID in manager.applications and manager.applications[AN_ID]["state"] != "KILLED"
    ]


async def record_of(federation):
    record = await federation.store.find(AN_ID)
    assert record is not None
    return record


async def test_it_is_ended_at_its_home_and_sent_to_another_under_its_id():
    federation, heddle = await waiting_at_east()
    move = await moved(federation, heddle)
    assert (move.was, move.home, move.is_done) == (EAST, WEST, True)
    assert (alive(federation), federation["west"].submissions) == ([WEST], {AN_ID: 1})
    assert federation["east"].applications[AN_ID]["state"] == "KILLED"
    (kill,) = [request for request in federation["east"].requests if is_kill(request)]
    assert kill.user == "alice"
    record = await record_of(federation)
    assert (record.home_subcluster, record.state, record.decision.is_left) == (WEST, SubmissionState.SUBMITTED, False)


async def test_its_client_never_hears_that_it_was_killed():
    federation, heddle = await waiting_at_east()
    await moved(federation, heddle)
    for _ in range(3):
        assert heddle.view.applications.find(AN_ID).summary.state is not YarnApplicationState.KILLED
        assert heddle.view.applications.home_of(AN_ID) == WEST
        await federation.clock.advance(2.0)
        await federation.wait_for(heddle.poll())
    assert heddle.view.applications.find(AN_ID).summary.home_subcluster == WEST
    federation["west"].move(AN_ID, "FINISHED")
    await federation.clock.advance(2.0)
    await federation.wait_for(heddle.poll())
    assert heddle.view.applications.find(AN_ID).summary.state is YarnApplicationState.FINISHED


async def test_another_heddle_learns_where_it_is():
    federation, heddle = await waiting_at_east()
    other = await federation.start()
    await moved(federation, heddle)
    await federation.clock.advance(1.0)
    await federation.wait_for(other.poll())
    assert other.view.applications.find(AN_ID).summary.state is YarnApplicationState.KILLED
    await federation.clock.advance(10.0)
    await federation.wait_for(other.poll())
    await federation.wait_for(other.reconciliation.sweep(WEST))
    assert other.view.applications.home_of(AN_ID) == WEST
    assert (await record_of(federation)).submission.body, "it is not taken for ended"
    await federation.wait_for(other.poll())
    assert other.view.applications.find(AN_ID).summary.state is YarnApplicationState.ACCEPTED


async def test_a_plan_changes_nothing():
    federation, heddle = await waiting_at_east()
    plan = await heddle.repair.rehoming.plan(AN_ID)
    assert (plan.was, plan.home, plan.is_done) == (EAST, WEST, False)
    assert alive(federation) == [EAST]
    assert not (await record_of(federation)).decision.is_left


async def refused(heddle, message, error=ConflictError):
    with pytest.raises(error, match=message):
        await heddle.repair.rehoming.rehome(AN_ID)


async def test_what_has_begun_stays():
    federation, heddle = await waiting_at_east()
    federation["east"].move(AN_ID, "RUNNING")
    await refused(heddle, "an attempt of it has begun")
    federation["east"].move(AN_ID, "ACCEPTED")  # its second attempt waits
    await refused(heddle, "an attempt of it has begun")
    assert alive(federation) == [EAST]


async def test_what_begins_in_the_moment_of_the_kill_is_not_moved():
    federation, heddle = await waiting_at_east()

    class BeginsFirst:
        async def __call__(self, manager, request, _):
            if is_kill(request):
                manager.begun.add(AN_ID)
            return manager.take(request)

    federation["east"].behave(BeginsFirst())
    with pytest.raises(ConflictError, match="in the moment of its move"):
        await moved(federation, heddle)
    assert (alive(federation), federation["west"].submissions) == ([], {})
    assert (await record_of(federation)).state is SubmissionState.SUBMITTED
    assert heddle.view.applications.find(AN_ID).summary.state is YarnApplicationState.KILLED


TOKENS = {"am-container-spec": {"credentials": {"tokens": {"entry": [{"key": "hdfs", "value": "AAAA"}]}}}}


@pytest.mark.parametrize("cancels", [None, True])
async def test_what_carries_tokens_stays(cancels):
    told = {"application-id": str(AN_ID), "queue": "root.default"} | TOKENS
    body = told if cancels is None else told | {"cancel-tokens-when-complete": cancels}
    federation, heddle = await waiting_at_east(a_submission(body=json.dumps(body).encode(), **QUEUED))
    await refused(heddle, "has tokens, which east cancels")
    assert alive(federation) == [EAST]


async def test_tokens_that_outlive_the_application_do_not_hold_it():
    body = {"application-id": str(AN_ID), "queue": "root.default", "cancel-tokens-when-complete": False} | TOKENS
    federation, heddle = await waiting_at_east(a_submission(body=json.dumps(body).encode(), **QUEUED))
    assert (await moved(federation, heddle)).home == WEST


async def test_without_another_home_it_stays():
    federation, heddle = await waiting_at_east()
    federation["west"].behave(IsNeverReached())
    await federation.wait_for(heddle.poll())
    await refused(heddle, "stays at east: no sub-cluster takes it now")
    assert alive(federation) == [EAST]


async def test_a_home_that_does_not_say_changes_nothing():
    federation, heddle = await waiting_at_east()
    federation["east"].behave(IsNeverReached())
    await refused(heddle, "east does not say", UnavailableError)
    assert not (await record_of(federation)).decision.is_left


async def test_what_nobody_submitted_here_is_not_found():
    heddle = await ScriptedFederation().start()
    await refused(heddle, "was not submitted through this federation", NotFoundError)


async def test_an_unmanaged_one_and_one_on_its_way_stay():
    federation = ScriptedFederation()
    heddle = await federation.start()
    await heddle.submissions.submit(a_submission(is_unmanaged=True, **QUEUED))
    await refused(heddle, "on its way")
    await federation.clock.advance(0.5)
    await refused(heddle, "its ApplicationMaster is its client")


async def test_a_kill_whose_answer_is_lost_is_looked_up():
    federation, heddle = await waiting_at_east()
    federation["east"].behave(MisbehavesFor(LosesTheAnswer(), applies=is_kill))
    move = await moved(federation, heddle)
    assert not move.is_done
    assert alive(federation) == []
    federation["east"].behave(AnswersProperly())
    await federation.clock.advance(5.0)
    await federation.wait_for(heddle.poll())
    assert heddle.view.applications.find(AN_ID).summary.state is not YarnApplicationState.KILLED, "it is on its way"
    await federation.wait_for(heddle.repair.repair_all())
    assert alive(federation) == [WEST]


async def test_a_home_that_goes_away_in_the_middle_has_the_move_wait_for_it():
    federation, heddle = await waiting_at_east()

    class GoesAway:
        async def __call__(self, manager, request, timeout_s):
            if is_kill(request):
                manager.behave(IsNeverReached())
            return await manager.behaviour(manager, request, timeout_s) if is_kill(request) else manager.take(request)

    federation["east"].behave(GoesAway())
    move = await moved(federation, heddle)
    assert not move.is_done
    assert "east does not say that it has ended it" in move.reason
    for _ in range(3):
        await federation.clock.advance(5.0)
        await federation.wait_for(heddle.poll())
        await federation.wait_for(heddle.repair.repair_all())
    assert (federation.who_has(AN_ID), federation["west"].submissions) == ([EAST], {})
    federation["east"].behave(AnswersProperly())
    for _ in range(3):
        await federation.clock.advance(5.0)
        await federation.wait_for(heddle.poll())
        await federation.wait_for(heddle.repair.repair_all())
    assert (alive(federation), federation["west"].submissions) == ([WEST], {AN_ID: 1})


class DiedError(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("point", [CrashPoint.REHOMED, CrashPoint.SENDING, CrashPoint.ANSWERED])
async def test_whoever_dies_while_it_is_sent_on_leaves_it_to_the_next(point):
    dies = []

    def crash(reached, _):
        if dies and reached is point:
            raise DiedError

    federation, heddle = await waiting_at_east(crash_points=crash)
    dies.append(True)
    with pytest.raises(DiedError):
        await moved(federation, heddle)
    await brought_on(federation)
    assert (alive(federation), (await record_of(federation)).home_subcluster) == ([WEST], WEST)


async def test_whoever_dies_before_the_kill_leaves_a_move_that_goes_on():
    federation, heddle = await waiting_at_east()

    class Dies:
        async def __call__(self, manager, request, _):
            if is_kill(request):
                raise DiedError
            return manager.take(request)

    federation["east"].behave(Dies())
    with pytest.raises(DiedError):
        await moved(federation, heddle)
    assert (await record_of(federation)).decision.is_left
    federation["east"].behave(AnswersProperly())
    heddle = await brought_on(federation)
    assert alive(federation) == [WEST]
    assert heddle.view.applications.find(AN_ID).summary.state is not YarnApplicationState.KILLED


async def brought_on(federation):
    """By another process, that starts later."""
    heddle = await federation.start()
    for _ in range(4):
        await federation.clock.advance(5.0)
        await federation.wait_for(heddle.poll())
        await federation.wait_for(heddle.repair.repair_all())
    return heddle


@pytest.mark.parametrize(
    ("about", "attempts", "has_begun"),
    [
        ({}, {}, False),
        ({}, {"appAttempts": None}, False),
        ({}, {"appAttempts": {}}, False),
        ({}, {"appAttempts": {"appAttempt": []}}, False),
        ({}, {"appAttempts": {"appAttempt": [{}]}}, False),
        ({}, {"appAttempts": {"appAttempt": {}}}, False),
        ({}, {"appAttempts": {"appAttempt": [{"containerId": ""}]}}, False),
        ({}, {"appAttempts": {"appAttempt": [{"containerId": "c"}]}}, True),
        ({}, {"appAttempts": {"appAttempt": {"containerId": "c"}}}, True),
        ({}, {"appAttempts": {"appAttempt": [{}, {}]}}, True),
        ({"amContainerLogs": "http://n1/logs"}, {}, True),
        ({"amHostHttpAddress": "n1:8042"}, {}, True),
        ({"amContainerLogs": "", "amHostHttpAddress": ""}, {}, False),
        ({"amContainerLogs": None, "amHostHttpAddress": None}, {}, False),
    ],
)
def test_an_attempt_has_begun_as_soon_as_a_container_of_it_is_known(about, attempts, has_begun):
    assert _has_begun(EAST, json.dumps(about).encode(), json.dumps(attempts).encode()) is has_begun


@pytest.mark.parametrize(("about", "attempts"), [(b"", b"{}"), (b"{}", b""), (b"[]", b"{}"), (b"{}", b"\xff")])
def test_whether_it_has_begun_is_not_guessed(about, attempts):
    with pytest.raises(MalformedAnswerError, match="attempts cannot be read"):
        _has_begun(EAST, about, attempts)


async def test_each_field_of_the_record_of_a_move_is_that_of_its_new_home():
    federation, heddle = await waiting_at_east()
    before = await record_of(federation)
    await federation.clock.advance(3.0)
    began_ms = int(federation.clock.now_s() * 1000)
    move = await moved(federation, heddle)
    after = await record_of(federation)
    assert began_ms <= after.intended_at_ms <= int(federation.clock.now_s() * 1000)
    assert after.intent_id != before.intent_id
    assert after == replace(
        before,
        home_subcluster=WEST,
        home_started_on_ms=federation["west"].started_on_ms,
        intended_at_ms=after.intended_at_ms,
        decision=after.decision,
        intent_id=after.intent_id,
    )
    assert after.decision.home_subcluster == WEST
    assert [(each.subcluster, each.reason) for each in after.decision.candidates][:1] == [
        (EAST, "it was ended there, to be moved")
    ]
    assert move == Move(AN_ID, "alice", EAST, WEST, is_done=True, reason=move.reason)


class ForgetsIt:
    """Ends an application as it is told to, and knows nothing of it afterwards."""

    async def __call__(self, manager, request, _):
        if is_kill(request):
            answer = manager.take(request)
            del manager.applications[AN_ID]
            return answer
        return manager.take(request)


async def test_what_its_home_has_forgotten_in_the_same_life_has_ended_there():
    federation, heddle = await waiting_at_east()
    federation["east"].behave(ForgetsIt())
    with pytest.raises(ConflictError, match="began, or ended, at east in the moment of its move"):
        await moved(federation, heddle)
    assert (federation.who_has(AN_ID), federation["west"].submissions) == ([], {})
    record = await record_of(federation)
    assert (record.home_subcluster, record.state) == (EAST, SubmissionState.SUBMITTED)


@pytest.mark.parametrize("after_s", [60.0, 0.0])
async def test_what_its_home_has_forgotten_in_a_restart_goes_on_only_if_nothing_can_be_on_its_way(after_s):
    """The life of a home that began long after the last send knows all that it was sent; a younger one may not yet."""
    federation, heddle = await waiting_at_east()
    federation["east"].behave(MisbehavesFor(IsNeverReached(), times=99, applies=is_kill))
    assert not (await moved(federation, heddle)).is_done
    leaving = await record_of(federation)
    await federation.clock.advance(after_s)
    federation["east"].behave(AnswersProperly())
    federation["east"].restart(forgets=True)
    await federation.wait_for(heddle.poll())
    assert await federation.wait_for(heddle.repair.rehoming.go_on(leaving)) == ""
    record = await record_of(federation)
    home = WEST if after_s else EAST
    assert (record.home_subcluster, federation.who_has(AN_ID)) == (home, [home])
    assert (record.home_started_on_ms, record.decision.is_left) == (federation[home].started_on_ms, False)
    assert record.intended_at_ms > leaving.intended_at_ms or not after_s
    assert record.intent_id != leaving.intent_id
    shown = heddle.view.applications.find(AN_ID)
    assert shown.summary.home_subcluster == home


class KillsNothing:
    """Takes a kill, and goes on with the application as if it had not."""

    def __init__(self):
        self.kills = 0

    async def __call__(self, manager, request, _):
        if not is_kill(request):
            return manager.take(request)
        self.kills += 1
        return ok_answer(b'{"state":"ACCEPTED"}')


async def test_a_kill_that_takes_longer_is_waited_for_by_who_asked_and_not_by_the_repair():
    federation, heddle = await waiting_at_east()
    kills_nothing = KillsNothing()
    federation["east"].behave(kills_nothing)
    began_s = federation.clock.monotonic_s()
    move = await moved(federation, heddle)
    assert (move.is_done, move.home, move.reason) == (False, WEST, "east has not ended it yet")
    assert 8.0 <= federation.clock.monotonic_s() - began_s < 8.5
    kills_nothing.kills = 0
    began_s = federation.clock.monotonic_s()
    leaving = await record_of(federation)
    assert await heddle.repair.rehoming.go_on(leaving) == "east has not ended it yet"
    assert (kills_nothing.kills, federation.clock.monotonic_s()) == (1, began_s), "asked once, without a wait"


async def test_while_one_moves_it_nobody_else_does():
    federation, heddle = await waiting_at_east()
    kills_nothing = KillsNothing()
    federation["east"].behave(kills_nothing)
    moving = asyncio.ensure_future(heddle.repair.rehoming.rehome(AN_ID))
    await federation.clock.advance(1.0)
    kills = kills_nothing.kills
    assert kills >= 1
    leaving = await record_of(federation)
    assert await heddle.repair.rehoming.go_on(leaving) == ""
    assert kills_nothing.kills == kills
    federation["east"].behave(AnswersProperly())
    await federation.clock.advance(1.0)
    move = await moving
    assert (move.is_done, alive(federation)) == (True, [WEST])
    record = await record_of(federation)
    assert await heddle.repair.rehoming.go_on(record) == "", "what is done with is not moved again"
