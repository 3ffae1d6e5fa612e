"""A Local Master in a process of its own: active by a lease, or standing by.

While it is active it polls its ResourceManager and serves Global Masters; a standby does neither, and is told to who
dials it. Each time that the role is gained a new life begins: its number is the lease's fence, so that its reports are
newer than those of every life before, on whatever machine that was.

Without the store an active Local Master goes on: reports are facts, and a Global Master listens to one at a time.

A Local Master's side of its links: gives each report to everybody who follows, and answers their proposals.

Each report is encoded once. Who does not keep up loses frames, not memory: what waits for it is dropped, and it gets a
whole report instead.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec
import structlog

from shim.domain.ids import SubClusterId
from shim.domain.launches import CapacityNotice, HomeVerdict, LaunchNews, LaunchProposal, LaunchVerdict, proposer
from shim.domain.subclusters import SubClusterReport
from shim.domain.submissions import HomeProposal
from shim.errors import HeddleError, RemoteProtocolError
from shim.federation.core.federation_view import Applied, FederationView, ViewSettings
from shim.federation.poller import PollListener, PollSchedule, SubClusterPoller, ViewIntake
from shim.peers.launches import LaunchVerification
from shim.peers.leadership import LeaseKeeper
from shim.peers.verification import HomeVerification
from shim.ports.clock import Clock
from shim.ports.master_links import MasterLink
from shim.ports.random_source import RandomSource
from shim.ports.resource_manager import ResourceManager
from shim.protocol.peers import (
    HelloFrame,
    LaunchedFrame,
    LaunchFrame,
    ProposalFrame,
    ReportPublisher,
    ResyncFrame,
    TroubleFrame,
    VerdictFrame,
    check_numbers,
    encode_frame,
    in_pieces,
)

VerifyLaunches = Callable[[str, Sequence[LaunchProposal], Sequence[LaunchNews]], tuple[LaunchVerdict, ...]]

_MOST_WAITING = 16


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
        verify_launches: Answers proposals for containers; the first argument is who proposes, in which life.
        claims: Returns what reports show as free and is claimed; it goes with each report and verdict.
    """

    def __init__(
        self,
        subcluster: SubClusterId,
        life: str,
        verify: Callable[[HomeProposal], HomeVerdict],
        clock: Clock,
        verify_launches: VerifyLaunches,
        claims: Callable[[], CapacityNotice],
    ) -> None:
        self._claims = claims
        self._subcluster = subcluster
        self._publisher = ReportPublisher(life)
        self._verify = verify
        self._verify_launches = verify_launches
        self._clock = clock
        self._followers: dict[_Follower, None] = {}  # in the order in which they came

    @property
    def followers(self) -> tuple[str, ...]:
        return tuple(sorted(follower.link.peer for follower in self._followers))

    # -- heartbeats --------------------------------------------------------------------------------------------------

    def reported(self, report: SubClusterReport, applied: Applied) -> None:
        del applied
        frame = self._publisher.publish(report, now_s=self._clock.now_s())
        frame = msgspec.structs.replace(frame, room=self._claims())
        data = tuple(map(encode_frame, in_pieces(frame)))
        for follower in self._followers:
            follower.offer(data)

    def failed(self, subcluster: SubClusterId, error: HeddleError) -> None:
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
                for frame in in_pieces(msgspec.structs.replace(whole, room=self._claims())):
                    await follower.link.send(frame)
                    await asyncio.sleep(0)  # each is encoded in a turn of its own

    async def _read(self, follower: _Follower) -> None:
        """One frame after the other: who floods is read slowly."""
        while True:
            frame = await follower.link.receive()
            check_numbers(frame)
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
        verdicts = self._verify_launches(proposer(peer, frame.life), frame.proposals, frame.news)
        return LaunchedFrame(frame.number, verdicts, self._claims())


_log = structlog.get_logger("heddle.masters")


@dataclass(frozen=True, slots=True)
class LocalMasterSettings:
    """Settings of a Local Master.

    Attributes:
        heartbeats: How its ResourceManager is polled.
        promise_s: How long promised room is kept.
    """

    heartbeats: PollSchedule
    view: ViewSettings
    promise_s: float


@dataclass(slots=True)
class _Life:
    """Parts that live as long as the role is held."""

    service: ReportService
    polling: "asyncio.Task[None]"
    links: "set[asyncio.Task[None]]"


class StandingLocalMaster:
    """The Local Master of one sub-cluster, active or not.

    Args:
        manager: Of the sub-cluster.
        keeper: Of the lease `lm/<sub-cluster>`.
        clock: The machine's.
        life: Of this process; the fence is added for each life of the role.
        random: Spreads polls.
        listeners: Told of polls beside the Global Masters.
    """

    def __init__(
        self,
        manager: ResourceManager,
        keeper: LeaseKeeper,
        clock: Clock,
        settings: LocalMasterSettings,
        *,
        life: str,
        random: RandomSource,
        listeners: tuple[PollListener, ...] = (),
    ) -> None:
        self._manager = manager
        self._keeper = keeper
        self._clock = clock
        self._settings = settings
        self._life_of_process = life
        self._random = random
        self._listeners = listeners
        self._life: _Life | None = None

    @property
    def subcluster(self) -> SubClusterId:
        return self._manager.subcluster

    @property
    def followers(self) -> tuple[str, ...]:
        """The Global Masters that it serves."""
        return () if self._life is None else self._life.service.followers

    async def run(self) -> None:
        """Stand by, act when the role is gained, until cancelled."""
        await self._keeper.run(gained=self._begin, lost=self._end, outlasts_store=True)

    async def serve(self, link: MasterLink) -> None:
        """Serve one Global Master; returns at once while another Local Master is active.

        Raises:
            MasterLinkError: The link ended.
            RemoteProtocolError: What came has no place here.
        """
        life = self._life
        if life is None:
            await link.close(f"another Local Master of {self.subcluster} is active")
            return
        serving = asyncio.ensure_future(life.service.serve(link))
        life.links.add(serving)
        try:
            await serving
        except asyncio.CancelledError:
            if not serving.done():
                serving.cancel()
                raise
            await link.close(f"this Local Master of {self.subcluster} is not active any more")
        finally:
            life.links.discard(serving)

    async def _begin(self, fence: int) -> None:
        subcluster = self.subcluster
        view = FederationView((subcluster,), self._settings.view)
        verification = HomeVerification(subcluster, view, self._clock)
        settings = self._settings
        launches = LaunchVerification(subcluster, view, self._clock, settings.promise_s)
        life = f"{self._life_of_process}-{fence}"
        service = ReportService(subcluster, life, verification.verify, self._clock, launches.verify, launches.claims)
        # what is claimed goes with the report that shows it as free
        listeners: tuple[PollListener, ...] = (launches, service, *self._listeners)
        master = SubClusterPoller(
            self._manager,
            ViewIntake(view, self._clock, listeners),
            self._clock,
            settings.heartbeats,
            incarnation=fence,
        )
        polling = asyncio.create_task(master.run(self._random), name=f"polling-{subcluster}")
        self._life = _Life(service, polling, set())
        _log.info("active", subcluster=subcluster, fence=fence)

    async def _end(self) -> None:
        life, self._life = self._life, None
        if life is None:
            return
        _log.info("standing by", subcluster=self.subcluster)
        for task in (life.polling, *life.links):
            task.cancel()
        with suppress(asyncio.CancelledError):
            await life.polling
