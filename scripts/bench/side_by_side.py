"""The rows that compare requests: over REST and over Hadoop RPC, few applications and many."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from scripts.bench.cells import Cell, Effort, Measure, Say, measure_cells
from scripts.bench.load import USER, Measured, cpu_s, measure_posts, measure_reads, new_ids, wait_until_taken_up
from scripts.bench.rpc_load import measure_calls, measure_submissions
from scripts.bench.stage import FEW, MANY, Stage
from shim.domain.ids import ApplicationId
from shim.protocol.proto.messages import GetApplicationReportRequestProto
from shim.protocol.yarn import application_message

_CONNECTIONS = (1, 8, 32)
_BASE = "/ws/v1/cluster"
_POSTS = 200
_LONGER = 2
"""A list of thousands takes a second: so many times longer is it measured."""
_CALM_S = 2.0
"""ResourceManagers that have just ended hundreds of applications have work left."""
_TAKEN_UP_WITHIN_S = 120.0


def rest_reads(stage: Stage, effort: Effort, say: Say) -> Iterator[Cell]:
    """What a ResourceManager tells over REST."""
    with stage.known_application() as known:
        rows = {
            "metrics": "/metrics",
            f"apps ({FEW})": "/apps",
            "apps/{id}": f"/apps/{known}",
            "nodes": "/nodes",
            "scheduler": "/scheduler",
        }
        for what, path in rows.items():
            yield from _cells(stage, effort, say, what, _CONNECTIONS, _asker(stage, path, effort.seconds))
        create = _asker(stage, "/apps/new-application", effort.seconds, method="POST")
        yield from _cells(stage, effort, say, "new-application", _CONNECTIONS, create)


def rpc_reads(stage: Stage, effort: Effort, say: Say) -> Iterator[Cell]:
    """What clients of Hadoop ask for most."""
    with stage.known_application() as known:
        asked = GetApplicationReportRequestProto(application_id=application_message(ApplicationId.parse(known)))
        rows = {
            f"getApplications ({FEW})": ("getApplications", b""),
            "getApplicationReport": ("getApplicationReport", asked.SerializeToString()),
            "getClusterMetrics": ("getClusterMetrics", b""),
            "getNewApplication": ("getNewApplication", b""),
        }
        for what, (method, payload) in rows.items():
            yield from _cells(stage, effort, say, what, _CONNECTIONS, _caller(stage, method, payload, effort.seconds))


def submissions(stage: Stage, effort: Effort, say: Say) -> Iterator[Cell]:
    """Applications that run nowhere, over both."""

    def post(target: str, at_once: int) -> Measured:
        # the Router gives out no ids over REST: it gets those of a ResourceManager
        source = stage.bases["rm" if target == "router" else target]
        ids = asyncio.run(new_ids(source, _POSTS))
        return _to_the_end(stage, target, lambda: asyncio.run(measure_posts(stage.bases[target], ids, at_once=at_once)))

    def call(target: str, at_once: int) -> Measured:
        return _to_the_end(stage, target, lambda: measure_submissions(stage.rpcs[target], _POSTS, at_once=at_once))

    yield from _cells(stage, effort, say, "REST: submit", (1, 8), post)
    yield from _cells(stage, effort, say, "RPC: getNewApplication + submitApplication", (1, 8), call)


def many(stage: Stage, effort: Effort, say: Say) -> Iterator[Cell]:
    """Lists of thousands; leaves the clusters full."""
    say(f"{MANY} applications")
    stage.fill_to(MANY, say)
    seconds = effort.seconds * _LONGER
    yield from _cells(stage, effort, say, f"REST: apps ({MANY:,})", (1, 8), _asker(stage, "/apps", seconds))
    rpc = _caller(stage, "getApplications", b"", seconds)
    yield from _cells(stage, effort, say, f"RPC: getApplications ({MANY:,})", (1, 8), rpc)


def _asker(stage: Stage, path: str, seconds: float, *, method: str = "GET") -> Measure:
    def measure(target: str, connections: int) -> Measured:
        # the Router lists nothing for a caller without a name
        name = f"?user.name={USER}" if target == "router" else ""
        url = f"{stage.bases[target]}{_BASE}{path}{name}"
        return measure_reads(url, connections=connections, seconds=seconds, method=method)

    return measure


def _caller(stage: Stage, method: str, payload: bytes, seconds: float) -> Measure:
    def measure(target: str, connections: int) -> Measured:
        return measure_calls(stage.rpcs[target], method, payload, connections=connections, seconds=seconds)

    return measure


def _to_the_end(stage: Stage, target: str, measure: Callable[[], Measured]) -> Measured:
    """Measure submissions, also until the ResourceManagers have done their part: so long counts processor time."""
    time.sleep(_CALM_S)
    pid = stage.pids[target]
    began_s, used_s = time.perf_counter(), cpu_s(pid)
    try:
        measured = measure()
        wait_until_taken_up(stage.managers, measured.requests, within_s=_TAKEN_UP_WITHIN_S)
        took_s, used_s = time.perf_counter() - began_s, cpu_s(pid) - used_s
        per_request_us = used_s * 1e6 / max(1, measured.requests)
        return replace(measured, taken_up_per_s=measured.requests / took_s, cpu_us=per_request_us)
    finally:
        stage.tidy()


def _cells(
    stage: Stage, effort: Effort, say: Say, what: str, connections: Sequence[int], measure: Measure
) -> Iterator[Cell]:
    return measure_cells(what, connections, measure, pids=stage.pids, rounds=effort.rounds, say=say)
