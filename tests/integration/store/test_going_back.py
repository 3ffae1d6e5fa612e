"""Tables go up to this Heddle's while an older one writes, and back to each older revision; no submission is lost."""

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Connection, MetaData, Table, inspect, make_url

from shim.domain.submissions import SubmissionRecord
from shim.errors import StoreUnavailableError
from shim.store import open_state_store
from shim.store.copies import StoreHeldError, WentBack, copying_of
from shim.store.group_commit import GroupCommitExecutor
from shim.store.postgresql import PooledExecutor
from shim.store.rows import row_of_record
from shim.store.schema import HEAD, MIGRATIONS, known_revisions, revision_of
from shim.store.tables import metadata, submissions
from tests.doubles.builders import a_record
from tests.support.databases import an_empty_database

OLDER = sorted(known_revisions() - {HEAD})
BEFORE = OLDER[-1]
WRITERS, AFTER = 4, 20
WITHIN_S = 120.0


@pytest.fixture(params=["sqlite", "postgresql"])
async def url(request: pytest.FixtureRequest) -> str:
    return await an_empty_database(request.param, request)


def go_to(revision: str):
    """Bring empty tables to a revision, as the Heddle that made it did."""

    def work(connection: Connection) -> None:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, revision)

    return work


def shape(connection: Connection) -> dict[str, Any]:
    """Names, columns and indexes of all tables."""
    looked = inspect(connection)
    return {
        table: (
            sorted((each["name"], str(each["type"]), each["nullable"]) for each in looked.get_columns(table)),
            sorted((each["name"], tuple(each["column_names"]), each["unique"]) for each in looked.get_indexes(table)),
        )
        for table in looked.get_table_names()
    }


def differences(connection: Connection) -> list[object]:
    return list(compare_metadata(MigrationContext.configure(connection), metadata))


def executor_of(url: str) -> GroupCommitExecutor | PooledExecutor:
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        return GroupCommitExecutor(Path(str(parsed.database)))
    return PooledExecutor(parsed.set(drivername="postgresql+asyncpg"))


async def on(url: str, work, *, commit: bool = False) -> Any:
    """Do something to the tables as they are: nothing is upgraded."""
    executor = executor_of(url)
    try:
        return await (executor.write(work) if commit else executor.read(work))
    finally:
        await executor.close()


async def go_back(url: str, revision: str, *, dry_run: bool = False) -> WentBack:
    return await asyncio.to_thread(copying_of(url).go_back, revision, dry_run=dry_run)


async def insert(url: str, *sequences: int) -> None:
    store = await open_state_store(url)
    for sequence in sequences:
        await store.insert_intent(a_record(sequence))
    await store.close()


async def sequences(url: str) -> list[int]:
    store = await open_state_store(url)
    found = await store.intended()
    await store.close()
    return sorted(record.submission.application_id.sequence for record in found)


@pytest.mark.parametrize("revision", OLDER)
async def test_each_older_revision_is_reached_as_it_was_and_left_again_with_every_submission(url, revision, tmp_path):
    await insert(url, 1, 2, 3)
    newest = await on(url, shape)
    done = await go_back(url, revision)
    assert (done.revision, done.target) == (HEAD, revision)
    assert await on(url, revision_of) == revision
    went = await on(url, shape)
    if url.startswith("sqlite"):
        fresh = f"sqlite:///{tmp_path}/fresh.db"
        await on(fresh, go_to(revision), commit=True)
        assert went == await on(fresh, shape)
    assert await sequences(url) == [1, 2, 3]
    assert await on(url, shape) == newest
    assert await on(url, differences) == []


async def test_a_dry_run_changes_nothing(url):
    await insert(url, 1)
    before = await on(url, shape)
    assert (await go_back(url, OLDER[0], dry_run=True)).target == OLDER[0]
    assert await on(url, shape) == before
    assert await on(url, revision_of) == HEAD


@pytest.mark.parametrize("revision", [HEAD, "9999", "0007", "head", "-1", ""])
async def test_only_known_older_revisions_can_be_gone_back_to(url, revision):
    await insert(url, 1)
    with pytest.raises(StoreUnavailableError, match="cannot go back"):
        await go_back(url, revision)
    assert await on(url, revision_of) == HEAD


async def test_a_store_in_use_is_refused(url):
    store = await open_state_store(url)
    await store.insert_intent(a_record(1))
    with pytest.raises(StoreHeldError, match="in use"):
        await go_back(url, BEFORE)
    await store.close()
    await go_back(url, BEFORE)


async def test_a_migration_back_that_fails_half_way_leaves_the_tables_as_they_were(url):
    await insert(url, 1)
    await on(url, lambda connection: connection.exec_driver_sql("DROP TABLE usage_parts"), commit=True)
    before = await on(url, shape)
    with pytest.raises(StoreUnavailableError):
        await go_back(url, OLDER[0])
    assert await on(url, shape) == before
    assert await on(url, revision_of) == HEAD


class OlderHeddle:
    """A Heddle of the revision before: it writes submissions with the columns that it found at its start."""

    def __init__(self, executor: GroupCommitExecutor | PooledExecutor, table: Table) -> None:
        self._executor = executor
        self._table = table

    @classmethod
    async def at(cls, url: str) -> "OlderHeddle":
        executor = executor_of(url)

        def found(connection: Connection) -> Table:
            assert revision_of(connection) == BEFORE
            return Table(submissions.name, MetaData(), autoload_with=connection)

        return cls(executor, await executor.read(found))

    async def insert_intent(self, record: SubmissionRecord) -> None:
        known = set(self._table.columns.keys())
        row = {name: value for name, value in row_of_record(record).items() if name in known}

        def work(connection: Connection) -> None:
            connection.execute(self._table.insert().values(row))

        await self._executor.write(work)

    async def close(self) -> None:
        await self._executor.close()


async def test_an_upgrade_beside_a_heddle_that_writes_loses_no_submission(url):
    """The older one has its tables open and writes; the newer one starts, upgrades them, and writes as well."""
    await insert(url, 1)
    await go_back(url, BEFORE)
    older = await OlderHeddle.at(url)
    begun, upgraded, written = asyncio.Event(), asyncio.Event(), {1}

    async def write(store: Any, first: int) -> None:
        """Insert until some were acknowledged after the upgrade; what is refused meanwhile is none."""
        after, sequence = 0, first
        while after < AFTER:
            sequence += 1
            try:
                await store.insert_intent(a_record(sequence))
            except StoreUnavailableError:  # the tables are being changed, on a machine with much to do
                continue
            written.add(sequence)
            begun.set()
            after += upgraded.is_set()

    load = [asyncio.create_task(write(older, 10_000 * number)) for number in range(1, WRITERS + 1)]
    async with asyncio.timeout(WITHIN_S):
        await begun.wait()
        newer = await open_state_store(url)
        before = len(written)
        upgraded.set()
        await asyncio.gather(*load, write(newer, 90_000))
    assert before > 1
    await older.close()
    await newer.close()
    assert await sequences(url) == sorted(written)
    assert await on(url, differences) == []
    await go_back(url, BEFORE)
    assert await sequences(url) == sorted(written)


async def test_no_store_is_no_store_to_take_back(tmp_path):
    with pytest.raises(StoreUnavailableError, match="there is no store"):
        await go_back(f"sqlite:///{tmp_path}/none.db", BEFORE)
    assert not (tmp_path / "none.db").exists()
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE apples (id INTEGER)")
    other.close()
    with pytest.raises(StoreUnavailableError):
        await go_back(f"sqlite:///{tmp_path}/other.db", BEFORE)
