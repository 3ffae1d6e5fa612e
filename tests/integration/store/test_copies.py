"""Copies of a store, taken while it is used and put back while it is not; on SQLite and PostgreSQL."""

import asyncio
import shutil
import sqlite3
import stat
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import asyncpg
import pytest

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.submissions import SubmissionState
from shim.errors import ConfigError, ConflictError, StoreUnavailableError
from shim.identity.delegation_tokens import DelegationTokenError, DelegationTokens, TokenLimits
from shim.ports.token_store import APIToken
from shim.store import open_state_store
from shim.store.copies import Copied, StoreHeldError, copying_of, look
from shim.store.schema import HEAD
from tests.doubles.builders import a_record
from tests.doubles.clock import FakeClock
from tests.doubles.settings import usual
from tests.support.databases import emptied

SECRET = b"the secret of the tests"
EAST = SubClusterId("east")


@dataclass(frozen=True, slots=True)
class Site:
    """A store by its address, and a folder for copies."""

    url: str
    folder: Path

    async def copy(self, name: str = "copy", *, force: bool = False, dry_run: bool = False) -> Copied:
        return await asyncio.to_thread(copying_of(self.url).backup, self.folder / name, force=force, dry_run=dry_run)

    async def put_back(self, name: str = "copy", *, force: bool = True, dry_run: bool = False) -> Copied:
        return await asyncio.to_thread(copying_of(self.url).restore, self.folder / name, force=force, dry_run=dry_run)

    async def insert(self, *sequences: int) -> None:
        store = await open_state_store(self.url)
        for sequence in sequences:
            await store.insert_intent(a_record(sequence))
        await store.close()

    async def sequences(self) -> list[int]:
        store = await open_state_store(self.url)
        found = await store.intended()
        await store.close()
        return [record.submission.application_id.sequence for record in found]


@pytest.fixture(params=["sqlite", "postgresql"])
async def site(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Site]:
    if request.param == "sqlite":
        yield Site(f"sqlite:///{tmp_path}/heddle.db", tmp_path)
        return
    url: str = request.getfixturevalue("postgres_url")
    connection = await asyncpg.connect(url)
    kept = await connection.fetch("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'before_restore_%'")
    for (schema,) in kept:
        await connection.execute(f'DROP SCHEMA "{schema}" CASCADE')
    await connection.close()
    yield Site(await emptied(url), tmp_path)


async def test_a_copy_of_a_store_in_use_is_whole_and_for_its_owner_alone(site: Site) -> None:
    store = await open_state_store(site.url)

    async def insert(first: int, end: int) -> None:
        for sequence in range(first, end, 10):
            await store.insert_intent(a_record(sequence))

    await asyncio.gather(*(insert(first, 51) for first in range(1, 11)))
    writes = asyncio.gather(*(insert(first, 301) for first in range(51, 61)))
    done = await site.copy()
    await writes
    await store.close()
    assert done.submissions >= 50
    assert done.revision == HEAD
    assert stat.S_IMODE((site.folder / "copy").stat().st_mode) == 0o600


async def test_what_was_restored_is_what_was_copied_and_is_marked(site: Site) -> None:
    await site.insert(1, 2)
    await site.copy()
    await site.insert(3)
    done = await site.put_back()
    assert done.submissions == 2
    assert done.kept
    assert await site.sequences() == [1, 2]
    store = await open_state_store(site.url)
    assert (await store.history.history()).restored_at_ms > 0
    await store.close()


