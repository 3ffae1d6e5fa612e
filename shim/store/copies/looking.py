"""Findings about a store that change nothing; a Heddle may use it meanwhile."""

import asyncio
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sqlalchemy import Connection, create_engine, func, inspect, select, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import SQLAlchemyError

from shim.domain.ids import ApplicationId, SubClusterId
from shim.errors import StoreUnavailableError
from shim.ports.history_store import StoreHistory
from shim.store.postgresql import postgresql_engine
from shim.store.schema import HEAD, revision_of
from shim.store.sql_history_store import history_of, lost_of
from shim.store.tables import federation, leases, metadata, submissions

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_NOW_S = {
    "sqlite": "(julianday('now') - 2440587.5) * 86400.0",
    "postgresql": "extract(epoch FROM clock_timestamp())",
}


@dataclass(frozen=True, slots=True)
class StoreFacts:
    """Contents of a store.

    Attributes:
        revision: Of its tables; empty if it has none.
        damage: What an examination of the database found; empty if it is whole.
        readable_by_others: Files that not only their owner can read.
        next_sequence: First number that no process has reserved.
        holders: Roles that somebody holds now.
        lost: Applications that a cluster lists under Heddle's ids and of which the store does not tell, by cluster.
        above: Listed ids of a known epoch with numbers that the store has not reserved.
    """

    revision: str
    damage: str
    readable_by_others: tuple[str, ...]
    history: StoreHistory
    next_sequence: int
    states: Mapping[str, int]
    holders: tuple[str, ...]
    lost: Mapping[SubClusterId, tuple[ApplicationId, ...]]
    above: tuple[ApplicationId, ...]


def look(url: str, listed: Mapping[SubClusterId, Collection[ApplicationId]]) -> StoreFacts:
    """Look at a store.

    Args:
        url: As `open_state_store` takes it.

    Raises:
        StoreUnavailableError: It cannot be read, or there is none.
    """
    parsed = make_url(url)
    work = partial(_facts, listed=listed)
    try:
        if parsed.get_backend_name() == "sqlite":
            return _of_sqlite(Path(parsed.database or ""), work)
        return asyncio.run(_of_server(parsed.set(drivername="postgresql+asyncpg"), work))
    except (SQLAlchemyError, OSError, TimeoutError) as exc:
        raise StoreUnavailableError(f"the store cannot be read: {type(exc).__name__}: {_first_line(exc)}") from exc


def _of_sqlite(file: Path, work: "partial[StoreFacts]") -> StoreFacts:
    if not file.is_file():
        raise StoreUnavailableError(f"there is no store {file}")
    query = {"mode": "ro", "uri": "true"}
    engine = create_engine(URL.create("sqlite", database=f"file:{file.resolve().as_posix()}", query=query))
    try:
        with engine.connect() as connection:
            return work(connection, files=(file, Path(f"{file}-wal"), Path(f"{file}.key")))
    finally:
        engine.dispose()


async def _of_server(url: URL, work: "partial[StoreFacts]") -> StoreFacts:
    engine = postgresql_engine(url)
    try:
        async with engine.connect() as connection:
            return await connection.run_sync(work)
    finally:
        await engine.dispose()


def _facts(
    connection: Connection, *, listed: Mapping[SubClusterId, Collection[ApplicationId]], files: tuple[Path, ...] = ()
) -> StoreFacts:
    revision = revision_of(connection) or ""
    if not revision:
        raise StoreUnavailableError("the database holds no store")
    damage = _damage(connection)
    unsafe = tuple(str(file) for file in files if file.exists() and file.stat().st_mode & _OTHERS)
    if revision != HEAD:  # its tables are not those that this code reads
        return StoreFacts(revision, damage, unsafe, StoreHistory(frozenset(), 0, 0), 1, {}, (), {}, ())
    history = history_of(connection)
    next_sequence = connection.execute(select(federation.c.next_sequence)).scalar_one_or_none() or 1
    ours = {name: [each for each in ids if each.cluster_timestamp in history.epochs] for name, ids in listed.items()}
    states = connection.execute(select(submissions.c.state, func.count()).group_by(submissions.c.state))
    now_s = text(_NOW_S[connection.dialect.name])
    held = select(leases.c.name).where(leases.c.holder != "", leases.c.ends_at_s > now_s).order_by(leases.c.name)
    lost = {name: lost_of(connection, application_ids=ids, subcluster=name) for name, ids in ours.items()}
    return StoreFacts(
        revision=revision,
        damage=damage,
        readable_by_others=unsafe,
        history=history,
        next_sequence=next_sequence,
        states={str(state): int(count) for state, count in states},
        holders=tuple(connection.execute(held).scalars()),
        lost={name: tuple(sorted(ids)) for name, ids in lost.items() if ids},
        above=tuple(sorted({each for ids in ours.values() for each in ids if each.sequence >= next_sequence})),
    )


def _damage(connection: Connection) -> str:
    """Damage by SQLite's own examination, or by reading every table of PostgreSQL to its end; empty for none."""
    if connection.dialect.name == "sqlite":
        verdict = str(connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one())
        return "" if verdict == "ok" else verdict
    there = set(inspect(connection).get_table_names())
    for table in (each for each in metadata.sorted_tables if each.name in there):
        connection.execute(select(func.count()).select_from(table)).scalar_one()
    return ""


def _first_line(exc: BaseException) -> str:
    return str(exc).partition("\n")[0][:300]
