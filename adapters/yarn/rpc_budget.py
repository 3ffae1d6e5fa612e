"""Limit of RPC connections to all ResourceManagers together.

Each user has connections of its own, and clients make users up. The bound of one cluster alone would grow with the
number of clusters. At the bound the connection that has been idle for longest makes room, whichever cluster it is to.
"""

from typing import Protocol
from weakref import WeakSet

__all__ = ["ConnectionBudget", "HasConnections"]


class HasConnections(Protocol):
    """A client of one cluster, as far as the budget is concerned."""

    @property
    def connections(self) -> int:
        """Number of connections that are open or being opened."""
        ...

    def idle_since_s(self) -> float | None:
        """Time of the last use of the one that has been idle for longest; None if none is idle."""
        ...

    def close_idle(self) -> None:
        """Close the one that has been idle for longest."""
        ...

    def wake(self) -> None:
        """Look again whether there is room."""
        ...


class ConnectionBudget:
    """Connections of several clients together.

    Args:
        most: How many there may be.
    """

    def __init__(self, most: int = 1024) -> None:
        self._most = most
        self._members: WeakSet[HasConnections] = WeakSet()

    def __len__(self) -> int:
        return sum(member.connections for member in self._members)

    def join(self, member: HasConnections) -> None:
        """Count the connections of one more client, for as long as it lives."""
        self._members.add(member)

    def make_room(self) -> bool:
        """Close the connection that has been idle for longest if there is no room; True if one more may be opened."""
        if len(self) < self._most:
            return True
        idle = [(since_s, member) for member in self._members if (since_s := member.idle_since_s()) is not None]
        if not idle:
            return False
        min(idle, key=lambda each: each[0])[1].close_idle()
        return True

    def freed(self) -> None:
        """A call has ended somewhere: who waits for room looks again."""
        for member in tuple(self._members):
            member.wake()
