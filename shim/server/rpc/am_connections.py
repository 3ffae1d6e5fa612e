"""Connections at the scheduler server: none there can keep others out for long.

Anybody who reaches the port may connect, and an application runs its user's code. So of those that have not logged in
the oldest goes when there are too many, from one address or in all; and an attempt that logs in again and again ends
its own older connections.
"""

from dataclasses import dataclass

from shim.domain.ids import ApplicationAttemptId
from shim.server.connection_registry import ConnectionRegistry, TrackedConnection


@dataclass(frozen=True, slots=True)
class AMConnectionLimits:
    """Limits of connections."""

    most: int = 8192
    most_entering: int = 2048
    most_entering_of_one: int = 512
    most_of_attempt: int = 4


class AMConnectionRegistry:
    """Keeps the books of one server."""

    def __init__(self, limits: AMConnectionLimits) -> None:
        self._limits = limits
        self._entering: ConnectionRegistry[TrackedConnection] = ConnectionRegistry(
            limits.most_entering, limits.most_entering_of_one
        )
        self._settled: dict[TrackedConnection, ApplicationAttemptId] = {}
        self._of_attempt: dict[ApplicationAttemptId, list[TrackedConnection]] = {}

    def __len__(self) -> int:
        return len(self._entering) + len(self._settled)

    @property
    def connections(self) -> tuple[TrackedConnection, ...]:
        return (*self._entering, *self._settled)

    def enter(self, connection: TrackedConnection, address: str) -> None:
        """Take in a connection; the oldest that has not logged in may have to go."""
        self._entering.enter(connection, address)

    def settle(self, connection: TrackedConnection, attempt: ApplicationAttemptId) -> bool:
        """Note a login; False if the house is full."""
        self._entering.leave(connection)
        if len(self._settled) >= self._limits.most:
            return False
        self._settled[connection] = attempt
        others = self._of_attempt.setdefault(attempt, [])
        others.append(connection)
        if len(others) > self._limits.most_of_attempt:
            oldest = others[0]
            self.leave(oldest)
            oldest.turn_out()
        return True

    def leave(self, connection: TrackedConnection) -> None:
        """Drop a connection that has gone; nothing happens if it is not here."""
        self._entering.leave(connection)
        attempt = self._settled.pop(connection, None)
        if attempt is None:
            return
        others = self._of_attempt[attempt]
        others.remove(connection)
        if not others:
            del self._of_attempt[attempt]
