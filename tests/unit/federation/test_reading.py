import asyncio
import json

import pytest

from shim.domain.access_lists import Viewer
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.domain.submissions import SubmissionState
from shim.errors import HomeUnreachableError, NotFoundError, StoreUnavailableError
from shim.federation.core.account_book import AccountBook
from shim.federation.core.federation_view import FederationView, Part, ViewSettings
from shim.federation.documents import DocumentReading
from shim.federation.poller import PollSchedule, SubClusterPoller, ViewIntake
from shim.federation.reading import ApplicationReading, ReadingSettings
from shim.protocol.rest.usage import UsageForm
from shim.simulation.state_stores import InMemoryStateStore
from tests.doubles.builders import a_record, a_submission
from tests.doubles.clock import FakeClock
from tests.doubles.misbehaviours import (
    FailsInternally,
    IsNeverReached,
    IsPaused,
    IsRecovering,
)
from tests.doubles.resource_manager import AnswersProperly, ScriptedResourceManager
from tests.doubles.settings import usual

EAST, WEST = SubClusterId("east"), SubClusterId("west")
ONE, TWO = ApplicationId(1, 1), ApplicationId(1, 2)


class Federation:
    def __init__(self, *, guarded=()):
        self.clock = FakeClock()
        self.managers = {name: ScriptedResourceManager(name, clock=self.clock) for name in (EAST, WEST)}
        self.view = FederationView(tuple(self.managers), usual(ViewSettings), accounts=AccountBook(UsageForm()))
        self.store = InMemoryStateStore(now_s=self.clock.now_s)
        settings = usual(ReadingSettings, guarded=frozenset(guarded))
        self.reading = ApplicationReading(self.view, self.managers, self.store, self.clock, settings)
        self.documents = DocumentReading(self.view, self.managers, self.clock, settings)
        intake = ViewIntake(self.view, self.clock)
        self.masters = [
            SubClusterPoller(manager, intake, self.clock, usual(PollSchedule)) for manager in self.managers.values()
        ]
        self.east, self.west = self.managers[EAST], self.managers[WEST]

    async def poll(self):
        polls = asyncio.gather(*(master.poll() for master in self.masters))
        await self.clock.settle()
        while not polls.done():
            await self.clock.advance(0.5)
        for manager in self.managers.values():
            manager.requests.clear()

    async def read(self, application_id, viewer="alice"):
        return await self.reading.application(application_id, viewer=Viewer(viewer))

    async def state(self, application_id, viewer="alice"):
        return (await self.read(application_id, viewer)).document.summary.state.value

    async def listed(self, viewer="alice"):
        read = await self.reading.applications(viewer=Viewer(viewer))
        return {item.summary.application_id: item.summary.state.value for item in read.documents}

    def asked(self):
        return [len(manager.requests) for manager in self.managers.values()]


@pytest.fixture
async def federation():
    made = Federation()
    made.east.add_application(ONE, "RUNNING")
    made.west.add_application(TWO, "FINISHED")
    await made.poll()
    return made


async def test_a_young_document_is_read_without_asking_anybody(federation):
    await federation.clock.advance(0.9)
    read = await federation.read(ONE)
    assert read.document.summary.state.value == "RUNNING"
    assert read.freshness.as_of_s == pytest.approx(federation.clock.now_s() - 0.9)
    assert federation.asked() == [0, 0]


async def test_an_older_one_is_asked_for_once_for_all_who_ask_at_the_same_time(federation):
    await federation.clock.advance(1.5)
    federation.east.move(ONE, "FINISHED")
    states = await asyncio.gather(*(federation.state(ONE) for _ in range(20)))
    assert states == ["FINISHED"] * 20
    assert federation.asked() == [1, 0]


async def test_a_reader_who_gives_up_does_not_spoil_it_for_the_others(federation):
    await federation.clock.advance(1.5)
    impatient = asyncio.create_task(federation.read(ONE))
    patient = asyncio.create_task(federation.read(ONE))
    await asyncio.sleep(0)
    impatient.cancel()
    assert (await patient).document.summary.state.value == "RUNNING"
    assert federation.asked() == [1, 0]


