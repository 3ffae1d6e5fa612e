"""What every `ActStore` promises: in memory, on SQLite and on PostgreSQL."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, SubClusterId
from shim.domain.preemption import PreemptionAct, PreemptionStage
from shim.errors import StoreUnavailableError
from shim.ports.act_store import KEPT_FOR_MS, MOST_OF_ONE, ActStore
from shim.simulation.stores import InMemoryActStore
from tests.support.databases import SECRET, an_empty_store

APPLICATION, OTHER = ApplicationId(1_700_000_000_000, 7), ApplicationId(1_700_000_000_000, 8)
CONTAINER = ContainerId(ApplicationAttemptId(APPLICATION, 1), (200 << 40) | 3)
AT_MS = 1_800_000_000_000
HELD = PreemptionAct(AT_MS, APPLICATION, "root.dev", PreemptionStage.HELD_BACK, "while root.prod waits")
ASKED = PreemptionAct(
    AT_MS,
    APPLICATION,
    "root.dev",
    PreemptionStage.ASKED,
    "queue root.dev holds 50%",
    CONTAINER,
    SubClusterId("west"),
    "root.prod",
    "1800000000000.1",
)
FREE = replace(HELD, at_ms=AT_MS + 9, stage=None, reason="nobody waits")


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[ActStore]:
    if request.param == "memory":
        yield InMemoryActStore()
        return
    async with an_empty_store(request) as opened:
        yield opened.stores(SECRET).acts


async def test_acts_come_back_as_they_were_in_their_order(store: ActStore) -> None:
    await store.add([HELD, ASKED])
    await store.add([FREE, replace(HELD, application=OTHER)])
    assert list(await store.of(APPLICATION)) == [HELD, ASKED, FREE]
    assert [act.application for act in await store.of(OTHER)] == [OTHER]
    assert list(await store.since(AT_MS + 1)) == [FREE]


async def test_the_same_again_is_neither_kept_nor_counted_again(store: ActStore) -> None:
    for _ in range(2):
        await store.add([HELD, ASKED, FREE])
    assert len(await store.of(APPLICATION)) == 3
    assert await store.counts() == {("root.dev", PreemptionStage.HELD_BACK): 1, ("root.dev", PreemptionStage.ASKED): 1}
    await store.add([])
    await store.add([replace(ASKED, at_ms=AT_MS + 1), replace(ASKED, queue="root.lab", application=OTHER)])
    counts = await store.counts()
    assert counts["root.dev", PreemptionStage.ASKED] == 2
    assert counts["root.lab", PreemptionStage.ASKED] == 1


async def test_old_acts_are_forgotten_and_still_counted(store: ActStore) -> None:
    await store.add([ASKED])
    await store.add([replace(ASKED, at_ms=AT_MS + KEPT_FOR_MS + 1)])
    assert [act.at_ms for act in await store.of(APPLICATION)] == [AT_MS + KEPT_FOR_MS + 1]
    assert (await store.counts())["root.dev", PreemptionStage.ASKED] == 2


async def test_of_one_application_the_newest_are_read(store: ActStore) -> None:
    acts = [replace(ASKED, at_ms=AT_MS + number) for number in range(MOST_OF_ONE + 5)]
    await store.add(acts)
    assert list(await store.of(APPLICATION)) == acts[5:]


async def test_a_store_that_is_away_says_so() -> None:
    store = InMemoryActStore(is_away=True)
    with pytest.raises(StoreUnavailableError):
        await store.of(APPLICATION)
