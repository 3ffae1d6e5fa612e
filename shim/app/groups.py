"""The groups of users, on this machine or in a directory, for callers on the event loop.

To ask the machine may mean to ask a directory far away (NSS, with LDAP behind it), which may take long, or for ever. So
threads ask, answers are kept, and who has to have a first one awaits it: nothing here holds the event loop. Who cannot
be told is told so: to take a user for one without groups would refuse what is allowed, or allow what a list of others
forbids.
"""

import asyncio
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cache
from queue import SimpleQueue

import structlog

from shim.app.host_limits import groups_of
from shim.errors import GroupsUnknownError, UnavailableError

_SAYS_EVERY_S = 60.0
_NOT_KNOWN = "the groups of the user are not known yet: who tells them is slow, or away"

_log = structlog.get_logger("heddle.groups")


@dataclass(frozen=True, slots=True)
class _Known:
    groups: frozenset[str]
    at_s: float


@dataclass(slots=True)
class _Question:
    user: str
    end: Future[None] = field(default_factory=Future)
    end_here: "asyncio.Future[None] | None" = None

    def ended(self) -> "asyncio.Future[None]":
        """The end for the running loop: one for all that wait, so that a question that hangs gathers none of them."""
        if self.end_here is None or self.end_here.get_loop() is not asyncio.get_running_loop():
            self.end_here = asyncio.wrap_future(self.end)
        return self.end_here


class GroupDirectory:
    """See the module. Call it with a user for the groups.

    Args:
        look_up: Asks the machine; called in threads.
        now_s: A clock that never goes back.
        fresh_s: For how long an answer is as good as a new one; after that it is used while it is asked for again.
        stale_s: For how long at most.
        wait_s: How long somebody awaits an answer that was never had.
        most_kept: Users; the one that was asked for longest ago goes first.
        most_open: Questions under way or waiting.
    """

    def __init__(
        self,
        look_up: Callable[[str], frozenset[str]] = groups_of,
        *,
        now_s: Callable[[], float] = time.monotonic,
        fresh_s: float = 60.0,
        stale_s: float = 600.0,
        wait_s: float = 1.0,
        most_kept: int = 4096,
        most_open: int = 64,
        threads: int = 2,
    ) -> None:
        self._look_up = look_up
        self._now_s = now_s
        self._fresh_s, self._stale_s, self._wait_s = fresh_s, stale_s, wait_s
        self._most_kept, self._most_open, self._most_threads = most_kept, most_open, threads
        self._lock = threading.Lock()
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._open: dict[str, _Question] = {}
        self._questions: SimpleQueue[_Question] = SimpleQueue()
        self._threads = 0
        self._says_again_s = -math.inf

    def __len__(self) -> int:
        return len(self._known)

    def __call__(self, user: str) -> frozenset[str]:
        """The groups of a user; none for one that the machine does not know.

        Raises:
            GroupsUnknownError: The machine has not told yet; it is asked.
            UnavailableError: So much is asked already that it is not even asked.
        """
        known = self._find(user, self._fresh_s)
        if known is not None:
            return known
        question = self._ask(user)
        known = self._find(user, self._stale_s)
        if known is not None:
            return known
        if question is None:
            raise UnavailableError(_NOT_KNOWN)

        async def are_told() -> bool:
            await asyncio.wait({question.ended()}, timeout=self._wait_s)
            return self._find(user, self._stale_s) is not None

        raise GroupsUnknownError(_NOT_KNOWN, are_told)

    def _find(self, user: str, age_s: float) -> frozenset[str] | None:
        with self._lock:
            known = self._known.get(user)
            if known is None or self._now_s() - known.at_s >= age_s:
                return None
            self._known.move_to_end(user)
            return known.groups

    def _ask(self, user: str) -> _Question | None:
        with self._lock:
            if (question := self._open.get(user)) is not None:
                return question
            if len(self._open) >= self._most_open:
                return None
            question = self._open[user] = _Question(user)
            is_short_of_threads = self._threads < min(len(self._open), self._most_threads)
            self._threads += is_short_of_threads
        self._questions.put(question)
        if is_short_of_threads:  # of the kind that does not keep the process from ending: it may hang for ever
            threading.Thread(target=self._work, name="heddle-groups", daemon=True).start()
        return question

    def _work(self) -> None:
        while True:
            question = self._questions.get()
            try:
                groups: frozenset[str] | None = self._look_up(question.user)
            except Exception as exc:  # noqa: BLE001 - a thread's boundary: whoever asks again has it asked again
                groups = None
                self._say_trouble(exc)
            with self._lock:
                del self._open[question.user]
                if groups is not None:
                    self._known[question.user] = _Known(groups, self._now_s())
                    self._known.move_to_end(question.user)
                while len(self._known) > self._most_kept:
                    self._known.popitem(last=False)
            question.end.set_result(None)

    def _say_trouble(self, error: Exception) -> None:
        """Log it, once in a while."""
        with self._lock:
            is_due = self._now_s() >= self._says_again_s
            if is_due:
                self._says_again_s = self._now_s() + _SAYS_EVERY_S
        if is_due:
            _log.warning("the groups of users cannot be asked for", error=str(error))


@cache
def group_directory() -> GroupDirectory:
    return GroupDirectory()
