"""Readiness: by the store, by the first word of each cluster, and by whether the process ends."""

import asyncio

import pytest

from shim.domain.ids import SubClusterId
from shim.errors import StoreUnavailableError
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.federation.health import Health
from shim.simulation.state_stores import InMemoryStateStore
from tests.doubles.clock import FakeClock
from tests.doubles.reports import a_report
from tests.doubles.settings import usual

EAST, WEST = SubClusterId("east"), SubClusterId("west")


class CountedStore(InMemoryStateStore):
    """Counts questions, and fails or hangs as it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.trouble, self.hangs = 0, "", False

    async def admissions(self):
        self.asked += 1
        await asyncio.sleep(0)
        if self.hangs:
            await asyncio.Event().wait()
        if self.trouble:
            raise StoreUnavailableError(self.trouble)
        return await super().admissions()


@pytest.fixture
def health():
    clock = FakeClock()
    view = FederationView((EAST, WEST), usual(ViewSettings, late_after_s=1000.0))
    return Health(view, CountedStore(), clock)


def hear(health, *names):
    for name in names:
        health.view.apply(a_report(name, polled_at_s=health.clock.now_s()))


async def test_a_process_is_ready_once_every_cluster_told_something_good_or_bad(health):
    assert (await health.readiness()).reasons == ("not polled yet: east, west",)
    hear(health, "east")
    assert (await health.readiness()).reasons == ("not polled yet: west",)
    health.view.note_failure(WEST, "refused", at_s=health.clock.now_s())
    assert (await health.readiness()).is_ready


@pytest.mark.parametrize(("waited_s", "is_ready"), [(30.0, False), (30.1, True)])
async def test_after_half_a_minute_those_that_have_answered_are_enough(health, waited_s, is_ready):
    hear(health, "east")
    await health.clock.advance(waited_s)
    assert (await health.readiness()).is_ready is is_ready


async def test_however_long_it_takes_one_has_to_answer(health):
    await health.clock.advance(3600.0)
    assert (await health.readiness()).reasons == ("not polled yet: east, west",)


async def test_a_retired_cluster_is_not_waited_for(health):
    hear(health, "east")
    health.view.retire([WEST])
    assert (await health.readiness()).is_ready


async def test_who_ends_and_who_has_no_store_is_not_ready(health):
    hear(health, "east", "west")
    health.store.trouble = "it is away"
    health.is_ending = True
    assert (await health.readiness()).reasons == ("this process is ending", "the store cannot be used: it is away")


async def test_the_store_is_asked_at_most_twice_a_second_however_many_ask(health):
    hear(health, "east", "west")
    health.store.trouble = "it is away"
    told = await asyncio.gather(*(health.readiness() for _ in range(5)))
    assert (len({each.reasons for each in told}), health.store.asked) == (1, 1)
    health.store.trouble = ""
    await health.clock.advance(0.4)
    assert (await health.readiness()).reasons == ("the store cannot be used: it is away",)
    await health.clock.advance(0.1)
    assert (await health.readiness()).is_ready
    assert health.store.asked == 2


async def test_a_store_that_does_not_answer_is_waited_for_a_second(health):
    hear(health, "east", "west")
    health.store.hangs = True
    assert (await health.readiness()).reasons == ("the store cannot be used: no answer within 1 s",)
