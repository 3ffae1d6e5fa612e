"""`AskStore` over SQL, in the database of the state store."""

from collections.abc import Callable, Mapping
from functools import partial

from sqlalchemy import Connection, Table, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from shim.domain.ids import ApplicationId
from shim.ports.ask_store import MOST_KEPT, ShownAsks
from shim.store.executors import Executor
from shim.store.tables import ask_decisions

__all__ = ["SqlAskStore"]

_DIALECT_INSERT: Mapping[str, Callable[[Table], sqlite.Insert | postgresql.Insert]] = {
    "sqlite": sqlite.insert,
    "postgresql": postgresql.insert,
}
_C = ask_decisions.c


class SqlAskStore:
    """Decisions on asks in SQL; implements `shim.ports.AskStore`. Closing the state store closes it.

    Args:
        most: Applications that are kept.
    """

    def __init__(self, executor: Executor, *, now_s: Callable[[], float], most: int = MOST_KEPT) -> None:
        self._executor = executor
        self._now_s = now_s
        self._most = most

    async def keep(self, asks: Mapping[ApplicationId, ShownAsks]) -> None:
        """Keep the newest decisions of applications."""
        if asks:
            at_ms = int(self._now_s() * 1000)
            await self._executor.write(partial(_keep, asks=dict(asks), at_ms=at_ms, most=self._most))

    async def of(self, application: ApplicationId) -> ShownAsks:
        """The decisions that were kept last of an application."""
        return await self._executor.read(partial(_of, application=application))


def _keep(connection: Connection, *, asks: Mapping[ApplicationId, ShownAsks], at_ms: int, most: int) -> None:
    insert = _DIALECT_INSERT[connection.dialect.name](ask_decisions)
    upsert = insert.on_conflict_do_update(
        index_elements=[_C.cluster_timestamp, _C.sequence],
        set_={"at_ms": insert.excluded.at_ms, "asks": insert.excluded.asks},
    )
    rows = [
        {"cluster_timestamp": each.cluster_timestamp, "sequence": each.sequence, "at_ms": at_ms, "asks": list(shown)}
        for each, shown in asks.items()
    ]
    connection.execute(upsert, rows)
    oldest = select(_C.at_ms).order_by(_C.at_ms.desc()).offset(most).limit(1).scalar_subquery()
    connection.execute(delete(ask_decisions).where(_C.at_ms <= oldest))


def _of(connection: Connection, *, application: ApplicationId) -> ShownAsks:
    mine = (_C.cluster_timestamp == application.cluster_timestamp, _C.sequence == application.sequence)
    found: ShownAsks | None = connection.execute(select(_C.asks).where(*mine)).scalar_one_or_none()
    return found or ()
