"""Aggregated logs of applications, from the folders of all clusters.

They lie below their user's name, and tell themselves whose they are and who may view them. So whoever asks is given his
own, and of another user what names him; operators are given all. Nothing has to be known of the application any more.
"""

import asyncio
import errno
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

from shim.concurrency.off_loop import OffLoop
from shim.domain.access_lists import grants
from shim.domain.ids import ApplicationId, ContainerId, SubClusterId
from shim.errors import ForbiddenError, NotFoundError, UnavailableError
from shim.identity.service import Caller, IdentityService
from shim.ports.log_archive import LogArchive, NodeLogs
from shim.protocol.yarn.aggregated_logs import (
    AggregatedFile,
    Allowance,
    MalformedLogsError,
    list_files,
    tail_of,
    view_acl_of,
)
from shim.protocol.yarn.log_text import LogText

T = TypeVar("T")

_MOST_FILES = 20_000
"""Files that are listed of an application."""


@dataclass(frozen=True, slots=True)
class LogsOfNode:
    """Logs that one node aggregated of an application.

    Attributes:
        node: As its file is called: host and port of the NodeManager; empty for all nodes of a folder that cannot be
            read.
        wrong: Why it cannot be read; empty if it can.
    """

    subcluster: SubClusterId
    node: str
    files: Sequence[AggregatedFile]
    wrong: str = ""


@dataclass(frozen=True, slots=True)
class AggregatedLogs:
    """Reads aggregated logs, of each folder on a thread of its own: one that is slow holds up none of the others.

    Attributes:
        thread: For all folders, one after the other; None for one each.
        threads: Those that were begun, by folder.
    """

    archives: Mapping[SubClusterId, LogArchive]
    identity: IdentityService
    thread: OffLoop | None = None
    threads: dict[SubClusterId, OffLoop] = field(default_factory=dict, init=False, compare=False)

    async def files(self, application: ApplicationId, caller: Caller, user: str = "") -> list[LogsOfNode]:
        """List the aggregated logs of an application, node by node.

        Args:
            user: Whose it is, for operators and those in its view ACL; the caller's own if it is empty.

        Raises:
            ForbiddenError: It would be another's, and the caller is no operator and in none of its files' view ACL.
            NotFoundError: There is nothing, or no folder is configured.
            UnavailableError: Nothing is found and a folder cannot be read, or that takes too long.
        """
        right = self._right(caller, user)
        told = await self._asked(caller, lambda place, archive: self._listed(place, archive, application, right))
        found = [each for listed in told.values() if isinstance(listed, list) for each in listed]
        silent = [(place, error) for place, error in told.items() if isinstance(error, OSError)]
        if silent and not found:
            raise _unreadable(*silent[0])
        found += [LogsOfNode(place, "", (), str(_unreadable(place, error))) for place, error in silent]
        return self._shown(found or None, application, right)

    async def tail(
        self,
        container: ContainerId,
        name: str,
        caller: Caller,
        *,
        user: str = "",
        node: str = "",
        most_bytes: int,
        shown: Callable[[LogText], T],
    ) -> T:
        """The end of a container's file, as `shown` makes an answer of it.

        Args:
            node: As `files` names it; empty for whichever has the file.
            shown: Runs on the thread.

        Raises:
            HeddleError: As of `files`.
        """
        right = self._right(caller, user)

        def work(_: SubClusterId, archive: LogArchive) -> T | None:
            found = self._tail(archive, container, name, right, node, most_bytes)
            return None if found is None else shown(found)

        told = await self._asked(caller, work)
        silent = [(place, error) for place, error in told.items() if isinstance(error, OSError)]
        found = [each for each in told.values() if each is not None and not isinstance(each, OSError)]
        if silent and not found:
            raise _unreadable(*silent[0])
        return self._shown(found[0] if found else None, container.attempt.application, right)

    async def _asked(
        self, caller: Caller, work: Callable[[SubClusterId, LogArchive], T]
    ) -> dict[SubClusterId, T | OSError]:
        """What `work` makes of each distinct folder, or why it cannot be read."""
        places: dict[LogArchive, SubClusterId] = {}  # several clusters may have one folder
        for place, archive in self.archives.items():
            places.setdefault(archive, place)

        async def ask(place: SubClusterId, archive: LogArchive) -> T | OSError:
            thread = self.thread or self.threads.setdefault(place, OffLoop())
            try:
                return await thread.run(caller.user, lambda: _outcome(work, place, archive))
            except UnavailableError as exc:
                if len(places) == 1:
                    raise
                return OSError(errno.ETIMEDOUT, str(exc))

        if self.thread is not None:
            return {place: await ask(place, archive) for archive, place in places.items()}
        told = await asyncio.gather(*(ask(place, archive) for archive, place in places.items()))
        return dict(zip(places.values(), told, strict=True))

    def _right(self, caller: Caller, user: str) -> "_Right":
        is_free = user in ("", caller.user) or self.identity.is_operator(caller)
        groups = frozenset[str]() if is_free else self.identity.groups_of(caller)
        return _Right(user or caller.user, caller, groups, is_free=is_free)

    @staticmethod
    def _listed(
        place: SubClusterId, archive: LogArchive, application: ApplicationId, right: "_Right"
    ) -> list[LogsOfNode]:
        allowance, found, left = Allowance(), list[LogsOfNode](), _MOST_FILES
        with archive.opened(right.owner, application) as opened:
            for logs in opened:
                if right.covers(logs, allowance):
                    found.append(_read(place, logs, right.owner, allowance, left))
                    left -= len(found[-1].files)
        return found

    @staticmethod
    def _tail(
        archive: LogArchive, container: ContainerId, name: str, right: "_Right", node: str, most_bytes: int
    ) -> LogText | None:
        allowance = Allowance()
        with archive.opened(right.owner, container.attempt.application) as opened:
            for logs in opened:
                if node not in ("", logs.node) or not right.covers(logs, allowance):
                    continue
                with suppress(MalformedLogsError):
                    end = tail_of(
                        logs.read,
                        logs.size,
                        right.owner,
                        allowance,
                        container=container,
                        name=name,
                        most_bytes=most_bytes,
                    )
                    if end is not None:
                        return end
        return None

    def _shown(self, found: T | None, application: ApplicationId, right: "_Right") -> T:
        if found is not None:
            return found
        if not right.is_free:
            raise ForbiddenError(
                "logs are for the application's user, those in its view ACL, and those in security.admins"
            )
        if not self.archives:
            raise NotFoundError("no [[subcluster]] names its aggregated_logs: `yarn logs` reads them")
        raise NotFoundError(f"nothing of {application} of {right.owner} is aggregated, or not yet")


