"""What a store has sealed outlives the change of the secret, on SQLite and PostgreSQL."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from sqlalchemy import Connection, text

from shim.domain.ids import ApplicationAttemptId, ApplicationId, SubClusterId
from shim.domain.submissions import SubmissionRecord
from shim.errors import StoreUnavailableError
from shim.ports.multicluster_store import RegisteredAttempt, RemoteSession
from shim.store import SqlStateStore, open_state_store
from shim.store.resealing import Resealed, reseal_store
from shim.store.sql_state_store import open_executor
from tests.doubles.builders import a_record
from tests.support.databases import an_empty_database

OLD, NEW, OTHER = b"the secret of before", b"the secret from now on", b"another secret of nobody here"
SEALED = (
    "SELECT body FROM submissions UNION ALL SELECT sealed_token FROM span_sessions UNION ALL "
    "SELECT sealed_node_tokens FROM span_sessions UNION ALL SELECT sealed_registration FROM span_attempts"
)
AT_ONCE = 20  # more would queue for a connection, and be refused after seconds
APPLICATION = ApplicationId(1_700_000_000_000, 7)
SESSION = RemoteSession(APPLICATION, SubClusterId("west"), SubClusterId("east"), "ada", b"a token", b"tokens of nodes")
ATTEMPT = RegisteredAttempt(ApplicationAttemptId(APPLICATION, 1), b"a key is in here", 3, 2)


@pytest.fixture(params=["sqlite", "postgresql"])
async def url(request: pytest.FixtureRequest) -> str:
    address = await an_empty_database(request.param, request)
    return address.replace("postgresql:", "postgresql+asyncpg:")


async def opened(url: str, secret: bytes | None, *others: bytes) -> SqlStateStore:
    return await open_state_store(url, secret=secret, other_secrets=others)


def a_context(sequence: int) -> SubmissionRecord:
    record = a_record(sequence)
    return replace(record, submission=replace(record.submission, body=b'{"number":%d}' % sequence))


async def filled(url: str, secret: bytes | None, sequences: Sequence[int], *others: bytes) -> None:
    store = await opened(url, secret, *others)
    for first in range(0, len(sequences), AT_ONCE):
        some = sequences[first : first + AT_ONCE]
        await asyncio.gather(*(store.insert_intent(a_context(sequence)) for sequence in some))
    spans = store.stores(secret or OLD, others).spans
    await spans.save_session(SESSION)
    await spans.save_session(replace(SESSION, application=ApplicationId(1, 1), node_tokens=b""))
    await spans.save_attempt(ATTEMPT)
    await store.close()


async def is_whole(url: str, sequences: Sequence[int], secret: bytes, *others: bytes) -> bool:
    """Whether everything that was filled in opens."""
    store = await opened(url, secret, *others)
    try:
        spans = store.stores(secret, others).spans
        try:
            others_open = SESSION in await spans.sessions() and await spans.find_attempt(ATTEMPT.attempt) == ATTEMPT
        except StoreUnavailableError:
            return False
        found = [await store.find(a_context(each).submission.application_id) for each in sequences]
        return others_open and found == [a_context(each) for each in sequences]
    finally:
        await store.close()


async def stored(url: str) -> list[bytes]:
    def read(connection: Connection) -> list[bytes]:
        return sorted(bytes(value) for value in connection.execute(text(SEALED)).scalars() if value)

    executor = open_executor(url)
    try:
        return await executor.read(read)
    finally:
        await executor.close()


async def test_what_is_sealed_with_the_old_secret_opens_until_it_is_taken_away(url: str) -> None:
    await filled(url, OLD, [1, 2])
    assert await is_whole(url, [1, 2], NEW, OLD)
    assert not await is_whole(url, [1, 2], NEW)


async def test_after_resealing_the_old_secret_is_not_needed(url: str) -> None:
    sequences = range(1, 451)  # more than are read at a time, twice
    await filled(url, OLD, sequences)
    assert await reseal_store(url, (NEW, OLD), dry_run=False) == Resealed(sealed=450 + 4)
    assert await is_whole(url, sequences[::50], NEW)
    assert await reseal_store(url, (NEW,), dry_run=False) == Resealed(kept=450 + 4)


async def test_a_dry_run_counts_and_changes_nothing(url: str) -> None:
    await filled(url, OLD, [1])
    before = await stored(url)
    assert await reseal_store(url, (NEW, OLD), dry_run=True) == Resealed(sealed=1 + 4)
    assert await stored(url) == before


async def test_contexts_of_before_there_was_a_secret_are_sealed(url: str) -> None:
    await filled(url, None, [1, 2, 3])
    assert (await reseal_store(url, (NEW, OLD), dry_run=False)).sealed == 3 + 4
    assert not any(b"number" in value for value in await stored(url))
    assert await is_whole(url, [1, 2, 3], NEW)


async def test_what_no_secret_opens_is_counted_and_left(url: str) -> None:
    await filled(url, OTHER, [1])
    before = await stored(url)
    done = await reseal_store(url, (NEW, OLD), dry_run=False)
    assert (done.sealed, done.unreadable) == (0, 5)
    assert done.places[0].startswith("submissions (")
    assert await stored(url) == before


async def test_a_heddle_may_work_meanwhile(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shim.store.group_commit.WAIT_MS", 60_000)
    await filled(url, OLD, range(1, 301))
    store = await opened(url, NEW, OLD)

    async def work() -> None:
        for sequence in range(301, 341):
            await store.insert_intent(a_context(sequence))

    done, _ = await asyncio.gather(reseal_store(url, (NEW, OLD), dry_run=False), work())
    await store.close()
    assert done.unreadable == 0
    assert await is_whole(url, range(1, 341, 30), NEW)


async def test_where_there_is_no_store_none_is_made(request: pytest.FixtureRequest, url: str) -> None:
    with pytest.raises(StoreUnavailableError, match=r"no store|revision none"):
        await reseal_store(url, (NEW,), dry_run=False)
    assert not list(request.getfixturevalue("tmp_path").glob("heddle.db*"))