async def test_a_final_document_is_never_asked_for_again_and_never_old(federation):
    await federation.clock.advance(3600.0)
    federation.west.behave(IsNeverReached())
    read = await federation.read(TWO)
    assert read.document.summary.state.value == "FINISHED"
    assert read.freshness.as_of_s == federation.clock.now_s()
    assert read.freshness.missing == ()
    assert federation.asked() == [0, 0]


async def test_a_home_that_does_not_answer_gives_what_was_known_with_its_age_and_is_named(federation):
    told_at_s = federation.clock.now_s()
    await federation.clock.advance(1.5)
    federation.east.behave(FailsInternally())
    read = await federation.read(ONE)
    assert read.document.summary.state.value == "RUNNING"
    assert read.freshness.missing == (EAST,)
    assert read.freshness.as_of_s == told_at_s


async def test_nobody_waits_longer_than_two_seconds_for_a_paused_home_and_not_at_all_once_that_is_known(federation):
    await federation.clock.advance(1.5)
    federation.east.behave(IsPaused())
    reader = asyncio.create_task(federation.read(ONE))
    await federation.clock.advance(2.0)
    assert reader.done()
    assert reader.result().freshness.missing == (EAST,)
    await federation.poll()
    began_s = federation.clock.now_s()
    assert (await federation.read(ONE)).freshness.missing == (EAST,)
    assert federation.clock.now_s() == began_s
    assert federation.asked() == [0, 0]


async def test_an_application_that_nobody_knows_is_not_found(federation):
    with pytest.raises(NotFoundError, match="application_9_0009 not found"):
        await federation.read(ApplicationId(9, 9))


async def test_one_that_nobody_told_of_yet_is_found_by_asking_everybody(federation):
    unknown = ApplicationId(5, 5)
    federation.west.add_application(unknown, "ACCEPTED")
    assert await federation.state(unknown) == "ACCEPTED"


async def test_one_that_may_be_at_a_silent_sub_cluster_is_not_called_unknown(federation):
    federation.east.behave(IsNeverReached())
    with pytest.raises(HomeUnreachableError, match="east cannot be asked now"):
        await federation.read(ApplicationId(9, 9))


async def test_one_that_the_store_knows_is_asked_for_at_its_home_only(federation):
    record = a_record(7, home="west")
    await federation.store.insert_intent(record)
    application_id = record.submission.application_id
    federation.west.add_application(application_id, "RUNNING")
    federation.east.behave(IsNeverReached())
    assert await federation.state(application_id) == "RUNNING"
    assert federation.asked() == [0, 1]


@pytest.mark.parametrize("home", ["east", "gone"])  # which may be out of the configuration by now
async def test_one_that_was_lost_with_its_home_is_told_from_the_store_and_nobody_is_asked(federation, home):
    record = a_record(3, home=home)
    await federation.store.insert_intent(record)
    await federation.store.settle(record.submission.application_id, SubmissionState.SUBMITTED)
    await federation.store.give_up(record.progress, reason="Lost with its sub-cluster.")
    read = await federation.read(record.submission.application_id)
    assert read.document.summary.state.value == "FAILED"
    assert b"Lost with its sub-cluster." in read.document.raw
    assert federation.asked() == [0, 0]


async def test_reads_go_on_without_the_store(federation):
    class IsAway(InMemoryStateStore):
        async def find(self, application_id):  # noqa: ARG002 - the port's
            raise StoreUnavailableError("disk full")

    store = IsAway(now_s=federation.clock.now_s)
    reading = ApplicationReading(federation.view, federation.managers, store, federation.clock, usual(ReadingSettings))
    unknown = ApplicationId(5, 5)
    federation.west.add_application(unknown, "RUNNING")
    assert (await reading.application(unknown, viewer=Viewer("a"))).document.summary.home_subcluster == WEST


async def test_an_application_that_its_home_has_forgotten_is_not_found(federation):
    await federation.clock.advance(1.5)
    del federation.east.applications[ONE]
    with pytest.raises(NotFoundError):
        await federation.read(ONE)


