"""An application that fails delays no other, is tried ever less often, and is given up if it provably runs nowhere."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from shim.domain.applications import YarnApplicationState
from shim.domain.ids import ApplicationId
from shim.domain.submissions import SubmissionRecord, SubmissionState
from shim.submission.delivery_attempts import BackOff, DeliveryAttempts
from tests.doubles.builders import FEDERATION_TIMESTAMP_MS, a_record, a_submission
from tests.doubles.federation import ScriptedFederation, ScriptedHeddle
from tests.doubles.misbehaviours import ChokesOn, FailsWithoutWords, IsNeverReached, IsPaused
from tests.doubles.resource_manager import AnswersProperly, Behaviour

INTENDED, SUBMITTED, REJECTED = SubmissionState.INTENDED, SubmissionState.SUBMITTED, SubmissionState.REJECTED
POISONED = 42
MOST_S = 2 * 900.0


def an_id(sequence: int) -> ApplicationId:
    return ApplicationId(FEDERATION_TIMESTAMP_MS, sequence)


@pytest.fixture
def federation() -> ScriptedFederation:
    return ScriptedFederation(["east"])


async def left_behind(federation: ScriptedFederation, sequences: Sequence[int]) -> None:
    intended_at_ms = int((federation.clock.now_s() - 60.0) * 1000)
    first = a_record(home="east", started_on_ms=federation["east"].started_on_ms, intended_at_ms=intended_at_ms)
    for sequence in sequences:
        await federation.store.insert_intent(
            replace(first, submission=a_submission(sequence), intent_id=f"i{sequence}")
        )


async def stands(federation: ScriptedFederation, sequence: int = 1) -> SubmissionRecord:
    record = await federation.store.find(an_id(sequence))
    assert record is not None
    return record


async def pass_time(federation: ScriptedFederation, heddle: ScriptedHeddle, duration_s: float) -> None:
    """Rounds every second, as the reconciliation begins them; the last is ended."""
    for _ in range(int(duration_s)):
        await federation.wait_for(heddle.poll())
        await heddle.repair.begin_round()
        await federation.clock.advance(1.0)


def sent(federation: ScriptedFederation, sequence: int = 1) -> int:
    """How often an application was sent to its home."""
    name = str(an_id(sequence)).encode()
    return sum(each.method == "POST" and name in each.body for each in federation["east"].requests)


@pytest.mark.parametrize("behaviour", [FailsWithoutWords, IsPaused], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("questions", [False, True], ids=["sends", "questions, too"])
async def test_poisoned_ones_delay_no_other(
    federation: ScriptedFederation, behaviour: type[Behaviour], *, questions: bool
) -> None:
    poisoned = frozenset(an_id(sequence) for sequence in range(1, POISONED + 1))
    federation["east"].behave(ChokesOn(poisoned, behaviour(), questions=questions))
    await left_behind(federation, range(1, POISONED + 1))
    heddle = await federation.start()
    await pass_time(federation, heddle, 30)
    await left_behind(federation, [100])
    began_s = federation.clock.monotonic_s()
    await heddle.repair.begin_round()
    await federation.clock.settle()
    assert (await stands(federation, 100)).state is SUBMITTED, "it is brought home at once"
    assert federation.clock.monotonic_s() == began_s
    await heddle.repair.stop()


async def test_the_first_failure_of_many_delays_those_behind_them_by_a_few_sends(
    federation: ScriptedFederation,
) -> None:
    poisoned = frozenset(an_id(sequence) for sequence in range(1, POISONED + 1))
    federation["east"].behave(ChokesOn(poisoned, IsPaused()))
    await left_behind(federation, [*range(1, POISONED + 1), 100])
    heddle = await federation.start()
    began_s = federation.clock.monotonic_s()
    await heddle.repair.begin_round()
    while (await stands(federation, 100)).state is not SUBMITTED:
        await federation.clock.advance(0.5)
        assert federation.clock.monotonic_s() - began_s < 10.0
    await heddle.repair.stop()


async def test_pauses_double_and_are_bounded(federation: ScriptedFederation) -> None:
    federation["east"].behave(ChokesOn(frozenset({an_id(1)}), FailsWithoutWords()))
    await left_behind(federation, [1])
    heddle = await federation.start()
    counts = []
    for duration_s in (10, 30, 60, 600):
        before = sent(federation)
        await pass_time(federation, heddle, duration_s)
        counts.append((sent(federation) - before) / duration_s)
    assert counts == sorted(counts, reverse=True)
    assert sent(federation) < 20
    back_off = BackOff()
    pauses = [back_off.pause_s(failures) for failures in range(1, 5000)]
    assert pauses[:4] == [2.0, 4.0, 8.0, 16.0]
    assert max(pauses) == back_off.longest_pause_s


async def test_one_that_provably_ran_nowhere_is_given_up_with_the_reason(federation: ScriptedFederation) -> None:
    federation["east"].behave(ChokesOn(frozenset({an_id(1)}), FailsWithoutWords()))
    heddle = await federation.start()
    await federation.wait_for(heddle.submissions.submit(a_submission()))
    await pass_time(federation, heddle, MOST_S)
    record = await stands(federation)
    assert record.state is REJECTED
    assert "given up after" in record.rejection
    assert "answered 500" in record.rejection
    document = heddle.view.applications.find(an_id(1))
    assert document is not None
    assert document.summary.state is YarnApplicationState.FAILED
    assert b"given up after" in document.raw
    assert heddle.repair.attempts.given_up == 1
    assert not heddle.repair.attempts.failing
    federation["east"].behave(AnswersProperly())
    await pass_time(federation, heddle, 20)
    assert federation.who_has(an_id(1)) == []


async def test_one_that_another_process_may_have_sent_is_not_given_up_before_its_home_starts_anew(
    federation: ScriptedFederation,
) -> None:
    federation["east"].behave(ChokesOn(frozenset({an_id(1)}), FailsWithoutWords()))
    await left_behind(federation, [1])
    heddle = await federation.start()
    await pass_time(federation, heddle, MOST_S)
    assert (await stands(federation)).state is INTENDED
    federation["east"].restart(forgets=True)
    await pass_time(federation, heddle, MOST_S)
    assert (await stands(federation)).state is REJECTED


async def test_one_whose_send_was_never_answered_is_not_given_up(federation: ScriptedFederation) -> None:
    frozen = IsPaused()
    federation["east"].behave(ChokesOn(frozenset({an_id(1)}), frozen))
    heddle = await federation.start()
    await federation.wait_for(heddle.submissions.submit(a_submission()))
    await pass_time(federation, heddle, MOST_S)
    assert (await stands(federation)).state is INTENDED
    frozen.wake()
    await pass_time(federation, heddle, 400)
    assert (await stands(federation)).state is SUBMITTED
    assert len(federation.who_has(an_id(1))) == 1


async def test_what_another_heddle_sends_meanwhile_is_not_given_up(federation: ScriptedFederation) -> None:
    federation["east"].behave(ChokesOn(frozenset({an_id(1)}), FailsWithoutWords()))
    heddle, other = await federation.start(), await federation.start()
    await federation.wait_for(heddle.submissions.submit(a_submission()))
    for _ in range(20):
        await pass_time(federation, heddle, 60)
        await federation.wait_for(other.repair.repair_one(an_id(1)))
    assert (await stands(federation)).state is INTENDED


async def test_a_home_that_is_away_is_nobody_s_failure(federation: ScriptedFederation) -> None:
    federation["east"].behave(IsNeverReached())
    await left_behind(federation, [1, 2])
    heddle = await federation.start()
    await pass_time(federation, heddle, MOST_S)
    assert not heddle.repair.attempts.failing
    federation["east"].behave(AnswersProperly())
    await pass_time(federation, heddle, 3)
    assert [(await stands(federation, each)).state for each in (1, 2)] == [SUBMITTED, SUBMITTED]


async def test_a_home_that_starts_anew_is_tried_at_once(federation: ScriptedFederation) -> None:
    federation["east"].behave(ChokesOn(frozenset({an_id(1)}), FailsWithoutWords()))
    await left_behind(federation, [1])
    heddle = await federation.start()
    await pass_time(federation, heddle, 600)
    federation["east"].behave(AnswersProperly())
    federation["east"].restart()
    await pass_time(federation, heddle, 5)
    assert (await stands(federation)).state is SUBMITTED


async def test_a_context_that_cannot_be_sent_stops_no_other(federation: ScriptedFederation) -> None:
    await left_behind(federation, [1, 2, 3])
    heddle = await federation.start()
    named = heddle.homes.as_sent_to

    def fails_for_the_first(home, submission):
        if submission.application_id == an_id(1):
            raise UnicodeEncodeError("latin-1", "ä", 0, 1, "a header")
        return named(home, submission)

    heddle.homes.as_sent_to = fails_for_the_first  # type: ignore[method-assign]
    await heddle.repair.repair_all()
    assert [(await stands(federation, each)).state for each in (1, 2, 3)] == [INTENDED, SUBMITTED, SUBMITTED]
    known = heddle.repair.attempts.find(an_id(1))
    assert known is not None
    assert "UnicodeEncodeError" in known.reason


async def test_a_round_that_is_under_way_is_not_begun_twice(federation: ScriptedFederation) -> None:
    federation["east"].behave(ChokesOn(frozenset({an_id(1)}), IsPaused()))
    await left_behind(federation, [1])
    heddle = await federation.start()
    for _ in range(5):
        await heddle.repair.begin_round()
        await federation.clock.settle()
    assert sent(federation) == 1
    await asyncio.gather(heddle.repair.stop())
    assert not heddle.repair._under_way


def test_an_intent_of_another_process_is_never_hopeless() -> None:
    attempts = DeliveryAttempts(BackOff(give_up_after=1, give_up_s=0.0))
    record = a_record(1)
    attempts.begin(record)
    attempts.failed(record.progress, "boom", started_on_ms=1, now_s=0.0)
    assert attempts.is_hopeless(record.progress, 1.0)
    assert not attempts.is_hopeless(replace(record, intent_id="another's").progress, 1.0)
