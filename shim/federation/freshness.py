"""Age of an answer, and the sub-clusters whose part is late: the headers `Heddle-As-Of` and `Heddle-Missing`."""

import datetime as dt
import math
from dataclasses import dataclass
from functools import lru_cache

from shim.domain.ids import SubClusterId
from shim.federation.core.federation_view import FederationView, Part

_MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True)
class Freshness:
    """Honest age of an answer.

    Attributes:
        as_of_s: When the oldest part of the answer was asked for; seconds since the epoch. Parts of missing
            sub-clusters do not count: they may be of any age.
        missing: Sub-clusters whose part is old or absent.
    """

    as_of_s: float
    missing: tuple[SubClusterId, ...] = ()


def freshness_of(view: FederationView, part: Part, now_s: float) -> Freshness:
    """Age of an answer that is made of one part of every sub-cluster.

    A sub-cluster that never told the part is missing. If all are missing, the age is that of the oldest part known.
    """
    late = view.late(now_s)
    told = {subcluster: view.as_of_s(subcluster, part) for subcluster in view.subclusters}
    missing = tuple(subcluster for subcluster, as_of_s in told.items() if as_of_s is None or subcluster in late)
    known = {subcluster: as_of_s for subcluster, as_of_s in told.items() if as_of_s is not None}
    in_time = [as_of_s for subcluster, as_of_s in known.items() if subcluster not in missing]
    return Freshness(min(in_time or known.values(), default=now_s), missing)


@lru_cache(maxsize=256)
def instant(time_s: float) -> str:
    """A moment as RFC 3339 has it, in milliseconds."""
    second = math.floor(time_s)
    microsecond = round((time_s - second) * _MICROSECONDS)
    if microsecond == _MICROSECONDS:
        second, microsecond = second + 1, 0
    return f"{_second(second)}.{microsecond // 1000:03d}Z"


@lru_cache(maxsize=16)  # of the current second there are many moments
def _second(second: int) -> str:
    return f"{dt.datetime.fromtimestamp(second, dt.UTC):%Y-%m-%dT%H:%M:%S}"
