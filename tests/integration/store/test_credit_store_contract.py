"""What every `CreditStore` promises: in memory, on SQLite and on PostgreSQL."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from shim.domain.credits import Credits
from shim.domain.ids import ApplicationId
from shim.ports.queue_stores import CreditQuestion, CreditRow, CreditStore
from shim.simulation.stores import InMemoryCreditStore
from tests.support.databases import SECRET, an_empty_store

BEGAN_MS = 1_700_000_000_000
HOUR_MS = 3_600_000


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[CreditStore]:
    if request.param == "memory":
        yield InMemoryCreditStore()
        return
    async with an_empty_store(request) as opened:
        yield opened.stores(SECRET).credits


def a_row(number: int = 1, part: str = "a.1", **more: object) -> CreditRow:
    row = CreditRow(
        application=ApplicationId(BEGAN_MS, number),
        part=part,
        queue="root.etl",
        user="ada",
        from_ms=BEGAN_MS,
        to_ms=BEGAN_MS + 10 * HOUR_MS,
        credits=Credits(10.0, 4.0, 100.0, 40.0),
    )
    return replace(row, **more)  # type: ignore[arg-type]  # named by the test


async def test_a_part_that_is_written_twice_counts_once_and_never_falls(store: CreditStore) -> None:
    for _ in range(2):
        await store.keep([a_row(), a_row(2)])
    await store.keep([a_row(credits=Credits(9.0, 4.0)), a_row(2, credits=Credits(10.0, 3.0))])
    await store.keep([])
    assert await store.totals(CreditQuestion()) == [((), Credits(20.0, 8.0, 200.0, 80.0))]
    more = a_row(to_ms=BEGAN_MS + 11 * HOUR_MS, credits=Credits(10.5, 4.0, 105.0, 40.0))
    await store.keep([more])
    assert list(await store.of(more.application)) == [more]


async def test_parts_of_several_processes_are_an_account(store: CreditStore) -> None:
    parts = [a_row(part="a.1"), a_row(part="a.2"), a_row(part="b.1", queue="root.other")]
    await store.keep([*parts, a_row(2)])
    assert sorted(await store.of(parts[0].application), key=lambda row: row.part) == parts
    assert list(await store.of(ApplicationId(BEGAN_MS, 7))) == []


async def test_sums_by_queue_and_user(store: CreditStore) -> None:
    rows = [a_row(), a_row(2, user="bob", credits=Credits(1.0, 2.0, 3.0, 4.0)), a_row(3, queue="root.dev")]
    await store.keep([*rows, a_row(3, "b.1", queue="root.dev")])
    assert await store.totals(CreditQuestion(("queue", "user"))) == [
        (("root.dev", "ada"), Credits(20.0, 8.0, 200.0, 80.0)),
        (("root.etl", "ada"), Credits(10.0, 4.0, 100.0, 40.0)),
        (("root.etl", "bob"), Credits(1.0, 2.0, 3.0, 4.0)),
    ]
    assert await store.totals(CreditQuestion(("user",), user="bob")) == [(("bob",), Credits(1.0, 2.0, 3.0, 4.0))]
    assert await store.totals(CreditQuestion(("user",), user="' OR 1=1 --")) == []
    assert await store.totals(CreditQuestion(user="nobody")) == []


@pytest.mark.parametrize(
    ("begin_h", "end_h", "given"), [(0, 10, 10), (-5, 20, 10), (0, 5, 5), (9, 20, 1), (10, 20, None), (-5, 0, None)]
)
async def test_what_was_counted_is_spread_evenly_over_its_time(
    store: CreditStore, begin_h: int, end_h: int, given: float | None
) -> None:
    await store.keep([a_row()])
    asked = CreditQuestion((), BEGAN_MS + begin_h * HOUR_MS, BEGAN_MS + end_h * HOUR_MS)
    assert [found.given_s for _, found in await store.totals(asked)] == ([] if given is None else [given])


async def test_a_part_of_one_second_counts_whole(store: CreditStore) -> None:
    await store.keep([a_row(to_ms=BEGAN_MS)])
    assert (await store.totals(CreditQuestion((), BEGAN_MS - 1, BEGAN_MS + 1)))[0][1].given_s == 10.0
    assert await store.totals(CreditQuestion((), BEGAN_MS + 1)) == []


async def test_what_is_old_and_what_is_too_much_is_forgotten(store: CreditStore) -> None:
    rows = [a_row(number, to_ms=BEGAN_MS + number) for number in range(1, 8)]
    await store.keep(rows)
    await store.forget(BEGAN_MS + 3)
    assert (await store.totals(CreditQuestion()))[0][1].given_s == 50.0
    await store.forget(0, most=2)
    kept = [number for number in range(1, 8) if await store.of(ApplicationId(BEGAN_MS, number))]
    assert kept == [6, 7]
