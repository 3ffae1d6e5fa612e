"""What happens between two awaits: guards that a store and a home that answer at once would never need."""

import asyncio
from dataclasses import replace

import pytest

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.submissions import SubmissionRecord, SubmissionState
from shim.submission.delivery_attempts import Settling
from shim.submission.entrance import Accepted, Rejected
from shim.submission.reconciliation import Reconciliation, ReconciliationSettings
from shim.submission.repair import Repair, RepairSettings
from tests.doubles.builders import FEDERATION_TIMESTAMP_MS, a_record, a_submission
from tests.doubles.clock import FakeClock
from tests.doubles.failing_stores import TakesItsTime
from tests.doubles.federation import ScriptedFederation, ScriptedHeddle
from tests.doubles.misbehaviours import IsNeverReached, IsPaused, MisbehavesFor, RejectsSubmissions
from tests.doubles.reports import a_report
from tests.doubles.resource_manager import AnswersProperly
from tests.doubles.settings import usual

EAST = SubClusterId("east")
INTENDED, SUBMITTED = SubmissionState.INTENDED, SubmissionState.SUBMITTED


def an_id(sequence: int = 1) -> ApplicationId:
    return ApplicationId(FEDERATION_TIMESTAMP_MS, sequence)


@pytest.fixture
def store() -> TakesItsTime:
    return TakesItsTime()


@pytest.fixture
def federation(store: TakesItsTime) -> ScriptedFederation:
    return ScriptedFederation(["east", "west"], store=store)


async def left_behind(federation: ScriptedFederation, *sequences: int, age_s: float = 60.0) -> None:
    intended_at_ms = int((federation.clock.now_s() - age_s) * 1000)
    first = a_record(home="east", started_on_ms=federation["east"].started_on_ms, intended_at_ms=intended_at_ms)
    for sequence in sequences:
        await federation.store.insert_intent(
            replace(first, submission=a_submission(sequence), intent_id=f"i{sequence}")
        )


async def stands(federation: ScriptedFederation, sequence: int = 1) -> SubmissionRecord:
    record = await federation.store.find(an_id(sequence))
    assert record is not None
    return record


def sends(federation: ScriptedFederation) -> int:
    return sum(request.method == "POST" for request in federation["east"].requests)


async def test_nothing_is_sent_when_the_store_took_too_long_to_write_the_intent(
    federation: ScriptedFederation, store: TakesItsTime
) -> None:
    await left_behind(federation, 1)
    heddle = await federation.start()
    store.before["rehome"] = lambda: federation.clock.sleep(3.0)
    await federation.wait_for(heddle.repair.repair_one(an_id()))
    assert sends(federation) == 0
    await federation.wait_for(heddle.repair.repair_one(an_id()))
    assert sends(federation) == 1


async def test_a_flight_that_begins_while_its_home_is_asked_is_left_alone(
    federation: ScriptedFederation,
) -> None:
    """The question is answered; the flight began meanwhile."""
    await left_behind(federation, 1)
    heddle = await federation.start()
    federation["east"].behave(BeginsAFlight(heddle))
    await federation.wait_for(heddle.repair.repair_all())
    assert sends(federation) == 0
    assert (await stands(federation)).intent_id == "i1"


class BeginsAFlight:
    """Answers properly; at the question for the application a client submits it to this Heddle."""

    def __init__(self, heddle: ScriptedHeddle) -> None:
        self._heddle = heddle

    async def __call__(self, manager, request, timeout_s):
        del timeout_s
        if request.path.endswith(str(an_id())):
            flight = asyncio.get_running_loop().create_future()
            self._heddle.submissions._flights[an_id()] = flight
        return manager.take(request)


async def test_a_home_that_falls_silent_is_sent_nothing_more(federation: ScriptedFederation) -> None:
    await left_behind(federation, *range(1, 8))
    heddle = await federation.start()
    one_by_one = Repair(heddle.tools, heddle.submissions, RepairSettings(at_once=1))
    federation["east"].behave(FallsSilentAtTheFirstSubmission())
    await federation.wait_for(one_by_one.repair_all())
    assert sends(federation) == 1
    states = {(await stands(federation, sequence)).state for sequence in range(1, 8)}
    assert states == {INTENDED}
    untouched = [
        sequence for sequence in range(1, 8) if (await stands(federation, sequence)).intent_id == f"i{sequence}"
    ]
    assert len(untouched) == 6


class FallsSilentAtTheFirstSubmission:
    """Answers questions until it is sent something; from then on its port refuses connections."""

    async def __call__(self, manager, request, timeout_s):
        if request.method == "POST":
            manager.behave(IsNeverReached())
            return await IsNeverReached()(manager, request, timeout_s)
        return manager.take(request)


async def test_what_a_home_said_long_ago_is_asked_again_before_a_send(federation: ScriptedFederation) -> None:
    await left_behind(federation, 1, 2)
    heddle = await federation.start()
    one_by_one = Repair(heddle.tools, heddle.submissions, RepairSettings(at_once=1))
    federation["east"].behave(
        MisbehavesFor(
            IsPaused(), applies=lambda request: request.method == "POST" and str(an_id(1)).encode() in request.body
        )
    )
    rounds = asyncio.create_task(one_by_one.repair_all())
    await federation.clock.advance(1.0)
    federation["east"].add_application(an_id(2))  # another Heddle has brought it there
    await federation.wait_for(asyncio.wait_for(rounds, None))
    assert federation["east"].submissions.get(an_id(2), 0) == 0
    assert (await stands(federation, 2)).state is SUBMITTED


