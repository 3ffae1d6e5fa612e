"""A clock that stands still until a test moves it."""

import asyncio
import heapq
from itertools import count

_SETTLING_ROUNDS = 50


class FakeClock:
    """Time in the hands of a test: `shim.ports.Clock`.

    Tasks that sleep wake in the order of their times when `advance` passes them. Between two wake-ups every other task
    runs until it waits for something again, as far as that takes at most 50 rounds of the event loop: real sockets and
    threads are outside its reach.

    Attributes:
        wall_s: What `now_s` says; may be set to step the wall clock without letting time pass.
    """

    def __init__(self, wall_s: float = 1_800_000_000.0) -> None:
        self.wall_s = wall_s
        self._monotonic_s = 1000.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()

    def now_s(self) -> float:
        """Seconds since the epoch."""
        return self.wall_s

    def monotonic_s(self) -> float:
        """Seconds that never step back."""
        return self._monotonic_s

    async def sleep(self, duration_s: float) -> None:
        """Wait until `advance` has moved the time on by `duration_s`."""
        if duration_s <= 0:
            await asyncio.sleep(0)
            return
        waiter = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._monotonic_s + duration_s, next(self._order), waiter))
        await waiter

    async def advance(self, duration_s: float) -> None:
        """Let `duration_s` pass, waking sleepers one by one at their time."""
        end_s = self._monotonic_s + duration_s
        await self.settle()
        while self._sleepers and self._sleepers[0][0] <= end_s:
            at_s, _, waiter = heapq.heappop(self._sleepers)
            self._move_to(max(at_s, self._monotonic_s))
            if not waiter.done():
                waiter.set_result(None)
                await self.settle()
        self._move_to(end_s)
        await self.settle()

    async def settle(self) -> None:
        """Let every task run until it waits for something."""
        for _ in range(_SETTLING_ROUNDS):
            await asyncio.sleep(0)

    def _move_to(self, monotonic_s: float) -> None:
        self.wall_s += monotonic_s - self._monotonic_s
        self._monotonic_s = monotonic_s
