"""Parts of taking and putting back a copy that both databases have in common."""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sqlalchemy import Connection, text

from shim.errors import ConflictError, StoreUnavailableError
from shim.store.schema import upgrade
from shim.store.sql_history_store import mark_restored


class StoreHeldError(ConflictError):
    """A Heddle uses the store, or it is not empty: nothing was changed."""


@dataclass(frozen=True, slots=True)
class Copied:
    """A copy that was made or put back, or would be.

    Attributes:
        kept: Where the store that was replaced is now; empty if there was none.
    """

    source: str
    target: str
    submissions: int
    revision: str
    size_bytes: int
    kept: str = ""


@dataclass(frozen=True, slots=True)
class WentBack:
    """Tables that were taken back to an older revision, or would be."""

    store: str
    revision: str
    target: str


class Copying(Protocol):
    """Takes and puts back copies of one store."""

    def backup(self, file: Path, *, force: bool, dry_run: bool) -> Copied:
        """Write a consistent copy to a file of mode 0600; whoever uses the store goes on.

        Raises:
            ConflictError: The file exists, and `force` is not set.
            StoreUnavailableError: The store cannot be read, or the file cannot be written.
        """
        ...

    def restore(self, file: Path, *, force: bool, dry_run: bool) -> Copied:
        """Put a copy in the place of the store, marked as restored; the store that was there is kept if it can be.

        Raises:
            StoreHeldError: A Heddle holds the store; or there is one, and `force` is not set.
            StoreUnavailableError: The copy is none, is damaged or of a newer Heddle, or cannot be put there.
        """
        ...

    def go_back(self, revision: str, *, dry_run: bool) -> WentBack:
        """Take the tables back to an older revision, all of the way or not at all.

        Raises:
            StoreHeldError: A Heddle holds the store.
            StoreUnavailableError: There is none, or it cannot go back to that revision.
        """
        ...


def prepare_restored(connection: Connection) -> int:
    """Bring a copy that was put back up to date, and mark it; return how many submissions it has."""
    upgrade(connection)
    mark_restored(connection, at_ms=int(time.time() * 1000))
    return int(connection.execute(text("SELECT count(*) FROM submissions")).scalar_one())


@contextmanager
def new_file(target: Path, *, force: bool) -> Iterator[Path]:
    """A temporary file of mode 0600 beside `target` that becomes `target` at once, on the disk, if nothing fails.

    Raises:
        ConflictError: `target` exists, and `force` is not set.
        StoreUnavailableError: It cannot be written.
    """
    if target.exists() and not force:
        raise ConflictError(f"{target} exists: choose another name, or say --force")
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)  # its mode is 0600
        os.close(descriptor)
    except OSError as exc:
        raise StoreUnavailableError(f"{target} cannot be written: {exc}") from exc
    written = Path(name)
    try:
        yield written
        _flush(written)
        written.replace(target)
        _flush(target.parent)
    except OSError as exc:
        raise StoreUnavailableError(f"{target} cannot be written: {exc}") from exc
    finally:
        for leftover in (written, *(written.with_name(written.name + end) for end in ("-wal", "-shm", "-journal"))):
            with suppress(OSError):
                leftover.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
