"""Token buckets: so many calls at once, and then so many a second.

A bucket is kept as one number, the time from which on it is full: calls that came too fast push it ahead. That is the
generic cell rate algorithm, which needs neither a level nor a timer (ITU-T I.371, annex A.2, virtual scheduling).
"""

from dataclasses import dataclass

__all__ = ["Rate", "RatedCall"]


@dataclass(frozen=True, slots=True)
class RatedCall:
    """The outcome of a call at a bucket.

    Attributes:
        full_at_s: The bucket after it.
        wait_s: 0 for a call that is let in; else from when on one would be, in seconds from now.
    """

    full_at_s: float
    wait_s: float


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate of calls.

    Attributes:
        per_s: Calls a second, on average; 0 for any number.
        burst: Calls that may come at once after a silence, at least 1.
    """

    per_s: float
    burst: int

    @property
    def is_limited(self) -> bool:
        """False where any number of calls is let in."""
        return self.per_s > 0

    def take(self, full_at_s: float | None, now_s: float) -> RatedCall:
        """One call at a bucket; a call that is not let in takes nothing.

        Args:
            full_at_s: The bucket before it; None for one that is full.
            now_s: A time that never goes back, as the bucket's.
        """
        if not self.is_limited:
            return RatedCall(now_s, 0.0)
        one_s = 1.0 / self.per_s
        begins_s = now_s if full_at_s is None else max(full_at_s, now_s)
        wait_s = begins_s + one_s - self.burst * one_s - now_s
        if wait_s > one_s * _ROUNDING:
            return RatedCall(begins_s, wait_s)
        return RatedCall(begins_s + one_s, 0.0)


_ROUNDING = 1e-6
"""Part of a call: what floating-point numbers may lose must not refuse one that is in time."""
