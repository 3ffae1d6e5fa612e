"""An asyncio event loop whose time jumps to the next timer: a day of a federation in seconds, the same each time.

The loop has no selector, no thread and no socket. Callbacks run in the order in which they were scheduled, and timers
in the order of their times. When nothing is ready, the time becomes that of the earliest timer. What a thread pool
would run is run at once.

The same program with the same seed therefore makes the same steps on any machine, as long as nothing in it reads a real
clock, true randomness, or the order of a set of strings.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Never, TypeVar

from shim.errors import InvariantViolationError

T = TypeVar("T")

EPOCH_S = 1_800_000_000.0
"""What the wall clock of a run shows at its start, in seconds since 1970."""
_RESOLUTION_S = 1e-9


class _NoEvents:
    """Stands where the loop expects a selector: waiting takes no time but that of the run."""

    def __init__(self, loop: "VirtualTimeLoop") -> None:
        self._loop = loop

    def select(self, timeout_s: float | None) -> list[Never]:
        """No event; the time moves on by as much as the loop would have waited."""
        if timeout_s is None:
            raise InvariantViolationError("every task waits for something that no timer brings: the run is stuck")
        self._loop.move_on(timeout_s)
        return []


class VirtualTimeLoop(asyncio.BaseEventLoop):
    """An event loop in virtual time, beginning at 0.

    Attributes:
        turns: How many times callbacks were run: a measure of the work of a run that is the same on any machine.
    """

    def __init__(self) -> None:
        super().__init__()
        self._now_s = 0.0
        self.turns = 0
        self._selector = _NoEvents(self)
        self._clock_resolution = _RESOLUTION_S

    def time(self) -> float:
        """Seconds of virtual time since the loop was made."""
        return self._now_s

    def move_on(self, duration_s: float) -> None:
        """Let time pass; called by the loop itself when nothing is ready."""
        self.turns += 1
        self._now_s += duration_s

    def run_in_executor(  # type: ignore[override]  # a future that is done already
        self, executor: object, func: Callable[..., T], *args: Any
    ) -> "asyncio.Future[T]":
        """The outcome of `func`, run now: a thread would end at a moment that no seed decides."""
        del executor
        done: asyncio.Future[T] = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as exc:  # noqa: BLE001 - whatever it is belongs to whoever awaits it
            done.set_exception(exc)
        return done

    def _process_events(self, event_list: list[Never]) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """Wake nobody, as nobody calls from another thread."""


class VirtualClock:
    """The port `Clock` over the time of the running loop.

    Attributes:
        step_s: By how much the wall clock was set since the start; a fault schedule changes it.
    """

    def __init__(self, epoch_s: float = EPOCH_S) -> None:
        self._epoch_s = epoch_s
        self.step_s = 0.0

    def now_s(self) -> float:
        """Seconds since 1970, as the machine's wall clock shows them."""
        return self._epoch_s + self.step_s + self.monotonic_s()

    def monotonic_s(self) -> float:
        """Seconds of virtual time."""
        return asyncio.get_running_loop().time()

    async def sleep(self, duration_s: float) -> None:
        """Wait; a duration of 0 or less lets others run once."""
        await asyncio.sleep(max(0.0, duration_s))


def run_in_virtual_time(main: Coroutine[Any, Any, T]) -> T:
    """Run a program to its end in a loop of its own, and return its outcome."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)
