"""An application whose data is at one of two real clusters waits for room there, and for as long as it is worth."""

import time
from pathlib import Path

import pytest

from shim.lab import Lab
from tests.faults.test_container_order import a_federation
from tests.faults.test_delay_scheduling import LateComer

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

_ACROSS_S = 45.0


async def test_what_names_data_of_a_full_cluster_waits_for_room_there_before_it_reads_across(
    fault_lab: Lab, tmp_path: Path
) -> None:
    sections = f"[scheduling]\nread_across_s = {_ACROSS_S}\n"
    async with a_federation(fault_lab, tmp_path, "fifo", sections) as (federation, server):
        late = await LateComer.begin(federation, server, at="west", other="east")
        began_s = time.monotonic()
        told = await late.wants_until(lambda told: "read_across_s" in str(told.get("reason")))
        assert "for room near its data (west)" in str(told["reason"])
        assert not late.am.held, "there is room in the other cluster all the while"
        await late.has_all_once_some_are_free(at="west", other="east")
        assert time.monotonic() - began_s >= _ACROSS_S, "the last one has waited as long as it is worth"
        await late.end()
