"""Work that held the event loop: told in the log, by the name of what was answered."""

import time
from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeVar

import structlog

T = TypeVar("T")

_EVERY_S = 60.0
_LONGEST_NAME = 100
_log = structlog.get_logger("heddle.loop")


class SlowTurns:
    """Measures each turn of what answers a request, and warns of long ones: once in a while, with how many there were.

    Args:
        now_s: Seconds of a clock that is never set back.
    """

    def __init__(self, *, limit_s: float = 0.05, now_s: Callable[[], float] = time.perf_counter) -> None:
        self._limit_s = limit_s
        self._now_s = now_s
        self._warned_s = float("-inf")
        self._count = 0
        self._worst: tuple[float, str] = (0.0, "")

    async def watch(self, work: Coroutine[Any, Any, T], name: Callable[[], str]) -> T:
        """The outcome of `work`.

        Args:
            name: What it is called in the log, asked for only after a long turn: the endpoint, no value of a client.
        """
        outcome: T = await _Watched(work, self, name)
        return outcome

    def note(self, took_s: float, name: Callable[[], str]) -> None:
        if took_s <= self._limit_s:
            return
        self._count += 1
        self._worst = max(self._worst, (took_s, name()[:_LONGEST_NAME]))
        now_s = self._now_s()
        if now_s - self._warned_s < _EVERY_S:
            return
        self._warned_s = now_s
        longest_s, who = self._worst
        _log.warning("the event loop was held", by=who, held_ms=round(1000 * longest_s), times=self._count)
        self._count, self._worst = 0, (0.0, "")

    @property
    def now_s(self) -> Callable[[], float]:
        return self._now_s


class _Watched:
    """Drives a coroutine turn by turn."""

    def __init__(self, work: Coroutine[Any, Any, Any], turns: SlowTurns, name: Callable[[], str]) -> None:
        self._work = work
        self._turns = turns
        self._name = name

    def __await__(self) -> Generator[Any, Any, Any]:
        work, now_s = self._work, self._turns.now_s
        advance: Callable[[Any], Any] = work.send
        given: Any = None
        while True:
            began_s = now_s()
            try:
                waits_for = advance(given)
            except StopIteration as done:
                return done.value
            finally:
                self._turns.note(now_s() - began_s, self._name)
                given = None
            advance = work.send
            try:
                given = yield waits_for
            except BaseException as exc:  # noqa: BLE001 - a cancellation goes to the work, as in `await`
                # an error knows this frame: kept here, it and all that a request had would wait for the collector
                advance, given, waits_for = work.throw, exc, None
