"""The folder of aggregated logs of a cluster in HDFS, by its web gateway. It blocks: for a thread."""

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from adapters.hdfs import Entry, Gateway, WebAccess
from adapters.yarn.log_folder import NODE_FILE, folders_of
from shim.domain.ids import ApplicationId
from shim.ports.log_archive import NodeLogs

__all__ = ["WebLogFolder"]

_MOST_NODES = 500
_MOST_ENTRIES = 5_000
_LEAST_AHEAD, _MOST_AHEAD = 64 * 1024, 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class WebLogFolder:
    """A cluster's `yarn.nodemanager.remote-app-log-dir` in HDFS; implements `LogArchive`.

    Attributes:
        address: See `WebAccess.opened`.
        access: How Heddle reads there; as a user that may read all users' logs.
    """

    address: str
    access: WebAccess

    @contextmanager
    def opened(self, user: str, application: ApplicationId) -> Iterator[Iterator[NodeLogs]]:
        """See `LogArchive`."""
        with self.access.opened(self.address) as gateway, closing(_files(gateway, user, application)) as files:
            yield files


def _files(gateway: Gateway, user: str, application: ApplicationId) -> Generator[NodeLogs]:
    for folder in folders_of(user, application) if user.isprintable() else ():
        path = "/".join(folder)
        listed = gateway.entries(path)
        found = {each.pathSuffix: each.length for each in listed[:_MOST_ENTRIES] if _is_of_a_node(each)}
        for name in sorted(found)[:_MOST_NODES]:
            yield NodeLogs(name, _ReadAhead(gateway, f"{path}/{name}", found[name]).read, found[name])


def _is_of_a_node(entry: Entry) -> bool:
    return entry.type == "FILE" and entry.length >= 0 and NODE_FILE.fullmatch(entry.pathSuffix) is not None


class _ReadAhead:
    """A file that is read in parts: from 64 KiB to 4 MiB, the more of it is read one after the other."""

    def __init__(self, gateway: Gateway, path: str, size: int) -> None:
        self._gateway = gateway
        self._path = path
        self._size = size
        self._start = 0
        self._held = b""
        self._ahead = _LEAST_AHEAD

    def read(self, offset: int, count: int) -> bytes:
        """See `ReadAt`."""
        count = min(count, self._size - offset)
        if count <= 0:
            return b""
        end = self._start + len(self._held)
        if not (self._start <= offset and offset + count <= end):
            is_next = bool(self._held) and self._start <= offset <= end
            self._ahead = min(2 * self._ahead, _MOST_AHEAD) if is_next else _LEAST_AHEAD
            self._held = b""
            part = self._gateway.part(self._path, offset, min(max(count, self._ahead), self._size - offset))
            self._start, self._held = offset, part
        return self._held[offset - self._start : offset - self._start + count]
