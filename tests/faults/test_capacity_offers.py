"""Two Global Masters whose queues wait for room of real clusters: what comes free goes first to the better bid."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import islice
from pathlib import Path

import pytest

from shim.lab import Lab
from tests.faults.test_masters import QUEUES, started
from tests.faults.test_matched_asks import AM, begin, masters_that_span, metrics_of
from tests.support.masters import MasterProcess, MasterProcesses, Nursery, names_that_share, until

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]

_MIB = 1024
_EACH, _FREED = 5, 4
_CALM_S = 11.0
"""So long, and a bit, a queue's turnover looks back: after that no scheduler is asked for anything ahead of a cycle."""


@pytest.fixture
async def masters(
    nursery: Nursery, fault_lab: Lab, postgres_url: str, tmp_path: Path
) -> AsyncIterator[MasterProcesses]:
    """Queues of equal weight, whose policy places by itself: what it does not place waits in Heddle."""
    more = 'weight = 1.0\ncontainers = "tetris"\n'
    async with masters_that_span(nursery, fault_lab, postgres_url, tmp_path, "capacity_offers", more=more) as prepared:
        yield prepared


async def offers_to(masters: MasterProcesses, gm: MasterProcess) -> dict[str, int]:
    """What became of offers to a Global Master, over both clusters."""
    told = (await masters.get(gm, "/heddle/v1/masters"))["asks"]["offers"]
    return {fate: sum(each[fate] for each in told) for fate in ("made", "taken", "returned", "expired")}


async def conflicts_of(masters: MasterProcesses, gm: MasterProcess) -> dict[str, int]:
    """How often a Global Master was rejected, by what was in the way."""
    found: dict[str, int] = (await masters.get(gm, "/heddle/v1/masters"))["asks"]["conflicts"]
    return found


async def is_calm(held: Callable[[], Awaitable[int]]) -> None:
    """Wait until nobody has been given anything for a while: bids and standings are told by then, too."""
    last, since_s, clock = -1, 0.0, asyncio.get_running_loop().time
    async with asyncio.timeout(120):
        while last < 0 or clock() - since_s < _CALM_S:
            await asyncio.sleep(0.2)
            now = await held()
            if now != last:
                last, since_s = now, clock()


async def test_what_comes_free_goes_first_to_the_queue_that_has_least_of_its_part(
    masters: MasterProcesses, fault_lab: Lab
) -> None:
    # on a busy machine a Global Master may need seconds to take what it is offered
    rich, poor = await started(masters, names_that_share(QUEUES), HEDDLE_MASTERS_OFFER_S="20")
    holder, *of_rich = [await begin(masters, fault_lab, rich, QUEUES[0]) for _ in range(3)]
    of_poor = [await begin(masters, fault_lab, poor, QUEUES[1]) for _ in range(2)]
    waiting = [*of_rich, *of_poor]

    async def called(ams: list[AM]) -> int:
        await asyncio.gather(*(am.allocate() for am in ams))
        return sum(len(am.held) for am in ams)

    async def is_full() -> bool:
        await called([holder])
        left = [(await metrics_of(masters, name))["availableMB"] for name in masters.managers]
        return max(left) < _MIB

    free = sum([(await metrics_of(masters, name))["availableMB"] for name in masters.managers])
    await holder.want(free // _MIB)
    await until(is_full, within_s=180)
    await holder.want(0)
    await asyncio.gather(*(am.want(_EACH) for am in waiting))

    async def both_wait() -> bool:
        await called(waiting)
        looks = [await masters.why(gm, masters.acknowledged[number]) for gm, number in ((rich, 1), (poor, 3))]
        return all(look["asks"] and look["asks"][0]["withheld"] > 0 for look in looks)

    await until(both_wait, within_s=60)
    await is_calm(lambda: called([holder, *waiting]))  # what was asked for at both clusters is given back at one
    before = [len(am.held) for am in waiting]
    assert sum(before) < _FREED, "the clusters were full"
    freed = set(islice(holder.held, _FREED))
    holder.held -= freed
    await holder.allocate(releases=freed)

    async def are_given(count: int) -> bool:
        await called([holder])
        return await called(waiting) >= count

    collided = await conflicts_of(masters, poor)
    await until(lambda: are_given(sum(before) + _FREED), within_s=120)
    new = [len(am.held) - had for am, had in zip(waiting, before, strict=True)]
    assert sum(new) == _FREED
    assert sum(new[: len(of_rich)]) <= 1, (new, before)
    assert (await offers_to(masters, poor))["taken"] >= 1
    assert (await offers_to(masters, rich))["made"] == 0
    taken, since = (await offers_to(masters, poor))["taken"], await conflicts_of(masters, poor)
    assert since["offered"] == 0, (taken, collided, since)

    await holder.give_back()
    await until(lambda: are_given(min(_EACH * len(waiting), free // _MIB)), within_s=180)
    for am in waiting:
        await am.give_back()
    await asyncio.gather(*(am.finish() for am in (holder, *waiting)))
