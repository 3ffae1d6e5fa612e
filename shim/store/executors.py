"""Transactions of operations: the part that SQLite and PostgreSQL have in common."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from sqlalchemy import Connection

__all__ = ["Executor"]

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
