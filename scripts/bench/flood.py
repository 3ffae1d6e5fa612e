"""The cost of a flood to others: reads of a quiet user, alone and beside 64 busy connections of somebody else."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

import aiohttp

from adapters.yarn.rm_rpc import RPCTarget, YarnRPC, addresses_of
from scripts.bench.cells import Effort, Say
from scripts.bench.load import COUNTER, Measured, measure_reads, percentile
from scripts.bench.report import figure_table, short
from scripts.bench.rpc_load import measure_calls
from scripts.bench.stage import Stage
from shim.domain.ids import SubClusterId
from shim.ports.resource_manager_rpc import RPCCall
from shim.protocol.proto import APPLICATION_CLIENT

__all__ = ["floods"]

_CONNECTIONS = 64
_LONGER = 4
_PAUSE_S = 0.01
_LEADS_S = 1.0
_METRICS = "/ws/v1/cluster/metrics?user.name="
_CALL = "getClusterMetrics"

_Ask = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _Flood:
    """A flood and what the quiet user asks beside it.

    Attributes:
        addresses: Where targets are asked, by their names.
        pour: Floods an address for so many seconds; in a process of its own.
        quiet: Opens the quiet user's connection to an address.
    """

    addresses: Callable[[Stage], Mapping[str, str]]
    pour: Callable[[str, float], Measured]
    quiet: Callable[[str], AbstractAsyncContextManager[_Ask]]


def _over_http(path: str, base: str, seconds: float) -> Measured:
    return measure_reads(base + path, connections=_CONNECTIONS, seconds=seconds)


def _over_rpc(address: str, seconds: float) -> Measured:
    return measure_calls(address, _CALL, b"", connections=_CONNECTIONS, seconds=seconds, users=("flood",))


@asynccontextmanager
async def _quiet_reads(base: str) -> AsyncIterator[_Ask]:
    async with aiohttp.ClientSession() as session:

        async def ask() -> None:
            async with session.get(f"{base}{_METRICS}quiet") as answer:
                await answer.read()

        yield ask


@asynccontextmanager
async def _quiet_calls(address: str) -> AsyncIterator[_Ask]:
    rpc = YarnRPC(RPCTarget(SubClusterId("bench"), addresses_of([address])))

    async def ask() -> None:
        answer = await rpc.call(RPCCall(APPLICATION_CLIENT.name, _CALL, b"", "quiet"))
        if answer.refusal is not None:
            raise RuntimeError(f"{_CALL}: {answer.refusal}")

    try:
        yield ask
    finally:
        await rpc.close()


_WEB, _RPC = attrgetter("bases"), attrgetter("rpcs")
_LIST = f"/ws/v1/cluster/apps?user.name=flood&startedTimeBegin={COUNTER}"
_FLOODS: Mapping[str, _Flood] = {
    "REST, the same small read": _Flood(_WEB, partial(_over_http, f"{_METRICS}flood"), _quiet_reads),
    "REST, lists that differ": _Flood(_WEB, partial(_over_http, _LIST), _quiet_reads),
    f"RPC, {_CALL}": _Flood(_RPC, _over_rpc, _quiet_calls),
}


def floods(stage: Stage, effort: Effort, say: Say) -> Iterator[str]:
    """For each flood and target: how fast the quiet user is answered, alone and beside it."""
    rows: dict[str, tuple[str, ...]] = {}
    seconds = effort.seconds * _LONGER
    for name, flood in _FLOODS.items():
        for target, title in (("rm", "RM"), ("heddle", "Heddle")):
            say(f"flood: {name} at {title}")
            address = flood.addresses(stage)[target]
            alone = asyncio.run(_asked(flood.quiet(address), seconds))
            poured, beside = _beside(flood, address, seconds)
            rows[f"{name}: {title}"] = (
                f"{short(alone[0])} / {short(alone[1])}",
                f"{short(beside[0])} / {short(beside[1])}",
                f"**{beside[1] / alone[1]:.2f}**",
                short(poured.per_s),
            )
    columns = ("alone, p50 / p99 ms", "beside it, p50 / p99 ms", "p99 beside / alone", "flood, requests per second")
    yield from figure_table(f"A flood on {_CONNECTIONS} connections", columns, rows)


def _beside(flood: _Flood, address: str, seconds: float) -> tuple[Measured, tuple[float, float]]:
    with ProcessPoolExecutor(1) as pool:
        pouring = pool.submit(flood.pour, address, seconds + 2 * _LEADS_S)
        time.sleep(_LEADS_S)
        beside = asyncio.run(_asked(flood.quiet(address), seconds))
        return pouring.result(), beside


async def _asked(quiet: AbstractAsyncContextManager[_Ask], seconds: float) -> tuple[float, float]:
    """Median and 99th percentile of questions on one connection with a pause before each, in ms."""
    took_ms: list[float] = []
    ends_s = time.perf_counter() + seconds
    async with quiet as ask:
        while time.perf_counter() < ends_s:
            await asyncio.sleep(_PAUSE_S)
            began_s = time.perf_counter()
            await ask()
            took_ms.append(1000 * (time.perf_counter() - began_s))
    return percentile(took_ms, 50), percentile(took_ms, 99)
