"""A Local Master in a process of its own: active by a lease, or standing by.

While it is active it polls its ResourceManager and serves Global Masters; a standby does neither, and is told to who
dials it. Each time that the role is gained a new life begins: its number is the lease's fence, so that its reports are
newer than those of every life before, on whatever machine that was.

Without the store an active Local Master goes on: reports are facts, and a Global Master hears only one at a time.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

import structlog

from shim.domain.ids import SubClusterId
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.federation.poller import PollListener, PollSchedule, SubClusterPoller
from shim.peers.launches import LaunchVerification
from shim.peers.leadership import LeaseKeeper
from shim.peers.reporting import ReportService
from shim.peers.verification import HomeVerification
from shim.ports.clock import Clock
from shim.ports.master_links import MasterLink
from shim.ports.random_source import RandomSource
from shim.ports.resource_manager import ResourceManager
from shim.scheduling.local_master.capacity_offers import BIDS_LAST_S

__all__ = ["LocalMasterSettings", "StandingLocalMaster"]

_REPORTS_A_BID = 4

_log = structlog.get_logger("heddle.masters")


@dataclass(frozen=True, slots=True)
class LocalMasterSettings:
    """Settings of a Local Master.

    Attributes:
        heartbeats: How its ResourceManager is polled.
        view: Limits of its own view.
        promise_s: How long promised room is kept.
        offer_s: How long room is kept for the best bid among Global Masters; 0 keeps none.
        tells: Whether it tells with each report what is spoken for; for measurements of what that is worth.
    """

    heartbeats: PollSchedule
    view: ViewSettings
    promise_s: float
    offer_s: float = 0.0
    tells: bool = True


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
        settings: How it works.
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
        """Sub-cluster of this Local Master."""
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
        bids_last_s = max(BIDS_LAST_S, _REPORTS_A_BID * settings.heartbeats.interval_s)
        launches = LaunchVerification(subcluster, view, self._clock, settings.promise_s, settings.offer_s, bids_last_s)
        life = f"{self._life_of_process}-{fence}"
        room = launches if settings.tells else None
        service = ReportService(subcluster, life, verification.verify, self._clock, launches.verify, room)
        master = SubClusterPoller(
            self._manager,
            view,
            self._clock,
            settings.heartbeats,
            (launches, service, *self._listeners),  # what is offered goes with the report that shows it
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
