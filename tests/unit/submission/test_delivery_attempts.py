"""Knowledge of attempts at its boundaries: pauses, what may be on its way, and when an application is given up."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field, replace

import pytest

from shim.domain.ids import ApplicationId
from shim.domain.submissions import DeliveryFailure, Refusal, SubmissionState
from shim.federation.home_questions import Uncertain
from shim.submission.crash_points import CrashPoint
from shim.submission.delivery import NotSent, Refused, Taken
from shim.submission.delivery_attempts import BackOff, DeliveryAttempts, Settling
from tests.doubles.builders import a_record
from tests.doubles.clock import FakeClock
from tests.doubles.failing_stores import SwitchableStore

RECORD = a_record(1, intended_at_ms=5000)
PROGRESS = RECORD.progress
ID = PROGRESS.application_id
ELSEWHERE = replace(PROGRESS, intent_id="of another Heddle", intended_at_ms=7000)
BACK_OFF = BackOff(first_pause_s=2.0, longest_pause_s=20.0, give_up_after=3, give_up_s=60.0)


@pytest.fixture
def attempts():
    return DeliveryAttempts(BACK_OFF)


def fail(attempts, progress=PROGRESS, *, at_s=0.0, life=7, times=1):
    for _ in range(times):
        known = attempts.failed(progress, "boom", started_on_ms=life, now_s=at_s)
    return known


@pytest.mark.parametrize(
    ("failures", "pause_s"), [(1, 2.0), (2, 4.0), (3, 8.0), (4, 16.0), (5, 20.0), (31, 20.0), (5000, 20.0)]
)
def test_pauses_double_up_to_the_longest(failures, pause_s):
    assert BACK_OFF.pause_s(failures) == pause_s


def test_usual_limits_are_the_documented_ones():
    assert BackOff() == BackOff(first_pause_s=2.0, longest_pause_s=300.0, give_up_after=10, give_up_s=900.0)
    assert DeliveryAttempts().back_off == BackOff()


def test_pauses_go_on_doubling_where_nothing_bounds_them():
    assert BackOff(longest_pause_s=1e12).pause_s(31) == 2.0 * 2.0**30
    assert BackOff(longest_pause_s=1e12).pause_s(99) == 2.0 * 2.0**30, "no overflow"


@pytest.mark.parametrize(("at_s", "life", "is_due"), [(11.9, 7, False), (12.0, 7, True), (10.0, 8, True)])
def test_the_next_attempt_begins_when_its_pause_is_over_or_its_home_has_started_anew(attempts, at_s, life, is_due):
    assert attempts.is_due(ID, started_on_ms=7, now_s=0.0)
    fail(attempts, at_s=10.0)
    assert attempts.is_due(ID, started_on_ms=life, now_s=at_s) is is_due


def test_failures_are_counted_for_each_life_of_the_home(attempts):
    known = fail(attempts, at_s=1.0, times=2)
    assert (known.failures, known.failed_since_s, known.next_s, known.reason) == (2, 1.0, 5.0, "boom")
    fail(attempts, at_s=9.0)
    assert (known.failures, known.failed_since_s, known.next_s) == (3, 1.0, 17.0)
    fail(attempts, at_s=20.0, life=8)
    assert (known.failures, known.failed_since_s, known.next_s) == (1, 20.0, 22.0)


def test_only_what_has_failed_is_failing(attempts):
    attempts.begin(RECORD)
    assert not attempts.has_failed(ID)
    assert attempts.failing == {}
    known = fail(attempts)
    assert attempts.has_failed(ID)
    assert attempts.failing == {ID: known}
    attempts.note_given_up(ID)
    assert (attempts.given_up, attempts.find(ID), attempts.has_failed(ID)) == (1, None, False)
    attempts.forget(ID)


# ---------------------------------------------------------------------- what may be on its way


def test_what_was_begun_here_was_not_sent_before(attempts):
    attempts.begin(RECORD)
    assert attempts.find(ID).open_ms is None


@pytest.mark.parametrize(
    ("delivery", "open_ms"),
    [
        (Taken(), 9000),
        (Refused(Refusal("", "no", 400)), 9000),
        (Uncertain("silent"), 9000),
        (Uncertain("said so", is_answered=True), None),
        (NotSent("closed"), None),
    ],
    ids=["taken", "refused", "silent", "answered", "not sent"],
)
async def test_what_was_sent_is_on_its_way_unless_it_was_answered_or_never_left(attempts, delivery, open_ms):
    async def sending():
        assert attempts.find(ID).open_ms == 9000, "while it is sent"
        return delivery

    attempts.begin(RECORD)
    assert await attempts.watch(ID, sending(), at_ms=9000) is delivery
    assert attempts.find(ID).open_ms == open_ms


async def test_an_answer_to_a_later_send_says_nothing_of_an_earlier_one(attempts):
    async def sending(delivery):
        return delivery

    attempts.begin(RECORD)
    await attempts.watch(ID, sending(Uncertain("silent")), at_ms=9000)
    await attempts.watch(ID, sending(NotSent("closed")), at_ms=9500)
    assert attempts.find(ID).open_ms == 9000
    unknown = ApplicationId(1, 77)
    await attempts.watch(unknown, sending(Uncertain("silent")), at_ms=9000)
    assert attempts.find(unknown) is None


def test_an_intent_of_another_heddle_may_have_been_sent_when_it_was_written(attempts):
    attempts.begin(RECORD)
    assert fail(attempts, ELSEWHERE).open_ms == 7000
    assert attempts.find(ID).intent_id == ELSEWHERE.intent_id
    attempts.find(ID).open_ms = 8000
    assert fail(attempts, replace(ELSEWHERE, intent_id="third")).open_ms == 8000, "the later of both"
    attempts.forget(ID)
    assert fail(attempts, ELSEWHERE).open_ms == 7000, "not known here at all"


def test_an_intent_that_follows_takes_over_what_may_be_on_its_way(attempts):
    attempts.begin(RECORD)
    following = replace(RECORD, intent_id="second", intended_at_ms=8000)
    attempts.follow(following, PROGRESS)
    assert (attempts.find(ID).intent_id, attempts.find(ID).open_ms) == ("second", None)
    attempts.follow(replace(RECORD, intent_id="fourth"), ELSEWHERE)
    assert (attempts.find(ID).intent_id, attempts.find(ID).open_ms) == ("fourth", 7000)


@pytest.mark.parametrize(("started_ms", "open_ms"), [(7000.0, 7000), (7000.5, None), (6999.0, 7000)])
def test_what_was_sent_before_its_home_started_died_with_the_old_life(attempts, started_ms, open_ms):
    attempts.close_before(ELSEWHERE, started_ms)
    assert attempts.find(ID).open_ms == open_ms
    attempts.find(ID).open_ms = None
    attempts.close_before(ELSEWHERE, started_ms)
    assert attempts.find(ID).open_ms is None


# ---------------------------------------------------------------------- giving up


@pytest.mark.parametrize(
    ("failures", "at_s", "progress", "open_ms", "is_hopeless"),
    [
        (3, 60.0, PROGRESS, None, True),
        (2, 60.0, PROGRESS, None, False),
        (3, 59.9, PROGRESS, None, False),
        (3, 60.0, ELSEWHERE, None, False),
        (3, 60.0, PROGRESS, 1, False),
    ],
    ids=["hopeless", "too few", "too soon", "another intent", "on its way"],
)
def test_an_application_is_hopeless_after_so_many_failures_over_so_long(
    attempts, failures, at_s, progress, open_ms, is_hopeless
):
    assert not attempts.is_hopeless(PROGRESS, 1e9)
    attempts.begin(RECORD)
    fail(attempts, times=failures)
    attempts.find(ID).open_ms = open_ms
    assert attempts.is_hopeless(progress, at_s) is is_hopeless


# ---------------------------------------------------------------------- what is kept


FAILURE = DeliveryFailure(ID, "i1", 4000, 3, 1_000, 9_000, "boom", 77)


@pytest.mark.parametrize(
    ("now_ms", "since_s", "next_s"),
    [
        (3_000, 98.0, 106.0),
        (9_000, 92.0, 100.0),
        (20_000, 81.0, 89.0),
        (-100_000, 100.0, 120.0),
        (-11_000, 100.0, 120.0),
        (-10_999, 100.0, 119.999),
    ],
    ids=["pauses", "is due", "was due", "clock was set back", "longest pause", "nearly that"],
)
def test_what_is_recalled_keeps_its_times_by_this_clock(attempts, now_ms, since_s, next_s):
    attempts.recall(FAILURE, now_s=100.0, now_ms=now_ms)
    known = attempts.find(ID)
    assert (known.intent_id, known.open_ms, known.failures, known.reason) == ("i1", 4000, 3, "boom")
    assert known.home_started_on_ms == 77
    assert (known.failed_since_s, known.next_s) == pytest.approx((since_s, next_s))


def test_of_very_many_those_that_were_touched_last_are_known(attempts):
    most = 100_000
    for number in range(1, most + 1):
        attempts.recall(replace(FAILURE, application_id=ApplicationId(1, number)), now_s=0.0, now_ms=0)
    first = replace(PROGRESS, application_id=ApplicationId(1, 1))
    assert attempts.has_failed(first.application_id), "just so many"
    fail(attempts, first)
    attempts.begin(RECORD)
    assert [attempts.has_failed(ApplicationId(1, number)) for number in (1, 2, 3)] == [True, False, True]


@dataclass(slots=True)
class TellsItsNotes(SwitchableStore):
    """Remembers which notes were written with which.

    Attributes:
        notes: The ids of each write.
    """

    notes: list[set[ApplicationId]] = field(default_factory=list)

    async def note_taken(self, application_ids: Collection[ApplicationId]) -> None:
        """Written, and remembered."""
        self.notes.append(set(application_ids))
        await SwitchableStore.note_taken(self, application_ids)


@pytest.fixture
def store() -> TellsItsNotes:
    return TellsItsNotes()


async def test_notes_of_one_moment_are_one_write(store):
    clock = FakeClock()
    reached: list[tuple[CrashPoint, ApplicationId]] = []
    settling = Settling(
        store, clock, crash_points=lambda point, application_id: reached.append((point, application_id))
    )
    records = [a_record(number) for number in range(1, 4)]
    ids = {record.submission.application_id for record in records}
    for record in records:
        await store.insert_intent(record)
        settling.note(record.submission.application_id)
    assert settling.waiting == ids

    await clock.advance(0.06)
    await settling.finish()

    assert store.notes == [ids]
    assert set(reached) == {(CrashPoint.SETTLED, each) for each in ids}
    assert not settling.waiting
    for each in ids:
        found = await store.find(each)
        assert found is not None
        assert found.state is SubmissionState.SUBMITTED


async def test_what_is_noted_while_a_write_is_gathered_is_written_too(store):
    clock = FakeClock()
    settling = Settling(store, clock)
    first, second = a_record(1), a_record(2)
    for record in (first, second):
        await store.insert_intent(record)
        settling.note(record.submission.application_id)
        await asyncio.sleep(0)

    await clock.advance(0.2)
    await settling.finish()

    assert set().union(*store.notes) == {each.submission.application_id for each in (first, second)}


async def test_a_store_that_does_not_take_it_leaves_the_intent_to_the_repair(store):
    clock = FakeClock()
    settling = Settling(store, clock)
    record = a_record(1)
    await store.insert_intent(record)
    store.writes_fail = True
    settling.note(record.submission.application_id)

    await clock.advance(0.06)
    await settling.finish()

    assert not settling.waiting
    assert await store.find(record.submission.application_id) == record


@pytest.mark.parametrize("pauses_s", [(0.0, 0.0), (0.01, 1.0), (1.0, 0.01), (1.0, 1.0), (0.05, 0.05, 0.05, 1.0, 0.0)])
async def test_every_note_is_written_within_a_moment_whenever_it_comes(store, pauses_s):
    clock = FakeClock()
    settling = Settling(store, clock)
    ids = [a_record(number).submission.application_id for number in range(1, len(pauses_s) + 1)]
    for number, (each, pause_s) in enumerate(zip(ids, pauses_s, strict=True), start=1):
        await store.insert_intent(a_record(number))
        settling.note(each)
        await clock.advance(pause_s)
    await clock.advance(0.1)
    assert not settling.waiting
    assert sorted(each for written in store.notes for each in written) == ids
