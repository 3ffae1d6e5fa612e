"""How old an answer is, and whose part of it is late: the headers `Heddle-As-Of` and `Heddle-Missing`."""

from dataclasses import dataclass

from shim.domain.ids import SubClusterId

__all__ = ["Freshness"]


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
