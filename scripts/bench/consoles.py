"""What open consoles cost: processor time of Heddle, and what they add to the reads of others."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress

import aiohttp

from scripts.bench.cells import Effort, Say
from scripts.bench.load import cpu_s, measure_reads
from scripts.bench.report import figure_table
from scripts.bench.stage import Stage

_CONSOLES = 200
_OVERVIEW = ("clusters", "queues", "shares", "doctor", "console/applications?limit=1")
_SETTLES_S = 3.0
_LONGER = 5
_CONNECTIONS = 8


def consoles(stage: Stage, effort: Effort, say: Say) -> Iterator[str]:
    """Rows without consoles, with two hundred that one user has open, and with one each of two hundred users."""
    rows: dict[str, tuple[str, ...]] = {}
    for name, count, users in (
        ("none", 0, 1),
        (f"{_CONSOLES} of one user", _CONSOLES, 1),
        ("one each", _CONSOLES, 200),
    ):
        say(f"consoles: {name}")
        rows[name] = asyncio.run(_measured(stage, count, users, effort.seconds * _LONGER))
    columns = ("% of a core", "events each, a second", "reads p50 ms", "reads p99 ms")
    yield from figure_table(f"Consoles open ({_CONSOLES}: the overview)", columns, rows)


async def _measured(stage: Stage, count: int, users: int, seconds: float) -> tuple[str, ...]:
    url, pid, told = stage.bases["heddle"], stage.pids["heddle"], [0]
    async with _open(url, count, users, told):
        await asyncio.sleep(_SETTLES_S)
        began_s, used_s, heard = time.perf_counter(), cpu_s(pid), told[0]
        await asyncio.sleep(seconds)
        took_s = time.perf_counter() - began_s
        part = (cpu_s(pid) - used_s) / took_s
        events = (told[0] - heard) / took_s / max(1, count)
        path = f"{url}/ws/v1/cluster/metrics?user.name=bench"
        reads = await asyncio.to_thread(measure_reads, path, connections=_CONNECTIONS, seconds=seconds)
    return f"{100 * part:.1f}", f"{events:.2f}", f"{reads.p50_ms:.2f}", f"{reads.p99_ms:.2f}"


@asynccontextmanager
async def _open(url: str, count: int, users: int, told: list[int]) -> AsyncIterator[None]:
    """Consoles that read all they are told."""
    connector, timeout = aiohttp.TCPConnector(limit=0), aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        reading = [asyncio.create_task(_read(session, url, f"user{number % users}", told)) for number in range(count)]
        try:
            yield
        finally:
            for each in reading:
                each.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*reading)


async def _read(session: aiohttp.ClientSession, url: str, user: str, told: list[int]) -> None:
    query = [("watch", name) for name in _OVERVIEW] + [("user.name", user)]
    async with session.get(f"{url}/heddle/v1/live", params=query) as answer:
        answer.raise_for_status()
        async for line in answer.content:
            told[0] += line.startswith(b"event:")
