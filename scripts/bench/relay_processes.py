"""The processes of `scripts.bench.relay`: scripted schedulers, and scheduler servers before them."""

import asyncio
import multiprocessing
import os
import resource
import time
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import uvloop
from prometheus_client import CollectorRegistry

from scripts.bench.relay_fleets import attempt
from shim.app.host_limits import SystemClock
from shim.domain.allocations import RunningContainer
from shim.domain.ids import ApplicationAttemptId, ApplicationId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.identity.service import Caller
from shim.multicluster.core import ClusterCapacity
from shim.multicluster.core.splitter import SplitSettings
from shim.multicluster.service import MultiClusterService
from shim.multicluster.sessions import SessionSettings, SessionTools
from shim.multicluster.splitters import AttemptMatching
from shim.multicluster.unmanaged import UnmanagedAMs
from shim.ports.attempt_calls import Attempt, AttemptService
from shim.protocol.hrpc import Failure, HadoopCall
from shim.protocol.proto.messages import AllocateRequestProto
from shim.server.rpc import RPCServer
from shim.server.rpc.am_connections import AMConnectionLimits
from shim.server.rpc.connection import RPCLimits
from shim.server.rpc.home_dialler import HomeDialler
from shim.server.rpc.scheduler_connection import SchedulerLimits
from shim.server.rpc.scheduler_server import SchedulerServer
from shim.simulation.stores import InMemoryMultiClusterStore
from shim.telemetry import configure_logs
from shim.telemetry.metrics import RelayMetrics
from tests.doubles.scheduler import ScriptedScheduler, token_for
from tests.doubles.scheduling_clusters import SchedulingCluster, SchedulingClusters
from tests.doubles.settings import usual

_HOME, _FAR = SubClusterId("home"), SubClusterId("far")
_ANSWER_BYTES = 2364
"""An answer with ten containers and their tokens."""
_BIG = ResourceVector(1 << 30, 1 << 20)
_EPOCH = 2000
_LATE_S = 30.0
_KEPT: list[object] = []

Serve = Callable[[Connection, Collection[int], int], None]


class _AnswersAtOnce(ScriptedScheduler):
    """Answers everything with the same bytes: as little work as a scheduler can have."""

    def answer_at_once(self, call: HadoopCall, caller: Caller) -> bytes | Failure | None:
        """The answer."""
        del call, caller
        return self.padding


class _KeepsOrder(ScriptedScheduler):
    """Wants registration first and calls in their order, grants nothing, and writes nothing down."""

    def answer_at_once(self, call: HadoopCall, caller: Caller) -> bytes | Failure | None:
        """The answer."""
        return self._answer(ApplicationAttemptId.parse(caller.user), call)


class _OneHome:
    """Every attempt is at home in the same place."""

    def __init__(self, *, spans: bool) -> None:
        self._spans = spans

    async def find(self, attempt_id: ApplicationAttemptId) -> Attempt:
        """It is there."""
        return Attempt(attempt_id, _HOME, queue="default", user="bench")

    def spans(self, found: Attempt) -> bool:
        """All do, or none."""
        del found
        return self._spans

    def is_read(self, attempt: Attempt) -> bool:
        """Only what spans."""
        return self.spans(attempt)


class _RemoteCapacities:
    """`ClusterCapacities` for a `MultiClusterAttempt`: no room at home, more than enough elsewhere."""

    def queue_at(self, _subcluster: SubClusterId, told: str) -> str:
        """The same everywhere."""
        return f"root.{told}"

    def look(self, home: SubClusterId, _told: str, closed: Collection[SubClusterId]) -> tuple[ClusterCapacity, ...]:
        """Both sub-clusters."""
        return tuple(
            ClusterCapacity(
                name,
                is_home=name == home,
                is_open=name not in closed,
                free=free,
                size=_BIG,
                largest=_BIG,
                nodes=1,
                racks={f"{name}-1": "/r"},
            )
            for name, free in ((_HOME, ResourceVector()), (_FAR, _BIG))
        )


def passing_scheduler(pipe: Connection, cores: Collection[int], count: int) -> None:
    """The far end of calls that are passed on."""
    answer = AllocateRequestProto(response_id=1).SerializeToString()
    _serve(
        pipe, cores, lambda: _scheduler(_AnswersAtOnce(padding=answer + _filler(_ANSWER_BYTES - len(answer))), count)
    )


def spanning_scheduler(pipe: Connection, cores: Collection[int], count: int) -> None:
    """The home of attempts that span; each master of the fleet is two attempts."""
    _serve(pipe, cores, lambda: _scheduler(_KeepsOrder(), 2 * count))


