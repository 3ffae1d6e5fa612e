"""`ActStore` over SQL, in the database of the state store."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, Table, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from shim.domain.ids import ApplicationId, ContainerId, SubClusterId
from shim.domain.preemption import PreemptionAct, PreemptionStage
from shim.ports.act_store import KEPT_FOR_MS, MOST_OF_ONE
from shim.store.executors import Executor
from shim.store.tables import preemption_acts, preemption_counts

__all__ = ["SqlActStore"]

_DIALECT_INSERT: Mapping[str, Callable[[Table], sqlite.Insert | postgresql.Insert]] = {
    "sqlite": sqlite.insert,
    "postgresql": postgresql.insert,
}
_COLUMN = preemption_acts.c


class SqlActStore:
    """Acts in SQL; implements `shim.ports.ActStore`. Closing the state store closes it."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def add(self, acts: Sequence[PreemptionAct]) -> None:
        """Keep acts that are not known."""
        if acts:
            await self._executor.write(partial(_add, acts=tuple(acts)))

    async def of(self, application: ApplicationId) -> Sequence[PreemptionAct]:
        """The newest of an application."""
        return await self._executor.read(partial(_of, application=application))

    async def since(self, at_ms: int) -> Sequence[PreemptionAct]:
        """Acts from a moment on, whomever they concern."""
        return await self._executor.read(partial(_since, at_ms=at_ms))

    async def counts(self) -> Mapping[tuple[str, PreemptionStage], int]:
        """Acts by queue and stage."""
        return await self._executor.read(_counts)


def _add(connection: Connection, *, acts: Sequence[PreemptionAct]) -> None:
    insert = _DIALECT_INSERT[connection.dialect.name]
    for act in acts:
        new = insert(preemption_acts).values(_row(act)).on_conflict_do_nothing().returning(_COLUMN.number)
        is_new = connection.execute(new).first() is not None
        if is_new and act.stage is not None:
            counted = insert(preemption_counts).values(queue=act.queue, stage=act.stage.value, acts=1)
            more = {"acts": preemption_counts.c.acts + 1}
            keys = [column.name for column in preemption_counts.primary_key]
            connection.execute(counted.on_conflict_do_update(index_elements=keys, set_=more))
    oldest_ms = max(act.at_ms for act in acts) - KEPT_FOR_MS
    connection.execute(delete(preemption_acts).where(_COLUMN.at_ms < oldest_ms))


def _of(connection: Connection, *, application: ApplicationId) -> Sequence[PreemptionAct]:
    found = (
        select(preemption_acts)
        .where(
            _COLUMN.cluster_timestamp == application.cluster_timestamp,
            _COLUMN.sequence == application.sequence,
        )
        .order_by(_COLUMN.number.desc())
        .limit(MOST_OF_ONE)
    )
    return [_act(row) for row in reversed(connection.execute(found).all())]


def _since(connection: Connection, *, at_ms: int) -> Sequence[PreemptionAct]:
    found = select(preemption_acts).where(_COLUMN.at_ms >= at_ms).order_by(_COLUMN.number)
    return [_act(row) for row in connection.execute(found)]


def _counts(connection: Connection) -> Mapping[tuple[str, PreemptionStage], int]:
    rows = connection.execute(select(preemption_counts))
    return {(row.queue, PreemptionStage(row.stage)): row.acts for row in rows}


def _row(act: PreemptionAct) -> dict[str, Any]:
    return {
        "cluster_timestamp": act.application.cluster_timestamp,
        "sequence": act.application.sequence,
        "at_ms": act.at_ms,
        "container": "" if act.container is None else str(act.container),
        "stage": "" if act.stage is None else act.stage.value,
        "queue": act.queue,
        "reason": act.reason,
        "subcluster": act.subcluster or "",
        "taker": act.taker,
        "room": act.room,
    }


def _act(row: Row[Any]) -> PreemptionAct:
    return PreemptionAct(
        at_ms=row.at_ms,
        application=ApplicationId(row.cluster_timestamp, row.sequence),
        queue=row.queue,
        stage=PreemptionStage(row.stage) if row.stage else None,
        reason=row.reason,
        container=ContainerId.parse(row.container) if row.container else None,
        subcluster=SubClusterId(row.subcluster) if row.subcluster else None,
        taker=row.taker,
        room=row.room,
    )
