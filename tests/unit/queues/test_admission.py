"""Who waits, who starts, and what is told of it, over scripted ResourceManagers."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from shim.domain.access_lists import Viewer
from shim.domain.applications import FinalStatus, YarnApplicationState
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.queues import FederatedQueue, QueueMapping, QueueReport, QueueState, SharePolicy
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import HaState, SubClusterReport
from shim.domain.submissions import NOWHERE, Submission, SubmissionState
from shim.errors import ConflictError, ForbiddenError, HomeUnreachableError, StoreUnavailableError
from shim.federation.reading import ApplicationReading, ReadingSettings
from shim.protocol.rest.submission_context import decode_submission
from shim.queues.admission import AdmissionQueue, Kills, WaitingPlace
from shim.queues.core.entitle import ShareSettings
from shim.queues.core.share_load import NO_EXPECTATION
from shim.queues.starting import Starting
from shim.submission.entrance import Accepted
from shim.submission.service import SubmissionService, SubmissionSettings
from tests.doubles import reports
from tests.doubles.builders import FEDERATION_TIMESTAMP_MS, a_submission
from tests.doubles.failing_stores import SwitchableStore
from tests.doubles.federation import ScriptedFederation, ScriptedHeddle
from tests.doubles.misbehaviours import RejectsSubmissions
from tests.doubles.settings import usual

ONE_AT_A_TIME = SharePolicy((FederatedQueue("root.prod", weight=1, max_running=1),))


def submission(number: int, queue: str = "prod", user: str = "alice", name: str = "etl", tag: str = "") -> Submission:
    id_ = ApplicationId(FEDERATION_TIMESTAMP_MS, number)
    tags = f'"application-tags":{{"tag":["{tag}"]}},' if tag else ""
    body = f'{{"application-id":"{id_}","application-name":"{name}","queue":"{queue}",{tags}"a-new-field":[1]}}'
    return decode_submission(body.encode(), media_type="application/json", user=user)


def id_of(number: int) -> ApplicationId:
    return ApplicationId(FEDERATION_TIMESTAMP_MS, number)


@dataclass
class Front:
    """A Heddle with a policy."""

    federation: ScriptedFederation
    heddle: ScriptedHeddle
    room: AdmissionQueue
    submissions: SubmissionService
    starting: Starting
    reading: ApplicationReading
    policy: SharePolicy

    async def submit(self, *args: Any, **kwargs: Any) -> Any:
        return await self.submissions.submit(submission(*args, **kwargs))

    async def shown(self, number: int) -> tuple[str, str]:
        read = await self.reading.application(id_of(number), viewer=Viewer("alice"))
        return read.document.summary.state.value, read.document.raw.decode()

    async def end(self, number: int) -> None:
        """Let an application end at its home, and hear of it."""
        for manager in self.federation.managers.values():
            if id_of(number) in manager.applications:
                manager.applications[id_of(number)]["state"] = "FINISHED"
                manager.applications[id_of(number)]["finalStatus"] = "SUCCEEDED"
        await self.heddle.poll()


async def a_front(policy: SharePolicy, federation: ScriptedFederation | None = None) -> Front:
    federation = federation or ScriptedFederation()
    heddle = await federation.start()
    found: list[Front] = []
    room = AdmissionQueue(
        policy=lambda: found[0].policy if found else policy,
        view=heddle.view,
        admissions={},
        store=federation.store,
        clock=federation.clock,
        groups_of=lambda user: frozenset({"ops"} if user == "oscar" else ()),
        settings=usual(ShareSettings),
    )
    reading = ApplicationReading(
        heddle.view, heddle.managers, federation.store, federation.clock, usual(ReadingSettings)
    )
    submissions = SubmissionService(heddle.tools, gate=room, settings=usual(SubmissionSettings))
    starting = Starting(
        room=room,
        submissions=submissions,
        store=federation.store,
        view=heddle.view,
        clock=federation.clock,
        interval_s=1.0,
    )
    found.append(Front(federation, heddle, room, submissions, starting, reading, policy))
    return found[0]


async def test_what_is_above_the_limit_waits_and_is_shown_with_its_reason() -> None:
    front = await a_front(ONE_AT_A_TIME)
    assert (await front.submit(1)).is_delivered
    assert await front.submit(2) == Accepted(NOWHERE, is_delivered=False)
    assert await front.submit(3) == Accepted(NOWHERE, is_delivered=False)
    assert front.federation.who_has(id_of(2)) == []
    await front.starting.round()
    state, raw = await front.shown(3)
    assert state == "ACCEPTED"
    assert "Waits in Heddle for its queue's turn, 2 of 2" in raw
    assert [front.room.place_of(id_of(number)) for number in (1, 2, 3)] == [
        None,
        WaitingPlace(1, 2, None),
        WaitingPlace(2, 2, None),
    ]
    assert "runs its limit of 1 applications" in raw
    listed = await front.reading.applications(viewer=Viewer("bob"))
    assert len(listed.documents) == 3


async def test_who_waits_starts_in_order_when_its_turn_has_come() -> None:
    front = await a_front(ONE_AT_A_TIME)
    for number in (1, 2, 3):
        await front.submit(number)
    await front.end(1)
    await front.starting.round()
    assert len(front.federation.who_has(id_of(2))) == 1
    assert front.federation.who_has(id_of(3)) == []
    record = await front.federation.store.find(id_of(2))
    assert record is not None
    assert record.home_subcluster == front.federation.who_has(id_of(2))[0]
    assert not front.heddle.view.applications.is_waiting(id_of(2))
    assert front.room.waiting == {id_of(3)}


async def test_another_heddle_goes_on_where_one_died() -> None:
    front = await a_front(ONE_AT_A_TIME)
    for number in (1, 2):
        await front.submit(number)
    heir = await a_front(ONE_AT_A_TIME, front.federation)
    assert (await heir.shown(2))[0] == "ACCEPTED"
    await heir.end(1)
    await heir.starting.round()
    assert len(front.federation.who_has(id_of(2))) == 1
    await front.starting.round()
    assert not front.heddle.view.applications.is_waiting(id_of(2))
    assert id_of(2) in {one.summary.application_id for one in front.heddle.view.applications.newest_first()}, (
        "it never vanishes"
    )


async def test_of_two_heddles_one_starts_it() -> None:
    front = await a_front(ONE_AT_A_TIME)
    for number in (1, 2):
        await front.submit(number)
    other = await a_front(ONE_AT_A_TIME, front.federation)
    await front.end(1)
    await other.heddle.poll()
    record = await front.federation.store.find(id_of(2))
    assert record is not None
    await front.submissions.start(record)
    with pytest.raises(Exception, match="re-homed"):
        await other.submissions.start(record)
    assert len(front.federation.who_has(id_of(2))) == 1


async def test_the_same_submission_again_is_the_same() -> None:
    front = await a_front(ONE_AT_A_TIME)
    await front.submit(1)
    first = await front.submit(2)
    assert await front.submit(2) == first
    with pytest.raises(ConflictError):
        await front.submit(2, name="other")
    with pytest.raises(ConflictError):
        await front.submit(2, user="mallory")
    assert len(front.room.waiting) == 1


async def test_its_owner_ends_it_at_once_and_it_never_runs() -> None:
    front = await a_front(ONE_AT_A_TIME)
    await front.submit(1)
    await front.submit(2)
    assert await front.room.kill(id_of(2), Kills("alice"))
    state, raw = await front.shown(2)
    assert state == "KILLED"
    assert "killed by user alice" in raw
    await front.end(1)
    await front.starting.round()
    assert front.federation.who_has(id_of(2)) == []
    assert (await front.submit(2)) == Accepted(NOWHERE, is_delivered=False)
    assert (await front.shown(2))[0] == "KILLED"
    assert not await front.room.kill(id_of(1), Kills("alice"))


async def test_after_a_restart_it_is_still_killed() -> None:
    front = await a_front(ONE_AT_A_TIME)
    await front.submit(1)
    await front.submit(2)
    await front.room.kill(id_of(2), Kills("alice"))
    heir = await a_front(ONE_AT_A_TIME, front.federation)
    assert (await heir.shown(2))[0] == "KILLED"


async def test_only_who_may_ends_what_waits() -> None:
    policy = SharePolicy((FederatedQueue("root.prod", weight=1, max_running=1, administer=("queen", "group:ops")),))
    front = await a_front(policy)
    await front.submit(1)
    for number in (2, 3, 4):
        await front.submit(number)
    with pytest.raises(ForbiddenError, match="MODIFY_APP"):
        await front.room.kill(id_of(2), Kills("mallory"))
    assert await front.room.kill(id_of(2), Kills("queen"))
    assert await front.room.kill(id_of(3), Kills("oscar"))
    assert await front.room.kill(id_of(4), Kills("root", is_admin=True))


async def test_a_submission_goes_into_the_queue_that_it_is_mapped_to_and_the_rest_travels_untouched() -> None:
    policy = SharePolicy((FederatedQueue("root.prod"),), (QueueMapping("root.prod", user="alice"),))
    front = await a_front(policy)
    assert front.room.queue_of(submission(1, queue="default")) == "root.prod"
    await front.submit(1, queue="default")
    await front.submit(2, queue="dev")
    await front.submit(3, queue="default", user="bob")
    record = await front.federation.store.find(id_of(1))
    assert record is not None
    assert record.submission.queue == "root.prod"
    assert b'"queue":"root.prod"' in record.submission.body
    assert b'"a-new-field":[1]' in record.submission.body
    assert await front.submit(1, queue="default") == Accepted(record.home_subcluster, is_delivered=True)
    for number, queue in ((2, "dev"), (3, "default")):
        kept = await front.federation.store.find(id_of(number))
        assert kept is not None
        assert kept.submission.queue == queue


async def test_whoever_names_a_leaf_by_its_last_part_alone_waits_as_the_others_of_its_queue() -> None:
    front = await a_front(ONE_AT_A_TIME)
    for name in front.heddle.view.subclusters:
        front.heddle.view.apply(reports.a_report(name, 99, queues=(reports.a_queue_report("root.prod.etl"),)))
    assert front.room.enter(submission(1, queue="etl")).queue == "root.prod.etl"
    assert front.room.enter(submission(1, queue="other")).queue == "other"


async def test_who_may_not_submit_is_refused_in_the_resource_managers_words() -> None:
    policy = SharePolicy((FederatedQueue("root.prod", submit=("alice", "group:ops")),))
    front = await a_front(policy)
    await front.submit(1)
    await front.submit(2, user="oscar")
    with pytest.raises(ForbiddenError, match="User mallory does not have permission to submit"):
        await front.submit(3, user="mallory")
    assert await front.federation.store.find(id_of(3)) is None


async def test_limits_of_applications_count_those_that_wait() -> None:
    queue = FederatedQueue("root.prod", weight=1, max_running=1, max_applications=3, max_user_applications=2)
    front = await a_front(SharePolicy((queue,)))
    await front.submit(1)
    await front.submit(2)
    with pytest.raises(ForbiddenError, match="already has 2 applications from user alice"):
        await front.submit(3)
    await front.submit(3, user="bob")
    with pytest.raises(ForbiddenError, match="already has 3 applications"):
        await front.submit(4, user="carl")


async def test_another_policy_holds_at_once() -> None:
    front = await a_front(ONE_AT_A_TIME)
    for number in (1, 2, 3):
        await front.submit(number)
    front.policy = SharePolicy()
    await front.starting.round()
    assert front.room.waiting == frozenset()
    assert len(front.federation.who_has(id_of(3))) == 1


async def test_a_refusal_after_the_wait_is_shown_as_a_failure() -> None:
    front = await a_front(ONE_AT_A_TIME)
    for number in (1, 2):
        await front.submit(number)
    await front.end(1)
    for name in ("east", "west"):
        front.federation[name].behave(RejectsSubmissions())
    await front.starting.round()
    document = front.heddle.view.applications.find(id_of(2))
    assert document is not None
    assert document.summary.state is YarnApplicationState.FAILED
    record = await front.federation.store.find(id_of(2))
    assert record is not None
    assert record.state is SubmissionState.REJECTED


async def test_without_a_store_nobody_starts_and_nothing_is_lost() -> None:
    store = SwitchableStore()
    front = await a_front(ONE_AT_A_TIME, ScriptedFederation(store=store))
    for number in (1, 2):
        await front.submit(number)
    await front.end(1)
    store.writes_fail = True
    await front.starting.round()
    assert front.federation.who_has(id_of(2)) == []
    with pytest.raises(StoreUnavailableError):
        await front.room.kill(id_of(2), Kills("alice"))
    store.writes_fail = False
    await front.starting.round()
    assert len(front.federation.who_has(id_of(2))) == 1


async def test_no_home_is_asked_about_what_waits() -> None:
    front = await a_front(ONE_AT_A_TIME)
    await front.submit(1)
    await front.submit(2)
    with pytest.raises(HomeUnreachableError, match="waits for its queue's turn"):
        await front.heddle.routing.home_of(id_of(2))
    heir = await a_front(ONE_AT_A_TIME, front.federation)
    with pytest.raises(HomeUnreachableError, match="waits for its queue's turn"):
        await heir.heddle.routing.home_of(id_of(2))


async def test_how_long_it_will_take_is_told_by_the_present_rate() -> None:
    front = await a_front(ONE_AT_A_TIME)
    for number in range(1, 9):
        await front.submit(number)
    for number in range(1, 5):
        await front.federation.clock.advance(10.0)
        await front.end(number)
        await front.starting.round()
    assert front.room.rate("root.prod") == pytest.approx(5 / 40, rel=0.3)
    _, raw = await front.shown(8)
    assert "3 of 3; about" in raw


async def test_shares_are_kept_where_clusters_tell_what_queues_hold() -> None:
    front = await a_front(SharePolicy((FederatedQueue("root.prod", weight=3), FederatedQueue("root.dev", weight=1))))
    for name in ("east", "west"):
        front.heddle.view.apply(a_report(name, at_s=front.federation.clock.now_s()))
    for number in range(1, 41):
        await front.submissions.submit(a_gib(number, "dev" if number % 2 else "prod"))
    await front.starting.round()
    started = [number for number in range(1, 41) if front.federation.who_has(id_of(number))]
    # 1 to 16 while there was room for both; what dev borrowed is not taken back, but prod gets its 12 at once
    assert started == [*range(1, 17), 18, 20, 22, 24]
    _, raw = await front.shown(17)
    assert "root.dev holds 50% of the federation and is entitled to 25%, and the federation is full" in raw


def a_gib(number: int, queue: str) -> Submission:
    id_ = id_of(number)
    body = f'{{"application-id":"{id_}","queue":"{queue}","resource":{{"memory":1024,"vCores":1}}}}'
    return decode_submission(body.encode(), media_type="application/json", user="alice")


def a_report(name: str, at_s: float) -> SubClusterReport:
    whole = ResourceVector(8192, 8)
    leaves = tuple(
        QueueReport(path, QueueState.RUNNING, is_leaf=True, capacity=whole, maximum=whole, used=ResourceVector())
        for path in ("root.prod", "root.dev")
    )
    return SubClusterReport(
        subcluster=SubClusterId(name),
        sequence=1000,
        polled_at_s=at_s,
        ha_state=HaState.ACTIVE,
        started_on_ms=1000,
        version="3.4.2",
        capacity=whole,
        used=ResourceVector(),
        maximum_allocation=whole,
        queues=leaves,
        documents={"metrics": b"{}", "scheduler": b"{}"},
    )


async def test_one_that_cannot_be_started_stops_no_other_and_is_given_up() -> None:
    front = await a_front(ONE_AT_A_TIME)
    await front.submit(1)
    await front.submit(2)
    await front.submit(3)
    agree = front.heddle.homes.agree

    async def fails_for_the_second(submission: Submission, **kwargs: Any) -> Any:
        if submission.application_id == id_of(2):
            raise ValueError("its context is not plain")
        return await agree(submission, **kwargs)

    front.heddle.homes.agree = fails_for_the_second  # type: ignore[method-assign]
    await front.end(1)
    front.policy = SharePolicy(())
    await front.starting.round()
    assert front.federation.who_has(id_of(3)) != [], "the other starts in the same round"
    assert front.federation.who_has(id_of(2)) == []
    for _ in range(12):
        await front.federation.clock.advance(300.0)
        await front.starting.round()
    record = await front.federation.store.find(id_of(2))
    assert record is not None
    assert record.state is SubmissionState.REJECTED
    assert "given up after" in record.rejection
    assert "not plain" in record.rejection


async def test_who_waits_is_counted_by_queue_until_the_last_has_gone() -> None:
    front = await a_front(ONE_AT_A_TIME)
    for number in (1, 2, 3):
        await front.submit(number)
    assert front.room.counts() == {"root.prod": 2}
    await front.room.kill(id_of(2), Kills("alice"))
    assert front.room.counts() == {"root.prod": 1}
    await front.room.kill(id_of(3), Kills("alice"))
    assert front.room.counts() == {}


async def test_by_work_who_is_known_to_be_least_is_next_but_for_who_waited_too_long() -> None:
    front = await a_front(SharePolicy((FederatedQueue("root.prod", order="work", max_running=1),)))
    room = front.room
    await front.submit(1, name="first")
    await front.submit(2, name="large-2026")
    await front.federation.clock.advance(1.0)
    await front.submit(3, name="small-2027")
    await front.federation.clock.advance(usual(ShareSettings).overtaken_s - 2.0)
    for name, mib_s in (("large-2025", 9_000.0), ("small-2025", 100.0)):
        past = reports.a_document(9, "east", "FINISHED")
        summary = replace(past.summary, name=name, queue="root.prod", final_status=FinalStatus.SUCCEEDED)
        room.learn(past.but(summary=summary), mib_s)
    room.look()
    assert [*room.latest.starters, *room.latest.queues["root.prod"]] == [id_of(3), id_of(2)]
    await front.federation.clock.advance(1.5)
    room.look()
    assert [*room.latest.starters, *room.latest.queues["root.prod"]] == [id_of(2), id_of(3)]


@pytest.mark.parametrize(
    ("containers", "goes_by_them"),
    [("jockey", True), ("jockey:slack=1.5", True), ("tetrisched", True), ("alsched", True), ("learnt-work", False)],
)
async def test_by_work_deadlines_order_starts_where_they_order_containers_until_they_are_over(containers, goes_by_them):
    queue = FederatedQueue("root.prod", order="work", containers=containers, max_running=1)
    front = await a_front(SharePolicy((queue,)))
    room = front.room
    await front.submit(1)
    for number, tag in ((2, ""), (3, "heddle-deadline=+9m"), (4, "heddle-deadline=+5m"), (5, "soon")):
        await front.submit(number, tag=tag)
    for waited_s, due_first in ((1.0, [4, 3, 2, 5]), (400.0, [3, 2, 4, 5]), (200.0, [2, 3, 4, 5])):
        await front.federation.clock.advance(waited_s)
        room.look()
        wanted = due_first if goes_by_them else [2, 3, 4, 5]
        assert [*room.latest.starters, *room.latest.queues["root.prod"]] == [id_of(number) for number in wanted]


async def test_who_waits_for_as_long_as_its_tokens_last_is_held_by_no_order() -> None:
    front = await a_front(SharePolicy((FederatedQueue("root.prod", order="work", max_running=1),)))
    for number in (1, 2):
        await front.submit(number)
    for waited_s, is_released in ((12 * 3600.0, False), (1.0, True)):
        await front.federation.clock.advance(waited_s)
        (pending,) = front.room._applications(9)
        assert pending.is_released is is_released


@pytest.mark.parametrize(("told", "asked_for"), [("ml", "root.ml"), ("root.ml", "ml"), ("default", "")])
async def test_work_is_learnt_also_in_queues_that_the_policy_does_not_name(told: str, asked_for: str) -> None:
    room = (await a_front(SharePolicy())).room
    past = reports.a_document(1, "east", "FINISHED")
    room.learn(past.but(summary=replace(past.summary, queue=told)), 100.0)
    again = a_submission(2, queue=asked_for, name=past.summary.name, user=past.summary.user, application_type="YARN")
    assert room.expected_of_submission(again).runs == 1
    assert room.expected_of(replace(past.summary, queue=told)).runs == 1


async def test_what_failed_teaches_nothing_of_its_work() -> None:
    front = await a_front(SharePolicy((FederatedQueue("root.default", order="work"),)))
    for state in ("FAILED", "KILLED"):
        front.room.learn(reports.a_document(1, "east", state), 100.0)
    assert front.room.work.expected("root.default", "alice YARN job") == NO_EXPECTATION
    front.room.learn(reports.a_document(1, "east", "FINISHED"), 100.0)
    assert front.room.work.expected("root.default", "alice YARN job").runs == 1


@pytest.mark.parametrize(
    ("expected_s", "told"),
    [(None, "3 of 9: full."), (90.0, "3 of 9; about 90 s at"), (600.0, "about 10 min at"), (9000.0, "about 2 h at")],
)
def test_position_and_time_are_told(expected_s, told):
    assert told in WaitingPlace(3, 9, expected_s).told("full")
