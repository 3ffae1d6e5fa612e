"""Stores of queues over SQL: policies, use, acts of preemption, credits of altruism, former runs of jobs."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Float,
    Row,
    Select,
    Table,
    and_,
    case,
    cast,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
    true,
)
from sqlalchemy.dialects import postgresql, sqlite

from shim.domain.credits import Credits
from shim.domain.ids import ApplicationId, ContainerId, SubClusterId
from shim.domain.preemption import PreemptionAct, PreemptionStage
from shim.domain.usage import PartUsage
from shim.errors import VersionConflictError
from shim.ports.act_store import KEPT_FOR_MS, MOST_OF_ONE
from shim.ports.queue_stores import (
    MOST_CREDITS,
    MOST_GROUPS,
    CreditQuestion,
    CreditRow,
    KeptRun,
    PolicyVersion,
    UsageQuestion,
    UsageRow,
    UsageTotal,
)
from shim.store.executors import Executor
from shim.store.rows import readable
from shim.store.tables import altruism_credits, former_runs, policies, preemption_acts, preemption_counts, usage_parts

_C = altruism_credits.c
_MOST_FORGOTTEN = 100_000
_AMOUNTS = ("given_s", "received_s", "given_mib_s", "received_mib_s")
_GROUPS_CREDITS = {"queue": _C.queue, "user": _C.user_name}


class SqlCreditStore:
    """Credits in SQL; implements `shim.ports.queue_stores.CreditStore`. Closing the state store closes it."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def keep(self, rows: Sequence[CreditRow]) -> None:
        for start in range(0, len(rows), _BATCH):
            batch = [_values(row) for row in rows[start : start + _BATCH]]
            await self._executor.write(partial(_keep_credits, rows=batch))

    async def of(self, application: ApplicationId) -> Sequence[CreditRow]:
        """All parts of an application's account."""
        return await self._executor.read(partial(_of_credits, application=application))

    async def totals(self, question: CreditQuestion) -> Sequence[tuple[tuple[str, ...], Credits]]:
        return await self._executor.read(partial(_totals_credits, question=question))

    async def forget(self, before_ms: int, most: int = MOST_CREDITS) -> None:
        await self._executor.write(partial(_forget_credits, before_ms=before_ms, most=most))


def _keep_credits(connection: Connection, *, rows: Sequence[Mapping[str, Any]]) -> None:
    insert = _DIALECT_INSERT[connection.dialect.name](altruism_credits)
    keys = [column.name for column in altruism_credits.primary_key]
    new = insert.excluded
    changed = {column.name: new[column.name] for column in altruism_credits.columns if column.name not in keys}
    is_more = and_(new.given_s >= _C.given_s, new.received_s >= _C.received_s)
    connection.execute(insert.on_conflict_do_update(index_elements=keys, set_=changed, where=is_more), list(rows))


def _of_credits(connection: Connection, *, application: ApplicationId) -> Sequence[CreditRow]:
    mine = (_C.cluster_timestamp == application.cluster_timestamp, _C.sequence == application.sequence)
    return readable(connection.execute(select(altruism_credits).where(*mine).order_by(_C.part)), _credit_row)


def _totals_credits(connection: Connection, *, question: CreditQuestion) -> Sequence[tuple[tuple[str, ...], Credits]]:
    groups = [_GROUPS_CREDITS[name] for name in question.by]
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
    return readable(rows, lambda row: (tuple(row[: len(groups)]), _amounts(row)))


def _forget_credits(connection: Connection, *, before_ms: int, most: int) -> None:
    connection.execute(delete(altruism_credits).where(_C.to_ms < before_ms))
    oldest = select(_C.to_ms).order_by(_C.to_ms.desc()).offset(most).limit(1).scalar_subquery()
    connection.execute(delete(altruism_credits).where(_C.to_ms <= oldest))


