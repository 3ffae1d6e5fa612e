"""Place of an application among those that wait for their queue's turn, and what its client is told of it."""

from dataclasses import dataclass

__all__ = ["WaitingPlace"]


@dataclass(frozen=True, slots=True)
class WaitingPlace:
    """Place of an application among those that wait in its queue.

    Attributes:
        position: From 1.
        count: How many wait there.
        expected_s: Seconds until its turn, at the present rate of starts; None while there is none.
    """

    position: int
    count: int
    expected_s: float | None

    def told(self, reason: str) -> str:
        """Say why it waits, where, and for how long."""
        expected = f"; about {_duration(self.expected_s)} at the present rate" if self.expected_s is not None else ""
        return f"Waits in Heddle for its queue's turn, {self.position} of {self.count}{expected}: {reason}."


def _duration(seconds: float) -> str:
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
