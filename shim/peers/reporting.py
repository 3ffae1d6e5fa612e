"""A Local Master's side of its links: gives each report to everybody who follows, and answers their proposals.

Each report is encoded once. Who does not keep up loses frames, not memory: what waits for it is dropped, and it gets a
whole report instead.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import msgspec
import structlog

from shim.domain.capacity_bids import CapacityBid, CapacityNotice
from shim.domain.ids import GlobalMasterId, SubClusterId
from shim.domain.launches import LaunchNews, LaunchProposal, LaunchVerdict, proposer
from shim.domain.subclusters import SubClusterReport
from shim.domain.submissions import HomeProposal
from shim.domain.verdicts import HomeVerdict
from shim.errors import HeddleError, RemoteProtocolError
from shim.federation.core.federation_view import Applied
from shim.ports.clock import Clock
from shim.ports.master_links import MasterLink
from shim.protocol.peers import (
    HelloFrame,
    LaunchedFrame,
    LaunchFrame,
    ProposalFrame,
    ReportPublisher,
    ResyncFrame,
    TroubleFrame,
    VerdictFrame,
    encode_frame,
    in_pieces,
)

__all__ = ["ReportService", "TellsOfOffers", "VerifyLaunches"]

VerifyLaunches = Callable[[str, Sequence[LaunchProposal], Sequence[LaunchNews]], tuple[LaunchVerdict, ...]]

_MOST_WAITING = 16


class TellsOfOffers(Protocol):
    """Decides whose the room is that reports show as free."""

    def hear_bid(self, bid: CapacityBid) -> None:
        """Hear what a Global Master would have of room that comes free."""

    def spoken_for(self) -> CapacityNotice:
        """Room that reports show as free and that is spoken for."""
        ...


_log = structlog.get_logger("heddle.masters")


@dataclass(slots=True, eq=False)
class _Follower:
    """A Global Master that follows; `None` in its queue stands for a whole report."""

    link: MasterLink
    waiting: "asyncio.Queue[tuple[bytes, ...] | None]" = field(default_factory=lambda: asyncio.Queue(_MOST_WAITING))

    def offer(self, data: tuple[bytes, ...] | None) -> None:
        """Have it sent; if too much waits already, a whole report instead of all of it."""
        try:
            self.waiting.put_nowait(data)
        except asyncio.QueueFull:
            while not self.waiting.empty():
                self.waiting.get_nowait()
            self.waiting.put_nowait(None)


class ReportService:
    """Serves Global Masters in one life of a Local Master; a listener of its heartbeats.

    Args:
        subcluster: Whose Local Master it is.
        life: Of the Local Master; no other has the same.
        verify: Answers proposals.
        clock: For the times that are told.
        verify_launches: Answers proposals for containers; the first argument is who proposes, in which life.
        room: Hears bids, and tells with each report and verdict what is spoken for; None for what tells nothing.
    """

    def __init__(
        self,
        subcluster: SubClusterId,
        life: str,
        verify: Callable[[HomeProposal], HomeVerdict],
        clock: Clock,
        verify_launches: VerifyLaunches,
        room: TellsOfOffers | None = None,
    ) -> None:
        self._room = room
        self._subcluster = subcluster
        self._publisher = ReportPublisher(life)
        self._verify = verify
        self._verify_launches = verify_launches
        self._clock = clock
        self._followers: dict[_Follower, None] = {}  # in the order in which they came

    @property
    def followers(self) -> tuple[str, ...]:
        """Names of the present followers."""
        return tuple(sorted(follower.link.peer for follower in self._followers))

    # -- heartbeats --------------------------------------------------------------------------------------------------

    def reported(self, report: SubClusterReport, applied: Applied) -> None:
        """See `PollListener`."""
        del applied
        frame = self._publisher.publish(report, now_s=self._clock.now_s())
        frame = msgspec.structs.replace(frame, room=self._spoken_for())
        data = tuple(map(encode_frame, in_pieces(frame)))
        for follower in self._followers:
            follower.offer(data)

    def failed(self, subcluster: SubClusterId, error: HeddleError) -> None:
        """See `PollListener`."""
        del subcluster
        data = (encode_frame(TroubleFrame(str(error), self._clock.now_s())),)
        for follower in self._followers:
            follower.offer(data)

    # -- links -------------------------------------------------------------------------------------------------------

    async def serve(self, link: MasterLink) -> None:
        """Serve one Global Master until its link ends.

        Raises:
            MasterLinkError: It ended.
            RemoteProtocolError: What came has no place here.
        """
        hello = await link.receive()
        if not isinstance(hello, HelloFrame):
            raise RemoteProtocolError(f"{type(hello).__name__} instead of a hello")
        follower = _Follower(link)
        if self._publisher.greet(hello, now_s=self._clock.now_s()) is not None:
            follower.offer(None)
        self._followers[follower] = None
        _log.info("followed", subcluster=self._subcluster, by=link.peer)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._write(follower))
                group.create_task(self._read(follower))
        except* HeddleError as group_error:
            raise group_error.exceptions[0] from None
        finally:
            self._followers.pop(follower, None)

    async def _write(self, follower: _Follower) -> None:
        while True:
            data = await follower.waiting.get()
            if data is not None:
                for piece in data:
                    await follower.link.send_encoded(piece)
                continue
            whole = self._publisher.resync(now_s=self._clock.now_s())
            if whole is not None:
                for frame in in_pieces(msgspec.structs.replace(whole, room=self._spoken_for())):
                    await follower.link.send(frame)
                    await asyncio.sleep(0)  # each is encoded in a turn of its own

    async def _read(self, follower: _Follower) -> None:
        """One frame after the other: who floods is read slowly."""
        while True:
            frame = await follower.link.receive()
            match frame:
                case ResyncFrame():
                    follower.offer(None)
                case ProposalFrame(number, proposal):
                    await follower.link.send(VerdictFrame(number, self._verify(proposal)))
                case LaunchFrame():
                    await follower.link.send(self._launched(follower.link.peer, frame))
                case _:
                    raise RemoteProtocolError(f"{type(frame).__name__} is nothing that a Local Master is told")

    def _launched(self, peer: str, frame: LaunchFrame) -> LaunchedFrame:
        """Judge proposals, then hear the bid: it is of what they leave."""
        verdicts = self._verify_launches(proposer(peer, frame.life), frame.proposals, frame.news)
        if frame.bid is not None and self._room is not None:  # who bids is who proved to be at the other end
            self._room.hear_bid(replace(frame.bid, global_master=GlobalMasterId(peer), incarnation=frame.life))
        return LaunchedFrame(frame.number, verdicts, self._spoken_for())

    def _spoken_for(self) -> CapacityNotice | None:
        return None if self._room is None else self._room.spoken_for()