async def test_a_recovering_home_that_says_404_is_not_believed(federation):
    await federation.clock.advance(1.5)
    federation.east.restart()
    federation.east.behave(IsRecovering())
    read = await federation.read(ONE)
    assert read.document.summary.state.value == "RUNNING"
    assert read.freshness.missing == (EAST,)


async def test_a_home_that_restarted_since_the_last_poll_is_not_believed_when_it_says_404(federation):
    await federation.clock.advance(1.5)
    federation.east.restart(forgets=True)
    assert await federation.state(ONE) == "RUNNING"


# ---------------------------------------------------------------------- own writes


async def test_a_write_is_seen_by_the_next_read_however_young_the_document_is(federation):
    federation.east.move(ONE, "KILLED")
    assert await federation.state(ONE) == "RUNNING"
    federation.reading.mark_written(ONE)
    assert await federation.state(ONE) == "KILLED"


async def test_a_write_is_seen_by_the_next_list(federation):
    federation.east.move(ONE, "KILLED")
    federation.reading.mark_written(ONE)
    assert (await federation.listed())[ONE] == "KILLED"
    asked = federation.asked()
    await federation.listed()
    assert federation.asked() == asked


async def test_a_read_after_a_write_does_not_join_a_question_from_before_it(federation):
    class AnswersLater:
        def __init__(self, clock):
            self.clock = clock

        async def __call__(self, manager, request, _):
            answer = manager.take(request)
            await self.clock.sleep(1.0)
            return answer

    await federation.clock.advance(1.5)
    federation.east.behave(AnswersLater(federation.clock))
    before = asyncio.create_task(federation.read(ONE))
    await federation.clock.advance(0.5)
    federation.east.move(ONE, "KILLED")
    federation.reading.mark_written(ONE)
    after = asyncio.create_task(federation.read(ONE))
    await federation.clock.advance(2.0)
    assert (await before).document.summary.application_id == ONE
    assert (await after).document.summary.state.value == "KILLED"


async def test_a_submission_is_listed_at_once_and_as_its_home_tells_if_that_answers(federation):
    submission = a_submission(3, queue="prod", application_type="SPARK", tags=("a",), resource=ResourceVector(1, 1))
    federation.east.behave(IsNeverReached())
    federation.reading.mark_submitted(submission, EAST)
    assert (await federation.listed())[submission.application_id] == "SUBMITTED"
    read = await federation.read(submission.application_id)
    assert read.freshness.missing == (EAST,)
    assert read.document.summary.started_at_ms == int(federation.clock.now_s() * 1000)
    told = json.loads(read.document.raw)
    assert (told["state"], told["finalStatus"], told["queue"]) == ("SUBMITTED", "UNDEFINED", "root.prod")
    assert (told["user"], told["applicationType"], told["applicationTags"]) == ("alice", "SPARK", "a")
    federation.east.behave(AnswersProperly())
    federation.east.add_application(submission.application_id, "ACCEPTED")
    await federation.poll()
    assert (await federation.listed())[submission.application_id] == "ACCEPTED"


async def test_a_list_does_not_wait_for_a_home_that_is_known_not_to_answer(federation):
    federation.east.behave(IsPaused())
    await federation.poll()
    federation.reading.mark_written(ONE)
    read = await federation.reading.applications(viewer=Viewer("alice"))
    assert read.freshness.missing == (EAST,)
    assert federation.asked() == [0, 0]
    assert {item.summary.application_id for item in read.documents} == {ONE, TWO}


async def test_a_submission_that_is_in_the_store_and_forgotten_by_its_home_stays_listed(federation):
    record = a_record(3, home="east", state=SubmissionState.SUBMITTED)
    federation.reading.mark_submitted(record.submission, EAST)
    federation.east.add_application(record.submission.application_id, "RUNNING")
    await federation.poll()
    federation.east.restart(forgets=True)
    await federation.poll()
    assert (await federation.listed())[record.submission.application_id] == "RUNNING"
    assert record.submission.application_id in federation.view.applications.forgotten


