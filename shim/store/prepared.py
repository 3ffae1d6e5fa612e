"""A statement that runs with every submission, with as little around it as the database allows.

What SQLAlchemy does around a statement costs three times what SQLite does with it. So SQLite gets a text that is made
once, by its driver's own function, with values that are made ready as SQLAlchemy would. PostgreSQL is asked as always.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql.dml import ReturningInsert

__all__ = ["Prepared"]

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
