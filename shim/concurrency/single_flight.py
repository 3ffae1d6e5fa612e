"""One question for all who ask the same at the same time."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SingleFlight(Generic[K, V]):
    """Runs at most one call for a key at a time; whoever asks meanwhile gets its outcome.

    A waiter that is cancelled leaves the call running for the others.
    """

    def __init__(self) -> None:
        self._flights: dict[K, asyncio.Future[V]] = {}

    def __len__(self) -> int:
        return len(self._flights)

    def __contains__(self, key: object) -> bool:
        return key in self._flights

    async def do(self, key: K, call: Callable[[], Awaitable[V]]) -> V:
        """The outcome of `call`, or of the one that is under way for `key`."""
        flight = self._flights.get(key)
        if flight is None:
            flight = asyncio.ensure_future(call())
            self._flights[key] = flight
            flight.add_done_callback(lambda done: self._record_answer(key, done))
        return await asyncio.shield(flight)

    def _record_answer(self, key: K, done: "asyncio.Future[V]") -> None:
        del self._flights[key]
        if not done.cancelled():
            done.exception()  # seen, also if every waiter has gone
