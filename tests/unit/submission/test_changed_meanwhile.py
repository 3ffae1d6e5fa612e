"""Another Heddle changes a record while this one repairs it (`shim.submission`): what it wrote stands, and counts.

Each table goes over everything that may have become of the record by then.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import pytest

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.submissions import NOWHERE, SubmissionRecord, SubmissionState
from shim.errors import NoAnswerError
from shim.ports.resource_manager import RestAnswer, RestRequest
from shim.ports.state_store import StateStore
from tests.doubles.builders import FEDERATION_TIMESTAMP_MS, a_record, a_submission
from tests.doubles.failing_stores import TakesItsTime
from tests.doubles.federation import ScriptedFederation
from tests.doubles.misbehaviours import ChokesOn, FailsWithoutWords, RejectsSubmissions
from tests.doubles.resource_manager import AnswersProperly, Behaviour, ScriptedResourceManager

EAST, WEST = SubClusterId("east"), SubClusterId("west")
AN_ID = ApplicationId(FEDERATION_TIMESTAMP_MS, 1)
INTENDED, SUBMITTED, WAITING = SubmissionState.INTENDED, SubmissionState.SUBMITTED, SubmissionState.WAITING
REJECTED, LOST, KILLED = SubmissionState.REJECTED, SubmissionState.LOST, SubmissionState.KILLED


@pytest.fixture
def store() -> TakesItsTime:
    return TakesItsTime()


@pytest.fixture
def federation(store: TakesItsTime) -> ScriptedFederation:
    return ScriptedFederation(store=store)


async def left_behind(federation: ScriptedFederation, *, state: SubmissionState = INTENDED) -> SubmissionRecord:
    """A record of a Heddle that died a minute ago, for east."""
    intended_at_ms = round((federation.clock.now_s() - 60.0) * 1000)
    record = replace(
        a_record(started_on_ms=federation["east"].started_on_ms, intended_at_ms=intended_at_ms),
        submission=a_submission(),
        intent_id="i1",
        state=WAITING if state in {WAITING, KILLED} else INTENDED,
        home_subcluster=NOWHERE if state in {WAITING, KILLED} else EAST,
    )
    await federation.store.insert_intent(record)
    if state is not record.state:
        await CHANGES[state](federation.store, record)
    return record


async def another_moves_it(store: StateStore, record: SubmissionRecord) -> None:
    await store.rehome(replace(record, home_subcluster=WEST, intent_id="another's"), was=record.progress)


async def it_is_taken(store: StateStore, record: SubmissionRecord) -> None:
    await store.settle(record.submission.application_id, SUBMITTED)


async def it_is_refused(store: StateStore, record: SubmissionRecord) -> None:
    await store.settle(record.submission.application_id, REJECTED, rejection="no such queue")


async def it_is_lost(store: StateStore, record: SubmissionRecord) -> None:
    await it_is_taken(store, record)
    await store.give_up(replace(record, state=SUBMITTED).progress, reason="lost")


async def it_is_killed(store: StateStore, record: SubmissionRecord) -> None:
    await store.withdraw(record.submission.application_id, reason="killed")


async def it_is_purged(store: StateStore, record: SubmissionRecord) -> None:
    await it_is_refused(store, record)
    await store.purge(final_before_ms=1 << 60, keep=0)


Change = Callable[[StateStore, SubmissionRecord], Awaitable[None]]
CHANGES: dict[SubmissionState, Change] = {
    SUBMITTED: it_is_taken,
    REJECTED: it_is_refused,
    LOST: it_is_lost,
    KILLED: it_is_killed,
}
MEANWHILE = [another_moves_it, it_is_taken, it_is_refused, it_is_lost, it_is_purged]


@dataclass
class First:
    """Something happens before a ResourceManager does what it does."""

    happens: Callable[[], Awaitable[None]]
    then: Behaviour

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        await self.happens()
        return await self.then(manager, request, timeout_s)


class TakesItAndIsLost:
    """Carries a submission out; its answer gets lost."""

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        del timeout_s
        manager.take(request)
        raise NoAnswerError(manager.subcluster, "the connection broke")


def sends(federation: ScriptedFederation) -> int:
    managers = federation.managers.values()
    return sum(request.method == "POST" for manager in managers for request in manager.requests)


def requests(federation: ScriptedFederation) -> int:
    return sum(len(manager.requests) for manager in federation.managers.values())


# ---------------------------------------------------------------------- one record, by its state


@pytest.mark.parametrize("state", [None, *SubmissionState])
async def test_one_record_is_brought_home_if_it_is_intended_and_else_nobody_is_asked(
    federation: ScriptedFederation, store: TakesItsTime, state: SubmissionState | None
) -> None:
    if state is not None:
        await left_behind(federation, state=state)
    heddle = await federation.start()
    asked_before, stood = requests(federation), await store.find(AN_ID)
    told = await federation.wait_for(heddle.repair.repair_one(AN_ID))
    assert told == await store.find(AN_ID)
    assert (told.state if told else None) is (SUBMITTED if state is INTENDED else state)
    assert sends(federation) == (state is INTENDED)
    if state is not INTENDED:
        assert (told, requests(federation)) == (stood, asked_before)


# ---------------------------------------------------------------------- meanwhile


@pytest.mark.parametrize("change", MEANWHILE, ids=lambda change: change.__name__)
@pytest.mark.parametrize("moment", ["it is read", "its intent is written"])
async def test_what_another_has_changed_before_the_intent_is_written_is_not_sent(
    federation: ScriptedFederation, store: TakesItsTime, change: Change, moment: str
) -> None:
    record = await left_behind(federation)
    heddle = await federation.start()
    by_then: list[SubmissionRecord | None] = []

    async def happens() -> None:
        await change(store, record)
        by_then.append(await store.find(AN_ID))

    store.before["find" if moment == "it is read" else "rehome"] = happens
    await federation.wait_for(heddle.repair.repair_all())
    assert sends(federation) == 0
    assert [await store.find(AN_ID)] == by_then
    assert not heddle.repair.attempts.failing


@pytest.mark.parametrize("change", MEANWHILE, ids=lambda change: change.__name__)
@pytest.mark.parametrize("then", [FailsWithoutWords, TakesItAndIsLost], ids=lambda kind: kind.__name__)
async def test_a_failure_counts_for_what_stands_by_then_if_that_is_still_on_its_way(
    federation: ScriptedFederation, store: TakesItsTime, change: Change, then: type[Behaviour]
) -> None:
    await left_behind(federation)
    heddle = await federation.start()

    async def happens() -> None:
        stands = await store.find(AN_ID)
        assert stands is not None
        await change(store, stands)

    federation["east"].behave(ChokesOn(frozenset({AN_ID}), First(happens, then())))
    await federation.wait_for(heddle.repair.repair_all())
    assert sends(federation) == 1
    is_on_its_way = change is another_moves_it
    known = heddle.repair.attempts.failing
    assert {application_id: each.intent_id for application_id, each in known.items()} == (
        {AN_ID: "another's"} if is_on_its_way else {}
    )
    assert [failure.intent_id for failure in await store.delivery_failures([AN_ID])] == ["another's"] * is_on_its_way


@pytest.mark.parametrize("change", MEANWHILE, ids=lambda change: change.__name__)
async def test_what_another_has_changed_while_its_home_was_asked_is_not_given_up_here(
    federation: ScriptedFederation, store: TakesItsTime, change: Change
) -> None:
    record = await left_behind(federation)
    heddle = await federation.start()
    heddle.repair.attempts.begin(record)
    for _ in range(10):
        now_s = federation.clock.monotonic_s()
        heddle.repair.attempts.failed(record.progress, "boom", started_on_ms=1, now_s=now_s)
    await federation.clock.advance(900.0)
    await heddle.poll()
    by_then: list[SubmissionRecord | None] = []

    async def happens() -> None:
        if not by_then:
            await change(store, record)
            by_then.append(await store.find(AN_ID))

    federation["east"].behave(First(happens, federation["east"].behaviour))
    await federation.wait_for(heddle.repair.repair_all())
    assert [await store.find(AN_ID)] == by_then
    assert heddle.repair.attempts.given_up == 0
    assert sends(federation) == 0


@pytest.mark.parametrize("then", [AnswersProperly, RejectsSubmissions], ids=lambda kind: kind.__name__)
async def test_failures_are_forgotten_when_it_is_taken_or_refused(
    federation: ScriptedFederation, then: type[Behaviour]
) -> None:
    await left_behind(federation)
    heddle = await federation.start()
    federation["east"].behave(ChokesOn(frozenset({AN_ID}), FailsWithoutWords()))
    await federation.wait_for(heddle.repair.repair_one(AN_ID))
    assert set(heddle.repair.attempts.failing) == {AN_ID}
    federation["east"].behave(then())
    await federation.wait_for(heddle.repair.repair_one(AN_ID))
    assert heddle.repair.attempts.find(AN_ID) is None
