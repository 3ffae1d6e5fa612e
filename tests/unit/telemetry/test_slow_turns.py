"""Turns of the event loop that take too long: said by name, and seldom."""

import asyncio
import gc
import weakref

import pytest
from structlog.testing import capture_logs

from shim.telemetry.slow_turns import SlowTurns


class Clock:
    """Seconds that move when a test says so."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


async def test_only_a_long_turn_is_told_and_waiting_is_none() -> None:
    clock = Clock()
    turns = SlowTurns(now_s=clock)

    async def answer(turn_s: float) -> str:
        await asyncio.sleep(0)
        clock.now_s += turn_s
        await asyncio.sleep(0)
        return "done"

    with capture_logs() as logs:
        assert await turns.watch(answer(0.04), lambda: "REST GET /short") == "done"
        for _ in range(3):
            assert await turns.watch(answer(0.2), lambda: "REST GET /jmx") == "done"
        clock.now_s += 61
        await turns.watch(answer(0.3), lambda: "RPC " + "x" * 1000)
    assert [(log["by"][:13], log["held_ms"], log["times"]) for log in logs] == [
        ("REST GET /jmx", 200, 1),
        ("RPC xxxxxxxxx", 300, 3),
    ]
    assert all(len(log["by"]) <= 100 for log in logs)


async def test_errors_and_cancellation_go_through() -> None:
    turns = SlowTurns()
    seen = []

    async def fails() -> None:
        await asyncio.sleep(0)
        raise ValueError("told")

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    with pytest.raises(ValueError, match="told"):
        await turns.watch(fails(), str)
    waiting = asyncio.create_task(turns.watch(waits(), str))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert seen == ["cancelled"]


async def test_an_error_and_what_it_knows_are_freed_without_the_collector() -> None:
    """The collector looks seldom: refused submissions of 1 MiB were kept by the hundred."""
    turns = SlowTurns()

    class Body:
        """Stands for what a request has in its frames."""

    async def fails(body: Body) -> None:
        await asyncio.sleep(0)
        raise ValueError("refused")

    async def answer(body: Body) -> str:
        try:
            await asyncio.shield(asyncio.create_task(fails(body)))
        except ValueError as exc:
            return str(exc)
        return ""

    async def one() -> "weakref.ref[Body]":
        body = Body()
        assert await turns.watch(answer(body), str) == "refused"
        return weakref.ref(body)

    gc.collect()
    gc.disable()
    try:
        left = await one()
        await asyncio.sleep(0)
        assert left() is None
    finally:
        gc.enable()
