import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
import structlog

from shim.domain import packed_texts, told_bounds
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.packed_texts import PackedText
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import SubClusterState
from shim.errors import NeverReachedError, NoAnswerError, RemoteProtocolError
from shim.federation import polling
from shim.federation.core.federation_view import FederationView, Part, ViewSettings
from shim.federation.poller import PollSchedule, SubClusterPoller, SubClusterPollers, ViewIntake
from shim.federation.polling import PollSettings, ReadingPace
from shim.ports.resource_manager import RestAnswer
from shim.protocol.rest.queue_trees import read_scheduler
from tests.doubles.clock import FakeClock
from tests.doubles.misbehaviours import (
    AnswersEndlessly,
    AnswersGarbage,
    FailsInternally,
    IsNeverReached,
    IsPaused,
    IsRecovering,
    IsStandby,
    LosesTheAnswer,
)
from tests.doubles.resource_manager import AnswersProperly, ScriptedResourceManager
from tests.doubles.rm_documents import a_node, a_queue
from tests.doubles.settings import usual

EAST = SubClusterId("east")


def app(number):
    return ApplicationId(1, number)


class Federation:
    """One sub-cluster, a view and its Local Master, under a clock that stands still."""

    def __init__(self):
        self.clock = FakeClock()
        self.manager = ScriptedResourceManager("east", clock=self.clock)
        self.view = FederationView((EAST,), usual(ViewSettings, late_after_s=6.0))
        self.listener = Listener()
        self.intake = ViewIntake(self.view, self.clock, [self.listener])
        self.master = SubClusterPoller(self.manager, self.intake, self.clock, usual(PollSchedule, jitter=0.0))

    @asynccontextmanager
    async def running(self):
        task = asyncio.create_task(self.master.run(Random(1)))  # noqa: S311 - a test's jitter
        await self.clock.settle()
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def states(self):
        return {
            item.summary.application_id.sequence: item.summary.state.value
            for item in self.view.applications.newest_first()
        }

    def state(self):
        return self.view.state(EAST, self.clock.now_s())

    def paths(self):
        return [request.path.removeprefix("/ws/v1/cluster/") for request in self.manager.requests]


class Drawn:
    """Implements `RandomSource`: draws one number again and again."""

    def __init__(self, number):
        self.number = number

    def random(self):
        return self.number


class Listener:
    def __init__(self):
        self.reports = []
        self.errors = []

    def reported(self, report, applied):
        self.reports.append((report, applied))

    def failed(self, subcluster, error):
        self.errors.append((subcluster, error))


class PackingFederation(Federation):
    def __init__(self):
        super().__init__()
        schedule = PollSchedule(interval_s=2.0, poll=PollSettings(10.0, is_packed=True))
        self.master = SubClusterPoller(self.manager, self.intake, self.clock, schedule)


async def test_a_view_of_packed_rows_is_the_same(monkeypatch):
    monkeypatch.setattr(packed_texts, "PAGE_BYTES", 200)  # so that documents of this size are packed
    monkeypatch.setattr(polling, "_PLAIN", 4)
    views = []
    for each in (Federation(), PackingFederation()):
        for number in reversed(range(20)):
            await each.clock.advance(0.01)
            each.manager.add_application(app(number), "FINISHED" if number % 3 else "RUNNING")
        await each.master.poll()
        each.manager.move(app(0), "FINISHED")
        await each.master.poll()
        views.append(each.view)
    plainly, packed = views
    told = [view.applications.newest_first() for view in views]
    assert not any(isinstance(each.told, PackedText) for each in told[0])
    stay = [each.summary.application_id.sequence for each in told[1] if isinstance(each.told, bytes)]
    assert stay == [0, 1, 2, 3], "the newest"
    one, other = ([(each.summary, each.raw, each.amounts) for each in some] for some in told)
    assert one == other
    assert isinstance(packed.part(EAST, Part.NODES).told, PackedText)
    for part in (Part.NODES, Part.SCHEDULER):
        assert packed.part(EAST, part).raw == plainly.part(EAST, part).raw


@pytest.fixture
def federation():
    return Federation()


async def test_a_poll_tells_everything(federation):
    federation.manager.add_application(app(1), "RUNNING")
    federation.manager.add_application(app(2), "FINISHED")
    await federation.master.poll()
    seen = federation.view.look(EAST, federation.clock.now_s())
    assert seen.state is SubClusterState.RUNNING
    assert (seen.capacity, seen.maximum_allocation) == (ResourceVector(8192, 8), ResourceVector(8192, 8))
    assert set(seen.queues) == {"root", "root.default", "root.prod"}
    assert len(seen.nodes) == 1
    assert (seen.version, seen.started_on_ms) == ("3.4.2", federation.manager.started_on_ms)
    assert federation.states() == {1: "RUNNING", 2: "FINISHED"}
    assert all(federation.view.part(EAST, part) for part in Part if part is not Part.APPLICATIONS)


