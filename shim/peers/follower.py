"""One Local Master as a Global Master follows it: reports in, answers to questions, and who is told."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable

import structlog

from shim.domain.capacity_bids import CapacityBid, CapacityNotice
from shim.domain.ids import GlobalMasterId, SubClusterId
from shim.domain.launches import LaunchNews
from shim.domain.subclusters import SubClusterReport
from shim.errors import RemoteProtocolError, ResourceManagerError
from shim.federation.core.federation_view import FederationView
from shim.federation.poller import PollListener, apply_in_turns, tell_listeners
from shim.peers.clock_offset import ClockOffset, shifted
from shim.peers.correspondence import Correspondence
from shim.ports.clock import Clock
from shim.ports.master_links import MasterLink
from shim.protocol.peers import (
    MAX_LAUNCHES,
    DeltaFrame,
    Frame,
    LaunchedFrame,
    LaunchFrame,
    PieceFrame,
    ReportFollower,
    ReportFrame,
    ResyncFrame,
    TroubleFrame,
    VerdictFrame,
)

__all__ = ["Follower", "HearRoom", "UnsaidNews"]

_log = structlog.get_logger("heddle.masters")

_MOST_UNSAID = 1024

HearRoom = Callable[[SubClusterId, CapacityNotice], None]


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
        """Give what was not said on this link, to be said now."""
        on_way = {each for some in self._on_way.values() for each in some}
        return tuple(each for each in self._news.values() if each not in on_way)

    def sent(self, frame: int, news: Iterable[LaunchNews]) -> None:
        """Note the number of the frame that has these."""
        self._on_way[frame] = tuple(news)

    def heard(self, frame: int) -> None:
        """The Local Master has answered a frame: it has heard what was in it."""
        for each in self._on_way.pop(frame, ()):
            if self._news.get(each.number) == each:
                del self._news[each.number]

    def link_ended(self) -> None:
        """All that was not answered is to be said again."""
        self._on_way.clear()


class Follower:
    """Follows the Local Master of one sub-cluster, whoever that is.

    Attributes:
        heard: Set when something was heard.
        questions: The correspondence over the present link; None while there is none.
        bid: What goes with the next launches; None if it was said.
        hear_room: Told what is spoken for, right after each report.
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
        self.bid: CapacityBid | None = None
        self.hear_room: HearRoom = _ignored
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
                self._fail(reason, at_s + self._offset.offset_s)
            case VerdictFrame():
                questions.take(frame)
            case LaunchedFrame():
                self.unsaid.heard(frame.number)
                self._hear(frame.room)
                questions.take(frame)
            case _:
                raise RemoteProtocolError(f"{type(frame).__name__} is nothing that a Global Master is told")
        return None

    def _hear(self, room: CapacityNotice | None) -> None:
        if room is not None:
            self.hear_room(self.subcluster, room)

    async def _apply(self, report: SubClusterReport) -> None:
        if report.subcluster != self.subcluster:
            raise RemoteProtocolError(f"a report of {report.subcluster!r} from the Local Master of {self.subcluster}")
        applied = await apply_in_turns(self._view, report)
        self.reports += 1
        self.heard.set()
        tell_listeners(self._listeners, lambda each: each.reported(report, applied))

    def _fail(self, reason: str, at_s: float) -> None:
        self._view.note_failure(self.subcluster, reason, at_s=at_s)
        self.heard.set()
        error = ResourceManagerError(self.subcluster, reason)
        tell_listeners(self._listeners, lambda each: each.failed(self.subcluster, error))
