"""The difference between the clocks of two machines, from messages that go one way.

A message that was sent at 10:00:00 by one clock and came at 10:00:07 by the other was on its way, and the clocks
differ: together 7 s. Of many messages the quickest tells the difference best.
"""

from collections import deque
from dataclasses import replace

from shim.domain.subclusters import SubClusterReport

__all__ = ["ClockOffset", "shifted"]

_REMEMBERED = 30
_LEAST_S = 0.5
"""A smaller difference may as well be the way, and is left as it is."""


class ClockOffset:
    """Lead of our clock over the sender's; follows clocks that are set within the last 30 messages."""

    def __init__(self) -> None:
        self._seen: deque[float] = deque(maxlen=_REMEMBERED)

    def note(self, *, sent_at_s: float, received_at_s: float) -> None:
        """A message came. Both in seconds since the epoch, by the clock of each; 0 for a sender that does not say."""
        if sent_at_s > 0:
            self._seen.append(received_at_s - sent_at_s)

    @property
    def offset_s(self) -> float:
        """Seconds to add to the sender's times; 0 while the clocks agree within half a second."""
        least = min(self._seen, default=0.0)
        return least if abs(least) >= _LEAST_S else 0.0


def shifted(report: SubClusterReport, by_s: float) -> SubClusterReport:
    """A report with its times by another clock."""
    if by_s == 0:
        return report
    applications = {
        name: replace(document, as_of_s=document.as_of_s + by_s) for name, document in report.applications.items()
    }
    return replace(
        report,
        polled_at_s=report.polled_at_s + by_s,
        clock_skew_s=report.clock_skew_s - by_s,
        applications=applications,
    )
