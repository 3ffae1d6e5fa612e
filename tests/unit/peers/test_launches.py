"""Proposals for containers between a Global Master and Local Masters, in one process and over links."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from msgspec import to_builtins
from prometheus_client import CollectorRegistry, generate_latest

from shim.domain.allocations import PendingRequest
from shim.domain.ids import ApplicationAttemptId, ApplicationId, NodeId, SubClusterId
from shim.domain.launches import (
    CapacityNotice,
    ConflictKind,
    ContainerKind,
    LaunchNews,
    LaunchProposal,
    LaunchVerdict,
    UnreportedContainers,
    Verdict,
)
from shim.domain.queues import UNORDERED
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import NodeReport
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.multicluster.core import ClusterCapacity
from shim.multicluster.core.splitter import SplitSettings
from shim.multicluster.queue_cycles import CycleSettings, QueueCycles
from shim.multicluster.splitters import AttemptMatching, MatchingStatus
from shim.peers.launches import LaunchService
from shim.ports.attempt_calls import Attempt
from shim.protocol.peers import LaunchedFrame, LaunchFrame, decode_frame_untrusted, encode_frame
from shim.scheduling.shadow_report import DifferenceKind, ShadowReport
from shim.server.peers import MatchingCollector
from shim.server.rest.asks_shown import shown_asks, shown_matching
from tests.doubles.clock import FakeClock
from tests.doubles.reports import a_report
from tests.doubles.settings import usual
from tests.support.planned import DrivenSplitter
from tests.unit.multicluster.core.test_planned import KEY
from tests.unit.peers.test_following import FollowedLocalMaster

EAST = SubClusterId("east")
KIND = ContainerKind("root.default", ResourceVector(1024, 1))
ATTEMPT = Attempt(ApplicationAttemptId(ApplicationId(1, 1), 1), EAST, queue="default", user="ada")
SIZE = ResourceVector(10 * 1024, 10)
ROOMS = (ClusterCapacity(EAST, is_home=True, free=SIZE, size=SIZE, largest=SIZE),)
DOCUMENTS = {"nodes": b"{}", "scheduler": b"{}"}


def nodes(free):
    used = ResourceVector(1024 * (10 - free), 10 - free)
    return (NodeReport(NodeId("e1", 1), "/r", "RUNNING", SIZE, used),)


@pytest.fixture
async def story():
    made = FollowedLocalMaster()
    made.a_local_master_lives()
    made.following.start()
    await made.clock.settle()
    await made.polled(nodes=nodes(6), documents=DOCUMENTS, queues=())
    yield made
    await made.following.stop()


class Asker:
    """A Global Master's service, and what it was told late."""

    def __init__(self, story, elsewhere):
        self.service = LaunchService(story.view, story.clock, 30.0, elsewhere)
        self.heard = []

    def propose(self, count):
        return self.service.propose(EAST, "a", KIND, count, self.heard.extend)


def test_frames_of_launches_travel():
    verdict = LaunchVerdict(EAST, 4, Verdict.REJECTED, 1, "why", 0.5, conflict=ConflictKind.USED)
    for frame in (
        LaunchFrame(1, (LaunchProposal(4, "a", KIND, 2),), (LaunchNews(3, 1, 1),)),
        LaunchFrame(2, (LaunchProposal(5, "a", replace(KIND, places=("e1", "/r")), 2),), (), life=7),
        LaunchedFrame(1, (verdict,)),
        LaunchedFrame(2, (), CapacityNotice((UnreportedContainers("gm/a 7", KIND, 2),))),
    ):
        assert decode_frame_untrusted(encode_frame(frame)) == frame


async def test_in_one_process_the_verdict_is_there_at_once():
    view, clock = FederationView((EAST,), usual(ViewSettings)), FakeClock()
    view.apply(a_report("east", 1, polled_at_s=clock.now_s(), nodes=nodes(3), documents=DOCUMENTS, queues=()))
    service = LaunchService(view, clock, 30.0)
    _, verdict = service.propose(EAST, "a", KIND, 5, lambda _: None)
    assert (verdict.verdict, verdict.accepted) == (Verdict.REJECTED, 3)
    assert service.open_allocations() == {EAST: 3}


