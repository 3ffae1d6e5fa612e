"""Federations that no laptop can start: up to a hundred clusters of a thousand nodes, a hundred thousand applications.

Their ResourceManagers are scripted; their processor time is not counted. A tenth of the applications ends in a minute.
"""

import asyncio
import datetime as dt
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

import httpx

from scripts.bench.load import Measured, cpu_s, family, measure_posts, measure_reads, new_ids, percentile, resident_mib
from scripts.bench.report import figure_table, short
from scripts.bench.scripted_managers import ScriptedCluster
from scripts.bench.targets import HeddleProcess
from shim.app.host_limits import SystemClock, spare_collector
from shim.domain.ids import SubClusterId
from shim.domain.subclusters import SubClusterReport
from shim.errors import HeddleError
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.federation.poller import PollSchedule, SubClusterPoller, ViewIntake
from shim.federation.polling import PollSettings
from shim.ports.resource_manager import ResourceManager, RestAnswer, RestRequest
from shim.protocol.peers.poll_frames import (
    LENGTH_BYTES,
    BeatFrame,
    FenceFrame,
    PollTroubleFrame,
    ReportReader,
    ReportWriter,
    decode_poll_frame,
    encode_poll_frame,
)

_WATCHED_S = 20.0
_LISTS_S = 10.0
_LISTED_WITHIN_S = 300.0
_LOOKS_EVERY_S = 0.5
_NEARLY = 0.999
_CHURN_PERCENT = 10
_MANAGER_PROCESSES = 4
_GIVES_WAY = 5
_COLUMNS = (
    "all listed after, s",
    "polls, of a core",
    "memory, MiB",
    "age of the view, p50 / largest, s",
    "`?states=RUNNING&limit=100`, 8 connections, p50 / p99, ms",
    "requests to each ResourceManager a second",
    "submissions a second, 8 connections (refused)",
)


@dataclass(frozen=True, slots=True)
class Size:
    """How large a federation is; `applications` are live ones over all clusters, `workers` Heddle's `poll.workers`."""

    clusters: int
    nodes: int
    applications: int
    workers: int = 0

    def __str__(self) -> str:
        polling = f", {self.workers} processes that poll" if self.workers else ""
        return f"{self.clusters} x {self.nodes:,}, {self.applications:,}{polling}"


SIZES = (
    Size(10, 1000, 10_000),
    Size(30, 1000, 20_000),
    Size(100, 1000, 10_000),
    Size(10, 1000, 50_000),
    Size(100, 1000, 100_000),
    Size(100, 1000, 100_000, workers=2),
)


def scale(folder: Path, *, base_port: int, sizes: Sequence[Size], say: Callable[[str], None]) -> Iterator[str]:
    """Start scripted ResourceManagers and Heddle for each size, and measure; the lines of the section."""
    rows = {str(size): _measured(folder / f"{number}", base_port, size, say) for number, size in enumerate(sizes)}
    yield from figure_table("clusters x nodes, live applications", _COLUMNS, rows)


def _measured(folder: Path, base_port: int, size: Size, say: Callable[[str], None]) -> Sequence[str]:
    each = size.applications // size.clusters
    with _managers(base_port, size.clusters, size.nodes, each, churn=_CHURN_PERCENT) as webs:
        settings = {"HEDDLE_POLL_WORKERS": str(size.workers)}
        with HeddleProcess(folder, port=base_port + 150, subclusters=webs, settings=settings) as heddle:
            row = _row(heddle, list(webs.values()), each * size.clusters, say)
    say(f"{size}: {', '.join(row)}")
    return row


