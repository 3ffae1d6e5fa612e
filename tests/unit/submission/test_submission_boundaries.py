"""Repair, sweeps and retirement (`shim.submission`) at their usual limits: just before and exactly at each.

What is sent then is looked at, too.
"""

from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from shim.domain.applications import SPAN_TAG
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import Admission
from shim.domain.submissions import SubmissionRecord, SubmissionState
from shim.errors import ConflictError, UnavailableError
from shim.ports.multicluster_store import RemoteSession
from shim.ports.resource_manager import RestAnswer, RestRequest
from shim.simulation.state_stores import InMemoryHistoryStore, InMemoryStateStore
from tests.doubles.builders import FEDERATION_TIMESTAMP_MS, a_record, a_submission
from tests.doubles.federation import ScriptedFederation, ScriptedHeddle
from tests.doubles.misbehaviours import FailsWithoutWords, IsNeverReached, IsPaused, MisbehavesFor
from tests.doubles.reports import a_report
from tests.doubles.resource_manager import AnswersProperly, Behaviour, ScriptedResourceManager

EAST, WEST = SubClusterId("east"), SubClusterId("west")
INTENDED, SUBMITTED, LOST = SubmissionState.INTENDED, SubmissionState.SUBMITTED, SubmissionState.LOST
REJECTED = SubmissionState.REJECTED


def an_id(sequence: int = 1) -> ApplicationId:
    return ApplicationId(FEDERATION_TIMESTAMP_MS, sequence)


@pytest.fixture
def federation() -> ScriptedFederation:
    return ScriptedFederation()


async def left_behind(
    federation: ScriptedFederation, *sequences: int, home: str = "east", age_s: float = 60.0, state=INTENDED
) -> None:
    """Records of a Heddle that died, each with an intent of its own."""
    intended_at_ms = round((federation.clock.now_s() - age_s) * 1000)
    for sequence in sequences:
        record = a_record(home=home, started_on_ms=federation[home].started_on_ms, intended_at_ms=intended_at_ms)
        await federation.store.insert_intent(
            replace(record, submission=a_submission(sequence), intent_id=f"i{sequence}")
        )
        if state is not INTENDED:
            await federation.store.settle(an_id(sequence), SUBMITTED)
        if state is LOST:
            stands = await federation.store.find(an_id(sequence))
            assert stands is not None
            await federation.store.give_up(stands.progress, reason="lost")


async def stands(federation: ScriptedFederation, sequence: int = 1) -> SubmissionRecord:
    record = await federation.store.find(an_id(sequence))
    assert record is not None
    return record


def sends(federation: ScriptedFederation, name: str = "east") -> int:
    return sum(request.method == "POST" for request in federation[name].requests)


# ---------------------------------------------------------------------- repair


@pytest.mark.parametrize(("age_s", "sent"), [(2.999, 0), (3.0, 1)])
async def test_an_intent_is_sent_again_when_it_is_three_seconds_old(
    federation: ScriptedFederation, age_s: float, sent: int
) -> None:
    await left_behind(federation, 1, age_s=age_s)
    heddle = await federation.start()
    await federation.wait_for(heddle.repair.repair_all())
    assert sends(federation) == sent


def hears_of(federation: ScriptedFederation, heddle: ScriptedHeddle, *, started_on_ms: int, skew_s: float) -> None:
    """East started then by its own clock, which is ahead of Heddle's by its skew."""
    federation["east"].started_on_ms = started_on_ms
    report = a_report("east", sequence=99, polled_at_s=federation.clock.now_s())
    heddle.view.apply(replace(report, started_on_ms=started_on_ms, clock_skew_s=skew_s))


@pytest.mark.parametrize("skew_s", [0.0, 15.0, -15.0])
@pytest.mark.parametrize(("started_after_ms", "home"), [(10_000, EAST), (10_001, WEST)])
async def test_a_home_that_started_more_than_ten_seconds_after_an_intent_may_be_replaced(
    federation: ScriptedFederation, started_after_ms: int, home: SubClusterId, skew_s: float
) -> None:
    await left_behind(federation, 1, age_s=60.0)
    heddle = await federation.start()
    started_on_ms = (await stands(federation)).intended_at_ms + started_after_ms + round(skew_s * 1000)
    hears_of(federation, heddle, started_on_ms=started_on_ms, skew_s=skew_s)
    await heddle.administration.cordon(EAST, by="root")
    await federation.wait_for(heddle.repair.repair_all())
    assert federation.who_has(an_id()) == [home]


@pytest.mark.parametrize("skew_s", [0.0, 15.0, -15.0])
@pytest.mark.parametrize(("started_after_ms", "state"), [(10_000, SUBMITTED), (10_001, REJECTED)])
async def test_what_failed_too_often_is_given_up_if_its_home_started_more_than_ten_seconds_after_its_last_send(
    federation: ScriptedFederation, started_after_ms: int, state: SubmissionState, skew_s: float
) -> None:
    """Another process wrote the intent, and may have sent it then: else it is sent once more."""
    await left_behind(federation, 1)
    heddle = await federation.start()
    record = await stands(federation)
    started_on_ms = record.intended_at_ms + started_after_ms + round(skew_s * 1000)
    for _ in range(10):
        now_s = federation.clock.monotonic_s()
        heddle.repair.attempts.failed(record.progress, "boom", started_on_ms=started_on_ms, now_s=now_s)
    await federation.clock.advance(900.0)
    await heddle.poll()
    hears_of(federation, heddle, started_on_ms=started_on_ms, skew_s=skew_s)
    await federation.wait_for(heddle.repair.repair_all())
    assert (await stands(federation)).state is state
    assert sends(federation) == (state is SUBMITTED)


