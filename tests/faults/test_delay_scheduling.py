"""A queue of two real clusters with delay scheduling: containers wait for the host of their data, and not for ever."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from shim.lab import Lab
from shim.protocol.proto.messages import ResourceRequestProto
from shim.scheduling.policies.delay import DelayRules, delay_scheduling
from shim.scheduling.queue_policies import QUEUE_POLICIES
from tests.faults.conftest import Federation
from tests.faults.test_container_order import WITHIN_S, a_federation, begin, hold, why
from tests.faults.test_matched_asks import AM, row_of
from tests.support.masters import until

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

_WANTED = 3
_FREED = 2
_RACK = "/default-rack"
_MIB = 1024
_PATIENT = delay_scheduling(DelayRules(node_s=12.0, rack_s=12.0))
"""A busy machine shows room late."""


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


@dataclass
class LateComer:
    """An application whose data is on a host that another, the filler, has filled.

    Attributes:
        name: Its id.
    """

    federation: Federation
    filler: PlacedAM
    name: str
    am: PlacedAM

    @classmethod
    async def begin(cls, federation: Federation, server: str, *, at: str, other: str) -> "LateComer":
        """Have the only host of a cluster filled, and nothing wanted yet; the other cluster has room."""
        host = await the_host(federation, at)
        (_, filler), (name, am) = [
            await begin(federation, server, partial(PlacedAM, host=host, is_strict=is_strict))
            for is_strict in (True, False)
        ]
        await hold(filler, await room_at(federation, at))
        assert await room_at(federation, other) >= _WANTED
        return cls(federation, filler, name, am)

    async def wants_until(self, is_so: Callable[[Any], bool]) -> Any:
        """Want its containers, until this is so of what is told of them; that."""
        await self.am.want(_WANTED)
        told: list[Any] = []

        async def is_told() -> bool:
            told.append(await why(self.federation, self.name))
            await self._both_call()
            return is_so(told[-1])

        await until(is_told, within_s=WITHIN_S)
        return told[-1]

    async def has_all_once_some_are_free(self, *, at: str, other: str) -> None:
        """What comes free at its host is its; the rest it has in the other cluster."""
        await self.filler.allocate(releases={self.filler.held.pop() for _ in range(_FREED)})

        async def has_all() -> bool:
            await self._both_call()
            return not self.am.wanted

        await until(has_all, within_s=WITHIN_S)
        here, there = [await the_host(self.federation, name) for name in (at, other)]
        assert sorted(self.am.hosts.values()) == sorted([here] * _FREED + [there] * (_WANTED - _FREED))

    async def end(self) -> None:
        """Both give back what they have, and finish."""
        await asyncio.gather(self.filler.give_back(), self.am.give_back())
        await asyncio.gather(self.filler.finish(), self.am.finish())

    async def _both_call(self) -> None:
        await asyncio.gather(self.filler.allocate(), self.am.allocate())


async def test_containers_wait_for_the_host_of_their_data_and_not_for_ever(
    fault_lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes free on the host goes to those that wait for it; the rest goes elsewhere once it has waited."""
    monkeypatch.setattr("shim.scheduling.queue_planner.queue_policy", {**QUEUE_POLICIES, "delay": _PATIENT}.get)
    async with a_federation(fault_lab, tmp_path, "delay") as (federation, server):
        late = await LateComer.begin(federation, server, at="east", other="west")
        told = await late.wants_until(lambda told: bool(told["withheld"]))
        assert told["rule"] == "delay"
        assert "waits for one of its named places" in str(told["reason"])
        await late.has_all_once_some_are_free(at="east", other="west")
        await late.end()


async def the_host(federation: Federation, cluster: str) -> str:
    """The only node of a cluster."""
    (node,) = (await federation.managers[cluster].ask("nodes")).body["nodes"]["node"]
    return str(node["nodeHostName"])


async def room_at(federation: Federation, cluster: str) -> int:
    """How many containers a cluster could hold now."""
    metrics = (await federation.managers[cluster].ask("metrics")).body["clusterMetrics"]
    return int(metrics["availableMB"]) // _MIB
