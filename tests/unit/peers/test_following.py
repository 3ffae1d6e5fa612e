import asyncio
import math
import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.ids import ApplicationId, GlobalMasterId, SubClusterId
from shim.domain.launches import (
    CapacityNotice,
    ContainerKind,
    HomeVerdict,
    LaunchVerdict,
    UnreportedContainers,
    Verdict,
)
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import SubClusterState
from shim.domain.submissions import HomeProposal
from shim.errors import MasterLinkError, NoAnswerError, RemoteProtocolError
from shim.federation.core.federation_view import Applied, FederationView, ViewSettings
from shim.peers.following import ClockOffset, Follower, Following, FollowingSettings, shifted
from shim.peers.launches import LaunchVerification
from shim.peers.local import ReportService
from shim.peers.roster import Roster
from shim.peers.verification import HomeVerification
from shim.ports.lease_store import Lease
from shim.protocol.peers import (
    LaunchedFrame,
    ReportFrame,
    ReportPublisher,
    TroubleFrame,
    VerdictFrame,
    decode_frame_untrusted,
    encode_frame,
)
from tests.doubles.builders import a_submission
from tests.doubles.clock import FakeClock
from tests.doubles.master_links import LosesDeltas, MemoryDialer
from tests.doubles.reports import a_document, a_node_report, a_queue_report, a_report
from tests.doubles.settings import usual

EAST, WEST = SubClusterId("east"), SubClusterId("west")
NEWLY = Applied(is_new=True)


class FollowedLocalMaster:
    """A Global Master that follows one Local Master, whose polls the test makes up."""

    def __init__(self, name="a", verify_within_s=60.0):  # of real time: a busy machine answers late, too
        self.clock = FakeClock()
        self.dialer = MemoryDialer(f"gm/{name}")
        self.roster = Roster()
        self.view = FederationView((EAST,), usual(ViewSettings, late_after_s=6.0))
        self.following = Following(
            GlobalMasterId(name),
            self.view,
            self.dialer,
            self.roster,
            self.clock,
            FollowingSettings(verify_within_s=verify_within_s),
        )
        self.sequence = 0

    def a_local_master_lives(self, address="east:1", life="one", *, tells=False):
        """One that `tells` with its reports what is promised, or an older one that does not."""
        self.sequence = 0
        own = FederationView((EAST,), usual(ViewSettings))
        self.truth = own
        self.launches = launches = LaunchVerification(EAST, own, self.clock, lasts_s=30)
        homes = HomeVerification(EAST, own, self.clock)
        claims = launches.claims if tells else lambda: None
        self.service = ReportService(EAST, life, homes.verify, self.clock, launches.verify, claims)
        self.dialer.listeners[address] = self.service.serve
        self.roster.update([Lease("lm/east", life, address, 1, 9.0)], read_at_s=self.clock.monotonic_s())

    async def polled(self, incarnation=1, **report):
        self.sequence += 1
        report = {"polled_at_s": self.clock.now_s()} | report
        made = a_report("east", self.sequence, incarnation=incarnation, **report)
        applied = self.truth.apply(made)
        self.launches.reported(made, applied)
        self.service.reported(made, applied)
        await self.clock.settle()

    @property
    def seen(self):
        return self.view.look(EAST, self.clock.now_s())


@pytest.fixture
async def story():
    made = FollowedLocalMaster()
    made.a_local_master_lives()
    made.following.start()
    await made.clock.settle()
    yield made
    await made.following.stop()


async def test_what_a_local_master_reports_is_in_the_view(story):
    await story.polled(applications=[a_document(1, "east")])
    await story.polled(used=ResourceVector(1024, 1), applications=[a_document(1, "east"), a_document(2, "east")])
    assert (story.seen.used, story.seen.running) == (ResourceVector(1024, 1), 2)
    (link,) = story.following.links()
    assert (link.is_linked, link.reports, link.resyncs, link.trouble) == (True, 2, 0, "")


