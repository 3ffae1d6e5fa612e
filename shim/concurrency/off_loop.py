"""Work that would hold the event loop, on a thread of its own: a little at a time, one piece for each caller."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from shim.errors import UnavailableError

T = TypeVar("T")


class OffLoop:
    """Runs pure functions on one thread.

    A thread cannot be stopped: the input of each piece of work must be bounded, and what takes longer than `limit_s` is
    answered without its outcome while the thread ends it. Its caller gets no second piece before that.

    Args:
        most_waiting: Pieces of work that wait or run at one time; more are refused.
        limit_s: How long a caller waits for the outcome.
    """

    def __init__(self, *, most_waiting: int = 8, limit_s: float = 10.0) -> None:
        self._most_waiting = most_waiting
        self._limit_s = limit_s
        self._callers: set[object] = set()
        self._turns: OrderedDict[str, deque[tuple[Callable[[], Any], asyncio.Future[Any]]]] = OrderedDict()
        self._is_taking_turns = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="heddle-work")

    def __len__(self) -> int:
        """Pieces of callers' work that wait or run."""
        return len(self._callers)

    async def run(self, caller: str, work: Callable[[], T]) -> T:
        """The outcome of `work`, which a caller asked for.

        Raises:
            UnavailableError: The caller's last piece is not done yet, too much waits, or it took too long.
        """
        if caller in self._callers:
            raise UnavailableError(f"another such request of {caller} is not done yet")
        if len(self._callers) >= self._most_waiting:
            raise UnavailableError("too many such requests at one time")
        self._callers.add(caller)
        running = asyncio.get_running_loop().run_in_executor(self._thread, work)
        running.add_done_callback(lambda done: self._end(caller, done))
        try:
            async with asyncio.timeout(self._limit_s):
                return await asyncio.shield(running)
        except TimeoutError as exc:
            raise UnavailableError(f"not done within {self._limit_s:g} s") from exc

    async def run_in_turn(self, caller: str, work: Callable[[], T]) -> T:
        """The outcome of `work`; while more waits, each caller has one piece done in turn, however many he has."""
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._turns.setdefault(caller, deque()).append((work, done))
        if not self._is_taking_turns:
            self._is_taking_turns = True
            self._next_turn()
        return await done

    def _next_turn(self) -> None:
        """Begin the piece of whoever is next, and put him at the end."""
        while self._turns:
            caller, pieces = self._turns.popitem(last=False)
            work, waiting = pieces.popleft()
            if pieces:
                self._turns[caller] = pieces
            if waiting.done():
                continue  # whoever asked has gone
            running = asyncio.ensure_future(self.run_own(work))
            running.add_done_callback(partial(self._end_turn, waiting))
            return
        self._is_taking_turns = False

    def _end_turn(self, waiting: "asyncio.Future[Any]", done: "asyncio.Future[Any]") -> None:
        if not waiting.done():
            failure = None if done.cancelled() else done.exception()
            if done.cancelled():
                waiting.cancel()
            elif failure is not None:
                waiting.set_exception(failure)
            else:
                waiting.set_result(done.result())
        elif not done.cancelled():
            done.exception()  # seen, also if its caller has gone
        self._next_turn()

    async def run_own(self, work: Callable[[], T]) -> T:
        """The outcome of `work` that no caller asked for: it waits for its turn, however much does."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _end(self, caller: str, done: "asyncio.Future[T]") -> None:
        self._callers.discard(caller)
        if not done.cancelled():
            done.exception()  # seen, also if its caller has gone
