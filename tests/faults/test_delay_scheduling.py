"""A queue of two real clusters with delay scheduling: containers wait for the host of their data, and not for ever."""

import asyncio
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from shim.lab import Lab
from shim.protocol.proto.messages import ResourceRequestProto
from tests.faults.conftest import Federation
from tests.faults.test_container_order import WITHIN_S, a_federation, begin, hold, why
from tests.faults.test_matched_asks import AM, row_of
from tests.support.masters import until

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]

_WANTED = 3
_FREED = 2
_RACK = "/default-rack"
_MIB = 1024


@dataclass
class PlacedAM(AM):
    """One whose data is on a host.

    Attributes:
        host: That host.
        is_strict: Whether no other will do.
    """

    host: str = ""
    is_strict: bool = False

    def rows(self) -> list[ResourceRequestProto]:
        at_host, at_rack, anywhere = (row_of(self.wanted, place) for place in (self.host, _RACK, "*"))
        at_rack.relax_locality = anywhere.relax_locality = not self.is_strict
        return [at_host, at_rack, anywhere]


async def test_containers_wait_for_the_host_of_their_data_and_not_for_ever(fault_lab: Lab, tmp_path: Path) -> None:
    """What comes free on the host goes to those that wait for it; the rest goes elsewhere once it has waited."""
    async with a_federation(fault_lab, tmp_path, "delay") as (federation, server):
        east, west = [await the_host(federation, name) for name in ("east", "west")]
        (_, filler), (name, late) = [
            await begin(federation, server, partial(PlacedAM, host=east, is_strict=is_strict))
            for is_strict in (True, False)
        ]
        await hold(filler, await room_at(federation, "east"))
        assert await room_at(federation, "west") >= _WANTED

        async def both_call() -> None:
            await asyncio.gather(filler.allocate(), late.allocate())

        await late.want(_WANTED)
        told: list[dict[str, object]] = []

        async def waits() -> bool:
            told.append(await why(federation, name))
            await both_call()
            return bool(told[-1]["withheld"])

        await until(waits, within_s=WITHIN_S)
        assert told[-1]["rule"] == "delay"
        assert "waits for one of its named places" in str(told[-1]["reason"])
        await filler.allocate(releases={filler.held.pop() for _ in range(_FREED)})

        async def has_all() -> bool:
            await both_call()
            return not late.wanted

        await until(has_all, within_s=WITHIN_S)
        hosts = sorted(late.hosts.values())
        assert hosts == sorted([east] * _FREED + [west] * (_WANTED - _FREED))

        await asyncio.gather(filler.give_back(), late.give_back())
        await asyncio.gather(filler.finish(), late.finish())


async def the_host(federation: Federation, cluster: str) -> str:
    """The only node of a cluster."""
    (node,) = (await federation.managers[cluster].ask("nodes")).body["nodes"]["node"]
    return str(node["nodeHostName"])


async def room_at(federation: Federation, cluster: str) -> int:
    """How many containers a cluster could hold now."""
    metrics = (await federation.managers[cluster].ask("metrics")).body["clusterMetrics"]
    return int(metrics["availableMB"]) // _MIB