@dataclass(frozen=True, slots=True)
class _Right:
    """The right of a caller to read the logs of an owner.

    Attributes:
        is_free: They are his own, or he is an operator: no list is asked.
    """

    owner: str
    caller: Caller
    groups: frozenset[str]
    is_free: bool

    def covers(self, logs: NodeLogs, allowance: Allowance) -> bool:
        """Return whether it covers the logs of a node: each file tells who may view the application."""
        if self.is_free:
            return True
        if self.caller.is_anonymous:
            return False
        try:
            return grants(view_acl_of(logs.read, logs.size, allowance), self.caller.user, lambda: self.groups)
        except MalformedLogsError:
            return False


def _outcome(work: Callable[[SubClusterId, LogArchive], T], place: SubClusterId, archive: LogArchive) -> T | OSError:
    """What work makes of a folder; its error is a value, as one of a time-out would look like that of the thread."""
    try:
        return work(place, archive)
    except OSError as exc:
        return exc


def _unreadable(place: SubClusterId, error: OSError) -> UnavailableError:
    return UnavailableError(f"aggregated logs of {place} cannot be read: {error.strerror}; see aggregated_logs")


def _read(place: SubClusterId, logs: NodeLogs, owner: str, allowance: Allowance, most: int) -> LogsOfNode:
    try:
        files = list(islice(list_files(logs.read, logs.size, owner, allowance), most + 1))
    except MalformedLogsError as exc:
        return LogsOfNode(place, logs.node, (), str(exc))
    if len(files) > most:
        return LogsOfNode(place, logs.node, files[:most], f"only the first {_MOST_FILES} files are listed")
    return LogsOfNode(place, logs.node, files)
