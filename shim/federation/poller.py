"""Local Masters: each polls the ResourceManager of its sub-cluster and reports to the view.

One poll of a sub-cluster is under way at a time. A ResourceManager that is slow with a list is asked for it less often,
and asked for `/info` meanwhile, so that slow is not taken for lost. One that is away is asked for nothing but `/info`,
once an interval: it is back in the view within one.

At the default interval a poll is seven requests in two seconds, and at most two more for applications by id.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import structlog

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import HaState, SubClusterReport
from shim.errors import HeddleError, InvariantViolationError, reason_of
from shim.federation.core.federation_view import Applied, FederationView
from shim.federation.core.report import HeartbeatReporter, Poll
from shim.federation.polling import Poller, PollSettings, ReadingPace, in_turns
from shim.ports.clock import Clock
from shim.ports.random_source import RandomSource
from shim.ports.resource_manager import ResourceManager

_LOG = structlog.get_logger("heddle.heartbeats")


@dataclass(frozen=True, slots=True)
class PollSchedule:
    """Schedule of questions to ResourceManagers.

    Attributes:
        interval_s: From the start of one poll to the start of the next.
        jitter: Largest part of the interval that is added or taken by chance, so that polls do not march in step.
    """

    interval_s: float
    poll: PollSettings
    jitter: float = 0.1


class PollListener(Protocol):
    """Listener to heartbeats beside the view."""

    def reported(self, report: SubClusterReport, applied: Applied) -> None: ...

    def failed(self, subcluster: SubClusterId, error: HeddleError) -> None: ...


def tell_listeners(listeners: Iterable[PollListener], tell: Callable[[PollListener], None]) -> None:
    """Tell every listener: one that fails is logged, the others get it all the same."""
    for listener in listeners:
        try:
            tell(listener)
        except Exception:  # noqa: BLE001 - the listener's boundary: the report was good
            _LOG.exception("a listener to heartbeats failed", listener=type(listener).__name__)


async def apply_in_turns(view: FederationView, report: SubClusterReport) -> Applied:
    return await in_turns(view.apply_steps(report))


class TakesReports(Protocol):
    """Where the reports of Local Masters go."""

    async def take(self, report: SubClusterReport) -> None:
        """Take a report in; whoever polls waits for it."""
        ...

    async def fail(self, subcluster: SubClusterId, error: HeddleError) -> None: ...


class ViewIntake:
    """Takes reports into a view, whoever polled, and tells listeners of them.

    Args:
        view: What reports are applied to.
        clock: Tells when a poll failed.
        listeners: Told of every report and failure.
    """

    def __init__(self, view: FederationView, clock: Clock, listeners: Iterable[PollListener] = ()) -> None:
        self._view = view
        self._clock = clock
        self._listeners = tuple(listeners)

    def listen(self, listener: PollListener) -> None:
        """Tell one more of every report and failure."""
        self._listeners = (*self._listeners, listener)

    def unwatch(self, subclusters: Iterable[SubClusterId]) -> None:
        """Whoever polled these has ended."""
        for subcluster in subclusters:
            self._view.unwatch(subcluster)

    async def take(self, report: SubClusterReport) -> None:
        self._view.watch(report.subcluster)
        applied = await apply_in_turns(self._view, report)
        if applied.has_restarted:
            restarted = {"subcluster": report.subcluster, "started_on_ms": report.started_on_ms}
            _LOG.info("resource_manager_restarted", **restarted)
        tell_listeners(self._listeners, lambda each: each.reported(report, applied))

    async def fail(self, subcluster: SubClusterId, error: HeddleError, *, at_s: float | None = None) -> None:
        """A poll failed: at that time, or now if None. What was asked later and is told later takes it back."""
        failed_at_s = self._clock.now_s() if at_s is None else at_s
        self._view.note_failure(subcluster, reason_of(error), at_s=failed_at_s)
        tell_listeners(self._listeners, lambda each: each.failed(subcluster, error))


class SubClusterPoller:
    """Polls one ResourceManager and reports."""

    def __init__(
        self,
        manager: ResourceManager,
        intake: TakesReports,
        clock: Clock,
        settings: PollSchedule,
        *,
        incarnation: int | None = None,
        pace: ReadingPace | None = None,
        live: frozenset[ApplicationId] = frozenset(),
    ) -> None:
        """Begin a life; nothing is asked before the first poll.

        Args:
            incarnation: Larger than that of every life before; the time in milliseconds if None.
            live: Applications that an earlier life told of: one that is absent now is asked for by id.
        """
        self._intake = intake
        self._clock = clock
        self._settings = settings
        self._poller = Poller(manager, clock, settings.poll, pace)
        life = incarnation or int(clock.now_s() * 1000)
        self._reporter = HeartbeatReporter(manager.subcluster, incarnation=life, live=live)
        self._wake = asyncio.Event()
        self._left_out: Mapping[str, int] = {}
        self.has_polled = asyncio.Event()

    @property
    def subcluster(self) -> SubClusterId:
        return self._poller.subcluster

    def poll_soon(self) -> None:
        """Begin the next poll now, or as soon as the one under way has ended."""
        self._wake.set()

    async def run(self, random: RandomSource) -> None:
        """Poll for ever."""
        while True:
            began_s = self._clock.monotonic_s()
            try:
                await self.poll()
            except Exception as exc:  # noqa: BLE001 - the task's boundary: a bug in one poll must not end all later ones
                _LOG.exception("poll_failed_by_a_bug", subcluster=self.subcluster)
                await self._fail(InvariantViolationError(f"a poll failed inside Heddle: {type(exc).__name__}: {exc}"))
            self.has_polled.set()
            spread = self._settings.jitter * (2 * random.random() - 1)
            due_s = began_s + self._settings.interval_s * (1 + spread)
            await self._sleep(due_s - self._clock.monotonic_s())

    async def poll(self) -> None:
        """Poll once; failures are noted in the view, never raised."""
        try:
            info = await self._poller.ask_info()
        except HeddleError as exc:
            await self._fail(exc)
            return
        if info.ha_state is not HaState.ACTIVE:
            await self._report(info)
            return
        everything = asyncio.create_task(self._poller.ask_everything(info, self._reporter.live))
        try:
            await self._beat_until(everything)
            await self._report(everything.result())
        except HeddleError as exc:
            await self._report(info)
            await self._fail(exc)
        finally:
            everything.cancel()
            with suppress(asyncio.CancelledError, HeddleError):
                await everything

    async def _beat_until(self, everything: "asyncio.Task[Poll]") -> None:
        """While answers take longer than an interval, keep asking whether the ResourceManager is there."""
        while not everything.done():
            pause = asyncio.create_task(self._clock.sleep(self._settings.interval_s))
            try:
                await asyncio.wait((everything, pause), return_when=asyncio.FIRST_COMPLETED)
            finally:
                pause.cancel()
            if not everything.done():
                await self._report(await self._poller.ask_info())

    async def _sleep(self, duration_s: float) -> None:
        pause = asyncio.create_task(self._clock.sleep(duration_s))
        wake = asyncio.create_task(self._wake.wait())
        try:
            await asyncio.wait((pause, wake), return_when=asyncio.FIRST_COMPLETED)
        finally:
            pause.cancel()
            wake.cancel()
        self._wake.clear()

    async def _report(self, poll: Poll) -> None:
        report = self._reporter.report(poll)
        if report.left_out != self._left_out:
            self._left_out = report.left_out
            _LOG.warning("rows_left_out", subcluster=self.subcluster, **dict(report.left_out))
        await self._intake.take(report)

    async def _fail(self, error: HeddleError) -> None:
        await self._intake.fail(self.subcluster, error)


class SubClusterPollers:
    """The Local Masters of every sub-cluster, as tasks of this process."""

    def __init__(
        self,
        view: FederationView,
        managers: Mapping[SubClusterId, ResourceManager],
        clock: Clock,
        settings: PollSchedule,
        *,
        random: RandomSource,
        listeners: Sequence[PollListener] = (),
    ) -> None:
        """Have one Local Master for each ResourceManager; `start` sets them to work."""
        self._random = random
        self._intake = ViewIntake(view, clock, listeners)
        pace = ReadingPace()
        self.masters = {
            subcluster: SubClusterPoller(manager, self._intake, clock, settings, pace=pace)
            for subcluster, manager in managers.items()
        }
        self._tasks: list[asyncio.Task[None]] = []

    def listen(self, listener: PollListener) -> None:
        """Tell one more of every report and failure."""
        self._intake.listen(listener)

    def start(self) -> None:
        self._tasks = [
            asyncio.create_task(master.run(self._random), name=f"heartbeats-{subcluster}")
            for subcluster, master in self.masters.items()
        ]

    async def first_polls(self) -> None:
        """Wait until every sub-cluster was polled once, with or without success."""
        await asyncio.gather(*(master.has_polled.wait() for master in self.masters.values()))

    def poll_soon(self, subcluster: SubClusterId) -> None:
        self.masters[subcluster].poll_soon()

    async def stop(self) -> None:
        """End the polls that are under way, and poll no more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
