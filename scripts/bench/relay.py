"""What the scheduler server adds to an allocate call of five hundred ApplicationMasters, and what each costs in memory.

Each of them is logged in twice, directly at a scripted scheduler and through the server, and calls by turns: one call
here, one there. Both latencies come from the same seconds of the same machine, and their difference is what the server
adds. The server has a process and a core of its own; scheduler and masters share the other cores.

Memory of a session is that of the server's process with all masters logged in, less that before the first came.
"""

import asyncio
import os
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

import uvloop

from scripts.bench.cells import Effort, Say
from scripts.bench.load import percentile
from scripts.bench.relay_fleets import Fleet, PassingFleet, SpanningFleet, Voice, at_home
from scripts.bench.relay_processes import (
    Process,
    Serve,
    passing_scheduler,
    passing_server,
    raise_limits,
    reading_server,
    spanning_scheduler,
    spanning_server,
    started,
)
from scripts.bench.report import figure_table, short

_MASTERS = 500
_EVERY_S = 1.0
"""From one call of a master to its next, as of MapReduce."""
_AT_HOMES = (1000, 5000)
_ENTERING = 32
_LONGER = 5
"""Times what is measured of other rows."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """What is at both ends."""

    fleet: Callable[[], Fleet]
    scheduler: Serve
    server: Serve


_KINDS = {
    "passed on, ten asks and 2.4 KB of answer": _Kind(PassingFleet, passing_scheduler, passing_server),
    "spanning, with four containers elsewhere": _Kind(SpanningFleet, spanning_scheduler, spanning_server),
}


@dataclass
class _Latencies:
    """Seconds of every call, both ways."""

    direct_s: list[float] = field(default_factory=list)
    relayed_s: list[float] = field(default_factory=list)

    def figures(self) -> tuple[str, ...]:
        """In milliseconds: direct and relayed at p50 and p99, then what was added."""
        shares = (50, 99)
        pairs = [
            tuple(1000 * percentile(values, share) for values in (self.direct_s, self.relayed_s)) for share in shares
        ]
        return (*(f"{short(here)} / {short(there)}" for here, there in pairs), *(f"{b - a:.2f}" for a, b in pairs))


def relay(effort: Effort, say: Say) -> Iterator[str]:
    """The lines of the section."""
    seconds = effort.rounds * effort.seconds * _LONGER
    raise_limits()
    with _cores() as (own, others):
        rows = {name: _measure(kind, seconds, own, others, say) for name, kind in _KINDS.items()}
    columns = ("p50 direct / relayed, ms", "p99 direct / relayed, ms", "added to the p50, ms", "added to the p99, ms")
    costs = ("processor time of a call, µs", "memory of a master, KiB", "calls/s")
    yield from figure_table(f"{_MASTERS} ApplicationMasters", (*columns, *costs), rows)


def at_homes(effort: Effort, say: Say) -> Iterator[str]:
    """The lines of a section: thousands of masters whose calls are read, and go to their homes alone."""
    seconds = effort.rounds * effort.seconds * _LONGER
    raise_limits()
    rows: dict[str, tuple[str, ...]] = {}
    with _cores() as (own, others):
        for count in _AT_HOMES:
            rows[f"{count:,}"] = found = _at_homes(count, seconds, own, others)
            say(f"{count} masters at home: {', '.join(found)}")
    columns = ("p50 / p99, ms", "processor time of a call, µs", "of a core", "memory of a master, KiB", "calls/s")
    yield from figure_table("ApplicationMasters at their homes", columns, rows)


def _at_homes(count: int, seconds: float, own: Collection[int], others: Collection[int]) -> tuple[str, ...]:
    with (
        started(spanning_scheduler, others, count) as scheduler,
        started(reading_server, own, scheduler.port) as server,
    ):
        before_kib, _ = server.usage()
        took_s, (_, began_s), (after_kib, ended_s) = uvloop.run(_beat(server, count, seconds))
    return (
        " / ".join(short(1000 * percentile(took_s, share)) for share in (50, 99)),
        short(1e6 * (ended_s - began_s) / len(took_s)),
        f"{(ended_s - began_s) / seconds:.0%}",
        short((after_kib - before_kib) / count),
        short(len(took_s) / seconds),
    )


async def _beat(
    server: Process, count: int, seconds: float
) -> tuple[list[float], tuple[float, float], tuple[float, float]]:
    """Seconds of each call of so many masters, and what the server had used before and after."""
    took_s: list[float] = []
    entering, loop = asyncio.Semaphore(_ENTERING), asyncio.get_running_loop()
    entered = 0

    async def master(number: int) -> None:
        nonlocal entered
        async with entering:
            voice = await at_home(number, server.address)
        entered += 1
        due_s = loop.time() + _EVERY_S
        while True:
            await asyncio.sleep(due_s - loop.time())
            took_s.append(await voice.call())
            due_s = max(due_s + _EVERY_S, loop.time())

    masters = [asyncio.create_task(master(number)) for number in range(count)]
    while entered < count:
        for each in masters:
            if each.done():
                each.result()
        await asyncio.sleep(_EVERY_S)
    before = server.usage()
    took_s.clear()
    await asyncio.sleep(seconds)
    after, told_s = server.usage(), took_s.copy()
    for each in masters:
        each.cancel()
    await asyncio.gather(*masters, return_exceptions=True)
    return told_s, before, after


@contextmanager
def _cores() -> Iterator[tuple[Collection[int], Collection[int]]]:
    """The server's core, and those of all others, this process among them."""
    all_ = os.sched_getaffinity(0)
    own, *rest = sorted(all_)
    os.sched_setaffinity(0, rest or {own})
    try:
        yield {own}, set(rest) or {own}
    finally:
        os.sched_setaffinity(0, all_)


