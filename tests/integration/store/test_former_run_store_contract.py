"""What every `FormerRunStore` promises: in memory, on SQLite and on PostgreSQL."""

from collections.abc import AsyncIterator

import pytest

from shim.ports.queue_stores import FormerRunStore, KeptRun
from shim.simulation.stores import InMemoryFormerRunStore
from tests.support.databases import SECRET, an_empty_store

RUNS = [KeptRun(f"{number:064x}", 1000 + number, f'{{"number": {number}}}') for number in range(5)]


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[FormerRunStore]:
    if request.param == "memory":
        yield InMemoryFormerRunStore()
        return
    async with an_empty_store(request) as opened:
        yield opened.stores(SECRET).runs


async def test_the_newest_run_of_a_name_is_kept(store: FormerRunStore) -> None:
    await store.keep([])
    await store.keep(RUNS)
    newer, older = KeptRun(RUNS[0].name, 2000, "newer"), KeptRun(RUNS[1].name, 10, "older")
    await store.keep([older, newer, RUNS[0]])
    assert list(await store.since(0, 10)) == [*RUNS[1:], newer]


async def test_of_many_the_newest_are_told_the_oldest_first(store: FormerRunStore) -> None:
    await store.keep(RUNS)
    assert list(await store.since(1002, 10)) == RUNS[2:]
    assert list(await store.since(0, 2)) == RUNS[3:]
    assert list(await store.since(9999, 2)) == []


async def test_old_runs_are_forgotten_and_all_but_some(store: FormerRunStore) -> None:
    await store.keep(RUNS)
    await store.forget(1001, 10)
    assert list(await store.since(0, 10)) == RUNS[1:]
    await store.forget(0, 3)
    assert list(await store.since(0, 10)) == RUNS[2:]
