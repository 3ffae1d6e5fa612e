"""What every `StateStore` promises: in memory, on SQLite and on PostgreSQL."""

import asyncio
import math
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.launches import HomeVerdict, Verdict
from shim.domain.subclusters import Admission
from shim.domain.submissions import (
    NOWHERE,
    Candidate,
    DeliveryFailure,
    HomeDecision,
    SubmissionRecord,
    SubmissionState,
    Waited,
)
from shim.errors import VersionConflictError
from shim.ports import StateStore
from shim.simulation.state_stores import InMemoryStateStore
from tests.doubles.builders import a_record
from tests.support.databases import an_empty_store

EAST, WEST = SubClusterId("east"), SubClusterId("west")
REJECTED, SUBMITTED, INTENDED = SubmissionState.REJECTED, SubmissionState.SUBMITTED, SubmissionState.INTENDED


class HeldClock:
    """Seconds since the epoch that move when a test says so."""

    def __init__(self) -> None:
        self.at_s = 1000.0

    def __call__(self) -> float:
        return self.at_s


@pytest.fixture
def clock() -> HeldClock:
    return HeldClock()


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def store(request: pytest.FixtureRequest, clock: HeldClock) -> AsyncIterator[StateStore]:
    if request.param == "memory":
        yield InMemoryStateStore(now_s=clock)
        return
    async with an_empty_store(request, now_s=clock) as opened:
        yield opened


def without_body(record: SubmissionRecord) -> SubmissionRecord:
    return replace(record, submission=replace(record.submission, body=b""))


async def a_final(store: StateStore, sequence: int) -> ApplicationId:
    record = a_record(sequence)
    await store.insert_intent(record)
    await store.settle(record.submission.application_id, SUBMITTED)
    await store.mark_final([record.submission.application_id])
    return record.submission.application_id


async def test_the_time_stamp_is_fixed_at_the_first_call(store: StateStore, clock: HeldClock) -> None:
    first = await store.federation_timestamp_ms()
    clock.at_s += 500
    assert first == 1_000_000
    assert await store.federation_timestamp_ms() == first


async def test_no_two_callers_get_the_same_number(store: StateStore) -> None:
    blocks = await asyncio.gather(*(store.reserve_sequences(7) for _ in range(40)))
    numbers = [number for block in blocks for number in block]
    assert sorted(numbers) == list(range(1, 281))


async def test_reserving_before_the_time_stamp_is_asked_for_fixes_it_too(store: StateStore, clock: HeldClock) -> None:
    assert await store.reserve_sequences(3) == range(1, 4)
    clock.at_s += 1
    assert await store.federation_timestamp_ms() == 1_000_000


async def test_the_first_epoch_of_a_new_federation_is_its_founding(store: StateStore) -> None:
    assert await store.begin_epoch([]) == 1_000_000
    assert await store.federation_timestamp_ms() == 1_000_000


async def test_no_two_epochs_have_the_same_time_stamp_though_the_clock_stands_still_or_goes_back(
    store: StateStore, clock: HeldClock
) -> None:
    first = await asyncio.gather(*(store.begin_epoch([]) for _ in range(5)))
    clock.at_s -= 100
    later = [await store.begin_epoch([]) for _ in range(5)]
    assert len({*first, *later}) == 10
    assert min(later) > max(first)


async def test_an_epoch_of_a_store_that_issued_ids_before_is_another(store: StateStore) -> None:
    await store.reserve_sequences(1)
    assert await store.begin_epoch([]) == 1_000_001


async def test_an_epoch_raises_the_numbers_above_what_is_listed(store: StateStore) -> None:
    first = await store.begin_epoch([])
    await store.reserve_sequences(10)
    listed = [ApplicationId(first, 40), ApplicationId(first + 1, 90), ApplicationId(first, 2**31 - 1)]
    assert await store.begin_epoch(listed) == first + 2
    assert (await store.reserve_sequences(1))[0] == 41
    await store.begin_epoch([])
    assert (await store.reserve_sequences(1))[0] == 42


