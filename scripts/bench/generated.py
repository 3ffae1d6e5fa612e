"""A federation that no laptop can start: ten clusters of a thousand nodes, ten thousand live applications."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

from scripts.bench.load import Measured, cpu_s, measure_reads, resident_mib
from scripts.bench.report import figure_table, short
from scripts.bench.targets import HeddleProcess

_WATCHED_S = 20.0
_LISTS_S = 10.0


@dataclass(frozen=True, slots=True)
class Size:
    """How large the federation is; `applications` are live ones over all clusters."""

    clusters: int = 10
    nodes: int = 1000
    applications: int = 10_000


def generated(folder: Path, *, base_port: int, size: Size, say: Callable[[str], None]) -> Iterator[str]:
    """Start scripted ResourceManagers and Heddle, and measure; the lines of the section."""
    each = size.applications // size.clusters
    command = [sys.executable, "-m", "scripts.bench.scripted_managers"]
    command += map(str, (base_port, size.clusters, size.nodes, each))
    managers = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert managers.stdout is not None  # noqa: S101 - a pipe was asked for
        managers.stdout.readline()
        webs = {f"c{index}": f"http://127.0.0.1:{base_port + index}" for index in range(size.clusters)}
        with HeddleProcess(folder, port=base_port + 50, subclusters=webs) as heddle:
            rows = _measure(heddle, list(webs.values()), size, say)
    finally:
        managers.kill()
        managers.wait()
    what = f"{size.clusters} clusters x {size.nodes} nodes, {size.applications} live applications"
    yield from figure_table(what, ("measured",), {name: (value,) for name, value in rows.items()})


def _measure(heddle: HeddleProcess, webs: list[str], size: Size, say: Callable[[str], None]) -> dict[str, str]:
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
    whole_list = measure_reads(apps, connections=1, seconds=_LISTS_S)
    short_list = measure_reads(f"{apps}?states=RUNNING&limit=100", connections=8, seconds=_LISTS_S)
    return {
        f"`GET /apps`, all {size.applications} ({len(whole.content) / 1e6:.1f} MB), p50 / p99": _pair(whole_list),
        "`GET /apps?states=RUNNING&limit=100`, 8 connections, p50 / p99": _pair(short_list),
        "memory of Heddle": f"{resident_mib(heddle.pid)} MiB",
        "processor time for polls alone": f"{idle_cpu:.0%} of one core",
        "requests to each ResourceManager": f"{polls_per_s:.1f} per second",
    }


def _pair(measured: Measured) -> str:
    return f"{short(measured.p50_ms)} / {short(measured.p99_ms)} ms"


def _asked(webs: list[str]) -> int:
    counts = (httpx.get(f"{web}/ws/v1/cluster/counts", timeout=60, trust_env=False).json() for web in webs)
    return sum(sum(count.values()) for count in counts)
