"""A record counts only if it stands as it was seen."""

from dataclasses import replace

import pytest

from shim.domain.ids import SubClusterId
from shim.domain.submissions import SubmissionState
from shim.simulation.state_stores import InMemoryStateStore
from shim.submission.tools import find_standing
from tests.doubles.builders import a_record


async def test_a_record_that_stands_as_it_was_seen_is_found_with_its_body() -> None:
    store, record = InMemoryStateStore(), a_record()
    await store.insert_intent(record)
    assert await find_standing(store, record.progress) == record


async def test_a_record_that_is_gone_is_not_found() -> None:
    assert await find_standing(InMemoryStateStore(), a_record().progress) is None


@pytest.mark.parametrize(
    "change",
    [
        {"state": SubmissionState.SUBMITTED},
        {"home_subcluster": SubClusterId("west")},
        {"home_started_on_ms": 77},
        {"intended_at_ms": 77},
        {"intent_id": "another's"},
    ],
    ids=", ".join,
)
async def test_a_record_that_stands_otherwise_is_not_found(change: dict[str, object]) -> None:
    store, record = InMemoryStateStore(), a_record()
    await store.insert_intent(record)
    assert await find_standing(store, replace(record, **change).progress) is None  # type: ignore[arg-type]
