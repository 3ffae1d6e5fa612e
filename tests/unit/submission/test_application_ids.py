"""Ids from reserved blocks: larger and larger, never twice."""

import asyncio
import gc

import pytest

from shim.domain.ids import ApplicationId
from shim.errors import UnavailableError
from shim.simulation.state_stores import InMemoryStateStore
from shim.submission.application_ids import ApplicationIds
from tests.doubles.clock import FakeClock
from tests.doubles.failing_stores import SwitchableStore


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


async def test_each_process_issues_under_a_time_stamp_of_its_own() -> None:
    store = InMemoryStateStore(now_s=lambda: 5.0)
    stamps = [await ApplicationIds(store).begin() for _ in range(3)]
    assert stamps == [5000, 5001, 5002]


async def test_ids_of_a_restored_store_are_none_that_were_issued_in_the_lost_time() -> None:
    clock = FakeClock()
    store = InMemoryStateStore(now_s=clock.now_s)
    await ApplicationIds(store).begin()
    copy = store.backup()
    await clock.advance(1.0)
    lost = ApplicationIds(store)
    issued = {await lost.issue() for _ in range(250)}
    store.restore(copy)
    await clock.advance(1.0)
    again = ApplicationIds(store)
    assert issued.isdisjoint({await again.issue() for _ in range(500)})


async def test_numbers_go_on_above_those_that_resource_managers_list() -> None:
    store = InMemoryStateStore(now_s=lambda: 5.0)
    first = await ApplicationIds(store).begin()
    listed = [ApplicationId(first, 700), ApplicationId(first, 2_000_000_000), ApplicationId(6000, 9000)]
    assert await ApplicationIds(store, listed=lambda: listed).issue() == ApplicationId(5001, 701)


async def test_a_time_stamp_that_is_listed_is_not_taken() -> None:
    store = InMemoryStateStore(now_s=lambda: 5.0)
    await ApplicationIds(store).begin()
    assert await ApplicationIds(store, listed=lambda: [ApplicationId(5001, 1)]).begin() == 5002


async def test_a_number_under_which_a_client_submitted_already_is_not_issued(store: SwitchableStore) -> None:
    ids = ApplicationIds(store, block=10, is_known=lambda an_id: an_id.sequence in {1, 2, 5})
    assert [(await ids.issue()).sequence for _ in range(3)] == [3, 4, 6]


async def test_no_id_is_issued_while_no_epoch_can_begin(store: SwitchableStore) -> None:
    ids = ApplicationIds(store)
    store.writes_fail = True
    with pytest.raises(UnavailableError):
        await ids.issue()
    store.writes_fail = False
    assert (await ids.issue()).sequence == 1


async def test_a_block_that_could_not_be_fetched_ahead_is_no_failure_that_nobody_heard_of(
    store: SwitchableStore,
) -> None:
    told: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    ids = ApplicationIds(store, block=10)
    store.writes_fail = True
    assert ids.issue_at_once() is None
    for _ in range(5):
        await asyncio.sleep(0)
    del ids
    gc.collect()
    assert told == []


async def test_a_federation_was_founded_when_its_store_was_whoever_asks(store: SwitchableStore) -> None:
    founded = [await ApplicationIds(store).founded_ms() for _ in range(3)]
    begun = [await ApplicationIds(store).begin() for _ in range(2)]
    assert len(set(founded)) == 1
    assert len(set(begun)) == 2, "though ids of each process are its own"
    assert await ApplicationIds(store).founded_ms() == founded[0]


async def test_once_ids_have_begun_the_founding_is_told_while_the_store_is_away(store: SwitchableStore) -> None:
    ids = ApplicationIds(store)
    assert not ids.is_founding_known
    begun = await ids.begin()
    store.writes_fail = store.reads_fail = True
    assert ids.is_founding_known
    assert await ids.founded_ms() == begun, "the first epoch has its time"
