"""Crossings between clusters by applications that nobody has ordered to span: when one leaves its home, and where to.

It stays as long as its home serves it. Once it has waited for as long as a session elsewhere takes to bring its first
container, it asks elsewhere, too: whoever goes at that moment loses at most twice what the better of both would have
cost, however long the home would have let it wait. Once nothing is wanted it is at home again: what it asks for next,
its home is asked for first.

Between two clusters of which nobody knows whether an application of the one finds in the other what it needs, one
container is the first to try. Where containers fail more often than at home, nothing crosses any more for a while.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from shim.domain.ids import ApplicationId, ContainerId, SubClusterId

_FIRST_GUESS_S = 2.0
_LEAST_S, _MOST_S = 0.5, 30.0
_NEWEST = 0.2
_PROVEN_AFTER_S = 10.0
"""A first container that runs for so long has found what it needs, as far as is known: the next ones may follow."""
_STOPPED_S = 3600.0
_FEWEST_FAILURES = 3
_TIMES_HOME, _BEYOND_HOME = 2.0, 0.05
_MOST_COUNTED = 1000
_MOST_APPLICATIONS = 4096
_FAILED = frozenset({-1000, -101})
"""`ContainerExitStatus.INVALID`, which one has whose files could not be fetched, and `DISKS_FAILED`."""
_KILLED = frozenset({137, 143})
"""Exit codes of programs that were killed, which their ApplicationMasters do, too."""


def is_failure(exit_status: int) -> bool:
    """Return whether a container ended by a fault of its program or of its node, not by somebody's will."""
    return exit_status in _FAILED or (exit_status > 0 and exit_status not in _KILLED)


@dataclass(slots=True)
class _Ends:
    well: int = 0
    failed: int = 0

    def take(self, *, failed: bool) -> None:
        self.well, self.failed = self.well + (not failed), self.failed + failed
        if self.well + self.failed > _MOST_COUNTED:
            self.well, self.failed = self.well // 2, self.failed // 2

    @property
    def part(self) -> float:
        return self.failed / max(1, self.well + self.failed)


@dataclass(slots=True)
class _Pair:
    """One way between two clusters.

    Attributes:
        trial: The container that is the first to try, and since when it runs.
        stopped_s: Since when nothing crosses; None while something may.
    """

    ends: _Ends
    is_proven: bool = False
    trial: tuple[ContainerId, float] | None = None
    stopped_s: float | None = None


@dataclass(frozen=True, slots=True)
class StoppedCrossing:
    """Two clusters between which nothing crosses by itself at present.

    Attributes:
        failed: Containers of applications of `home` that failed in `elsewhere`, of so many that ended.
    """

    home: SubClusterId
    elsewhere: SubClusterId
    failed: int
    ended: int

    def __str__(self) -> str:
        return (
            f"applications of {self.home} do not ask {self.elsewhere} by themselves at present: {self.failed} of "
            f"{self.ended} of their containers failed there, which is more than at home"
        )


class Crossings:
    """What is known of the ways between clusters. Synchronous; it never reads a clock.

    Args:
        reached_from: Clusters that applications of one may span to by themselves: elsewhere nothing crosses.

    Attributes:
        session_s: Seconds that a session elsewhere takes from its beginning to its first container, as measured.
    """

    def __init__(self, reached_from: Callable[[SubClusterId], Collection[SubClusterId]] = lambda _: ()) -> None:
        self._reached_from = reached_from
        self._pairs: dict[tuple[SubClusterId, SubClusterId], _Pair] = {}
        self._at_home: dict[SubClusterId, _Ends] = {}
        self._failing: OrderedDict[ApplicationId, None] = OrderedDict()
        self.session_s = _FIRST_GUESS_S

    def reach(self, home: SubClusterId, now_s: float) -> Mapping[SubClusterId, bool]:
        """Name the clusters to which applications of one may cross, each True if one container is to try first."""
        found: dict[SubClusterId, bool] = {}
        for other in self._reached_from(home):
            pair = self._pairs.get((home, other))
            if pair is None:
                found[other] = True
                continue
            self._age(pair, now_s)
            if pair.stopped_s is None and (pair.is_proven or pair.trial is None):
                found[other] = not pair.is_proven
        return found

    def _age(self, pair: _Pair, now_s: float) -> None:
        """Let time tell: a first container that still runs has found what it needs, and what is stopped is tried."""
        if pair.stopped_s is not None and now_s - pair.stopped_s > _STOPPED_S:
            pair.ends, pair.stopped_s = _Ends(), None
        if pair.trial is not None and now_s - pair.trial[1] > _PROVEN_AFTER_S:
            pair.is_proven, pair.trial = True, None

    def took(self, seconds: float) -> None:
        """A session has brought its first container after so long."""
        bounded = min(_MOST_S, max(_LEAST_S, seconds))
        self.session_s += (bounded - self.session_s) * _NEWEST

    def granted(self, home: SubClusterId, elsewhere: SubClusterId, container: ContainerId, now_s: float) -> None:
        pair = self._pairs.setdefault((home, elsewhere), _Pair(_Ends()))
        if not pair.is_proven and pair.trial is None:
            pair.trial = container, now_s

    def ended(
        self, home: SubClusterId, at: SubClusterId, container: ContainerId, exit_status: int, now_s: float
    ) -> None:
        """A container of an application of `home` has ended, there or elsewhere."""
        failed, application = is_failure(exit_status), container.attempt.application
        if at == home:
            self._at_home.setdefault(home, _Ends()).take(failed=failed)
            if failed:
                self._failing[application] = None
                while len(self._failing) > _MOST_APPLICATIONS:
                    self._failing.popitem(last=False)
            return
        pair = self._pairs.setdefault((home, at), _Pair(_Ends()))
        if pair.trial is not None and pair.trial[0] == container:
            pair.trial = None
        if failed and application in self._failing:
            return  # it fails at home, too
        if failed or exit_status == 0:
            pair.ends.take(failed=failed)
        pair.is_proven = pair.is_proven or exit_status == 0
        if pair.stopped_s is None and self._fails_more(home, pair.ends):
            pair.stopped_s, pair.is_proven = now_s, False

    def _fails_more(self, home: SubClusterId, there: _Ends) -> bool:
        at_home = self._at_home.get(home, _Ends())
        return there.failed >= _FEWEST_FAILURES and there.part > _TIMES_HOME * at_home.part + _BEYOND_HOME

    def stopped(self) -> tuple[StoppedCrossing, ...]:
        return tuple(
            StoppedCrossing(home, other, pair.ends.failed, pair.ends.well + pair.ends.failed)
            for (home, other), pair in self._pairs.items()
            if pair.stopped_s is not None
        )
