"""Reads as clients send them: with a name, a cookie, compressed, in XML; lists that differ each time; many users."""

import itertools
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import httpx

from scripts.bench.cells import Cell, Effort, Measure, Say, measure_cells
from scripts.bench.load import COUNTER, USER, Measured, measure_reads
from scripts.bench.rpc_load import measure_calls
from scripts.bench.stage import FEW, Stage
from shim.domain.ids import ApplicationId
from shim.protocol.proto.messages import GetApplicationReportRequestProto
from shim.protocol.yarn import application_message

_BASE = "/ws/v1/cluster"
_CONNECTIONS = (1, 8)
_XML = {"Accept": "application/xml"}
_GZIP = {"Accept-Encoding": "gzip"}
_RUNS = itertools.count(1)
_MOST_OF_A_RUN = 100_000


@dataclass(frozen=True, slots=True)
class _Read:
    """How a client asks.

    Attributes:
        path: Below the base path; `COUNTER` in it is another number each time.
        has_cookie: Whether it sends the cookie that it was given when it first named itself.
        is_recent: Whether the numbers are milliseconds of the last minutes, else of 1970: everything began later.
    """

    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    has_cookie: bool = False
    is_recent: bool = False

    def first_number(self) -> int:
        """Where the numbers of a run begin; no two runs share one."""
        run = next(_RUNS)
        return int(time.time() * 1000) - run * _MOST_OF_A_RUN if self.is_recent else run * _MOST_OF_A_RUN


def _named(known: str) -> Mapping[str, _Read]:
    named = f"?user.name={USER}"
    return {
        "metrics, named": _Read(f"/metrics{named}"),
        "metrics, cookie": _Read("/metrics", has_cookie=True),
        f"apps ({FEW}), named": _Read(f"/apps{named}"),
        f"apps ({FEW}), cookie": _Read("/apps", has_cookie=True),
        f"apps ({FEW}), named, gzip": _Read(f"/apps{named}", _GZIP),
        f"apps ({FEW}), named, XML": _Read(f"/apps{named}", _XML),
        "apps/{id}, named": _Read(f"/apps/{known}{named}"),
        "nodes, named, XML": _Read(f"/nodes{named}", _XML),
        "scheduler, named, gzip": _Read(f"/scheduler{named}", _GZIP),
    }


def _differing() -> Mapping[str, _Read]:
    """Lists whose query is another one each time, as pollers, pages and scripts ask for them."""
    named = f"/apps?user.name={USER}"
    return {
        "started in the last minutes": _Read(f"{named}&startedTimeBegin={COUNTER}", is_recent=True),
        "newest 20": _Read(f"{named}&limit=20&startedTimeBegin={COUNTER}"),
        "of a user, 100": _Read(f"{named}&user={USER}&limit=100&finishedTimeBegin={COUNTER}"),
        "of a tag": _Read(f"{named}&applicationTags=nightly&startedTimeBegin={COUNTER}"),
        "running": _Read(f"{named}&states=RUNNING,ACCEPTED&startedTimeBegin={COUNTER}"),
        "100 without requests": _Read(f"{named}&deSelects=resourceRequests&limit=100&startedTimeBegin={COUNTER}"),
        "100 in XML": _Read(f"{named}&limit=100&startedTimeBegin={COUNTER}", _XML),
        "100, gzip": _Read(f"{named}&limit=100&startedTimeBegin={COUNTER}", _GZIP),
        "all": _Read(f"{named}&startedTimeBegin={COUNTER}"),
    }


def named_reads(stage: Stage, effort: Effort, say: Say) -> Iterator[Cell]:
    """What a ResourceManager tells over REST, to callers that say who they are."""
    with stage.known_application() as known:
        for what, read in _named(known).items():
            yield from _cells(stage, effort, say, what, _asker(stage, read, effort.seconds))


def differing_lists(stage: Stage, effort: Effort, say: Say, *, sizes: tuple[int, ...]) -> Iterator[Cell]:
    """Lists that nobody has asked for before; leaves the clusters as full as the last size."""
    for size in sizes:
        say(f"{size} applications")
        stage.fill_to(size, say)
        for what, read in _differing().items():
            yield from _cells(stage, effort, say, f"{what} ({size:,} known)", _asker(stage, read, effort.seconds))


def many_users(stage: Stage, effort: Effort, say: Say) -> Iterator[Cell]:
    """Calls over RPC, each connection by another user."""
    with stage.known_application() as known:
        asked = GetApplicationReportRequestProto(application_id=application_message(ApplicationId.parse(known)))
        calls = {
            f"getApplications ({FEW})": ("getApplications", b""),
            "getApplicationReport": ("getApplicationReport", asked.SerializeToString()),
            "getClusterMetrics": ("getClusterMetrics", b""),
            "getNewApplication": ("getNewApplication", b""),
        }
        for what, (method, payload) in calls.items():
            measure = _caller(stage, method, payload, effort.seconds)
            yield from _cells(stage, effort, say, what, measure, connections=(8, 32))


def _asker(stage: Stage, read: _Read, seconds: float) -> Measure:
    def measure(target: str, connections: int) -> Measured:
        base = f"{stage.bases[target]}{_BASE}"
        headers = {**read.headers, **({"Cookie": _cookie(base)} if read.has_cookie else {})}
        return measure_reads(
            f"{base}{read.path}", connections=connections, seconds=seconds, headers=headers, start=read.first_number()
        )

    return measure


def _cookie(base: str) -> str:
    """The cookie that a target gives a client that names itself; the name alone where it gives none."""
    answer = httpx.get(f"{base}/info?user.name={USER}", trust_env=False, timeout=30)
    given = answer.headers.get("set-cookie", "")
    return given.partition(";")[0] or "hadoop.auth="


def _caller(stage: Stage, method: str, payload: bytes, seconds: float) -> Measure:
    def measure(target: str, connections: int) -> Measured:
        users = [f"{USER}{number}" for number in range(connections)]
        return measure_calls(stage.rpcs[target], method, payload, connections=connections, seconds=seconds, users=users)

    return measure


def _cells(
    stage: Stage, effort: Effort, say: Say, what: str, measure: Measure, connections: tuple[int, ...] = _CONNECTIONS
) -> Iterator[Cell]:
    return measure_cells(what, connections, measure, pids=stage.pids, rounds=effort.rounds, say=say)
