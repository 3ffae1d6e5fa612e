"""Logs of containers, from the nodes that they run on, whichever cluster that is.

The ResourceManager of where a container runs tells its node, and the NodeManager has its files until they are
aggregated. Logs hold what a program prints, secrets too: they are for the application's user and for operators, also
where a cluster would show them to everybody.

Source: `org.apache.hadoop.yarn.server.nodemanager.webapp.NMWebServices` of Hadoop 3.4.2.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from shim.domain.access_lists import Access, Viewer
from shim.domain.ids import ContainerId, SubClusterId
from shim.errors import (
    BadRequestError,
    ForbiddenError,
    HomeUnreachableError,
    NotFoundError,
    ResourceManagerError,
)
from shim.federation.reading import ApplicationReading
from shim.federation.routing import Routing
from shim.federation.view_rights import ViewRights
from shim.identity.service import Caller, IdentityService
from shim.ports.node_managers import AskNode
from shim.ports.resource_manager import ResourceManager, RestAnswer, RestRequest
from shim.protocol.wire_values import UNREADABLE, several
from shim.protocol.yarn.log_text import LogText, told_by_node

MOST_TAIL_BYTES = 1024 * 1024
_FILE = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,255}")
_JSON = (("Accept", "application/json"),)
_TEXT = (("Accept", "text/plain"),)
_OK, _NOT_FOUND, _HIDDEN_NOT_FOUND = 200, 404, 503
_ABSENT = b"NotFoundException"
"""Where a list of files is asked for, a node makes 503 of what it does not know, and names the 404 in the message."""

_SCHEME = re.compile(r"https?://")
_MOST_FILES = 1000


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file of a container's logs; its size in bytes, -1 if the node does not tell."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class LogFiles:
    """The files of a container, and where it runs.

    Attributes:
        node: `host:port` of the NodeManager's web services.
    """

    subcluster: SubClusterId
    node: str
    files: Sequence[LogFile]


class _Container(msgspec.Struct):
    """A ResourceManager's object of one container, which no member wraps; old Hadoops tell the address of its logs."""

    nodeHttpAddress: str = ""  # noqa: N815 - Hadoop's name
    logUrl: str = ""  # noqa: N815 - Hadoop's name


@dataclass(frozen=True, slots=True)
class ContainerLogs:
    """Reads logs of containers."""

    routing: Routing
    managers: Mapping[SubClusterId, ResourceManager]
    nodes: Mapping[SubClusterId, AskNode]
    applications: ApplicationReading
    identity: IdentityService

    async def files(self, container: ContainerId, caller: Caller) -> LogFiles:
        """The files of a container.

        Raises:
            ForbiddenError: The caller is neither the application's user nor an operator.
            NotFoundError: Nobody knows the container any more.
            HomeUnreachableError: Its cluster or its node does not answer.
        """
        place, node = await self._node_of(container, caller)
        request = RestRequest("GET", f"/ws/v1/node/containers/{container}/logs", user=caller.user, headers=_JSON)
        answer = await self._asked(place, node, container, request)
        return LogFiles(place, node, tuple(_files_of(answer)))

    async def tail(self, container: ContainerId, file: str, caller: Caller, *, most_bytes: int) -> LogText:
        """The end of a file.

        Args:
            file: Its name, as of `files`.
            most_bytes: So much of its end, up to `MOST_TAIL_BYTES`.

        Raises:
            BadRequestError: That is no name of a file.
            HeddleError: As of `files`.
        """
        if not _FILE.fullmatch(file):
            raise BadRequestError("a file of logs has a name of letters, digits, dots, dashes and underscores")
        place, node = await self._node_of(container, caller)
        most = min(most_bytes, MOST_TAIL_BYTES)
        path = f"/ws/v1/node/containerlogs/{container}/{file}"
        request = RestRequest("GET", path, parameters=(("size", str(-most)),), user=caller.user, headers=_TEXT)
        return told_by_node((await self._asked(place, node, container, request)).body, most)

    async def _node_of(self, container: ContainerId, caller: Caller) -> tuple[SubClusterId, str]:
        await self._check(container, caller)
        place = await self.routing.place_of_container(container)
        attempt = container.attempt
        path = f"/ws/v1/cluster/apps/{attempt.application}/appattempts/{attempt}/containers/{container}"
        try:
            answer = await self.managers[place].query(path, viewer=caller.user)
        except ResourceManagerError as exc:
            raise HomeUnreachableError(f"sub-cluster {place} does not answer: {exc.reason}") from exc
        try:
            told = msgspec.json.decode(answer.body, type=_Container)
        except UNREADABLE:
            told = _Container()
        node = _SCHEME.sub("", told.nodeHttpAddress or told.logUrl, count=1).partition("/")[0]
        if answer.status != _OK or not node:
            raise NotFoundError(
                f"{place} does not know {container} any more: `yarn logs` reads what was aggregated of it"
            )
        return place, node

    async def _check(self, container: ContainerId, caller: Caller) -> None:
        if self.identity.is_operator(caller):
            return
        read = await self.applications.application(container.attempt.application, viewer=Viewer(caller.user))
        rights, summary = ViewRights(self.applications, self.identity), read.document.summary
        is_named = rights.are_on and self.applications.access.has(rights.viewer(caller), Access.VIEW, summary)
        if summary.user != caller.user and not is_named:
            raise ForbiddenError("logs are for the application's user, and for those in security.admins")

    async def _asked(self, place: SubClusterId, node: str, container: ContainerId, request: RestRequest) -> RestAnswer:
        try:
            answer = await self.nodes[place](node, request)
        except ResourceManagerError as exc:
            raise HomeUnreachableError(f"node {node} of {place} does not answer: {exc.reason}") from exc
        if answer.status == _NOT_FOUND or (answer.status == _HIDDEN_NOT_FOUND and _ABSENT in answer.body):
            raise NotFoundError(f"node {node} of {place} has no such logs of {container}, not yet or not any more")
        if answer.status != _OK:
            raise HomeUnreachableError(f"node {node} of {place} answers {answer.status}; does it ask for tickets?")
        return answer


def _files_of(answer: RestAnswer) -> list[LogFile]:
    """Names and sizes, by whichever form a Hadoop has; what is no name of a file is left out."""
    try:
        told = msgspec.json.decode(answer.body)
    except UNREADABLE:
        return []
    found = [LogFile(name, _size(each.get("fileSize"))) for each in _file_objects(told) if (name := _name(each))]
    return found[:_MOST_FILES]


def _file_objects(told: Any) -> list[dict[str, Any]]:
    """Objects with a `fileName`, in `containerLogsInfo` (a list or one) and `containerLogInfo` (likewise)."""
    groups = several(told.get("containerLogsInfo")) if isinstance(told, dict) else several(told)
    files = [each for group in groups if isinstance(group, dict) for each in several(group.get("containerLogInfo"))]
    return [each for each in files if isinstance(each, dict)]


def _name(each: Mapping[str, Any]) -> str:
    name = each.get("fileName")
    return name if isinstance(name, str) and _FILE.fullmatch(name) else ""


def _size(told: Any) -> int:
    text = str(told)
    return int(text) if text.isascii() and text.isdigit() and len(text) < len(str(2**63)) else -1
