"""What every `TokenStore` promises: in memory, on SQLite and on PostgreSQL."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from shim.ports.token_store import StoredToken, TokenStore, TooManyTokensError
from shim.simulation.stores import InMemoryTokenStore
from tests.support.databases import SECRET, an_empty_store

ALICE = StoredToken("a" * 64, "alice", is_proven=True, good_until_ms=2_000)
BOB = StoredToken("b" * 64, "bob ä", is_proven=False, good_until_ms=1 << 50)


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[TokenStore]:
    if request.param == "memory":
        yield InMemoryTokenStore()
        return
    async with an_empty_store(request) as opened:
        yield opened.stores(SECRET).tokens


async def insert(
    store: TokenStore, *tokens: StoredToken, now_ms: int = 1_000, most_of_owner: int = 9, most: int = 9
) -> None:
    for token in tokens:
        await store.insert(token, now_ms=now_ms, most_of_owner=most_of_owner, most=most)


async def test_what_was_issued_is_found_as_it_was(store: TokenStore) -> None:
    await insert(store, ALICE, BOB)
    assert await store.find(ALICE.key) == ALICE
    assert await store.find(BOB.key) == BOB
    assert await store.find("c" * 64) is None


async def test_the_same_again_changes_nothing(store: TokenStore) -> None:
    await insert(store, ALICE)
    await store.renew(ALICE.key, good_until_ms=9_000)
    await insert(store, ALICE, most_of_owner=1)
    assert await store.find(ALICE.key) == replace(ALICE, good_until_ms=9_000)


async def test_a_renewal_holds(store: TokenStore) -> None:
    await insert(store, ALICE, BOB)
    assert await store.renew(ALICE.key, good_until_ms=9_000) is True
    assert await store.find(ALICE.key) == replace(ALICE, good_until_ms=9_000)
    assert await store.find(BOB.key) == BOB


async def test_what_was_removed_is_neither_found_nor_renewed(store: TokenStore) -> None:
    await insert(store, ALICE, BOB)
    assert await store.remove(ALICE.key) is True
    assert await store.remove(ALICE.key) is False
    assert await store.renew(ALICE.key, good_until_ms=9_000) is False
    assert await store.find(ALICE.key) is None
    assert await store.find(BOB.key) == BOB


async def test_the_number_of_an_owner_and_of_all_is_bounded(store: TokenStore) -> None:
    await insert(store, ALICE, BOB)
    more = replace(ALICE, key="c" * 64)
    with pytest.raises(TooManyTokensError):
        await insert(store, more, most_of_owner=1)
    with pytest.raises(TooManyTokensError):
        await insert(store, more, most=2)
    assert await store.find(more.key) is None
    assert await store.find(ALICE.key) == ALICE


async def test_what_is_over_does_not_count_and_is_forgotten(store: TokenStore) -> None:
    await insert(store, ALICE, BOB)
    more = replace(ALICE, key="c" * 64, good_until_ms=9_000)
    await insert(store, more, now_ms=2_000, most_of_owner=1, most=2)
    assert await store.find(ALICE.key) is None
    assert await store.find(more.key) == more
    assert await store.find(BOB.key) == BOB
