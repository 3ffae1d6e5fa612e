"""Queues of two real clusters whose policies ask a solver: it is killed at work, and nobody waits for that."""

import asyncio
import multiprocessing
import os
import signal
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from shim.lab import Lab
from tests.faults.conftest import Federation
from tests.faults.test_container_order import (
    WITHIN_S,
    a_federation,
    all_are_withheld,
    begin,
    both_hold,
    hold,
    room_of,
)
from tests.faults.test_delay_scheduling import PlacedAM, the_host
from tests.faults.test_matched_asks import AM
from tests.support.freezing import freeze
from tests.support.masters import until

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

_WANTED, _FREED, _BEYOND = 3, 2, 6
_SOLVES = "[scheduling]\nsolve_s = 30\n"
"""Longer than any solve here, so that only an answer or the child's end lets a cycle go on."""


async def solves(federation: Federation) -> Any:
    """How often the solver was asked, and had an answer."""
    async with federation.heddle.session.get(f"{federation.heddle.url}/heddle/v1/masters?user.name=alice") as answer:
        return (await answer.json())["asks"]["solves"]


def the_child() -> BaseProcess:
    """The process that solves: a child of this one, as Heddle is in it."""
    (child,) = [each for each in multiprocessing.active_children() if each.name == "heddle-solver"]
    return child


async def release(am: AM, count: int) -> None:
    """Give some containers back."""
    await am.allocate(releases={am.held.pop() for _ in range(count)})


async def release_at(am: AM, host: str) -> None:
    """Give a container on a host back."""
    container = next(each for each in am.held if am.hosts[each] == host)
    am.held.discard(container)
    await am.allocate(releases={container})


async def release_and_kill_the_solver(federation: Federation, filler: AM, *others: AM) -> None:
    """Give one container back; kill the solver while a cycle waits for what it makes of that."""
    child = the_child()
    assert child.pid is not None
    freeze(child.pid)
    await release(filler, 1)

    async def is_asked() -> bool:
        await asyncio.gather(*(am.allocate() for am in others))
        return bool((await solves(federation))["solving"])

    await until(is_asked, within_s=WITHIN_S)
    assert child.is_alive()
    os.kill(child.pid, signal.SIGKILL)


async def test_by_quincy_what_comes_free_on_a_host_goes_to_whose_data_is_there(fault_lab: Lab, tmp_path: Path) -> None:
    """Both would take any place by now, whoever asked first: the flow that costs least has each at its data."""
    async with a_federation(fault_lab, tmp_path, "quincy", _SOLVES) as (federation, server):
        hosts = [await the_host(federation, name) for name in ("east", "west")]
        _, filler = await begin(federation, server, AM)
        (first_id, first), (second_id, second) = [
            await begin(federation, server, partial(PlacedAM, host=host)) for host in hosts
        ]
        room = await room_of(federation)
        await hold(filler, room)
        await asyncio.gather(first.want(_WANTED), second.want(_WANTED))

        async def all_call() -> None:
            await asyncio.gather(filler.allocate(), first.allocate(), second.allocate())

        for application in (first_id, second_id):
            told = await all_are_withheld(federation, application, _WANTED, all_call)
            assert told["rule"] == "quincy"
            assert f"{_WANTED} wait in Heddle by quincy" in told["reason"]
        for am, host in ((first, hosts[0]), (second, hosts[1]), (second, hosts[1])):
            before = set(am.held)
            await release_at(filler, host)
            await both_hold(room, filler, first, second)
            (placed,) = am.held - before
            assert am.hosts[placed] == host
        assert (await solves(federation))["solved"] > 0

        await release_and_kill_the_solver(federation, filler, first, second)
        await both_hold(room, filler, first, second)
        assert first.wanted + second.wanted == _WANTED - 1, "whoever has it by the policy's own plan"
        assert (await solves(federation))["unsolved"] == 1

        await asyncio.gather(first.want(0), second.want(0))
        everybody = (filler, first, second)
        await asyncio.gather(*(am.give_back() for am in everybody))
        await asyncio.gather(*(am.finish() for am in everybody))


async def test_by_tetrisched_the_one_with_a_deadline_overtakes(fault_lab: Lab, tmp_path: Path) -> None:
    async with a_federation(fault_lab, tmp_path, "tetrisched", _SOLVES) as (federation, server):
        _, filler = await begin(federation, server, AM)
        early_id, early = await begin(federation, server, AM)
        near_id, near = await begin(federation, server, AM, ["heddle-deadline=+9m"])
        room = await room_of(federation)
        await filler.want(room)
        await both_hold(room, filler)
        await early.want(_BEYOND)
        await near.want(_FREED)

        async def all_call() -> None:
            await asyncio.gather(filler.allocate(), early.allocate(), near.allocate())

        for application, count in ((early_id, _BEYOND), (near_id, _FREED)):
            told = await all_are_withheld(federation, application, count, all_call)
            assert told["rule"] == "tetrisched"
            assert f"{count} wait in Heddle by tetrisched" in told["reason"]
        await release(filler, 1)
        await both_hold(room, filler, early, near)
        assert (early.wanted, near.wanted) == (_BEYOND, _FREED - 1), "what comes free is for the deadline"
        assert (await solves(federation))["solved"] > 0

        await release_and_kill_the_solver(federation, filler, early, near)
        await both_hold(room, filler, early, near)
        assert (early.wanted, near.wanted) == (_BEYOND, 0), "also by the policy's own plan"
        assert (await solves(federation))["unsolved"] == 1
        await release(filler, _FREED)
        await both_hold(room, filler, early, near)
        assert early.wanted == _BEYOND - _FREED

        await early.want(0)
        everybody = (filler, early, near)
        await asyncio.gather(*(am.give_back() for am in everybody))
        await asyncio.gather(*(am.finish() for am in everybody))