class SqlFormerRunStore:
    """Runs in SQL; implements `shim.ports.queue_stores.FormerRunStore`. Closing the state store closes it."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def keep(self, runs: Sequence[KeptRun]) -> None:
        """Keep runs; of several of one name the newest."""
        newest = {run.name: run for run in sorted(runs, key=lambda run: run.at_ms)}
        rows = [{"name": run.name, "at_ms": run.at_ms, "run": run.text} for run in newest.values()]
        for start in range(0, len(rows), _BATCH):
            await self._executor.write(partial(_keep_runs, rows=rows[start : start + _BATCH]))

    async def since(self, at_ms: int, most: int) -> Sequence[KeptRun]:
        """Runs from some time on."""
        return await self._executor.read(partial(_runs_since, at_ms=at_ms, most=most))

    async def forget(self, before_ms: int, most: int) -> None:
        """Forget what is old, and what is too much."""
        await self._executor.write(partial(_forget_runs, before_ms=before_ms, most=most))


def _keep_runs(connection: Connection, *, rows: Sequence[Mapping[str, Any]]) -> None:
    insert = _DIALECT_INSERT[connection.dialect.name](former_runs)
    changed = {"at_ms": insert.excluded.at_ms, "run": insert.excluded.run}
    is_newer = insert.excluded.at_ms >= former_runs.c.at_ms
    connection.execute(insert.on_conflict_do_update(index_elements=["name"], set_=changed, where=is_newer), list(rows))


def _runs_since(connection: Connection, *, at_ms: int, most: int) -> Sequence[KeptRun]:
    runs = former_runs.c
    newest = select(former_runs).where(runs.at_ms >= at_ms).order_by(runs.at_ms.desc(), runs.name.desc()).limit(most)
    return readable(connection.execute(newest), lambda row: KeptRun(row.name, row.at_ms, row.run))[::-1]


def _forget_runs(connection: Connection, *, before_ms: int, most: int) -> None:
    runs = former_runs.c
    connection.execute(delete(former_runs).where(runs.at_ms < before_ms))
    beyond = select(runs.name).order_by(runs.at_ms.desc(), runs.name.desc()).offset(most).limit(_MOST_FORGOTTEN)
    connection.execute(delete(former_runs).where(runs.name.in_(beyond.subquery().select())))


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


_ACT_COLUMN = preemption_acts.c


class SqlActStore:
    """Acts in SQL; implements `shim.ports.ActStore`. Closing the state store closes it."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def add(self, acts: Sequence[PreemptionAct]) -> None:
        if acts:
            await self._executor.write(partial(_add, acts=tuple(acts)))

    async def of(self, application: ApplicationId) -> Sequence[PreemptionAct]:
        """The newest of an application."""
        return await self._executor.read(partial(_of, application=application))

    async def since(self, at_ms: int) -> Sequence[PreemptionAct]:
        return await self._executor.read(partial(_since, at_ms=at_ms))

    async def counts(self) -> Mapping[tuple[str, PreemptionStage], int]:
        return await self._executor.read(_counts)


def _add(connection: Connection, *, acts: Sequence[PreemptionAct]) -> None:
    insert = _DIALECT_INSERT[connection.dialect.name]
    for act in acts:
        new = insert(preemption_acts).values(_act_row(act)).on_conflict_do_nothing().returning(_ACT_COLUMN.number)
        is_new = connection.execute(new).first() is not None
        if is_new and act.stage is not None:
            counted = insert(preemption_counts).values(queue=act.queue, stage=act.stage.value, acts=1)
            more = {"acts": preemption_counts.c.acts + 1}
            keys = [column.name for column in preemption_counts.primary_key]
            connection.execute(counted.on_conflict_do_update(index_elements=keys, set_=more))
    oldest_ms = max(act.at_ms for act in acts) - KEPT_FOR_MS
    connection.execute(delete(preemption_acts).where(_ACT_COLUMN.at_ms < oldest_ms))


def _of(connection: Connection, *, application: ApplicationId) -> Sequence[PreemptionAct]:
    found = (
        select(preemption_acts)
        .where(
            _ACT_COLUMN.cluster_timestamp == application.cluster_timestamp,
            _ACT_COLUMN.sequence == application.sequence,
        )
        .order_by(_ACT_COLUMN.number.desc())
        .limit(MOST_OF_ONE)
    )
    return readable(reversed(connection.execute(found).all()), _act)


