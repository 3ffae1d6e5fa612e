"""The double behaves as the recorded ResourceManager does where Heddle looks, and misbehaves as its names say."""

import asyncio
import json

import pytest

from shim.domain.ids import ApplicationId
from shim.errors import MalformedAnswerError, NeverReachedError, NoAnswerError, StandbyError
from shim.ports.resource_manager import RestRequest
from tests.doubles import misbehaviours
from tests.doubles.clock import FakeClock
from tests.doubles.resource_manager import ScriptedResourceManager

ONE = ApplicationId(1, 1)
BASE = "/ws/v1/cluster"


@pytest.fixture
def manager():
    return ScriptedResourceManager("east", clock=FakeClock())


def get(path, **parameters):
    return RestRequest("GET", f"{BASE}/{path}", parameters=tuple(parameters.items()), user="alice")


def submission(application_id, **fields):
    body = json.dumps({"application-id": str(application_id)} | fields).encode()
    return RestRequest("POST", f"{BASE}/apps", user="alice", body=body)


async def test_a_submission_is_taken_once_however_often_it_comes(manager):
    for name in ("first", "second"):
        answer = await manager.forward(submission(ONE, **{"application-name": name}))
        assert (answer.status, answer.body) == (202, b"")
        assert answer.header("location").endswith(f"/apps/{ONE}")
    assert manager.submissions == {ONE: 2}
    app = json.loads((await manager.forward(get(f"apps/{ONE}"))).body)["app"]
    assert (app["name"], app["user"], app["queue"], app["state"]) == ("first", "alice", "root.default", "ACCEPTED")


async def test_an_unknown_application_is_answered_as_a_real_one_does(manager):
    answer = await manager.forward(get("apps/application_1_0009"))
    error = json.loads(answer.body)["RemoteException"]
    assert answer.status == 404
    assert error["message"] == "java.lang.Exception: app with id: application_1_0009 not found"


async def test_lists_are_filtered_by_state_and_time_of_the_end(manager):
    manager.add_application(ONE, "RUNNING")
    manager.add_application(ApplicationId(1, 2), "FINISHED")
    begin = int(manager.clock.now_s() * 1000)

    async def ids(**parameters):
        apps = json.loads((await manager.forward(get("apps", **parameters))).body)["apps"]
        return [app["id"] for app in apps.get("app", [])]

    assert len(await ids()) == 2
    assert await ids(states="running,accepted") == [str(ONE)]
    assert await ids(finishedTimeBegin=str(begin)) == ["application_1_0002"]
    assert await ids(states="KILLED") == []


async def test_a_kill_is_202_then_200(manager):
    manager.add_application(ONE)
    kill = RestRequest("PUT", f"{BASE}/apps/{ONE}/state", user="alice", body=b'{"state":"KILLED"}')
    assert [(await manager.forward(kill)).status for _ in range(2)] == [202, 200]


async def test_a_restart_shows_in_the_start_time_and_may_forget(manager):
    manager.add_application(ONE)
    before = manager.started_on_ms
    manager.restart()
    assert manager.started_on_ms > before
    assert ONE in manager.applications
    manager.restart(forgets=True)
    assert manager.applications == {}


@pytest.mark.parametrize(
    ("behaviour", "error", "is_taken"),
    [
        (misbehaviours.IsNeverReached(), NeverReachedError, False),
        (misbehaviours.LosesTheAnswer(), NoAnswerError, True),
        (misbehaviours.IsStandby(), StandbyError, False),
        (misbehaviours.AnswersEndlessly(), MalformedAnswerError, False),
        (misbehaviours.IsRecovering(), NoAnswerError, False),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_what_becomes_of_a_submission_when_it_misbehaves(manager, behaviour, error, is_taken):
    manager.behave(behaviour)
    with pytest.raises(error):
        await manager.forward(submission(ONE))
    assert (ONE in manager.applications) is is_taken


async def test_a_paused_one_takes_what_waited_when_it_wakes(manager):
    paused = misbehaviours.IsPaused()
    manager.behave(paused)
    waiting = asyncio.create_task(manager.forward(submission(ONE), timeout_s=2.0))
    await manager.clock.advance(2.0)
    with pytest.raises(NoAnswerError):
        await waiting
    assert manager.applications == {}
    paused.wake()
    assert ONE in manager.applications
    assert (await manager.forward(get("info"))).status == 200


async def test_one_that_recovers_lists_nothing_with_status_200(manager):
    manager.add_application(ONE)
    recovering = misbehaviours.IsRecovering()
    manager.behave(recovering)
    assert json.loads((await manager.forward(get("apps"))).body) == {"apps": {}}
    assert (await manager.forward(get(f"apps/{ONE}"))).status == 404
    assert b"INITIALIZING" in (await manager.forward(get("info"))).body
    with pytest.raises(NoAnswerError):
        await manager.forward(submission(ApplicationId(1, 2)))
    assert len(recovering.harmful) == 1


async def test_misbehaviour_may_be_for_some_requests_only(manager):
    only_once = misbehaviours.MisbehavesFor(
        misbehaviours.FailsInternally(), 1, lambda request: request.path.endswith("nodes")
    )
    manager.behave(only_once)
    paths = ("info", "nodes", "nodes")
    assert [(await manager.forward(get(path))).status for path in paths] == [200, 500, 200]


async def test_a_refused_submission_is_400_and_changes_nothing(manager):
    manager.behave(misbehaviours.RejectsSubmissions("too much"))
    answer = await manager.forward(submission(ONE))
    assert (answer.status, ONE in manager.applications) == (400, False)
    assert b"too much" in answer.body
