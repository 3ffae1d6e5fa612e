"""Folders that others write and Heddle reads, on this machine or in HDFS by its web gateway.

Whoever writes there owns what is below the folder. So no link is followed, only plain files are opened, and every read
is bounded: a link would let a user read with Heddle's eyes. It blocks: for a thread.
"""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Protocol

from adapters.hdfs.gateway import Gateway, WebAccess

_MOST_ENTRIES = 5_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NO_LINK = os.O_NOFOLLOW | os.O_NONBLOCK


class OpenFolder(Protocol):
    """A folder to read in. Paths are names below it; `OSError` says what cannot be read."""

    def names(self, path: Sequence[str]) -> Sequence[str]:
        """Names in a folder below, at most 5,000; none if it is not there."""
        ...

    def read(self, path: Sequence[str], offset: int, count: int) -> bytes | None:
        """At most so many bytes of a plain file below; None if it is not there."""
        ...


class Folder(Protocol):
    """A folder that may be opened."""

    def opened(self) -> AbstractContextManager[OpenFolder]: ...


def folder_at(place: str, access: WebAccess) -> Folder:
    """Give the folder at a place.

    Args:
        place: A path of this machine, or an address as `WebAccess.opened` has it.
        access: How Heddle reads at web gateways.
    """
    return _InHDFS(place, access) if "://" in place else _OnThisMachine(Path(place))


@dataclass(frozen=True, slots=True)
class _OnThisMachine:
    root: Path

    @contextmanager
    def opened(self) -> Iterator[OpenFolder]:
        yield self

    def names(self, path: Sequence[str]) -> Sequence[str]:
        with ExitStack() as stack:
            folder = self._folder(path, stack)
            if folder is None:
                return ()
            with os.scandir(folder) as entries:
                return [each.name for each in islice(entries, _MOST_ENTRIES)]

    def read(self, path: Sequence[str], offset: int, count: int) -> bytes | None:
        with ExitStack() as stack:
            folder = self._folder(path[:-1], stack)
            file = None if folder is None else _opened(path[-1], os.O_RDONLY | os.O_CLOEXEC | _NO_LINK, folder)
            if file is None:
                return None
            stack.callback(os.close, file)
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise OSError(errno.EINVAL, "it is no plain file")
            return os.pread(file, count, offset)

    def _folder(self, path: Sequence[str], stack: ExitStack) -> int | None:
        place = _opened(str(self.root), _FOLDER, None)
        for name in path:
            if place is None:
                return None
            stack.callback(os.close, place)
            place = _opened(name, _FOLDER | _NO_LINK, place)
        if place is not None:
            stack.callback(os.close, place)
        return place


def _opened(name: str, flags: int, folder: int | None) -> int | None:
    try:
        return os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        return None


@dataclass(frozen=True, slots=True)
class _InHDFS:
    address: str
    access: WebAccess

    @contextmanager
    def opened(self) -> Iterator[OpenFolder]:
        with self.access.opened(self.address) as gateway:
            yield _BelowGateway(gateway)


@dataclass(frozen=True, slots=True)
class _BelowGateway:
    gateway: Gateway

    def names(self, path: Sequence[str]) -> Sequence[str]:
        return [each.pathSuffix for each in self.gateway.entries("/".join(path))[:_MOST_ENTRIES]]

    def read(self, path: Sequence[str], offset: int, count: int) -> bytes | None:
        return self.gateway.some("/".join(path), offset, count)
