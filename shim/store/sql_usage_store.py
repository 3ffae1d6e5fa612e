"""`UsageStore` over SQL, in the database of the state store."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Float,
    Row,
    Table,
    and_,
    case,
    cast,
    delete,
    func,
    literal,
    or_,
    select,
    true,
)
from sqlalchemy.dialects import postgresql, sqlite

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.usage import PartUsage
from shim.ports.usage_store import MOST_GROUPS, UsageQuestion, UsageRow, UsageTotal
from shim.store.executors import Executor
from shim.store.tables import usage_parts

__all__ = ["SqlUsageStore"]

_BATCH = 200
_MOST = 2**63 - 1
_DIALECT_INSERT: Mapping[str, Callable[[Table], sqlite.Insert | postgresql.Insert]] = {
    "sqlite": sqlite.insert,
    "postgresql": postgresql.insert,
}
_COLUMN = usage_parts.c
_SUMS = ("memory_mib_s", "vcore_s", "preempted_memory_mib_s", "preempted_vcore_s")
_GROUPS: Mapping[str, ColumnElement[Any]] = {
    "queue": _COLUMN.queue,
    "user": _COLUMN.user_name,
    "cluster": _COLUMN.subcluster,
}


class SqlUsageStore:
    """Usage in SQL; implements `shim.ports.usage_store.UsageStore`. Closing the state store closes it."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def keep(self, rows: Sequence[UsageRow]) -> None:
        """Keep rows."""
        for start in range(0, len(rows), _BATCH):
            batch = [_row(row) for row in rows[start : start + _BATCH]]
            await self._executor.write(partial(_keep, rows=batch))

    async def spanning(self, most: int) -> Sequence[UsageRow]:
        """Rows of applications that have used more than their homes."""
        return await self._executor.read(partial(_spanning, most=most))

    async def totals(self, question: UsageQuestion) -> Sequence[UsageTotal]:
        """Sums."""
        return await self._executor.read(partial(_totals, question=question))

    async def forget(self, ended_before_ms: int) -> None:
        """Forget what ended before then."""
        await self._executor.write(partial(_forget, ended_before_ms=ended_before_ms))


def _keep(connection: Connection, *, rows: Sequence[Mapping[str, Any]]) -> None:
    """A row that tells less than the one that is known is of a Heddle that knows less: it changes nothing."""
    insert = _DIALECT_INSERT[connection.dialect.name](usage_parts)
    keys = [column.name for column in usage_parts.primary_key]
    new = insert.excluded
    changed = {column.name: new[column.name] for column in usage_parts.columns if column.name not in keys}
    is_more = or_(
        and_(new.memory_mib_s >= _COLUMN.memory_mib_s, new.vcore_s >= _COLUMN.vcore_s, _COLUMN.ended_at_ms == 0),
        and_(new.memory_mib_s >= _COLUMN.memory_mib_s, new.vcore_s >= _COLUMN.vcore_s, new.ended_at_ms > 0),
    )
    kept = insert.on_conflict_do_update(index_elements=keys, set_=changed, where=is_more)
    connection.execute(kept, list(rows))


def _spanning(connection: Connection, *, most: int) -> Sequence[UsageRow]:
    beyond = (
        select(_COLUMN.cluster_timestamp, _COLUMN.sequence)
        .where(_COLUMN.is_home.is_(False))
        .order_by(_COLUMN.cluster_timestamp.desc(), _COLUMN.sequence.desc())
        .limit(most)
        .distinct()
        .subquery()
    )
    same = and_(_COLUMN.cluster_timestamp == beyond.c.cluster_timestamp, _COLUMN.sequence == beyond.c.sequence)
    found = select(usage_parts).join(beyond, same).order_by(*usage_parts.primary_key).limit(most)
    return [_usage_row(row) for row in connection.execute(found)]


def _totals(connection: Connection, *, question: UsageQuestion) -> Sequence[UsageTotal]:
    groups = [_GROUPS[name] for name in question.by]
    now, first, last = (literal(ms, BigInteger) for ms in (question.now_ms, question.from_ms, question.to_ms))
    ended = case((_COLUMN.ended_at_ms > 0, _COLUMN.ended_at_ms), else_=now)
    is_late, is_early = ended > last, _COLUMN.started_at_ms < first
    end = case((is_late, last), else_=ended)
    begin = case((is_early, first), else_=_COLUMN.started_at_ms)
    lasted = case((ended > _COLUMN.started_at_ms, ended - _COLUMN.started_at_ms), else_=1)
    part = case((and_(~is_late, ~is_early), 1.0), else_=cast(end - begin, Float) / cast(lasted, Float))
    sums = [func.sum(_COLUMN[name] * part).label(name) for name in _SUMS]
    counted = func.count() if "cluster" in question.by else func.sum(case((_COLUMN.is_home.is_(True), 1), else_=0))
    is_in = and_(_COLUMN.started_at_ms < last, ended >= first)
    is_whose = true() if question.user is None else _COLUMN.user_name == question.user
    found = (
        select(*groups, counted.label("applications"), *sums)
        .where(is_in, is_whose)
        .group_by(*groups)
        .order_by(sums[0].desc(), *groups)
        .limit(MOST_GROUPS + 1)
    )
    return [_total(row, len(groups)) for row in connection.execute(found) if row.applications is not None]


def _total(row: Any, count: int) -> UsageTotal:
    amounts = {name: round(getattr(row, name) or 0) for name in _SUMS}
    return UsageTotal(tuple(row[:count]), int(row.applications), **amounts)


def _forget(connection: Connection, *, ended_before_ms: int) -> None:
    connection.execute(delete(usage_parts).where(_COLUMN.ended_at_ms > 0, _COLUMN.ended_at_ms < ended_before_ms))


def _row(row: UsageRow) -> dict[str, Any]:
    spent = row.part.spent
    return {
        "cluster_timestamp": row.application.cluster_timestamp,
        "sequence": row.application.sequence,
        "subcluster": row.subcluster,
        "is_home": row.is_home,
        "user_name": row.user,
        "queue": row.queue,
        "started_at_ms": _held(row.started_at_ms),
        "ended_at_ms": _held(row.ended_at_ms),
        **{name: _held(spent.get(name, 0)) for name in _SUMS},
        "rm_started_ms": _held(row.part.life[0]),
        "part_started_ms": _held(row.part.life[1]),
        "seen": dict(row.part.seen),
        "lost": dict(row.part.lost),
        "as_of_ms": int(row.part.as_of_s * 1000),
    }


def _held(amount: int) -> int:
    """As much of an amount as a column holds: sums of what many lives of a ResourceManager told know no bound."""
    return min(max(amount, -_MOST), _MOST)


def _usage_row(row: Row[Any]) -> UsageRow:
    life = (row.rm_started_ms, row.part_started_ms)
    return UsageRow(
        ApplicationId(row.cluster_timestamp, row.sequence),
        SubClusterId(row.subcluster),
        row.is_home,
        row.user_name,
        row.queue,
        row.started_at_ms,
        row.ended_at_ms,
        PartUsage(life, row.seen, row.lost, as_of_s=row.as_of_ms / 1000),
    )