def passing_server(pipe: Connection, cores: Collection[int], port: int) -> None:
    """What is measured: nothing spans."""
    _serve(pipe, cores, lambda: _server(_OneHome(spans=False), port, None))


def spanning_server(pipe: Connection, cores: Collection[int], port: int) -> None:
    """What is measured: every attempt spans to a scripted cluster, whose work in this process counts too."""
    _serve(pipe, cores, lambda: _server(_OneHome(spans=True), port, _service()))


def reading_server(pipe: Connection, cores: Collection[int], port: int) -> None:
    """What is measured: calls are read, and go to their home alone."""
    _serve(pipe, cores, lambda: _server(_OneHome(spans=False), port, _service()))


class Process:
    """A process that serves, and tells what it uses."""

    def __init__(self, port: int, pipe: Connection) -> None:
        self.address = f"127.0.0.1:{port}"
        self.port = port
        self._pipe = pipe

    def usage(self) -> tuple[float, float]:
        """Memory in KiB, and processor time in seconds."""
        self._pipe.send("more")
        memory_kib, cpu_s = self._pipe.recv()
        return float(memory_kib), float(cpu_s)


_SPAWN = multiprocessing.get_context("spawn")


@contextmanager
def started(serve: Serve, cores: Collection[int], argument: int) -> Iterator[Process]:
    """Such a process; it ends with the block."""
    here, there = _SPAWN.Pipe()
    process = _SPAWN.Process(target=serve, args=(there, cores, argument), daemon=True)
    process.start()
    there.close()  # else the end of the process would not be heard
    try:
        yield Process(here.recv(), here)
    finally:
        if process.is_alive():
            here.send("")
        process.join(5)
        process.kill()


def raise_limits() -> None:
    """As many connections as the machine allows."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _serve(pipe: Connection, cores: Collection[int], start: Callable[[], Awaitable[int]]) -> None:
    """Serve, tell the port; then tell what is used whenever asked, until told to end."""

    async def main() -> None:
        pipe.send(await start())
        loop = asyncio.get_running_loop()
        while await loop.run_in_executor(None, pipe.recv):
            pipe.send((_resident_kib(), time.process_time()))

    raise_limits()
    os.sched_setaffinity(0, cores)
    configure_logs(level="warning", style="auto")
    uvloop.run(main())


def _resident_kib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1024


async def _scheduler(behaviour: ScriptedScheduler, count: int) -> int:
    tokens = {token.identifier: token for token in (token_for(attempt(number)) for number in range(count))}
    behaviour._password_of = lambda identifier: tokens[identifier].password  # type: ignore[method-assign]  # noqa: SLF001 - quicker than a search
    # No ResourceManager ends a connection of one of its masters.
    limits = RPCLimits(max_connections=4 * count, max_of_address=4 * count)
    server = RPCServer(behaviour, host="127.0.0.1", port=0, limits=limits)
    await server.start()
    _KEPT.append(server)
    return server.port


async def _server(homes: _OneHome, port: int, service: AttemptService | None) -> int:
    dialler = HomeDialler({_HOME: (("127.0.0.1", port),)})
    limits = SchedulerLimits(connections=AMConnectionLimits(most_entering_of_one=4096, most_entering=4096))
    metrics = RelayMetrics(CollectorRegistry())
    server = SchedulerServer(homes, dialler, metrics, host="127.0.0.1", port=0, limits=limits, service=service)
    await server.start()
    _KEPT.append(server)
    return int(server.address.rpartition(":")[2])


def _service() -> MultiClusterService:
    far = SchedulingCluster(_FAR, _EPOCH, may_grant=1 << 20)
    clusters, store, clock = {_FAR: far}, InMemoryMultiClusterStore(), SystemClock()

    async def keeps_containers(_: ApplicationId) -> bool:
        return False

    async def running(*_: object) -> tuple[RunningContainer, ...]:
        return ()

    return MultiClusterService(
        SessionTools(
            unmanaged_ams=UnmanagedAMs(clusters, SchedulingClusters(clusters), store, clock),
            store=store,
            capacities=_RemoteCapacities(),  # type: ignore[arg-type]  # as far as it is needed
            matching=AttemptMatching(usual(SplitSettings)),
            clock=clock,
            settings=SessionSettings(beat_s=1.0, lost_after_s=_LATE_S),
            keeps_containers=keeps_containers,
            running=running,
        )
    )


def _filler(count: int) -> bytes:
    """Bytes of an unknown field, so many with its head."""
    body = bytes(count - 5)
    return b"\xaa\x06" + bytes((len(body) & 0x7F | 0x80, len(body) >> 7)) + body
