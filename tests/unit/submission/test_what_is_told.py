"""What repair, sweeps and retirement (`shim.submission`) tell and write down: events, times, and the reasons."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from shim.domain.applications import FinalStatus, YarnApplicationState
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.submissions import SubmissionState
from shim.errors import NoAnswerError
from shim.ports.resource_manager import RestRequest
from shim.submission.resending import as_failed
from shim.telemetry.application_life import LifeEvent, listen
from tests.doubles.builders import FEDERATION_TIMESTAMP_MS, a_record, a_submission
from tests.doubles.federation import ScriptedFederation, ScriptedHeddle
from tests.doubles.misbehaviours import FailsWithoutWords, IsNeverReached, MisbehavesFor, RejectsSubmissions

EAST, WEST = SubClusterId("east"), SubClusterId("west")
AN_ID = ApplicationId(FEDERATION_TIMESTAMP_MS, 1)
INTENDED, SUBMITTED = SubmissionState.INTENDED, SubmissionState.SUBMITTED
REJECTED, LOST = SubmissionState.REJECTED, SubmissionState.LOST


@pytest.fixture
def federation() -> ScriptedFederation:
    return ScriptedFederation()


@pytest.fixture
def events() -> Iterator[list[tuple[LifeEvent, ApplicationId, dict[str, Any]]]]:
    """Events of lives, as they are told."""
    heard: list[tuple[LifeEvent, ApplicationId, dict[str, Any]]] = []
    end = listen(lambda event, application_id, facts: heard.append((event, application_id, dict(facts))))
    yield heard
    end()


async def left_behind(
    federation: ScriptedFederation,
    *,
    state: SubmissionState = INTENDED,
    age_s: float = 60.0,
    life_ms: int | None = None,
) -> None:
    """A record of a Heddle that died, for east."""
    record = a_record(
        started_on_ms=federation["east"].started_on_ms if life_ms is None else life_ms,
        intended_at_ms=round((federation.clock.now_s() - age_s) * 1000),
    )
    await federation.store.insert_intent(replace(record, submission=a_submission(), intent_id="i1"))
    if state is SUBMITTED:
        await federation.store.settle(AN_ID, SUBMITTED)


def is_a_submission(request: RestRequest) -> bool:
    return request.method == "POST"


# ---------------------------------------------------------------------- events


async def test_what_is_sent_again_to_its_home_is_told_as_repaired(federation, events) -> None:
    await left_behind(federation)
    heddle = await federation.start()
    await federation.wait_for(heddle.repair.repair_all())
    facts = {"home": EAST, "was": EAST, "state": "intended", "reason": "its home does not know it", "scores": {}}
    assert events == [(LifeEvent.REPAIRED, AN_ID, facts)]


async def test_what_goes_to_another_home_is_told_with_the_scores(federation, events) -> None:
    await left_behind(federation, life_ms=1)
    federation["east"].started_on_ms = round(federation.clock.now_s() * 1000)
    heddle = await federation.start()
    await heddle.administration.cordon(EAST, by="root")
    await federation.wait_for(heddle.repair.repair_all())
    ((event, application_id, facts),) = events
    assert (event, application_id) == (LifeEvent.REPAIRED, AN_ID)
    assert (facts["home"], facts["was"], facts["reason"]) == (WEST, EAST, "its home restarted without it")
    assert facts["scores"] == {EAST: "cordoned", WEST: 1.0}


async def test_what_its_home_lost_is_told_as_submitted_before(federation, events) -> None:
    await left_behind(federation, state=SUBMITTED)
    federation["east"].restart(forgets=True)
    heddle = await federation.start()
    await heddle.reconciliation.sweep(EAST)
    await federation.clock.advance(8.0)
    await heddle.poll()
    await federation.wait_for(heddle.reconciliation.sweep(EAST))
    ((event, application_id, facts),) = events
    assert (event, application_id, facts["was"], facts["state"]) == (LifeEvent.REPAIRED, AN_ID, EAST, "submitted")


async def hopeless(federation: ScriptedFederation, *, reason: str = "boom") -> ScriptedHeddle:
    """A Heddle that has given up what failed ten times over a quarter of an hour, sent by nobody else."""
    await left_behind(federation)
    heddle = await federation.start()
    record = await federation.store.find(AN_ID)
    assert record is not None
    heddle.repair.attempts.begin(record)
    for _ in range(10):
        now_s = federation.clock.monotonic_s()
        heddle.repair.attempts.failed(record.progress, reason, started_on_ms=1, now_s=now_s)
    heddle.listing.mark_submitted(a_submission(), EAST)
    await federation.clock.advance(900.0)
    await heddle.poll()
    await federation.wait_for(heddle.repair.repair_all())
    return heddle


async def test_what_is_given_up_is_told_as_ended_and_shown_as_failed(federation, events) -> None:
    heddle = await hopeless(federation)
    reason = "given up after 10 attempts, none of which reached a ResourceManager: boom"
    assert events == [(LifeEvent.ENDED, AN_ID, {"cluster": EAST, "state": "REJECTED", "reason": reason})]
    record, document = await federation.store.find(AN_ID), heddle.view.applications.find(AN_ID)
    assert record is not None
    assert document is not None
    assert (record.state, record.rejection) == (REJECTED, reason)
    assert json.loads(document.raw)["diagnostics"] == reason
    assert document.summary.state is YarnApplicationState.FAILED


async def test_long_reasons_are_cut_where_they_are_kept_and_told(federation, events) -> None:
    heddle = await hopeless(federation, reason="x" * 2000)
    record, document = await federation.store.find(AN_ID), heddle.view.applications.find(AN_ID)
    assert record is not None
    assert document is not None
    ((_, _, facts),) = events
    lengths = (len(facts["reason"]), len(record.rejection), len(json.loads(document.raw)["diagnostics"]))
    assert lengths == (500, 1000, 1000)


async def test_what_a_retired_cluster_has_taken_is_told_as_lost_with_it(federation, events) -> None:
    await left_behind(federation, state=SUBMITTED)
    heddle = await federation.start()
    federation["east"].behave(IsNeverReached())
    await heddle.retirement.retire(EAST, by="root")
    await federation.wait_for(heddle.retirement.round())
    record = await federation.store.find(AN_ID)
    assert record is not None
    reason = "Lost with its sub-cluster east, which an operator has retired."
    assert (record.state, record.rejection) == (LOST, reason)
    assert events == [(LifeEvent.ENDED, AN_ID, {"cluster": EAST, "state": "LOST", "reason": reason})]


async def test_what_is_on_its_way_to_a_retired_cluster_is_told_as_repaired(federation, events) -> None:
    await left_behind(federation)
    heddle = await federation.start()
    federation["east"].behave(IsNeverReached())
    await heddle.retirement.retire(EAST, by="root")
    await federation.wait_for(heddle.retirement.round())
    ((event, _, facts),) = events
    told = (event, facts["home"], facts["was"], facts["state"], facts["reason"])
    assert told == (LifeEvent.REPAIRED, WEST, EAST, "intended", "its home was retired")


# ---------------------------------------------------------------------- times


@pytest.mark.parametrize("is_retired", [False, True])
async def test_an_intent_says_when_it_was_written(federation: ScriptedFederation, *, is_retired: bool) -> None:
    await left_behind(federation)
    heddle = await federation.start()
    federation["west"].behave(FailsWithoutWords())
    if is_retired:
        federation["east"].behave(IsNeverReached())
        await heddle.retirement.retire(EAST, by="root")
        await federation.wait_for(heddle.retirement.round())
    else:
        await federation.wait_for(heddle.repair.repair_all())
    record = await federation.store.find(AN_ID)
    assert record is not None
    assert record.intent_id != "i1"
    assert abs(record.intended_at_ms - federation.clock.now_s() * 1000) <= 3000


async def test_a_send_that_may_still_arrive_is_known_by_its_time(federation: ScriptedFederation) -> None:
    await left_behind(federation)
    heddle = await federation.start()
    begun_ms = int(federation.clock.now_s() * 1000)
    federation["east"].behave(MisbehavesFor(RefusesToTell(), times=9, applies=is_a_submission))
    await federation.wait_for(heddle.repair.repair_all())
    known = heddle.repair.attempts.find(AN_ID)
    assert known is not None
    assert known.open_ms == begun_ms


class RefusesToTell:
    """The connection breaks before anything is known."""

    async def __call__(self, manager, request, timeout_s):
        del request, timeout_s
        raise NoAnswerError(manager.subcluster, "the connection broke")


@pytest.mark.parametrize("how", ["refused", "retired"])
async def test_a_failure_is_shown_with_the_time_at_which_it_was_learnt(
    federation: ScriptedFederation, how: str
) -> None:
    await left_behind(federation, state=INTENDED if how == "refused" else SUBMITTED)
    heddle = await federation.start()
    heddle.listing.mark_submitted(a_submission(), EAST)
    if how == "refused":
        federation["east"].behave(RejectsSubmissions("no such queue"))
        await federation.wait_for(heddle.repair.repair_all())
    else:
        federation["east"].behave(IsNeverReached())
        await heddle.retirement.retire(EAST, by="root")
        await federation.wait_for(heddle.retirement.round())
    document, now_s = heddle.view.applications.find(AN_ID), federation.clock.now_s()
    assert document is not None
    assert document.summary.state is YarnApplicationState.FAILED
    assert document.as_of_s == now_s
    assert document.summary.finished_at_ms == json.loads(document.raw)["finishedTime"] == int(now_s * 1000)


@pytest.mark.parametrize("at_s", [0.0, 1.5, 1_700_000_000.25])
async def test_a_document_of_a_failure_differs_in_its_end_alone(federation: ScriptedFederation, at_s: float) -> None:
    heddle = await federation.start()
    heddle.listing.mark_submitted(a_submission(), EAST)
    document = heddle.view.applications.find(AN_ID)
    assert document is not None
    failed = as_failed(document, "no such queue", at_s)
    at_ms = round(at_s * 1000)
    end = {"state": "FAILED", "finalStatus": "FAILED", "diagnostics": "no such queue", "finishedTime": at_ms}
    assert json.loads(failed.raw) == json.loads(document.raw) | end
    expected = replace(
        document.summary,
        state=YarnApplicationState.FAILED,
        final_status=FinalStatus.FAILED,
        finished_at_ms=at_ms,
    )
    assert (failed.summary, failed.as_of_s) == (expected, at_s)
