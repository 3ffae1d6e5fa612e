"""`CreditStore` over SQL, in the database of the state store."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from sqlalchemy import Connection, Float, Row, Table, and_, case, cast, delete, func, or_, select, true
from sqlalchemy.dialects import postgresql, sqlite

from shim.domain.credits import Credits
from shim.domain.ids import ApplicationId
from shim.ports.credit_store import MOST_CREDITS, CreditQuestion, CreditRow
from shim.ports.usage_store import MOST_GROUPS
from shim.store.executors import Executor
from shim.store.tables import altruism_credits

__all__ = ["SqlCreditStore"]

_BATCH = 200
_DIALECT_INSERT: Mapping[str, Callable[[Table], sqlite.Insert | postgresql.Insert]] = {
    "sqlite": sqlite.insert,
    "postgresql": postgresql.insert,
}
_C = altruism_credits.c
_AMOUNTS = ("given_s", "received_s", "given_mib_s", "received_mib_s")
_GROUPS = {"queue": _C.queue, "user": _C.user_name}


class SqlCreditStore:
    """Credits in SQL; implements `shim.ports.credit_store.CreditStore`. Closing the state store closes it."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def keep(self, rows: Sequence[CreditRow]) -> None:
        """Keep rows."""
        for start in range(0, len(rows), _BATCH):
            batch = [_values(row) for row in rows[start : start + _BATCH]]
            await self._executor.write(partial(_keep, rows=batch))

    async def of(self, application: ApplicationId) -> Sequence[CreditRow]:
        """All parts of an application's account."""
        return await self._executor.read(partial(_of, application=application))

    async def totals(self, question: CreditQuestion) -> Sequence[tuple[tuple[str, ...], Credits]]:
        """Sums by group."""
        return await self._executor.read(partial(_totals, question=question))

    async def forget(self, before_ms: int, most: int = MOST_CREDITS) -> None:
        """Forget what is old, and what is too much."""
        await self._executor.write(partial(_forget, before_ms=before_ms, most=most))


def _keep(connection: Connection, *, rows: Sequence[Mapping[str, Any]]) -> None:
    insert = _DIALECT_INSERT[connection.dialect.name](altruism_credits)
    keys = [column.name for column in altruism_credits.primary_key]
    new = insert.excluded
    changed = {column.name: new[column.name] for column in altruism_credits.columns if column.name not in keys}
    is_more = and_(new.given_s >= _C.given_s, new.received_s >= _C.received_s)
    connection.execute(insert.on_conflict_do_update(index_elements=keys, set_=changed, where=is_more), list(rows))


def _of(connection: Connection, *, application: ApplicationId) -> Sequence[CreditRow]:
    mine = (_C.cluster_timestamp == application.cluster_timestamp, _C.sequence == application.sequence)
    return [_credit_row(row) for row in connection.execute(select(altruism_credits).where(*mine).order_by(_C.part))]


def _totals(connection: Connection, *, question: CreditQuestion) -> Sequence[tuple[tuple[str, ...], Credits]]:
    groups = [_GROUPS[name] for name in question.by]
    begin = case((_C.from_ms < question.from_ms, question.from_ms), else_=_C.from_ms)
    end = _C.to_ms if question.to_ms is None else case((_C.to_ms > question.to_ms, question.to_ms), else_=_C.to_ms)
    is_whole = and_(begin == _C.from_ms, end == _C.to_ms)
    lasted = case((_C.to_ms > _C.from_ms, _C.to_ms - _C.from_ms), else_=1)
    part = case((is_whole, 1.0), else_=cast(end - begin, Float) / cast(lasted, Float))
    sums = {name: func.sum(_C[name] * part).label(name) for name in _AMOUNTS}
    is_whose = true() if question.user is None else _C.user_name == question.user
    found = (
        select(*groups, *sums.values())
        .where(or_(begin < end, is_whole), is_whose)
        .group_by(*groups)
        .order_by(sums["given_mib_s"].desc(), *groups)
        .limit(MOST_GROUPS)
    )
    rows = [row for row in connection.execute(found) if row.given_s is not None]
    return [(tuple(row[: len(groups)]), _amounts(row)) for row in rows]


def _forget(connection: Connection, *, before_ms: int, most: int) -> None:
    connection.execute(delete(altruism_credits).where(_C.to_ms < before_ms))
    oldest = select(_C.to_ms).order_by(_C.to_ms.desc()).offset(most).limit(1).scalar_subquery()
    connection.execute(delete(altruism_credits).where(_C.to_ms <= oldest))


def _amounts(row: Row[Any]) -> Credits:
    return Credits(*(float(getattr(row, name)) for name in _AMOUNTS))


def _values(row: CreditRow) -> dict[str, Any]:
    return {
        "cluster_timestamp": row.application.cluster_timestamp,
        "sequence": row.application.sequence,
        "part": row.part,
        "queue": row.queue,
        "user_name": row.user,
        "from_ms": row.from_ms,
        "to_ms": row.to_ms,
        **{name: getattr(row.credits, name) for name in _AMOUNTS},
    }


def _credit_row(row: Row[Any]) -> CreditRow:
    application = ApplicationId(row.cluster_timestamp, row.sequence)
    return CreditRow(application, row.part, row.queue, row.user_name, row.from_ms, row.to_ms, _amounts(row))
