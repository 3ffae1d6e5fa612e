"""Two Global Masters bid for room of two real clusters: what comes free is kept for the queue that has less."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from shim.lab import Lab
from tests.faults.test_container_order import WITHIN_S, both_hold, hold
from tests.faults.test_masters import QUEUES, patient, started
from tests.faults.test_matched_asks import begin, free_of, leave_all_to, masters_that_span
from tests.support.masters import MasterProcesses, names_that_share, until
from tests.support.nursery import Nursery

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

_OUTBID = "a queue of another Global Master waits there, too, and has less for its share"


@pytest.fixture
async def masters(
    monkeypatch: pytest.MonkeyPatch, nursery: Nursery, fault_lab: Lab, postgres_url: str, tmp_path: Path
) -> AsyncIterator[MasterProcesses]:
    """Two queues with the same share, and offers of room that stand for some reports."""
    monkeypatch.setenv("HEDDLE_MASTERS_OFFER_S", "30")
    patient(monkeypatch)
    more = 'weight = 1.0\ncontainers = "tetris"\n'
    async with masters_that_span(nursery, fault_lab, postgres_url, tmp_path, "offers", more=more) as prepared:
        yield prepared


async def test_what_comes_free_goes_to_the_queue_that_has_less_for_its_share(
    masters: MasterProcesses, fault_lab: Lab
) -> None:
    """The other one's Global Master leaves schedulers alone until then; without offers both ask them for all."""
    gms = await started(masters, names_that_share(QUEUES))
    rich, poor = [await begin(masters, fault_lab, gm, queue) for gm, queue in zip(gms, QUEUES, strict=True)]
    room = await free_of(masters)
    await hold(rich, room)
    await rich.want(room)
    await poor.want(room // 2)

    async def is_outbid() -> bool:
        await asyncio.gather(rich.allocate(), poor.allocate())
        (told,) = (await masters.why(gms[0], masters.acknowledged[0]))["asks"]
        return _OUTBID in told["reason"] and told["withheld"] == room

    await until(is_outbid, within_s=WITHIN_S)
    for number in range(1, room // 2):
        gone = {min(rich.held)}
        rich.held -= gone
        await rich.allocate(releases=gone)
        await both_hold(room, rich, poor)
        assert len(poor.held) == number, "the other had what came free"
    await leave_all_to(rich, poor, within_s=WITHIN_S)
    await poor.give_back()
    await asyncio.gather(*(am.finish() for am in (rich, poor)))
