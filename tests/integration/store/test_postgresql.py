"""What only PostgreSQL does: being away, freezing, coming back with every connection dead."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from shim.errors import StoreUnavailableError
from shim.store import SqlStateStore, open_state_store
from tests.doubles.builders import a_record
from tests.support.databases import emptied


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[SqlStateStore]:
    opened = await open_state_store(await emptied(postgres_url))
    yield opened
    await opened.close()


async def test_two_heddles_may_start_at_the_same_moment(postgres_url: str) -> None:
    await emptied(postgres_url)
    stores = await asyncio.gather(*(open_state_store(postgres_url) for _ in range(4)))
    blocks = await asyncio.gather(*(store.reserve_sequences(10) for store in stores))
    assert sorted(number for block in blocks for number in block) == list(range(1, 41))
    for store in stores:
        await store.close()


async def test_after_its_connections_died_it_goes_on_without_an_error(store: SqlStateStore, postgres_url: str) -> None:
    await asyncio.gather(*(store.insert_intent(a_record(sequence)) for sequence in range(1, 11)))
    connection = await asyncpg.connect(postgres_url)
    await connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = 'heddle'"
    )
    await connection.close()
    await store.insert_intent(a_record(11))
    assert len(await store.intended()) == 11


async def test_nobody_there_is_said_without_the_password() -> None:
    with pytest.raises(StoreUnavailableError) as caught:
        await open_state_store("postgresql+asyncpg://heddle:secret@127.0.0.1:1/heddle")
    assert "secret" not in str(caught.value)
    assert "127.0.0.1:1" in str(caught.value)


async def test_a_row_that_another_holds_is_not_waited_for_for_ever(store: SqlStateStore, postgres_url: str) -> None:
    await store.reserve_sequences(1)
    other = await asyncpg.connect(postgres_url)
    transaction = other.transaction()
    await transaction.start()
    await other.execute("SELECT * FROM federation FOR UPDATE")
    with pytest.raises(StoreUnavailableError):
        await store.reserve_sequences(1)
    await transaction.rollback()
    await other.close()
    assert await store.reserve_sequences(1)