async def test_who_joins_late_gets_everything_that_was_told(story):
    await story.polled()
    await story.polled(documents={"info": b"{}"}, is_complete=False)
    late = FollowedLocalMaster()
    late.roster.update([Lease("lm/east", "one", "east:1", 1, 9.0)], read_at_s=0)
    late.dialer.listeners = story.dialer.listeners
    late.following.start()
    await late.clock.settle()
    assert late.seen.queues.keys() == {"root.default"}
    assert late.seen.scheduler == "capacityScheduler"
    await late.following.stop()


async def test_a_lost_report_is_asked_for_once_and_the_view_is_whole_again(story):
    await story.polled()
    await story.following.stop()
    wires = []
    story.dialer.wrap = lambda link: wires.append(LosesDeltas(link)) or wires[-1]
    story.following.start()
    await story.clock.settle()
    wires[0].loses = True
    await story.polled(used=ResourceVector(1024, 1))
    wires[0].loses = False
    await story.polled(used=ResourceVector(2048, 2), applications=[a_document(3, "east")])
    await story.polled(used=ResourceVector(2048, 2), applications=[a_document(3, "east")])
    assert (story.seen.used, story.seen.running) == (ResourceVector(2048, 2), 1)
    assert story.following.links()[0].resyncs == 1


async def test_a_failed_poll_is_told_at_once(story):
    await story.polled()
    story.service.failed(EAST, NoAnswerError("east", "no answer in 10 s"))
    await story.clock.settle()
    assert "no answer in 10 s" in story.seen.failure
    await story.polled()
    assert story.seen.failure == ""


@pytest.mark.parametrize("ahead_s", [-3600.0, -2.0, 0.0, 3.0, 3600.0])
async def test_a_local_master_whose_clock_goes_wrong_is_no_older_and_no_younger_for_it(story, ahead_s):
    theirs = FakeClock(story.clock.wall_s + ahead_s)
    story.service._clock = theirs
    for _ in range(3):
        document = a_document(1, "east", as_of_s=theirs.now_s())
        await story.polled(polled_at_s=theirs.now_s(), clock_skew_s=0.25, applications=[document])
        await story.clock.advance(1.0)
        await theirs.advance(1.0)
    assert story.seen.age_s == pytest.approx(1.0, abs=0.01)
    assert story.seen.clock_skew_s == pytest.approx(0.25 + ahead_s)
    (document,) = story.view.applications.newest_first()
    assert document.as_of_s == pytest.approx(story.clock.now_s() - 1.0, abs=0.01)


async def test_a_cut_link_lets_the_view_age_and_is_made_anew(story):
    await story.polled()
    story.dialer.is_cut.add("east:1")
    await story.dialer.links[0].close()
    await story.clock.advance(5.0)
    assert (story.seen.state, story.seen.age_s) == (SubClusterState.RUNNING, 5.0)
    assert story.following.links()[0].trouble == "lm/east at east:1 cannot be reached"
    await story.clock.advance(2.0)
    assert story.seen.state is SubClusterState.LOST
    story.dialer.is_cut.clear()
    await story.clock.advance(1.0)
    await story.polled()
    assert (story.seen.state, story.seen.age_s) == (SubClusterState.RUNNING, 0.0)


async def test_the_next_life_is_followed_where_its_lease_says_and_counts_from_one_again(story):
    for _ in range(5):
        await story.polled()
    first = story.service
    story.a_local_master_lives("east:2", "two")
    await story.dialer.links[0].close()
    await story.clock.advance(1.0)
    await story.polled(incarnation=2, used=ResourceVector(512, 1))
    assert story.seen.used == ResourceVector(512, 1)
    assert first.followers == ()


async def test_a_home_is_verified_by_what_the_local_master_knows(story):
    await story.polled()
    verdict = await story.following.verify(EAST, HomeProposal(a_submission(1), at_least=0.5))
    assert (verdict.verdict, verdict.score) == (Verdict.ACCEPTED, 1.0)
    for _ in range(2):
        verdict = await story.following.verify(EAST, HomeProposal(a_submission(2), at_least=0.9))
    assert verdict.verdict is Verdict.REJECTED
    assert sum(kind.count for kind in verdict.placed) >= 1
    assert story.following.verdicts[EAST, Verdict.REJECTED] >= 1