async def test_a_record_comes_back_as_it_was_written(store: StateStore) -> None:
    record = a_record(body=b"\x00\xff{", name="Ünïcode \U0001f9f5", queue="", label="gpu && !old")
    never_heard = Candidate(WEST, None, "never reported", math.inf)
    verdicts = (
        HomeVerdict(WEST, Verdict.REJECTED, "filled", 0.25, 0.5),
        HomeVerdict(EAST, Verdict.UNVERIFIED, "says nothing"),
    )
    candidates = (*record.decision.candidates, never_heard)
    decision = HomeDecision(EAST, "why", candidates, verdicts=verdicts, decided_by="gm-1", is_left=True)
    record = replace(record, decision=decision)
    assert await store.insert_intent(record) == record
    assert await store.find(record.submission.application_id) == record


async def test_an_unknown_id_is_not_found(store: StateStore) -> None:
    assert await store.find(ApplicationId(1, 1)) is None


async def test_the_first_intent_stands(store: StateStore) -> None:
    first, second = a_record(home="east"), a_record(home="west", user="eve")
    await store.insert_intent(first)
    assert await store.insert_intent(second) == first
    assert await store.find(first.submission.application_id) == first


async def test_of_intents_at_the_same_time_one_stands_and_all_hear_of_it(store: StateStore) -> None:
    rivals = [a_record(user=f"user{number}") for number in range(16)]
    answers = await asyncio.gather(*(store.insert_intent(rival) for rival in rivals))
    assert len({answer.submission.user for answer in answers}) == 1


@pytest.mark.parametrize("state", [INTENDED, SUBMITTED])
async def test_what_may_run_is_not_replaced(store: StateStore, state: SubmissionState) -> None:
    record = a_record()
    await store.insert_intent(record)
    if state is not INTENDED:
        await store.settle(record.submission.application_id, state)
    assert (await store.insert_intent(a_record(user="bob"))).submission.user == "alice"


async def test_a_refused_submission_makes_room_for_a_corrected_one(store: StateStore) -> None:
    refused, corrected = a_record(), a_record(body=b"corrected", home="west", user="bob", intended_at_ms=6000)
    await store.insert_intent(refused)
    await store.settle(refused.submission.application_id, REJECTED, rejection="too large")
    assert await store.insert_intent(corrected) == corrected
    assert await store.find(corrected.submission.application_id) == corrected
    assert [record.progress for record in await store.intended()] == list(await store.unfinished(WEST))


@pytest.mark.parametrize("state", [SUBMITTED, REJECTED])
async def test_settling_twice_to_the_same_state_changes_nothing(store: StateStore, state: SubmissionState) -> None:
    record = a_record()
    await store.insert_intent(record)
    for _ in range(2):
        await store.settle(record.submission.application_id, state, rejection="no")
    found = await store.find(record.submission.application_id)
    kept = replace(record.submission, body=b"") if state is REJECTED else record.submission
    assert found == replace(record, submission=kept, state=state, rejection="no")


async def test_those_that_homes_have_taken_are_noted_together(store: StateStore) -> None:
    first, refused, second, on_its_way = records = [a_record(number) for number in range(1, 5)]
    ids = [record.submission.application_id for record in records]
    for record in records:
        await store.insert_intent(record)
    await store.settle(ids[1], REJECTED, rejection="no")
    for _ in range(2):
        await store.note_taken([ids[2], ids[1], ids[0], ApplicationId(1, 99)])
    await store.note_taken([])
    assert [await store.find(each) for each in ids] == [
        replace(first, state=SUBMITTED),
        replace(refused, submission=replace(refused.submission, body=b""), state=REJECTED, rejection="no"),
        replace(second, state=SUBMITTED),
        on_its_way,
    ]


