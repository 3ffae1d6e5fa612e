"""A federation of one cluster whose answers are a table: for tests of `heddle.testing` and of what is built on it."""

import json
from collections.abc import Mapping
from pathlib import Path

import httpx

from heddle.testing import Cluster, Federation, Settings
from heddle.testing.federation import Program

ID = "application_1700000000000_0007"
READY = {
    "/heddle/v1/clusters": [{"clusters": [{"id": "east", "state": "RUNNING"}]}],
    "/ws/v1/cluster/nodes": [
        {"nodes": {"node": [{"state": "RUNNING", "availMemoryMB": 1024, "usedMemoryMB": 0}]}},
    ],
}


class MadeUpProgram(Program):
    """One that has ended, or never does."""

    def __init__(self, printed: Path, text: str, code: int | None) -> None:
        super().__init__(printed)
        printed.write_text(text)
        self.code = code
        self.killed = False

    def exit_code(self) -> int | None:
        return self.code

    def kill(self) -> None:
        self.killed = True
        self.code = -9 if self.code is None else self.code


class MadeUp(Federation):
    """One cluster, whose answers are a table: the last one of a path is given again and again."""

    def __init__(self, folder: Path, answers: Mapping[str, list[object]] | None = None) -> None:
        super().__init__(Settings(clusters=1), user="ada")
        self.answers = {path: list(rows) for path, rows in (answers or {}).items()}
        self.asked: list[tuple[str, str, object]] = []
        self.active = [1]
        self.done: list[tuple[str, str]] = []
        self.printed, self.code = f"Submitted application {ID}\n", 0
        self.url, self.shared, self.client_conf, self.jars = "http://heddle", folder, folder, folder
        self.clusters = {"east": Cluster("east", "3.4.2", "http://east", ("east-rm", "east-nm1"), folder)}
        self._http = httpx.Client(
            base_url=self.url, params={"user.name": self.user}, transport=httpx.MockTransport(self.answer)
        )

    def answer(self, request: httpx.Request) -> httpx.Response:
        assert request.url.params["user.name"] == "ada"
        path = request.url.path
        self.asked.append((request.method, path, json.loads(request.content) if request.content else None))
        rows = self.answers.get(path)
        if rows is None:
            return httpx.Response(404, text="no such thing")
        found = rows.pop(0) if len(rows) > 1 else rows[0]
        return found if isinstance(found, httpx.Response) else httpx.Response(200, json=found)

    def start_up(self) -> None:
        self.done.append(("start_up", ""))

    def _end(self) -> None:
        self.done.append(("end", ""))

    def _launch(self, command, environment, printed):
        self.launched, self.environment = command, environment
        self.program = MadeUpProgram(printed, self.printed, self.code)
        return self.program

    def _kill(self, daemon: str) -> None:
        self.done.append(("kill", daemon))

    def _start(self, daemon: str) -> None:
        self.done.append(("start", daemon))

    def _pause(self, daemon: str) -> None:
        self.done.append(("pause", daemon))

    def _resume(self, daemon: str) -> None:
        self.done.append(("resume", daemon))

    def _cut(self, daemon: str) -> None:
        self.done.append(("cut", daemon))

    def _join(self, daemon: str) -> None:
        self.done.append(("join", daemon))

    def _active_nodes(self, cluster: Cluster) -> int:
        assert cluster.id == "east"
        return self.active.pop(0) if len(self.active) > 1 else self.active[0]

    def daemon_log(self, daemon: str) -> str:
        return f"{daemon} is well\n"

    def _container_logs(self, application):
        assert application == ID
        yield "east-nm1 container_2 stdout", "second\n"
        yield "east-nm1 container_1 stdout", "first"
        yield "east-nm1 container_1 stderr", ""
