"""What every `APITokenStore` promises: in memory, on SQLite and on PostgreSQL."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from shim.domain.roles import TokenScope
from shim.ports.token_store import APIToken, APITokenStore, TooManyTokensError
from shim.simulation.stores import InMemoryAPITokenStore
from tests.support.databases import SECRET, an_empty_store

ALICE = APIToken(
    id="a" * 16,
    digest="d" * 64,
    name="nightly",
    owner="alice",
    scopes=frozenset({TokenScope.READ, TokenScope.SUBMIT}),
    created_by="queen",
    is_proven=True,
    created_at_ms=1_000,
    good_until_ms=2_000,
)
BOB = replace(ALICE, id="b" * 16, owner="bob ä", scopes=frozenset(), is_proven=False, good_until_ms=1 << 50)


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[APITokenStore]:
    if request.param == "memory":
        yield InMemoryAPITokenStore()
        return
    async with an_empty_store(request) as opened:
        yield opened.stores(SECRET).api_tokens


async def insert(store: APITokenStore, *tokens: APIToken, most_of_owner: int = 9, most: int = 9) -> None:
    for token in tokens:
        await store.insert(token, most_of_owner=most_of_owner, most=most)


async def test_what_was_created_is_found_as_it_was(store: APITokenStore) -> None:
    await insert(store, ALICE, BOB)
    assert await store.find(ALICE.id) == ALICE
    assert await store.find(BOB.id) == BOB
    assert await store.find("c" * 16) is None


async def test_the_same_again_changes_nothing(store: APITokenStore) -> None:
    await insert(store, ALICE)
    await insert(store, replace(ALICE, owner="mallory"), most_of_owner=1, most=1)
    assert await store.find(ALICE.id) == ALICE


async def test_lists_are_an_owners_or_all_the_newest_first(store: APITokenStore) -> None:
    newer = replace(ALICE, id="9" * 16, created_at_ms=1_500)
    await insert(store, ALICE, newer, BOB)
    assert list(await store.of("alice")) == [newer, ALICE]
    assert list(await store.of(None)) == [newer, ALICE, BOB]
    assert list(await store.of("nobody")) == []


async def test_a_removal_is_its_owners_or_anybodys(store: APITokenStore) -> None:
    await insert(store, ALICE, BOB)
    assert await store.remove(ALICE.id, BOB.owner) is False
    assert await store.find(ALICE.id) == ALICE
    assert await store.remove(ALICE.id, "alice") is True
    assert await store.remove(ALICE.id, "alice") is False
    assert await store.remove(BOB.id, None) is True
    assert list(await store.of(None)) == []


async def test_the_number_of_an_owner_and_of_all_is_bounded(store: APITokenStore) -> None:
    await insert(store, ALICE, BOB)
    more = replace(ALICE, id="c" * 16)
    with pytest.raises(TooManyTokensError):
        await insert(store, more, most_of_owner=1)
    with pytest.raises(TooManyTokensError):
        await insert(store, more, most=2)
    assert await store.find(more.id) is None


async def test_what_is_over_does_not_count_and_is_forgotten(store: APITokenStore) -> None:
    await insert(store, ALICE, BOB)
    more = replace(ALICE, id="c" * 16, created_at_ms=2_000, good_until_ms=9_000)
    await insert(store, more, most_of_owner=1, most=2)
    assert await store.find(ALICE.id) is None
    assert {each.id for each in await store.of(None)} == {more.id, BOB.id}