@pytest.mark.parametrize(("first", "second"), [(SUBMITTED, REJECTED), (REJECTED, SUBMITTED)])
async def test_what_is_settled_is_not_settled_otherwise(
    store: StateStore, first: SubmissionState, second: SubmissionState
) -> None:
    record = a_record()
    await store.insert_intent(record)
    await store.settle(record.submission.application_id, first)
    with pytest.raises(VersionConflictError):
        await store.settle(record.submission.application_id, second)


async def test_what_is_unknown_cannot_be_settled(store: StateStore) -> None:
    with pytest.raises(VersionConflictError):
        await store.settle(ApplicationId(1, 1), SUBMITTED)


@pytest.mark.parametrize("state", [INTENDED, SUBMITTED])
async def test_rehoming_writes_a_new_intent_over_what_stands(store: StateStore, state: SubmissionState) -> None:
    record = a_record()
    await store.insert_intent(record)
    if state is not INTENDED:
        await store.settle(record.submission.application_id, state)
    moved = replace(record, home_subcluster=WEST, home_started_on_ms=2000, intended_at_ms=9000, intent_id="b")
    for _ in range(2):  # the second time as when the answer to the first was lost
        await store.rehome(moved, was=replace(record, state=state).progress)
    assert await store.find(record.submission.application_id) == moved


STANDS_OTHERWISE = {
    "home": {"home_subcluster": WEST},
    "life of the home": {"home_started_on_ms": 1001},
    "moment of the intent": {"intended_at_ms": 5001},
    "writer of the intent": {"intent_id": "another"},
    "state": {"state": SUBMITTED},
    "id": {"application_id": ApplicationId(1, 1)},
}


@pytest.mark.parametrize("difference", STANDS_OTHERWISE)
async def test_rehoming_fails_if_another_was_first(store: StateStore, difference: str) -> None:
    record = a_record()
    await store.insert_intent(record)
    was = replace(record.progress, **STANDS_OTHERWISE[difference])  # type: ignore[arg-type]  # the table's values fit
    with pytest.raises(VersionConflictError):
        await store.rehome(replace(record, home_subcluster=WEST, intended_at_ms=9000), was=was)
    assert await store.find(record.submission.application_id) == record


async def test_of_two_who_rehome_one_wins(store: StateStore) -> None:
    record = a_record()
    await store.insert_intent(record)
    moves = [replace(record, intent_id=f"writer {number}") for number in range(8)]
    outcomes = await asyncio.gather(
        *(store.rehome(move, was=record.progress) for move in moves), return_exceptions=True
    )
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["NoneType"] + ["VersionConflictError"] * 7
    winner = moves[outcomes.index(None)]
    assert await store.find(record.submission.application_id) == winner


async def test_what_was_seen_final_is_not_rehomed(store: StateStore) -> None:
    await a_final(store, 1)
    with pytest.raises(VersionConflictError):
        await store.rehome(a_record(1, intended_at_ms=9000), was=a_record(1, state=SUBMITTED).progress)


async def test_confirming_touches_only_submitted_ones_of_that_home(store: StateStore) -> None:
    records = [a_record(1), a_record(2), a_record(3, home="west")]
    for record in records:
        await store.insert_intent(record)
    for sequence in (0, 2):
        await store.settle(records[sequence].submission.application_id, SUBMITTED)
    await store.confirm([record.submission.application_id for record in records], EAST, 7777)
    lives = {s.application_id.sequence: s.home_started_on_ms for h in (EAST, WEST) for s in await store.unfinished(h)}
    assert lives == {1: 7777, 2: 1000, 3: 1000}


async def test_unfinished_are_those_that_somebody_must_look_after(store: StateStore) -> None:
    for sequence, at_ms in ((1, 30), (2, 20), (3, 10), (4, 10)):
        await store.insert_intent(a_record(sequence, intended_at_ms=at_ms))
    await store.insert_intent(a_record(5, home="west"))
    ids = {sequence: a_record(sequence).submission.application_id for sequence in range(1, 6)}
    await store.settle(ids[1], SUBMITTED)
    await store.settle(ids[2], REJECTED)
    await a_final(store, 6)
    assert [progress.application_id.sequence for progress in await store.unfinished(EAST)] == [3, 4, 1]
    assert [record.submission.application_id.sequence for record in await store.intended()] == [3, 4, 5]