@contextmanager
def _managers(
    base_port: int, clusters: int, nodes: int, applications: int, churn: int = 0
) -> Iterator[Mapping[str, str]]:
    """Scripted ResourceManagers, whose processor time is not counted: they give way to what is measured.

    Several processes have a share of them each, so that one large list holds up few of the others, as on real machines.
    """
    begun: list[subprocess.Popen[bytes]] = []
    share = -(-clusters // _MANAGER_PROCESSES)
    try:
        for first in range(0, clusters, share):
            command = ["nice", "-n", str(_GIVES_WAY), sys.executable, "-m", "scripts.bench.scripted_managers"]
            numbers = (base_port + first, min(share, clusters - first), nodes, applications, 0, churn, first)
            begun.append(subprocess.Popen([*command, *map(str, numbers)], stdout=subprocess.PIPE))
        for each in begun:
            assert each.stdout is not None  # noqa: S101 - a pipe was asked for
            if each.stdout.readline() != b"ready\n":
                raise RuntimeError(f"the scripted managers did not start: are ports from {base_port} on free?")
        yield {f"c{index}": f"http://127.0.0.1:{base_port + index}" for index in range(clusters)}
    finally:
        for each in begun:
            each.kill()
            each.wait()


def _row(heddle: HeddleProcess, webs: Sequence[str], live: int, say: Callable[[str], None]) -> Sequence[str]:
    began_s = time.monotonic()
    with httpx.Client(base_url=f"{heddle.url}/ws/v1/cluster/", trust_env=False, timeout=120) as client:
        while (listed := _running(client)) < _NEARLY * live:
            if time.monotonic() > began_s + _LISTED_WITHIN_S:
                raise TimeoutError(f"{listed} of {live} applications are listed after {_LISTED_WITHIN_S:g} s")
            time.sleep(_LOOKS_EVERY_S)
        listed_s = time.monotonic() - began_s
        say(f"{listed} applications listed after {listed_s:.1f} s; watching the polls for {_WATCHED_S:g} s")
        asked, used_s, began_s = _asked(webs), _used_s(heddle.pid), time.monotonic()
        ages_s = [_age_s(client) for _ in range(int(_WATCHED_S / _LOOKS_EVERY_S))]
        took_s = time.monotonic() - began_s
        polls = [(after - before) / took_s for before, after in zip(used_s, _used_s(heddle.pid), strict=True)]
        asked_per_s = (_asked(webs) - asked) / took_s / len(webs)
        mib = [resident_mib(pid) for pid in family(heddle.pid)]
    lists = measure_reads(f"{heddle.url}/ws/v1/cluster/apps?states=RUNNING&limit=100", connections=8, seconds=_LISTS_S)
    posts = asyncio.run(measure_posts(heddle.url, asyncio.run(new_ids(heddle.url, _SUBMITTED)), at_once=8))
    return (
        f"{listed_s:.0f}",
        _sum([f"{each:.0%}" for each in polls], f"{sum(polls):.0%}"),
        _sum([str(each) for each in mib], str(sum(mib))),
        f"{percentile(ages_s, 50):.1f} / {max(ages_s):.1f}",
        f"{short(lists.p50_ms)} / {short(lists.p99_ms)}",
        f"{asked_per_s:.1f}",
        f"{posts.per_s:.0f} ({posts.failed})",
    )


def _used_s(pid: int) -> list[float]:
    """Processor time of a process and of those that it has begun."""
    return [cpu_s(each) for each in family(pid)]


def _sum(parts: Sequence[str], total: str) -> str:
    return total if len(parts) == 1 else f"{total} ({' + '.join(parts)})"


def _running(client: httpx.Client) -> int:
    """How many applications are told to run."""
    told = client.get("appstatistics", params={"states": "RUNNING"}).json()
    return sum(int(item["count"]) for item in told["appStatInfo"]["statItem"])


def _age_s(client: httpx.Client) -> float:
    """Age of the oldest part of a list, after a pause."""
    time.sleep(_LOOKS_EVERY_S)
    answer = client.get("apps", params={"limit": 1})
    return time.time() - dt.datetime.fromisoformat(answer.headers["Heddle-As-Of"]).timestamp()


def _asked(webs: Sequence[str]) -> int:
    counts = (httpx.get(f"{web}/ws/v1/cluster/counts", timeout=60, trust_env=False).json() for web in webs)
    return sum(sum(count.values()) for count in counts)


_SUBMITTED = 1000
_FEW = 2
_SETTLES_S = 3.0


def scripted_submissions(folder: Path, *, base_port: int, say: Callable[[str], None]) -> Iterator[str]:
    """What a submission over REST costs Heddle, where ResourceManagers cost nothing; the lines of a table.

    The processor time is that of its process until all has come to rest, less what it takes as long without any.
    """
    rows: dict[str, Sequence[str]] = {}
    with (
        _managers(base_port, _FEW, 10, 0) as webs,
        HeddleProcess(folder, port=base_port + 150, subclusters=webs) as heddle,
    ):
        for at_once in (8, 1, 8, 1):  # the first of each is to warm up
            ids = asyncio.run(new_ids(heddle.url, _SUBMITTED))
            idle, _ = _share_of_core(heddle.pid, lambda: time.sleep(_SETTLES_S))
            posts: list[Measured] = []
            busy, took_s = _share_of_core(heddle.pid, partial(_post, heddle.url, ids, at_once, posts))
            used_ms, told = 1000 * (busy - idle) * took_s / _SUBMITTED, posts[0]
            rows[str(at_once)] = (f"{used_ms:.2f}", f"{told.per_s:.0f}", str(told.failed))
            say(f"{at_once}: {', '.join(rows[str(at_once)])}")
    yield from figure_table("connections", ("processor time of a submission, ms", "a second", "refused"), rows)


def _post(url: str, ids: Sequence[str], at_once: int, measured: list[Measured]) -> None:
    measured.append(asyncio.run(measure_posts(url, ids, at_once=at_once)))
    time.sleep(_SETTLES_S)


def _share_of_core(pid: int, work: Callable[[], None]) -> tuple[float, float]:
    """How busy a process was while something was done, and how long that took in seconds."""
    used_s, began_s = cpu_s(pid), time.monotonic()
    work()
    took_s = time.monotonic() - began_s
    return (cpu_s(pid) - used_s) / took_s, took_s


_POLLS = 5
_OF_ONE = ((1000, 1000), (1000, 5000), (1000, 20_000))


def polls_of_one() -> Iterator[str]:
    """Processor time of a poll of one cluster in this process, without the way there; the lines of a table."""
    rows = {
        f"{nodes:,}, {applications:,}": asyncio.run(_polled(nodes, applications)) for nodes, applications in _OF_ONE
    }
    columns = ("processor time of a poll, ms", "longest turn, ms", "of who serves, where another process polls, ms")
    yield from figure_table("nodes, live applications", columns, rows)


async def _polled(nodes: int, applications: int) -> Sequence[str]:
    manager = _Telling(ScriptedCluster(0, nodes, applications, churn=_CHURN_PERCENT, began_ms=_now_ms()))
    clock, poll = SystemClock(), PollSettings(timeout_s=60.0, busy_share=1000.0, rows_per_s=10**9)
    view = FederationView((manager.subcluster,), ViewSettings(late_after_s=60.0, final_documents=10_000))
    intake, schedule = ViewIntake(view, clock), PollSchedule(interval_s=60.0, poll=poll)
    master = SubClusterPoller(manager, intake, clock, schedule)
    for _ in range(2):
        await master.poll()
    spare_collector()
    turns: list[float] = []
    others = asyncio.create_task(_watch(manager, turns))
    await asyncio.sleep(0)
    for _ in range(_POLLS):
        await master.poll()
    others.cancel()
    told = _Told()
    schedule = replace(schedule, poll=replace(poll, is_packed=True))
    taken_s = await _taken(told, SubClusterPoller(manager, told, clock, schedule), intake)
    return short(1000 * sum(turns) / _POLLS), short(1000 * max(turns)), short(1000 * taken_s)


class _Told:
    """Keeps the frames that a process that polls would send of its newest report."""

    def __init__(self) -> None:
        self._writer = ReportWriter()
        self.frames: list[bytes] = []

    async def take(self, report: SubClusterReport) -> None:
        """See `TakesReports`."""
        self.frames = [encode_poll_frame(frame)[LENGTH_BYTES:] for frame in self._writer.frames(report)]

    async def fail(self, subcluster: SubClusterId, error: HeddleError) -> None:
        """See `TakesReports`."""
        raise AssertionError(f"{subcluster} did not answer") from error


async def _taken(told: _Told, master: SubClusterPoller, intake: ViewIntake) -> float:
    """Processor time that each later report of another process takes here, in seconds."""
    reader, used_s = ReportReader(), 0.0
    for number in range(_POLLS + 1):
        await master.poll()
        began_s = time.process_time()
        for data in told.frames:
            frame = decode_poll_frame(data)
            assert not isinstance(frame, BeatFrame | PollTroubleFrame | FenceFrame)  # noqa: S101 - of a report
            if (report := reader.take(frame)) is not None:
                await intake.take(report)
        used_s += (time.process_time() - began_s) if number else 0.0
    return used_s / _POLLS


async def _watch(manager: "_Telling", turns: list[float]) -> None:
    """Note how long each turn of whoever else is there takes, without the answers that the manager makes in it."""
    while True:
        began_s, answering_s = time.process_time(), manager.answering_s
        await asyncio.sleep(0)
        turns.append(time.process_time() - began_s - (manager.answering_s - answering_s))


class _Telling(ResourceManager):
    """A scripted cluster that is asked without a socket."""

    def __init__(self, cluster: ScriptedCluster) -> None:
        self._cluster = cluster
        self.answering_s = 0.0

    @property
    def subcluster(self) -> SubClusterId:
        """Its only name."""
        return SubClusterId("c0")

    async def forward(self, request: RestRequest, *, timeout_s: float | None = None) -> RestAnswer:  # noqa: ARG002
        """Answer at once."""
        began_s = time.process_time()
        status, body = self._cluster.answer(f"{request.path}?{urlencode(request.parameters)}", _now_ms())
        self.answering_s += time.process_time() - began_s
        return RestAnswer(status, (), body)

    async def close(self) -> None:
        """Nothing is open."""


def _now_ms() -> int:
    return int(time.time() * 1000)
