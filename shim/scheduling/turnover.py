"""Turnover of a queue's containers: how many come free before whoever is next could be told.

Between the end of a container and the grant that takes its place lie four heartbeats, as news goes with the calls of
ApplicationMasters: one hears of the end, the first in line is told what it was granted, the call of the next carries
its ask, and a node allocates. What comes free meanwhile would stay idle if nobody else waited for it.
"""

from collections import deque
from collections.abc import Mapping

from shim.domain.ids import SubClusterId

__all__ = ["Turnover"]

_WINDOW_S = 10.0
_EXCHANGE_S = 4.0
"""Four heartbeats of a second, as most ApplicationMasters have them."""
_MOST = 1024


class _Lately:
    """Counts what happened in the last seconds; of very many the newest are remembered."""

    def __init__(self) -> None:
        self._at_s: deque[float] = deque(maxlen=_MOST)

    def note(self, at_s: float) -> None:
        self._at_s.append(at_s)

    def rate(self, at_s: float) -> float:
        """Number of them in a second."""
        times = self._at_s
        while times and times[0] < at_s - _WINDOW_S:
            times.popleft()
        whole_s = at_s - times[0] if len(times) == _MOST else _WINDOW_S
        return len(times) / max(whole_s, 1e-3)


class Turnover:
    """Grants by sub-cluster, and ends of containers, of one queue.

    Grants alone would count room that was free before, and ends do not tell where they were: what ends is taken to have
    been where schedulers grant.
    """

    def __init__(self) -> None:
        self._grants: dict[SubClusterId, _Lately] = {}
        self._ends = _Lately()

    def granted(self, subcluster: SubClusterId, at_s: float) -> None:
        """A scheduler granted a container."""
        self._grants.setdefault(subcluster, _Lately()).note(at_s)

    def ended(self, at_s: float) -> None:
        """A container ended."""
        self._ends.note(at_s)

    def soon(self, at_s: float) -> Mapping[SubClusterId, float]:
        """Tell how many containers come free at each sub-cluster before whoever is next could be told."""
        rates = {name: lately.rate(at_s) for name, lately in self._grants.items()}
        granted, ended = sum(rates.values()), self._ends.rate(at_s)
        part = min(1.0, ended / granted) if granted else 0.0
        return {name: rate * part * _EXCHANGE_S for name, rate in rates.items()}
