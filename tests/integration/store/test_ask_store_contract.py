"""What every `AskStore` promises: in memory, on SQLite and on PostgreSQL; and that SQL keeps a bounded number."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from shim.domain.ids import ApplicationId
from shim.ports.multicluster_store import AskStore
from shim.simulation.stores import InMemoryAskStore
from shim.store import open_state_store
from shim.store.group_commit import GroupCommitExecutor
from shim.store.sql_multicluster_store import SqlAskStore
from tests.support.databases import SECRET, an_empty_store

ONE, TWO = ApplicationId(1_700_000_000_000, 1), ApplicationId(1_700_000_000_000, 2)


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[AskStore]:
    if request.param == "memory":
        yield InMemoryAskStore()
        return
    async with an_empty_store(request) as opened:
        yield opened.stores(SECRET).asks


async def test_the_newest_is_kept_of_each(store: AskStore) -> None:
    assert list(await store.of(ONE)) == []
    await store.keep({ONE: [{"wanted": 3}], TWO: [{"wanted": 1, "candidates": [{"cluster": "east"}]}]})
    await store.keep({ONE: [{"wanted": 2}, {"wanted": 5}]})
    await store.keep({})
    assert list(await store.of(ONE)) == [{"wanted": 2}, {"wanted": 5}]
    assert list(await store.of(TWO)) == [{"wanted": 1, "candidates": [{"cluster": "east"}]}]


async def test_only_so_many_are_kept_and_the_oldest_go(tmp_path: Path) -> None:
    opened = await open_state_store(f"sqlite:///{tmp_path}/heddle.db")
    await opened.close()
    executor = GroupCommitExecutor(tmp_path / "heddle.db")
    times = iter(range(100))
    store = SqlAskStore(executor, now_s=lambda: float(next(times)), most=3)
    for number in range(1, 8):
        await store.keep({ApplicationId(1, number): [{"wanted": number}]})
    kept = [number for number in range(1, 8) if await store.of(ApplicationId(1, number))]
    assert kept == [5, 6, 7]
    await executor.close()
