"""PostgreSQL: a pool of connections, shared by any number of Heddles on any number of machines."""

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from shim.store.errors import translated
from shim.store.postgresql import postgresql_engine

__all__ = ["SESSION_NAME", "PooledExecutor"]

T = TypeVar("T")

SESSION_NAME = "heddle"
"""How connections of a running Heddle are called in `pg_stat_activity`."""

_CONNECTIONS = 10
_BURST = 10
_CONNECT_TIMEOUT_S = 2
_QUEUE_TIMEOUT_S = 5
_COMMAND_TIMEOUT_S = 2


class PooledExecutor:
    """Operations on a PostgreSQL database; an `Executor`.

    A connection that turns out to be dead (the server was restarted) is thrown away with all of the pool's, and the
    operation runs once more: every operation may be repeated.
    """

    def __init__(self, url: URL) -> None:
        self._name = url.render_as_string(hide_password=True)
        self._engine: AsyncEngine = postgresql_engine(
            url,
            pool_size=_CONNECTIONS,
            max_overflow=_BURST,
            pool_timeout=_QUEUE_TIMEOUT_S,
            connect_args={
                "timeout": _CONNECT_TIMEOUT_S,
                "command_timeout": _COMMAND_TIMEOUT_S,
                "server_settings": {"application_name": SESSION_NAME},
            },
        )

    async def write(self, operation: Callable[[Connection], T]) -> T:
        """Run an operation and commit."""
        with translated(self._name):
            try:
                return await self._run(operation)
            except DBAPIError as exc:
                if not exc.connection_invalidated:
                    raise
            return await self._run(operation)

    async def read(self, operation: Callable[[Connection], T]) -> T:
        """Run an operation that changes nothing."""
        return await self.write(operation)

    async def close(self) -> None:
        """Close the pool."""
        await self._engine.dispose()

    async def _run(self, operation: Callable[[Connection], T]) -> T:
        async with self._engine.begin() as connection:
            return await connection.run_sync(operation)
