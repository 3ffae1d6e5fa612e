"""When an application would end in a sub-cluster: what is ahead of it there, in work, and when it could start.

Work is memory times time, in MiB x s. A sub-cluster does as much of it in a second as its queue may hold of memory; by
as much less as virtual cores run out before memory does. What is ahead of an application hangs on the queue's ordering
policy: by arrival, all that is left of what is there; in a fair one, of each application no more than the new one is
itself, so that a giant is hardly ahead of a small one. Where nobody waits for what is free, the new one may have that
at once, whatever is ahead. While ApplicationMasters wait for others to end, it starts when as many have ended as wait
before it.

These are estimates of a fluid, in which every application could use the whole queue: good to compare sub-clusters by,
and too short for whoever has a few long tasks.
"""

from bisect import bisect_right, insort
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class Expectation:
    """Expected work of an application.

    Attributes:
        mib_s: Memory times time; 0 where nothing is known.
        ground: What it rests on, for people.
    """

    mib_s: float = 0.0
    ground: str = ""


@dataclass(slots=True)
class QueueWork:
    """What is left of the live applications of one queue of one sub-cluster.

    Attributes:
        left: Of each, in MiB x s, the least first.
        started: Of those whose ApplicationMasters run, in the order of their arrival.
    """

    left: list[float] = field(default_factory=list)
    started: list[float] = field(default_factory=list)
    _sums: list[float] = field(default_factory=list)

    @classmethod
    def of(cls, applications: Iterable[tuple[float, bool]]) -> "QueueWork":
        """Of applications in the order of their arrival: what is left, and whether each has started."""
        known = list(applications)
        return cls(sorted(left for left, _ in known), [left for left, has_started in known if has_started])

    def add(self, mib_s: float) -> None:
        insort(self.left, mib_s)
        self._sums = []

    def ahead_of(self, mib_s: float, *, is_fair: bool) -> float:
        """Work that is done before an application that is so much work ends, its own not counted."""
        if not self._sums:
            self._sums = [0.0, *accumulate(self.left)]
        if not is_fair:
            return self._sums[-1]
        smaller = bisect_right(self.left, mib_s)
        return self._sums[smaller] + mib_s * (len(self.left) - smaller)

    def until_ended(self, count: int, *, is_fair: bool) -> float:
        """Work that is done until so many of those that have started end; more than there are end as fast on average.

        None that has started and none that is to end: none.
        """
        if count <= 0 or not self.started:
            return 0.0
        in_order = sorted(self.started) if is_fair else self.started
        within = min(count, len(in_order))
        if is_fair:
            least = in_order[within - 1]
            done = sum(in_order[:within]) + least * (len(in_order) - within)
        else:
            done = sum(in_order[:within])
        return done * count / within


@dataclass(frozen=True, slots=True)
class Completion:
    """Expected completion, in seconds from now, by its parts.

    Attributes:
        start_s: Until its ApplicationMaster can start.
    """

    start_s: float
    ahead_s: float
    own_s: float

    @property
    def total_s(self) -> float:
        return self.start_s + self.ahead_s + self.own_s

    def told(self, ordering: str, ground: str) -> str:
        """The parts, for people."""
        return (
            f"would end in {_seconds(self.total_s)}: {_seconds(self.start_s)} until it starts, "
            f"{_seconds(self.ahead_s)} for what is ahead in its {ordering} queue, "
            f"{_seconds(self.own_s)} of its own by {ground}"
        )


def expected_completion(
    work: QueueWork, mib_s: float, *, is_fair: bool, power_mib: float, free_mib: float, masters_ahead: int
) -> Completion:
    """Expect the end of an application.

    Args:
        is_fair: Whether the queue orders applications by what they hold; else by arrival.
        masters_ahead: ApplicationMasters that have to wait for another application to end, its own counted.
    """
    power = max(1.0, power_mib)
    own_s = mib_s / power
    start_s = work.until_ended(masters_ahead, is_fair=is_fair) / power
    together_s = (work.ahead_of(mib_s, is_fair=is_fair) + mib_s) / power
    if free_mib > 0 and not masters_ahead:
        together_s = min(together_s, mib_s / min(free_mib, power))
    return Completion(start_s, max(0.0, together_s - own_s - start_s), own_s)


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value < 10 else f"{value:.0f} s"  # noqa: PLR2004 - two digits
