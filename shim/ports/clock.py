"""Time as an object, so that tests can hold it."""

from typing import Protocol


class Clock(Protocol):
    """Source of the time."""

    def now_s(self) -> float:
        """Seconds since the epoch; may step when the machine's clock is set."""
        ...

    def monotonic_s(self) -> float:
        """Seconds since some fixed moment; never steps back. For ages and time-outs."""
        ...

    async def sleep(self, duration_s: float) -> None:
        """Wait; a duration of 0 or less lets others run once."""
        ...
