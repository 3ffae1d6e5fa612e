"""ResourceManagers that tell, and take submissions: a generated federation's documents over HTTP, each request counted.

Run as a process of its own: `python -m scripts.bench.scripted_managers PORT CLUSTERS NODES APPLICATIONS [ENDED CHURN
FIRST]`. Cluster `i` of those from FIRST on listens on `PORT + i`. Rows are those that a ResourceManager was recorded
with, and what moves in each of its answers moves here: of a running application its elapsed time, progress and what it
has used; of a node its utilisation, and of one in twenty what it has given. CHURN percent of the applications end in a
minute, and as many begin. `/counts` tells how often was asked.
"""

import asyncio
import gzip
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.utils import formatdate
from functools import partial
from pathlib import Path
from typing import cast
from urllib.parse import parse_qs, urlsplit

import uvloop

from shim.domain.ids import ApplicationId
from shim.domain.resources import ResourceVector
from tests.doubles import rm_documents as build

_BASE = "/ws/v1/cluster"
_RECORDED = Path(__file__).resolve().parents[2] / "tests" / "recordings" / "3.4.2"
_STARTED_MS = 1_795_000_000_000
_NODE = ResourceVector(4096, 4)
_QUEUES = ("default", "prod", "dev")
_MIB, _CORES = 896, 6
_GIVES_ONE_IN = 20
_TYPE = re.compile('"applicationType":"[^"]*"')
_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")

# What moves in a recorded row, and what is of one application or node alone. `%` stands where a value is put in.
_MOVES = {
    '"progress":0.0': '"progress":%.2f',
    '"elapsedTime":19626': '"elapsedTime":%d',
    '"memorySeconds":14755': '"memorySeconds":%d',
    '"vcoreSeconds":95': '"vcoreSeconds":%d',
    '"value":"14755"': '"value":"%d"',
    '"value":"95"': '"value":"%d"',
}
_NODE_MOVES = {
    '"lastHealthUpdate":1795374796906': '"lastHealthUpdate":%d',
    '"numContainers":0': '"numContainers":%d',
    '"usedMemoryMB":0,"availMemoryMB":4096': '"usedMemoryMB":%d,"availMemoryMB":%d',
    '"memUtilization":20.47708,"cpuUtilization":99.76682': '"memUtilization":%.5f,"cpuUtilization":%.5f',
    '"nodePhysicalMemoryMB":4936': '"nodePhysicalMemoryMB":%d',
    '"nodeCPUUsage":1.9953364133834839': '"nodeCPUUsage":%.16f',
    '"usedResource":{"memory":0': '"usedResource":{"memory":%d',
    '"availableResource":{"memory":4096': '"availableResource":{"memory":%d',
}