async def test_seen_final_drops_the_context_and_keeps_its_hash(store: StateStore) -> None:
    application_id = await a_final(store, 1)
    found = await store.find(application_id)
    assert found is not None
    assert found.submission.body == b""
    assert found.content_hash == a_record(1).content_hash
    assert await store.insert_intent(a_record(1)) == found


async def test_what_is_not_submitted_is_not_final(store: StateStore) -> None:
    record = a_record()
    await store.insert_intent(record)
    await store.mark_final([record.submission.application_id, ApplicationId(1, 1)])
    assert await store.find(record.submission.application_id) == record
    assert await store.intended() == [without_body(record)]


async def test_many_ids_at_once_are_marked(store: StateStore) -> None:
    records = [a_record(sequence) for sequence in range(1, 451)]
    ids = [record.submission.application_id for record in records]
    await asyncio.gather(*(store.insert_intent(record) for record in records))
    await asyncio.gather(*(store.settle(an_id, SUBMITTED) for an_id in ids))
    await store.mark_final(ids)
    assert await store.unfinished(EAST) == []


async def test_purging_by_age_takes_what_ended_before(store: StateStore, clock: HeldClock) -> None:
    old = await a_final(store, 1)
    clock.at_s += 100
    young = await a_final(store, 2)
    await store.insert_intent(a_record(3))
    assert await store.purge(final_before_ms=int(clock.at_s * 1000), keep=10) == 1
    assert await store.find(old) is None
    assert await store.find(young) is not None
    assert len(await store.intended()) == 1


async def test_purging_by_count_keeps_the_newest(store: StateStore, clock: HeldClock) -> None:
    for sequence in range(1, 7):
        clock.at_s += 1
        await a_final(store, sequence)
    assert await store.purge(final_before_ms=0, keep=2) == 4
    kept = [sequence for sequence in range(1, 7) if await store.find(a_record(sequence).submission.application_id)]
    assert kept == [5, 6]
    assert await store.purge(final_before_ms=0, keep=2) == 0


async def test_rejected_ones_are_purged_too(store: StateStore, clock: HeldClock) -> None:
    record = a_record()
    await store.insert_intent(record)
    await store.settle(record.submission.application_id, REJECTED)
    clock.at_s += 1
    assert await store.purge(final_before_ms=int(clock.at_s * 1000), keep=10) == 1


async def test_an_operators_word_is_kept_until_it_is_taken_back(store: StateStore) -> None:
    assert await store.admissions() == {}
    await store.set_admission(EAST, Admission.CORDONED, by="root")
    await store.set_admission(WEST, Admission.CORDONED, by="root")
    await store.set_admission(EAST, Admission.DRAINING, by="root")
    await store.set_admission(WEST, Admission.OPEN, by="root")
    assert await store.admissions() == {EAST: Admission.DRAINING}
    await store.set_admission(EAST, Admission.DRAINING, by="eve", reason="kernel")
    said = (await store.admission_words())[EAST]
    assert (said.admission, said.by, said.reason) == (Admission.DRAINING, "eve", "kernel")
    await store.set_admission(EAST, Admission.CORDONED, by="root")
    assert (await store.admission_words())[EAST].reason == ""


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    user=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30),
    # no context begins with a zero byte: that marks a sealed one, see `SealedBodies`
    body=st.binary(max_size=200).filter(lambda body: not body.startswith(b"\0")),
    sequence=st.integers(-(2**31), 2**31 - 1),
    timestamp=st.integers(-(2**63), 2**63 - 1),
)
async def test_no_text_and_no_number_is_too_strange(
    store: StateStore, user: str, body: bytes, sequence: int, timestamp: int
) -> None:
    application_id = ApplicationId(timestamp, sequence)
    record = a_record(application_id=application_id, user=user, name=user, body=body)
    stands = await store.insert_intent(record)
    assert stands.submission.application_id == application_id
    assert await store.find(application_id) == stands


