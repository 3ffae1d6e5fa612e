"""HDFS by its web gateway, in memory and over real HTTP: a NameNode that sends on to a DataNode, or misbehaves."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

_PREFIX = "/webhdfs/v1"

Answer = tuple[int, Mapping[str, str], bytes]


@dataclass
class WebHDFS:
    """What a gateway serves.

    Attributes:
        files: Contents by path.
        is_gateway: Whether it gives bytes itself, as HttpFS does; a NameNode sends on to a DataNode.
        folders: Names of folders below folders, which files do not show.
        asked: Paths with their parameters, in the order in which they came.
        redirect: The address that it sends on to; empty for the DataNode's.
        instead: What it answers in the place of anything else, by the operation.
    """

    files: dict[str, bytes]
    is_gateway: bool = False
    folders: dict[str, tuple[str, ...]] = field(default_factory=dict)
    asked: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    redirect: str = ""
    instead: dict[str, Callable[[Mapping[str, str]], Answer]] = field(default_factory=dict)
    data_node: str = ""

    def answer(self, server: str, target: str, headers: Mapping[str, str]) -> Answer:
        """Answer as the `server`: `name` or `data`."""
        url = urlsplit(target)
        path = unquote(url.path).removeprefix(_PREFIX)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        self.asked.append((server, path, query))
        operation = query["op"]
        if (server, operation) == ("name", "OPEN") and not self.is_gateway:
            return 307, {"Location": self.redirect or f"{self.data_node}{url.path}?{url.query}"}, b""
        if operation in self.instead:
            return self.instead[operation](headers)
        return self._listed(path) if operation == "LISTSTATUS" else self._part(path, query)

    def _listed(self, path: str) -> Answer:
        below = {
            name.removeprefix(f"{path}/"): data for name, data in self.files.items() if name.startswith(f"{path}/")
        }
        if not below:
            return refusal(404, "FileNotFoundException")
        found = [
            {"pathSuffix": name, "type": "FILE", "length": len(data)} for name, data in below.items() if "/" not in name
        ]
        names = ("tmp", *self.folders.get(path, ()))
        folders = [{"pathSuffix": name, "type": "DIRECTORY", "length": 0} for name in names]
        return _json(200, {"FileStatuses": {"FileStatus": [*found, *folders]}})

    def _part(self, path: str, query: Mapping[str, str]) -> Answer:
        if path not in self.files:
            return refusal(404, "FileNotFoundException")
        offset, length = int(query["offset"]), int(query["length"])
        return 200, {}, self.files[path][offset : offset + length]


def refusal(status: int, exception: str) -> Answer:
    """A refusal, as WebHDFS tells it."""
    return _json(
        status, {"RemoteException": {"exception": exception, "message": "secret of HDFS", "javaClassName": "j"}}
    )


def _json(status: int, told: Any) -> Answer:
    return status, {"Content-Type": "application/json"}, json.dumps(told).encode()


@contextmanager
def served_hdfs(hdfs: WebHDFS) -> Iterator[str]:
    """Both servers on this machine; the NameNode's `webhdfs://host:port`."""
    with _served(hdfs, "data") as data, _served(hdfs, "name") as name:
        hdfs.data_node = f"http://127.0.0.1:{data}"
        yield f"webhdfs://127.0.0.1:{name}"


@contextmanager
def _served(hdfs: WebHDFS, server: str) -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout: ClassVar[float | None] = 5.0

        def do_GET(self) -> None:
            status, headers, body = hdfs.answer(server, self.path, dict(self.headers))
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):  # whoever was told too much has gone
                self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's name
            """Nothing is printed."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield http.server_address[1]
        finally:
            http.shutdown()
