"""What every `UsageStore` promises: in memory, on SQLite and on PostgreSQL."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.usage import PartUsage
from shim.ports.queue_stores import UsageQuestion, UsageRow, UsageStore, UsageTotal
from shim.simulation.stores import InMemoryUsageStore
from tests.support.databases import SECRET, an_empty_store

EAST, WEST = SubClusterId("east"), SubClusterId("west")
BEGAN_MS = 1_700_000_000_000
HOUR_MS = 3_600_000
NOW_MS = BEGAN_MS + 100 * HOUR_MS
ALWAYS = UsageQuestion((), 0, NOW_MS, NOW_MS)


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[UsageStore]:
    if request.param == "memory":
        yield InMemoryUsageStore()
        return
    async with an_empty_store(request) as opened:
        yield opened.stores(SECRET).usage


def a_row(number: int = 1, subcluster: SubClusterId = EAST, **more: object) -> UsageRow:
    spent = {"memory_mib_s": 1000, "vcore_s": 10, "seconds/gpu": 7}
    row = UsageRow(
        application=ApplicationId(BEGAN_MS, number),
        subcluster=subcluster,
        is_home=subcluster == EAST,
        user="ada",
        queue="root.prod",
        started_at_ms=BEGAN_MS,
        ended_at_ms=BEGAN_MS + 10 * HOUR_MS,
        part=PartUsage((5, 6), spent, {"memory_mib_s": 200}, as_of_s=77.5),
    )
    return replace(row, **more)  # type: ignore[arg-type]  # named by the test


def spent(memory: int, vcores: int = 10) -> PartUsage:
    return PartUsage((5, 6), {"memory_mib_s": memory, "vcore_s": vcores})


async def test_what_is_written_twice_counts_once_and_never_falls(store: UsageStore) -> None:
    for _ in range(2):
        await store.keep([a_row(ended_at_ms=0), a_row(2, ended_at_ms=0)])
    await store.keep([a_row(part=spent(5))])
    await store.keep([])
    assert await store.totals(ALWAYS) == [UsageTotal((), 2, 2400, 20)]
    await store.keep([a_row(part=spent(5000, 50))])
    await store.keep([a_row(part=spent(9000, 90), ended_at_ms=0)])
    assert await store.totals(ALWAYS) == [UsageTotal((), 2, 6200, 60)], "it has ended, and stays so"


async def test_sums_by_queue_user_and_cluster(store: UsageStore) -> None:
    await store.keep([a_row(), a_row(1, WEST), a_row(2, user="bob"), a_row(3, queue="root.dev", part=spent(7))])
    by_all = replace(ALWAYS, by=("queue", "user", "cluster"))
    assert await store.totals(by_all) == [
        UsageTotal(("root.prod", "ada", "east"), 1, 1200, 10),
        UsageTotal(("root.prod", "ada", "west"), 1, 1200, 10),
        UsageTotal(("root.prod", "bob", "east"), 1, 1200, 10),
        UsageTotal(("root.dev", "ada", "east"), 1, 7, 10),
    ]
    assert await store.totals(replace(ALWAYS, by=("queue",))) == [
        UsageTotal(("root.prod",), 2, 3600, 30),
        UsageTotal(("root.dev",), 1, 7, 10),
    ], "an application of two clusters is one"
    assert await store.totals(replace(by_all, by=("user",), user="bob")) == [UsageTotal(("bob",), 1, 1200, 10)]
    assert await store.totals(replace(by_all, user="' OR 1=1 --")) == []
    assert await store.totals(replace(ALWAYS, user="nobody")) == []


@pytest.mark.parametrize(
    ("begin_h", "end_h", "memory"),
    [
        (0, 10, 1200),
        (-5, 20, 1200),
        (0, 5, 600),
        (5, 20, 600),
        (9, 10, 120),
        (10, 20, 0),
        (11, 20, None),
        (-5, 0, None),
    ],
)
async def test_what_an_application_used_is_spread_evenly_over_its_life(
    store: UsageStore, begin_h: int, end_h: int, memory: int | None
) -> None:
    await store.keep([a_row()])
    asked = replace(ALWAYS, from_ms=BEGAN_MS + begin_h * HOUR_MS, to_ms=BEGAN_MS + end_h * HOUR_MS)
    assert [each.memory_mib_s for each in await store.totals(asked)] == ([] if memory is None else [memory])


async def test_what_lives_has_lasted_until_now(store: UsageStore) -> None:
    await store.keep([a_row(ended_at_ms=0)])
    asked = replace(ALWAYS, from_ms=BEGAN_MS + 75 * HOUR_MS)
    assert [each.memory_mib_s for each in await store.totals(asked)] == [300]
    await store.keep([a_row(2, started_at_ms=NOW_MS, ended_at_ms=NOW_MS)])
    assert (await store.totals(replace(ALWAYS, to_ms=NOW_MS + 1)))[0].applications == 2, "one of no time at all"


async def test_applications_of_several_clusters_come_back_whole(store: UsageStore) -> None:
    rows = [a_row(), a_row(1, WEST, part=replace(spent(3), as_of_s=1.25))]
    await store.keep([*rows, a_row(2), a_row(3)])
    assert list(await store.spanning(100)) == rows
    assert await store.spanning(0) == []


async def test_what_ended_long_ago_is_forgotten_and_what_lives_is_not(store: UsageStore) -> None:
    await store.keep([a_row(), a_row(2, ended_at_ms=0), a_row(3, ended_at_ms=NOW_MS)])
    await store.forget(BEGAN_MS + 20 * HOUR_MS)
    assert (await store.totals(ALWAYS))[0].applications == 2
