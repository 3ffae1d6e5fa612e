"""Submissions, branch by branch, over scripted ResourceManagers."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.domain.submissions import SubmissionState
from shim.errors import BadRequestError, ConflictError, NoUsableSubClusterError, StoreUnavailableError, UnavailableError
from shim.ports.resource_manager import RestRequest
from shim.submission.crash_points import CrashPoint
from shim.submission.entrance import Accepted, Rejected
from tests.doubles.builders import FEDERATION_TIMESTAMP_MS, a_submission
from tests.doubles.failing_stores import AwayStore, LockedStore, LosesTheAnswerToCommits, SwitchableStore
from tests.doubles.federation import ScriptedFederation, ScriptedHeddle
from tests.doubles.misbehaviours import (
    AnswersGarbage,
    FailsInternally,
    IsNeverReached,
    IsPaused,
    IsRecovering,
    IsStandby,
    LosesTheAnswer,
    MisbehavesFor,
    RejectsSubmissions,
)
from tests.doubles.reports import a_report
from tests.doubles.resource_manager import Behaviour

EAST, WEST = SubClusterId("east"), SubClusterId("west")
AN_ID = ApplicationId(FEDERATION_TIMESTAMP_MS, 1)


def is_submission(request: RestRequest) -> bool:
    return request.method == "POST"


async def state_of(federation: ScriptedFederation, application_id: ApplicationId = AN_ID) -> SubmissionState | None:
    record = await federation.store.find(application_id)
    return None if record is None else record.state


async def started(**kwargs: object) -> tuple[ScriptedFederation, ScriptedHeddle]:
    federation = ScriptedFederation(**kwargs)  # type: ignore[arg-type]  # passed through
    return federation, await federation.start()


async def written_down(federation: ScriptedFederation) -> None:
    """Let the time pass until what homes have taken is in the store."""
    await federation.clock.advance(0.1)


async def test_a_submission_reaches_its_home_once_as_its_user() -> None:
    federation, heddle = await started()
    outcome = await heddle.submissions.submit(a_submission())
    assert outcome == Accepted(EAST, is_delivered=True)
    assert federation.who_has(AN_ID) == [EAST]
    assert federation["east"].applications[AN_ID]["user"] == "alice"
    assert heddle.view.applications.home_of(AN_ID) == EAST
    await written_down(federation)
    assert await state_of(federation) is SubmissionState.SUBMITTED
    assert not heddle.submissions.in_flight


@pytest.mark.parametrize("tag", ["heddle-span", "Heddle-Span"])
async def test_nobody_hides_an_application_behind_the_tag_of_what_stands_for_another(tag: str) -> None:
    federation, heddle = await started()
    with pytest.raises(BadRequestError, match="Heddle's own"):
        await heddle.submissions.submit(a_submission(tags=("mine", tag)))
    assert federation.who_has(AN_ID) == []
    assert await federation.store.find(AN_ID) is None


async def test_what_says_that_it_is_a_deadline_and_is_none_is_refused_before_anything_is_kept() -> None:
    federation, heddle = await started()
    with pytest.raises(BadRequestError, match="no deadline: write"):
        await heddle.submissions.submit(a_submission(tags=("mine", "heddle-deadline=soon")))
    assert federation.who_has(AN_ID) == []
    assert await federation.store.find(AN_ID) is None
    await heddle.submissions.submit(a_submission(tags=("mine", "heddle-deadline=+1h")))
    assert federation.who_has(AN_ID) == [EAST]


async def test_the_body_and_its_type_travel_untouched() -> None:
    federation, heddle = await started()
    body = b'{ "application-id" : "%s" , "unknown": 1e999 }' % str(AN_ID).encode()
    await heddle.submissions.submit(a_submission(body=body), accept="application/xml")
    sent = federation["east"].taken[-1]
    assert (sent.method, sent.path, sent.user, sent.body) == ("POST", "/ws/v1/cluster/apps", "alice", body)
    assert dict(sent.headers) == {"Accept": "application/xml", "Content-Type": "application/json"}


async def test_nothing_is_sent_before_the_intent_is_in_the_store() -> None:
    federation = ScriptedFederation()
    order: list[tuple[CrashPoint, SubmissionState | None, int]] = []

    def note(point: CrashPoint, application_id: ApplicationId) -> None:
        kept = federation.store._kept.get(application_id)  # type: ignore[attr-defined]  # the store in memory
        order.append((point, kept and kept.record.state, federation["east"].submissions.get(application_id, 0)))

    heddle = await federation.start(note)
    await heddle.submissions.submit(a_submission())
    await written_down(federation)
    assert order == [
        (CrashPoint.RECEIVED, None, 0),
        (CrashPoint.INTENT_WRITTEN, SubmissionState.INTENDED, 0),
        (CrashPoint.SENDING, SubmissionState.INTENDED, 0),
        (CrashPoint.ANSWERED, SubmissionState.INTENDED, 1),
        (CrashPoint.SETTLED, SubmissionState.SUBMITTED, 1),
    ]


async def test_the_client_does_not_wait_for_the_note_that_its_home_has_it() -> None:
    federation, heddle = await started()
    assert await heddle.submissions.submit(a_submission()) == Accepted(EAST, is_delivered=True)
    assert await state_of(federation) is SubmissionState.INTENDED
    assert heddle.submissions.in_flight == {AN_ID}  # the repair leaves it alone meanwhile
    await written_down(federation)
    assert await state_of(federation) is SubmissionState.SUBMITTED
    assert not heddle.submissions.in_flight


async def test_what_is_taken_at_the_end_is_written_down_before_the_end() -> None:
    federation, heddle = await started()
    await heddle.submissions.submit(a_submission())
    end = asyncio.create_task(heddle.submissions.finish())
    await written_down(federation)
    await end
    assert await state_of(federation) is SubmissionState.SUBMITTED


async def test_a_note_that_the_store_does_not_take_is_left_to_the_repair() -> None:
    store = SwitchableStore()
    federation, heddle = await started(store=store)
    await heddle.submissions.submit(a_submission())
    store.writes_fail = True
    await written_down(federation)
    store.writes_fail = False
    assert await state_of(federation) is SubmissionState.INTENDED
    assert not heddle.submissions.in_flight
    await federation.clock.advance(60.0)
    await heddle.poll()
    await heddle.repair.repair_all()
    assert await state_of(federation) is SubmissionState.SUBMITTED
    assert federation["east"].submissions == {AN_ID: 1}


async def test_the_same_submission_again_is_the_same_submission() -> None:
    federation, heddle = await started()
    first = await heddle.submissions.submit(a_submission())
    assert await heddle.submissions.submit(a_submission()) == first
    assert federation["east"].submissions == {AN_ID: 1}


async def test_the_same_submission_at_another_heddle_is_the_same_submission() -> None:
    federation, heddle = await started()
    await heddle.submissions.submit(a_submission())
    await written_down(federation)
    other = await federation.start()
    federation["east"].behave(IsNeverReached())
    await other.poll()
    assert await other.submissions.submit(a_submission()) == Accepted(EAST, is_delivered=True)
    assert federation.who_has(AN_ID) == [EAST]


async def test_many_equal_submissions_at_the_same_time_are_one() -> None:
    federation, heddle = await started()
    outcomes = await asyncio.gather(*(heddle.submissions.submit(a_submission()) for _ in range(10)))
    assert set(outcomes) == {Accepted(EAST, is_delivered=True)}
    assert federation["east"].submissions == {AN_ID: 1}


@pytest.mark.parametrize(
    "other", [{"user": "eve"}, {"body": b'{"application-id":"x"}'}, {"content_type": "application/xml"}]
)
async def test_a_known_id_with_another_user_or_content_is_refused(other: dict[str, Any]) -> None:
    federation, heddle = await started()
    await heddle.submissions.submit(a_submission())
    with pytest.raises(ConflictError):
        await heddle.submissions.submit(a_submission(**other))
    assert federation["east"].submissions == {AN_ID: 1}


async def test_of_two_contents_at_the_same_time_one_is_refused() -> None:
    federation, heddle = await started()
    outcomes = await asyncio.gather(
        heddle.submissions.submit(a_submission()),
        heddle.submissions.submit(a_submission(user="eve")),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes] == [Accepted, ConflictError]
    assert federation["east"].applications[AN_ID]["user"] == "alice"


async def test_a_known_id_is_answered_while_no_sub_cluster_is_usable() -> None:
    federation, heddle = await started()
    await heddle.submissions.submit(a_submission())
    await written_down(federation)
    for manager in federation.managers.values():
        manager.behave(IsNeverReached())
    other = await federation.start()
    assert await other.submissions.submit(a_submission()) == Accepted(EAST, is_delivered=True)


async def test_an_id_that_nobody_issued_is_accepted() -> None:
    federation, heddle = await started()
    foreign = ApplicationId(1, 77)
    submission = a_submission(application_id=foreign, body=b'{"application-id":"application_1_0077"}')
    assert await heddle.submissions.submit(submission) == Accepted(EAST, is_delivered=True)
    assert federation.who_has(foreign) == [EAST]


async def test_an_id_that_a_sub_cluster_was_given_directly_is_not_sent_to_another() -> None:
    federation, heddle = await started()
    federation["west"].add_application(AN_ID, user="alice")
    await heddle.poll()
    assert await heddle.submissions.submit(a_submission()) == Accepted(WEST, is_delivered=True)
    with pytest.raises(ConflictError):
        await heddle.submissions.submit(a_submission(user="eve"))
    assert federation.who_has(AN_ID) == [WEST]
    assert await state_of(federation) is None


async def test_a_refusal_is_the_homes_own_answer() -> None:
    federation, heddle = await started()
    federation["east"].behave(RejectsSubmissions("too large"))
    outcome = await heddle.submissions.submit(a_submission())
    assert isinstance(outcome, Rejected)
    assert outcome.refusal.status == 400
    assert b"too large" in outcome.refusal.body
    record = await federation.store.find(AN_ID)
    assert record is not None
    assert record.state is SubmissionState.REJECTED
    assert "too large" in record.rejection
    assert federation.who_has(AN_ID) == []


async def test_after_a_refusal_the_corrected_context_is_taken_under_the_same_id() -> None:
    federation, heddle = await started()
    federation["east"].behave(MisbehavesFor(RejectsSubmissions("no"), applies=is_submission))
    assert isinstance(await heddle.submissions.submit(a_submission()), Rejected)
    corrected = a_submission(body=b'{"application-id":"%s","x":1}' % str(AN_ID).encode())
    assert await heddle.submissions.submit(corrected) == Accepted(EAST, is_delivered=True)
    await written_down(federation)
    assert await state_of(federation) is SubmissionState.SUBMITTED


@pytest.mark.parametrize("behaviour", [IsNeverReached, IsStandby], ids=lambda kind: kind.__name__)
async def test_a_home_that_provably_was_not_reached_is_replaced(behaviour: Callable[[], Behaviour]) -> None:
    federation, heddle = await started()
    federation["east"].behave(behaviour())
    assert await heddle.submissions.submit(a_submission()) == Accepted(WEST, is_delivered=True)
    assert federation.who_has(AN_ID) == [WEST]
    await written_down(federation)
    record = await federation.store.find(AN_ID)
    assert record is not None
    assert (record.home_subcluster, record.state) == (WEST, SubmissionState.SUBMITTED)


async def test_when_no_home_can_be_reached_the_intent_waits_and_the_client_does_not() -> None:
    federation, heddle = await started()
    for manager in federation.managers.values():
        manager.behave(IsNeverReached())
    outcome = await heddle.submissions.submit(a_submission())
    assert isinstance(outcome, Accepted)
    assert not outcome.is_delivered
    assert await state_of(federation) is SubmissionState.INTENDED


async def test_a_paused_home_holds_up_nobody_longer_than_two_seconds_and_nothing_goes_elsewhere() -> None:
    federation, heddle = await started()
    paused = IsPaused()
    federation["east"].behave(paused)
    begun_s = federation.clock.monotonic_s()
    outcome = await federation.wait_for(heddle.submissions.submit(a_submission()))
    assert outcome == Accepted(EAST, is_delivered=False)
    assert federation.clock.monotonic_s() - begun_s <= 2.25  # the held clock moves in quarters of a second
    assert await state_of(federation) is SubmissionState.INTENDED
    assert heddle.view.applications.home_of(AN_ID) == EAST
    paused.wake()
    assert federation.who_has(AN_ID) == [EAST]


UNCERTAIN = {
    "loses the answer": MisbehavesFor(LosesTheAnswer(), applies=is_submission),
    "answers garbage with a failing status": MisbehavesFor(FailsInternally(), times=9),
}


@pytest.mark.parametrize("behaviour", UNCERTAIN.values(), ids=UNCERTAIN.keys())
async def test_what_may_have_been_taken_goes_nowhere_else(behaviour: Behaviour) -> None:
    federation, heddle = await started()
    federation["east"].behave(behaviour)
    outcome = await heddle.submissions.submit(a_submission())
    assert outcome == Accepted(EAST, is_delivered=False)
    assert federation.who_has(AN_ID) in ([EAST], [])
    assert await state_of(federation) is SubmissionState.INTENDED


async def test_a_failure_of_the_home_itself_with_the_application_unknown_is_a_refusal() -> None:
    federation, heddle = await started()
    federation["east"].behave(MisbehavesFor(FailsInternally(), applies=is_submission))
    outcome = await heddle.submissions.submit(a_submission())
    assert isinstance(outcome, Rejected)
    assert outcome.refusal.status == 500
    assert await state_of(federation) is SubmissionState.REJECTED


async def test_a_home_that_was_not_heard_of_lately_is_asked_first_and_not_used_while_it_recovers() -> None:
    federation, heddle = await started()
    await federation.clock.advance(4.0)
    recovering = IsRecovering()
    federation["east"].behave(recovering)
    assert await heddle.submissions.submit(a_submission()) == Accepted(WEST, is_delivered=True)
    assert recovering.harmful == []


async def test_without_a_usable_sub_cluster_the_refusal_says_why_for_each() -> None:
    federation, heddle = await started()
    for manager in federation.managers.values():
        manager.behave(AnswersGarbage())
    await heddle.poll()
    with pytest.raises(NoUsableSubClusterError, match=r"east: does not answer; west: does not answer"):
        await heddle.submissions.submit(a_submission())
    assert await state_of(federation) is None


@pytest.mark.parametrize("store", [LockedStore, AwayStore])
async def test_a_store_that_does_not_write_means_503_and_nothing_is_sent(store: Callable[..., SwitchableStore]) -> None:
    federation, heddle = await started(store=store())
    with pytest.raises(UnavailableError) as caught:
        await heddle.submissions.submit(a_submission())
    assert caught.value.retry_after_s >= 1
    assert isinstance(caught.value.__cause__, StoreUnavailableError)
    assert all(not manager.submissions for manager in federation.managers.values())


async def test_a_store_that_goes_away_after_the_send_does_not_take_the_acknowledgement_back() -> None:
    store = SwitchableStore()
    federation = ScriptedFederation(store=store)

    def lock(point: CrashPoint, application_id: ApplicationId) -> None:
        store.writes_fail = point is CrashPoint.ANSWERED

    heddle = await federation.start(lock)
    assert await heddle.submissions.submit(a_submission()) == Accepted(EAST, is_delivered=True)
    store.writes_fail = False
    assert await state_of(federation) is SubmissionState.INTENDED


async def test_a_submission_whose_commit_was_not_confirmed_may_be_repeated() -> None:
    federation, heddle = await started(store=LosesTheAnswerToCommits())
    with pytest.raises(UnavailableError):
        await heddle.submissions.submit(a_submission())
    assert isinstance(await heddle.submissions.submit(a_submission()), Accepted)
    assert len(await federation.store.intended()) + len(federation.who_has(AN_ID)) >= 1


async def test_a_client_that_goes_away_does_not_stop_its_submission() -> None:
    federation, heddle = await started()
    paused = IsPaused()
    federation["east"].behave(paused)
    waiting = asyncio.create_task(heddle.submissions.submit(a_submission()))
    await federation.clock.settle()
    waiting.cancel()
    await federation.clock.settle()
    assert heddle.submissions.in_flight == {AN_ID}
    await federation.clock.advance(3.0)
    assert not heddle.submissions.in_flight
    assert await state_of(federation) is SubmissionState.INTENDED
    assert heddle.view.applications.is_synthetic(AN_ID)


TOO_LARGE = "Invalid resource request! Cannot allocate containers as requested resource is greater than maximum"


async def test_a_refusal_for_the_size_is_tried_at_another_home() -> None:
    federation, heddle = await started()
    federation["east"].behave(RejectsSubmissions(TOO_LARGE))
    assert await heddle.submissions.submit(a_submission()) == Accepted(WEST, is_delivered=True)
    assert (federation.who_has(AN_ID), federation["west"].submissions) == ([WEST], {AN_ID: 1})
    record = await federation.store.find(AN_ID)
    assert record is not None
    assert "refused it for its size: java.lang.Exception: Invalid" in record.decision.candidates[0].reason


@pytest.mark.parametrize("message", [TOO_LARGE, "Requested more cores than configured max"])
async def test_a_refusal_for_the_size_is_tried_once_and_then_told(message: str) -> None:
    federation, heddle = await started(names=("east", "west", "north"))
    for name in ("east", "west"):
        federation[name].behave(RejectsSubmissions(f"{message} at {name}"))
    outcome = await heddle.submissions.submit(a_submission())
    assert isinstance(outcome, Rejected)
    assert b" at west" in outcome.refusal.body
    assert federation.who_has(AN_ID) == []
    assert await state_of(federation) is SubmissionState.REJECTED


async def test_of_two_refusals_for_the_size_the_one_of_the_larger_is_told() -> None:
    federation, heddle = await started()
    for name in ("east", "west"):
        federation[name].behave(RejectsSubmissions(f"{TOO_LARGE} at {name}"))
    larger = a_report("east", 99, polled_at_s=federation.clock.now_s(), maximum_allocation=ResourceVector(10**6, 10**3))
    heddle.view.apply(larger)
    outcome = await heddle.submissions.submit(a_submission())
    assert isinstance(outcome, Rejected)
    assert b" at east" in outcome.refusal.body


async def test_another_refusal_is_not_tried_elsewhere() -> None:
    federation, heddle = await started()
    federation["east"].behave(RejectsSubmissions("User alice cannot submit to queue"))
    assert isinstance(await heddle.submissions.submit(a_submission()), Rejected)
    assert federation.who_has(AN_ID) == []


async def test_what_one_home_refused_and_the_next_was_not_sent_is_on_its_way_nowhere() -> None:
    federation, heddle = await started()
    federation["east"].behave(RejectsSubmissions(TOO_LARGE))
    federation["west"].behave(MisbehavesFor(IsNeverReached(), times=9, applies=is_submission))
    outcome = await federation.wait_for(heddle.submissions.submit(a_submission()))
    assert outcome == Accepted(WEST, is_delivered=False)
    record = await federation.store.find(AN_ID)
    assert record is not None
    assert (record.home_subcluster, record.state) == (WEST, SubmissionState.INTENDED)
    assert heddle.submissions.attempts.has_none_on_its_way(record.progress)
