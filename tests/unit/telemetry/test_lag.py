"""The lag of the event loop is what a piece of work that does not give way costs everybody else."""

import asyncio
import time

from prometheus_client import CollectorRegistry

from shim.telemetry.lag import LoopLag


async def test_work_that_does_not_give_way_is_seen_as_lag() -> None:
    registry = CollectorRegistry()
    with LoopLag(registry, every_s=0.01):
        time.sleep(0.3)  # noqa: ASYNC251 - to block the loop is the point
        await until_measured(registry, 1)
    assert told(registry, "_sum") >= 0.25
    assert told(registry, "_bucket", le="0.25") < told(registry, "_count")


async def test_a_loop_is_measured_again_and_again_and_not_after_the_end() -> None:
    registry = CollectorRegistry()
    with LoopLag(registry, every_s=0.005):
        await until_measured(registry, 3)
    measured = told(registry, "_count")
    await asyncio.sleep(0.05)
    assert told(registry, "_count") == measured


def told(registry: CollectorRegistry, suffix: str, **labels: str) -> float:
    return registry.get_sample_value(f"heddle_event_loop_lag_seconds{suffix}", labels) or 0.0


async def until_measured(registry: CollectorRegistry, times: int) -> None:
    async with asyncio.timeout(30):
        while told(registry, "_count") < times:  # noqa: ASYNC110 - a histogram tells nobody by itself
            await asyncio.sleep(0.005)
