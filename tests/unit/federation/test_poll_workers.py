"""Processes that poll, as tasks: what they learn is known, and the end of one loses nothing."""

import asyncio
import socket
from contextlib import asynccontextmanager
from itertools import pairwise
from random import Random

import pytest
from structlog.testing import capture_logs

from shim.app.poll_workers import FrameStream
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import SubClusterState
from shim.errors import (
    InvariantViolationError,
    MalformedAnswerError,
    NeverReachedError,
    NoAnswerError,
    RemoteProtocolError,
    ResourceManagerError,
    StandbyError,
)
from shim.federation import poll_workers
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.federation.poll_workers import WorkerPollers, serve_polls
from shim.federation.poller import PollSchedule
from shim.protocol.peers.poll_frames import FenceFrame, PollTroubleFrame, ReportWriter, TextFrame
from tests.doubles.clock import FakeClock
from tests.doubles.misbehaviours import IsNeverReached, IsPaused
from tests.doubles.reports import a_report
from tests.doubles.resource_manager import AnswersProperly, ScriptedResourceManager
from tests.doubles.settings import usual

EAST, WEST, NORTH = map(SubClusterId, ("east", "west", "north"))
ONE, TWO = ApplicationId(1, 1), ApplicationId(1, 2)


class Task:
    """A `PollProcess` that is a task of this loop."""

    def __init__(self, stream, task, theirs):
        self.stream, self.task, self.theirs = stream, task, theirs
        self.pid = 4711
        self.is_ended = False
        task.add_done_callback(lambda _: theirs.close())  # as of a process that has ended

    def die(self):
        self.task.cancel()

    async def end(self):
        self.stream.close()
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        self.is_ended = True
        return -9


class Federation:
    def __init__(self, *names, count=2):
        self.clock = FakeClock()
        self.managers = {each: ScriptedResourceManager(each, clock=self.clock) for each in names}
        self.view = FederationView(names, usual(ViewSettings, late_after_s=6.0))
        self.duties, self.processes, self.exchanges, self.reports, self.errors = [], [], [], [], []
        self.noted = []
        self.pollers = WorkerPollers(
            self.view,
            self.clock,
            self.begin,
            count,
            exchange=lambda *exchange: self.exchanges.append(exchange),
            listeners=[self],
        )

    def reported(self, report, _applied):
        self.reports.append(report)

    def failed(self, subcluster, error):
        self.errors.append((subcluster, error))

    async def begin(self, duty):
        ours, theirs = socket.socketpair()
        self.duties.append(duty)
        child, schedule = await FrameStream.over(theirs), usual(PollSchedule, jitter=0.0)
        noise = Random(1)  # noqa: S311 - a test's jitter
        work = serve_polls(duty, self.managers, child, self.clock, schedule, noise, self.noted)
        self.processes.append(Task(await FrameStream.over(ours), asyncio.create_task(work), child))
        return self.processes[-1]

    @asynccontextmanager
    async def running(self):
        self.pollers.start()
        try:
            async with asyncio.timeout(60):
                await self.pollers.first_polls()
            yield
        finally:
            await self.pollers.stop()
        assert all(each.is_ended for each in self.processes)

    async def comes(self, holds, *, step_s=0.0):
        """Let time pass, by steps, until something holds."""
        async with asyncio.timeout(60):
            while not holds():
                if step_s:
                    await self.clock.advance(step_s)
                await asyncio.sleep(0)

    def state_of(self, application_id):
        document = self.view.applications.find(application_id)
        return None if document is None else document.summary.state.value


async def test_each_process_polls_its_share_and_all_is_known():
    federation = Federation(EAST, WEST, NORTH)
    federation.managers[NORTH].add_application(ONE, "RUNNING")
    async with federation.running():
        assert [set(duty.live) for duty in federation.duties] == [{EAST, NORTH}, {WEST}]
        assert federation.view.late(federation.clock.now_s()) == ()
        assert federation.view.applications.home_of(ONE) == NORTH
        assert [len(federation.view.look(each, 0.0).nodes) for each in (EAST, WEST)] == [1, 1]
        federation.managers[NORTH].move(ONE, "FINISHED")
        await federation.comes(lambda: federation.state_of(ONE) == "FINISHED", step_s=2.0)


async def test_there_are_no_more_processes_than_sub_clusters():
    assert [each.share for each in Federation(EAST, count=5).pollers.workers] == [(EAST,)]


async def test_a_failed_poll_is_told_as_it_would_be_here():
    federation = Federation(EAST)
    federation.managers[EAST].behave(IsNeverReached())
    async with federation.running():
        (told,) = {(type(error), str(error)) for _, error in federation.errors}
        assert told[0] is NeverReachedError
        assert federation.view.look(EAST, 0.0).failure in told[1]
        federation.managers[EAST].behave(AnswersProperly())
        await federation.comes(lambda: not federation.view.late(federation.clock.now_s()), step_s=2.0)


