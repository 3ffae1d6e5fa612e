"""Sealing again, with the newest secret, what a store has sealed with an older one.

Rows are read in the order of their keys, a few at a time, and each value is put in the place of the one that was read
and of no other: a Heddle may write meanwhile.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Table, and_, select, tuple_, update
from sqlalchemy.engine import URL

from shim.domain.ids import ApplicationAttemptId, ApplicationId, SubClusterId
from shim.errors import StoreUnavailableError
from shim.store.executors import Executor
from shim.store.postgresql import store_address
from shim.store.schema import HEAD, revision_of
from shim.store.sealing import Sealer, resealed_body
from shim.store.sql_multicluster_store import session_place
from shim.store.sql_state_store import body_secrets, open_executor
from shim.store.tables import span_attempts, span_sessions, submissions

_ROWS_AT_A_TIME: Final = 200
_TOLD: Final = 3  # of what no secret opens


@dataclass(slots=True)
class Resealed:
    """Outcome for the sealed values of a store.

    Attributes:
        sealed: Values that were sealed anew; with a dry run those that would be.
        kept: Values that had the newest secret, or that a Heddle changed meanwhile.
        unreadable: Values that no secret opens; they stay as they are.
    """

    sealed: int = 0
    kept: int = 0
    unreadable: int = 0
    places: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _SealedColumn:
    """A column with sealed values.

    Attributes:
        resealed: From a row to what shall be in the column; raises `StoreUnavailableError` if no secret opens it.
        more: Columns that this needs, beside the key and the column itself.
    """

    table: Table
    name: str
    resealed: Callable[[Mapping[str, Any]], bytes]
    more: tuple[str, ...] = ()

    def read(self, connection: Connection, after: tuple[Any, ...] | None) -> list[Mapping[str, Any]]:
        """The next rows behind a key."""
        key = list(self.table.primary_key.columns)
        wanted = [*key, self.table.c[self.name], *(self.table.c[each] for each in self.more)]
        asked = select(*wanted).order_by(*key).limit(_ROWS_AT_A_TIME)
        rows = connection.execute(asked if after is None else asked.where(tuple_(*key) > after))
        return [dict(row) for row in rows.mappings()]

    def key_of(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(row[column.name] for column in self.table.primary_key.columns)

    def replace(self, connection: Connection, row: Mapping[str, Any], value: bytes) -> bool:
        """Put a value in the place of the one that was read; false if that is not there any more."""
        column = self.table.c[self.name]
        same = and_(*(each == row[each.name] for each in self.table.primary_key.columns), column == row[self.name])
        return bool(connection.execute(update(self.table).where(same).values({self.name: value})).rowcount)


async def reseal_store(url: str, secrets: Sequence[bytes], *, dry_run: bool) -> Resealed:
    """Seal with the first secret whatever another one opens, or is in clear.

    Args:
        url: As `open_state_store` takes it.
        secrets: The one to seal with, then others that open.

    Raises:
        ConfigError: If the URL is not one of these.
        StoreUnavailableError: If the database cannot be used, or its tables are not those of this Heddle.
    """
    _refuse_to_make(store_address(url))
    executor = open_executor(url)
    try:
        revision = await executor.read(revision_of)
        if revision != HEAD:
            raise StoreUnavailableError(f"the store has revision {revision or 'none'}, not {HEAD}: start Heddle first")
        done = Resealed()
        for column in _columns(secrets, body_secrets(url, secrets[0], secrets[1:])):
            await _reseal(executor, column, done, dry_run=dry_run)
        return done
    finally:
        await executor.close()


def _refuse_to_make(url: URL) -> None:
    """SQLite makes the file that it opens."""
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
        raise StoreUnavailableError(f"there is no store {url.database}")


async def _reseal(executor: Executor, column: _SealedColumn, done: Resealed, *, dry_run: bool) -> None:
    after: tuple[Any, ...] | None = None
    while rows := await executor.read(partial(column.read, after=after)):
        changes = [(row, value) for row in rows if (value := _wanted(column, row, done)) is not None]
        count = len(changes) if dry_run else await executor.write(partial(_replace_all, column=column, changes=changes))
        done.sealed += count
        done.kept += len(changes) - count
        after = column.key_of(rows[-1])


def _wanted(column: _SealedColumn, row: Mapping[str, Any], done: Resealed) -> bytes | None:
    """New value for the place of an old one; None if that stays."""
    try:
        value = column.resealed(row)
    except StoreUnavailableError:
        done.unreadable += 1
        done.places = [*done.places, f"{column.table.name} {column.key_of(row)}"][:_TOLD]
        return None
    if value == (row[column.name] or b""):
        done.kept += bool(value)
        return None
    return value


def _replace_all(
    connection: Connection, *, column: _SealedColumn, changes: Sequence[tuple[Mapping[str, Any], bytes]]
) -> int:
    return sum(column.replace(connection, row, value) for row, value in changes)


def _columns(secrets: Sequence[bytes], of_bodies: Sequence[bytes]) -> list[_SealedColumn]:
    sealer = Sealer(secrets[0], others=secrets[1:])

    def body(row: Mapping[str, Any]) -> bytes:
        return resealed_body(row["body"], of_bodies, application_id=_application(row), user=row["user_name"])

    def session(name: str) -> Callable[[Mapping[str, Any]], bytes]:
        return lambda row: _anew(sealer, row[name], session_place(_application(row), SubClusterId(row["subcluster"])))

    def attempt(row: Mapping[str, Any]) -> bytes:
        return _anew(sealer, row["sealed_registration"], str(ApplicationAttemptId(_application(row), row["attempt"])))

    return [
        _SealedColumn(submissions, "body", body, ("user_name",)),
        *(_SealedColumn(span_sessions, name, session(name)) for name in ("sealed_token", "sealed_node_tokens")),
        _SealedColumn(span_attempts, "sealed_registration", attempt),
    ]


def _anew(sealer: Sealer, sealed: bytes | None, place: str) -> bytes:
    if not sealed or sealer.is_newest(sealed, place):
        return sealed or b""
    return sealer.seal(sealer.open(sealed, place), place)


def _application(row: Mapping[str, Any]) -> ApplicationId:
    return ApplicationId(row["cluster_timestamp"], row["sequence"])
