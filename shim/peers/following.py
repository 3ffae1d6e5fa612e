"""A Global Master's side of its links to Local Masters: reports into the view, proposals out, verdicts back.

The leases tell where the active Local Master of each sub-cluster is. While there is none, or it is cut off from here,
the view ages, and tells so; nothing else is concluded from it, as the ResourceManager may be well.

One Local Master as a Global Master follows it: reports in, answers to questions, and who is told.

The difference between the clocks of two machines, from messages that go one way.

A message that was sent at 10:00:00 by one clock and came at 10:00:07 by the other was on its way, and the clocks
differ: together 7 s. Of many messages the quickest tells the difference best.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import structlog

from shim.domain.ids import GlobalMasterId, SubClusterId
from shim.domain.launches import (
    CapacityNotice,
    HomeVerdict,
    LaunchNews,
    LaunchProposal,
    LaunchVerdict,
    Verdict,
    proposer,
)
from shim.domain.subclusters import SubClusterReport
from shim.domain.submissions import HomeProposal
from shim.errors import HeddleError, MasterLinkError, RemoteProtocolError, ResourceManagerError
from shim.federation.core.federation_view import FederationView
from shim.federation.poller import PollListener, apply_in_turns, tell_listeners
from shim.peers.correspondence import Correspondence
from shim.peers.roster import Roster, global_master_role, local_master_role
from shim.peers.verification import stripped
from shim.ports.clock import Clock
from shim.ports.lease_store import Lease
from shim.ports.master_links import MasterDialer, MasterLink
from shim.protocol.peers import (
    MAX_LAUNCHES,
    DeltaFrame,
    Frame,
    LaunchedFrame,
    LaunchFrame,
    PieceFrame,
    ProposalFrame,
    ReportFollower,
    ReportFrame,
    ResyncFrame,
    TroubleFrame,
    VerdictFrame,
    check_numbers,
)

_LONGEST_REASON = 1000  # characters
_MOST_UNSAID = 1024

OnCapacity = Callable[[SubClusterId, CapacityNotice], None]


def _ignored(subcluster: SubClusterId, room: CapacityNotice) -> None:
    """Do nothing: no plan is made on what is free there."""


class UnsaidNews:
    """News of proposals until the Local Master has answered the frame that had them.

    What is lost with a link would leave its promise standing for `span.promise_s`, and its room idle for as long. News
    are counts that only grow, so saying them twice does no harm.
    """

    def __init__(self) -> None:
        self._news: OrderedDict[int, LaunchNews] = OrderedDict()
        self._on_way: dict[int, tuple[LaunchNews, ...]] = {}

    def add(self, news: Iterable[LaunchNews]) -> None:
        """Take in what is to be said; of very many the newest."""
        for each in news:
            self._news[each.number] = each
            self._news.move_to_end(each.number)
        while len(self._news) > _MOST_UNSAID:
            self._news.popitem(last=False)

    def take(self) -> tuple[LaunchNews, ...]:
        on_way = {each for some in self._on_way.values() for each in some}
        return tuple(each for each in self._news.values() if each not in on_way)

    def sent(self, frame: int, news: Iterable[LaunchNews]) -> None:
        self._on_way[frame] = tuple(news)

    def heard(self, frame: int) -> None:
        """The Local Master has answered a frame: it has heard what was in it."""
        for each in self._on_way.pop(frame, ()):
            if self._news.get(each.number) == each:
                del self._news[each.number]

    def link_ended(self) -> None:
        self._on_way.clear()


class Follower:
    """Follows the Local Master of one sub-cluster, whoever that is.

    Attributes:
        questions: The correspondence over the present link; None while there is none.
        on_capacity: Told what is claimed, right after each report.
        unsaid: News of proposals that it has not been seen to hear, by the proposal's number.
    """

    def __init__(
        self,
        subcluster: SubClusterId,
        me: GlobalMasterId,
        view: FederationView,
        clock: Clock,
        listeners: Iterable[PollListener],
        life: int = 0,
    ) -> None:
        self.subcluster = subcluster
        self.heard = asyncio.Event()
        self.questions: Correspondence | None = None
        self.address = ""
        self.trouble = "not dialled yet"
        self.reports = 0
        self.resyncs = 0
        self._life = life
        self._reader = ReportFollower(me)
        self._offset = ClockOffset()
        self._view = view
        self._clock = clock
        self._listeners = tuple(listeners)
        self.on_capacity: OnCapacity = _ignored
        self.unsaid = UnsaidNews()

    async def follow(self, link: MasterLink) -> None:
        """Take reports from a link until it ends.

        Raises:
            MasterLinkError: It ended.
            RemoteProtocolError: What came has no place here.
        """
        questions = Correspondence(link)
        await link.send(self._reader.hello())
        self.questions, self.trouble = questions, ""
        await self._say_again(link, questions)
        _log.info("following", subcluster=self.subcluster, at=self.address)
        self._offset = ClockOffset()  # another Local Master has another clock
        try:
            while True:
                frame = await link.receive()
                answer = await self._take(frame, questions)
                if isinstance(frame, PieceFrame):
                    await asyncio.sleep(0)  # what has come already is read in turns of its own
                if answer is not None:
                    self.resyncs += 1
                    await link.send(answer)
        finally:
            self.questions = None
            self.unsaid.link_ended()
            questions.end(f"the link to the Local Master of {self.subcluster} has ended")

    async def _say_again(self, link: MasterLink, questions: Correspondence) -> None:
        """Say what an earlier link may have lost; nobody waits for the answer."""
        news = self.unsaid.take()[:MAX_LAUNCHES]
        if news:
            number = questions.next_number()
            self.unsaid.sent(number, news)
            await link.send(LaunchFrame(number, (), news, self._life))

    def listen(self, listener: PollListener) -> None:
        """Tell one more of every report and failure."""
        self._listeners = (*self._listeners, listener)

    async def _take(self, frame: Frame, questions: Correspondence) -> ResyncFrame | None:
        match frame:
            case PieceFrame():
                self._reader.receive(frame)
            case ReportFrame() | DeltaFrame():
                self._offset.note(sent_at_s=frame.sent_at_s, received_at_s=self._clock.now_s())
                taken = self._reader.receive(frame)
                if isinstance(taken, ResyncFrame):
                    return taken
                for report in taken:
                    await self._apply(shifted(report, self._offset.offset_s))
                self._hear(frame.room)
            case TroubleFrame(reason, at_s):
                check_numbers(at_s)
                self._fail(reason[:_LONGEST_REASON], at_s + self._offset.offset_s)
            case VerdictFrame():
                check_numbers(frame)
                questions.take(frame)
            case LaunchedFrame():
                check_numbers(frame)
                if any(each.accepted < 0 for each in frame.verdicts):
                    raise RemoteProtocolError("a verdict on fewer containers than none")
                self.unsaid.heard(frame.number)
                self._hear(frame.room)
                questions.take(frame)
            case _:
                raise RemoteProtocolError(f"{type(frame).__name__} is nothing that a Global Master is told")
        return None

    def _hear(self, room: CapacityNotice | None) -> None:
        if room is not None:
            self.on_capacity(self.subcluster, room)

    async def _apply(self, report: SubClusterReport) -> None:
        if report.subcluster != self.subcluster:
            raise RemoteProtocolError(f"a report of {report.subcluster!r} from the Local Master of {self.subcluster}")
        if any(each.summary.home_subcluster != self.subcluster for each in report.applications.values()):
            raise RemoteProtocolError(f"an application of another home from the Local Master of {self.subcluster}")
        applied = await apply_in_turns(self._view, report)
        self.reports += 1
        self.heard.set()
        tell_listeners(self._listeners, lambda each: each.reported(report, applied))

    def _fail(self, reason: str, at_s: float) -> None:
        self._view.note_failure(self.subcluster, reason, at_s=at_s)
        self.heard.set()
        error = ResourceManagerError(self.subcluster, reason)
        tell_listeners(self._listeners, lambda each: each.failed(self.subcluster, error))


_REMEMBERED = 30
_LEAST_S = 0.5
"""A smaller difference may as well be the way, and is left as it is."""


class ClockOffset:
    """Lead of our clock over the sender's; follows clocks that are set within the last 30 messages."""

    def __init__(self) -> None:
        self._seen: deque[float] = deque(maxlen=_REMEMBERED)

    def note(self, *, sent_at_s: float, received_at_s: float) -> None:
        """A message came. Both in seconds since the epoch, by the clock of each; 0 for a sender that does not say."""
        if sent_at_s > 0:
            self._seen.append(received_at_s - sent_at_s)

    @property
    def offset_s(self) -> float:
        """Seconds to add to the sender's times; 0 while the clocks agree within half a second."""
        least = min(self._seen, default=0.0)
        return least if abs(least) >= _LEAST_S else 0.0


