"""`HistoryStore` over SQL, in the database of the state store.

Name of a copy of a database, which changes when another copy takes its place.

SQLite: the file. PostgreSQL: the server's identifier, its timeline, which each promotion and each recovery to a point
in time raises, and the table's own number, which a restored dump does not have. A copy that overwrites a SQLite file
in place cannot be told by this; `shim.submission.lost_time` finds it by what clusters list.
"""

import os
from collections.abc import Callable, Collection, Sequence
from functools import partial

from sqlalchemy import Connection, delete, func, or_, select, text, tuple_, update
from sqlalchemy.exc import DBAPIError

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.submissions import DISPUTED, SubmissionRecord, SubmissionState
from shim.ports.history_store import StoreHistory
from shim.store import rows
from shim.store.executors import Executor
from shim.store.operations import federation_timestamp_ms
from shim.store.tables import (
    api_tokens,
    delegation_tokens,
    delivery_failures,
    federation,
    id_epochs,
    leases,
    submissions,
)

_C = submissions.c
_BATCH = 400  # as in `operations`
_FENCES = 1_000_000  # more than roles change hands in the lost time
_NOT_SENT_ELSEWHERE = (SubmissionState.WAITING.value, SubmissionState.INTENDED.value)


class SqlHistoryStore:
    """The past of a store in SQL; implements `shim.ports.HistoryStore`. Closing the state store closes it."""

    def __init__(self, executor: Executor, *, now_s: Callable[[], float]) -> None:
        self._executor = executor
        self._now_s = now_s

    async def history(self) -> StoreHistory:
        return await self._executor.read(history_of)

    async def lost(
        self, application_ids: Collection[ApplicationId], subcluster: SubClusterId
    ) -> frozenset[ApplicationId]:
        return await self._executor.read(
            partial(lost_of, application_ids=tuple(application_ids), subcluster=subcluster)
        )

    async def disputed(self) -> Sequence[SubmissionRecord]:
        return await self._executor.read(_disputed)

    async def note_restored(self) -> None:
        await self._executor.write(partial(mark_restored, at_ms=self._now_ms()))

    async def note_lineage(self) -> bool:
        return await self._executor.write(partial(_note_lineage, at_ms=self._now_ms()))

    def _now_ms(self) -> int:
        return int(self._now_s() * 1000)


def mark_restored(connection: Connection, *, at_ms: int) -> None:
    """Records from before `at_ms` may be out of date; the lineage is found anew by the next process.

    Fences of leases go on above those of the lost time: a Global Master believes the larger one. Delegation tokens and
    API tokens are forgotten, as some of them may have been cancelled in that time. So is how submissions failed: what
    was sent since may be on its way.
    """
    federation_timestamp_ms(connection, now_ms=at_ms)  # a store that was never used has no row
    connection.execute(update(federation).values(restored_at_ms=at_ms, lineage=None))
    connection.execute(update(leases).values(fence=leases.c.fence + _FENCES))
    connection.execute(delete(delegation_tokens))
    connection.execute(delete(api_tokens))
    connection.execute(delete(delivery_failures))


def history_of(connection: Connection) -> StoreHistory:
    row = connection.execute(select(federation.c.timestamp_ms, federation.c.restored_at_ms)).first()
    epochs = frozenset(connection.execute(select(id_epochs.c.timestamp_ms)).scalars())
    oldest = connection.execute(select(func.min(_C.finished_at_ms))).scalar_one_or_none()
    if row is None:
        return StoreHistory(epochs, 0, oldest or 0)
    return StoreHistory(epochs | {row.timestamp_ms}, row.restored_at_ms or 0, oldest or 0)


def lost_of(
    connection: Connection, *, application_ids: Sequence[ApplicationId], subcluster: SubClusterId
) -> frozenset[ApplicationId]:
    known: set[ApplicationId] = set()
    for start in range(0, len(application_ids), _BATCH):
        batch = application_ids[start : start + _BATCH]
        pairs = [(each.cluster_timestamp, each.sequence) for each in batch]
        is_asked_for = tuple_(_C.cluster_timestamp, _C.sequence).in_(pairs)
        was_sent = or_(_C.home_subcluster == subcluster, _C.state.not_in(_NOT_SENT_ELSEWHERE))
        found = connection.execute(select(_C.cluster_timestamp, _C.sequence).where(is_asked_for, was_sent))
        known.update(ApplicationId(stamp, sequence) for stamp, sequence in found)
    return frozenset(application_ids) - known


def _disputed(connection: Connection) -> Sequence[SubmissionRecord]:
    is_disputed = _C.rejection.startswith(DISPUTED)
    found = connection.execute(select(submissions).where(_C.state == SubmissionState.LOST.value, is_disputed))
    return rows.readable(found.mappings(), rows.record_of_row)


def _note_lineage(connection: Connection, *, at_ms: int) -> bool:
    known = connection.execute(select(federation.c.lineage)).scalar_one_or_none()
    lineage = lineage_of(connection)
    if not lineage or lineage == known:
        return False
    if known:
        mark_restored(connection, at_ms=at_ms)
    connection.execute(update(federation).values(lineage=lineage))
    return bool(known)


_POSTGRESQL = text(
    "SELECT (SELECT system_identifier FROM pg_control_system())::text"
    " || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)"
    " || '/' || 'federation'::regclass::oid::text"
)


def lineage_of(connection: Connection) -> str:
    """The name of this copy; empty where the database does not tell."""
    if connection.dialect.name == "sqlite":
        return _of_file(connection)
    try:
        with connection.begin_nested():  # a hosted server may not let us ask
            return str(connection.execute(_POSTGRESQL).scalar_one())
    except DBAPIError as exc:
        if exc.connection_invalidated:
            raise
        return ""


def _of_file(connection: Connection) -> str:
    path = connection.exec_driver_sql("PRAGMA database_list").first()
    if path is None or not path[2]:
        return ""
    try:
        found = os.stat(path[2])  # noqa: PTH116 - a name that SQLite gave
    except OSError:
        return ""
    return f"{found.st_dev}:{found.st_ino}"