async def test_two_global_masters_collide_and_the_rejection_tells_of_the_other(story):
    one = Asker(story, story.following)
    number, verdict = one.propose(4)
    assert verdict is None
    await story.clock.settle()
    assert [(told.number, told.verdict, told.accepted) for told in one.heard] == [(number, Verdict.ACCEPTED, 4)]

    other = FollowedLocalMaster()
    other.dialer = type(other.dialer)("gm/b")
    other.following._dialer = other.dialer
    other.dialer.listeners = story.dialer.listeners
    other.roster.update(list(story.roster.all()), read_at_s=0)
    other.following.start()
    await other.clock.settle()
    two = Asker(other, other.following)
    assert two.service.room(EAST, KIND) == 6, "nobody has told it of the first one's"
    two.propose(5)
    await other.clock.settle()
    (told,) = two.heard
    assert (told.verdict, told.accepted) == (Verdict.REJECTED, 2)
    assert two.service.room(EAST, KIND) == 0
    assert two.service.verdicts == {(EAST, Verdict.REJECTED): 1}
    assert two.service.conflicts == {(EAST, ConflictKind.CLAIMED): 1}

    one.service.tell(EAST, LaunchNews(number, 0, 4))
    await story.clock.settle()
    two.propose(4)
    await other.clock.settle()
    assert two.heard[-1].verdict is Verdict.ACCEPTED, "what was withdrawn can be had"
    await other.following.stop()


async def test_what_others_were_promised_comes_with_each_report_and_not_only_to_whom_it_stops():
    story = FollowedLocalMaster()
    story.a_local_master_lives(tells=True)
    masters = [FollowedLocalMaster(name) for name in ("b", "c")]
    services = []
    for each in masters:
        each.dialer.listeners = story.dialer.listeners
        each.roster.update(list(story.roster.all()), read_at_s=0)
        services.append(LaunchService(each.view, each.clock, 30.0, each.following, each.following.sender))
        each.following.listen(services[-1])
        each.following.subscribe_to_capacity(services[-1].claims_reported)
        each.following.start()
        await each.clock.settle()

    async def a_second_later():
        for clock in (story.clock, *(each.clock for each in masters)):
            await clock.advance(1.0)
        await story.polled(nodes=nodes(4), documents=DOCUMENTS, queues=())

    await a_second_later()
    heard = []
    services[0].propose(EAST, "a", KIND, 3, heard.extend)
    await masters[0].clock.settle()
    assert [told.verdict for told in heard] == [Verdict.ACCEPTED]
    assert services[1].room(EAST, KIND) == 4, "no report has come since"
    await a_second_later()
    assert [each.room(EAST, KIND) for each in services] == [1, 1], "its own are not counted twice"
    for service, each in zip(services, masters, strict=True):
        await service.close()
        await each.following.stop()


async def test_a_local_master_that_is_silent_or_away_is_done_without(story):
    asker = Asker(story, story.following)
    story.service._verify_launches = lambda *_: ()
    asker.propose(2)
    await story.clock.settle()
    assert [told.verdict for told in asker.heard] == [Verdict.UNVERIFIED]
    await story.following.stop()
    asker.propose(2)
    await story.clock.settle()
    assert [told.verdict for told in asker.heard] == [Verdict.UNVERIFIED] * 2


async def test_a_splitter_over_links_is_told_of_the_verdict_when_it_comes(story):
    launches = LaunchService(story.view, story.clock, 30.0, story.following)
    cycles = QueueCycles(launches, lambda _: UNORDERED, story.view, story.clock, Random(0), usual(CycleSettings))  # noqa: S311 - a test
    splitter = DrivenSplitter(cycles, ATTEMPT, lambda _: "root.default", usual(SplitSettings))
    assert splitter.split(PendingRequest(KEY, 3), ROOMS) == {EAST: 3}, "for the home"
    await story.clock.settle()
    assert (launches.verdicts, launches.open_allocations()) == ({(EAST, Verdict.ACCEPTED): 1}, {EAST: 3})
    splitter.split(PendingRequest(KEY, 4, standing={EAST: 3}), ROOMS)
    (shown,) = shown_asks(splitter.decisions)
    assert (shown["by"], shown["wanted"]) == ("heddle", 4)
    assert [(each["cluster"], each["promised"]) for each in shown["candidates"]] == [("east", 3)]
    assert [(each["proposed"], each["verdict"]) for each in shown["verdicts"]] == [(3, "accepted")]
    await launches.close()


def test_the_splitter_of_every_attempt_counts_on_after_it_is_forgotten(story):
    launches = LaunchService(story.view, story.clock, 30.0)
    cycles = QueueCycles(launches, lambda _: UNORDERED, story.view, story.clock, Random(0), usual(CycleSettings))  # noqa: S311 - a test
    matching = AttemptMatching(usual(SplitSettings), launches, cycles)
    splitter, plans = matching.enter(ATTEMPT, lambda _: "root.default", lambda _: None)
    assert plans is not None
    splitter.fallbacks, splitter.repairs = 2, 1
    again, _ = matching.enter(ATTEMPT, lambda _: "root.default", lambda _: None)
    assert again is not splitter
    assert (matching.status().fallbacks, matching.status().repairs) == (2, 1)
    assert matching.status().solves == {}, "no solver is reached here"
    assert matching.decisions(ATTEMPT.id.application) == ()
    assert matching.decided() == {ATTEMPT.id.application: 0}