def shifted(report: SubClusterReport, by_s: float) -> SubClusterReport:
    if by_s == 0:
        return report
    applications = {
        name: document.but(as_of_s=document.as_of_s + by_s) for name, document in report.applications.items()
    }
    return replace(
        report,
        polled_at_s=report.polled_at_s + by_s,
        clock_skew_s=report.clock_skew_s - by_s,
        applications=applications,
    )


_log = structlog.get_logger("heddle.masters")


@dataclass(frozen=True, slots=True)
class FollowingSettings:
    """Settings of following Local Masters.

    Attributes:
        verify_within_s: How long a proposal waits for its verdict.
        retry_s: From the end of a link to the next try.
    """

    verify_within_s: float
    retry_s: float = 0.25


@dataclass(frozen=True, slots=True)
class LinkStatus:
    """State of a Global Master's connection to the Local Master of a sub-cluster.

    Attributes:
        address: Where the Local Master is; empty if no lease tells.
        trouble: Why there is no link; empty if there is one.
        resyncs: How often a report was missing.
    """

    subcluster: SubClusterId
    is_linked: bool
    address: str
    trouble: str
    reports: int
    resyncs: int


class Following:
    """Follows every sub-cluster's Local Master; in a Global Master it stands in the place of `SubClusterPollers`.

    Args:
        roster: Says where Local Masters are.
        clock: The machine's.
        listeners: Told of every report and failure.

    Attributes:
        verdicts: How often Local Masters said what.
        repairs: How many homes were chosen again after a rejection.
    """

    def __init__(
        self,
        me: GlobalMasterId,
        view: FederationView,
        dialer: MasterDialer,
        roster: Roster,
        clock: Clock,
        settings: FollowingSettings,
        *,
        listeners: Sequence[PollListener] = (),
    ) -> None:
        self.me = me
        self._dialer = dialer
        self._roster = roster
        self._clock = clock
        self._life = int(clock.now_s() * 1000.0)
        self._settings = settings
        self._followers = {each: Follower(each, me, view, clock, listeners, self._life) for each in view.subclusters}
        self._tasks: list[asyncio.Task[None]] = []
        self.verdicts: Counter[tuple[SubClusterId, Verdict]] = Counter()
        self.repairs = 0

    def listen(self, listener: PollListener) -> None:
        """Tell one more of every report and failure."""
        for follower in self._followers.values():
            follower.listen(listener)

    def subscribe_to_capacity(self, hear: OnCapacity) -> None:
        """Have somebody told what is claimed at a Local Master, right after each report."""
        for follower in self._followers.values():
            follower.on_capacity = hear

    @property
    def sender(self) -> str:
        return proposer(global_master_role(self.me), self._life)

    def start(self) -> None:
        self._tasks = [
            asyncio.create_task(self._follow_for_ever(follower), name=f"following-{subcluster}")
            for subcluster, follower in self._followers.items()
        ]

    async def first_polls(self) -> None:
        """Wait until every Local Master has reported once."""
        await asyncio.gather(*(follower.heard.wait() for follower in self._followers.values()))

    async def stop(self) -> None:
        """End every link."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()

    def links(self) -> list[LinkStatus]:
        """Connections to all Local Masters, in the configured order."""
        return [
            LinkStatus(
                subcluster=each.subcluster,
                is_linked=each.questions is not None,
                address=each.address,
                trouble=each.trouble,
                reports=each.reports,
                resyncs=each.resyncs,
            )
            for each in self._followers.values()
        ]

    def repaired(self) -> None:
        self.repairs += 1

    async def verify(self, home: SubClusterId, proposal: HomeProposal) -> HomeVerdict:
        """Ask the Local Master of a sub-cluster about a proposal. One that says nothing stands in nobody's way."""
        verdict = await self._ask(home, proposal)
        self.verdicts[home, verdict.verdict] += 1
        return verdict

    async def _ask(self, home: SubClusterId, proposal: HomeProposal) -> HomeVerdict:
        follower = self._followers[home]
        questions = follower.questions
        if questions is None:
            return HomeVerdict(home, Verdict.UNVERIFIED, f"no link to its Local Master: {follower.trouble}")
        question = ProposalFrame(questions.next_number(), stripped(proposal))
        try:
            answer = await questions.ask(question, timeout_s=self._settings.verify_within_s)
        except MasterLinkError as exc:
            return HomeVerdict(home, Verdict.UNVERIFIED, str(exc))
        if not isinstance(answer, VerdictFrame) or answer.verdict.subcluster != home:
            return HomeVerdict(home, Verdict.UNVERIFIED, "its Local Master answered something else")
        return answer.verdict

    async def verify_launches(
        self, subcluster: SubClusterId, proposals: Sequence[LaunchProposal], news: Sequence[LaunchNews]
    ) -> Sequence[LaunchVerdict]:
        verdicts: list[LaunchVerdict] = []
        unsaid = self._followers[subcluster].unsaid
        unsaid.add(news)
        for some, told in tuple(batches(proposals, unsaid.take())) or (((), ()),):
            verdicts += await self._verify_some(subcluster, some, told)
        too_large = [each for each in proposals if not fits(each)]
        return (*verdicts, *_unverified(subcluster, too_large, "it names too many places"))

    async def _verify_some(
        self, subcluster: SubClusterId, proposals: Sequence[LaunchProposal], news: Sequence[LaunchNews]
    ) -> Sequence[LaunchVerdict]:
        follower = self._followers[subcluster]
        questions = follower.questions
        if questions is None:
            return _unverified(subcluster, proposals, f"no link: {follower.trouble}")
        if not proposals and not news:
            return ()
        question = LaunchFrame(questions.next_number(), tuple(proposals), tuple(news), self._life)
        follower.unsaid.sent(question.number, news)
        try:
            answer = await questions.ask(question, timeout_s=self._settings.verify_within_s)
        except MasterLinkError as exc:
            return _unverified(subcluster, proposals, str(exc))
        if not isinstance(answer, LaunchedFrame) or any(each.subcluster != subcluster for each in answer.verdicts):
            return _unverified(subcluster, proposals, "its Local Master answered something else")
        said = {each.number: each for each in answer.verdicts}
        silent = [each for each in proposals if each.number not in said]
        return (*said.values(), *_unverified(subcluster, silent, "its Local Master did not say"))

    async def _follow_for_ever(self, follower: Follower) -> None:
        while True:
            lease = self._roster.local_master(follower.subcluster)
            try:
                await self._follow_once(follower, lease)
            except HeddleError as exc:
                if str(exc) != follower.trouble:
                    _log.warning("not following", subcluster=follower.subcluster, reason=str(exc))
                follower.trouble = str(exc)
            except Exception as exc:  # noqa: BLE001 - the task's boundary: a bug with one frame must not end following
                _log.exception("following_failed_by_a_bug", subcluster=follower.subcluster)
                follower.trouble = f"{type(exc).__name__}: {exc}"
            await self._clock.sleep(self._settings.retry_s)

    async def _follow_once(self, follower: Follower, lease: Lease | None) -> None:
        if lease is None or not lease.holder:
            follower.address = ""
            raise MasterLinkError(f"no Local Master of {follower.subcluster} has a lease: run heddle lm")
        follower.address = lease.address
        link = await self._dialer.dial(lease.address, expected=local_master_role(follower.subcluster))
        try:
            await follower.follow(link)
        finally:
            with suppress(HeddleError):
                await link.close()


