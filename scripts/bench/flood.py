"""The cost of a flood to others: reads of a quiet user, alone and beside 64 busy connections of another user."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import aiohttp

from adapters.yarn.rm_rpc import RPCSettings, RPCTarget, YarnRPC, addresses_of
from scripts.bench.cells import Effort, Say
from scripts.bench.load import COUNTER, Measured, measure_reads, percentile
from scripts.bench.report import figure_table, short
from scripts.bench.rpc_load import measure_calls
from scripts.bench.stage import Stage
from scripts.bench.targets import HeddleProcess
from shim.domain.ids import SubClusterId
from shim.ports.resource_manager_rpc import RPCCall
from shim.protocol.proto import APPLICATION_CLIENT
from tests.doubles.settings import usual

_CONNECTIONS = 64
_LONGER = 4
_PAUSE_S = 0.01
_LEADS_S = 1.0
_PORTS_APART = 20
_METRICS = "/ws/v1/cluster/metrics?user.name="
_CALL = "getClusterMetrics"

_Ask = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _Address:
    """Addresses of one server: the base of its URLs, and `host:port` of its RPC."""

    web: str
    rpc: str


@dataclass(frozen=True, slots=True)
class _Times:
    """How long the quiet user waited for answers."""

    p50_ms: float
    p99_ms: float


@dataclass(frozen=True, slots=True)
class _Round:
    """The quiet user's times in one round.

    Attributes:
        other: While another process of the same kind was flooded.
        own: While the asked process itself was.
    """

    alone: _Times
    other: _Times
    own: _Times
    flood_per_s: float


@dataclass(frozen=True, slots=True)
class _Flood:
    """A flood and the quiet user's questions beside it.

    Attributes:
        pour: Floods a server for so many seconds; in a process of its own.
        quiet: Opens the quiet user's connection to a server.
    """

    pour: Callable[[_Address, float], Measured]
    quiet: Callable[[_Address], AbstractAsyncContextManager[_Ask]]


def _over_http(path: str, server: _Address, seconds: float) -> Measured:
    return measure_reads(server.web + path, connections=_CONNECTIONS, seconds=seconds)


def _over_rpc(server: _Address, seconds: float) -> Measured:
    return measure_calls(server.rpc, _CALL, b"", connections=_CONNECTIONS, seconds=seconds, users=("flood",))


@asynccontextmanager
async def _quiet_reads(server: _Address) -> AsyncIterator[_Ask]:
    async with aiohttp.ClientSession() as session:

        async def ask() -> None:
            async with session.get(f"{server.web}{_METRICS}quiet") as answer:
                await answer.read()

        yield ask


@asynccontextmanager
async def _quiet_calls(server: _Address) -> AsyncIterator[_Ask]:
    rpc = YarnRPC(RPCTarget(SubClusterId("bench"), addresses_of([server.rpc])), usual(RPCSettings))

    async def ask() -> None:
        answer = await rpc.call(RPCCall(APPLICATION_CLIENT.name, _CALL, b"", "quiet"))
        if answer.refusal is not None:
            raise RuntimeError(f"{_CALL}: {answer.refusal}")

    try:
        yield ask
    finally:
        await rpc.close()


_LIST = f"/ws/v1/cluster/apps?user.name=flood&startedTimeBegin={COUNTER}"
_FLOODS: Mapping[str, _Flood] = {
    "REST, the same small read": _Flood(partial(_over_http, f"{_METRICS}flood"), _quiet_reads),
    "REST, lists that differ": _Flood(partial(_over_http, _LIST), _quiet_reads),
    f"RPC, {_CALL}": _Flood(_over_rpc, _quiet_calls),
}


def floods(stage: Stage, effort: Effort, say: Say) -> Iterator[str]:
    """For each flood and target: the quiet user's times alone, beside the flood of another process, and beside it.

    A flood costs others part of the machine, whoever is flooded: its generator and the process that answers share the
    cores with them. The flood of another process of the same kind tells that part; the rest is the server's own.
    """
    with TemporaryDirectory() as folder, _another_heddle(stage, Path(folder)) as another:
        pairs = {
            "RM": (_Address(stage.bases["rm"], stage.rpcs["rm"]), _second_manager(stage)),
            "Heddle": (_Address(stage.bases["heddle"], stage.rpcs["heddle"]), another),
        }
        rows: dict[str, Sequence[str]] = {}
        for name, flood in _FLOODS.items():
            for title, (flooded, other) in pairs.items():
                say(f"flood: {name} at {title}")
                rounds = [_round(flood, flooded, other, effort.seconds * _LONGER) for _ in range(effort.rounds)]
                rows[f"{name}: {title}"] = _row(rounds)
    columns = (
        "alone, p50 / p99 ms",
        "beside a flood of another process",
        "beside a flood of its own",
        "p99, own / another's",
        "range",
        "p99, own / alone",
        "flood, requests per second",
    )
    yield from figure_table(f"A flood on {_CONNECTIONS} connections", columns, rows)


@contextmanager
def _another_heddle(stage: Stage, folder: Path) -> Iterator[_Address]:
    confs = {id_: cluster.conf_dir for id_, cluster in stage.lab.clusters.items()}
    port = int(stage.bases["heddle"].rpartition(":")[2]) + _PORTS_APART
    with HeddleProcess(folder, port=port, subclusters=confs, servers=True) as heddle:
        yield _Address(heddle.url, heddle.front.client_rpc)


def _second_manager(stage: Stage) -> _Address:
    cluster = list(stage.lab.clusters.values())[1]
    return _Address(cluster.url, cluster.client_rpc)


def _round(flood: _Flood, flooded: _Address, other: _Address, seconds: float) -> _Round:
    alone = asyncio.run(_asked(flood.quiet(flooded), seconds))
    _, beside_other = _beside(flood, other, flooded, seconds)
    poured, beside_own = _beside(flood, flooded, flooded, seconds)
    return _Round(alone, beside_other, beside_own, poured.per_s)


def _beside(flood: _Flood, flooded: _Address, asked: _Address, seconds: float) -> tuple[Measured, _Times]:
    with ProcessPoolExecutor(1) as pool:
        pouring = pool.submit(flood.pour, flooded, seconds + 2 * _LEADS_S)
        time.sleep(_LEADS_S)
        beside = asyncio.run(_asked(flood.quiet(asked), seconds))
        return pouring.result(), beside


def _row(rounds: Sequence[_Round]) -> Sequence[str]:
    to_other = sorted(each.own.p99_ms / each.other.p99_ms for each in rounds)
    to_alone = [each.own.p99_ms / each.alone.p99_ms for each in rounds]
    times = [[getattr(each, part) for each in rounds] for part in ("alone", "other", "own")]
    return (
        *(f"{short(median(t.p50_ms for t in ts))} / {short(median(t.p99_ms for t in ts))}" for ts in times),
        f"**{median(to_other):.2f}**",
        f"{to_other[0]:.2f} to {to_other[-1]:.2f}",
        f"{median(to_alone):.2f}",
        short(median(each.flood_per_s for each in rounds)),
    )


async def _asked(quiet: AbstractAsyncContextManager[_Ask], seconds: float) -> _Times:
    """Ask on one connection with a pause before each question."""
    took_ms: list[float] = []
    ends_s = time.perf_counter() + seconds
    async with quiet as ask:
        while time.perf_counter() < ends_s:
            await asyncio.sleep(_PAUSE_S)
            began_s = time.perf_counter()
            await ask()
            took_ms.append(1000 * (time.perf_counter() - began_s))
    return _Times(percentile(took_ms, 50), percentile(took_ms, 99))