@pytest.mark.parametrize(("skew_s", "moves"), [(-15.0, True), (15.0, False)])
async def test_the_proof_that_a_request_is_gone_takes_the_homes_clock_into_account(
    federation: ScriptedFederation, skew_s: float, *, moves: bool
) -> None:
    """Its home started 12 s after the intent by its own clock: by ours 27 s after it, or 3 s before."""
    await left_behind(federation, 1, age_s=30.0)
    record = await stands(federation)
    heddle = await federation.start()
    east = federation["east"]
    east.started_on_ms = record.intended_at_ms + 12_000
    now_s = federation.clock.now_s()
    heddle.view.apply(
        replace(
            a_report("east", sequence=99, polled_at_s=now_s),
            started_on_ms=east.started_on_ms,
            clock_skew_s=skew_s,
        )
    )
    await heddle.administration.cordon(EAST, by="root")
    await federation.wait_for(heddle.repair.repair_all())
    assert federation.who_has(an_id()) == [SubClusterId("west") if moves else EAST]


async def acknowledged(federation: ScriptedFederation) -> ScriptedHeddle:
    heddle = await federation.start()
    await heddle.submissions.submit(a_submission())
    await federation.wait_for(heddle.submissions.finish())
    return heddle


async def test_a_record_that_changes_while_its_home_is_asked_is_not_submitted_anew(
    federation: ScriptedFederation, store: TakesItsTime
) -> None:
    heddle = await acknowledged(federation)
    await heddle.poll()
    federation["east"].restart(forgets=True)
    await federation.clock.advance(10.0)
    await heddle.poll()
    before = await stands(federation)
    sent_before = sends(federation)

    async def another_moves_it() -> None:
        await store.rehome(
            replace(before, intent_id="another's", home_subcluster=SubClusterId("west")), was=before.progress
        )

    store.before["find"] = another_moves_it
    await federation.wait_for(heddle.reconciliation.sweep(EAST))
    assert sends(federation) == sent_before
    assert (await stands(federation)).intent_id == "another's"


async def test_what_was_told_before_a_restart_does_not_say_that_the_new_life_knows_it(
    federation: ScriptedFederation,
) -> None:
    heddle = await acknowledged(federation)
    await heddle.poll()
    old = await stands(federation)
    federation["east"].restart()
    await federation.clock.advance(1.0)
    heddle.view.apply(
        replace(
            a_report("east", sequence=50, polled_at_s=federation.clock.now_s()),
            started_on_ms=federation["east"].started_on_ms,
            applications={},
            is_complete=False,
        )
    )
    assert heddle.view.applications.find(an_id()) is not None, "the document of the old life is still shown"
    await heddle.reconciliation.sweep(EAST)
    assert (await stands(federation)).home_started_on_ms == old.home_started_on_ms


async def test_one_sweep_asks_for_so_many_and_no_more(federation: ScriptedFederation) -> None:
    await left_behind(federation, *range(1, 8))
    for sequence in range(1, 8):
        await federation.store.settle(an_id(sequence), SUBMITTED)
    heddle = await federation.start()
    settings = usual(ReconciliationSettings, asked_at_once=3)
    reconciliation = Reconciliation(
        repair=heddle.repair,
        view=heddle.view,
        managers=heddle.managers,
        store=federation.store,
        clock=federation.clock,
        settings=settings,
    )
    await reconciliation.sweep(EAST)
    await federation.clock.advance(7.0)
    await heddle.poll()
    federation["east"].requests.clear()
    await federation.wait_for(reconciliation.sweep(EAST))
    asked = [request for request in federation["east"].requests if "/apps/application_" in request.path]
    assert len(asked) == 3


async def test_one_question_that_fails_does_not_stop_a_sweep(federation: ScriptedFederation) -> None:
    await left_behind(federation, 1, 2)
    for sequence in (1, 2):
        await federation.store.settle(an_id(sequence), SUBMITTED)
    heddle = await federation.start()
    await heddle.reconciliation.sweep(EAST)
    await federation.clock.advance(7.0)
    await heddle.poll()
    federation["east"].behave(
        MisbehavesFor(IsPaused(), times=9, applies=lambda request: request.path.endswith(str(an_id(1))))
    )
    await federation.wait_for(heddle.reconciliation.sweep(EAST))
    left = [progress.application_id for progress in await federation.store.unfinished(EAST)]
    assert left == [an_id(1)], "the other ended and was forgotten: it is done with"


async def test_one_that_was_refused_and_is_still_listed_is_submitted_again(federation: ScriptedFederation) -> None:
    heddle = await federation.start()
    federation["east"].behave(RejectsSubmissions("no"))
    assert isinstance(await heddle.submissions.submit(a_submission()), Rejected)
    heddle.listing.mark_submitted(a_submission(), EAST)
    assert heddle.view.applications.find(an_id()) is not None
    again = await heddle.submissions.submit(a_submission())
    assert isinstance(again, Rejected), "202 would say that it runs"
    federation["east"].behave(AnswersProperly())
    assert isinstance(await heddle.submissions.submit(a_submission()), Accepted)
    assert federation["east"].submissions == {an_id(): 1}


async def test_what_is_noted_during_a_write_is_written_by_the_next(store: TakesItsTime) -> None:
    clock = FakeClock()
    settling = Settling(store, clock)
    first, second = a_record(1), a_record(2)
    for record in (first, second):
        await store.insert_intent(record)

    async def another_comes() -> None:
        settling.note(second.submission.application_id)

    store.before["note_taken"] = another_comes
    settling.note(first.submission.application_id)
    await clock.advance(0.06)
    assert settling.waiting == {second.submission.application_id}
    await clock.advance(0.06)
    await settling.finish()
    for record in (first, second):
        found = await store.find(record.submission.application_id)
        assert found is not None
        assert found.state is SUBMITTED
