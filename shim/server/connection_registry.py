"""The connections of a server and the memory kept for each, with limits that hold for every client.

At capacity, the longest-idle connection is evicted, first among those of an address that has more than its part. A
limit that refuses newcomers would let one client keep all others out. An evicted client loses an idle connection and
may connect again. The same holds for bytes: the connection for which bytes were kept longest is evicted.
"""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar


class TrackedConnection(Protocol):
    """A connection."""

    def turn_out(self) -> None:
        """Cut it; others need the room."""
        ...


G = TypeVar("G", bound=TrackedConnection)


class ConnectionRegistry(Generic[G]):
    """The connections of one server."""

    def __init__(self, most: int, most_of_one: int) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._address_of: OrderedDict[G, str] = OrderedDict()  # the one that has been silent for longest is the first
        self._of_address: dict[str, OrderedDict[G, None]] = {}

    def __len__(self) -> int:
        return len(self._address_of)

    def __iter__(self) -> Iterator[G]:
        return iter(tuple(self._address_of))

    def enter(self, connection: G, address: str) -> None:
        """Take in a connection; another one may have to go."""
        self._address_of[connection] = address
        neighbours = self._of_address.setdefault(address, OrderedDict())
        neighbours[connection] = None
        if len(neighbours) > self._most_of_one:
            self._turn_out(next(iter(neighbours)))
        elif len(self._address_of) > self._most:
            self._turn_out(next(iter(self._address_of)))

    def heard_of(self, connection: G) -> None:
        """Note that a connection sent something."""
        address = self._address_of.get(connection)
        if address is not None:
            self._address_of.move_to_end(connection)
            self._of_address[address].move_to_end(connection)

    def leave(self, connection: G) -> None:
        """Drop a connection that has gone; nothing happens if it is not here."""
        address = self._address_of.pop(connection, None)
        if address is None:
            return
        neighbours = self._of_address[address]
        del neighbours[connection]
        if not neighbours:
            del self._of_address[address]

    def _turn_out(self, connection: G) -> None:
        self.leave(connection)
        connection.turn_out()


class ByteBudget:
    """Bytes that a server keeps for its connections: requests that are not whole, answers that are not taken.

    Args:
        most: Bytes for all of them together.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[TrackedConnection, int] = OrderedDict()
        self._total = 0

    def __len__(self) -> int:
        return self._total

    def hold(self, connection: TrackedConnection, count: int) -> None:
        """So many bytes are kept for somebody now; those for whom some are kept for longest may have to go."""
        self._total += count - self._held.get(connection, 0)
        if count:
            self._held[connection] = count
        else:
            self._held.pop(connection, None)
        while self._total > self._most:
            oldest = next(iter(self._held))
            self.hold(oldest, 0)
            oldest.turn_out()
