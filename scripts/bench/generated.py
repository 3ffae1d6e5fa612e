"""A federation that no laptop can start: ten clusters of a thousand nodes, ten thousand live applications."""

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx

from scripts.bench.load import Measured, cpu_s, measure_reads, resident_mib
from scripts.bench.targets import HeddleProcess

__all__ = ["Generated", "Size", "run_generated"]

_WATCHED_S = 30.0


@dataclass(frozen=True, slots=True)
class Size:
    """How large the federation is; `applications` are live ones over all clusters."""

    clusters: int = 10
    nodes: int = 1000
    applications: int = 10_000


@dataclass(frozen=True, slots=True)
class Generated:
    """What was measured.

    Attributes:
        whole_list: `GET /apps` with every application, while polls go on.
        short_list: The same with `limit=100&states=RUNNING`.
        idle_cpu: Share of one core that the polls alone take.
        polls_per_s: Requests per second that each ResourceManager got.
    """

    size: Size
    whole_list: Measured
    short_list: Measured
    list_bytes: int
    memory_mib: int
    idle_cpu: float
    polls_per_s: float


def run_generated(folder: Path, *, base_port: int, size: Size, seconds: float, say: Callable[[str], None]) -> Generated:
    """Start scripted ResourceManagers and Heddle, and measure."""
    each = size.applications // size.clusters
    command = [sys.executable, "-m", "scripts.bench.scripted_managers"]
    command += map(str, (base_port, size.clusters, size.nodes, each))
    managers = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert managers.stdout is not None  # noqa: S101 - a pipe was asked for
        managers.stdout.readline()
        webs = {f"c{index}": f"http://127.0.0.1:{base_port + index}" for index in range(size.clusters)}
        with HeddleProcess(folder, port=base_port + 50, subclusters=webs) as heddle:
            return _measure(heddle, list(webs.values()), size, seconds, say)
    finally:
        managers.kill()
        managers.wait()


def _measure(
    heddle: HeddleProcess, webs: list[str], size: Size, seconds: float, say: Callable[[str], None]
) -> Generated:
    apps = f"{heddle.url}/ws/v1/cluster/apps"
    whole = httpx.get(apps, timeout=120, trust_env=False)
    listed = len(whole.json()["apps"]["app"])
    if listed != size.applications:
        raise ValueError(f"{listed} applications are listed, not {size.applications}")
    say(f"{listed} applications listed; watching the polls for {_WATCHED_S:g} s")
    asked, used_s, began_s = _asked(webs), cpu_s(heddle.pid), time.monotonic()
    time.sleep(_WATCHED_S)
    took_s = time.monotonic() - began_s
    idle_cpu = (cpu_s(heddle.pid) - used_s) / took_s
    polls_per_s = (_asked(webs) - asked) / took_s / size.clusters
    say("lists")
    whole_list = measure_reads(apps, connections=1, seconds=seconds)
    short_list = measure_reads(f"{apps}?states=RUNNING&limit=100", connections=8, seconds=seconds)
    memory = resident_mib(heddle.pid)
    return Generated(size, whole_list, short_list, len(whole.content), memory, idle_cpu, polls_per_s)


def _asked(webs: list[str]) -> int:
    counts = (httpx.get(f"{web}/ws/v1/cluster/counts", timeout=60, trust_env=False).json() for web in webs)
    return sum(sum(count.values()) for count in counts)