async def test_a_process_that_dies_is_begun_again_and_nothing_is_lost():
    federation = Federation(EAST)
    federation.managers[EAST].add_application(ONE, "RUNNING")
    federation.managers[EAST].add_application(TWO, "RUNNING")
    async with federation.running():
        with capture_logs() as logs:
            federation.processes[0].die()
            del federation.managers[EAST].applications[ONE]
            federation.managers[EAST].move(TWO, "FINISHED")
            await federation.comes(lambda: federation.processes[0].is_ended)
            assert federation.state_of(ONE) == "RUNNING"
            await federation.comes(lambda: federation.state_of(TWO) == "FINISHED", step_s=1.0)
        first, second = federation.duties
        assert second.incarnation > first.incarnation
        assert second.live == {EAST: frozenset({ONE, TWO})}
        await federation.comes(lambda: federation.state_of(ONE) is None, step_s=2.0)  # it was asked for by id
        assert [each["exit_code"] for each in logs if each["log_level"] == "error"] == [-9]
        assert federation.pollers.workers[0].begun == 2


async def test_reports_that_wait_for_their_turn_make_nobody_late_and_the_end_of_a_process_does():
    federation = Federation(EAST, WEST)
    async with federation.running():
        heard_s = federation.clock.now_s()
        assert federation.view.late(heard_s + 23.9) == ()
        assert federation.view.late(heard_s + 24.1) == (EAST, WEST), "a process that hangs tells nothing, either"
        federation.processes[0].die()
        await federation.comes(lambda: federation.processes[0].is_ended)
        assert federation.view.late(heard_s + 5.9) == ()
        assert federation.view.late(heard_s + 6.1) == (EAST,)
        await federation.comes(lambda: federation.view.late(heard_s + 6.1) == (), step_s=0.5)


async def test_a_failure_that_is_read_late_is_taken_back_by_the_report_of_the_next_poll():
    federation = Federation(EAST)
    async with federation.running():
        child, failed_s = federation.processes[0].theirs, federation.clock.now_s()
        child.write(PollTroubleFrame(EAST, "NoAnswerError", "slow", failed_s))
        life = federation.duties[0].incarnation
        report = a_report(EAST, 99, polled_at_s=failed_s + 2.0, incarnation=life)
        for frame in ReportWriter().frames(report):
            child.write(frame)
        federation.clock.wall_s += 8.0  # so long they wait to be read
        await federation.comes(lambda: report.sequence == federation.reports[-1].sequence)
        assert federation.errors
        assert federation.view.look(EAST, failed_s + 8.0).failure == ""
        assert federation.view.late(failed_s + 8.0) == ()


async def test_a_failure_stands_whatever_was_asked_before_it():
    federation = Federation(EAST)
    federation.managers[EAST].behave(IsNeverReached())
    async with federation.running():
        report = a_report(EAST, 99, polled_at_s=federation.clock.now_s() - 1.0)
        for frame in ReportWriter().frames(report):
            federation.processes[0].theirs.write(frame)
        await federation.comes(lambda: federation.reports)
        assert federation.view.late(federation.clock.now_s()) == (EAST,)


async def test_who_is_silent_is_late_as_soon_as_where_polls_are_no_processes():
    federation = Federation(EAST)
    async with federation.running():
        federation.managers[EAST].behave(IsPaused())
        heard_s = federation.clock.now_s()
        await federation.comes(lambda: federation.view.late(federation.clock.now_s()) == (EAST,), step_s=0.25)
        assert federation.clock.now_s() <= heard_s + 6.0
        assert federation.view.state(EAST, heard_s + 6.1) is SubClusterState.LOST


async def test_a_life_is_newer_though_the_clock_went_back():
    federation = Federation(EAST)
    async with federation.running():
        assert federation.duties[0].incarnation == int(1000 * federation.clock.now_s()), "above those of Heddles before"
        federation.clock.wall_s = 5.0
        federation.processes[0].die()
        await federation.comes(lambda: len(federation.duties) > 1, step_s=1.0)
        assert federation.duties[1].incarnation > federation.duties[0].incarnation


@pytest.mark.parametrize(
    "frame", [TextFrame("west", "nodes", b"{}"), PollTroubleFrame("west", "NoAnswerError", "-", 1.0), FenceFrame([])]
)
async def test_a_process_that_tells_what_it_should_not_is_ended(frame):
    federation = Federation(EAST)
    with capture_logs() as logs:
        async with federation.running():
            federation.processes[0].theirs.write(frame)
            await federation.comes(lambda: federation.processes[0].is_ended)
            await federation.comes(lambda: len(federation.duties) > 1, step_s=1.0)
    assert ["a process that polls" in each["reason"] for each in logs if each["log_level"] == "error"] == [True]


async def test_a_process_that_says_nothing_is_ended(monkeypatch):
    monkeypatch.setattr(poll_workers, "_SILENT_S", 0.05)
    federation = Federation(EAST)
    with capture_logs() as logs:
        async with federation.running():
            await federation.comes(lambda: federation.processes[0].is_ended)  # its clock stands still
            await federation.comes(lambda: bool(logs))
    assert {each["reason"] for each in logs if each["log_level"] == "error"} == {"it said nothing for 0.05 s"}


