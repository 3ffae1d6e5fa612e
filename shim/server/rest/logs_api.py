"""Heddle's own web services for logs of containers, below `/heddle/v1/`.

GET   containers/{container}/logs                    its files, and where it runs
GET   containers/{container}/logs/{file}[?tail=N]    the last N bytes of one (65,536; at most 1 MiB)
"""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Path, Query, Response

from shim.calls.container_logs import MOST_TAIL_BYTES, ContainerLogs
from shim.identity.service import IdentityService
from shim.protocol.rest.identifiers import path_container
from shim.server.rest.own_endpoints import Asker, Endpoint, as_json

__all__ = ["LogsAPI"]

_ContainerName = Annotated[str, Path(max_length=128)]
_FileName = Annotated[str, Path(max_length=255)]
_Tail = Annotated[int, Query(ge=1, le=MOST_TAIL_BYTES)]


@dataclass(frozen=True, slots=True)
class LogsAPI:
    """Answers the endpoints of logs; raises what the server makes error bodies of."""

    logs: ContainerLogs
    identity: IdentityService

    def endpoints(self) -> tuple[Endpoint, ...]:
        """Method, path and operation of each."""
        return (
            Endpoint("GET", "containers/{container}/logs", self.files),
            Endpoint("GET", "containers/{container}/logs/{file}", self.tail),
        )

    async def files(self, asker: Asker, container: _ContainerName) -> Response:
        """Files of a container's logs."""
        caller = self.identity.require_user(asker)
        id_ = path_container(container)
        found = await self.logs.files(id_, caller)
        files = [{"file": each.name, "bytes": each.size} for each in found.files]
        return as_json({"container": str(id_), "cluster": found.subcluster, "node": found.node, "files": files})

    async def tail(self, asker: Asker, container: _ContainerName, file: _FileName, tail: _Tail = 65_536) -> Response:
        """The end of one of them."""
        caller = self.identity.require_user(asker)
        id_ = path_container(container)
        told = await self.logs.tail(id_, file, caller, most_bytes=tail)
        return as_json({"container": str(id_), "file": file, "text": told.decode("utf-8", "replace")})
