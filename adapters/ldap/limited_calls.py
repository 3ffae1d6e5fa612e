"""Blocking calls of a C library with a limit of time: what takes longer goes on in a thread that nobody waits for."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from shim.errors import UnavailableError

__all__ = ["LimitedCalls"]

T = TypeVar("T")


class _Call(Generic[T]):
    """A call under way in a thread of its own."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._outcome: list[T] = []
        self._error: BaseException | None = None
        self.is_over = threading.Event()

    def run(self) -> None:
        try:
            self._outcome.append(self._work())
        except BaseException as exc:  # noqa: BLE001 - raised again where somebody waits
            self._error = exc
        finally:
            self.is_over.set()

    def outcome(self) -> T:
        if self._error is not None:
            raise self._error
        return self._outcome[0]


class LimitedCalls:
    """Calls work that may hang where no limit of time of its own reaches.

    libldap waits for the server's side of a TLS handshake at `ldaps://` without end (OpenLDAP 2.5, unless it was built
    to do without blocking). Such a thread cannot be ended, so that their number has to be limited.

    Args:
        limit_s: How long a caller waits.
        most: Calls under way at one time, those among them that nobody waits for any more.
    """

    def __init__(self, limit_s: float, *, most: int = 8) -> None:
        self._limit_s, self._most = limit_s, most
        self._lock = threading.Lock()
        self._calls: list[_Call[object]] = []

    def run(self, work: Callable[[], T]) -> T:
        """Return what `work` returns, or raise what it raises.

        Raises:
            UnavailableError: It takes longer than the limit, or too many calls hang already.
        """
        call = _Call(work)
        with self._lock:
            self._calls = [each for each in self._calls if not each.is_over.is_set()]
            if len(self._calls) >= self._most:
                raise UnavailableError(f"{len(self._calls)} calls have not ended: the server takes them and hangs")
            self._calls.append(call)  # type: ignore[arg-type] # its outcome is not looked at here
        threading.Thread(target=call.run, name="heddle-ldap", daemon=True).start()
        if not call.is_over.wait(self._limit_s):
            raise UnavailableError(f"not done within {self._limit_s:g} s: the server takes connections and hangs")
        return call.outcome()
