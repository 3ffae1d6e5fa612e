"""Reading a store without touching it: no tables are made or upgraded, and no file is created."""

import asyncio
from pathlib import Path

from sqlalchemy import Table, create_engine, inspect
from sqlalchemy.engine import URL, Connection, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from shim.errors import StoreUnavailableError
from shim.ports.queue_stores import PolicyVersion
from shim.store.postgresql import postgresql_engine
from shim.store.sql_queue_stores import newest_of
from shim.store.tables import cluster_lists, policies

_CONNECT_WITHIN_S = 5


async def look_at_policy(url: str) -> PolicyVersion | None:
    """The newest policy in a store; None if none was ever applied, or if there is no store yet.

    Args:
        url: As `open_state_store` takes it.

    Raises:
        StoreUnavailableError: It cannot be read.
    """
    return await _look(url, policies)


def clusters_in(url: str) -> str:
    """The newest list of sub-clusters in a store, as text; empty if there is none. Not for a thread with a loop.

    Raises:
        StoreUnavailableError: It cannot be read.
    """
    newest = asyncio.run(_look(url, cluster_lists))
    return "" if newest is None else newest.text


async def _look(url: str, table: Table) -> PolicyVersion | None:
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() == "sqlite":
            return _of_sqlite(Path(parsed.database or ""), table)
        return await _of_server(parsed, table)
    except (ArgumentError, SQLAlchemyError, OSError, TimeoutError, ImportError) as exc:
        raise StoreUnavailableError(f"the store cannot be read: {type(exc).__name__}") from exc


def _of_sqlite(file: Path, table: Table) -> PolicyVersion | None:
    if not file.is_file():
        return None
    query = {"mode": "ro", "uri": "true"}
    engine = create_engine(URL.create("sqlite", database=f"file:{file.resolve().as_posix()}", query=query))
    try:
        with engine.connect() as connection:
            return _newest(connection, table)
    finally:
        engine.dispose()


async def _of_server(url: URL, table: Table) -> PolicyVersion | None:
    engine = postgresql_engine(url, connect_args={"timeout": _CONNECT_WITHIN_S})
    try:
        async with engine.connect() as connection:
            return await connection.run_sync(_newest, table)
    finally:
        await engine.dispose()


def _newest(connection: Connection, table: Table) -> PolicyVersion | None:
    return newest_of(connection, table) if inspect(connection).has_table(table.name) else None
