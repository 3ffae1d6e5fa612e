"""Ids from reserved blocks: larger and larger, never twice."""

import asyncio

import pytest

from shim.domain.ids import ApplicationId
from shim.errors import UnavailableError
from shim.services.application_ids import ApplicationIds
from shim.testing.state_stores import SwitchableStore


@pytest.fixture
def store() -> SwitchableStore:
    return SwitchableStore(now_s=lambda: 5.0)


async def test_ids_grow_and_carry_the_federations_time_stamp(store: SwitchableStore) -> None:
    ids = ApplicationIds(store, block=10)
    issued = [await ids.issue() for _ in range(35)]
    assert [an_id.sequence for an_id in issued] == list(range(1, 36))
    assert {an_id.cluster_timestamp for an_id in issued} == {5000}


async def test_many_at_once_get_different_ones(store: SwitchableStore) -> None:
    one, other = ApplicationIds(store, block=7), ApplicationIds(store, block=7)
    issued = await asyncio.gather(*(source.issue() for source in (one, other) * 100))
    assert len(set(issued)) == 200


async def test_the_next_block_is_there_before_the_last_one_is_used_up_and_twice_as_large(
    store: SwitchableStore,
) -> None:
    ids = ApplicationIds(store, block=10)
    for _ in range(6):
        await ids.issue()
    await asyncio.sleep(0)
    store.writes_fail = True
    assert [(await ids.issue()).sequence for _ in range(24)] == list(range(7, 31))
    with pytest.raises(UnavailableError):
        await ids.issue()


async def test_while_the_store_is_away_503_and_afterwards_on_again(store: SwitchableStore) -> None:
    ids = ApplicationIds(store, block=2)
    store.writes_fail = True
    outcomes = await asyncio.gather(*(ids.issue() for _ in range(5)), return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {UnavailableError}
    store.writes_fail = False
    assert (await ids.issue()).sequence == 1


async def test_a_client_that_goes_away_does_not_lose_the_block_for_others(store: SwitchableStore) -> None:
    ids = ApplicationIds(store, block=3)
    gone = asyncio.create_task(ids.issue())
    waits = asyncio.create_task(ids.issue())
    await asyncio.sleep(0)
    gone.cancel()
    assert (await waits).sequence == 1


async def test_what_is_there_is_issued_without_waiting(store: SwitchableStore) -> None:
    ids = ApplicationIds(store, block=4)
    assert ids.issue_at_once() is None
    assert (await ids.issue()).sequence == 1
    assert [ids.issue_at_once() for _ in range(4)] == [*(ApplicationId(5000, number) for number in (2, 3, 4)), None]
    assert (await ids.issue()).sequence == 5


async def test_blocks_grow_to_a_limit(store: SwitchableStore) -> None:
    ids = ApplicationIds(store, block=600)
    for _ in range(10_000):
        await ids.issue()
    before = await store.reserve_sequences(1)
    for _ in range(10_000):
        await ids.issue()
    after = await store.reserve_sequences(1)
    assert after.start - before.start <= 10_000 + 2 * 1600