@pytest.mark.parametrize(
    ("text", "after_s", "is_at_hand"),
    [
        (str(ONE), 0.0, True),
        (str(ONE), 1.0, True),
        (str(ONE), 1.001, False),
        (str(TWO), 1000.0, True),  # it has ended
        ("application_1_0003", 0.0, False),
        ("application_1_x", 0.0, False),
        ("", 0.0, False),
    ],
)
async def test_what_needs_no_question_is_at_hand(federation, text, after_s, is_at_hand):
    as_of_s = federation.view.applications.find(ONE).as_of_s
    await federation.clock.advance(as_of_s + after_s - federation.clock.now_s() if after_s < 2 else after_s)
    assert federation.reading.is_at_hand(text) is is_at_hand


async def test_what_was_written_is_not_at_hand_nor_are_lists_with_it(federation):
    assert federation.reading.are_lists_at_hand
    federation.reading.mark_written(ONE)
    assert not federation.reading.is_at_hand(str(ONE))
    assert not federation.reading.are_lists_at_hand


async def test_one_that_a_late_sub_cluster_may_have_is_not_asked_for_there(federation):
    await federation.clock.advance(60.0)
    federation.view.note_failure(WEST, "away", at_s=federation.clock.now_s())
    with pytest.raises(HomeUnreachableError, match="west"):
        await federation.read(ApplicationId(1, 9))
    assert federation.asked()[1] == 0


# ---------------------------------------------------------------------- access lists


@pytest.fixture
async def guarded():
    made = Federation(guarded=[EAST])
    made.east.add_application(ONE, "RUNNING")
    made.west.add_application(TWO, "RUNNING")
    await made.poll()
    made.east.behave(ShowsByViewer())
    return made


class ShowsByViewer:
    """Access lists: only alice sees diagnostics."""

    async def __call__(self, manager, request, timeout_s):
        answer = await AnswersProperly()(manager, request, timeout_s)
        seen = b'"diagnostics":"secret of %s"' % (request.user or "nobody").encode()
        return type(answer)(answer.status, answer.headers, answer.body.replace(b'"diagnostics":""', seen))


async def test_where_access_lists_are_on_everybody_sees_what_was_asked_as_them(guarded):
    for viewer in ("alice", "bob", "alice"):
        read = await guarded.read(ONE, viewer)
        assert b"secret of %s" % viewer.encode() in read.document.raw
        listed = await guarded.reading.applications(viewer=Viewer(viewer))
        raw = {item.summary.application_id: item.raw for item in listed.documents}
        assert b"secret of %s" % viewer.encode() in raw[ONE]
        assert b"secret" not in raw[TWO]
    assert {request.user for request in guarded.east.requests} == {"alice", "bob"}
    assert len(guarded.east.requests) == 4


async def test_where_access_lists_are_on_nothing_is_at_hand(guarded):
    assert guarded.reading.is_at_hand(str(TWO))
    assert not guarded.reading.is_at_hand(str(ONE))
    assert not guarded.reading.are_lists_at_hand
    assert [guarded.reading.is_guarded(each) for each in (EAST, WEST)] == [True, False]


async def test_where_access_lists_are_on_what_is_too_old_is_shown_and_said_to_be(guarded):
    await guarded.listed("alice")
    guarded.east.behave(IsNeverReached())
    await guarded.clock.advance(2.0)
    read = await guarded.reading.applications(viewer=Viewer("alice"))
    assert sorted(each.summary.application_id for each in read.documents) == [ONE, TWO]
    assert read.freshness.missing == (EAST,)


async def test_where_access_lists_are_on_one_that_ended_is_asked_for_once_and_never_old(guarded):
    guarded.east.move(ONE, "FINISHED")
    assert await guarded.state(ONE) == "FINISHED"
    guarded.east.requests.clear()
    guarded.east.behave(IsNeverReached())
    await guarded.clock.advance(1000.0)
    read = await guarded.read(ONE)
    assert (read.document.summary.state.value, read.freshness.missing) == ("FINISHED", ())
    assert guarded.east.requests == []


