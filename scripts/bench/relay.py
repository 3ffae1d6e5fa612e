"""What the scheduler door adds to an allocate call: `python -m scripts.bench.relay`.

So many ApplicationMasters are logged in twice each, directly at a scripted scheduler and through the door, and call by
turns: one call here, one there. Both latencies come from the same seconds of the same machine, and their difference is
what the door adds. The door has a process and a core of its own; scheduler and masters share the other cores.

Memory of a session is that of the door's process with all masters logged in, less that before the first came.
"""

import argparse
import asyncio
import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from statistics import fmean

import uvloop
from prometheus_client import CollectorRegistry

from scripts.bench.relay_fleets import Fleet, Login, MadeUpFleet, RealFleet, attempt, real_tokens
from shim.domain.ids import ApplicationAttemptId, SubClusterId
from shim.lab import Lab, LabSpec
from shim.ports.attempt_calls import Attempt
from shim.protocol.hrpc import (
    Call,
    Failure,
)
from shim.protocol.hrpc.digest_md5 import TokenSecret
from shim.protocol.proto.messages import AllocateRequestProto
from shim.server.rpc import RPCServer
from shim.server.rpc.connection_roll import RollLimits
from shim.server.rpc.home_dialler import HomeDialler
from shim.server.rpc.scheduler_connection import SchedulerLimits
from shim.server.rpc.scheduler_door import SchedulerDoor
from shim.services.identity import Caller
from shim.telemetry import configure_logs
from shim.telemetry.relay import RelayMetrics
from shim.testing.scheduler import ScriptedScheduler, token_for

_HOME = SubClusterId("bench")
_ANSWER_BYTES = 2364
"""An answer with ten containers and their tokens."""


class AnswersAtOnce(ScriptedScheduler):
    """Answers everything with the same bytes: as little work as a scheduler can have."""

    def answer_at_once(self, call: Call, caller: Caller) -> bytes | Failure | None:
        """The answer."""
        del call, caller
        return self.padding

    def add_tokens(self, count: int) -> None:
        """Issue so many."""
        tokens = {token_for(attempt(number)).identifier: token_for(attempt(number)) for number in range(count)}
        self._password_of = lambda identifier: tokens[identifier].password  # type: ignore[method-assign]  # quicker


class OneHome:
    """Every attempt is at home in the same place."""

    async def find(self, attempt_id: ApplicationAttemptId) -> Attempt:
        """It is there."""
        return Attempt(attempt_id, _HOME, queue="default", user="bench")

    def spans(self, found: Attempt) -> bool:
        """Nothing does."""
        del found
        return False


