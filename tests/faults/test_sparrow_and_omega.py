"""Queues of two real clusters by Sparrow and by Omega: late binding; commits of two Global Masters that conflict."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from shim.lab import Lab
from tests.faults.conftest import Federation
from tests.faults.test_container_order import WITHIN_S, a_federation, begin, both_hold, hold, room_of, why
from tests.faults.test_delay_scheduling import the_host
from tests.faults.test_masters import QUEUES, started
from tests.faults.test_matched_asks import AM, asks_of, free_of, leave_all_to, masters_that_span
from tests.faults.test_matched_asks import begin as begin_at
from tests.support.masters import MasterProcess, MasterProcesses, names_that_share, until
from tests.support.nursery import Nursery

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

_WANTED = 3
_MOST_ROUNDS = 12


async def test_by_sparrow_both_are_asked_for_all_and_whichever_grants_first_binds(
    fault_lab: Lab, tmp_path: Path
) -> None:
    """What comes free is had wherever it is; the other cluster is asked for as much less, and nothing is left over."""
    async with a_federation(fault_lab, tmp_path, "sparrow") as (federation, server):
        hosts = {name: await the_host(federation, name) for name in ("east", "west")}
        (_, filler), (name, late) = [await begin(federation, server, AM) for _ in range(2)]
        room = await room_of(federation)
        await hold(filler, room)
        await pending(federation, {"east": 0, "west": 0}, filler)
        await late.want(_WANTED)
        await pending(federation, {"east": _WANTED, "west": _WANTED}, filler, late)
        told = await why(federation, name)
        assert (told["rule"], told["withheld"]) == ("sparrow", 0)
        assert "east and west, as drawn" in told["reason"]

        for cluster, freed, left in (("west", 1, 2), ("east", 2, 0)):
            gone = set(sorted(each for each in filler.held if filler.hosts[each] == hosts[cluster])[:freed])
            filler.held -= gone
            before = set(late.held)
            await filler.allocate(releases=gone)
            await both_hold(room, filler, late)
            assert [late.hosts[each] for each in late.held - before] == [hosts[cluster]] * freed
            await pending(federation, {"east": left, "west": left}, filler, late)

        gone, filler.held = filler.held, set()
        await filler.allocate(releases=gone)
        await late.want(_WANTED)
        await both_hold(2 * _WANTED, filler, late)
        await pending(federation, {"east": 0, "west": 0}, filler, late)

        async def nothing_is_left_over() -> bool:
            await asyncio.gather(filler.allocate(), late.allocate())
            return await room_of(federation) == room - len(late.held)

        await until(nothing_is_left_over, within_s=WITHIN_S)
        await late.give_back()
        await asyncio.gather(filler.finish(), late.finish())


async def pending(federation: Federation, counts: Mapping[str, int], *ams: AM) -> None:
    """Wait until each cluster is asked for so many containers, by the word of its own ResourceManager."""

    async def are_asked() -> bool:
        await asyncio.gather(*(am.allocate() for am in ams))
        found = {}
        for name, manager in federation.managers.items():
            found[name] = (await manager.ask("metrics")).body["clusterMetrics"]["containersPending"]
        return found == counts

    await until(are_asked, within_s=WITHIN_S)


@pytest.fixture
async def masters(
    nursery: Nursery, fault_lab: Lab, postgres_url: str, tmp_path: Path
) -> AsyncIterator[MasterProcesses]:
    """Two queues by Omega."""
    by_omega = 'containers = "omega"\n'
    async with masters_that_span(nursery, fault_lab, postgres_url, tmp_path, "omega", more=by_omega) as prepared:
        yield prepared


async def test_by_omega_commits_of_two_global_masters_conflict_and_are_counted_by_kind(
    masters: MasterProcesses, fault_lab: Lab
) -> None:
    """Each plans three quarters of both clusters on its own view; what the other had first is planned again."""
    gms = await started(masters, names_that_share(QUEUES))
    ams = [await begin_at(masters, fault_lab, gm, queue) for gm, queue in zip(gms, QUEUES, strict=True)]
    free = await free_of(masters)

    async def all_is_held() -> bool:
        await asyncio.gather(*(am.allocate() for am in ams))
        return sum(len(am.held) for am in ams) >= free

    conflicts = Counter[str]()
    for _ in range(_MOST_ROUNDS):
        await asyncio.gather(*(am.want(free * 3 // 4) for am in ams))
        await until(all_is_held, within_s=WITHIN_S)
        for gm in gms:
            conflicts.update((await masters.get(gm, "/heddle/v1/masters"))["asks"]["conflicts"])
        if conflicts["claimed"]:
            break
        await asyncio.gather(*(am.want(0) for am in ams))
        await asyncio.gather(*(am.give_back() for am in ams))
    assert conflicts["claimed"], "two that do not know of each other's commits never conflicted"
    assert set(conflicts) == {"claimed", "used", "queue", "node"}
    metrics = [await text_of(masters, gm, "/metrics") for gm in gms]
    assert any('heddle_launch_conflicts_total{kind="claimed",subcluster="' in text for text in metrics)

    (told,) = (await masters.why(gms[0], masters.acknowledged[0]))["asks"] or [None]
    assert told is None or told["rule"] == "omega"
    assert (await asks_of(masters, *gms))["inconsistencies"] >= conflicts["claimed"]

    first, second = ams
    await leave_all_to(first, second, within_s=WITHIN_S)
    await second.give_back()
    await asyncio.gather(*(am.finish() for am in ams))


async def text_of(masters: MasterProcesses, gm: MasterProcess, path: str) -> str:
    """A document of a Global Master as it is sent."""
    async with masters.session.get(f"{gm.url}{path}") as answer:
        return await answer.text()