async def test_info_is_asked_first_and_last_and_everything_once(federation):
    await federation.master.poll()
    await federation.master.poll()
    paths = federation.paths()
    first = ["info", "metrics", "nodes", "scheduler", "apps", "info"]
    assert paths == [*first, "info", "metrics", "nodes", "scheduler", "apps", "apps", "info"]
    assert federation.manager.requests[4].parameters == ()
    assert federation.manager.requests[10].parameters == (("states", "NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING"),)
    assert "finishedTimeBegin" in dict(federation.manager.requests[11].parameters)


async def test_polls_come_at_their_interval_and_below_five_requests_a_second(federation):
    for number in range(50):
        federation.manager.add_application(app(number), "RUNNING")
    async with federation.running():
        await federation.clock.advance(20.0)
        for number in range(50):
            federation.manager.applications.pop(app(number))
        await federation.clock.advance(40.0)
    assert federation.paths().count("metrics") == 31
    assert len(federation.manager.requests) / 60.0 < 5


@pytest.mark.parametrize(("drawn", "pause_s"), [(0.0, 1.5), (0.5, 2.0), (1.0, 2.5)])
async def test_polls_are_spread_around_their_interval(federation, drawn, pause_s):
    settings = usual(PollSchedule, interval_s=2.0, jitter=0.25)
    federation.master = SubClusterPoller(federation.manager, federation.intake, federation.clock, settings)
    task = asyncio.create_task(federation.master.run(Drawn(drawn)))
    await federation.clock.settle()
    for count in (1, 2, 3):
        await federation.clock.advance(pause_s - 0.01)
        assert federation.paths().count("metrics") == count
        await federation.clock.advance(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_what_ends_between_two_polls_is_told_by_the_next(federation):
    federation.manager.add_application(app(1), "RUNNING")
    async with federation.running():
        await federation.clock.advance(1.0)
        federation.manager.move(app(1), "FAILED")
        federation.manager.add_application(app(2), "RUNNING")
        federation.manager.move(app(2), "KILLED")
        await federation.clock.advance(2.0)
    assert federation.states() == {1: "FAILED", 2: "KILLED"}
    finals = [name for _, applied in federation.listener.reports for name in applied.became_final]
    assert sorted(finals) == [app(1), app(2)]


async def test_a_live_application_that_no_list_tells_of_is_asked_for_by_id(federation):
    federation.manager.add_application(app(1), "RUNNING")
    async with federation.running():
        federation.manager.move(app(1), "FINISHED")
        federation.manager.applications[app(1)]["finishedTime"] = 1
        await federation.clock.advance(2.0)
    assert f"apps/{app(1)}" in federation.paths()
    assert federation.states() == {1: "FINISHED"}


async def test_an_application_that_its_active_home_does_not_know_is_gone(federation):
    federation.manager.add_application(app(1), "RUNNING")
    async with federation.running():
        federation.manager.restart(forgets=True)
        await federation.clock.advance(2.0)
    assert federation.states() == {}
    assert federation.listener.reports[-1][1].has_restarted


async def test_a_recovering_resource_manager_is_not_believed(federation):
    federation.manager.add_application(app(1), "RUNNING")
    async with federation.running():
        federation.manager.restart()
        federation.manager.behave(IsRecovering())
        await federation.clock.advance(10.0)
        assert federation.state() is SubClusterState.RECOVERING
        assert federation.states() == {1: "RUNNING"}
        federation.manager.behave(AnswersProperly())
        await federation.clock.advance(2.0)
        assert federation.state() is SubClusterState.RUNNING
    assert federation.states() == {1: "RUNNING"}


async def test_one_that_starts_to_recover_in_the_middle_of_a_poll_is_not_believed(federation):
    federation.manager.add_application(app(1), "RUNNING")
    await federation.master.poll()
    federation.manager.behave(SwitchesAfter(4, IsRecovering()))
    await federation.master.poll()
    assert federation.states() == {1: "RUNNING"}
    assert federation.state() is SubClusterState.RECOVERING


class SwitchesAfter:
    """Healthy for some requests, then something else."""

    def __init__(self, count, then):
        self.left = count
        self.then = then

    async def __call__(self, manager, request, timeout_s):
        self.left -= 1
        chosen = AnswersProperly() if self.left >= 0 else self.then
        return await chosen(manager, request, timeout_s)


class RestartsAfter(SwitchesAfter):
    """Another process from some request on, that knows nothing."""

    async def __call__(self, manager, request, timeout_s):
        self.left -= 1
        if self.left == -1:
            manager.restart(forgets=True)
        return await AnswersProperly()(manager, request, timeout_s)


@pytest.mark.parametrize(
    ("switches", "then", "ha_state"),
    [(RestartsAfter, None, "INITIALIZING"), (SwitchesAfter, IsStandby(), "STANDBY")],
    ids=["restarts", "steps down"],
)
async def test_what_happens_while_everything_is_asked_for_is_told_in_place_of_it(federation, switches, then, ha_state):
    for _ in range(2):
        federation.manager.requests.clear()
        await federation.master.poll()
    federation.manager.add_application(app(1), "RUNNING")
    federation.manager.behave(switches(len(federation.manager.requests) - 1, then))
    await federation.master.poll()
    assert federation.view.look(EAST, federation.clock.now_s()).ha_state.value == ha_state
    assert federation.states() == {}


async def test_lists_of_two_processes_are_not_put_together(federation):
    federation.manager.add_application(app(1), "RUNNING")
    await federation.master.poll()
    federation.manager.behave(RestartsAfter(3, None))
    await federation.master.poll()
    assert federation.states() == {1: "RUNNING"}
    federation.manager.behave(AnswersProperly())
    await federation.master.poll()
    assert federation.states() == {}


@pytest.mark.parametrize(
    "behaviour",
    [IsNeverReached(), LosesTheAnswer(), AnswersEndlessly(), AnswersGarbage(), FailsInternally()],
    ids=lambda behaviour: type(behaviour).__name__,
)
async def test_one_that_fails_is_late_at_once_lost_in_time_and_back_within_one_poll(federation, behaviour):
    federation.manager.add_application(app(1), "RUNNING")
    async with federation.running():
        federation.manager.behave(behaviour)
        await federation.clock.advance(2.0)
        assert federation.view.late(federation.clock.now_s()) == (EAST,)
        assert federation.state() is SubClusterState.RUNNING
        await federation.clock.advance(6.0)
        assert federation.state() is SubClusterState.LOST
        assert federation.states() == {1: "RUNNING"}
        federation.manager.behave(AnswersProperly())
        await federation.clock.advance(2.0)
        assert federation.view.late(federation.clock.now_s()) == ()
    assert federation.listener.errors


async def test_one_that_is_away_is_asked_for_info_only(federation):
    federation.manager.behave(IsNeverReached())
    async with federation.running():
        await federation.clock.advance(20.0)
    assert set(federation.paths()) == {"info"}
    assert len(federation.paths()) == 11


async def test_a_paused_one_is_given_up_after_two_seconds_and_only_one_poll_waits(federation):
    async with federation.running():
        paused = IsPaused()
        federation.manager.behave(paused)
        before = len(federation.manager.requests)
        await federation.clock.advance(4.1)
        assert isinstance(federation.listener.errors[-1][1], NoAnswerError)
        assert len(federation.manager.requests) - before <= 2
        paused.wake()
        await federation.clock.advance(4.0)
        assert federation.state() is SubClusterState.RUNNING


class LaggingClock:
    """As of a process that waits for its turn so long after each sleep."""

    def __init__(self, clock, lag_s):
        self.clock, self.lag_s = clock, lag_s
        self.now_s, self.monotonic_s = clock.now_s, clock.monotonic_s

    async def sleep(self, duration_s):
        await self.clock.sleep(duration_s + self.lag_s)


class WaitsUnread:
    """Answers of so many questions for `/info` lie in the socket until time has run out."""

    def __init__(self, count):
        self.left = count

    async def __call__(self, manager, request, timeout_s):
        if request.path.endswith("/info") and self.left > 0:
            self.left -= 1
            return await IsPaused()(manager, request, timeout_s)
        return await AnswersProperly()(manager, request, timeout_s)


def lagging(federation, lag_s):
    settings, clock = usual(PollSchedule, jitter=0.0), LaggingClock(federation.clock, lag_s)
    federation.master = SubClusterPoller(federation.manager, federation.intake, clock, settings)
    return federation


@pytest.mark.parametrize("unread", [1, 2])
async def test_an_answer_that_this_process_had_no_turn_to_read_is_no_failure(federation, unread):
    federation.manager.behave(WaitsUnread(unread))
    async with lagging(federation, 0.5).running():
        await federation.clock.advance(2.0 * unread)
        assert not federation.listener.errors
        assert federation.view.late(federation.clock.now_s()) == ()
        assert federation.state() is SubClusterState.RUNNING
        told = federation.listener.reports[0][0]
        assert told.polled_at_s == federation.clock.now_s(), "its age is that of the last question"


@pytest.mark.parametrize(("lag_s", "asked"), [(0.0, 1), (0.05, 1), (0.09, 1), (0.25, 3), (5.0, 3)])
async def test_who_never_answers_is_given_up_at_once_or_after_three_questions_where_turns_are_few(
    federation, lag_s, asked
):
    federation.manager.behave(IsPaused())
    poll = asyncio.create_task(lagging(federation, lag_s).master.poll())
    await federation.clock.advance(2.0 * asked - 0.01)
    assert not federation.listener.errors
    await federation.clock.advance(0.02)
    is_given_up = poll.done()
    poll.cancel()
    assert is_given_up
    assert [type(error) for _, error in federation.listener.errors] == [NoAnswerError]
    assert len(federation.manager.requests) == asked


async def test_who_refuses_is_given_up_at_once_however_few_turns_there_are(federation):
    federation.manager.behave(IsNeverReached())
    async with lagging(federation, 5.0).running():
        assert len(federation.listener.errors) == len(federation.manager.requests) == 1


async def test_one_whose_reports_heddle_takes_in_late_is_not_lost_and_one_that_is_silent_is(federation):
    async with lagging(federation, 9.0).running():
        for _ in range(60):
            await federation.clock.advance(1.0)
            assert federation.state() is SubClusterState.RUNNING
            assert federation.view.late(federation.clock.now_s()) == ()
        ages_s = [each.polled_at_s for each, _ in federation.listener.reports]
        assert max(later - earlier for earlier, later in pairwise(ages_s)) > 6.0, "each came late"
    async with lagging(federation, 0.0).running():
        federation.manager.behave(IsPaused())
        await federation.clock.advance(4.01)
        assert federation.view.late(federation.clock.now_s()) == (EAST,)
        await federation.clock.advance(2.0)
        assert federation.state() is SubClusterState.LOST, "6 s after it was heard, as ever"


async def test_one_whose_polls_hang_is_late_in_time(federation):
    """A question whose time never runs out, as of a bug."""
    async with federation.running():
        heard_s = federation.clock.now_s()
        federation.manager.behave(HangsForEver())
        await federation.clock.advance(23.9)
        assert federation.view.look(EAST, federation.clock.now_s()).age_s > 6.0, "the age is told as it is"
        assert federation.clock.now_s() - heard_s < 24.0
        assert federation.state() is SubClusterState.RUNNING
        await federation.clock.advance(0.2)
        assert federation.state() is SubClusterState.LOST
        assert federation.view.late(federation.clock.now_s()) == (EAST,)


class HangsForEver:
    async def __call__(self, *_):
        await asyncio.Event().wait()


@pytest.mark.parametrize("jump_s", [-3600.0, 3600.0])
async def test_after_a_jump_of_the_clock_the_prompt_are_running_by_the_next_poll_and_the_silent_late(
    federation, jump_s
):
    async with federation.running():
        federation.clock.wall_s += jump_s
        await federation.clock.advance(2.0)
        assert federation.state() is SubClusterState.RUNNING
        assert federation.view.late(federation.clock.now_s()) == ()
        federation.manager.behave(IsPaused())
        await federation.clock.advance(4.01)
        assert federation.view.late(federation.clock.now_s()) == (EAST,)


async def test_a_standby_is_not_active(federation):
    federation.manager.behave(IsStandby())
    await federation.master.poll()
    assert federation.state() is SubClusterState.RECOVERING
    assert federation.paths() == ["info"]


class TakesItsTime:
    """Healthy, but slow with one path."""

    def __init__(self, path, duration_s):
        self.path = path
        self.duration_s = duration_s

    async def __call__(self, manager, request, timeout_s):
        if request.path.endswith(self.path):
            await manager.clock.sleep(self.duration_s)
        return await AnswersProperly()(manager, request, timeout_s)


async def test_one_that_is_slow_with_lists_is_not_taken_for_lost_and_is_asked_for_them_less_often(federation):
    federation.manager.behave(TakesItsTime("apps", 5.0))
    async with federation.running():
        await federation.clock.advance(2.0)
        for _ in range(60):
            await federation.clock.advance(1.0)
            assert federation.state() is SubClusterState.RUNNING
        assert federation.view.look(EAST, federation.clock.now_s()).age_s <= 2.0
    assert federation.paths().count("apps") <= 5


async def test_the_age_of_a_list_is_that_of_its_question(federation):
    federation.manager.behave(TakesItsTime("apps", 5.0))
    began_s = federation.clock.now_s()
    async with federation.running():
        await federation.clock.advance(6.0)
        assert federation.view.as_of_s(EAST, Part.APPLICATIONS) == began_s


async def test_clock_skew_is_told_by_the_date(federation):
    class IsAhead:
        async def __call__(self, manager, request, timeout_s):
            answer = await AnswersProperly()(manager, request, timeout_s)
            date = ("Date", "Fri, 15 Jan 2027 08:01:00 GMT")
            return type(answer)(answer.status, (*answer.headers, date), answer.body)

    federation.manager.behave(IsAhead())
    await federation.master.poll()
    assert federation.clock.now_s() == 1_800_000_000.0
    assert federation.view.look(EAST, federation.clock.now_s()).clock_skew_s == pytest.approx(60.5)


@pytest.mark.parametrize(("date", "skew_s"), [("08:01:00", 60.5), ("07:59:00", -59.5)])
async def test_what_ended_is_asked_for_by_the_clock_of_its_resource_manager(federation, date, skew_s):
    class IsOff:
        async def __call__(self, manager, request, timeout_s):
            answer = await AnswersProperly()(manager, request, timeout_s)
            return replace(answer, headers=(*answer.headers, ("Date", f"Fri, 15 Jan 2027 {date} GMT")))

    federation.manager.behave(IsOff())
    began_s = federation.clock.now_s()
    await federation.master.poll()
    federation.clock.wall_s += 2.0
    await federation.master.poll()
    since_ms = [dict(each.parameters).get("finishedTimeBegin") for each in federation.manager.requests]
    (told_ms,) = filter(None, since_ms)
    overlap_s = PollSettings(timeout_s=1.0).overlap_s
    assert int(told_ms) == pytest.approx((began_s + skew_s - overlap_s) * 1000, abs=1)


async def test_a_bug_in_one_poll_does_not_end_the_polls(federation):
    class HasABug:
        async def __call__(self, *_):
            raise ZeroDivisionError

    federation.manager.behave(HasABug())
    async with federation.running():
        federation.manager.behave(AnswersProperly())
        await federation.clock.advance(2.0)
        assert federation.state() is SubClusterState.RUNNING


async def test_a_poll_can_be_asked_for(federation):
    async with federation.running():
        federation.manager.add_application(app(1), "RUNNING")
        federation.master.poll_soon()
        await federation.clock.settle()
        assert federation.states() == {1: "RUNNING"}


async def test_a_poll_can_be_asked_for_of_one_sub_cluster_of_several():
    clock = FakeClock()
    managers = {SubClusterId(name): ScriptedResourceManager(name, clock=clock) for name in ("east", "west")}
    view = FederationView(tuple(managers), usual(ViewSettings))
    settings = usual(PollSchedule, jitter=0.0)
    pollers = SubClusterPollers(view, managers, clock, settings, random=Random(1))  # noqa: S311 - a test's jitter
    pollers.start()
    await clock.settle()
    for manager in managers.values():
        manager.requests.clear()
    pollers.poll_soon(EAST)
    await clock.settle()
    assert [bool(manager.requests) for manager in managers.values()] == [True, False]
    await pollers.stop()


@pytest.mark.parametrize("jitter", [0.0, 0.2])
async def test_polls_begin_an_interval_apart_give_or_take_the_jitter(jitter):
    clock = FakeClock()
    manager, began_s = ScriptedResourceManager("east", clock=clock), list[float]()

    class TakesTime:
        """Half a second for one question of each poll."""

        async def __call__(self, asked, request, timeout_s):
            if request.path.endswith("/metrics"):
                began_s.append(clock.monotonic_s())
                await clock.sleep(0.5)
            return await AnswersProperly()(asked, request, timeout_s)

    manager.behave(TakesTime())
    view = FederationView((EAST,), usual(ViewSettings))
    settings = usual(PollSchedule, jitter=jitter, interval_s=10.0)
    master = SubClusterPoller(manager, ViewIntake(view, clock), clock, settings)
    drawn = Random(7)  # noqa: S311 - a test's jitter
    spreads = [jitter * (2 * drawn.random() - 1) for _ in range(5)]
    running = asyncio.create_task(master.run(Random(7)))  # noqa: S311
    while len(began_s) < 6:
        await clock.advance(0.125)
    running.cancel()
    await asyncio.wait({running})
    apart = [later - earlier for earlier, later in pairwise(began_s)]
    assert apart == pytest.approx([10.0 * (1 + spread) for spread in spreads], abs=1e-6)


async def test_pollers_begin_and_end_with_every_sub_cluster():
    clock = FakeClock()
    managers = {SubClusterId(name): ScriptedResourceManager(name, clock=clock) for name in ("east", "west")}
    managers[EAST].behave(IsNeverReached())
    view = FederationView(tuple(managers), usual(ViewSettings))
    settings = usual(PollSchedule, jitter=0.1)
    pollers = SubClusterPollers(view, managers, clock, settings, random=Random(1))  # noqa: S311 - a test's jitter
    listener = Listener()
    pollers.listen(listener)
    pollers.start()
    await pollers.first_polls()
    assert view.late(clock.now_s()) == (EAST,)
    assert [report.subcluster for report, _ in listener.reports] == ["west"]
    assert [subcluster for subcluster, _ in listener.errors] == [EAST]
    await pollers.stop()
    asked = len(managers[EAST].requests)
    await clock.advance(10.0)
    assert len(managers[EAST].requests) == asked


def asked_for(manager, path):
    return sum(request.path == f"/ws/v1/cluster/{path}" for request in manager.requests)


async def test_lists_of_many_sub_clusters_are_asked_for_less_often_and_everything_else_is_not():
    clock = FakeClock()
    managers = {SubClusterId(name): ScriptedResourceManager(name, clock=clock) for name in ("east", "west", "north")}
    view = FederationView(tuple(managers), usual(ViewSettings))
    for manager in managers.values():
        manager.nodes[:] = [a_node(f"n{number}:1", SIZE) for number in range(10)]
        for number in range(4):
            manager.add_application(app(number), "RUNNING")
    settings = usual(PollSchedule, jitter=0.0, poll=PollSettings(10.0, rows_per_s=4))
    pollers = SubClusterPollers(view, managers, clock, settings, random=Random(1))  # noqa: S311 - a test's jitter
    pollers.start()
    await pollers.first_polls()
    await clock.advance(29.0)
    for manager in managers.values():
        # 30 nodes at 4 a second: every 7.5 s, at polls that come every 2 s; 12 applications: every 3 s
        assert (asked_for(manager, "metrics"), asked_for(manager, "nodes")) == (15, 4)
        assert asked_for(manager, "scheduler") == 15
        assert asked_for(manager, "apps") == 1 + 2 * 7  # what lives, and what has ended
    assert clock.now_s() - view.as_of_s(EAST, Part.APPLICATIONS) < 4.0
    await pollers.stop()


async def test_one_list_is_read_at_a_time_and_one_that_cannot_be_read_holds_none_up():
    pace, clock, seen = ReadingPace(), FakeClock(), []
    managers = [ScriptedResourceManager(name, clock=clock) for name in ("east", "west")]
    view = FederationView(tuple(each.subcluster for each in managers), usual(ViewSettings))
    schedule = usual(PollSchedule, jitter=0.0)
    masters = [SubClusterPoller(each, ViewIntake(view, clock), clock, schedule, pace=pace) for each in managers]
    managers[0].behave(Many(500))
    managers[1].behave(AnswersWith(b'{"apps":{"app":[{"id":', to="/apps"))
    polls = [asyncio.create_task(master.poll()) for master in masters]
    while not all(each.done() for each in polls):
        await asyncio.sleep(0)
        seen.append(pace.turn.locked())
    assert any(seen)
    assert not pace.turn.locked()
    assert len(view.applications.newest_first()) == 500
    assert view.late(clock.now_s()) == (managers[1].subcluster,)


async def test_lists_are_asked_for_some_at_a_time_and_one_that_hangs_holds_none_up():
    clock = FakeClock()
    managers = [ScriptedResourceManager(f"c{number}", clock=clock) for number in range(6)]
    lists = CountsLists()
    for manager in managers:
        manager.behave(lists)
    view = FederationView(tuple(each.subcluster for each in managers), usual(ViewSettings))
    schedule = usual(PollSchedule, jitter=0.0)

    def masters(within_s):
        pace, intake = ReadingPace(most_lists=2, within_s=within_s), ViewIntake(view, clock)
        return [SubClusterPoller(each, intake, clock, schedule, pace=pace) for each in managers]

    await asyncio.gather(*(master.poll() for master in masters(within_s=600.0)))
    assert lists.most == 2
    all_of_them = masters(within_s=0.01)
    for manager in managers[:2]:
        manager.behave(NeverAnswers())
    hanging = [asyncio.create_task(master.poll()) for master in all_of_them[:2]]
    await asyncio.wait_for(asyncio.gather(*(master.poll() for master in all_of_them[2:])), 30.0)
    for each in hanging:
        each.cancel()
    await asyncio.gather(*hanging, return_exceptions=True)


async def test_lists_with_numbers_that_are_none_are_read_and_kept_as_json(federation):
    row = b'{"id":"application_1_0007","state":"RUNNING","queueUsagePercentage":NaN}'
    node = b'{"id":"n1:1","state":"RUNNING","cpuUtilization":-INF,"rack":"NaN"}'
    federation.manager.behave(AnswersWith(b'{"apps":{"app":[%s]}}' % row, to="/apps"))
    await federation.master.poll()
    (document,) = federation.view.applications.newest_first()
    assert json.loads(document.raw)["queueUsagePercentage"] == "NaN"
    federation.manager.behave(AnswersWith(b'{"nodes":{"node":[%s]}}' % node, to="/nodes"))
    await federation.master.poll()
    told = json.loads(federation.view.part(EAST, Part.NODES).raw)["nodes"]["node"]
    assert [(each["cpuUtilization"], each["rack"]) for each in told] == [("-Infinity", "NaN")]
    assert [node.rack for node in federation.view.look(EAST, federation.clock.now_s()).nodes] == ["NaN"]


async def test_time_that_heddle_takes_to_read_is_not_taken_for_the_resource_managers():
    pace, clock = ReadingPace(), FakeClock()
    manager = ScriptedResourceManager("east", clock=clock)
    view = FederationView((EAST,), usual(ViewSettings))
    intake = ViewIntake(view, clock)
    master = SubClusterPoller(manager, intake, clock, usual(PollSchedule, jitter=0.0), pace=pace)
    manager.behave(WhileAnotherIsRead(pace.turn))
    poll = asyncio.create_task(master.poll())
    await clock.advance(9.0)
    pace.turn.release()
    manager.behave(AnswersProperly())
    await poll
    await master.poll()
    assert asked_for(manager, "apps") == 1 + 2


class WhileAnotherIsRead:
    """Tells of applications while the list of another sub-cluster is read."""

    def __init__(self, turn):
        self.turn = turn

    async def __call__(self, manager, request, timeout_s):
        if request.path.endswith("/apps"):
            await self.turn.acquire()
        return await AnswersProperly()(manager, request, timeout_s)


class AnswersWith:
    """Answers with a body where a path ends so, and properly elsewhere."""

    def __init__(self, body, *, to):
        self.body, self.to = body, to

    async def __call__(self, manager, request, timeout_s):
        answer = await AnswersProperly()(manager, request, timeout_s)
        return replace(answer, body=self.body) if request.path.endswith(self.to) else answer


class CountsLists:
    """Knows how many lists were being answered at a time."""

    def __init__(self):
        self.now = self.most = 0

    async def __call__(self, manager, request, timeout_s):
        if not request.path.endswith(("/apps", "/nodes")):
            return await AnswersProperly()(manager, request, timeout_s)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            for _ in range(20):
                await asyncio.sleep(0)
            return await AnswersProperly()(manager, request, timeout_s)
        finally:
            self.now -= 1


class NeverAnswers:
    """Is there, and never answers with a list."""

    async def __call__(self, manager, request, timeout_s):
        if request.path.endswith(("/apps", "/nodes")):
            await asyncio.Event().wait()
        return await AnswersProperly()(manager, request, timeout_s)


class Many:
    """Tells of so many new applications, nodes and queues with each poll."""

    def __init__(self, applications=0, nodes=1, queues=1, **fields):
        self.applications, self.nodes, self.queues, self.fields, self.first = applications, nodes, queues, fields, 1

    async def __call__(self, manager, request, timeout_s):
        manager.nodes[:] = [a_node(f"n{number}:1", SIZE) for number in range(self.nodes)]
        manager.queues[:] = [a_queue(f"root.q{number}", SIZE, maximum=SIZE) for number in range(self.queues)]
        if request.path.endswith("/apps"):
            manager.applications.clear()
            for number in range(self.first, self.first + self.applications):
                manager.add_application(app(number), **self.fields)
            self.first += self.applications
        return await AnswersProperly()(manager, request, timeout_s)


SIZE = ResourceVector(1024, 1)


async def turns_of_others(work):
    """Turns that others had while something was done."""
    task, turns = asyncio.create_task(work), 0
    while not task.done():
        turns += 1
        await asyncio.sleep(0)
    return turns


async def test_others_have_their_turn_while_much_is_read_and_taken_in():
    federation = Federation()
    federation.manager.behave(Many(5, 5, 5))
    few = await turns_of_others(federation.master.poll())
    await federation.clock.advance(60.0)
    federation.manager.behave(Many(3000, 1000, 1000))
    many = await turns_of_others(federation.master.poll())
    assert many - few >= (3000 + 1000 + 1000) // 100 + 3000 // 100
    assert len(federation.states()) == 3000


async def test_what_one_cluster_tells_is_bounded_and_what_is_left_out_is_told(monkeypatch):
    monkeypatch.setattr(polling, "MOST_NODES", 7)
    monkeypatch.setattr(polling, "MOST_QUEUES", 11)
    monkeypatch.setattr(told_bounds, "MOST_APPLICATIONS", 30)
    federation = Federation()
    federation.manager.behave(Many(20, 10, 20))
    with structlog.testing.capture_logs() as logs:
        await federation.master.poll()
        look = federation.view.look(EAST, federation.clock.now_s())
        assert (len(look.nodes), len(look.queues)) == (7, 11)
        assert look.left_out == {"nodes": 3, "queues": 10}
        for _ in range(3):
            await federation.clock.advance(60.0)
            await federation.master.poll()
    look = federation.view.look(EAST, federation.clock.now_s())
    assert look.left_out["applications"] >= 10
    assert len(federation.states()) <= 30 + 2 * usual(PollSchedule).poll.most_fetches
    assert [each["nodes"] for each in logs if each["event"] == "rows_left_out"]


async def test_documents_of_one_cluster_are_bounded_in_bytes(monkeypatch):
    monkeypatch.setattr(told_bounds, "MOST_LIVE_BYTES", 20_000)
    monkeypatch.setattr(told_bounds, "LONGEST_DOCUMENT", 5_000)
    federation = Federation()
    federation.manager.behave(Many(10, name="n" * 3000))
    await federation.master.poll()
    assert 3 <= len(federation.states()) <= 6
    federation = Federation()
    federation.manager.behave(Many(10, state="FINISHED", name="n" * 6000))
    await federation.master.poll()
    assert federation.states() == {}
    assert federation.view.look(EAST, federation.clock.now_s()).left_out == {"applications": 10}


async def test_queues_within_queues_without_end_are_not_walked():
    queue = {"queueName": "q", "queues": None}
    for _ in range(300):
        queue = {"queueName": "q", "queues": {"queue": [queue]}}
    document = {"scheduler": {"schedulerInfo": {**queue, "type": "capacityScheduler"}}}
    with pytest.raises(RemoteProtocolError, match="levels of queues"):
        read_scheduler(json.dumps(document).encode(), SIZE)
    fair = {"queueName": "q"}
    for _ in range(300):
        fair = {"queueName": "q", "childQueues": {"queue": [fair]}}
    document = {"scheduler": {"schedulerInfo": {"type": "fairScheduler", "rootQueue": fair}}}
    with pytest.raises(RemoteProtocolError, match="levels of queues"):
        read_scheduler(json.dumps(document).encode(), SIZE)


async def test_no_turn_looks_at_every_application(federation, monkeypatch):
    looked, between, hashed = 0, [], ApplicationId.__hash__

    def counted(application_id):
        nonlocal looked
        looked += 1
        return hashed(application_id)

    for number in range(3000):
        federation.manager.add_application(app(number + 1), "RUNNING")
    monkeypatch.setattr(ApplicationId, "__hash__", counted)
    for number in (1, 2):  # what is known already is told again, and one has ended
        poll = asyncio.create_task(federation.master.poll())
        while not poll.done():
            between.append(looked)
            await asyncio.sleep(0)
        federation.manager.move(app(number), "FINISHED")
    assert federation.states()[1] == "FINISHED"
    assert max(after - before for before, after in pairwise(between)) <= 1500


class TellsByItsConfiguration:
    """Tells no largest container with its queues, as Hadoop 2.10 and 3.1."""

    def __init__(self, settings, *, is_whole=False, refuses=False):
        self.settings = settings
        self.is_whole = is_whole
        self.refuses = refuses
        self.asked = []

    async def __call__(self, manager, request, timeout_s):
        del timeout_s
        if request.path != "/conf":
            answer = manager.take(request)
            return replace(answer, body=answer.body.replace(b'"maximumAllocation"', b'"another"'))
        self.asked.append(dict(request.parameters)["name"])
        if self.refuses:
            raise NeverReachedError(EAST, "no")
        rows = [{"key": name, "value": value} for name, value in self.settings.items()]
        found = [row for row in rows if row["key"] == self.asked[-1]]
        told = {"properties": rows} if self.is_whole else {"property": found[0]} if found else {}
        return RestAnswer(200, (), json.dumps(told).encode())


MAXIMUM = {"yarn.scheduler.maximum-allocation-mb": "1024", "yarn.scheduler.maximum-allocation-vcores": "4"}


@pytest.mark.parametrize("is_whole", [False, True])
async def test_the_largest_container_is_asked_for_once_where_the_scheduler_does_not_tell_it(federation, is_whole):
    told = TellsByItsConfiguration(MAXIMUM, is_whole=is_whole)
    federation.manager.behave(told)
    for _ in range(3):
        await federation.master.poll()
        await federation.clock.advance(100.0)
    assert federation.view.look(EAST, federation.clock.now_s()).maximum_allocation == ResourceVector(1024, 4)
    assert told.asked == list(MAXIMUM)
    told.settings = MAXIMUM | {"yarn.scheduler.maximum-allocation-mb": "512"}
    federation.manager.restart()
    await federation.master.poll()
    assert federation.view.look(EAST, federation.clock.now_s()).maximum_allocation == ResourceVector(512, 4)


@pytest.mark.parametrize(
    "odd", [{"settings": {}}, {"settings": {}, "refuses": True}, {"settings": {next(iter(MAXIMUM)): "x"}}]
)
async def test_one_that_tells_it_nowhere_is_polled_all_the_same_and_asked_again_later(federation, odd):
    told = TellsByItsConfiguration(**odd)
    federation.manager.behave(told)
    for _ in range(2):
        await federation.master.poll()
    assert federation.state() is SubClusterState.RUNNING
    assert federation.view.look(EAST, federation.clock.now_s()).maximum_allocation == ResourceVector()
    asked = len(told.asked)
    told.settings, told.refuses = MAXIMUM, False
    await federation.clock.advance(61.0)
    await federation.master.poll()
    assert (asked, len(told.asked)) == (2, 4)
    assert federation.view.look(EAST, federation.clock.now_s()).maximum_allocation == ResourceVector(1024, 4)
