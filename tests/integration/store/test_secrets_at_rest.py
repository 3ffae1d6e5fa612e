"""Credentials of clients are unreadable in the store, and its files are their owner's alone."""

import os
import stat
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import asyncpg
import pytest

from shim.domain.submissions import SubmissionRecord, SubmissionState
from shim.store import SqlStateStore, open_state_store
from tests.doubles.builders import a_record
from tests.support.databases import emptied

CANARY = b"canary-of-a-delegation-token"
OTHER_SECRET = b"another secret of thirty-two bytes"


@pytest.fixture(params=[0o000, 0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def with_canary(record: SubmissionRecord) -> SubmissionRecord:
    return replace(record, submission=replace(record.submission, body=b'{"env":"' + CANARY + b'"}'))


def modes(folder: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}


def everything(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


async def opened(folder: Path, secret: bytes | None = None) -> SqlStateStore:
    return await open_state_store(f"sqlite:///{folder}/heddle.db", secret=secret)


async def test_files_are_their_owners_alone_whatever_the_umask(tmp_path: Path, umask: int):
    store = await opened(tmp_path)
    await store.insert_intent(a_record())

    assert {"heddle.db", "heddle.db-wal", "heddle.db.key"} <= modes(tmp_path).keys()
    assert set(modes(tmp_path).values()) == {0o600}
    await store.close()


async def test_rights_of_others_on_an_older_database_are_taken(tmp_path: Path):
    await (await opened(tmp_path)).close()
    (tmp_path / "heddle.db").chmod(0o644)

    store = await opened(tmp_path)

    assert modes(tmp_path)["heddle.db"] == 0o600
    await store.close()


@pytest.mark.parametrize("secret", [None, OTHER_SECRET])
async def test_a_context_is_unreadable_in_the_files_and_comes_out_as_it_went_in(tmp_path: Path, secret: bytes | None):
    store = await opened(tmp_path, secret)
    record = with_canary(a_record())

    assert await store.insert_intent(record) == record
    assert await store.insert_intent(record) == record  # known by now: what is stored is returned
    assert await store.find(record.submission.application_id) == record
    assert [each.progress for each in await store.intended()] == [record.progress]
    assert CANARY not in everything(tmp_path)
    await store.close()
    again = await opened(tmp_path, secret)
    assert await again.find(record.submission.application_id) == record
    await again.close()


async def test_contexts_of_before_a_secret_was_configured_still_open(tmp_path: Path):
    store = await opened(tmp_path)
    record = with_canary(a_record())
    await store.insert_intent(record)
    await store.close()

    with_secret = await opened(tmp_path, OTHER_SECRET)

    assert await with_secret.find(record.submission.application_id) == record
    await with_secret.close()


async def test_a_context_of_another_secret_is_empty_and_keeps_no_other_from_repair(tmp_path: Path):
    store = await opened(tmp_path, OTHER_SECRET)
    lost, found = with_canary(a_record(sequence=1)), with_canary(a_record(sequence=2))
    await store.insert_intent(lost)
    await store.close()
    changed = await opened(tmp_path, b"a third secret of thirty-two bytes")
    await changed.insert_intent(found)

    ids = [record.submission.application_id for record in await changed.intended()]
    records = [await changed.find(each) for each in ids]
    bodies = {each.submission.application_id: each.submission.body for each in records if each is not None}

    assert bodies == {lost.submission.application_id: b"", found.submission.application_id: found.submission.body}
    await changed.close()


async def test_a_context_copied_to_another_application_does_not_open(tmp_path: Path):
    store = await opened(tmp_path)
    victim, thief = with_canary(a_record(sequence=1)), a_record(sequence=2)
    await store.insert_intent(victim)
    await store.insert_intent(thief)

    def copy(connection):
        connection.exec_driver_sql(
            "UPDATE submissions SET body = (SELECT body FROM submissions WHERE sequence = 1) WHERE sequence = 2"
        )

    await store._executor.write(copy)

    stolen = await store.find(thief.submission.application_id)
    assert stolen is not None
    assert stolen.submission.body == b""
    await store.close()


async def test_a_rejected_submission_keeps_no_context(tmp_path: Path):
    store = await opened(tmp_path)
    record = with_canary(a_record())
    await store.insert_intent(record)

    await store.settle(record.submission.application_id, SubmissionState.REJECTED, rejection="no such queue")

    stands = await store.find(record.submission.application_id)
    assert stands is not None
    assert stands.submission.body == b""
    await store.close()


@pytest.fixture
async def postgres_with_a_secret(postgres_url: str) -> AsyncIterator[SqlStateStore]:
    store = await open_state_store(await emptied(postgres_url), secret=OTHER_SECRET)
    yield store
    await store.close()


async def test_a_context_is_unreadable_in_postgresql(postgres_with_a_secret: SqlStateStore, postgres_url: str):
    store, record = postgres_with_a_secret, with_canary(a_record())
    await store.insert_intent(record)

    connection = await asyncpg.connect(postgres_url)
    stored = await connection.fetchval("SELECT body FROM submissions")
    await connection.close()

    assert CANARY not in stored
    assert await store.find(record.submission.application_id) == record
    await store.settle(record.submission.application_id, SubmissionState.REJECTED, rejection="no such queue")
    rejected = await store.find(record.submission.application_id)
    assert rejected is not None
    assert rejected.submission.body == b""
