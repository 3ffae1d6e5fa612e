"""`MultiClusterStore` over SQL, in the database of the state store; tokens and registrations are stored sealed."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, SubClusterId
from shim.ports.multicluster_store import MOST_KEPT, RegisteredAttempt, RemoteSession, ShownAsks
from shim.store.executors import Executor
from shim.store.rows import readable
from shim.store.sealing import Sealer
from shim.store.tables import ask_decisions, span_attempts, span_containers, span_sessions

_C = ask_decisions.c


class SqlAskStore:
    """Decisions on asks in SQL; implements `shim.ports.AskStore`. Closing the state store closes it."""

    def __init__(self, executor: Executor, *, now_s: Callable[[], float], most: int = MOST_KEPT) -> None:
        self._executor = executor
        self._now_s = now_s
        self._most = most

    async def keep(self, asks: Mapping[ApplicationId, ShownAsks]) -> None:
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


_BATCH = 400
_DIALECT_INSERT: Mapping[str, Callable[[Table], sqlite.Insert | postgresql.Insert]] = {
    "sqlite": sqlite.insert,
    "postgresql": postgresql.insert,
}


class SqlMultiClusterStore:
    """Implements `shim.ports.multicluster_store.MultiClusterStore`; closing the state store closes it."""

    def __init__(self, executor: Executor, secret: bytes, others: Sequence[bytes] = ()) -> None:
        self._executor = executor
        self._sealer = Sealer(secret, others=others)

    async def save_session(self, session: RemoteSession) -> None:
        place = session_place(session.application, session.subcluster)
        row = _key(session.application) | {
            "subcluster": session.subcluster,
            "home_subcluster": session.home,
            "user_name": session.user,
            "sealed_token": self._sealer.seal(session.token, place),
            "sealed_node_tokens": self._sealer.seal(session.node_tokens, place),
        }
        await self._executor.write(partial(_put, table=span_sessions, row=row))

    async def sessions(self, application: ApplicationId | None = None) -> Sequence[RemoteSession]:
        """Sessions of one application or of all.

        Raises:
            StoreUnavailableError: None of them opens.
        """
        rows = await self._executor.read(partial(_sessions, application=application))
        opened = readable(rows, self._session)
        if rows and not opened:  # not one that somebody has changed: all of them by another secret
            self._session(rows[0])
        return opened

    def _session(self, row: Mapping[str, Any]) -> RemoteSession:
        application = ApplicationId(row["cluster_timestamp"], row["sequence"])
        subcluster = SubClusterId(row["subcluster"])
        place = session_place(application, subcluster)
        return RemoteSession(
            application,
            subcluster,
            SubClusterId(row["home_subcluster"]),
            row["user_name"],
            self._sealer.open(row["sealed_token"], place),
            self._sealer.open(row["sealed_node_tokens"] or b"", place),
        )

    async def remove_session(self, application: ApplicationId, subcluster: SubClusterId) -> None:
        await self._executor.write(partial(_remove_session, application=application, subcluster=subcluster))

    async def save_attempt(self, attempt: RegisteredAttempt) -> None:
        row = _key(attempt.attempt.application) | {
            "attempt": attempt.attempt.attempt,
            "sealed_registration": self._sealer.seal(attempt.registration, str(attempt.attempt)),
            "home_response_id": attempt.home_response_id,
            "registrations": attempt.registrations,
        }
        await self._executor.write(partial(_put, table=span_attempts, row=row))

    async def find_attempt(self, attempt: ApplicationAttemptId) -> RegisteredAttempt | None:
        row = await self._executor.read(partial(_attempt, attempt=attempt))
        if row is None:
            return None
        registration = self._sealer.open(row["sealed_registration"], str(attempt))
        return RegisteredAttempt(attempt, registration, row["home_response_id"], row["registrations"])

    async def remove_attempts(self, application: ApplicationId) -> None:
        await self._executor.write(partial(_remove_attempts, application=application))

    async def give(
        self, application: ApplicationId, subcluster: SubClusterId, containers: Collection[ContainerId], answer: str
    ) -> None:
        same = _key(application) | {"subcluster": subcluster, "answer": answer}
        await self._executor.write(partial(_give, rows=[same | {"container": str(name)} for name in containers]))

    async def withdraw(self, application: ApplicationId, answer: str) -> None:
        await self._executor.write(partial(_withdraw, application=application, answer=answer))

    async def take(
        self, application: ApplicationId, subcluster: SubClusterId, containers: Collection[ContainerId]
    ) -> None:
        names = [str(name) for name in containers]
        await self._executor.write(partial(_take, application=application, subcluster=subcluster, names=names))

    async def containers(self, application: ApplicationId) -> Mapping[SubClusterId, frozenset[ContainerId]]:
        found: dict[SubClusterId, set[ContainerId]] = defaultdict(set)
        for subcluster, name in await self._executor.read(partial(_containers, application=application)):
            found[SubClusterId(subcluster)].add(ContainerId.parse(name))
        return {subcluster: frozenset(names) for subcluster, names in found.items()}


def session_place(application: ApplicationId, subcluster: SubClusterId) -> str:
    """Name the row of a session: what is sealed for it opens there alone."""
    return f"{application} in {subcluster}"


def _key(application: ApplicationId) -> dict[str, Any]:
    return {"cluster_timestamp": application.cluster_timestamp, "sequence": application.sequence}


def _is(table: Table, application: ApplicationId) -> ColumnElement[bool]:
    return and_(table.c.cluster_timestamp == application.cluster_timestamp, table.c.sequence == application.sequence)


def _put(connection: Connection, *, table: Table, row: Mapping[str, Any]) -> None:
    """Insert, or take the place of the row with that key."""
    insert = _DIALECT_INSERT[connection.dialect.name](table).values(row)
    keys = [column.name for column in table.primary_key]
    changed = {name: insert.excluded[name] for name in row if name not in keys}
    connection.execute(insert.on_conflict_do_update(index_elements=keys, set_=changed))


def _sessions(connection: Connection, *, application: ApplicationId | None) -> Sequence[Mapping[str, Any]]:
    found = select(span_sessions).order_by(*span_sessions.primary_key)
    if application is not None:
        found = found.where(_is(span_sessions, application))
    return [dict(row) for row in connection.execute(found).mappings()]


def _remove_session(connection: Connection, *, application: ApplicationId, subcluster: SubClusterId) -> None:
    for table in (span_sessions, span_containers):
        connection.execute(delete(table).where(_is(table, application), table.c.subcluster == subcluster))


def _attempt(connection: Connection, *, attempt: ApplicationAttemptId) -> Mapping[str, Any] | None:
    found = select(span_attempts).where(
        _is(span_attempts, attempt.application), span_attempts.c.attempt == attempt.attempt
    )
    row = connection.execute(found).mappings().first()
    return None if row is None else dict(row)


def _remove_attempts(connection: Connection, *, application: ApplicationId) -> None:
    """Containers at home have no session; those of a session go with it."""
    connection.execute(delete(span_attempts).where(_is(span_attempts, application)))
    elsewhere = select(span_sessions.c.subcluster).where(_is(span_sessions, application))
    at_home = and_(_is(span_containers, application), span_containers.c.subcluster.not_in(elsewhere))
    connection.execute(delete(span_containers).where(at_home))


def _give(connection: Connection, *, rows: Sequence[Mapping[str, Any]]) -> None:
    insert = _DIALECT_INSERT[connection.dialect.name](span_containers).on_conflict_do_nothing()
    if rows:
        connection.execute(insert, rows)


def _withdraw(connection: Connection, *, application: ApplicationId, answer: str) -> None:
    connection.execute(
        delete(span_containers).where(_is(span_containers, application), span_containers.c.answer == answer)
    )


def _take(
    connection: Connection, *, application: ApplicationId, subcluster: SubClusterId, names: Sequence[str]
) -> None:
    mine = and_(_is(span_containers, application), span_containers.c.subcluster == subcluster)
    for start in range(0, len(names), _BATCH):
        batch = names[start : start + _BATCH]
        connection.execute(delete(span_containers).where(mine, span_containers.c.container.in_(batch)))


def _containers(connection: Connection, *, application: ApplicationId) -> Sequence[tuple[str, str]]:
    found = select(span_containers.c.subcluster, span_containers.c.container)
    return [(row[0], row[1]) for row in connection.execute(found.where(_is(span_containers, application)))]
