"""Debits and credits of altruism: what jobs gave of their shares, and what they received beyond them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Credits:
    """Amounts that were given and received; they only grow.

    given_s, received_s: Seconds of the whole share of a queue.
    given_mib_s, received_mib_s: The same times the memory of that share, so that queues of different sizes add up.
    """

    given_s: float = 0.0
    received_s: float = 0.0
    given_mib_s: float = 0.0
    received_mib_s: float = 0.0

    def __add__(self, other: "Credits") -> "Credits":
        return Credits(
            self.given_s + other.given_s,
            self.received_s + other.received_s,
            self.given_mib_s + other.given_mib_s,
            self.received_mib_s + other.received_mib_s,
        )

    def __sub__(self, other: "Credits") -> "Credits":
        return Credits(
            self.given_s - other.given_s,
            self.received_s - other.received_s,
            self.given_mib_s - other.given_mib_s,
            self.received_mib_s - other.received_mib_s,
        )

    def covers(self, other: "Credits") -> bool:
        """Return whether no amount is below that of another."""
        return self.given_s >= other.given_s and self.received_s >= other.received_s


NO_CREDITS = Credits()
