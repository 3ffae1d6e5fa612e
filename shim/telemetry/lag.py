"""Lateness of the event loop: what nobody else sees when one piece of work keeps all others waiting."""

import asyncio
from types import TracebackType
from typing import Self

from prometheus_client import CollectorRegistry

from shim.telemetry.definitions import EVENT_LOOP_LAG_SECONDS

__all__ = ["LoopLag"]

_EVERY_S = 0.25


class LoopLag:
    """One timer that tells by how much it was late: `heddle_event_loop_lag_seconds`. Measures inside of `with`.

    A request that comes while the loop is busy waits as long. One measurement in `every_s` costs some microseconds.

    Args:
        registry: Where the histogram is kept.
        every_s: From one measurement to the next.
    """

    def __init__(self, registry: CollectorRegistry, *, every_s: float = _EVERY_S) -> None:
        self._every_s = every_s
        self._timer: asyncio.TimerHandle | None = None
        self._seconds = EVENT_LOOP_LAG_SECONDS.histogram(registry)

    def __enter__(self) -> Self:
        """Measure the running loop from now on."""
        loop = asyncio.get_running_loop()
        self._wait(loop, loop.time() + self._every_s)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Measure no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _wait(self, loop: asyncio.AbstractEventLoop, due_s: float) -> None:
        self._timer = loop.call_at(due_s, self._measure, loop, due_s)

    def _measure(self, loop: asyncio.AbstractEventLoop, due_s: float) -> None:
        now_s = loop.time()
        self._seconds.observe(max(0.0, now_s - due_s))
        self._wait(loop, now_s + self._every_s)