async def test_a_token_that_was_cancelled_after_the_copy_stays_useless(site: Site) -> None:
    clock = FakeClock()
    store = await open_state_store(site.url)
    tokens = DelegationTokens(b"secret", clock, store.stores(SECRET).tokens, usual(TokenLimits))
    cancelled, kept = [await tokens.issue("alice", "alice", "", is_proven=True) for _ in range(2)]
    await store.close()
    await site.copy()
    store = await open_state_store(site.url)
    await DelegationTokens(b"secret", clock, store.stores(SECRET).tokens, usual(TokenLimits)).cancel(
        cancelled, caller="alice"
    )
    await store.close()
    await site.put_back()
    store = await open_state_store(site.url)
    restored = DelegationTokens(b"secret", clock, store.stores(SECRET).tokens, usual(TokenLimits))
    for token in (cancelled, kept):  # which of them were cancelled nobody knows any more
        with pytest.raises(DelegationTokenError):
            await restored.check(token.identifier)
        with pytest.raises(DelegationTokenError):
            await restored.renew(token, caller="alice")
    later = await restored.issue("alice", "alice", "", is_proven=True)
    await restored.check(later.identifier)
    await store.close()


async def test_an_api_token_that_was_revoked_after_the_copy_stays_useless(site: Site) -> None:
    revoked = APIToken("a" * 16, "d" * 64, "ci", "alice", frozenset(), "alice", False, 1_000, 1 << 50)  # noqa: FBT003
    kept = replace(revoked, id="b" * 16)
    store = await open_state_store(site.url)
    for token in (revoked, kept):
        await store.stores(SECRET).api_tokens.insert(token, most_of_owner=9, most=9)
    await store.close()
    await site.copy()
    store = await open_state_store(site.url)
    assert await store.stores(SECRET).api_tokens.remove(revoked.id, None)
    await store.close()
    await site.put_back()
    store = await open_state_store(site.url)
    tokens = store.stores(SECRET).api_tokens
    assert list(await tokens.of(None)) == [], "which of them were revoked nobody knows any more"
    await tokens.insert(kept, most_of_owner=9, most=9)
    assert await tokens.find(kept.id) == kept
    await store.close()


async def test_a_copy_goes_into_a_place_without_a_store(site: Site) -> None:
    await site.insert(1)
    await site.copy()
    await empty(site)
    done = await site.put_back(force=False)
    assert not done.kept
    assert await site.sequences() == [1]


async def empty(site: Site) -> None:
    if site.url.startswith("sqlite"):
        for file in site.folder.glob("heddle.db*"):
            file.unlink()
        return
    await emptied(site.url)


async def test_a_store_is_not_replaced_without_force(site: Site) -> None:
    await site.insert(1)
    await site.copy()
    await site.insert(2)
    with pytest.raises(StoreHeldError, match="--force"):
        await site.put_back(force=False)
    assert await site.sequences() == [1, 2]


async def test_a_store_that_a_heddle_holds_is_not_replaced_even_with_force(site: Site) -> None:
    await site.insert(1)
    await site.copy()
    store = await open_state_store(site.url)
    with pytest.raises(StoreHeldError, match="in use"):
        await site.put_back()
    await store.insert_intent(a_record(2))
    await store.close()
    assert await site.sequences() == [1, 2]


async def test_a_dry_run_changes_nothing(site: Site) -> None:
    await site.insert(1)
    await site.copy(dry_run=True)
    assert not (site.folder / "copy").exists()
    await site.copy()
    await site.insert(2)
    await site.put_back(dry_run=True)
    assert await site.sequences() == [1, 2]


async def test_a_copy_is_not_overwritten_without_force(site: Site) -> None:
    await site.insert(1)
    await site.copy()
    with pytest.raises(ConflictError, match="exists"):
        await site.copy()
    await site.insert(2)
    assert (await site.copy(force=True)).submissions == 2


async def test_what_is_no_copy_is_refused_and_the_store_stays(site: Site) -> None:
    await site.insert(1)
    (site.folder / "copy").write_bytes(b"no copy of anything")
    with pytest.raises(StoreUnavailableError):
        await site.put_back()
    with pytest.raises(StoreUnavailableError):
        await site.put_back("missing")
    assert await site.sequences() == [1]


