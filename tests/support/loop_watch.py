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

_MOST = 50
"""Nothing holds the event loop for longer than so many times `_fixed_work`, which takes 2 ms on a quick machine."""
_TRIES = 6


class LoopWatch:
    """Within `with`, knows the longest turn of the loop: one callback, or one step of a task.

    The turn in which the block begins is not seen: what is watched has to be a task of its own.

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
        """Watch every callback of the running loop from now on.

        Raises:
            TypeError: It is uvloop's, whose callbacks pass no place that can be watched: nothing would be measured.
        """
        if not isinstance(loop := asyncio.get_running_loop(), asyncio.BaseEventLoop):
            raise TypeError(f"{type(loop)} cannot be watched: the test's module has to have the name LoopWatch")
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


async def too_long(attempt: Callable[[], Awaitable[float]], share: float = 1.0) -> float | None:
    """Measure until one attempt is within a share of the limit.

    All but the first attempt run without the collector of garbage, and each is held against what fixed work takes at
    its own moment. What holds the loop by itself does so each time.

    Returns:
        None, or the least processor time of all attempts, as a multiple of what fixed work took.
    """
    limit = share * _MOST
    least = await attempt() / _fixed_work()
    for _ in range(_TRIES - 1):
        if least <= limit:
            return None
        with _no_collector():
            await asyncio.sleep(0)  # what was just done here ends its turn before the next is measured
            held_s = await attempt()
            least = min(least, held_s / min(_fixed_work() for _ in range(3)))
    return None if least <= limit else least


async def too_long_at_once(work: Callable[[], object], share: float = 1.0) -> float | None:
    """Measure a plain call that the loop would make in one turn; see `too_long`."""

    async def attempt() -> float:
        watch = LoopWatch()
        watch.measure(work)
        return watch.longest_s

    return await too_long(attempt, share)


@contextmanager
def _no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _fixed_work() -> float:
    began_s = time.thread_time()
    table: dict[str, int] = {}
    for number in range(20_000):
        table[str(number)] = number % 7
    return time.thread_time() - began_s