@pytest.mark.parametrize(("has_failed", "at_once"), [(False, 16), (True, 8)])
async def test_so_many_are_sent_to_one_home_at_a_time(
    federation: ScriptedFederation, at_once: int, *, has_failed: bool
) -> None:
    await left_behind(federation, *range(1, 21))
    heddle = await federation.start()
    if has_failed:
        for sequence in range(1, 21):
            progress, life = (await stands(federation, sequence)).progress, federation["east"].started_on_ms
            now_s = federation.clock.monotonic_s()
            heddle.repair.attempts.failed(progress, "boom", started_on_ms=life, now_s=now_s)
        await federation.clock.advance(2.0)
        await heddle.poll()
    federation["east"].behave(MisbehavesFor(IsPaused(), times=99, applies=lambda request: request.method == "POST"))
    await heddle.repair.begin_round()
    await federation.clock.settle()
    assert sends(federation) == at_once
    await heddle.repair.stop()


@pytest.mark.parametrize("behaviour", [IsPaused, FailsWithoutWords], ids=lambda kind: kind.__name__)
async def test_one_question_that_fails_does_not_stop_a_round_and_nothing_is_sent_for_it(
    federation: ScriptedFederation, behaviour: type[Behaviour]
) -> None:
    await left_behind(federation, 1, 2)
    heddle = await federation.start()
    federation["east"].behave(
        MisbehavesFor(behaviour(), times=9, applies=lambda request: request.path.endswith(str(an_id(1))))
    )
    await federation.wait_for(heddle.repair.repair_all())
    assert [(await stands(federation, sequence)).state for sequence in (1, 2)] == [INTENDED, SUBMITTED]
    assert federation.who_has(an_id(1)) == []


class TakesASecond:
    """Answers properly, a second later: what is written before and after an answer has other times."""

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        del timeout_s
        await manager.clock.sleep(1.0)
        return manager.take(request)


@pytest.mark.parametrize("has_it", [False, True], ids=["sent again", "was there"])
async def test_what_a_round_settles_is_asked_for_anew_before_it_is_shown(
    federation: ScriptedFederation, *, has_it: bool
) -> None:
    await left_behind(federation, 1)
    heddle = await federation.start()
    if has_it:
        federation["east"].add_application(an_id())
    federation["east"].behave(TakesASecond())
    await federation.wait_for(heddle.repair.repair_all())
    assert (await stands(federation)).state is SUBMITTED
    assert heddle.view.applications.written_at_s(an_id()) == federation.clock.now_s()


async def test_what_is_found_elsewhere_after_a_restore_is_asked_for_anew_before_it_is_shown() -> None:
    store = InMemoryStateStore()
    federation = ScriptedFederation(store=store, history=InMemoryHistoryStore(store))
    store.now_s = federation.clock.now_s
    await left_behind(federation, 1)
    store.note_restored()
    heddle = await federation.start()
    federation["west"].add_application(an_id())
    federation["west"].behave(TakesASecond())
    await federation.wait_for(heddle.repair.repair_all())
    assert ((await stands(federation)).state, (await stands(federation)).home_subcluster) == (SUBMITTED, WEST)
    assert heddle.view.applications.written_at_s(an_id()) == federation.clock.now_s()


# ---------------------------------------------------------------------- sweeps


@pytest.mark.parametrize(("after_s", "is_asked"), [(5.75, False), (6.0, True)])
async def test_a_home_is_asked_for_what_the_view_has_not_told_of_for_six_seconds(
    federation: ScriptedFederation, after_s: float, *, is_asked: bool
) -> None:
    await left_behind(federation, 1, state=SUBMITTED)
    heddle = await federation.start()
    await heddle.reconciliation.sweep(EAST)
    await federation.clock.advance(after_s)
    await heddle.poll()
    federation["east"].requests.clear()
    await federation.wait_for(heddle.reconciliation.sweep(EAST))
    assert any(str(an_id()) in request.path for request in federation["east"].requests) is is_asked


# ---------------------------------------------------------------------- silence


async def seconds_of(federation: ScriptedFederation, work: Coroutine[Any, Any, object]) -> float:
    """Seconds of held time until it is done, or is refused."""
    before_s = federation.clock.monotonic_s()
    with suppress(ConflictError, UnavailableError):
        await federation.wait_for(work)
    return federation.clock.monotonic_s() - before_s


