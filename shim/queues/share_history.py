"""Shares of queues over the last day: a sample a minute, of this process, since its start."""

from array import array
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest

from shim.ports.clock import Clock
from shim.queues.core.entitle import QueueShareStatus

EVERY_S = 60.0
_MOST_SAMPLES = 24 * 60
_MOST_QUEUES = 1000


@dataclass(frozen=True, slots=True)
class ShareSample:
    """All sharing queues at one moment.

    Attributes:
        at_ms: When, since the epoch.
        places: Place of each queue in the arrays; samples of the same queues have one mapping together.
        used: Part of the federation that each holds; `entitlement` likewise what it is entitled to.
    """

    at_ms: int
    places: Mapping[str, int]
    used: "array[float]"
    entitlement: "array[float]"


@dataclass(frozen=True, slots=True)
class ShareSeries:
    """One queue over time; None where it had no share.

    Attributes:
        used: Part of the federation, for each sample; `entitlement` likewise.
    """

    queue: str
    used: Sequence[float | None]
    entitlement: Sequence[float | None]


class ShareHistory:
    """Keeps 1,440 samples of at most 1,000 queues, those that are entitled to most: at most 12 MB.

    Args:
        clock: The machine's.
    """

    def __init__(self, statuses: Callable[[], Mapping[str, QueueShareStatus]], clock: Clock) -> None:
        self._statuses = statuses
        self._clock = clock
        self._samples: deque[ShareSample] = deque(maxlen=_MOST_SAMPLES)

    async def run(self) -> None:
        """Take a sample a minute until cancelled."""
        while True:
            self.sample()
            await self._clock.sleep(EVERY_S)

    def sample(self) -> None:
        """Take a sample; none while no queue has a share."""
        statuses = self._statuses()
        if statuses:
            self._samples.append(self._sample_of(statuses))

    def _sample_of(self, statuses: Mapping[str, QueueShareStatus]) -> ShareSample:
        kept = nlargest(_MOST_QUEUES, statuses, key=lambda path: statuses[path].entitlement)
        names = sorted(kept)
        places: Mapping[str, int] = {path: place for place, path in enumerate(names)}
        if self._samples and self._samples[-1].places == places:
            places = self._samples[-1].places
        return ShareSample(
            int(self._clock.now_s() * 1000),
            places,
            array("f", [statuses[path].used for path in names]),
            array("f", [statuses[path].entitlement for path in names]),
        )

    def times_ms(self, since_ms: int = 0) -> list[int]:
        """Times of the samples, oldest first; milliseconds since the epoch."""
        return [each.at_ms for each in self._since(since_ms)]

    def of(self, queues: Sequence[str], since_ms: int = 0) -> list[ShareSeries]:
        samples = self._since(since_ms)
        return [
            ShareSeries(
                path,
                [_at(each.used, each.places.get(path)) for each in samples],
                [_at(each.entitlement, each.places.get(path)) for each in samples],
            )
            for path in queues
        ]

    def largest(self, count: int) -> list[str]:
        """The queues that are entitled to most, by the newest sample."""
        if not self._samples:
            return []
        newest = self._samples[-1]
        return nlargest(count, newest.places, key=lambda path: newest.entitlement[newest.places[path]])

    def _since(self, since_ms: int) -> list[ShareSample]:
        return [each for each in self._samples if each.at_ms >= since_ms]


def _at(values: "array[float]", place: int | None) -> float | None:
    return None if place is None else round(values[place], 4)
