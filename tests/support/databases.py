"""Empty stores for tests that run on SQLite and on a real PostgreSQL."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from shim.store import SqlStateStore, open_state_store

SECRET = b"the secret of the tests"
"""With it stores seal their rows, unless a test has one of its own."""


async def emptied(postgres_url: str) -> str:
    """Drop every table of a PostgreSQL database; its address again."""
    connection = await asyncpg.connect(postgres_url)
    try:
        await connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    finally:
        await connection.close()
    return postgres_url


async def an_empty_database(database: str, request: pytest.FixtureRequest) -> str:
    """The address of an empty store.

    Args:
        database: `sqlite`, for a file in the folder of the test; or `postgresql`, for the server of the run.
        request: Of the test or fixture that wants it.
    """
    if database == "sqlite":
        folder: Path = request.getfixturevalue("tmp_path")
        return f"sqlite:///{folder}/heddle.db"
    return await emptied(request.getfixturevalue("postgres_url"))


@asynccontextmanager
async def an_empty_store(
    request: pytest.FixtureRequest, *, now_s: Callable[[], float] | None = None
) -> AsyncIterator[SqlStateStore]:
    """An open store without rows, in the database that the fixture's parameter names; closed at the end."""
    url = await an_empty_database(request.param, request)
    opened = await (open_state_store(url) if now_s is None else open_state_store(url, now_s=now_s))
    try:
        yield opened
    finally:
        await opened.close()
