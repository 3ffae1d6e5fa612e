"""How fast schedulers grant containers to a queue's attempts: as fast as containers come free, where all is in use.

Between the end of a container and the grant that takes its place lie four heartbeats, as news goes with the calls of
ApplicationMasters: one hears of the end, the first in line is told what it was granted, the call of the next carries
its ask, and a node allocates. What comes free meanwhile would stay idle if nobody else waited for it.
"""

from collections import deque
from collections.abc import Mapping

from shim.domain.ids import SubClusterId

__all__ = ["GrantRates"]

_WINDOW_S = 10.0
_EXCHANGE_S = 4.0
"""Four heartbeats of a second, as most ApplicationMasters have them."""
_MOST = 1024


class GrantRates:
    """Grants of the last seconds, by sub-cluster."""

    def __init__(self) -> None:
        self._at_s: dict[SubClusterId, deque[float]] = {}

    def note(self, subcluster: SubClusterId, at_s: float) -> None:
        """A scheduler granted a container."""
        self._at_s.setdefault(subcluster, deque(maxlen=_MOST)).append(at_s)

    def soon(self, at_s: float) -> Mapping[SubClusterId, float]:
        """Tell how many containers come free at each sub-cluster before whoever is next could be told."""
        return {name: self._rate(times, at_s) * _EXCHANGE_S for name, times in self._at_s.items()}

    @staticmethod
    def _rate(times: deque[float], at_s: float) -> float:
        """Grants in a second; of more than are remembered, those that are."""
        while times and times[0] < at_s - _WINDOW_S:
            times.popleft()
        whole = at_s - times[0] if len(times) == _MOST else _WINDOW_S
        return len(times) / max(whole, 1e-3)
