"""What a store knows of its own past, on both databases and in memory."""

import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest
from sqlalchemy import text

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.submissions import DISPUTED, NOWHERE, DeliveryFailure, SubmissionState
from shim.ports.history_store import HistoryStore
from shim.ports.state_store import StateStore
from shim.ports.token_store import StoredToken
from shim.simulation.state_stores import InMemoryHistoryStore, InMemoryStateStore
from shim.store import SqlStateStore, open_state_store
from tests.doubles.builders import a_record
from tests.support.databases import an_empty_database, an_empty_store, emptied

SECRET = b"the secret of the tests"
EAST, WEST = SubClusterId("east"), SubClusterId("west")
NOW_S = 1000.0


@dataclass(frozen=True, slots=True)
class Opened:
    store: StateStore
    past: HistoryStore


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def opened(request: pytest.FixtureRequest) -> AsyncIterator[Opened]:
    if request.param == "memory":
        store = InMemoryStateStore(now_s=lambda: NOW_S)
        yield Opened(store, InMemoryHistoryStore(store))
        return
    async with an_empty_store(request, now_s=lambda: NOW_S) as sql:
        yield Opened(sql, sql.history)


def an_id(sequence: int) -> ApplicationId:
    return a_record(sequence).submission.application_id


async def test_it_remembers_every_epoch_and_when_it_was_restored(opened: Opened) -> None:
    stamps = {await opened.store.begin_epoch([]) for _ in range(3)}
    history = await opened.past.history()
    assert history.epochs == stamps
    assert history.restored_at_ms == 0
    await opened.past.note_restored()
    assert (await opened.past.history()).restored_at_ms == NOW_S * 1000


async def test_what_was_sent_to_a_sub_cluster_is_not_lost_there(opened: Opened) -> None:
    await opened.store.insert_intent(a_record(1, home="east"))
    await opened.store.insert_intent(a_record(2, home="west"))
    await opened.store.insert_intent(a_record(3, home=NOWHERE, state=SubmissionState.WAITING))
    await opened.store.insert_intent(a_record(4, home="west"))
    await opened.store.settle(an_id(4), SubmissionState.SUBMITTED)
    ids = [an_id(sequence) for sequence in range(1, 6)]
    assert await opened.past.lost(ids, EAST) == {an_id(2), an_id(3), an_id(5)}


async def test_the_oldest_end_that_is_kept_is_told(opened: Opened) -> None:
    assert (await opened.past.history()).oldest_final_ms == 0
    await opened.store.insert_intent(a_record(1))
    await opened.store.settle(an_id(1), SubmissionState.SUBMITTED)
    await opened.store.mark_final([an_id(1)])
    assert (await opened.past.history()).oldest_final_ms == NOW_S * 1000


async def test_disputed_submissions_are_those_that_were_given_up_for_it(opened: Opened) -> None:
    for sequence, reason in ((1, f"{DISPUTED}: its id ..."), (2, "Lost with its sub-cluster")):
        record = a_record(sequence)
        await opened.store.insert_intent(record)
        await opened.store.settle(an_id(sequence), SubmissionState.SUBMITTED)
        await opened.store.give_up(record.progress, reason=reason)
    assert [each.submission.application_id for each in await opened.past.disputed()] == [an_id(1)]


async def test_submissions_are_described_without_their_bodies(opened: Opened) -> None:
    record = a_record(1, name="etl", tags=("a",), body=b"secret")
    await opened.store.insert_intent(record)
    described = await opened.store.described([an_id(1), an_id(2)])
    assert list(described) == [an_id(1)]
    assert (described[an_id(1)].name, described[an_id(1)].tags, described[an_id(1)].body) == ("etl", ("a",), b"")


async def test_a_database_that_stays_the_same_has_one_lineage(opened: Opened) -> None:
    await opened.store.begin_epoch([])
    assert [await opened.past.note_lineage() for _ in range(3)] == [False] * 3
    assert (await opened.past.history()).restored_at_ms == 0


async def test_another_file_in_the_place_of_a_sqlite_store_is_noticed(tmp_path: Path) -> None:
    file, copy = tmp_path / "heddle.db", tmp_path / "copy.db"
    first = await a_store(file)
    await first.close()
    shutil.copy(file, copy)
    file.unlink()
    copy.rename(file)
    again = await open_state_store(f"sqlite:///{file}")
    assert await again.history.note_lineage()
    assert (await again.history.history()).restored_at_ms > 0
    await again.close()


async def test_a_table_that_was_made_anew_on_postgresql_is_noticed(postgres_url: str) -> None:
    connection = await asyncpg.connect(await emptied(postgres_url))
    store = await open_state_store(postgres_url)
    await store.begin_epoch([])
    assert not await store.history.note_lineage()
    await connection.execute(
        "CREATE TABLE kept (LIKE federation INCLUDING ALL); INSERT INTO kept SELECT * FROM federation;"
        "DROP TABLE federation; ALTER TABLE kept RENAME TO federation"
    )
    await connection.close()
    assert await store.history.note_lineage()
    assert not await store.history.note_lineage()
    assert (await store.history.history()).restored_at_ms > 0
    lineage = await store._executor.read(lambda each: each.execute(text("SELECT lineage FROM federation")).scalar())
    assert str(lineage).count("/") == 2
    await store.close()


async def a_store(file: Path) -> SqlStateStore:
    store = await open_state_store(f"sqlite:///{file}")
    await store.begin_epoch([])
    await store.history.note_lineage()
    return store


async def test_a_restored_store_forgets_tokens_and_failures(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Tokens may have been cancelled in the lost time, and what failed may have been sent again."""
    for database in ("sqlite", "postgresql"):
        store = await open_state_store(await an_empty_database(database, request), now_s=lambda: NOW_S)
        token = StoredToken("a" * 64, "alice", is_proven=True, good_until_ms=1 << 50)
        await store.stores(SECRET).tokens.insert(token, now_ms=0, most_of_owner=9, most=9)
        await store.note_delivery_failure(DeliveryFailure(an_id(1), "i1", None, 1, 0, 0, "", 0))
        assert await store.stores(SECRET).tokens.find(token.key) == token
        await store.history.note_restored()
        assert await store.stores(SECRET).tokens.find(token.key) is None
        assert await store.delivery_failures([an_id(1)]) == []
        await store.stores(SECRET).tokens.insert(token, now_ms=0, most_of_owner=9, most=9)
        assert await store.stores(SECRET).tokens.find(token.key) == token, "what is issued from now on is good"
        await store.close()
