"""Admission (`shim.queues.admission`) by tables: limits, places, and all that may become of what waits."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from shim.domain.applications import YarnApplicationState
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.queues import FederatedQueue, SharePolicy
from shim.domain.submissions import NOWHERE, SubmissionRecord, SubmissionState
from shim.errors import ForbiddenError
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.queues.admission import AdmissionQueue, Kills, WaitingPlace
from shim.queues.core.entitle import ShareSettings
from shim.simulation.state_stores import InMemoryStateStore
from shim.telemetry.application_life import LifeEvent, listen
from tests.doubles.builders import FEDERATION_TIMESTAMP_MS, a_record, a_submission
from tests.doubles.clock import FakeClock
from tests.doubles.settings import usual

EAST = SubClusterId("east")
PROD = "root.prod"
WAITING, INTENDED, SUBMITTED = SubmissionState.WAITING, SubmissionState.INTENDED, SubmissionState.SUBMITTED
REJECTED, LOST, KILLED = SubmissionState.REJECTED, SubmissionState.LOST, SubmissionState.KILLED


class Place:
    """A room with a policy, and what is around it."""

    def __init__(self, *queues: FederatedQueue) -> None:
        self.clock, self.store = FakeClock(), InMemoryStateStore()
        self.view = FederationView((EAST,), usual(ViewSettings))
        self.room = AdmissionQueue(
            policy=lambda: SharePolicy(queues),
            view=self.view,
            admissions={},
            store=self.store,
            clock=self.clock,
            groups_of=lambda user: frozenset({"ops"} if user == "oscar" else ()),
            settings=usual(ShareSettings),
        )


def id_of(number: int) -> ApplicationId:
    return ApplicationId(FEDERATION_TIMESTAMP_MS, number)


def that_waits(number: int, user: str = "alice", queue: str = PROD) -> SubmissionRecord:
    record = a_record(number, home=NOWHERE, state=WAITING, intended_at_ms=5000 + number)
    return replace(record, submission=a_submission(number, user=user, queue=queue))


@pytest.fixture
def events() -> Iterator[list[tuple[LifeEvent, ApplicationId, dict[str, Any]]]]:
    """Events of lives, as they are told."""
    heard: list[tuple[LifeEvent, ApplicationId, dict[str, Any]]] = []
    end = listen(lambda event, application_id, facts: heard.append((event, application_id, dict(facts))))
    yield heard
    end()


# ---------------------------------------------------------------------- limits


@pytest.mark.parametrize("most", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("of_a_user", [0, 1, 2])
@pytest.mark.parametrize("running", [0, 1, 9])
async def test_a_queue_takes_no_more_than_its_limits_say_whoever_runs_and_whoever_waits(
    most: int, of_a_user: int, running: int
) -> None:
    """Users come in turn; the first ones run, the others wait."""
    there = Place(FederatedQueue(PROD, weight=1, max_applications=most, max_user_applications=of_a_user))
    there.room.note_waiting(that_waits(90, "alice", "root.elsewhere"))
    taken: list[str] = []
    for number, user in enumerate(["alice", "alice", "bob", "alice", "bob", "carl", "carl"], start=1):
        has_room = (not most or len(taken) < most) and (not of_a_user or taken.count(user) < of_a_user)
        submission = a_submission(number, user=user, queue=PROD)
        if not has_room:
            count = (
                f"{len(taken)} applications," if most and len(taken) >= most else f"{taken.count(user)} applications"
            )
            with pytest.raises(ForbiddenError, match=f"Queue root.prod already has {count}"):
                there.room.enter(submission)
            continue
        assert there.room.enter(submission).queue == PROD
        if len(taken) < running:
            there.room.note_start(submission)
            await there.clock.advance(0.6)  # what runs is measured anew each half second
        else:
            there.room.note_waiting(that_waits(number, user))
        taken.append(user)


@pytest.mark.parametrize(
    ("limits", "runs", "waits", "objects"),
    [
        ({}, 0, 1, False),
        ({"max_running": 1}, 0, 0, False),
        ({"max_running": 1}, 1, 0, True),
        ({"max_running": 2}, 1, 0, False),
        ({"max_running": 2}, 0, 1, True),
        ({"max_user_running": 1}, 0, 0, False),
        ({"max_user_running": 1}, 1, 0, True),
        ({"max_user_running": 2}, 0, 1, True),
        ({"weight": 1}, 0, 0, False),
        ({"weight": 1}, 0, 1, True),
    ],
)
def test_who_comes_next_waits_if_others_do_or_a_limit_is_reached(
    limits: dict[str, Any], runs: int, waits: int, *, objects: bool
) -> None:
    there = Place(FederatedQueue(PROD, **limits), FederatedQueue("root.dev", max_running=1))
    for number in range(runs):
        there.room.note_start(a_submission(50 + number, user="alice", queue=PROD))
    for number in range(waits):
        there.room.note_waiting(that_waits(60 + number, "alice"))
    there.room.note_waiting(that_waits(70, "alice", "root.dev"))
    assert bool(there.room.objection(a_submission(1, user="alice", queue=PROD))) is objects
    assert there.room.objection(a_submission(2, user="alice", queue="root.nowhere")) == ""


@pytest.mark.parametrize("limits", [{"max_running": 2}, {"max_user_running": 2}])
def test_who_may_start_counts_at_once_for_those_behind(limits: dict[str, int]) -> None:
    there = Place(FederatedQueue(PROD, **limits))  # type: ignore[arg-type]
    objections = [there.room.objection(a_submission(number, user="alice", queue=PROD)) for number in range(1, 5)]
    assert [bool(each) for each in objections] == [False, False, True, True]
    assert "limit of 2" in objections[2]
    assert there.room.load().queues[PROD].running == 2


# ---------------------------------------------------------------------- places


@pytest.mark.parametrize("count", [1, 999, 1000, 1001, 1003])
def test_the_first_thousand_that_wait_are_told_their_place_among_all(count: int) -> None:
    there = Place(FederatedQueue(PROD, max_running=1))
    there.room.note_start(a_submission(5000, queue=PROD))
    for number in range(1, count + 1):
        there.room.note_waiting(that_waits(number))
    assert there.room.look() == []
    places = [there.room.place_of(id_of(number)) for number in range(1, count + 1)]
    told = min(count, 1000)
    assert places == [*(WaitingPlace(n, count, None) for n in range(1, told + 1)), *[None] * (count - told)]
    assert there.room.counts() == {PROD: count}


def test_a_thousand_of_each_queue_are_looked_at_in_one_round_and_the_others_next_time() -> None:
    there = Place(FederatedQueue(PROD), FederatedQueue("root.dev"))
    for number in range(1, 1004):
        there.room.note_waiting(that_waits(number))
    for number in range(2001, 2004):
        there.room.note_waiting(that_waits(number, queue="root.dev"))
    started = there.room.look()
    assert sorted(started) == [id_of(number) for number in [*range(1, 1001), *range(2001, 2004)]]
    for each in started:
        there.room.forget(each)
    assert there.room.look() == [id_of(number) for number in range(1001, 1004)]


def test_who_is_in_no_queue_of_the_policy_starts_and_who_starts_has_no_place() -> None:
    there = Place(FederatedQueue(PROD, max_running=1))
    for number, queue in ((1, "root.elsewhere"), (2, PROD), (3, PROD), (4, PROD)):
        there.room.note_waiting(that_waits(number, queue=queue))
    assert there.room.look() == [id_of(1), id_of(2)]
    assert [there.room.place_of(id_of(number)) for number in (1, 2, 3, 4)] == [
        None,
        None,
        WaitingPlace(1, 2, None),
        WaitingPlace(2, 2, None),
    ]
    there.room.forget(id_of(3))
    assert there.room.place_of(id_of(3)) is None


@pytest.mark.parametrize(("queue", "words"), [(PROD, "2 of 2"), ("root.elsewhere", "1 of 1")])
def test_who_begins_to_wait_is_told_its_place_at_once(queue: str, words: str) -> None:
    there = Place(FederatedQueue(PROD, max_running=1))
    there.room.note_waiting(that_waits(1, queue=PROD))
    there.room.note_waiting(that_waits(2, queue=queue))
    document = there.view.applications.find(id_of(2))
    assert document is not None
    assert f"turn, {words}: most free.".encode() in document.raw


# ---------------------------------------------------------------------- what became of those that wait


async def became(store: InMemoryStateStore, record: SubmissionRecord, state: SubmissionState | None) -> None:
    """Another Heddle has brought a waiting record so far; None: it is not there any more."""
    if state is KILLED:
        await store.withdraw(record.submission.application_id, reason="killed")
    elif state in {REJECTED, None}:
        await store.reject(record.progress, reason="no such queue")
    elif state is not WAITING:
        intent = replace(record, state=INTENDED, home_subcluster=EAST, intent_id="another's")
        await store.rehome(intent, was=record.progress)
        if state is not INTENDED:
            await store.settle(record.submission.application_id, SUBMITTED)
        if state is LOST:
            await store.give_up(replace(intent, state=SUBMITTED).progress, reason="lost")
    if state is None:
        await store.purge(final_before_ms=1 << 60, keep=0)


SHOWN = {
    WAITING: YarnApplicationState.ACCEPTED,
    INTENDED: YarnApplicationState.ACCEPTED,
    SUBMITTED: YarnApplicationState.ACCEPTED,
    KILLED: YarnApplicationState.KILLED,
}


@pytest.mark.parametrize("state", [None, *SubmissionState])
async def test_what_another_heddle_did_with_one_that_waits_is_known_after_a_look(state: SubmissionState | None) -> None:
    there, record = Place(FederatedQueue(PROD, max_running=1)), that_waits(1)
    await there.store.insert_intent(record)
    await there.room.sync()
    assert there.room.waiting == {id_of(1)}
    await became(there.store, record, state)
    await there.room.sync()
    assert there.room.waiting == ({id_of(1)} if state is WAITING else frozenset())
    assert there.view.applications.is_waiting(id_of(1)) is (state is WAITING)
    document = there.view.applications.find(id_of(1))
    assert (document.summary.state if document else None) == (SHOWN.get(state) if state else None)
    if state in {INTENDED, SUBMITTED}:
        assert document is not None
        assert document.summary.started_at_ms == record.intended_at_ms, "it waited since then"


@pytest.mark.parametrize("state", [None, *SubmissionState])
async def test_what_is_listed_as_waiting_and_changed_before_it_is_read_is_not_taken(
    state: SubmissionState | None,
) -> None:
    record = that_waits(1)

    class ChangesBeforeItIsRead(InMemoryStateStore):
        async def find(self, application_id: ApplicationId) -> SubmissionRecord | None:
            if await InMemoryStateStore.find(self, application_id) == record:
                await became(self, record, state)
            return await InMemoryStateStore.find(self, application_id)

    there = Place(FederatedQueue(PROD, max_running=1))
    store = ChangesBeforeItIsRead()
    room = AdmissionQueue(
        policy=lambda: SharePolicy((FederatedQueue(PROD, max_running=1),)),
        view=there.view,
        admissions={},
        store=store,
        clock=there.clock,
        groups_of=lambda _: frozenset(),
        settings=usual(ShareSettings),
    )
    await store.insert_intent(record)
    await room.sync()
    assert room.waiting == ({id_of(1)} if state is WAITING else frozenset())


# ---------------------------------------------------------------------- kills


@pytest.mark.parametrize("state", [None, *SubmissionState])
async def test_only_what_waits_is_killed_here_and_its_end_is_told(state: SubmissionState | None, events) -> None:
    there, record = Place(FederatedQueue(PROD, max_running=1)), that_waits(1)
    await there.store.insert_intent(record)
    await there.room.sync()
    await became(there.store, record, state)
    stood = await there.store.find(id_of(1))
    is_killed = await there.room.kill(id_of(1), Kills("alice"))
    assert is_killed is (state is WAITING)
    reason = f"Application {id_of(1)} was killed by user alice while it waited for its queue's turn"
    if is_killed:
        facts = {"cluster": "", "state": "KILLED", "reason": reason}
        assert events == [(LifeEvent.ENDED, id_of(1), facts)]
        document = there.view.applications.find(id_of(1))
        assert document is not None
        assert document.summary.state is YarnApplicationState.KILLED
        assert reason.encode() in document.raw
        assert there.room.waiting == frozenset()
    else:
        assert (events, await there.store.find(id_of(1))) == ([], stood)


@pytest.mark.parametrize(
    ("by", "may"),
    [
        (Kills("alice"), True),
        (Kills("alice", is_admin=True), True),
        (Kills("root", is_admin=True), True),
        (Kills("bob"), False),
        (Kills("paula"), True),
        (Kills("oscar"), True),
    ],
)
@pytest.mark.parametrize("queue", [PROD, "root.elsewhere"])
async def test_owners_operators_and_administrators_of_the_queue_end_what_waits(
    by: Kills, queue: str, *, may: bool
) -> None:
    there = Place(FederatedQueue(PROD, max_running=1, administer=("paula", "group:ops")))
    await there.store.insert_intent(that_waits(1, queue=queue))
    await there.room.sync()
    if may and (queue == PROD or by.is_admin or by.user == "alice"):
        assert await there.room.kill(id_of(1), by)
        return
    with pytest.raises(ForbiddenError, match=f"User {by.user} cannot perform operation MODIFY_APP"):
        await there.room.kill(id_of(1), by)
    assert there.room.waiting == {id_of(1)}


# ---------------------------------------------------------------------- deadlines


@pytest.mark.parametrize(
    ("tag", "is_told"), [("heddle-deadline=+5s", False), ("heddle-deadline=1970-01-01T00:00:00Z", True)]
)
def test_a_deadline_that_cannot_be_met_is_told_in_the_life_of_its_application(
    tag: str, events, *, is_told: bool
) -> None:
    there = Place(FederatedQueue(PROD, max_running=1))
    there.room.enter(replace(a_submission(1, queue=PROD), tags=(tag,)))
    assert [(event, application, facts["queue"]) for event, application, facts in events] == [
        (LifeEvent.DEADLINE_HOPELESS, id_of(1), PROD)
    ] * is_told
    assert all("its deadline is over" in facts["reason"] for _, _, facts in events)
