"""Which deadlines are hopeless at submission, and what queues do about them in each protocol."""

import pytest

from shim.domain.queues import FederatedQueue, SharePolicy
from shim.errors import BadRequestError, ForbiddenError
from shim.queues.admission import hopeless_deadline
from shim.scheduling.durations import FormerRun, FormerRuns, recurring_key_of
from tests.doubles.builders import a_submission
from tests.support.scripted_server import BASE, ScriptedServer, body_of, context
from tests.unit.queues.test_admission import a_front

NOW_S = 1_800_000_000.0
OVER = "heddle-deadline=2020-01-01T00:00:00Z"
RUN = FormerRun(containers=8, container_s=60.0, runs=3)


@pytest.mark.parametrize(
    ("tag", "run", "said"),
    [
        ("other", RUN, ""),
        (OVER, None, "its deadline is over"),
        ("heddle-deadline=+1s", None, ""),
        ("heddle-deadline=+59s", RUN, "no number of them ends it in time"),
        ("heddle-deadline=+60s", RUN, ""),
    ],
)
def test_only_what_cannot_be_met_as_far_as_is_known_is_hopeless(tag: str, run: FormerRun | None, said: str):
    told = hopeless_deadline(a_submission(tags=(tag,)), NOW_S, run)
    assert said in told
    assert bool(told) == bool(said)


def test_what_is_no_deadline_is_none_here_either():
    with pytest.raises(BadRequestError):
        hopeless_deadline(a_submission(tags=("heddle-deadline=soon",)), NOW_S, None)


def queue(deadline: str) -> SharePolicy:
    return SharePolicy((FederatedQueue("root.default", deadline=deadline),))


@pytest.mark.parametrize("deadline", ["warn", "refuse"])
async def test_a_queue_refuses_or_takes_what_its_last_run_says_cannot_be(deadline: str):
    room = (await a_front(queue(deadline))).room
    submission = a_submission(queue="root.default", tags=("heddle-deadline=+59s",))
    key = recurring_key_of(submission.user, submission.application_type, submission.name)
    assert room.enter(submission).queue == "root.default", "nothing is known"
    room.former_runs.observe("root.other", key, 8, 480.0)
    assert room.enter(submission).queue == "root.default", "that is another queue's"
    room.former_runs.observe("root.default", key, 8, 480.0)
    if deadline == "refuse":
        with pytest.raises(ForbiddenError, match=r"Queue root.default refuses application_.*took 60 s in its last run"):
            room.enter(submission)
    else:
        assert room.enter(submission).queue == "root.default"


@pytest.mark.parametrize(("deadline", "status"), [("warn", 202), ("refuse", 403)])
async def test_over_rest_a_refusal_is_that_of_a_queue_and_a_warning_is_in_why(deadline: str, status: int):
    server = ScriptedServer(names=("east",), policy=queue(deadline))
    await server.poll()
    made = body_of(await server.ask("POST", f"{BASE}/apps/new-application?user.name=alice"))["application-id"]
    body = context(made, queue="root.default", **{"application-tags": {"tag": [OVER]}})
    path = f"{BASE}/apps?user.name=alice"
    answer = await server.ask("POST", path, body=body, content_type="application/json")
    assert answer.status == status, answer.body
    if status == 202:
        told = body_of(await server.ask("GET", f"/heddle/v1/apps/{made}/why?user.name=alice"))
        assert told["deadline"]["met"] == "no"
    else:
        assert b"its deadline is over" in answer.body
        assert not server.federation["east"].applications


def test_former_runs_are_bounded_and_count_themselves():
    runs = FormerRuns()
    for number in range(20_000):
        runs.observe("root.a", f"job {number}", 2, 20.0)
    assert runs.of("root.a", "job 0") is None
    runs.observe("root.a", "job 19999", 4, 20.0)
    assert runs.of("root.a", "job 19999") == FormerRun(4, 5.0, 2)
    runs.observe("root.a", "", 4, 20.0)
    runs.observe("root.a", "job", 0, 0.0)
    assert runs.of("root.a", "") is runs.of("root.a", "job") is None