async def test_where_access_lists_are_on_an_application_that_spans_is_listed_once_with_all_that_it_uses():
    part = {"applicationTags": "heddle-span", "applicationType": "HEDDLE"}
    made = Federation(guarded=[EAST, WEST])
    for home, other, name in ((made.east, made.west, ONE), (made.west, made.east, TWO)):
        home.add_application(name, memorySeconds=100)
        other.add_application(name, memorySeconds=11, **part)
    await made.poll()
    for name in (ONE, TWO):
        read = await made.read(name)
        assert (json.loads(read.document.raw)["memorySeconds"], read.document.summary.application_type) == (111, "YARN")
    listed = (await made.reading.applications(viewer=Viewer("alice"))).documents
    assert sorted(each.summary.application_id for each in listed) == [ONE, TWO]
    assert [json.loads(each.raw)["memorySeconds"] for each in listed] == [111, 111]


async def test_where_access_lists_are_on_versions_are_of_one_viewer(guarded):
    numbers = [
        (await guarded.reading.applications(viewer=Viewer(viewer))).version for viewer in ("alice", "bob", "alice")
    ]
    assert numbers[0] == numbers[2] != numbers[1]
    await guarded.clock.advance(2.0)
    assert (await guarded.reading.applications(viewer=Viewer("alice"))).version not in numbers


async def test_where_access_lists_are_on_a_silent_home_shows_nobody_what_another_saw(guarded):
    await guarded.read(ONE, "alice")
    guarded.east.behave(IsNeverReached())
    await guarded.clock.advance(2.0)
    assert (await guarded.read(ONE, "alice")).freshness.missing == (EAST,)
    with pytest.raises(HomeUnreachableError):
        await guarded.read(ONE, "bob")
    listed = await guarded.reading.applications(viewer=Viewer("bob"))
    assert [item.summary.application_id for item in listed.documents] == [TWO]
    assert listed.freshness.missing == (EAST,)


async def test_where_access_lists_are_on_a_list_is_young_until_its_age_is_the_most(guarded):
    staleness_s = usual(ReadingSettings).staleness_s

    async def lists_asked_for():
        guarded.east.requests.clear()
        await guarded.listed()
        return sum(request.path.endswith("/apps") for request in guarded.east.requests)

    assert await lists_asked_for() == 1
    await guarded.clock.advance(staleness_s / 2)
    guarded.reading.mark_written(ONE)
    assert await lists_asked_for() == 1, "one from before a write is too old"
    await guarded.clock.advance(staleness_s)
    assert await lists_asked_for() == 0, "as old as it may be"
    await guarded.clock.advance(0.001)
    assert await lists_asked_for() == 1


async def test_where_access_lists_are_on_own_writes_are_seen_too(guarded):
    await guarded.read(ONE, "alice")
    await guarded.listed("alice")
    guarded.east.move(ONE, "KILLED")
    await guarded.clock.advance(0.1)
    guarded.reading.mark_written(ONE)
    assert await guarded.state(ONE, "alice") == "KILLED"
    assert (await guarded.listed("alice"))[ONE] == "KILLED"


# ---------------------------------------------------------------------- other parts


async def test_parts_come_from_the_last_poll_in_the_configured_order(federation):
    read = await federation.documents.part(Part.NODES)
    assert list(read.documents) == [EAST, WEST]
    assert read.freshness.missing == ()
    assert federation.asked() == [0, 0]


async def test_a_touched_part_is_asked_for_first(federation):
    federation.east.nodes.clear()
    await federation.clock.advance(0.1)
    federation.documents.mark_touched(EAST, Part.NODES)
    read = await federation.documents.part(Part.NODES)
    assert json.loads(read.documents[EAST].raw) == {"nodes": {}}
    assert federation.asked() == [1, 0]
    await federation.documents.part(Part.NODES)
    assert federation.asked() == [1, 0]


async def test_a_silent_sub_clusters_part_is_there_with_its_age(federation):
    told_at_s = federation.clock.now_s()
    federation.east.behave(IsNeverReached())
    await federation.clock.advance(10.0)
    await federation.poll()
    read = await federation.documents.part(Part.SCHEDULER)
    assert read.documents[EAST].as_of_s == told_at_s
    assert read.freshness.missing == (EAST,)
    assert read.freshness.as_of_s == federation.clock.now_s()
    one = await federation.documents.part_of(EAST, Part.SCHEDULER)
    assert (one.freshness.as_of_s, one.freshness.missing) == (told_at_s, (EAST,))


