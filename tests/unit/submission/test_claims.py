"""What a cluster has under a submission's id settles it: by the state of its record, and by where it was seen."""

from dataclasses import replace

import pytest

from shim.domain.applications import ApplicationSummary, FinalStatus, YarnApplicationState
from shim.domain.ids import SubClusterId
from shim.domain.submissions import NOWHERE, SubmissionRecord, SubmissionState
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.federation.home_questions import Life
from shim.simulation.state_stores import InMemoryStateStore
from shim.submission.claims import Claims
from shim.submission.lost_time import Observation
from tests.doubles.builders import a_record
from tests.doubles.clock import FakeClock
from tests.doubles.settings import usual

EAST, WEST = SubClusterId("east"), SubClusterId("west")
INTENDED, SUBMITTED, WAITING = SubmissionState.INTENDED, SubmissionState.SUBMITTED, SubmissionState.WAITING
LOST = SubmissionState.LOST
LIFE_MS = 4711


def seen_of(record: SubmissionRecord, at: SubClusterId, **changes: object) -> ApplicationSummary:
    summary = ApplicationSummary(
        application_id=record.submission.application_id,
        home_subcluster=at,
        user=record.submission.user,
        name=record.submission.name,
        queue="default",
        state=YarnApplicationState.RUNNING,
        final_status=FinalStatus.UNDEFINED,
        application_type="YARN",
        tags=(),
        started_at_ms=0,
        finished_at_ms=0,
    )
    return replace(summary, **changes)  # type: ignore[arg-type]


async def a_record_in(store: InMemoryStateStore, state: SubmissionState, home: SubClusterId) -> SubmissionRecord:
    record = a_record(home=home, state=WAITING if state is WAITING else INTENDED)
    await store.insert_intent(record)
    if state is SUBMITTED:
        await store.settle(record.submission.application_id, SUBMITTED)
    found = await store.find(record.submission.application_id)
    assert found is not None
    return found


@pytest.mark.parametrize("is_another", [False, True], ids=["its application", "another"])
@pytest.mark.parametrize("is_overtaken", [False, True], ids=["first", "another Heddle was first"])
@pytest.mark.parametrize("at", [EAST, WEST])
@pytest.mark.parametrize(("state", "home"), [(INTENDED, EAST), (SUBMITTED, EAST), (WAITING, NOWHERE)])
async def test_what_a_cluster_has_after_a_restore_settles_the_record_there(
    state: SubmissionState, home: SubClusterId, at: SubClusterId, *, is_another: bool, is_overtaken: bool
) -> None:
    store, clock = InMemoryStateStore(), FakeClock()
    view = FederationView((EAST, WEST), usual(ViewSettings))
    record = await a_record_in(store, state, home)
    if is_overtaken:
        await store.rehome(replace(record, state=INTENDED, intent_id="another's"), was=record.progress)
    stood = await store.find(record.submission.application_id)
    seen = seen_of(record, at, **({"name": "other"} if is_another else {}))
    await Claims(store, view, clock).take_over(record, Observation(Life(LIFE_MS), seen))

    found = await store.find(record.submission.application_id)
    assert found is not None
    is_moved = home != at or state is not INTENDED
    if is_overtaken and is_moved:
        assert found == stood
        return
    assert (found.state, found.home_subcluster) == (LOST if is_another else SUBMITTED, at)
    assert found.decision.reason == ("it was there after a restore" if is_moved else record.decision.reason)
    assert found.home_started_on_ms == (LIFE_MS if is_moved else record.home_started_on_ms)
    document = view.applications.find(record.submission.application_id)
    assert (document is not None) is is_another
    if is_another:
        assert document is not None
        assert document.summary.state is YarnApplicationState.FAILED
        assert "name 'other' instead of 'job'" in found.rejection


@pytest.mark.parametrize("state", [INTENDED, SUBMITTED])
@pytest.mark.parametrize("is_another", [False, True])
async def test_an_id_that_another_application_has_is_disputed(state: SubmissionState, *, is_another: bool) -> None:
    store, clock = InMemoryStateStore(), FakeClock()
    view = FederationView((EAST, WEST), usual(ViewSettings))
    record = await a_record_in(store, state, EAST)
    seen = seen_of(record, EAST, **({"user": "bob"} if is_another else {}))
    assert await Claims(store, view, clock).is_disputed(record, seen) is is_another
    found = await store.find(record.submission.application_id)
    assert found is not None
    assert found.state is (LOST if is_another else state)