async def test_a_local_master_that_has_not_polled_yet_has_nothing_against_anything(story):
    verdict = await story.following.verify(EAST, HomeProposal(a_submission(1), at_least=0.9))
    assert (verdict.verdict, verdict.score, verdict.age_s) == (Verdict.UNVERIFIED, None, None)


async def test_a_local_master_that_says_nothing_stands_in_nobodys_way():
    async def says_nothing(link):
        while True:
            await link.receive()

    story = FollowedLocalMaster(verify_within_s=0.05)
    story.a_local_master_lives()
    story.dialer.listeners["east:1"] = says_nothing
    story.following.start()
    await story.clock.settle()
    verdict = await story.following.verify(EAST, HomeProposal(a_submission(1)))
    assert verdict.verdict is Verdict.UNVERIFIED
    assert "did not answer" in verdict.reason
    await story.following.stop()


async def test_without_a_local_master_nothing_is_verified_and_that_is_said(story):
    story.dialer.is_cut.add("east:1")
    await story.dialer.links[0].close()
    await story.clock.advance(1.0)
    verdict = await story.following.verify(EAST, HomeProposal(a_submission(1)))
    assert (verdict.verdict, "cannot be reached" in verdict.reason) == (Verdict.UNVERIFIED, True)


async def test_a_report_of_another_subcluster_breaks_the_link_and_changes_nothing(story):
    async def sends_reports_of_west(link):
        await link.receive()
        await link.send(ReportFrame.of("one", a_report("west", used=ResourceVector(1, 1))))
        await asyncio.Event().wait()

    await story.polled()
    await story.following.stop()
    story.dialer.listeners["east:1"] = sends_reports_of_west
    story.following.start()
    await story.clock.settle()
    assert "west" in story.following.links()[0].trouble
    assert story.seen.used == ResourceVector()


@given(st.floats(-1e4, 1e4), st.lists(st.floats(0.0, 5.0), min_size=1, max_size=100))
def test_the_quickest_of_the_last_messages_tells_the_difference(difference_s, ways_s):
    offset = ClockOffset()
    for number, way_s in enumerate(ways_s):
        sent_at_s = 1e9 + number
        offset.note(sent_at_s=sent_at_s, received_at_s=sent_at_s + difference_s + way_s)
    told = difference_s + min(ways_s[-30:])
    assert offset.offset_s == pytest.approx(told if abs(told) >= 0.5 else 0.0, abs=0.51 if abs(told) < 0.51 else 1e-5)


def test_a_clock_that_was_set_is_followed_before_long():
    offset = ClockOffset()
    for difference_s in [0.0] * 40 + [60.0] * 30:
        offset.note(sent_at_s=1e9, received_at_s=1e9 + difference_s)
    assert offset.offset_s == 60.0


def test_who_does_not_say_when_is_believed():
    offset = ClockOffset()
    offset.note(sent_at_s=0.0, received_at_s=1e9)
    assert offset.offset_s == 0.0


def test_a_report_of_a_clock_that_agrees_is_the_same_report():
    report = a_report("east")
    assert shifted(report, 0.0) is report


STEPS: tuple[object, ...] = (
    float("nan"),
    float("inf"),
    -1e99,
    -1,
    0,
    2**53,
    2**63 - 1,
    2**64 - 1,
    "",
    "west",
    "x" * 9999,
    None,
    True,
    [],
)


def odd(value, draw):
    """The same, with some values that no Local Master of Heddle's writes."""
    if draw.random() < 0.004:
        return draw.choice(STEPS)
    if isinstance(value, dict):
        return {name: odd(each, draw) for name, each in value.items()}
    return [odd(each, draw) for each in value] if isinstance(value, list | tuple) else value