def _unverified(
    subcluster: SubClusterId, proposals: Iterable[LaunchProposal], reason: str
) -> tuple[LaunchVerdict, ...]:
    return tuple(LaunchVerdict(subcluster, each.number, Verdict.UNVERIFIED, 0, reason) for each in proposals)


# Launches in frames that a Local Master takes: an ApplicationMaster may name as many places as it likes.

_MOST_PLACE_BYTES = 512 * 1024
"""Most that the places of the proposals in one frame take: a Local Master ends the link at a frame of 4 MiB."""
_BYTES_A_CHARACTER = 4  # at most, as UTF-8


def _size_of(proposal: LaunchProposal) -> int:
    """Most bytes that the places of a proposal take."""
    return sum(_BYTES_A_CHARACTER * len(place) + 3 for place in proposal.kind.places)


def fits(proposal: LaunchProposal) -> bool:
    """True if a frame has room for a proposal."""
    return _size_of(proposal) <= _MOST_PLACE_BYTES


def batches(
    proposals: Sequence[LaunchProposal], news: Sequence[LaunchNews]
) -> Iterator[tuple[Sequence[LaunchProposal], Sequence[LaunchNews]]]:
    """Contents of one frame each, in their order, news first; proposals that fit in none are left out."""
    while len(news) > MAX_LAUNCHES:
        yield (), news[:MAX_LAUNCHES]
        news = news[MAX_LAUNCHES:]
    some: list[LaunchProposal] = []
    size = 0
    for each in proposals:
        own = _size_of(each)
        if own > _MOST_PLACE_BYTES:
            continue
        if some and (len(some) == MAX_LAUNCHES or size + own > _MOST_PLACE_BYTES):
            yield some, news
            some, size, news = [], 0, ()
        some.append(each)
        size += own
    if some or news:
        yield some, news
