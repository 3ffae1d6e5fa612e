"""Measures for how long the event loop is held at most: by its thread's own processor time, so that others' load on the
machine does not count, in units of what this machine needs for a fixed piece of work.

Processor time is no exact measure either: the collector of garbage runs in whatever turn it likes, and the time that
a virtual machine is not given may be counted as its own. `too_long` therefore measures again before it says so.
"""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

__all__ = ["LIMIT_S", "LoopWatch", "too_long", "too_long_at_once"]

LIMIT_S = 0.05
"""Nothing holds the event loop for longer, on the machine that the limit is meant for."""
_FIXED_S = 0.004
"""What `_fixed_work` takes on that machine."""
_TRIES = 6


class LoopWatch:
    """Within `with`, knows the longest turn of the loop: one callback, or one step of a task.

    Attributes:
        longest_s: Processor time of the loop's thread.
        what: The callback that took it.
    """

    def __init__(self) -> None:
        self.longest_s = 0.0
        self.what = ""

    def reset(self) -> None:
        """Forget what was measured."""
        self.longest_s, self.what = 0.0, ""

    def __enter__(self) -> Self:
        """Watch every callback from now on."""
        self._before = asyncio.Handle._run
        setattr(asyncio.Handle, "_run", self._watched)  # noqa: B010 - the one place that all callbacks pass
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Watch no more."""
        setattr(asyncio.Handle, "_run", self._before)  # noqa: B010 - as it was

    @property
    def _watched(self) -> Callable[[asyncio.Handle], None]:
        before, watch = self._before, self

        def run(handle: asyncio.Handle) -> None:
            began_s = time.thread_time()
            try:
                before(handle)
            finally:
                watch.note(time.thread_time() - began_s, handle)

        return run

    def measure(self, work: Callable[[], object]) -> None:
        """Do some work that the loop would do in one turn."""
        began_s = time.thread_time()
        work()
        self.note(time.thread_time() - began_s, work)

    def note(self, took_s: float, what: object) -> None:
        """A turn took this long."""
        if took_s > self.longest_s:
            self.longest_s, self.what = took_s, repr(what)[:300]


async def too_long(attempt: Callable[[], Awaitable[float]], limit_s: float = LIMIT_S) -> float | None:
    """Measure until one attempt is within the limit.

    All but the first attempt run without the collector of garbage, and each is held against the machine's speed of
    its own moment. What holds the loop by itself does so each time.

    Returns:
        None, or the least processor time of all attempts, in seconds.
    """
    least_s = await attempt()
    for _ in range(_TRIES - 1):
        if least_s <= limit_s or least_s <= limit_s * _machine_factor():
            return None
        with _no_collector():
            await asyncio.sleep(0)  # what was just done here ends its turn before the next is measured
            least_s = min(least_s, await attempt())
    return None if least_s <= limit_s * _machine_factor() else least_s


async def too_long_at_once(work: Callable[[], object], limit_s: float = LIMIT_S) -> float | None:
    """Measure a plain call that the loop would make in one turn; see `too_long`."""

    async def attempt() -> float:
        watch = LoopWatch()
        watch.measure(work)
        return watch.longest_s

    return await too_long(attempt, limit_s)


@contextmanager
def _no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _machine_factor() -> float:
    """Return how much slower this machine is now than the one that limits are meant for; at least 1."""
    return max(1.0, min(_fixed_work() for _ in range(5)) / _FIXED_S)


def _fixed_work() -> float:
    began_s = time.thread_time()
    table: dict[str, int] = {}
    for number in range(20_000):
        table[str(number)] = number % 7
    return time.thread_time() - began_s