def conversation():
    """Frames as a Local Master of Heddle's says them, as plain values."""
    publisher = ReportPublisher("one")
    documents = [a_document(number, "east") for number in range(1, 4)]
    nodes, queues = [a_node_report()], [a_queue_report()]
    first = a_report("east", 1, polled_at_s=100.0, applications=documents, nodes=nodes, queues=queues)
    second = a_report("east", 2, polled_at_s=101.0, applications=documents[:2], nodes=nodes, queues=queues)
    kind = ContainerKind("root.a", ResourceVector(1, 1))
    room = CapacityNotice((UnreportedContainers("gm/b", kind, 3),))
    frames = (
        publisher.publish(first, now_s=100.0),
        publisher.publish(second, now_s=101.0),
        TroubleFrame("away", 102.0),
        VerdictFrame(1, HomeVerdict(EAST, Verdict.ACCEPTED, "", 0.5, 1.0)),
        LaunchedFrame(2, (LaunchVerdict(EAST, 3, Verdict.REJECTED, 1),), room),
    )
    return [msgspec.msgpack.decode(encode_frame(each)) for each in frames]


@pytest.mark.parametrize("first_seed", range(0, 600, 100))
async def test_whatever_a_local_master_says_is_taken_or_ends_its_link(first_seed):
    """A Local Master that somebody has taken over: other clusters, other numbers, other types, another's frames."""
    said, refused = conversation(), 0
    for seed in range(first_seed, first_seed + 100):
        draw, clock = random.Random(seed), FakeClock()  # noqa: S311 - examples
        view = FederationView((EAST, WEST), usual(ViewSettings))
        view.apply(a_report("west", 1, polled_at_s=clock.now_s(), applications=[a_document(9, "west")]))
        follower = Follower(EAST, GlobalMasterId("a"), view, clock, ())
        frames = [msgspec.msgpack.encode(odd(each, draw)) for each in draw.choices(said, k=6)]
        link = ScriptedLink(frames)
        with pytest.raises((RemoteProtocolError, MasterLinkError)) as ended:
            await follower.follow(link)
        refused += isinstance(ended.value, RemoteProtocolError)
        west = view.applications.find(ApplicationId(1, 9))
        assert west is not None
        assert west.summary.home_subcluster == WEST
        for document in view.applications.newest_first():
            assert document.summary.home_subcluster == (WEST if document is west else EAST)
        look = view.look(EAST, clock.now_s())
        assert not math.isnan(look.age_s)
        assert len(look.failure or "") <= 1000
    assert 10 < refused < 95


class ScriptedLink:
    """Says some frames, then ends."""

    peer, address = "lm/east", "east:1"

    def __init__(self, frames):
        self._frames = list(frames)

    async def send(self, frame):
        encode_frame(frame)

    async def receive(self):
        if not self._frames:
            raise MasterLinkError("it ended")
        return decode_frame_untrusted(self._frames.pop(0))

    async def close(self, reason=""):
        """Nobody waits."""


async def test_an_application_of_another_cluster_ends_the_link():
    view = FederationView((EAST, WEST), usual(ViewSettings))
    follower = Follower(EAST, GlobalMasterId("a"), view, FakeClock(), ())
    told = a_report("east", 1, polled_at_s=100.0, applications=[a_document(1, "west")])
    with pytest.raises(RemoteProtocolError, match="another home"):
        await follower.follow(ScriptedLink([encode_frame(ReportFrame.of("one", told))]))
    assert not list(view.applications.newest_first())


@pytest.mark.parametrize(
    "frame",
    [
        TroubleFrame("away", float("nan")),
        ReportFrame.of("one", a_report("east", 1, polled_at_s=100.0), sent_at_s=float("inf")),
        VerdictFrame(1, HomeVerdict(EAST, Verdict.ACCEPTED, "", float("nan"), 1.0)),
        LaunchedFrame(2, (LaunchVerdict(EAST, 3, Verdict.REJECTED, -1),)),
    ],
    ids=["trouble at no time", "sent at no time", "a score that is none", "fewer containers than none"],
)
async def test_numbers_that_are_none_end_the_link(frame):
    follower = Follower(EAST, GlobalMasterId("a"), FederationView((EAST,), usual(ViewSettings)), FakeClock(), ())
    with pytest.raises(RemoteProtocolError):
        await follower.follow(ScriptedLink([encode_frame(frame)]))