async def test_nothing_is_sent_to_what_is_retired():
    federation = Federation(EAST, WEST, count=1)
    async with federation.running():
        federation.view.retire({EAST})
        await federation.comes(lambda: federation.pollers.workers[0].told_retired == {EAST}, step_s=1.0)
        await federation.comes(lambda: any(each == EAST for each, _ in federation.errors), step_s=1.0)
        asked = len(federation.managers[EAST].requests)
        polled = len(federation.managers[WEST].requests)
        await federation.comes(lambda: len(federation.managers[WEST].requests) > polled + 20, step_s=1.0)
        assert len(federation.managers[EAST].requests) == asked
        federation.view.retire(())
        await federation.comes(lambda: len(federation.managers[EAST].requests) > asked, step_s=1.0)


async def test_exchanges_are_counted_where_metrics_are():
    federation = Federation(EAST)
    federation.noted.append(("east", "answered", 0.5))
    async with federation.running():
        await federation.comes(lambda: federation.exchanges == [("east", "answered", 0.5)], step_s=0.5)


async def test_a_process_whose_part_fails_ends_and_is_begun_again():
    federation = Federation(EAST)
    async with federation.running():
        federation.noted.append(("east", "answered", object()))  # cannot be written
        await federation.comes(federation.processes[0].task.done, step_s=0.5)
        assert federation.processes[0].task.exception() is not None
        await federation.comes(lambda: len(federation.duties) > 1, step_s=1.0)


async def test_a_process_ends_when_nobody_hears_it():
    federation = Federation(EAST)
    async with federation.running():
        process = federation.processes[0]
    assert process.task.done()


class Lives:
    """Processes that poll nothing and go after so many seconds each (None: one that cannot be begun)."""

    pid = 4711

    def __init__(self, lives_s):
        self.clock, self.begun_s, self._lengths = FakeClock(), [], iter(lives_s)
        self.stream = self

    async def begin(self, _duty):
        self.begun_s.append(self.clock.monotonic_s())
        self.length_s = next(self._lengths, 1e9)
        if self.length_s is None:
            raise ValueError("no process can be begun")
        return self

    async def read(self):
        await self.clock.sleep(self.length_s)
        raise EOFError("nothing is read")

    def write(self, _frame):
        pass

    async def drain(self):
        pass

    async def end(self):
        return 1


async def away_after(lives_s):
    """Seconds that a process was away after each of its lives, and what was said of their ends."""
    lives = Lives(lives_s)
    view = FederationView([EAST], usual(ViewSettings, late_after_s=6.0))
    pollers = WorkerPollers(view, lives.clock, lives.begin, 1, exchange=lambda *_: None)
    with capture_logs() as logs:
        pollers.start()
        while len(lives.begun_s) <= len(lives_s):
            await lives.clock.advance(0.5)
    await pollers.stop()
    away_s = [
        later - sooner - (lived or 0.0) for (sooner, later), lived in zip(pairwise(lives.begun_s), lives_s, strict=True)
    ]
    return away_s, [(each["reason"], each["exit_code"]) for each in logs]


@pytest.mark.parametrize(
    ("lives_s", "away_s"),
    [
        ([1.0] * 8, [1, 2, 4, 8, 16, 30, 30, 30]),  # twice as long each time, up to half a minute
        ([60.0, 60.0], [1, 2]),  # a minute is not yet to have lasted
        ([60.5, 60.5], [0.5, 0.5]),
        ([1.0, 1.0, 61.0, 1.0], [1, 2, 0.5, 1]),
        ([None, None, None], [1, 2, 4]),
    ],
)
async def test_a_process_is_away_longer_each_time_until_it_has_lasted(lives_s, away_s):
    found_s, logs = await away_after(lives_s)
    assert found_s == away_s
    refused = ("ValueError: no process can be begun", None)
    assert logs == [refused if each is None else ("it has gone: nothing is read", 1) for each in lives_s]


@pytest.mark.parametrize(
    ("kind", "error", "says_who"),
    [
        ("ResourceManagerError", ResourceManagerError, True),
        ("NeverReachedError", NeverReachedError, True),
        ("NoAnswerError", NoAnswerError, True),
        ("StandbyError", StandbyError, True),
        ("MalformedAnswerError", MalformedAnswerError, True),
        ("RemoteProtocolError", RemoteProtocolError, False),
        ("InvariantViolationError", InvariantViolationError, False),
        ("NameError", InvariantViolationError, False),
    ],
)
async def test_a_trouble_is_told_as_what_it_was_there(kind, error, says_who):
    federation, late = Federation(EAST), []

    class HearsMore:
        def reported(self, *_):
            pass

        def failed(self, subcluster, told):
            late.append((subcluster, told))

    federation.pollers.listen(HearsMore())
    async with federation.running():
        federation.errors.clear()
        federation.processes[0].theirs.write(PollTroubleFrame(EAST, kind, "away", 1.0))
        await federation.comes(lambda: bool(federation.errors), step_s=0.1)
        ((subcluster, told),) = federation.errors
        assert (subcluster, type(told)) == (EAST, error)
        assert "away" in str(told)
        assert (str(EAST) in str(told)) is says_who
        assert late == federation.errors, "who listens later hears it, too"
