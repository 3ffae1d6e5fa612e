"""What homes have taken is noted behind the answers: together, and without a word where the store does not take it."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field

import pytest

from shim.domain.ids import ApplicationId
from shim.domain.submissions import SubmissionState
from shim.submission.crash_points import CrashPoint
from shim.submission.settling import Settling
from shim.testing.builders import a_record
from shim.testing.clock import FakeClock
from shim.testing.failing_stores import SwitchableStore


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
