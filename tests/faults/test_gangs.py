"""A gang on two real clusters: all of it in one answer, over both; nothing of it kept beyond its limit."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from shim.domain.ids import ContainerId
from shim.lab import Lab
from tests.faults.conftest import Federation
from tests.faults.test_container_order import WITHIN_S, a_federation, begin, hold, why
from tests.faults.test_delay_scheduling import room_at, the_host
from tests.faults.test_matched_asks import AM
from tests.support.masters import until

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

_OF_EACH = 2
_GANG = 2 * _OF_EACH
_LIMIT_S = 15


@dataclass
class GangAM(AM):
    """One that notes how many containers each answer gave that gave any."""

    answers: list[int] = field(default_factory=list)

    async def allocate(self, *, asks: bool = False, releases: set[ContainerId] | None = None) -> None:
        before = len(self.seen)
        await super().allocate(asks=asks, releases=releases)
        if len(self.seen) > before:
            self.answers.append(len(self.seen) - before)


async def has(federation: Federation, application: str, cluster: str) -> int:
    """Containers that a ResourceManager itself says an application has; ApplicationMasters run in none here."""
    reply = await federation.managers[cluster].ask(f"apps/{application}")
    return int(reply.body["app"]["runningContainers"]) if reply.status == 200 else 0


async def fill_but(federation: Federation, filler: AM, left: int) -> None:
    """Have all but so many containers of each cluster."""
    clusters = {await the_host(federation, name): await room_at(federation, name) for name in ("east", "west")}
    await hold(filler, sum(clusters.values()))
    surplus: set[ContainerId] = set()
    for host in clusters:
        surplus.update([each for each in filler.held if filler.hosts[each] == host][:left])
    await filler.allocate(releases=surplus)
    filler.held -= surplus


async def test_a_gang_waits_for_room_for_all_and_has_it_in_one_answer_over_both_clusters(
    fault_lab: Lab, tmp_path: Path
) -> None:
    async with a_federation(fault_lab, tmp_path, "fifo") as (federation, server):
        refused = await federation.heddle.submit(tags=["heddle-gang=all"])
        assert refused.status == 400
        _, filler = await begin(federation, server, AM)
        name, gang = await begin(federation, server, GangAM, [f"heddle-gang={_GANG + 1}"])
        await fill_but(federation, filler, _OF_EACH)
        await gang.want(_GANG + 1)

        async def both_call() -> None:
            await asyncio.gather(filler.allocate(), gang.allocate())

        async def waits_for_one_more() -> bool:
            await both_call()
            return f"there was room for {_GANG}" in str((await why(federation, name)).get("reason"))

        await until(waits_for_one_more, within_s=WITHIN_S)
        assert not gang.seen
        assert [await has(federation, name, cluster) for cluster in ("east", "west")] == [0, 0], "none is asked for"

        await filler.allocate(releases={filler.held.pop()})

        async def has_all() -> bool:
            await both_call()
            return not gang.wanted

        await until(has_all, within_s=WITHIN_S)
        assert gang.answers == [_GANG + 1]
        assert len(Counter(gang.hosts.values())) == len(("east", "west"))
        await asyncio.gather(filler.give_back(), gang.give_back())
        await asyncio.gather(filler.finish(), gang.finish())


async def test_what_is_held_is_given_back_within_the_limit_and_asked_for_again(fault_lab: Lab, tmp_path: Path) -> None:
    """A node falls silent between the report that shows its room and the grants: its cluster grants nothing."""
    async with a_federation(fault_lab, tmp_path, "fifo") as (federation, server):
        _, filler = await begin(federation, server, AM)
        name, gang = await begin(federation, server, GangAM, [f"heddle-gang={_GANG}@{_LIMIT_S}s"])
        await fill_but(federation, filler, _OF_EACH)
        (home,) = await federation.homes(name)
        away = "west" if home == "east" else "east"
        daemon = next(
            each for each in fault_lab.status() if each.name.startswith(f"{away}-") and "-rm" not in each.name
        )
        fault_lab.pause(daemon.name)
        try:
            await gang.want(_GANG)

            async def is_held() -> bool:
                await asyncio.gather(filler.allocate(), gang.allocate())
                return "are granted and held" in str((await why(federation, name)).get("reason")) and (
                    await has(federation, name, home) == _OF_EACH
                )

            await until(is_held, within_s=WITHIN_S)

            async def is_given_back() -> bool:
                await asyncio.gather(filler.allocate(), gang.allocate())
                return await has(federation, name, home) == 0

            await until(is_given_back, within_s=WITHIN_S)
            assert not gang.seen
        finally:
            fault_lab.resume(f"{away}-nm1")

        async def has_all() -> bool:
            await asyncio.gather(filler.allocate(), gang.allocate())
            return not gang.wanted

        await until(has_all, within_s=WITHIN_S)
        assert gang.answers == [_GANG]
        await asyncio.gather(filler.give_back(), gang.give_back())
        await asyncio.gather(filler.finish(), gang.finish())
