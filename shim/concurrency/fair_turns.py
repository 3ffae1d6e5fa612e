"""Turns: who is served next, while more comes than can be served at once: addresses in turn, and the users of each.

A user who floods a server waits behind what he sent himself; whoever sends little waits for one round at most.

Source: M. Shreedhar and G. Varghese, "Efficient Fair Queuing Using Deficit Round Robin" (SIGCOMM 1995), with every
piece of work counted alike.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class RoundRobin(Generic[T]):
    """Queues of two levels, by address and by user, of which each is taken from in turn.

    Within one user, first come is first served. Nothing is kept of an address or a user without an entry.
    """

    def __init__(self) -> None:
        self._addresses: dict[str, dict[bytes, deque[T]]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def put(self, address: str, user: bytes, entry: T) -> None:
        self._addresses.setdefault(address, {}).setdefault(user, deque()).append(entry)
        self._count += 1

    def pop(self) -> T:
        """Take the entry whose turn it is.

        Raises:
            IndexError: There is none.
        """
        if not self._count:
            raise IndexError("nobody waits")
        address = next(iter(self._addresses))
        users = self._addresses.pop(address)
        user = next(iter(users))
        entries = users.pop(user)
        entry = entries.popleft()
        if entries:
            users[user] = entries  # at the end: everybody else of the address comes before
        if users:
            self._addresses[address] = users
        self._count -= 1
        return entry


class FairTurns:
    """Lets a bounded number of pieces of work through in each pass of an event loop.

    Args:
        call_soon: Runs something in the loop's next pass.
    """

    def __init__(self, call_soon: Callable[[Callable[[], None]], object], *, each_pass: int = 8) -> None:
        self._call_soon = call_soon
        self._each_pass = each_pass
        self._left = each_pass
        self._is_passing = False
        self._waiting: RoundRobin[Callable[[], None]] = RoundRobin()

    def __len__(self) -> int:
        """Pieces of work that wait."""
        return len(self._waiting)

    def take(self) -> bool:
        """Let a piece of work begin now, or tell that it must `wait`."""
        if not self._left or self._waiting:
            return False
        self._left -= 1
        self._pass_soon()
        return True

    def spend(self, pieces: int) -> None:
        """Tell that the piece of work that was begun last takes as long as so many more."""
        self._left = max(0, self._left - pieces)

    def wait(self, address: str, user: bytes, work: Callable[[], None]) -> None:
        self._waiting.put(address, user, work)
        self._pass_soon()

    async def turn(self, address: str, user: bytes) -> None:
        """Return when it is the caller's turn, for work after a wait."""
        if self.take():
            return
        is_due: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.wait(address, user, lambda: None if is_due.done() else is_due.set_result(None))
        await is_due

    def _pass_soon(self) -> None:
        if not self._is_passing:
            self._is_passing = True
            self._call_soon(self._pass)

    def _pass(self) -> None:
        self._is_passing = False
        self._left = self._each_pass
        while self._left and self._waiting:
            self._left -= 1
            self._pass_soon()  # before the work, which may fail
            self._waiting.pop()()
