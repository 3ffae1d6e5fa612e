"""Copies of a SQLite store, by SQLite's online backup: pages that change meanwhile are copied again."""

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import create_engine
from sqlalchemy.engine import URL
from sqlalchemy.exc import SQLAlchemyError

from shim.errors import StoreUnavailableError
from shim.store.copies.copying import Copied, StoreHeldError, WentBack, new_file, prepare_restored
from shim.store.private_files import make_private
from shim.store.schema import HEAD, downgrade, known_revisions

_ENDS = ("", "-wal", "-shm", ".key")
_PAGES_AT_ONCE = 1000
_BUSY_S = 2.0


class SQLiteCopying:
    """Takes and puts back copies of a SQLite file; implements `Copying`.

    The key that seals submission contexts goes along, as `FILE.key`, if the store has one beside it.
    """

    def __init__(self, file: str) -> None:
        self._store = Path(file)

    def backup(self, file: Path, *, force: bool, dry_run: bool) -> Copied:
        with _translated(self._store):
            if not self._store.is_file():
                raise StoreUnavailableError(f"there is no store {self._store}")
            if dry_run:
                return self._told(self._store, str(file))
            with new_file(file, force=force) as written, closing(_read_only(self._store)) as source:
                with closing(sqlite3.connect(written)) as copy:
                    source.backup(copy, pages=_PAGES_AT_ONCE)
                    copy.execute("PRAGMA journal_mode=DELETE")
                told = _examined(written)
            _copy_key(self._store, file)
            return Copied(str(self._store), str(file), *told, file.stat().st_size)

    def restore(self, file: Path, *, force: bool, dry_run: bool) -> Copied:
        with _translated(file):
            if not file.is_file():
                raise StoreUnavailableError(f"there is no copy {file}")
            told = self._told(file, str(self._store))
            self._refuse_if_held()
            if self._store.exists() and not force:
                raise StoreHeldError(f"{self._store} exists: say --force to replace it; it is kept beside")
            if dry_run:
                return told
            kept = f"{self._store}.before-restore-{time.time_ns()}"
            with new_file(self._store, force=True) as written:
                shutil.copyfile(file, written)
                submissions = _prepared(written)
                is_replaced = self._store.exists()
                self._keep(kept)
            _copy_key(file, self._store)
            size = self._store.stat().st_size
            return Copied(str(file), str(self._store), submissions, HEAD, size, kept if is_replaced else "")

    def go_back(self, revision: str, *, dry_run: bool) -> WentBack:
        with _translated(self._store):
            if not self._store.is_file():
                raise StoreUnavailableError(f"there is no store {self._store}")
            _, now = _examined(self._store)
            self._refuse_if_held()
            _go_back(self._store, revision, dry_run=dry_run)
            return WentBack(str(self._store), now, revision)

    def _told(self, source: Path, target: str) -> Copied:
        submissions, revision = _examined(source)
        return Copied(str(source), target, submissions, revision, source.stat().st_size)

    def _keep(self, kept: str) -> None:
        """Move the store that is replaced aside, with its journal: nothing of it is lost."""
        for end in _ENDS[:3]:
            part = Path(f"{self._store}{end}")
            if part.exists():
                part.rename(f"{kept}{end}")

    def _refuse_if_held(self) -> None:
        """A process that has the file open holds a shared lock on it (WAL), so nobody gets the exclusive one."""
        if not self._store.is_file():
            return
        with closing(sqlite3.connect(self._store, timeout=_BUSY_S, isolation_level=None)) as connection:
            try:
                connection.execute("PRAGMA locking_mode=EXCLUSIVE")
                connection.execute("BEGIN EXCLUSIVE")
                connection.execute("ROLLBACK")
            except sqlite3.OperationalError as exc:
                if "locked" not in str(exc):
                    return  # damaged: that is why it is replaced
                raise StoreHeldError(f"{self._store} is in use: stop every Heddle that uses it") from exc
            except sqlite3.DatabaseError:
                return


def _examined(file: Path) -> tuple[int, str]:
    """Number of submissions in a store, and the revision of its tables.

    Raises:
        StoreUnavailableError: It is none, is damaged, or is of a newer Heddle.
    """
    with closing(_read_only(file)) as connection:
        (verdict,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if verdict != "ok":
            raise StoreUnavailableError(f"{file} is damaged: {verdict}")
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        revision = str(row[0]) if row else "none"
        if revision not in known_revisions():
            raise StoreUnavailableError(f"{file} is at revision {revision}, which this Heddle does not know")
        (submissions,) = connection.execute("SELECT count(*) FROM submissions").fetchone()
        return int(submissions), revision


def _read_only(file: Path) -> sqlite3.Connection:
    """A connection that changes nothing; a file in a folder that cannot be written is read without a journal."""
    mode = "ro" if os.access(file.parent, os.W_OK) else "ro&immutable=1"
    return sqlite3.connect(f"file:{file.resolve().as_posix()}?mode={mode}", uri=True, timeout=_BUSY_S)


def _prepared(file: Path) -> int:
    engine = create_engine(URL.create("sqlite", database=str(file)))
    try:
        with engine.begin() as connection:
            return prepare_restored(connection)
    finally:
        engine.dispose()


def _go_back(file: Path, revision: str, *, dry_run: bool) -> None:
    engine = create_engine(URL.create("sqlite", database=str(file)))
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")  # the driver begins none for changes of tables
            downgrade(connection, revision)
            connection.rollback() if dry_run else connection.commit()
    except SQLAlchemyError as exc:
        raise StoreUnavailableError(f"{file} cannot go back to {revision}, and is as it was: {exc}") from exc
    finally:
        engine.dispose()


def _copy_key(source: Path, target: Path) -> None:
    key, wanted = Path(f"{source}.key"), Path(f"{target}.key")
    if key.is_file() and key.resolve() != wanted.resolve():
        make_private(wanted)
        wanted.write_bytes(key.read_bytes())


@contextmanager
def _translated(file: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as exc:
        raise StoreUnavailableError(f"{file}: {exc}") from exc