async def test_the_store_that_was_replaced_is_kept(site: Site) -> None:
    await site.insert(1)
    await site.copy()
    await site.insert(2)
    kept = (await site.put_back()).kept
    if site.url.startswith("sqlite"):
        with sqlite3.connect(kept) as connection:
            count = connection.execute("SELECT count(*) FROM submissions").fetchone()[0]
        connection.close()
    else:
        there = await asyncpg.connect(site.url)
        await there.execute("SELECT set_config('search_path', $1, false)", kept.removeprefix("schema "))
        count = await there.fetchval("SELECT count(*) FROM submissions")
        await there.close()
    assert count == 2


async def test_fences_of_leases_go_on_above_those_of_the_lost_time(site: Site) -> None:
    store = await open_state_store(site.url)
    first = await store.leases.acquire("lm/east", holder="a", address="address", for_s=0.0)
    assert first is not None
    await store.close()
    await site.copy()
    await site.put_back()
    store = await open_state_store(site.url)
    again = await store.leases.acquire("lm/east", holder="b", address="address", for_s=0.0)
    assert again is not None
    assert again.fence > first.fence + 1000
    await store.close()


async def test_the_key_that_seals_contexts_goes_along(tmp_path: Path) -> None:
    here, there = (
        Site(f"sqlite:///{tmp_path}/heddle.db", tmp_path),
        Site(f"sqlite:///{tmp_path}/new/heddle.db", tmp_path),
    )
    await here.insert(1)
    await here.copy()
    key = tmp_path / "copy.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    (tmp_path / "new").mkdir()
    await there.put_back()
    store = await open_state_store(there.url)
    record = await store.find(a_record(1).submission.application_id)
    assert record is not None
    await store.close()
    assert record.submission.body == a_record(1).submission.body


async def test_a_copy_of_a_newer_heddle_is_refused(tmp_path: Path) -> None:
    site = Site(f"sqlite:///{tmp_path}/heddle.db", tmp_path)
    await site.insert(1)
    await site.copy()
    with sqlite3.connect(tmp_path / "copy") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    with pytest.raises(StoreUnavailableError, match="does not know"):
        await site.put_back()


async def test_a_restore_that_fails_on_postgresql_leaves_the_store_as_it_was(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(postgres_url, tmp_path)
    await empty(site)
    await site.insert(1)
    await site.copy()
    await site.insert(2)
    tools = tmp_path / "tools"
    tools.mkdir()
    real = shutil.which("pg_restore")
    script = tools / "pg_restore"
    script.write_text(f'#!/bin/sh\nif [ "$1" = --list ]; then exec {real} "$@"; fi\necho broken >&2; exit 1\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    with pytest.raises(StoreUnavailableError, match="broken"):
        await site.put_back()
    assert await site.sequences() == [1, 2]


async def test_without_postgresqls_tools_it_says_what_to_install(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StoreUnavailableError, match="install PostgreSQL's client programs"):
        await Site(postgres_url, tmp_path).copy()


def test_what_cannot_be_copied_is_said() -> None:
    with pytest.raises(ConfigError, match=r"store\.url"):
        copying_of("mysql://a/b")


async def test_a_look_tells_what_the_store_has_lost(site: Site) -> None:
    store = await open_state_store(site.url)
    stamp = await store.begin_epoch([])
    await store.reserve_sequences(10)
    await store.insert_intent(a_record(application_id=ApplicationId(stamp, 1)))
    await store.settle(ApplicationId(stamp, 1), SubmissionState.SUBMITTED)
    listed = {EAST: [ApplicationId(stamp, 1), ApplicationId(stamp, 2), ApplicationId(stamp, 50), ApplicationId(7, 1)]}
    facts = await asyncio.to_thread(look, site.url, listed)
    await store.close()
    assert facts.revision == HEAD
    assert not facts.damage
    assert facts.next_sequence == 11
    assert facts.states == {"submitted": 1}
    assert facts.lost == {EAST: (ApplicationId(stamp, 2), ApplicationId(stamp, 50))}
    assert facts.above == (ApplicationId(stamp, 50),)