def recorded(file: str, name: str) -> str:
    """The body of an answer that a ResourceManager was recorded with."""
    with gzip.open(_RECORDED / f"{file}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return str(next(each["response"]["body"] for each in map(json.loads, lines) if each["name"] == name))


def _with(row: str, replaced: Mapping[str, object]) -> str:
    for old, new in replaced.items():
        assert old in row, old  # noqa: S101 - the recording is in the same repository
        row = row.replace(old, str(new))
    return row


def _recorded_row(file: str, name: str) -> str:
    return recorded(file, name).removeprefix('{"app":').removesuffix("}").replace("%", "%%")


_RUNNING = _with(_recorded_row("running", "app_deselect_requests.json"), _MOVES)
_ENDED = _recorded_row("finished_app", "finished.json")
_NODE_ROW = _with(recorded("nodes", "all").partition("[")[2].partition(',{"rack"')[0], _NODE_MOVES)


@dataclass(slots=True)
class _Application:
    id: ApplicationId
    number: int
    started_ms: int
    user: str = ""
    name: str = ""
    type: str = "YARN"
    row: bytes = b""

    def run(self) -> None:
        """Be shown as running."""
        times = {"1795375108033": self.started_ms, "1795375108391": self.started_ms}
        self.row = self._mine(_RUNNING, "root", "dshell", "0010", times)

    def end(self, at_ms: int) -> None:
        """Be shown as finished from now on."""
        times: dict[str, object] = {
            "1795375099928": self.started_ms,
            "1795375100294": self.started_ms,
            "1795375104913": at_ms,
        }
        took = {'"elapsedTime":4985': f'"elapsedTime":{at_ms - self.started_ms}'}
        self.row = self._mine(_ENDED, "carol", "shell", "0002", times | took)

    def _mine(self, row: str, user: str, name: str, number: str, others: Mapping[str, object]) -> bytes:
        """A recorded row with what is this application's."""
        mine = {
            f'"user":"{user}"': f'"user":"{self.user or f"user{self.number % 50}"}"',
            f'"name":"{name}"': f'"name":"{self.name or f"nightly-report-{self.number}"}"',
            '"queue":"root.default"': f'"queue":"root.{_QUEUES[self.number % len(_QUEUES)]}"',
            f"1795375096541_{number}": str(self.id).removeprefix("application_"),
            "1795375096541": self.id.cluster_timestamp,
        }
        row = _TYPE.sub(f'"applicationType":"{self.type}"', row, count=1)
        return _with(row, {**mine, **others}).encode()

    def told(self, now_ms: int) -> bytes:
        """A running one as it is now."""
        took_ms = now_ms - self.started_ms
        used = took_ms * _MIB // 1000, took_ms * _CORES // 1000
        return self.row % (took_ms % 1_000_000 / 10_000, took_ms, *used, *used)


class ScriptedCluster:
    """The documents of one cluster.

    Args:
        index: Which one of the federation.
        nodes: How many it has.
        applications: How many live.
        ended: How many have ended before.
        churn: Percent of the applications that end in a minute; as many begin.
        began_ms: Since when, in milliseconds since the epoch.
    """

    def __init__(
        self, index: int, nodes: int, applications: int, ended: int = 0, churn: float = 0, *, began_ms: int
    ) -> None:
        self._total = ResourceVector(_NODE.memory_mib * nodes, _NODE.vcores * nodes)
        self._third = ResourceVector(self._total.memory_mib // 3, self._total.vcores // 3)
        self._began_ms = began_ms
        self._ends_per_ms = applications * churn / 100 / 60_000
        self._stamp = _STARTED_MS + index
        self._next = self._churned = self._looks = 0
        self._live: dict[str, _Application] = {}
        self._ended: dict[str, tuple[int, bytes]] = {}
        self.counts: Counter[str] = Counter()
        for _ in range(ended + applications):
            self._begin(_STARTED_MS + 1000 * self._next)
        self._end(ended, self._began_ms)
        queues = [build.a_queue(f"root.{name}", self._third, maximum=self._total) for name in _QUEUES]
        self._documents = {
            "/info": build.info_document(started_on_ms=self._stamp),
            "/metrics": build.metrics_document(self._total, self._third, nodes=nodes, running=applications),
            "/scheduler": build.scheduler_document(queues, maximum_allocation=_NODE),
        }
        self._nodes = [
            _with(_NODE_ROW, {"127.0.20.2": f"c{index}n{number}.example.org"}).encode() for number in range(nodes)
        ]

    def answer(self, target: str, now_ms: int) -> tuple[int, bytes]:
        """Status and body of what it answers at a time."""
        parts = urlsplit(target)
        path = parts.path.rstrip("/").removeprefix(_BASE) or "/info"
        if path == "/counts":
            return 200, json.dumps(self.counts).encode()
        self.counts[path.split("/")[1]] += 1
        if path.startswith("/apps/"):
            return self._application(path.removeprefix("/apps/"), now_ms)
        if path == "/apps":
            self._churn(now_ms)
            return 200, b'{"apps":{"app":[' + b",".join(self._listed(parse_qs(parts.query), now_ms)) + b"]}}"
        if path == "/nodes":
            return 200, b'{"nodes":{"node":[' + b",".join(self._node_rows(now_ms)) + b"]}}"
        document = self._documents.get(path)
        return (404, b"{}") if document is None else (200, document)

    def submit(self, user: str, body: bytes, now_ms: int) -> tuple[int, bytes]:
        """Run an application from now on."""
        told = json.loads(body)
        self.counts["submissions"] += 1
        id_ = ApplicationId.parse(told["application-id"])
        self._live[str(id_)] = begun = _Application(
            id_, 0, now_ms, user, told["application-name"], told["application-type"]
        )
        begun.run()
        return 202, b""

    def _application(self, id_: str, now_ms: int) -> tuple[int, bytes]:
        if id_ in self._live:
            return 200, b'{"app":' + self._live[id_].told(now_ms) + b"}"
        if id_ in self._ended:
            return 200, b'{"app":' + self._ended[id_][1] + b"}"
        return 404, b'{"RemoteException":{"exception":"NotFoundException"}}'

    def _listed(self, query: Mapping[str, list[str]], now_ms: int) -> Iterable[bytes]:
        """Rows that a query asks for: by `states` and `finishedTimeBegin`, as far as a poll does."""
        states = ",".join(query.get("states", []) + query.get("state", []))
        since_ms = int(query.get("finishedTimeBegin", ["0"])[0])
        if not states or "RUNNING" in states:
            yield from (each.told(now_ms) for each in self._live.values())
        if not states or "FINISHED" in states:
            yield from (row for finished_ms, row in self._ended.values() if finished_ms >= since_ms)

    def _node_rows(self, now_ms: int) -> Iterable[bytes]:
        self._looks += 1
        share = now_ms % 100_000 / 1000
        for number, row in enumerate(self._nodes):
            given = (number + self._looks) % _GIVES_ONE_IN == 0
            used = _MIB if given else 0
            free = _NODE.memory_mib - used
            yield row % (now_ms, given, used, free, share, share, 1000 + number, share / 50, used, free)

    def _churn(self, now_ms: int) -> None:
        due = int((now_ms - self._began_ms) * self._ends_per_ms) - self._churned
        if due > 0:
            self._churned += due
            self._end(due, now_ms)
            for _ in range(due):
                self._begin(now_ms)

    def _begin(self, at_ms: int) -> None:
        self._next += 1
        begun = _Application(ApplicationId(self._stamp, self._next), self._next, at_ms)
        begun.run()
        self._live[str(begun.id)] = begun

    def _end(self, count: int, at_ms: int) -> None:
        for id_ in list(self._live)[:count]:
            ended = self._live.pop(id_)
            ended.end(at_ms)
            self._ended[id_] = at_ms, ended.row


def _now_ms() -> int:
    return int(time.time() * 1000)


async def serve(
    base_port: int, clusters: int, nodes: int, applications: int, ended: int = 0, churn: float = 0, first: int = 0
) -> None:
    """Serve until cancelled; so many live and ended applications for each cluster, as `ScriptedCluster` says."""
    loop = asyncio.get_running_loop()
    for index in range(clusters):
        cluster = ScriptedCluster(first + index, nodes, applications, ended, churn, began_ms=_now_ms())
        await loop.create_server(partial(_Connection, cluster), "127.0.0.1", base_port + index)
    print("ready", flush=True)
    await asyncio.Event().wait()


class _Connection(asyncio.Protocol):
    """Reads requests, one after the other; each body has its length told."""

    def __init__(self, cluster: ScriptedCluster) -> None:
        self._cluster = cluster
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep where to write."""
        # uvloop's transports are no subclasses of asyncio's
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Answer every whole request."""
        self._received += data
        while b"\r\n\r\n" in self._received:
            head, _, rest = self._received.partition(b"\r\n\r\n")
            told = _LENGTH.search(head)
            length = int(told[1]) if told else 0
            if len(rest) < length:
                return
            asked, self._received = rest[:length], rest[length:]
            method, target, _ = head.decode("latin-1").split(" ", 2)
            if method == "POST":
                user = parse_qs(urlsplit(target).query).get("user.name", [""])[0]
                status, body = self._cluster.submit(user, asked, _now_ms())
            else:
                status, body = self._cluster.answer(target, _now_ms())
            lines = (
                f"HTTP/1.1 {status} X\r\nDate: {formatdate(usegmt=True)}\r\n"
                f"Content-Type: application/json;charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            self._transport.writelines((lines.encode(), body))


if __name__ == "__main__":
    uvloop.run(serve(*map(int, sys.argv[1:])))
