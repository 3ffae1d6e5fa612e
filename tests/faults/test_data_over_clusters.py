"""An application whose data is at one of two real clusters waits for room there, and for as long as it is worth."""

import asyncio
import time
from functools import partial
from pathlib import Path

import pytest

from shim.lab import Lab
from tests.faults.test_container_order import WITHIN_S, a_federation, begin, hold, why
from tests.faults.test_delay_scheduling import PlacedAM, room_at, the_host
from tests.support.masters import until

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]

_WANTED = 3
_FREED = 2
_ACROSS_S = 45.0


async def test_what_names_data_of_a_full_cluster_waits_for_room_there_before_it_reads_across(
    fault_lab: Lab, tmp_path: Path
) -> None:
    sections = f"[scheduling]\nread_across_s = {_ACROSS_S}\n"
    async with a_federation(fault_lab, tmp_path, "fifo", sections) as (federation, server):
        east, west = [await the_host(federation, name) for name in ("east", "west")]
        (_, filler), (name, late) = [
            await begin(federation, server, partial(PlacedAM, host=west, is_strict=is_strict))
            for is_strict in (True, False)
        ]
        await hold(filler, await room_at(federation, "west"))
        assert await room_at(federation, "east") >= _WANTED

        async def both_call() -> None:
            await asyncio.gather(filler.allocate(), late.allocate())

        began_s = time.monotonic()
        await late.want(_WANTED)
        told: list[dict[str, object]] = []

        async def waits() -> bool:
            told.append(await why(federation, name))
            await both_call()
            return "read_across_s" in str(told[-1].get("reason"))

        await until(waits, within_s=WITHIN_S)
        assert "for room near its data (west)" in str(told[-1]["reason"])
        assert not late.held, "there is room in the other cluster all the while"

        await filler.allocate(releases={filler.held.pop() for _ in range(_FREED)})

        async def has_all() -> bool:
            await both_call()
            return not late.wanted

        await until(has_all, within_s=WITHIN_S)
        assert time.monotonic() - began_s >= _ACROSS_S, "the last one has waited as long as it is worth"
        assert sorted(late.hosts.values()) == sorted([west] * _FREED + [east] * (_WANTED - _FREED))

        await asyncio.gather(filler.give_back(), late.give_back())
        await asyncio.gather(filler.finish(), late.finish())