async def test_what_was_acknowledged_can_be_given_up_once_with_its_home(store: StateStore) -> None:
    record = a_record(1)
    application_id = record.submission.application_id
    await store.insert_intent(record)
    with pytest.raises(VersionConflictError):  # it may be on its way: that goes elsewhere
        await store.give_up(record.progress, reason="early")
    await store.settle(application_id, SUBMITTED)
    with pytest.raises(VersionConflictError):
        await store.give_up(replace(record, home_subcluster=WEST).progress, reason="another home's")
    for reason in ("gone with its home", "told again"):
        await store.give_up(record.progress, reason=reason)
    found = await store.find(application_id)
    assert found is not None
    assert (found.state, found.rejection, found.submission.body) == (SubmissionState.LOST, "gone with its home", b"")
    assert found.home_subcluster == record.home_subcluster
    assert await store.unfinished(record.home_subcluster) == []
    assert (await store.insert_intent(record)).state is SubmissionState.LOST
    with pytest.raises(VersionConflictError):
        await store.rehome(replace(record, home_subcluster=WEST, intent_id="late"), was=found.progress)


@pytest.mark.parametrize("state", [INTENDED, SubmissionState.WAITING])
async def test_what_stands_as_it_was_can_be_rejected_once(store: StateStore, state: SubmissionState) -> None:
    record = replace(a_record(1), state=state, home_subcluster=EAST if state is INTENDED else NOWHERE)
    await store.insert_intent(record)
    for _ in range(2):
        await store.reject(record.progress, reason="no home takes it")
    found = await store.find(record.submission.application_id)
    assert found is not None
    assert (found.state, found.rejection, found.submission.body) == (REJECTED, "no home takes it", b"")
    assert [*await store.intended(), *await store.waiting()] == []
    with pytest.raises(VersionConflictError):
        await store.rehome(replace(record, intent_id="late"), was=record.progress)


async def test_what_another_writer_changed_is_not_rejected(store: StateStore) -> None:
    record = a_record(1)
    await store.insert_intent(record)
    moved = replace(record, intent_id="another's")
    await store.rehome(moved, was=record.progress)
    with pytest.raises(VersionConflictError):
        await store.reject(record.progress, reason="no home takes it")
    assert await store.find(record.submission.application_id) == moved
    await store.settle(record.submission.application_id, SUBMITTED)
    with pytest.raises(VersionConflictError):
        await store.reject(replace(moved, state=SUBMITTED).progress, reason="no home takes it")
    with pytest.raises(VersionConflictError):
        await store.reject(a_record(2).progress, reason="unknown")


async def test_what_was_seen_final_is_not_given_up(store: StateStore) -> None:
    application_id = await a_final(store, 1)
    with pytest.raises(VersionConflictError):
        await store.give_up(a_record(1, state=SUBMITTED).progress, reason="late")
    found = await store.find(application_id)
    assert found is not None
    assert found.state is SUBMITTED


async def test_what_waits_is_listed_until_it_gets_a_home(store: StateStore) -> None:
    waits = replace(a_record(1), state=SubmissionState.WAITING, home_subcluster=NOWHERE)
    assert await store.insert_intent(waits) == waits
    assert await store.waiting() == [waits.progress]
    assert await store.intended() == []
    admitted = replace(waits, state=INTENDED, home_subcluster=EAST, intent_id="admitted")
    await store.rehome(admitted, was=waits.progress)
    assert await store.waiting() == []
    assert await store.intended() == [without_body(admitted)]
    with pytest.raises(VersionConflictError):  # of two Heddles that let it start, one sends
        await store.rehome(replace(admitted, home_subcluster=WEST, intent_id="late"), was=waits.progress)


