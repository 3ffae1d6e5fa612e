"""Who is connected to a door, and what is kept in memory for each: nobody can keep others out, or fill the memory.

A house that is full does not turn newcomers away: whoever fills it would keep everybody else out for as long as it
likes. Whoever has been silent for longest goes instead, first among those of an address that has more than its part.
An idle connection costs its client a new one. The same holds for bytes: whoever has made the door keep some for longest
goes.
"""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

__all__ = ["ByteBudget", "Guest", "GuestBook"]


class Guest(Protocol):
    """A connection."""

    def turn_out(self) -> None:
        """Cut it; others need the room."""
        ...


G = TypeVar("G", bound=Guest)


class GuestBook(Generic[G]):
    """The connections of one door.

    Args:
        most: How many there may be.
        most_of_one: How many of them from one address.
    """

    def __init__(self, most: int, most_of_one: int) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._address_of: OrderedDict[G, str] = OrderedDict()  # the one that has been silent for longest is the first
        self._of_address: dict[str, OrderedDict[G, None]] = {}

    def __len__(self) -> int:
        return len(self._address_of)

    def __iter__(self) -> Iterator[G]:
        """Everybody who is here now, whatever becomes of them meanwhile."""
        return iter(tuple(self._address_of))

    def enter(self, guest: G, address: str) -> None:
        """Somebody connected; somebody else may have to go."""
        self._address_of[guest] = address
        neighbours = self._of_address.setdefault(address, OrderedDict())
        neighbours[guest] = None
        if len(neighbours) > self._most_of_one:
            self._turn_out(next(iter(neighbours)))
        elif len(self._address_of) > self._most:
            self._turn_out(next(iter(self._address_of)))

    def heard_of(self, guest: G) -> None:
        """Somebody sent something."""
        address = self._address_of.get(guest)
        if address is not None:
            self._address_of.move_to_end(guest)
            self._of_address[address].move_to_end(guest)

    def leave(self, guest: G) -> None:
        """Somebody has gone; nothing happens if it is not here."""
        address = self._address_of.pop(guest, None)
        if address is None:
            return
        neighbours = self._of_address[address]
        del neighbours[guest]
        if not neighbours:
            del self._of_address[address]

    def _turn_out(self, guest: G) -> None:
        self.leave(guest)
        guest.turn_out()


class ByteBudget:
    """What a door keeps for its connections: requests that are not whole, answers that are not taken.

    Args:
        most: Bytes for all of them together.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[Guest, int] = OrderedDict()
        self._total = 0

    def __len__(self) -> int:
        return self._total

    def hold(self, guest: Guest, count: int) -> None:
        """So many bytes are kept for somebody now; those for whom some are kept for longest may have to go."""
        self._total += count - self._held.get(guest, 0)
        if count:
            self._held[guest] = count
        else:
            self._held.pop(guest, None)
        while self._total > self._most:
            oldest = next(iter(self._held))
            self.hold(oldest, 0)
            oldest.turn_out()
