"""Transactions of operations: the part that SQLite and PostgreSQL have in common.

Translation of the database's errors into Heddle's: the only place.

Whatever a database says (locked, full, read-only, away, too slow) becomes `StoreUnavailableError`: nothing was
acknowledged, try again later; the message keeps the cause. Errors of Heddle itself (`VersionConflictError`) pass.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from shim.errors import StoreUnavailableError

T = TypeVar("T")


class Executor(Protocol):
    """Runs operations in transactions.

    Both methods raise `StoreUnavailableError` when the database fails, and what the operation itself raises.
    """

    async def write(self, operation: Callable[[Connection], T]) -> T:
        """Run an operation and commit; it may be run again if the database went away before it answered."""
        ...

    async def read(self, operation: Callable[[Connection], T]) -> T:
        """Run an operation that changes nothing."""
        ...

    async def close(self) -> None:
        """Finish what was begun, then give up the connections."""
        ...


TRANSIENT = (SQLAlchemyError, sqlite3.Error, OSError, TimeoutError)
"""What a driver raises when the database fails. SQLite's own errors come from the start of a transaction; asyncpg fails
to connect with plain `OSError` and `TimeoutError`."""

_HINTS = (
    ("locked", "another process holds the database; it is tried again by itself"),
    ("full", "the disk is full; free space where the database lies"),
    ("readonly", "the database may not be written; check the owner and mode of its file and folder"),
    ("unable to open", "the database file cannot be opened; check that its folder exists and may be written"),
    ("not a database", "the file is not SQLite's; name another one, or put a copy of the database in its place"),
    ("malformed", "the database file is damaged; restore it from a copy"),
)


@contextmanager
def translated(store: str) -> Iterator[None]:
    """Let `StoreUnavailableError` come out where a driver's error went in.

    Args:
        store: How messages name the store; without a password.
    """
    try:
        yield
    except TRANSIENT as exc:
        cause = str(getattr(exc, "orig", None) or exc) or type(exc).__name__
        hint = next((hint for word, hint in _HINTS if word in cause.lower()), "check that the database runs")
        raise StoreUnavailableError(
            f"the state store {store} does not take it: {cause.splitlines()[0]}; {hint}"
        ) from exc
