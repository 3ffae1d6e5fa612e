"""Measures what queues hold: from the view, and from what was let through and that no report shows yet.

Leaves of sub-clusters that no policy names: each is a queue by itself, with the defaults of those that are named.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from shim.domain.applications import ApplicationSummary
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.queues import PLAIN, FederatedQueue, QueueDefaults, QueueReport, SharePolicy
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import Admission
from shim.domain.submissions import Submission
from shim.federation.core.federation_view import FederationView, SubClusterView
from shim.ports.clock import Clock
from shim.queues.core.share_load import FederationLoad, measure, owner_of
from shim.queues.live_table import Groups, LiveTable

_RATE_OVER_S = 120.0
_FEWEST_STARTS = 3
_ON_THEIR_WAY_S = 10.0  # an application that was let through is in the view by then, or was refused
_MEASURE_S = 0.5
_MEASURED_PER_S = 50_000
"""Of more applications than a few thousand a measurement stands a second longer for so many."""


@dataclass(frozen=True, slots=True)
class _OnTheWay:
    """An application that was let through, and that the view may not show yet."""

    queue: str
    user: str
    resource: ResourceVector
    at_s: float


@dataclass(frozen=True, slots=True)
class MeterSnapshot:
    """Input of a measurement, as it was at one moment: safe to measure on another thread.

    Attributes:
        live: Applications that have a home and have not ended.
        on_the_way: Those that were let through and that the view does not show.
        withheld: What queues ask for and no scheduler has been told, by path.
        learnt: What an application of each queue holds, by path.
        now_s: When that was, in seconds since the epoch.
    """

    looks: Sequence[SubClusterView]
    admissions: Mapping[SubClusterId, Admission]
    live: Groups
    on_the_way: Sequence[_OnTheWay]
    withheld: Mapping[str, ResourceVector]
    learnt: Mapping[str, ResourceVector]
    absent_after_s: float
    now_s: float

    def measure(self, policy: SharePolicy) -> FederationLoad:
        """Holdings of the queues of a policy, whether it is in force or not."""
        load = measure(
            policy,
            self.looks,
            self.admissions,
            chain.from_iterable(self.live.values()),
            absent_after_s=self.absent_after_s,
            withheld=sum(self.withheld.values(), start=ResourceVector()),
            now_s=self.now_s,
        )
        for one in self.on_the_way:
            if one.queue in load.queues:
                load.queues[one.queue].start(one.user, one.resource)
        for path, amount in self.withheld.items():
            if path in load.queues:
                load.queues[path].pending += amount
        for path, queue in load.queues.items():
            queue.learnt = self.learnt.get(path, ResourceVector())
        return load


class LoadMeter:
    """Measures holdings and demand of the queues of a policy.

    Args:
        view: What is known of the sub-clusters.
        clock: The machine's.
        absent_after_s: What a sub-cluster has that told nothing for this long does not count.
        expected: Work that an application is expected to be, in MiB x s.

    Attributes:
        live: Applications that have a home and have not ended.
        withheld: What queues ask for and no scheduler has been told, by path: no report shows it.
    """

    def __init__(
        self,
        view: FederationView,
        admissions: Mapping[SubClusterId, Admission],
        clock: Clock,
        *,
        absent_after_s: float,
        expected: Callable[[ApplicationSummary], float] = lambda _: 0.0,
    ) -> None:
        self.live = LiveTable(view, clock, expected)
        self._view = view
        self._admissions = admissions
        self._clock = clock
        self._absent_after_s = absent_after_s
        self._on_the_way: dict[ApplicationId, _OnTheWay] = {}
        self._learnt: dict[str, ResourceVector] = {}
        self._starts: dict[str, deque[float]] = {}
        self._load: FederationLoad | None = None
        self._measured_s = float("-inf")
        self.withheld: Callable[[], Mapping[str, ResourceVector]] = dict

    def current(self, policy: SharePolicy) -> FederationLoad:
        """As last measured, half a second ago at most (of 100,000 applications two and a half, or five in the making).

        It grows by those that are let through meanwhile.
        """
        now_s = self._clock.monotonic_s()
        is_other = self._load is not None and self._load.queues.keys() != {queue.path for queue in policy.queues}
        stands_s = _MEASURE_S + self.live.count / _MEASURED_PER_S
        if self.live.is_renewed:  # who renews them measures next
            stands_s *= 2
        if self._load is None or is_other or now_s - self._measured_s > stands_s:
            return self.renew(policy)
        return self._load

    def renew(self, policy: SharePolicy) -> FederationLoad:
        self._load, self._measured_s = self.measure(policy), self._clock.monotonic_s()
        return self._load

    def measure(self, policy: SharePolicy) -> FederationLoad:
        """Holdings of the queues of a policy; what is seen of its applications is learnt."""
        # applications are counted for the queues of the policy: with none, thousands need not be looked at
        load = self.snapshot(needs_applications=bool(policy.queues)).measure(policy)
        for path, queue in load.queues.items():
            if queue.running > queue.unstarted:
                self._learnt[path] = queue.learn()
        for path in (self._learnt.keys() | self._starts.keys()) - load.queues.keys():
            self._learnt.pop(path, None)
            self._starts.pop(path, None)
        return load

    def snapshot(self, *, needs_applications: bool = True) -> MeterSnapshot:
        """Present input of a measurement, to be measured elsewhere."""
        now_s = self._clock.now_s()
        self._forget_shown(now_s)
        return MeterSnapshot(
            looks=[self._view.look(item, now_s) for item in self._view.subclusters],
            admissions=dict(self._admissions),
            live=self.live.groups() if needs_applications else {},
            on_the_way=tuple(self._on_the_way.values()),
            withheld=dict(self.withheld()),
            learnt=dict(self._learnt),
            absent_after_s=self._absent_after_s,
            now_s=now_s,
        )

    def note_start(self, queue: FederatedQueue, submission: Submission) -> None:
        """An application goes to its home: count it until the view shows it, and for the rate of its queue."""
        now_s = self._clock.now_s()
        way = _OnTheWay(queue.path, submission.user, submission.resource, now_s)
        self._on_the_way[submission.application_id] = way
        self._learnt.setdefault(queue.path, submission.resource)  # until the first of them is seen running
        self._starts.setdefault(queue.path, deque(maxlen=10_000)).append(now_s)

    def rate(self, path: str) -> float | None:
        """Starts of a queue's applications in a second, lately; None if there were too few to tell."""
        now_s = self._clock.now_s()
        starts = self._starts.get(path, deque())
        while starts and now_s - starts[0] > _RATE_OVER_S:
            starts.popleft()
        if len(starts) < _FEWEST_STARTS or now_s - starts[0] < 1.0:
            return None
        return (len(starts) - 1) / (now_s - starts[0])

    def _forget_shown(self, now_s: float) -> None:
        """Forget who was let through and is in the view by now, or was refused."""
        known = self._view.applications
        for application_id, one in list(self._on_the_way.items()):
            is_shown = known.find(application_id) is not None and not known.is_waiting(application_id)
            if is_shown or now_s - one.at_s > _ON_THEIR_WAY_S:
                del self._on_the_way[application_id]


