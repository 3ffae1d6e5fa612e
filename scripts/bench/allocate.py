"""An allocate call's round trip on real clusters, four ways.

To the ResourceManager; through Heddle, at home; through Heddle where the queue spans; and through the AMRMProxy that
Hadoop's federation wants on every NodeManager. So many ApplicationMasters of each kind, all in this process, call by
turns, so that all round trips come from the same seconds. Each holds a few containers; those of the queue that spans
hold some in both clusters. The AMRMProxy takes only ApplicationMasters that a NodeManager has started: those of its
kind are containers that leave their token to us.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import uvloop

from scripts.bench.cells import Effort, Say
from scripts.bench.load import percentile
from scripts.bench.real_masters import managed_tokens, unmanaged_tokens
from scripts.bench.relay_fleets import Beats, asks_for, log_in
from scripts.bench.report import figure_table, short
from scripts.bench.targets import HeddleProcess
from shim.lab import Cluster, Lab, LabSpec
from shim.protocol.hrpc.digest_md5 import TokenSecret

_MASTERS = 8
_CONTAINERS = 4
_EVERY_S = 0.1
_SETTLES_S = 10.0
"""So long do the masters call before it counts: for their containers to come, and for JVMs to compile."""
_LONGER = 5
"""Times what is measured of other rows: the slowest of a hundred calls takes many calls to be seen."""
_HOME, _SPANNING = "default", "prod"
_DIRECT, _PROXY, _AT_HOME, _SPANS = "RM directly", "AMRMProxy", "Heddle, at home", "Heddle, spanning"


@dataclass
class _ApplicationMaster:
    """One ApplicationMaster, and how long its calls took."""

    way: str
    beats: Beats
    times_s: list[float] = field(default_factory=list)

    async def call(self) -> None:
        """One allocate call."""
        self.times_s.append(await self.beats.call())


def allocate(folder: Path, base_port: int, effort: Effort, say: Say) -> Iterator[str]:
    """The lines of the section."""
    proxy_port = base_port + 940
    with Lab(folder / "lab") as lab:
        say("starting two clusters with an AMRMProxy on each node")
        lab.up(
            LabSpec.of(
                base_port=base_port, nodes=1, tuning="throughput", overrides=_overrides(proxy_port), hosts="loopback"
            )
        )
        confs = {id_: cluster.conf_dir for id_, cluster in lab.clusters.items()}
        spanning = f"root.{_SPANNING}"
        with HeddleProcess(
            folder / "heddle", port=base_port + 930, subclusters=confs, servers=True, spanning=spanning
        ) as heddle:
            east = next(iter(lab.clusters.values()))
            seconds = effort.rounds * effort.seconds * _LONGER
            masters = uvloop.run(_drive(_SchedulerLogins(east, proxy_port, heddle), folder, seconds, say))
    return _table(masters)


def _overrides(proxy_port: int) -> Mapping[str, Mapping[str, str]]:
    return {
        "yarn-site.xml": {
            "yarn.nodemanager.amrmproxy.enabled": "true",
            "yarn.nodemanager.amrmproxy.address": f"${{yarn.nodemanager.hostname}}:{proxy_port}",
            "yarn.nodemanager.resource.cpu-vcores": "64",
            "yarn.nodemanager.resource.memory-mb": "16384",
        }
    }


@dataclass(frozen=True, slots=True)
class _SchedulerLogins:
    """Where masters log in."""

    east: Cluster
    proxy_port: int
    heddle: HeddleProcess

    async def log_in(self, folder: Path) -> list[_ApplicationMaster]:
        """So many masters of each kind."""
        (node,) = self.east.record.layout.nodes
        direct, front = self.east.client_rpc, self.heddle.front
        proxied = await managed_tokens(direct, _MASTERS, folder / "tokens")
        return [
            *await _masters(_DIRECT, self.east.scheduler_rpc, await unmanaged_tokens(direct, _MASTERS)),
            *await _masters(_PROXY, f"{node.host}:{self.proxy_port}", proxied),
            *await _masters(_AT_HOME, front.scheduler_rpc, await unmanaged_tokens(front.client_rpc, _MASTERS, _HOME)),
            *await _masters(_SPANS, front.scheduler_rpc, await unmanaged_tokens(front.client_rpc, _MASTERS, _SPANNING)),
        ]


async def _masters(way: str, address: str, tokens: Sequence[TokenSecret]) -> list[_ApplicationMaster]:
    masters = [_ApplicationMaster(way, Beats(await log_in(address, token))) for token in tokens]
    for master in masters:
        await master.beats.register()
        await master.beats.call(asks_for(_CONTAINERS))
    return masters


async def _drive(servers: _SchedulerLogins, folder: Path, seconds: float, say: Say) -> list[_ApplicationMaster]:
    say(f"logging in {_MASTERS} masters of each kind")
    masters = await servers.log_in(folder)
    await _beat(masters, _SETTLES_S)
    for master in masters:
        master.times_s.clear()
    say(f"calling for {seconds:g} s")
    await _beat(masters, seconds)
    return masters


async def _beat(masters: Sequence[_ApplicationMaster], seconds: float) -> None:
    """All call, one at a time: what one waits for is not another's call here."""
    random = Random(7)  # noqa: S311 - when a master calls is no secret
    ends_s = time.perf_counter() + seconds
    while time.perf_counter() < ends_s:
        for master in random.sample(masters, len(masters)):
            began_s = time.perf_counter()
            await master.call()
            await asyncio.sleep(max(0.0, _EVERY_S / len(masters) - (time.perf_counter() - began_s)))


def _table(masters: Sequence[_ApplicationMaster]) -> Iterator[str]:
    ways = dict.fromkeys(master.way for master in masters)
    times_ms = {
        way: [1000 * each for master in masters if master.way == way for each in master.times_s] for way in ways
    }
    base = {share: percentile(times_ms[_DIRECT], share) for share in (50, 99)}
    rows = {}
    for way, values in times_ms.items():
        figures = {share: percentile(values, share) for share in (50, 90, 99)}
        added = (f"{figures[share] - base[share]:+.2f}" for share in (50, 99))
        rows[way] = (*map(short, figures.values()), *added, str(len(values)), _held(masters, way))
    columns = ("p50 ms", "p90 ms", "p99 ms", "added to the p50", "added to the p99", "calls", "containers")
    yield from figure_table("allocate", columns, rows)


def _held(masters: Sequence[_ApplicationMaster], way: str) -> str:
    hosts = [host for master in masters if master.way == way for host in master.beats.hosts]
    return f"{len(hosts)} on {len(set(hosts))} nodes"