def test_of_very_many_attempts_the_decisions_of_the_newest_are_kept_and_the_counts_of_all(story):
    launches = LaunchService(story.view, story.clock, 30.0)
    cycles = QueueCycles(launches, lambda _: UNORDERED, story.view, story.clock, Random(0), usual(CycleSettings))  # noqa: S311 - a test
    matching, most = AttemptMatching(usual(SplitSettings), launches, cycles), 512
    attempts = [replace(ATTEMPT, id=ApplicationAttemptId(ApplicationId(1, number), 1)) for number in range(most + 2)]
    for number, attempt in enumerate(attempts, start=1):
        splitter, _ = matching.enter(attempt, lambda _: "root.default", lambda _: None)
        splitter.repairs += 1
        kept = [each.id.application for each in attempts[max(0, number - most) : number]]
        assert list(matching.decided()) == kept
    assert matching.status().repairs == most + 2


def test_metrics_and_the_document_tell_of_verdicts_repairs_and_allocations():
    status = MatchingStatus(
        {(EAST, Verdict.REJECTED): 2, (EAST, Verdict.ACCEPTED): 5},
        3,
        4,
        {EAST: 1},
        {"solved": 6, "unsolved": 7},
        1,
        {(EAST, ConflictKind.CLAIMED): 2},
    )
    registry = CollectorRegistry()
    shadow = ShadowReport("fifo", "delay", 0.0, 8, 9, Counter({DifferenceKind.HELD: 10}))
    registry.register(MatchingCollector(lambda: status, lambda: {"root.prod": shadow}))
    text = generate_latest(registry).decode()
    assert 'heddle_launch_verdicts_total{subcluster="east",verdict="rejected"} 2.0' in text
    assert 'heddle_launch_conflicts_total{kind="claimed",subcluster="east"} 2.0' in text
    assert "heddle_launch_repairs_total 3.0" in text
    assert "heddle_launch_fallbacks_total 4.0" in text
    assert 'heddle_promised_containers{subcluster="east"} 1.0' in text
    assert 'heddle_solver_problems_total{outcome="unsolved"} 7.0' in text
    assert 'heddle_shadow_cycles_total{outcome="compared",queue="root.prod"} 8.0' in text
    assert 'heddle_shadow_cycles_total{outcome="skipped",queue="root.prod"} 9.0' in text
    assert 'heddle_shadow_differences_total{kind="held",queue="root.prod"} 10.0' in text
    document = to_builtins(shown_matching(status))
    assert document["conflicts"] == {"claimed": 2, "used": 0, "queue": 0, "node": 0}
    assert document["verdicts"] == {"accepted": 5, "rejected": 2, "unverified": 0}
    assert document["solves"] == {"solved": 6, "unsolved": 7, "solving": 1}
    assert (document["inconsistencies"], document["promised"]) == (2, [{"cluster": "east", "containers": 1}])


class BlindfoldedView(FederationView):
    """A view that cannot be looked at while `is_covered`."""

    is_covered = False

    def look(self, subcluster, now_s):
        assert not self.is_covered, "somebody waits for the nodes of a report"
        return super().look(subcluster, now_s)


def test_a_book_that_is_read_is_kept_up_by_reports_and_not_by_whoever_reads_it():
    view, clock = BlindfoldedView((EAST,), usual(ViewSettings)), FakeClock()
    service = LaunchService(view, clock, 30.0)

    def polled(sequence, free):
        report = a_report(
            "east",
            sequence,
            polled_at_s=clock.now_s() + sequence,
            nodes=nodes(free),
            documents=DOCUMENTS,
            queues=(),
        )
        applied = view.apply(report)
        service.reported(report, applied)

    view.is_covered = True
    polled(1, 3)  # nobody spans: reports are not read
    view.is_covered = False
    assert service.room(EAST, KIND) == 3
    polled(2, 5)
    view.is_covered = True
    assert service.room(EAST, KIND) == 5


async def test_a_global_masters_book_is_kept_up_by_what_it_follows(story):
    asker = Asker(story, story.following)
    assert asker.service.room(EAST, KIND) == 6
    story.following.listen(asker.service)
    await story.clock.advance(1.0)
    await story.polled(nodes=nodes(2), documents=DOCUMENTS, queues=())
    story.view.look = None
    assert asker.service.room(EAST, KIND) == 2


async def test_news_that_were_lost_with_a_link_are_said_on_the_next_one(story):
    asker = Asker(story, story.following)
    number, _ = asker.propose(4)
    await story.clock.settle()
    assert story.launches.open == 4
    story.dialer.is_cut.add("east:1")
    await story.dialer.links[0].close()
    await story.clock.settle()
    asker.service.tell(EAST, LaunchNews(number, 1, 2))
    await story.clock.settle()
    assert story.launches.open == 4, "nothing was heard of it"
    story.dialer.is_cut.clear()
    await story.clock.advance(1.0)
    assert story.launches.open == 1, "one is granted, two are withdrawn"
