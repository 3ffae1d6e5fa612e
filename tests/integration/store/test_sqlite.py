"""What only SQLite does: group commit, locks between processes, a full disk, files that survive."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from shim.domain.ids import ApplicationId
from shim.domain.submissions import SubmissionState
from shim.errors import ConfigError, StoreUnavailableError, VersionConflictError
from shim.store import SqlStateStore, open_state_store
from shim.store.group_commit import GroupCommitExecutor
from tests.doubles.builders import a_record

AN_ID = a_record().submission.application_id


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "heddle.db"


@pytest.fixture
async def store(file: Path) -> AsyncIterator[SqlStateStore]:
    opened = await open_state_store(f"sqlite:///{file}")
    yield opened
    await opened.close()


@pytest.fixture
def other_process(file: Path, store: SqlStateStore) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(file, isolation_level=None)
    yield connection
    connection.close()


async def test_what_was_acknowledged_is_there_after_a_restart(file: Path) -> None:
    stamps = set()
    for sequence in range(1, 4):
        store = await open_state_store(f"sqlite:///{file}")
        await store.insert_intent(a_record(sequence))
        stamps.add(await store.federation_timestamp_ms())
        block = await store.reserve_sequences(10)
        assert block == range(sequence * 10 - 9, sequence * 10 + 1)
        assert len(await store.intended()) == sequence
        await store.close()
    assert len(stamps) == 1


async def test_commits_survive_a_power_loss(store: SqlStateStore) -> None:
    def pragmas(connection: Any) -> tuple[str, int]:
        modes = (connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous"))
        return tuple(modes)

    full = 2
    assert await store._executor.write(pragmas) == ("wal", full)


async def test_what_waits_together_is_committed_together(store: SqlStateStore) -> None:
    executor = store._executor
    assert isinstance(executor, GroupCommitExecutor)
    commits: list[object] = []
    event.listen(executor._writer_engine, "commit", commits.append)
    await asyncio.gather(*(store.insert_intent(a_record(sequence)) for sequence in range(1, 401)))
    assert len(await store.intended()) == 400
    assert len(commits) < 100


async def test_one_that_conflicts_does_not_spoil_its_group(store: SqlStateStore) -> None:
    await store.insert_intent(a_record(1))
    outcomes = await asyncio.gather(
        *(store.insert_intent(a_record(sequence)) for sequence in range(2, 20)),
        store.settle(ApplicationId(1, 1), SubmissionState.SUBMITTED),
        store.settle(AN_ID, SubmissionState.SUBMITTED),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes if isinstance(outcome, BaseException)] == [VersionConflictError]
    assert len(await store.intended()) == 18


async def test_one_with_an_impossible_value_does_not_spoil_its_group(store: SqlStateStore) -> None:
    impossible = a_record(application_id=ApplicationId(2**70, 1))
    outcomes = await asyncio.gather(
        *(store.insert_intent(a_record(sequence)) for sequence in range(1, 10)),
        store.insert_intent(impossible),
        return_exceptions=True,
    )
    assert sum(isinstance(outcome, BaseException) for outcome in outcomes) == 1
    assert len(await store.intended()) == 9


async def test_in_a_spoiled_group_each_write_is_answered_by_its_own_second_try(file: Path) -> None:
    executor, may_go, tries = GroupCommitExecutor(file), threading.Event(), []

    def holds_the_writer(connection: Any) -> None:
        del connection
        may_go.wait()

    def conflicts_within_the_group(connection: Any) -> str:
        del connection
        tries.append(1)
        if len(tries) == 1:
            raise VersionConflictError("another write of the group was here before")
        return "written"

    def spoils_the_group(connection: Any) -> None:
        del connection
        raise ValueError("no operation of the store")

    operations = (holds_the_writer, conflicts_within_the_group, spoils_the_group)
    writes = [asyncio.ensure_future(executor.write(each)) for each in operations]
    await asyncio.sleep(0)  # each is in the executor's queue now
    may_go.set()
    _, conflicting, spoiling = await asyncio.gather(*writes, return_exceptions=True)
    await executor.close()
    assert (conflicting, len(tries)) == ("written", 2)
    assert isinstance(spoiling, ValueError)


async def test_one_whose_caller_went_away_is_committed_all_the_same(store: SqlStateStore) -> None:
    gone = asyncio.create_task(store.insert_intent(a_record(1)))
    await asyncio.sleep(0)
    gone.cancel()
    await store.insert_intent(a_record(2))
    assert len(await store.intended()) == 2


async def test_locked_by_another_process_it_refuses_writes_and_goes_on_reading(
    store: SqlStateStore, other_process: sqlite3.Connection
) -> None:
    await store.insert_intent(a_record(1))
    other_process.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailableError, match="another process holds the database"):
        await store.insert_intent(a_record(2))
    assert await store.find(AN_ID) == a_record(1)
    other_process.execute("ROLLBACK")
    await store.insert_intent(a_record(2))
    assert len(await store.intended()) == 2


async def test_a_short_lock_is_waited_for(store: SqlStateStore, other_process: sqlite3.Connection) -> None:
    other_process.execute("BEGIN IMMEDIATE")
    waiting = asyncio.create_task(store.insert_intent(a_record(1)))
    await asyncio.sleep(0)
    other_process.execute("ROLLBACK")
    assert await waiting == a_record(1)


async def test_a_full_disk_refuses_writes_and_goes_on_reading(file: Path) -> None:
    store = await open_state_store(f"sqlite:///{file}")
    await store.insert_intent(a_record(1))
    executor = store._executor
    assert isinstance(executor, GroupCommitExecutor)
    pages: list[int] = []

    def limit(connection: Any) -> None:
        pages.append(connection.exec_driver_sql("PRAGMA page_count").scalar())
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages[0]}")

    await executor.write(limit)
    with pytest.raises(StoreUnavailableError, match="disk is full"):
        await store.insert_intent(a_record(2, body=b"x" * 100_000))
    assert await store.find(AN_ID) == a_record(1)
    assert len(await store.intended()) == 1
    await executor.write(lambda connection: connection.exec_driver_sql("PRAGMA max_page_count=100000"))
    await store.insert_intent(a_record(2, body=b"x" * 100_000))
    assert len(await store.intended()) == 2
    await store.close()


@pytest.fixture
def damaged(file: Path) -> Path:
    file.write_bytes(b"this is no database, but it is long enough to be looked at as one" * 100)
    return file


async def test_a_damaged_file_is_said_to_be_damaged(damaged: Path) -> None:
    with pytest.raises(StoreUnavailableError, match="not a database"):
        await open_state_store(f"sqlite:///{damaged}")


async def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailableError, match="check that its folder exists"):
        await open_state_store(f"sqlite:///{tmp_path}/nowhere/heddle.db")


async def test_two_heddles_on_one_file_do_not_lose_each_others_words(file: Path) -> None:
    one, other = await asyncio.gather(*(open_state_store(f"sqlite:///{file}") for _ in range(2)))
    await asyncio.gather(
        *(one.insert_intent(a_record(sequence)) for sequence in range(1, 51)),
        *(other.insert_intent(a_record(sequence)) for sequence in range(26, 76)),
    )
    assert len(await one.intended()) == 75
    numbers = await asyncio.gather(*(store.reserve_sequences(5) for store in (one, other) * 10))
    assert sorted(number for block in numbers for number in block) == list(range(1, 101))
    await one.close()
    await other.close()


async def test_after_closing_it_refuses(file: Path) -> None:
    store = await open_state_store(f"sqlite:///{file}")
    await store.close()
    await store.close()
    with pytest.raises(StoreUnavailableError):
        await store.find(AN_ID)
    with pytest.raises(StoreUnavailableError):
        await store.insert_intent(a_record(1))


async def test_texts_that_databases_refuse_are_kept_readable(store: SqlStateStore) -> None:
    record = a_record(name="a\0b\ud800c", queue="q\0", label="\udfff", tags=("t\0",))
    await store.insert_intent(record)
    found = await store.find(AN_ID)
    assert found is not None
    assert (found.submission.name, found.submission.queue) == ("a\ufffdb?c", "q\ufffd")
    assert found.submission.body == record.submission.body


@pytest.mark.parametrize("url", ["mysql://u:secret@h/d", "sqlite://", "sqlite:///:memory:", "not a url"])
async def test_another_database_is_refused_without_telling_its_password(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        await open_state_store(url)
    assert "secret" not in str(caught.value)