async def test_a_part_that_was_never_told_is_asked_for_and_said_to_be_out_of_reach_if_need_be():
    federation = Federation()
    assert (await federation.documents.part_of(EAST, Part.METRICS)).documents[EAST].raw
    federation.west.behave(IsNeverReached())
    with pytest.raises(HomeUnreachableError, match="west has not told its metrics yet"):
        await federation.documents.part_of(WEST, Part.METRICS)


async def test_where_access_lists_are_on_two_who_list_at_once_are_asked_for_apart(guarded):
    both = ("alice", "bob")
    listed = await asyncio.gather(*(guarded.reading.applications(viewer=Viewer(viewer)) for viewer in both))
    for viewer, read in zip(both, listed, strict=True):
        raw = {item.summary.application_id: item.raw for item in read.documents}
        assert b"secret of %s" % viewer.encode() in raw[ONE]
    assert sorted(request.user for request in guarded.east.requests) == ["alice", "bob"]


class ShowsByViewerOnceLetGo(ShowsByViewer):
    """The same; what was asked is read at once, and told when it is let go."""

    def __init__(self):
        self.asked = 0
        self.may_answer = asyncio.Event()

    async def __call__(self, manager, request, timeout_s):
        answer = await super().__call__(manager, request, timeout_s)
        self.asked += 1
        await self.may_answer.wait()
        return answer


async def test_where_access_lists_are_on_a_read_that_began_before_a_write_is_not_shared_after_it(guarded):
    slow = ShowsByViewerOnceLetGo()
    guarded.east.behave(slow)
    before = asyncio.create_task(guarded.state(ONE, "alice"))
    await guarded.clock.settle()
    guarded.east.move(ONE, "KILLED")
    await guarded.clock.advance(0.1)
    guarded.reading.mark_written(ONE)
    after = asyncio.create_task(guarded.state(ONE, "alice"))
    await guarded.clock.settle()
    slow.may_answer.set()
    assert await before == "RUNNING"
    assert await after == "KILLED"
    assert slow.asked == 2


@pytest.mark.parametrize("behaviour", [AnswersProperly, IsNeverReached])
@pytest.mark.parametrize("is_touched", [False, True])
@pytest.mark.parametrize("is_late", [False, True])
async def test_a_part_of_one_is_asked_for_when_it_was_touched_and_it_is_known_to_answer(
    federation, behaviour, is_touched, is_late
):
    polled_at_s = federation.view.part(EAST, Part.NODES).as_of_s
    if is_late:
        federation.view.note_failure(EAST, "refused", at_s=federation.clock.now_s())
    await federation.clock.advance(0.5)
    if is_touched:
        federation.documents.mark_touched(EAST, Part.NODES)
    federation.east.behave(behaviour())
    federation.east.nodes.clear()
    read = await federation.documents.part_of(EAST, Part.NODES)
    is_asked = is_touched and not is_late
    is_told = is_asked and behaviour is AnswersProperly
    assert federation.asked() == [int(is_asked), 0]
    assert (list(read.documents), json.loads(read.documents[EAST].raw) == {"nodes": {}}) == ([EAST], is_told)
    as_of_s = federation.clock.now_s() if is_told else polled_at_s
    assert (read.documents[EAST].as_of_s, read.freshness.as_of_s) == (as_of_s, as_of_s)
    assert read.freshness.missing == (() if is_told or not (is_late or is_asked) else (EAST,))
    assert read.version == federation.view.version(Part.NODES)


@pytest.mark.parametrize("behaviour", [AnswersProperly, IsNeverReached])
async def test_a_part_that_was_never_told_is_asked_for_even_of_one_that_is_late(behaviour):
    federation = Federation()
    federation.view.note_failure(EAST, "refused", at_s=federation.clock.now_s())
    federation.east.behave(behaviour())
    if behaviour is IsNeverReached:
        with pytest.raises(HomeUnreachableError, match="sub-cluster east has not told its nodes yet; try again"):
            await federation.documents.part_of(EAST, Part.NODES)
        return
    read = await federation.documents.part_of(EAST, Part.NODES)
    assert (list(read.documents), read.freshness.missing) == ([EAST], (EAST,)), "polls of it fail"