_MOST = 1000
"""As a policy may name; of more, the first ones in the order of their paths."""


class UnnamedQueues:
    """Completes policies by the queues that sub-clusters have and a policy does not name.

    Args:
        defaults: What these do; where nothing is held, spanned or ordered, policies stay as they are.
    """

    def __init__(self, view: FederationView, defaults: QueueDefaults) -> None:
        self._view = view
        self._defaults = defaults
        self._changes = -1
        self._told: dict[SubClusterId, Mapping[str, QueueReport]] = {}
        self._leaves: frozenset[tuple[SubClusterId, str]] = frozenset()
        self._known: tuple[SharePolicy, frozenset[tuple[SubClusterId, str]], SharePolicy] | None = None

    def completed(self, policy: SharePolicy) -> SharePolicy:
        """The policy with a queue for each leaf that it neither names nor has a queue above of."""
        if self._defaults == PLAIN:
            return policy
        self._look()
        known = self._known
        if known is None or known[0] is not policy or known[1] is not self._leaves:
            paths = sorted(self._unnamed(policy))[:_MOST]
            known = self._known = policy, self._leaves, policy.with_queues(map(self._defaults.queue, paths))
        return known[2]

    def _look(self) -> None:
        """Take note of the leaves, if a report has come since."""
        if self._changes == self._view.changes:
            return
        self._changes = self._view.changes
        told = {each: self._view.queues(each) for each in self._view.subclusters}
        if told.keys() == self._told.keys() and all(told[each] is queues for each, queues in self._told.items()):
            return
        self._told = told
        leaves = frozenset(
            (each, path) for each, queues in told.items() for path, queue in queues.items() if queue.is_leaf
        )
        if leaves != self._leaves:
            self._leaves = leaves

    def _unnamed(self, policy: SharePolicy) -> Iterator[str]:
        """Paths that mean no queue of the policy at any sub-cluster: one would have the applications of the other."""
        for path in {path for _, path in self._leaves}:
            is_owned = any(owner_of(policy, each, path) is not None for each in self._told)
            if not is_owned and policy.find(path) is None:
                yield path
