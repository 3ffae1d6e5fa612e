"""Two applications with deadlines in one queue of real clusters: the later one with the nearer deadline overtakes."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from shim.lab import Lab
from tests.faults.conftest import Federation
from tests.faults.test_container_order import WITHIN_S, a_federation, all_are_withheld, begin, both_hold, room_of
from tests.faults.test_matched_asks import AM
from tests.support.masters import until

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

_FAR, _NEAR = "heddle-deadline=+12h", "heddle-deadline=+9m"
_WANTS, _BEYOND = 2, 6


async def deadline_of(federation: Federation, application: str) -> Any:
    """What `why` tells of an application's deadline."""
    url = f"{federation.heddle.url}/heddle/v1/apps/{application}/why?user.name=alice"
    async with federation.heddle.session.get(url) as answer:
        return (await answer.json())["deadline"]


async def test_the_later_one_with_the_nearer_deadline_overtakes_and_meets_it(fault_lab: Lab, tmp_path: Path) -> None:
    async with a_federation(fault_lab, tmp_path, "jockey") as (federation, server):
        refused = await federation.heddle.submit(tags=["heddle-deadline=soon"])
        assert refused.status == 400
        far_id, far = await begin(federation, server, AM, [_FAR])
        room = await room_of(federation)
        await far.want(room + _BEYOND)
        await both_hold(room, far)
        near_id, near = await begin(federation, server, AM, [_NEAR])
        await near.want(_WANTS)
        for application in (far_id, near_id):
            assert (await deadline_of(federation, application))["left_s"] > 0

        async def both_call() -> None:
            await asyncio.gather(far.allocate(), near.allocate())

        for _ in range(_WANTS):  # what comes free is for the nearer one, though the other came first
            told = await all_are_withheld(federation, far_id, _BEYOND, both_call)
            assert f"{_BEYOND} wait in Heddle by jockey: its deadline takes" in told["reason"]
            await far.allocate(releases={far.held.pop()})
            await both_hold(room, far, near)
        assert (near.wanted, far.wanted) == (0, _BEYOND)
        told = await deadline_of(federation, far_id)
        assert "containers of" in told["known_from"], "its own that have ended tell how long it takes"

        await near.give_back()
        await near.finish()

        async def is_met() -> bool:
            await far.allocate()
            return bool((await deadline_of(federation, near_id))["known_from"] == "it has ended")

        await until(is_met, within_s=WITHIN_S)
        assert (await deadline_of(federation, near_id))["met"] == "yes"
        await both_hold(room, far)
        assert far.wanted == _BEYOND - _WANTS, "what it left is for the other"
        await far.want(0)
        await far.give_back()
        await asyncio.gather(far.finish())