async def test_a_silent_cluster_is_waited_for_for_two_seconds_with_each_question(
    federation: ScriptedFederation,
) -> None:
    await left_behind(federation, 1)
    await left_behind(federation, 2, state=SUBMITTED)
    heddle = await federation.start()
    await heddle.reconciliation.sweep(EAST)
    await federation.clock.advance(8.0)
    await heddle.poll()
    federation["east"].behave(IsPaused())
    assert await seconds_of(federation, heddle.lost_time.look_for([an_id()])) == 2.0
    assert await seconds_of(federation, heddle.reconciliation.sweep(EAST)) == 2.0
    assert await seconds_of(federation, heddle.retirement.plan(EAST)) == 2.0
    assert await seconds_of(federation, heddle.repair.repair_one(an_id())) == 4.0, "and whether it is there at all"


async def test_before_a_cluster_comes_back_its_long_list_is_waited_for_for_twenty_seconds(
    federation: ScriptedFederation,
) -> None:
    heddle = await retired(federation)
    federation["east"].behave(IsPaused())
    assert await seconds_of(federation, heddle.retirement.revive(EAST, by="root")) == 2.0
    federation["east"].behave(MisbehavesFor(IsPaused(), times=9, applies=lambda request: "/apps" in request.path))
    assert await seconds_of(federation, heddle.retirement.revive(EAST, by="root")) == 20.0
    assert heddle.administration.is_retired(EAST)


# ---------------------------------------------------------------------- retirement


async def retired(federation: ScriptedFederation) -> ScriptedHeddle:
    """East is gone for good."""
    heddle = await federation.start()
    federation["east"].behave(IsNeverReached())
    await heddle.retirement.retire(EAST, by="root")
    await federation.wait_for(heddle.poll())
    return heddle


@pytest.mark.parametrize(("age_s", "home"), [(9.999, EAST), (10.0, WEST)])
async def test_an_intent_for_the_dead_is_moved_when_it_is_ten_seconds_old(
    federation: ScriptedFederation, age_s: float, home: SubClusterId
) -> None:
    await left_behind(federation, 1, age_s=age_s)
    heddle = await retired(federation)
    await federation.wait_for(heddle.retirement.round())
    assert (await stands(federation)).home_subcluster == home
    assert sends(federation, "west") == (home == WEST)


async def test_what_is_retired_is_planned_on_again_whoever_holds_its_port(federation: ScriptedFederation) -> None:
    await left_behind(federation, 1)
    heddle = await retired(federation)
    federation["east"].behave(AnswersProperly())
    plan = await heddle.retirement.plan(EAST)
    assert (plan.subcluster, plan.was, plan.to_move, plan.to_lose) == (EAST, Admission.RETIRED, (an_id(),), ())


@pytest.mark.parametrize(
    ("home", "state", "at_east", "tags", "is_left"),
    [
        ("east", LOST, "RUNNING", "", True),
        ("east", LOST, "FINISHED", "", False),
        ("east", SUBMITTED, "RUNNING", "", False),
        ("east", SUBMITTED, "FINISHED", "", False),
        ("west", SUBMITTED, "RUNNING", "", True),
        ("west", SUBMITTED, "FINISHED", "", True),
        ("west", SUBMITTED, "RUNNING", SPAN_TAG, False),
        ("west", SUBMITTED, "FINISHED", SPAN_TAG, False),
        ("east", LOST, "RUNNING", SPAN_TAG, True),
        (None, None, "RUNNING", "", False),
        (None, None, "RUNNING", SPAN_TAG, False),
    ],
)
async def test_a_cluster_comes_back_unless_it_has_what_went_elsewhere_or_runs_what_is_lost(
    federation: ScriptedFederation, home, state, at_east: str, tags: str, *, is_left: bool
) -> None:
    heddle = await retired(federation)
    if home is not None:
        await left_behind(federation, 1, home=home, state=state)
    federation["east"].behave(AnswersProperly())
    federation["east"].add_application(an_id(), applicationTags=tags)
    federation["east"].move(an_id(), at_east)
    if is_left:
        with pytest.raises(ConflictError, match=str(an_id())):
            await heddle.retirement.revive(EAST, by="root")
    else:
        is_own = home == "west" and at_east == "RUNNING"
        assert await heddle.retirement.revive(EAST, by="root") == ((an_id(),) if is_own else ())
        session = RemoteSession(an_id(), EAST, WEST, "alice")
        assert list(await heddle.spans.sessions()) == ([session] if is_own else [])
    assert heddle.administration.is_retired(EAST) is is_left


@pytest.mark.parametrize(("count", "more"), [(1, ""), (5, ""), (6, " and 1 more"), (8, " and 3 more")])
async def test_what_is_left_is_named_up_to_five(federation: ScriptedFederation, count: int, more: str) -> None:
    heddle = await retired(federation)
    sequences = range(1, count + 1)
    await left_behind(federation, *sequences, home="west", state=SUBMITTED)
    federation["east"].behave(AnswersProperly())
    for sequence in reversed(sequences):
        federation["east"].add_application(an_id(sequence))
    named = ", ".join(str(an_id(sequence)) for sequence in sequences[:5])
    with pytest.raises(ConflictError) as refused:
        await heddle.retirement.revive(EAST, by="root")
    assert f"what was given up there: {named}{more}. Kill" in str(refused.value)