def _measure(kind: _Kind, seconds: float, own: Collection[int], others: Collection[int], say: Say) -> tuple[str, ...]:
    with started(kind.scheduler, others, _MASTERS) as scheduler, started(kind.server, own, scheduler.port) as server:
        before_kib, _ = server.usage()
        usages: list[tuple[float, float]] = []
        latencies = uvloop.run(
            _drive(scheduler.address, server.address, kind.fleet(), seconds, lambda: usages.append(server.usage()))
        )
    (_, began_s), (after_kib, ended_s) = usages
    calls = len(latencies.relayed_s)
    costs = (1e6 * (ended_s - began_s) / calls, (after_kib - before_kib) / _MASTERS, calls / seconds)
    figures = (*latencies.figures(), *map(short, costs))
    say(f"{kind.server.__name__}: {figures[3]} ms added to the p99, {figures[5]} KiB for each master")
    return figures


async def _drive(direct: str, relayed: str, fleet: Fleet, seconds: float, look: Callable[[], object]) -> _Latencies:
    """All masters, each calling by turns on both logins; `look` is called before and after, with all logged in."""
    latencies = _Latencies()
    random = Random(7)  # noqa: S311 - when a master calls is no secret

    async def master(here: Voice, there: Voice, ends_s: float) -> None:
        await asyncio.sleep(random.random() * _EVERY_S)
        while time.perf_counter() < ends_s:
            order = (here, there) if random.random() < 0.5 else (there, here)  # noqa: PLR2004 - neither first always
            took_s = {voice: await voice.call() for voice in order}
            latencies.direct_s.append(took_s[here])
            latencies.relayed_s.append(took_s[there])
            await asyncio.sleep(_EVERY_S * (0.9 + 0.2 * random.random()))

    pairs = [await fleet.begin(number, direct, relayed) for number in range(_MASTERS)]
    look()
    ends_s = time.perf_counter() + seconds
    await asyncio.gather(*(master(*pair, ends_s) for pair in pairs))
    look()
    return latencies