async def test_what_waits_can_be_ended_once_and_never_starts(store: StateStore) -> None:
    waits = replace(a_record(1), state=SubmissionState.WAITING, home_subcluster=NOWHERE)
    await store.insert_intent(waits)
    for _ in range(2):
        await store.withdraw(waits.submission.application_id, reason="killed by ann")
    found = await store.find(waits.submission.application_id)
    assert found is not None
    assert (found.state, found.rejection, found.submission.body) == (SubmissionState.KILLED, "killed by ann", b"")
    assert await store.waiting() == []
    with pytest.raises(VersionConflictError):
        await store.rehome(replace(waits, state=INTENDED, home_subcluster=EAST), was=waits.progress)
    assert (await store.insert_intent(waits)).state is SubmissionState.KILLED


async def test_what_has_a_home_is_not_ended_as_if_it_waited(store: StateStore) -> None:
    await store.insert_intent(a_record(1))
    with pytest.raises(VersionConflictError):
        await store.withdraw(a_record(1).submission.application_id, reason="killed by ann")


async def test_what_waited_is_remembered_when_it_has_started(store: StateStore) -> None:
    for sequence in (1, 2, 3):
        waits = replace(a_record(sequence), state=SubmissionState.WAITING, home_subcluster=NOWHERE)
        await store.insert_intent(waits)
        if sequence == 3:
            continue  # it waits yet
        told = Waited(waits.intended_at_ms, waits.intended_at_ms + sequence, f"reason {sequence}")
        started = replace(
            waits, state=INTENDED, home_subcluster=EAST, intended_at_ms=told.until_ms, intent_id="x", waited=told
        )
        await store.rehome(started, was=waits.progress)
        found = await store.find(waits.submission.application_id)
        assert found is not None
        assert found.waited == told
    first, second, _ = (a_record(sequence).submission.application_id for sequence in (1, 2, 3))
    since_ms = a_record(1).intended_at_ms
    assert await store.waited() == {first: since_ms, second: since_ms}
    assert list(await store.waited()) == [first, second]
    await store.note_taken([first])
    await store.mark_final([first])
    found = await store.find(first)
    assert found is not None
    assert found.waited == Waited(since_ms, since_ms + 1, "reason 1"), "its end changes nothing"


async def test_how_submissions_fail_is_kept_until_it_is_forgotten(store: StateStore) -> None:
    ids = [a_record(sequence).submission.application_id for sequence in range(1, 4)]
    first = DeliveryFailure(ids[0], "i1", None, 1, 1_000, 2_000, "a \N{SNOWMAN}", 77)
    later = DeliveryFailure(ids[0], "i2", 1 << 50, 2, 1_000, 1 << 50, "another", 78)
    other = DeliveryFailure(ids[1], "i3", 5, 1, 0, 0, "", 0)
    for each in (first, other, later, later):
        await store.note_delivery_failure(each)
    assert sorted(await store.delivery_failures(ids), key=lambda each: each.application_id) == [later, other]
    assert await store.delivery_failures([]) == []
    await store.forget_delivery_failures([ids[0], ids[2]])
    await store.forget_delivery_failures([])
    assert await store.delivery_failures(ids) == [other]


async def test_a_reason_that_a_database_refuses_is_kept_all_the_same(store: StateStore) -> None:
    application_id = a_record().submission.application_id
    await store.note_delivery_failure(DeliveryFailure(application_id, "i1", None, 1, 0, 0, "a\0b\ud800", 0))
    (kept,) = await store.delivery_failures([application_id])
    assert kept.reason.startswith("a")


async def test_failures_of_many_are_asked_for_at_once(store: StateStore) -> None:
    ids = [a_record(sequence).submission.application_id for sequence in range(1, 1001)]
    await store.note_delivery_failure(DeliveryFailure(ids[-1], "i1", None, 1, 0, 0, "", 0))
    assert [each.application_id for each in await store.delivery_failures(ids)] == [ids[-1]]