@dataclass
class Latencies:
    """Seconds of every call, both ways, and of every pair of calls the difference."""

    direct_s: list[float] = field(default_factory=list)
    relayed_s: list[float] = field(default_factory=list)

    def rows(self) -> dict[str, float]:
        """Figures in milliseconds."""
        rows: dict[str, float] = {"pairs of calls": float(len(self.direct_s))}
        for name, values in (("direct", self.direct_s), ("through the door", self.relayed_s)):
            rows |= {f"{name}: p{share:g}, ms": 1000 * percentile(values, share) for share in (50, 90, 99)}
        for share in (50, 90, 99):
            key = f"added, difference of the p{share:g}, ms"
            rows[key] = 1000 * (percentile(self.relayed_s, share) - percentile(self.direct_s, share))
        rows["added, mean of the differences, ms"] = 1000 * (fmean(self.relayed_s) - fmean(self.direct_s))
        return rows


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` percent of them are."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share / 100))]


# -- processes ---------------------------------------------------------------------------------------------------------


def raise_limits() -> None:
    """As many connections as the machine allows."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def resident_kib() -> float:
    """What this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1024


def _in_a_process(pipe: Connection, cores: set[int], start: Callable[[], "asyncio.Future[int]"]) -> None:
    """Serve, tell the port; then tell memory and CPU time whenever asked, until told to end."""

    async def main() -> None:
        pipe.send(await start())
        loop = asyncio.get_running_loop()
        while await loop.run_in_executor(None, pipe.recv):
            pipe.send((resident_kib(), time.process_time()))

    raise_limits()
    os.sched_setaffinity(0, cores)
    configure_logs(level="warning")
    uvloop.run(main())


def serve_scheduler(pipe: Connection, cores: set[int], count: int) -> None:
    """The far end."""

    async def start() -> int:
        answer = AllocateRequestProto(response_id=1).SerializeToString()
        behaviour = AnswersAtOnce(padding=answer + _filler(_ANSWER_BYTES - len(answer)))
        behaviour.add_tokens(count)
        server = RPCServer(behaviour, host="127.0.0.1", port=0)
        await server.start()
        _KEPT.append(server)
        return server.port

    _in_a_process(pipe, cores, lambda: asyncio.ensure_future(start()))


def serve_door(pipe: Connection, cores: set[int], port: int) -> None:
    """What is measured."""

    async def start() -> int:
        dialler = HomeDialler({_HOME: (("127.0.0.1", port),)})
        limits = SchedulerLimits(roll=RollLimits(most_entering_of_one=4096, most_entering=4096))
        door = SchedulerDoor(
            OneHome(), dialler, RelayMetrics(CollectorRegistry()), host="127.0.0.1", port=0, limits=limits
        )
        await door.start()
        _KEPT.append(door)
        return int(door.address.rpartition(":")[2])

    _in_a_process(pipe, cores, lambda: asyncio.ensure_future(start()))


_KEPT: list[object] = []


def _filler(count: int) -> bytes:
    """Bytes of an unknown field, so many with its head."""
    body = bytes(count - 5)
    return b"\xaa\x06" + bytes((len(body) & 0x7F | 0x80, len(body) >> 7)) + body


async def log_in(port: int, token: TokenSecret) -> Login:
    """One login."""
    _, login = await asyncio.get_running_loop().create_connection(lambda: Login(token), "127.0.0.1", port)
    await login.established
    return login


@dataclass(frozen=True, slots=True)
class Plan:
    """How the masters call.

    Attributes:
        count: So many masters.
        seconds: For so long, after all have logged in.
        every_s: From one call of a master to its next.
    """

    count: int
    seconds: float
    every_s: float


async def begin(direct: int, relayed: int, number: int, fleet: Fleet) -> tuple[Login, Login]:
    """Both logins of one master."""
    here, there = await log_in(direct, fleet.token(number)), await log_in(relayed, fleet.token(number))
    first = fleet.first()
    if first is not None:
        await here.call(first)
    return here, there


async def drive(direct: int, relayed: int, plan: Plan, fleet: Fleet, has_begun: Callable[[], None]) -> Latencies:
    """All masters, each calling by turns on both logins; `has_begun` is called when all have logged in."""
    latencies = Latencies()
    random = Random(7)  # noqa: S311 - when a master calls is no secret

    async def master(number: int, here: Login, there: Login, ends_s: float) -> None:
        await asyncio.sleep(random.random() * plan.every_s)
        while time.perf_counter() < ends_s:
            order = (here, there) if random.random() < 0.5 else (there, here)  # noqa: PLR2004 - neither first always
            took = {login: await login.call(fleet.next(number)) for login in order}
            latencies.direct_s.append(took[here])
            latencies.relayed_s.append(took[there])
            await asyncio.sleep(plan.every_s * (0.9 + 0.2 * random.random()))

    pairs = [await begin(direct, relayed, number, fleet) for number in range(plan.count)]
    has_begun()
    ends_s = time.perf_counter() + plan.seconds
    await asyncio.gather(*(master(number, *pair, ends_s) for number, pair in enumerate(pairs)))
    return latencies


_SPAWN = multiprocessing.get_context("spawn")


@contextmanager
def a_process(serve: Callable[..., None], cores: set[int], argument: int) -> Iterator[tuple[int, Connection]]:
    """A process that serves: its port, and where to ask it."""
    here, there = _SPAWN.Pipe()
    process = _SPAWN.Process(target=serve, args=(there, cores, argument), daemon=True)
    process.start()
    try:
        yield here.recv(), here
    finally:
        here.send("")
        process.join(5)


def measure(direct: int, plan: Plan, fleet: Fleet, own: set[int]) -> dict[str, float]:
    """Start a door before the scheduler on port `direct`, and drive both."""
    with a_process(serve_door, own, direct) as (relayed, pipe):
        before_kib, _ = _ask(pipe)
        begun: list[tuple[float, float]] = []
        latencies = uvloop.run(drive(direct, relayed, plan, fleet, lambda: begun.append(_ask(pipe))))
        after_kib, cpu_s = _ask(pipe)
    rows = latencies.rows()
    rows["door's memory of one master, KiB"] = (after_kib - before_kib) / plan.count
    rows["door's CPU time of one call and answer, us"] = 1e6 * (cpu_s - begun[0][1]) / len(latencies.relayed_s)
    rows["calls through the door, /s"] = len(latencies.relayed_s) / plan.seconds
    return rows


def measure_made_up(plan: Plan, own: set[int], others: set[int]) -> dict[str, float]:
    """With a scripted scheduler at the far end."""
    with a_process(serve_scheduler, others, plan.count) as (direct, _):
        return measure(direct, plan, MadeUpFleet(), own)


def measure_real(plan: Plan, own: set[int]) -> dict[str, float]:
    """With a real ResourceManager at the far end."""
    with tempfile.TemporaryDirectory(prefix="heddle-bench-") as folder, Lab(Path(folder)) as lab:
        lab.up(LabSpec.of(clusters=1, nodes=1, tuning="throughput"))
        east = lab.cluster("east")
        fleet = RealFleet(asyncio.run(real_tokens(east.client_rpc, plan.count)))
        return measure(int(east.scheduler_rpc.rpartition(":")[2]), plan, fleet, own)


def _ask(pipe: Connection) -> tuple[float, float]:
    pipe.send("more")
    memory_kib, cpu_s = pipe.recv()
    return float(memory_kib), float(cpu_s)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m scripts.bench.relay", description=__doc__)
    parser.add_argument("--masters", type=int, help="logged in at one time; 500, or 20 of a real ResourceManager")
    parser.add_argument("--seconds", type=float, default=20.0, help="for the calls")
    parser.add_argument("--every", type=float, default=1.0, help="seconds between a master's calls, as MapReduce")
    parser.add_argument("--real", action="store_true", help="a real ResourceManager at the far end, started for it")
    arguments = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    raise_limits()
    cores = sorted(os.sched_getaffinity(0))
    own, others = {cores[0]}, set(cores[1:]) or {cores[0]}
    os.sched_setaffinity(0, others)
    plan = Plan(arguments.masters or (20 if arguments.real else 500), arguments.seconds, arguments.every)
    figures = measure_real(plan, own) if arguments.real else measure_made_up(plan, own, others)
    for name, value in figures.items():
        print(f"{name:50} {value:12,.3f}")


if __name__ == "__main__":
    main()
