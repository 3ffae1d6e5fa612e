"""Puts load on one target: reads by wrk, submissions by a small client; what each run measured comes back as values."""

import asyncio
import os
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import aiohttp
import httpx

USER = "bench"
"""Who asks."""
COUNTER = "{counter}"
"""Stands in a URL for a number that is another one in each request."""

_APPS = "/ws/v1/cluster/apps"
_LOOKS_EVERY_S = 0.02
_TICKS = os.sysconf("SC_CLK_TCK")
# the Router sends ten bytes of gzip too many to clients that take it, which break the next answer of the connection
_HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity"}
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})
_UNITS_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60_000.0}


@dataclass(frozen=True, slots=True)
class Measured:
    """One run against one target.

    Attributes:
        per_s: Answered requests per second.
        failed: Answers other than 2xx, time-outs and broken connections.
        cpu_us: Processor time that the target's own process used for each request; what else the machine does hardly
            touches it.
        generator: How busy the load generator was, of one core; near 1 the rate is its own, not the target's.
        taken_up_per_s: Of submissions: how many a second until the ResourceManagers had taken up all of them.
    """

    per_s: float
    p50_ms: float
    p99_ms: float
    requests: int
    failed: int
    cpu_us: float = float("nan")
    generator: float = float("nan")
    taken_up_per_s: float = float("nan")


def measure_reads(
    url: str,
    *,
    connections: int,
    seconds: float,
    method: str = "GET",
    headers: Mapping[str, str] = _NO_HEADERS,
    start: int = 0,
) -> Measured:
    """Ask over and over on kept connections, for a whole number of seconds: wrk knows no others.

    Args:
        url: What to ask for; where `COUNTER` stands in it, each request has another number.
        connections: Connections at a time.
        seconds: For so long.
        method: HTTP method.
        headers: Beside `Accept: application/json`, or in its place.
        start: The number before the first.
    """
    seconds = max(1, round(seconds))
    script = Path(f"/tmp/heddle-bench-{os.getpid()}.lua")  # noqa: S108 - its content is fixed, its name is ours
    script.write_text(wrk_script(url, method, {"Accept": "application/json", **headers}, start), "utf-8")
    base = "/".join(url.split("/", 3)[:3])
    try:
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "120s", "--latency"]
        done = subprocess.run([*command, "-s", str(script), base], capture_output=True, text=True, check=True)
    finally:
        script.unlink()
    return _parse(done.stdout, seconds)


def wrk_script(url: str, method: str, headers: Mapping[str, str], start: int) -> str:
    """The requests, in the language of wrk; one that is always the same is written once."""
    path = f"/{url.split('/', 3)[3]}"
    lines = [f'wrk.method = "{method}"', f"wrk.path = [[{path}]]"]
    lines += [f"wrk.headers[ [[{name}]] ] = [[{value}]]" for name, value in headers.items()]
    if COUNTER in path:
        before, after = path.split(COUNTER)
        lines += [
            f"local counter = {start}",
            "request = function()",
            "  counter = counter + 1",
            f'  return wrk.format(nil, string.format("%s%d%s", [[{before}]], counter, [[{after}]]))',
            "end",
        ]
    return "\n".join((*lines, ""))


def _parse(text: str, seconds: float) -> Measured:
    latency = {
        name: float(value) * _UNITS_MS[unit] for name, value, unit in re.findall(r"(\d\d)% +([\d.]+)(us|ms|s|m)", text)
    }
    total = int(_found(r"(\d+) requests in", text) or 0)
    errors = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", text)
    broken = sum(map(int, errors.groups())) if errors else 0
    refused = int(_found(r"Non-2xx or 3xx responses: (\d+)", text) or 0)
    per_s = float(_found(r"Requests/sec: +([\d.]+)", text) or total / seconds)
    nan = float("nan")
    return Measured(per_s, latency.get("50", nan), latency.get("99", nan), total, broken + refused)


def _found(pattern: str, text: str) -> str | None:
    found = re.search(pattern, text)
    return found[1] if found else None


async def new_ids(base: str, count: int) -> list[str]:
    """Fresh application ids of a target."""
    async with aiohttp.ClientSession(headers=_HEADERS) as session:
        ids = []
        for _ in range(count):
            async with session.post(f"{base}{_APPS}/new-application?user.name={USER}") as answer:
                ids.append(str((await answer.json(content_type=None))["application-id"]))
        return ids


async def measure_posts(base: str, ids: Sequence[str], *, at_once: int) -> Measured:
    """Submit applications that run nowhere (their ApplicationMaster is not managed by YARN)."""
    waiting = list(ids)
    times: list[float] = []
    failed = 0

    async def work(session: aiohttp.ClientSession) -> None:
        nonlocal failed
        while waiting:
            began_s = time.perf_counter()
            async with session.post(f"{base}{_APPS}?user.name={USER}", json=_context(waiting.pop())) as answer:
                await answer.read()
                failed += answer.status != 202  # noqa: PLR2004 - accepted
            times.append(time.perf_counter() - began_s)

    began_s = time.perf_counter()
    async with aiohttp.ClientSession(headers=_HEADERS) as session:
        await asyncio.gather(*(work(session) for _ in range(at_once)))
    took_s = time.perf_counter() - began_s
    p50, p99 = (1000 * percentile(times, share) for share in (50, 99))
    return Measured(len(times) / took_s, p50, p99, len(times), failed)


def wait_until_taken_up(managers: Sequence[str], count: int, *, within_s: float) -> None:
    """Return when so many applications are ACCEPTED at the ResourceManagers together.

    Raises:
        TimeoutError: If they are not in time.
    """
    deadline_s = time.monotonic() + within_s
    with httpx.Client(trust_env=False, timeout=within_s) as client:
        while (accepted := sum(_counted(client, manager, "accepted") for manager in managers)) < count:
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"{accepted} of {count} applications were taken up within {within_s:g} s")
            time.sleep(_LOOKS_EVERY_S)


def count_known(manager: str) -> int:
    """How many applications a ResourceManager knows, ended ones among them."""
    with httpx.Client(trust_env=False, timeout=60) as client:
        return _counted(client, manager, "")


def _counted(client: httpx.Client, manager: str, states: str) -> int:
    told = client.get(f"{manager}/ws/v1/cluster/appstatistics", params={"states": states}).json()
    return sum(int(item["count"]) for item in told["appStatInfo"]["statItem"])


def _context(id_: str) -> dict[str, object]:
    return {
        "application-id": id_,
        "application-name": USER,
        "application-type": "BENCH",
        "queue": "default",
        "unmanaged-AM": True,
        "am-container-spec": {"commands": {"command": "sleep 1"}},
        "resource": {"memory": 128, "vCores": 1},
    }


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` percent of them are; 0 of none."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share / 100))] if values else 0.0


def cpu_s(pid: int) -> float:
    """Processor time that a process has used, its threads included."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def family(pid: int) -> list[int]:
    """A process and those that it has begun, the oldest first."""
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    return [pid, *sorted(int(child) for each in threads for child in each.read_text("ascii").split())]


def resident_mib(pid: int) -> int:
    """Memory that a process holds."""
    text = Path(f"/proc/{pid}/status").read_text("ascii")
    return int(_found(r"VmRSS:\s+(\d+) kB", text) or 0) // 1024
