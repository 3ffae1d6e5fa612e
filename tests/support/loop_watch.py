"""Measures for how long the event loop is held at most: by its thread's own processor time, so that others' load on the
machine does not count, in units of what this machine needs for a fixed piece of work."""

import asyncio
import time
from collections.abc import Callable
from functools import cache
from types import TracebackType
from typing import Self

__all__ = ["LoopWatch", "machine_factor"]

_FIXED_S = 0.004
"""What `_fixed_work` takes on the machine that 50 ms are meant for."""


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


@cache
def machine_factor() -> float:
    """How much slower this machine is than the one that limits are meant for; at least 1."""
    return max(1.0, min(_fixed_work() for _ in range(5)) / _FIXED_S)


def _fixed_work() -> float:
    began_s = time.thread_time()
    table: dict[str, int] = {}
    for number in range(20_000):
        table[str(number)] = number % 7
    return time.thread_time() - began_s
