"""How long somebody waits without a break: how long that has lasted, at times, and how long it may last yet.

Who waits for a slot does not mind how long a task of somebody else runs after everybody has been served. So in an order
no task counts for longer than the queue may last: its *horizon*. Where a queue lasts for seconds, a slot that goes to
a task of an hour costs the others what one costs that goes to a task of a minute, and what counts is how many slots a
job wants; where it lasts for hours, work counts.
"""

import math
from bisect import bisect_right, insort
from collections import deque

__all__ = ["QueueSpells"]

_FACTOR = 2.0
_STEPS_PER_OCTAVE = 4
_SHORTEST_S = 1.0 / 1024.0
_REMEMBERED = 256
_ROUNDING_S = 1e-6


class QueueSpells:
    """Spells in which somebody waited, as those tell who know everybody's bids; times are in seconds by one clock."""

    def __init__(self) -> None:
        self._began_s = 0.0
        self._heard_s = 0.0
        self._order: deque[float] = deque()
        self._lasted_s: list[float] = []

    def hear(self, at_s: float, waited_s: float) -> None:
        """Hear from somebody that there has been waiting for so long without a break; 0 if nobody waits there."""
        began_s = at_s - waited_s
        if began_s > self._began_s + _ROUNDING_S:
            self._end(self._heard_s - self._began_s)
            self._began_s = began_s
        self._heard_s = at_s

    def horizon_s(self, now_s: float) -> float:
        """Seconds that a task counts for at most.

        That is twice what is left of this spell on average: as much as of those that lasted longer so far, and, as one
        of these, as long again as it has lasted. In quarters of an octave, so that it changes seldom.
        """
        waited_s = max(0.0, now_s - self._began_s)
        longer_s = self._lasted_s[bisect_right(self._lasted_s, waited_s) :]
        left_s = (sum(longer_s) - len(longer_s) * waited_s + waited_s) / (len(longer_s) + 1)
        steps = math.log2(max(_FACTOR * left_s, _SHORTEST_S)) * _STEPS_PER_OCTAVE
        return float(2.0 ** (math.ceil(steps) / _STEPS_PER_OCTAVE))

    def _end(self, lasted_s: float) -> None:
        if lasted_s <= _ROUNDING_S:
            return
        self._order.append(lasted_s)
        insort(self._lasted_s, lasted_s)
        if len(self._order) > _REMEMBERED:
            self._lasted_s.remove(self._order.popleft())
