"""Polls in processes of their own: each polls its share of the sub-clusters and tells this one what it learns.

Who polls owns the connections for polls, reads answers and finds what has changed; who serves takes the reports into
its view by the way that reports of its own polls take. A process that ends is begun again, and reads everything anew:
reports of its next life are newer, and applications that lived before are asked for by id if they are not listed. Until
then what is known stands, with its age. Whoever polls ends when the other end of the stream has gone.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import SubClusterReport
from shim.errors import (
    HeddleError,
    InvariantViolationError,
    MalformedAnswerError,
    NeverReachedError,
    NoAnswerError,
    RemoteProtocolError,
    ResourceManagerError,
    StandbyError,
    reason_of,
)
from shim.federation.core.federation_view import FederationView
from shim.federation.fence import FencedResourceManager
from shim.federation.poller import PollListener, PollSchedule, SubClusterPoller, ViewIntake
from shim.federation.polling import ReadingPace
from shim.ports.clock import Clock
from shim.ports.random_source import RandomSource
from shim.ports.resource_manager import ResourceManager
from shim.protocol.peers.poll_frames import (
    BeatFrame,
    FenceFrame,
    PollFrame,
    PollTroubleFrame,
    ReportReader,
    ReportWriter,
)

_LOG = structlog.get_logger("heddle.heartbeats")
_BEAT_S = 1.0
_SILENT_S = 60.0
"""A process that says nothing for so long hangs, and is ended."""
_PAUSE_S, _LONGEST_PAUSE_S, _LASTED_S = 0.5, 30.0, 60.0
_OF_MANAGERS: Mapping[str, type[ResourceManagerError]] = {
    kind.__name__: kind
    for kind in (ResourceManagerError, NeverReachedError, NoAnswerError, StandbyError, MalformedAnswerError)
}

Exchange = Callable[[str, str, float], None]
"""Counts an exchange with a ResourceManager: whose, how it ended, seconds."""


class PollStream(Protocol):
    """Frames to and from another process, in order and without loss."""

    async def read(self) -> PollFrame:
        """The next frame.

        Raises:
            EOFError: The other end has gone.
            OSError: The same.
            RemoteProtocolError: It is no frame.
        """
        ...

    def write(self, frame: PollFrame) -> None:
        """Send a frame, without waiting."""
        ...

    async def drain(self) -> None:
        """Wait until the other end has read most of what was sent.

        Raises:
            OSError: It has gone.
        """
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class PollDuty:
    """What a process is to poll.

    Attributes:
        incarnation: Larger than that of every life before.
        live: Applications that are known to live, by sub-cluster: each of its share.
        retired: Sub-clusters that nothing is sent to.
    """

    number: int
    incarnation: int
    live: Mapping[SubClusterId, frozenset[ApplicationId]]
    retired: frozenset[SubClusterId]


class PollProcess(Protocol):
    """A process that polls."""

    @property
    def pid(self) -> int | None: ...

    @property
    def stream(self) -> PollStream: ...

    async def end(self) -> int | None:
        """End it, whatever it does; how it ended."""
        ...


@dataclass(slots=True)
class PollWorker:
    """State of one of the processes."""

    number: int
    share: tuple[SubClusterId, ...]
    pid: int | None = None
    begun: int = 0
    incarnation: int = 0
    told_retired: frozenset[SubClusterId] = field(default_factory=frozenset)


class WorkerPollers:
    """Processes that poll, in the place of `SubClusterPollers`.

    Args:
        clock: The machine's.
        count: How many; no more than there are sub-clusters.
        exchange: Told of their exchanges with ResourceManagers.
        listeners: Told of every report and failure.
    """

    def __init__(
        self,
        view: FederationView,
        clock: Clock,
        begin: Callable[[PollDuty], Awaitable[PollProcess]],
        count: int,
        *,
        exchange: Exchange,
        listeners: Sequence[PollListener] = (),
    ) -> None:
        self._view = view
        self._clock = clock
        self._begin = begin
        self._exchange = exchange
        self._intake = ViewIntake(view, clock, listeners)
        subclusters = view.subclusters
        count = min(count, len(subclusters))
        self.workers = tuple(PollWorker(number, subclusters[number::count]) for number in range(count))
        self._heard = {each: asyncio.Event() for each in subclusters}
        self._tasks: list[asyncio.Task[None]] = []

    def listen(self, listener: PollListener) -> None:
        """Tell one more of every report and failure."""
        self._intake.listen(listener)

    def start(self) -> None:
        self._tasks = [
            asyncio.create_task(self._keep(worker), name=f"polls of process {worker.number}") for worker in self.workers
        ]

    async def first_polls(self) -> None:
        """Wait until every sub-cluster was polled once, with or without success."""
        await asyncio.gather(*(each.wait() for each in self._heard.values()))

    async def stop(self) -> None:
        """End every process."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()

    async def _keep(self, worker: PollWorker) -> None:
        """Have a process there for ever: one that ends is begun again, soon if it has lasted."""
        pause_s = _PAUSE_S
        while True:
            began_s = self._clock.monotonic_s()
            try:
                reason, code = await self._life(worker)
            except Exception as exc:  # noqa: BLE001 - the task's boundary: whatever ends one, the next one is begun
                reason, code = f"{type(exc).__name__}: {exc}", None
            lasted = self._clock.monotonic_s() - began_s > _LASTED_S
            pause_s = _PAUSE_S if lasted else min(2 * pause_s, _LONGEST_PAUSE_S)
            _LOG.error(
                "a process that polls has ended; it is begun again, and what is known stands until it has told",
                process=worker.number,
                subclusters=list(worker.share),
                reason=reason,
                exit_code=code,
            )
            await self._clock.sleep(pause_s)

    async def _life(self, worker: PollWorker) -> tuple[str, int | None]:
        """From the begin of a process to its end; why it ended, and how."""
        worker.incarnation = max(int(self._clock.now_s() * 1000), worker.incarnation + 1)
        worker.told_retired = self._retired(worker)
        live = {each: self._view.applications.live(each) for each in worker.share}
        process = await self._begin(PollDuty(worker.number, worker.incarnation, live, worker.told_retired))
        worker.pid, worker.begun = process.pid, worker.begun + 1
        reason, code = "", None
        try:
            await self._hear(worker, process.stream)
        except TimeoutError:
            reason = f"it said nothing for {_SILENT_S:g} s"
        except (EOFError, OSError) as exc:
            reason = f"it has gone: {exc}"
        except RemoteProtocolError as exc:
            reason = str(exc)
        finally:
            worker.pid = None
            self._intake.unwatch(worker.share)
            code = await process.end()
        return reason, code

    async def _hear(self, worker: PollWorker, stream: PollStream) -> None:
        readers = {str(each): ReportReader() for each in worker.share}
        while True:
            async with asyncio.timeout(_SILENT_S):
                frame = await stream.read()
            if isinstance(frame, BeatFrame):
                for subcluster, outcome, duration_s in frame.exchanges:
                    self._exchange(subcluster, outcome, duration_s)
                self._tell_retired(worker, stream)
            elif isinstance(frame, PollTroubleFrame):
                subcluster = _mine(worker, frame.subcluster)
                await self._intake.fail(subcluster, _error_of(subcluster, frame), at_s=frame.at_s)
                self._heard[subcluster].set()
            elif isinstance(frame, FenceFrame):
                raise RemoteProtocolError("a process that polls says what it should hear")
            else:
                report = readers[_mine(worker, frame.subcluster)].take(frame)
                if report is not None:
                    await self._intake.take(report)
                    self._heard[report.subcluster].set()

    def _tell_retired(self, worker: PollWorker, stream: PollStream) -> None:
        retired = self._retired(worker)
        if retired != worker.told_retired:
            worker.told_retired = retired
            stream.write(FenceFrame(sorted(retired)))

    def _retired(self, worker: PollWorker) -> frozenset[SubClusterId]:
        return frozenset(filter(self._view.is_retired, worker.share))


