"""ResourceManagers that only tell: a generated federation's documents over HTTP, with every request counted.

Run as a process of its own: `python -m scripts.bench.scripted_managers PORT CLUSTERS NODES APPLICATIONS [ENDED]`.
Cluster `i` listens on `PORT + i`. Running times advance, so that no two polls tell the same. `/counts` tells how often
was asked.
"""

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from email.utils import formatdate
from functools import partial
from typing import cast
from urllib.parse import parse_qs, urlsplit

import uvloop

from shim.domain.ids import ApplicationId
from shim.domain.resources import ResourceVector
from tests.doubles import rm_documents as build

_BASE = "/ws/v1/cluster"
_ELAPSED = b"1000000007"  # a number that stands for the time since the start, of its length for years
_STARTED_MS = 1_795_000_000_000
_NODE = ResourceVector(128 * 1024, 32)
_QUEUES = ("default", "prod", "dev")


class ScriptedCluster:
    """The documents of one cluster."""

    def __init__(self, index: int, nodes: int, applications: int, ended: int = 0) -> None:
        total = ResourceVector(_NODE.memory_mib * nodes, _NODE.vcores * nodes)
        third = ResourceVector(total.memory_mib // 3, total.vcores // 3)
        hosts = [f"c{index}n{number}.example.org:45454" for number in range(nodes)]
        queues = [build.a_queue(f"root.{name}", third, maximum=total) for name in _QUEUES]
        self.counts: Counter[str] = Counter()
        self._apps = {
            str(id_): self._application(id_, number, "FINISHED" if number < ended else "RUNNING")
            for number in range(applications + ended)
            for id_ in (ApplicationId(_STARTED_MS + index, number + 1),)
        }
        told = list(self._apps.values())
        self._documents = {
            "/info": build.info_document(started_on_ms=_STARTED_MS + index),
            "/metrics": build.metrics_document(total, third, nodes=nodes, running=applications),
            "/nodes": build.nodes_document([build.a_node(host, _NODE, used=ResourceVector(4096, 2)) for host in hosts]),
            "/scheduler": build.scheduler_document(queues, maximum_allocation=_NODE),
            "/apps": _list_of(told),
        }
        self._live = _list_of(told[ended:])

    @staticmethod
    def _application(id_: ApplicationId, number: int, state: str) -> bytes:
        application = build.an_application(
            id_,
            state,
            started_ms=_STARTED_MS + 1000 * number,
            name=f"nightly-report-{number}",
            user=f"user{number % 50}",
            queue=f"root.{_QUEUES[number % len(_QUEUES)]}",
            elapsedTime=int(_ELAPSED),
        )
        return json.dumps(application, separators=(",", ":")).encode()

    def answer(self, target: str) -> tuple[int, bytes]:
        """Status and body."""
        parts = urlsplit(target)
        path = parts.path.rstrip("/").removeprefix(_BASE)
        if path == "/counts":
            return 200, json.dumps(self.counts).encode()
        self.counts[path.split("/")[1] if path else "info"] += 1
        if path.startswith("/apps/"):
            found = self._apps.get(path.removeprefix("/apps/"))
            return (404, b"{}") if found is None else (200, b'{"app":' + self._now(found) + b"}")
        states = ",".join(parse_qs(parts.query).get("states", []) + parse_qs(parts.query).get("state", []))
        if path == "/apps" and states:  # what has ended is told by the first list alone, which names no state
            return 200, self._now(self._live) if "RUNNING" in states else b'{"apps":{}}'
        document = self._documents.get(path or "/info")
        return (404, b"{}") if document is None else (200, self._now(document))

    @staticmethod
    def _now(document: bytes) -> bytes:
        return document.replace(_ELAPSED, b"%d" % (int(time.time() * 1000) - _STARTED_MS + 1_000_000_000))


def _list_of(applications: Sequence[bytes]) -> bytes:
    return b'{"apps":{"app":[' + b",".join(applications) + b"]}}"


async def serve(base_port: int, clusters: int, nodes: int, applications: int, ended: int = 0) -> None:
    """Serve until cancelled; so many live and ended applications for each cluster."""
    loop = asyncio.get_running_loop()
    for index in range(clusters):
        cluster = ScriptedCluster(index, nodes, applications, ended)
        await loop.create_server(partial(_Connection, cluster), "127.0.0.1", base_port + index)
    print("ready", flush=True)
    await asyncio.Event().wait()


class _Connection(asyncio.Protocol):
    """Reads requests without bodies, one after the other."""

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
            head, _, self._received = self._received.partition(b"\r\n\r\n")
            status, body = self._cluster.answer(head.split(b" ", 2)[1].decode())
            lines = (
                f"HTTP/1.1 {status} X\r\nDate: {formatdate(usegmt=True)}\r\n"
                f"Content-Type: application/json;charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            self._transport.write(lines.encode() + body)


if __name__ == "__main__":
    uvloop.run(serve(*map(int, sys.argv[1:])))
