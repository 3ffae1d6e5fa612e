"""What every `PolicyStore` promises: in memory, on SQLite and on PostgreSQL."""

from collections.abc import AsyncIterator

import pytest

from shim.errors import VersionConflictError
from shim.ports import PolicyStore, PolicyVersion
from shim.simulation.stores import InMemoryPolicyStore
from tests.support.databases import SECRET, an_empty_store


def now_s() -> float:
    return 1000.0


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[PolicyStore]:
    if request.param == "memory":
        yield InMemoryPolicyStore(now_s)
        return
    async with an_empty_store(request, now_s=now_s) as opened:
        yield opened.stores(SECRET).policies


async def test_a_store_begins_without_a_policy(store: PolicyStore) -> None:
    assert await store.newest() is None
    assert list(await store.history()) == []


async def test_every_version_is_kept_and_the_newest_holds(store: PolicyStore) -> None:
    first = await store.apply(1, "weight = 1 # ä", by="ann", note="first")
    assert first == PolicyVersion(1, "weight = 1 # ä", "ann", 1_000_000, "first")
    second = await store.apply(2, "weight = 2", by="bob", note="")
    assert await store.newest() == second
    assert list(await store.history()) == [second, first]


async def test_of_two_who_apply_at_once_one_is_told_to_look_again(store: PolicyStore) -> None:
    await store.apply(1, "a", by="ann", note="")
    with pytest.raises(VersionConflictError, match="version 1"):
        await store.apply(1, "b", by="bob", note="")
    with pytest.raises(VersionConflictError):
        await store.apply(3, "b", by="bob", note="")


async def test_the_same_again_changes_nothing(store: PolicyStore) -> None:
    first = await store.apply(1, "a", by="ann", note="")
    assert await store.apply(1, "a", by="ann", note="") == first
    assert len(await store.history()) == 1
