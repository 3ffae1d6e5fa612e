"""The migrations make the tables that the code speaks of, on both databases, and only once."""

import sqlite3
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from shim.errors import StoreUnavailableError
from shim.store import open_state_store
from shim.store.schema import HEAD, MIGRATIONS
from shim.store.tables import metadata
from tests.support.databases import an_empty_database


@pytest.fixture(params=["sqlite", "postgresql"])
async def url(request: pytest.FixtureRequest) -> str:
    return await an_empty_database(request.param, request)


def differences(connection: Connection) -> list[object]:
    return list(compare_metadata(MigrationContext.configure(connection), metadata))


async def test_the_migrations_make_the_tables_of_the_code(url: str) -> None:
    store = await open_state_store(url)
    assert await store._executor.read(differences) == []
    await store.close()


async def test_starting_again_changes_nothing(url: str) -> None:
    for _ in range(2):
        store = await open_state_store(url)
        assert await store.reserve_sequences(1)
        await store.close()


def test_the_code_knows_the_newest_revision() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    assert ScriptDirectory.from_config(config).get_heads() == [HEAD]


async def test_a_database_of_a_newer_heddle_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "heddle.db"
    await (await open_state_store(f"sqlite:///{file}")).close()
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    with pytest.raises(StoreUnavailableError, match="start the newer one"):
        await open_state_store(f"sqlite:///{file}")
