"""Heddle's own web services for logs of containers, below `/heddle/v1/`.

GET   containers/{container}/logs                    its files, and where it runs
GET   containers/{container}/logs/{file}[?tail=N]    the last N bytes of one (65,536; at most 1 MiB), with `after` of
                                                     what lies behind an offset alone, with `grep` the lines that hold
                                                     a text: see `PartOfLog`

Heddle's own web services for aggregated logs, below `/heddle/v1/`.

GET   apps/{application}/logs[?of=USER]                    what was aggregated, node by node
GET   apps/{application}/logs/{container}/{file}[?tail=N]  the last N bytes of one (65,536; at most 1 MiB), also with
                                                           `of`, and `node` where several have a file of that name;
                                                           `after` and `grep`: see `PartOfLog`
"""

from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Path, Query, Response

from heddle import applications
from shim.calls.aggregated_logs import AggregatedLogs
from shim.calls.container_logs import MOST_TAIL_BYTES, ContainerLogs
from shim.concurrency.off_loop import OffLoop
from shim.errors import NotFoundError
from shim.identity.service import IdentityService
from shim.protocol.rest.identifiers import path_application, path_container
from shim.protocol.yarn.log_text import LogText, lines_holding
from shim.server.rest.own_endpoints import READ, Asker, OwnEndpoint, as_json

Tail = Annotated[int, Query(ge=1, le=MOST_TAIL_BYTES)]
After = Annotated[int, Query(ge=0, le=2**62)]
Grep = Annotated[str, Query(max_length=200, pattern=r"^[^\r\n]*$")]


@dataclass(frozen=True, slots=True)
class PartOfLog:
    """The part of a file that is wanted.

    `text` of an answer is the part, `start` the offset of its first byte and `size` the file's (both null if the node
    does not report it). With `grep`, `text` is the newest lines that hold it, in the same case; `matches` is how many
    there are (at most 1,000), `searched` in how many bytes, and `more` whether older ones were left out.

    Attributes:
        tail: Bytes of what is shown.
        grep: Only lines that hold this; empty for all.
        most_searched: Bytes of the file's end in which lines are looked for.
    """

    tail: int
    after: int
    grep: str
    most_searched: int

    @property
    def most_bytes(self) -> int:
        """So much of the file's end is needed."""
        return self.most_searched if self.grep else self.tail

    def shown(self, told: LogText) -> dict[str, Any]:
        part = told.after(self.after)
        where = {"start": part.start, "size": part.size} if part.size >= 0 else {"start": None, "size": None}
        if not self.grep:
            return {"text": part.data.decode("utf-8", "replace"), **where}
        found = lines_holding(part.data, self.grep.encode("utf-8", "replace"), self.tail)
        return {
            "text": found.text.decode("utf-8", "replace"),
            **where,
            "matches": found.matches,
            "searched": len(part.data),
            "more": found.is_cut,
        }


_ContainerName = Annotated[str, Path(max_length=128)]
_FileName = Annotated[str, Path(max_length=255)]


@dataclass(frozen=True, slots=True)
class LogsAPI:
    """Answers the endpoints of logs; raises what the server makes error bodies of."""

    logs: ContainerLogs
    identity: IdentityService
    thread: OffLoop = field(default_factory=OffLoop)

    def endpoints(self) -> tuple[OwnEndpoint, ...]:
        return (
            OwnEndpoint("GET", "containers/{container}/logs", READ, self.files, applications.ContainerFiles),
            OwnEndpoint("GET", "containers/{container}/logs/{file}", READ, self.tail, applications.LogPart),
        )

    async def files(self, asker: Asker, container: _ContainerName) -> Response:
        caller = self.identity.require_user(asker)
        id_ = path_container(container)
        found = await self.logs.files(id_, caller)
        files = [applications.LogFile(each.name, each.size) for each in found.files]
        return as_json(applications.ContainerFiles(str(id_), found.subcluster, found.node, files))

    async def tail(
        self,
        asker: Asker,
        container: _ContainerName,
        file: _FileName,
        tail: Tail = 65_536,
        after: After = 0,
        grep: Grep = "",
    ) -> Response:
        """The end of one of them, or lines of it."""
        caller = self.identity.require_user(asker)
        id_ = path_container(container)
        part = PartOfLog(tail, after, grep, MOST_TAIL_BYTES)
        told = await self.logs.tail(id_, file, caller, most_bytes=part.most_bytes)
        shown = await self.thread.run(caller.user, lambda: part.shown(told)) if grep else part.shown(told)
        return as_json(applications.LogPart(str(id_), file, **shown))


_Name = Annotated[str, Path(max_length=255)]
_Of = Annotated[str, Query(max_length=256)]
_MOST_SEARCHED = 16 * 1024 * 1024  # bytes


@dataclass(frozen=True, slots=True)
class AggregatedLogsAPI:
    """Answers the endpoints of aggregated logs; raises what the server makes error bodies of."""

    logs: AggregatedLogs
    identity: IdentityService

    def endpoints(self) -> tuple[OwnEndpoint, ...]:
        return (
            OwnEndpoint("GET", "apps/{application}/logs", READ, self.files, applications.AggregatedLogs),
            OwnEndpoint("GET", "apps/{application}/logs/{container}/{file}", READ, self.tail, applications.LogPart),
        )

    async def files(self, asker: Asker, application: _Name, of: _Of = "") -> Response:
        caller = self.identity.require_user(asker)
        id_ = path_application(application)
        nodes = [
            applications.NodeLogs(
                each.subcluster,
                each.node,
                each.wrong,
                [applications.AggregatedFile(str(file.container), file.name, file.size) for file in each.files],
            )
            for each in await self.logs.files(id_, caller, of)
        ]
        return as_json(applications.AggregatedLogs(str(id_), nodes))

    async def tail(
        self,
        asker: Asker,
        application: _Name,
        container: _Name,
        file: _Name,
        *,
        tail: Tail = 65_536,
        after: After = 0,
        grep: Grep = "",
        of: _Of = "",
        node: _Of = "",
    ) -> Response:
        """The end of one of its files, or lines of it."""
        caller = self.identity.require_user(asker)
        id_ = path_container(container)
        if id_.attempt.application != path_application(application):
            raise NotFoundError(f"{id_} is no container of {application}")
        part = PartOfLog(tail, after, grep, _MOST_SEARCHED)
        shown = await self.logs.tail(
            id_, file, caller, user=of, node=node, most_bytes=part.most_bytes, shown=part.shown
        )
        return as_json(applications.LogPart(str(id_), file, **shown))