def _mine(worker: PollWorker, name: str) -> SubClusterId:
    subcluster = SubClusterId(name)
    if subcluster not in worker.share:
        raise RemoteProtocolError(f"a process that polls tells of {name[:80]!r}, which it does not poll")
    return subcluster


def _error_of(subcluster: SubClusterId, frame: PollTroubleFrame) -> HeddleError:
    kind = _OF_MANAGERS.get(frame.kind)
    if kind is not None:
        return kind(subcluster, frame.reason)
    known = RemoteProtocolError if frame.kind == RemoteProtocolError.__name__ else InvariantViolationError
    return known(frame.reason)


# ---------------------------------------------------------------------------------------------- the process that polls


class _Telling:
    """Tells reports of all its sub-clusters over one stream; see `TakesReports`.

    When the other end has gone nothing is told any more, and whoever polls waits for the end of this process.
    """

    def __init__(self, stream: PollStream, clock: Clock) -> None:
        self._stream = stream
        self._clock = clock
        self._writers: dict[SubClusterId, ReportWriter] = {}

    async def take(self, report: SubClusterReport) -> None:
        for frame in self._writers.setdefault(report.subcluster, ReportWriter()).frames(report):
            await self.tell(frame)

    async def fail(self, subcluster: SubClusterId, error: HeddleError) -> None:
        await self.tell(PollTroubleFrame(subcluster, type(error).__name__, reason_of(error), self._clock.now_s()))

    async def tell(self, frame: PollFrame) -> None:
        try:
            self._stream.write(frame)
            await self._stream.drain()
        except OSError:
            await asyncio.Event().wait()


async def serve_polls(
    duty: PollDuty,
    managers: Mapping[SubClusterId, ResourceManager],
    stream: PollStream,
    clock: Clock,
    schedule: PollSchedule,
    random: RandomSource,
    exchanges: list[tuple[str, str, float]],
) -> None:
    """Poll until the other end of the stream has gone.

    Args:
        clock: The machine's.
        exchanges: Where whoever observes the managers notes what they did; emptied each second.
    """
    retired = set(duty.retired)
    telling, pace = _Telling(stream, clock), ReadingPace()
    async with asyncio.TaskGroup() as group:  # one that fails ends all: this process is begun again
        tasks = [group.create_task(_beat(telling, exchanges, clock), name="beats")]
        for subcluster, live in duty.live.items():
            fenced = FencedResourceManager(managers[subcluster], retired.__contains__)
            life = duty.incarnation
            poller = SubClusterPoller(fenced, telling, clock, schedule, incarnation=life, pace=pace, live=live)
            tasks.append(group.create_task(poller.run(random), name=f"heartbeats-{subcluster}"))
        await _until_gone(stream, retired)
        for task in tasks:
            task.cancel()


async def _until_gone(stream: PollStream, retired: set[SubClusterId]) -> None:
    try:
        while isinstance(frame := await stream.read(), FenceFrame):
            retired.clear()
            retired.update(map(SubClusterId, frame.retired))
    except (EOFError, OSError):
        return


async def _beat(telling: _Telling, exchanges: list[tuple[str, str, float]], clock: Clock) -> None:
    while True:
        told = exchanges.copy()
        del exchanges[: len(told)]
        await telling.tell(BeatFrame(told))
        await clock.sleep(_BEAT_S)
