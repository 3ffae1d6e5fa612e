"""Statements on submissions and ids, prepared once; `operations` runs them.

Where a statement asks for a state, it is a compare-and-set: no row means that another process was faster.

A statement that runs with every submission, with as little around it as the database allows.

What SQLAlchemy does around a statement costs three times what SQLite does with it. So SQLite gets a text that is made
once, by its driver's own function, with values that are made ready as SQLAlchemy would. PostgreSQL is asked as always.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table, and_, bindparam, case, literal, null, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.dml import ReturningInsert

from shim.domain.submissions import NOWHERE, SubmissionState
from shim.store.tables import federation, submissions

_SQLITE = sqlite.dialect()
_Ready = Callable[[Any], Any]


def _as_it_is(value: Any) -> Any:
    return value


class Prepared:
    """One statement that returns rows.

    Args:
        statements: By the dialect's name: `sqlite`, and others.
    """

    def __init__(self, statements: Mapping[str, ReturningInsert[Any]]) -> None:
        self._statements = statements
        compiled = statements["sqlite"].compile(dialect=_SQLITE)
        self._text = str(compiled)
        self._fixed = {name: value for name, value in compiled.params.items() if value is not None}
        self._order: list[tuple[str, _Ready]] = [
            (name, compiled.binds[name].type.dialect_impl(_SQLITE).bind_processor(_SQLITE) or _as_it_is)
            for name in compiled.positiontup or ()
        ]

    def rows(self, connection: Connection, values: Mapping[str, Any]) -> Sequence[Any]:
        """Run it; every row that it returns."""
        name = connection.dialect.name
        if name != _SQLITE.name:
            return connection.execute(self._statements[name], dict(values)).all()
        given = {**self._fixed, **values}
        driver: Any = connection.connection.dbapi_connection
        found: list[Any] = driver.execute(
            self._text, [ready(given[parameter]) for parameter, ready in self._order]
        ).fetchall()
        return found


_C = submissions.c
_KEY = ("cluster_timestamp", "sequence")
ONLY = 1  # the id of the one row of `federation`
_IS_KEY = and_(_C.cluster_timestamp == bindparam("key_timestamp"), _C.sequence == bindparam("key_sequence"))
_AS_IT_WAS = (
    _C.cluster_timestamp == bindparam("was_cluster_timestamp"),
    _C.sequence == bindparam("was_sequence"),
    _C.state == bindparam("was_state"),
    _C.home_subcluster == bindparam("was_home_subcluster"),
    _C.home_started_on_ms == bindparam("was_home_started_on_ms"),
    _C.intended_at_ms == bindparam("was_intended_at_ms"),
    _C.intent_id == bindparam("was_intent_id"),
    _C.finished_at_ms.is_(None),
)
"""The record stands as its `SubmissionProgress` says, and is not closed."""
_OLDEST_FIRST = (_C.intended_at_ms, _C.cluster_timestamp, _C.sequence)
Insert = sqlite.Insert | postgresql.Insert
DIALECT_INSERT: Mapping[str, Callable[[Table], Insert]] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


def _new_or_rejected(dialect: str) -> ReturningInsert[Any]:
    """Insert a submission; take the place of a REJECTED one; do nothing where another stands."""
    columns = [column.name for column in submissions.columns if column.name != "finished_at_ms"]
    insert = DIALECT_INSERT[dialect](submissions).values({name: bindparam(name) for name in columns})
    replaced: dict[str, Any] = {name: insert.excluded[name] for name in columns if name not in _KEY}
    return insert.on_conflict_do_update(
        index_elements=list(_KEY),
        set_={**replaced, "finished_at_ms": null()},
        where=_C.state == SubmissionState.REJECTED.value,
    ).returning(_C.sequence)


def _ended(state: SubmissionState) -> Mapping[str, Any]:
    """Values of a record that ends, without its context, which may hold tokens."""
    return {
        "state": state.value,
        "rejection": bindparam("new_rejection"),
        "finished_at_ms": bindparam("new_finished_at_ms"),
        "body": b"",
    }


INSERT_INTENT = Prepared({dialect: _new_or_rejected(dialect) for dialect in DIALECT_INSERT})
FIND = select(submissions).where(_IS_KEY)
SETTLE = (
    update(submissions)
    .where(_IS_KEY, _C.state == SubmissionState.INTENDED.value)
    .values(
        state=bindparam("new_state"),
        rejection=bindparam("new_rejection"),
        finished_at_ms=bindparam("new_finished_at_ms"),
        # what is final is never sent again
        body=case((bindparam("new_finished_at_ms", type_=_C.finished_at_ms.type).is_(None), _C.body), else_=b""),
    )
)
NOTE_TAKEN = (
    update(submissions)
    .where(_IS_KEY, _C.state == SubmissionState.INTENDED.value)
    .values(state=SubmissionState.SUBMITTED.value)
)
DESCRIBED = select(*(column for column in _C if column.name not in ("body", "decision")))
STATE = select(_C.state).where(_IS_KEY)
REHOME = (
    update(submissions)
    .where(*_AS_IT_WAS)
    .values(
        state=SubmissionState.INTENDED.value,
        home_subcluster=bindparam("new_home_subcluster"),
        home_started_on_ms=bindparam("new_home_started_on_ms"),
        intended_at_ms=bindparam("new_intended_at_ms"),
        intent_id=bindparam("new_intent_id"),
        decision=bindparam("new_decision", type_=_C.decision.type),
        waited=bindparam("new_waited", type_=_C.waited.type),
    )
)
REJECT = (
    update(submissions)
    .where(*_AS_IT_WAS, _C.state.in_([SubmissionState.INTENDED.value, SubmissionState.WAITING.value]))
    .values(**_ended(SubmissionState.REJECTED))
)
INTENDED = (
    select(*(literal(b"").label("body") if column is _C.body else column for column in _C))
    .where(_C.finished_at_ms.is_(None), _C.state == SubmissionState.INTENDED.value)
    .order_by(*_OLDEST_FIRST)
)
UNFINISHED = (
    select(
        _C.cluster_timestamp,
        _C.sequence,
        _C.state,
        _C.home_subcluster,
        _C.home_started_on_ms,
        _C.intended_at_ms,
        _C.intent_id,
    )
    .where(_C.finished_at_ms.is_(None), _C.home_subcluster == bindparam("home"))
    .order_by(*_OLDEST_FIRST)
)
WAITING = (
    select(*UNFINISHED.selected_columns)
    .where(
        _C.finished_at_ms.is_(None),
        _C.home_subcluster == NOWHERE,
        _C.state == SubmissionState.WAITING.value,
    )
    .order_by(*_OLDEST_FIRST)
)
_MOST_WAITED = 20_000
WAITED = (
    select(_C.cluster_timestamp, _C.sequence, _C.waited)
    .where(_C.waited.is_not(None))
    .order_by(_C.intended_at_ms.desc())
    .limit(_MOST_WAITED)
)
WITHDRAW = (
    update(submissions)
    .where(_IS_KEY, _C.state == SubmissionState.WAITING.value)
    .values(**_ended(SubmissionState.KILLED))
)
GIVE_UP = (
    update(submissions)
    .where(
        _IS_KEY,
        _C.state == SubmissionState.SUBMITTED.value,
        _C.home_subcluster == bindparam("home"),
        _C.finished_at_ms.is_(None),
    )
    .values(**_ended(SubmissionState.LOST))
)
LOCK_SEQUENCE = (
    update(federation)
    .where(federation.c.id == ONLY)
    .values(next_sequence=federation.c.next_sequence)
    .returning(federation.c.next_sequence)
)
RESERVE = (
    update(federation)
    .where(federation.c.id == ONLY)
    .values(next_sequence=federation.c.next_sequence + bindparam("count"))
    .returning(federation.c.next_sequence)
)
