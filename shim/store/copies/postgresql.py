"""Copies of a PostgreSQL store, by its own pg_dump and pg_restore: they know every version of the server."""

import asyncio
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, inspect, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import SQLAlchemyError

from shim.errors import StoreUnavailableError
from shim.store.copies.copying import Copied, StoreHeldError, WentBack, new_file, prepare_restored
from shim.store.postgresql import SESSION_NAME, postgresql_engine, tool_settings
from shim.store.schema import HEAD, downgrade, revision_of
from shim.store.tables import metadata

_WITHIN_S = 3600
_LOOKS, _BETWEEN_LOOKS_S = 15, 0.2
_TOLD = 500  # of what a tool says when it fails
_HOLDERS = text(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    " AND application_name = :name"
)

_LEASES = text("SELECT count(*) FROM leases WHERE holder <> '' AND ends_at_s > extract(epoch FROM clock_timestamp())")
T = TypeVar("T")


class PostgreSQLCopying:
    """Takes and puts back copies of a PostgreSQL database; implements `Copying`.

    Where the server is, TLS and a password go to the tools in their environment: a command line is for all to read.
    """

    def __init__(self, url: URL) -> None:
        self._url = url.set(drivername="postgresql+asyncpg")
        self._shown = url.set(drivername="postgresql").render_as_string(hide_password=True)

    def backup(self, file: Path, *, force: bool, dry_run: bool) -> Copied:
        tool = _tool("pg_dump")
        submissions, revision, _ = self._examined()
        if not revision:
            raise StoreUnavailableError(f"{self._shown} holds no store")
        if dry_run:
            return Copied(self._shown, str(file), submissions, revision, 0)
        with new_file(file, force=force) as written:
            self._run(tool, "--format=custom", "--no-owner", "--no-privileges", f"--file={written}", *self._database())
        return Copied(self._shown, str(file), submissions, revision, file.stat().st_size)

    def restore(self, file: Path, *, force: bool, dry_run: bool) -> Copied:
        tool = _tool("pg_restore")
        if not file.is_file():
            raise StoreUnavailableError(f"there is no copy {file}")
        if "TABLE DATA public submissions" not in self._run(tool, "--list", str(file)):
            raise StoreUnavailableError(f"{file} is no copy of a store")
        revision = self._revision_when_free()
        if revision is None:
            raise StoreHeldError(f"{self._shown} is in use: stop every Heddle that uses it")
        if revision and not force:
            raise StoreHeldError(f"{self._shown} holds a store: back it up, and say --force to replace it")
        size = file.stat().st_size
        if dry_run:
            return Copied(str(file), self._shown, 0, "", size)
        kept = f"before_restore_{time.time_ns()}" if revision else ""  # two restores within a second keep two stores
        self._write(partial(_move_tables, source="public", target=kept) if kept else _nothing)
        try:
            options = ("--no-owner", "--no-privileges", "--single-transaction")
            self._run(tool, *options, *self._database(), str(file))
            submissions = self._write(prepare_restored)
        except BaseException:
            self._write(partial(_put_back, kept=kept) if kept else _nothing)
            raise
        return Copied(str(file), self._shown, submissions, HEAD, size, f"schema {kept}" if kept else "")

    def go_back(self, revision: str, *, dry_run: bool) -> WentBack:
        now = self._revision_when_free()
        if now is None:
            raise StoreHeldError(f"{self._shown} is in use: stop every Heddle that uses it")
        if not now:
            raise StoreUnavailableError(f"{self._shown} holds no store")
        self._write(partial(_go_back, revision=revision, dry_run=dry_run))
        return WentBack(self._shown, now, revision)

    def _database(self) -> tuple[str, ...]:
        user = (f"--username={self._url.username}",) if self._url.username else ()
        return (*user, f"--dbname={self._url.database}")

    def _run(self, *command: str) -> str:
        settings = tool_settings(self._url)
        try:
            done = subprocess.run(  # noqa: S603 - a tool of PostgreSQL, by its path, without a shell
                command, env={**os.environ, **settings}, capture_output=True, text=True, timeout=_WITHIN_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as exc:
            raise StoreUnavailableError(f"{Path(command[0]).name} did not end well: {type(exc).__name__}") from exc
        if done.returncode:
            raise StoreUnavailableError(f"{Path(command[0]).name}: {done.stderr.strip()[:_TOLD]}")
        return done.stdout

    def _revision_when_free(self) -> str | None:
        """The revision of the store, empty if there is none; None while a Heddle holds it.

        A server takes a moment to notice that a process has ended: its connections are waited for.
        """
        for _ in range(_LOOKS):
            _, revision, holders = self._examined()
            if not holders:
                return revision
            time.sleep(_BETWEEN_LOOKS_S)
        return None

    def _examined(self) -> tuple[int, str, int]:
        """Submissions, revision (empty if there is no store), and how many Heddles hold it."""
        return self._write(_facts)

    def _write(self, work: Callable[[Connection], T]) -> T:
        return asyncio.run(self._with(work))

    async def _with(self, work: Callable[[Connection], T]) -> T:
        engine = postgresql_engine(self._url)
        try:
            async with engine.begin() as connection:
                return await connection.run_sync(work)
        except (SQLAlchemyError, OSError, TimeoutError) as exc:
            raise StoreUnavailableError(f"{self._shown} does not answer: {type(exc).__name__}") from exc
        finally:
            await engine.dispose()


def _go_back(connection: Connection, *, revision: str, dry_run: bool) -> None:
    downgrade(connection, revision)
    if dry_run:
        connection.rollback()


def _nothing(_connection: Connection) -> None:
    """There is no store that could be kept."""


def _tables(connection: Connection, schema: str) -> list[str]:
    ours = {"alembic_version", *metadata.tables}
    return sorted(ours.intersection(inspect(connection).get_table_names(schema=schema)))


def _move_tables(connection: Connection, *, source: str, target: str) -> None:
    """Move the tables of a store, with their indexes and sequences, into a schema; the names are our own."""
    connection.execute(text(f'CREATE SCHEMA IF NOT EXISTS "{target}"'))
    for table in _tables(connection, source):
        connection.execute(text(f'ALTER TABLE "{source}"."{table}" SET SCHEMA "{target}"'))


def _put_back(connection: Connection, *, kept: str) -> None:
    """Drop the half-restored store, and put the one that was there back in its place."""
    for table in _tables(connection, "public"):
        connection.execute(text(f'DROP TABLE "public"."{table}" CASCADE'))
    _move_tables(connection, source=kept, target="public")
    connection.execute(text(f'DROP SCHEMA "{kept}"'))


def _facts(connection: Connection) -> tuple[int, str, int]:
    revision = revision_of(connection) or ""
    holders = int(connection.execute(_HOLDERS, {"name": SESSION_NAME}).scalar_one())
    if not holders and revision:
        holders = int(connection.execute(_LEASES).scalar_one())
    count = text("SELECT count(*) FROM submissions")
    return int(connection.execute(count).scalar_one()) if revision else 0, revision, holders


def _tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise StoreUnavailableError(f"{name} is not on this machine: install PostgreSQL's client programs")
    return found
