"""The folder of aggregated logs of a cluster, as the local file system has it.

Users own their part of it. So no link is followed below the root, and only plain files are opened: a link would let
a user read with Heddle's eyes.

Source: `org.apache.hadoop.yarn.logaggregation.LogAggregationUtils` of Hadoop 3.4.2 and 2.10.2.
"""

import errno
import os
import re
import stat
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from adapters.hdfs import Entry, Gateway, WebAccess
from shim.domain.ids import ApplicationId
from shim.ports.log_archive import NodeLogs

_BUCKETS = 10_000
_MOST_NODES = 500
_MOST_ENTRIES = 5_000
NODE_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}(?<!\.tmp)")
"""Names of files of nodes; one with `.tmp` is still being written."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG})
"""A link is no directory here: ENOTDIR."""

_PLAIN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class LogFolder:
    """A cluster's `yarn.nodemanager.remote-app-log-dir`; implements `LogArchive`."""

    root: Path

    @contextmanager
    def opened(self, user: str, application: ApplicationId) -> Iterator[Iterator[NodeLogs]]:
        with ExitStack() as stack:
            root = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            stack.callback(os.close, root)
            paths = folders_of(user, application)
            folders = [folder for path in paths if (folder := _opened_below(root, path, stack)) is not None]
            with closing(_files_in(folders)) as files:
                yield files


def folders_of(user: str, application: ApplicationId) -> tuple[tuple[str, ...], ...]:
    """Folders where the logs of an application may lie: in a bucket since Hadoop 3.3, without one before.

    A user that could be more than a folder's name has none.
    """
    if "/" in user or "\0" in user or user in ("", ".", ".."):
        return ()
    bucket = f"{application.sequence % _BUCKETS:04}"
    return ((user, "bucket-logs-tfile", bucket, str(application)), (user, "logs", str(application)))


def _opened_below(root: int, path: Sequence[str], stack: ExitStack) -> int | None:
    """A folder, to be closed by `stack`; None if there is no such one."""
    folder = root
    try:
        for name in path:
            folder = os.open(name, _FOLDER, dir_fd=folder)
            stack.callback(os.close, folder)
    except UnicodeEncodeError:
        return None
    except OSError as exc:
        if exc.errno in _ABSENT:
            return None
        raise
    return folder


def _files_in(folders: Sequence[int]) -> Generator[NodeLogs]:
    """The plain files of folders, each open until the next is asked for."""
    for folder in folders:
        with os.scandir(folder) as entries:
            names = sorted(each.name for each in islice(entries, _MOST_ENTRIES) if NODE_FILE.fullmatch(each.name))
        for name in names[:_MOST_NODES]:
            try:
                file = os.open(name, _PLAIN, dir_fd=folder)
            except OSError:  # a link, or removed this moment
                continue
            try:
                found = os.fstat(file)
                if stat.S_ISREG(found.st_mode):
                    yield NodeLogs(name, partial(_read_at, file), found.st_size)
            finally:
                os.close(file)


def _read_at(file: int, offset: int, count: int) -> bytes:
    return os.pread(file, count, offset)


# The folder of aggregated logs of a cluster in HDFS, by its web gateway. It blocks: for a thread.

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