def _since(connection: Connection, *, at_ms: int) -> Sequence[PreemptionAct]:
    found = select(preemption_acts).where(_ACT_COLUMN.at_ms >= at_ms).order_by(_ACT_COLUMN.number)
    return readable(connection.execute(found), _act)


def _counts(connection: Connection) -> Mapping[tuple[str, PreemptionStage], int]:
    rows = connection.execute(select(preemption_counts))
    return dict(readable(rows, lambda row: ((row.queue, PreemptionStage(row.stage)), row.acts)))


def _act_row(act: PreemptionAct) -> dict[str, Any]:
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
    """Usage in SQL; implements `shim.ports.queue_stores.UsageStore`. Closing the state store closes it."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def keep(self, rows: Sequence[UsageRow]) -> None:
        for start in range(0, len(rows), _BATCH):
            batch = [_row(row) for row in rows[start : start + _BATCH]]
            await self._executor.write(partial(_keep, rows=batch))

    async def spanning(self, most: int) -> Sequence[UsageRow]:
        return await self._executor.read(partial(_spanning, most=most))

    async def totals(self, question: UsageQuestion) -> Sequence[UsageTotal]:
        return await self._executor.read(partial(_totals, question=question))

    async def forget(self, ended_before_ms: int) -> None:
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
    return readable(connection.execute(found), _usage_row)


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
    rows = (row for row in connection.execute(found) if row.applications is not None)
    return readable(rows, lambda row: _total(row, len(groups)))


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


class SqlPolicyStore:
    """Policies in SQL; implements `shim.ports.PolicyStore`. Closing the state store closes it.

    Args:
        now_s: Seconds since the epoch.
    """

    def __init__(self, executor: Executor, *, now_s: Callable[[], float], table: Table = policies) -> None:
        self._executor = executor
        self._now_s = now_s
        self._table = table

    async def apply(self, version: int, text: str, *, by: str, note: str) -> PolicyVersion:
        """Keep a new policy under a version that nobody else has taken."""
        new = PolicyVersion(version, text, by, int(self._now_s() * 1000), note)
        return await self._executor.write(partial(_apply, table=self._table, new=new))

    async def newest(self) -> PolicyVersion | None:
        return await self._executor.read(partial(newest_of, table=self._table))

    async def history(self) -> Sequence[PolicyVersion]:
        return await self._executor.read(partial(_history, table=self._table))


def _apply(connection: Connection, *, table: Table, new: PolicyVersion) -> PolicyVersion:
    """Insert, if the version before it is the newest; the same again, as after a lost answer, changes nothing."""
    stands = newest_of(connection, table)
    if (
        stands is not None
        and stands.version == new.version
        and (stands.text, stands.applied_by)
        == (
            new.text,
            new.applied_by,
        )
    ):
        return stands
    known = 0 if stands is None else stands.version
    if new.version != known + 1:
        raise VersionConflictError(f"the newest is version {known}: look at it before you apply another")
    connection.execute(
        insert(table).values(
            version=new.version,
            text=new.text,
            applied_by=new.applied_by,
            applied_at_ms=new.applied_at_ms,
            note=new.note,
        )
    )
    return new


def newest_of(connection: Connection, table: Table = policies) -> PolicyVersion | None:
    """The policy that holds, or what another table of that form has, as a connection sees it."""
    row = connection.execute(_newest_first(table).limit(1)).first()
    return None if row is None else _version(row)


def _history(connection: Connection, *, table: Table) -> Sequence[PolicyVersion]:
    return [_version(row) for row in connection.execute(_newest_first(table))]


def _newest_first(table: Table) -> Select[Any]:
    return select(table).order_by(table.c.version.desc())


def _version(row: Row[Any]) -> PolicyVersion:
    return PolicyVersion(row.version, row.text, row.applied_by, row.applied_at_ms, row.note)
