"""Measures what queues hold: from the view, and from what was let through and that no report shows yet.

Leaves of sub-clusters that no policy names: each is a queue by itself, with the defaults of those that are named.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from shim.domain.applications import ApplicationSummary
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.queues import PLAIN, FederatedQueue, QueueDefaults, QueueReport, SharePolicy
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import Admission, ApplicationDocument
from shim.domain.submissions import Submission
from shim.federation.core.federation_view import FederationView, SubClusterView
from shim.ports.clock import Clock
from shim.protocol.wire_values import WireNumber, whole
from shim.queues.core.share_load import FederationLoad, LiveApplication, measure, owner_of

_RATE_OVER_S = 120.0
_FEWEST_STARTS = 3
_ON_THEIR_WAY_S = 10.0  # an application that was let through is in the view by then, or was refused
_MEASURE_S = 0.5
LEFT_OF_USED = 0.25
"""Of what an application has used, so much is expected to be left at least, whatever was expected of it."""
_BEGINS_FOR_MS = 60_000
_NOT_RUNNING = frozenset({"NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED"})


class _Amounts(msgspec.Struct):
    """Containers' amounts in an application's document."""

    allocatedMB: WireNumber = 0  # noqa: N815 - Hadoop's name
    allocatedVCores: WireNumber = 0  # noqa: N815 - Hadoop's name
    memorySeconds: WireNumber = 0  # noqa: N815 - Hadoop's name
    runningContainers: WireNumber = 0  # noqa: N815 - Hadoop's name
    startedTime: WireNumber = 0  # noqa: N815 - Hadoop's name
    launchTime: WireNumber = 0  # noqa: N815 - Hadoop's name
    elapsedTime: WireNumber = 0  # noqa: N815 - Hadoop's name

    @property
    def is_beginning(self) -> bool:
        """One container at most, for a minute at most, by the clock of the ResourceManager."""
        waited_ms = max(0, whole(self.launchTime) - whole(self.startedTime))
        return whole(self.runningContainers) <= 1 and whole(self.elapsedTime) - waited_ms <= _BEGINS_FOR_MS


_AMOUNTS = msgspec.json.Decoder(_Amounts, strict=False)


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
        unfinished: Applications that have a home and have not ended.
        on_the_way: Those that were let through and that the view does not show.
        withheld: What queues ask for and no scheduler has been told, by path.
        learnt: What an application of each queue holds, by path.
        now_s: When that was, in seconds since the epoch.
    """

    looks: Sequence[SubClusterView]
    admissions: Mapping[SubClusterId, Admission]
    unfinished: Sequence[ApplicationDocument]
    on_the_way: Sequence[_OnTheWay]
    withheld: Mapping[str, ResourceVector]
    learnt: Mapping[str, ResourceVector]
    absent_after_s: float
    expected: Callable[[ApplicationSummary], float]
    now_s: float

    def measure(self, policy: SharePolicy) -> FederationLoad:
        """Holdings of the queues of a policy, whether it is in force or not."""
        load = measure(
            policy,
            self.looks,
            self.admissions,
            _live(
                self.unfinished,
                self.expected,
                needs_amounts=any(queue.user_maximum < 1 or queue.order == "work" for queue in policy.queues),
            ),
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

    Attributes:
        withheld: What queues ask for and no scheduler has been told, by path: no report shows it.
    """

    def __init__(
        self,
        view: FederationView,
        admissions: Mapping[SubClusterId, Admission],
        clock: Clock,
        *,
        absent_after_s: float,
    ) -> None:
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
        self.expected: Callable[[ApplicationSummary], float] = lambda _: 0.0

    def current(self, policy: SharePolicy) -> FederationLoad:
        """As last measured, half a second ago at most; grows by those that are let through meanwhile."""
        now_s = self._clock.monotonic_s()
        is_other = self._load is not None and self._load.queues.keys() != {queue.path for queue in policy.queues}
        if self._load is None or is_other or now_s - self._measured_s > _MEASURE_S:
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
            unfinished=self._view.applications.unfinished() if needs_applications else (),
            on_the_way=tuple(self._on_the_way.values()),
            withheld=dict(self.withheld()),
            learnt=dict(self._learnt),
            absent_after_s=self._absent_after_s,
            expected=self.expected,
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


def _live(
    documents: Iterable[ApplicationDocument], expected: Callable[[ApplicationSummary], float], *, needs_amounts: bool
) -> Iterable[LiveApplication]:
    """Applications on sub-clusters; documents are decoded only where it matters what they hold."""
    for document in documents:
        summary = document.summary
        is_running = has_started(summary)
        told = _amounts(document) if needs_amounts or not is_running else _Amounts()
        used = ResourceVector(whole(told.allocatedMB), whole(told.allocatedVCores))
        is_started = is_running or used.memory_mib > 0
        spent = whole(told.memorySeconds)
        left = max(1.0, expected(summary) - spent, LEFT_OF_USED * spent) if needs_amounts else 0.0
        since_s = summary.started_at_ms / 1000.0
        yield LiveApplication(
            summary.home_subcluster,
            summary.queue,
            summary.user,
            is_started,
            used,
            left,
            since_s,
            needs_amounts and told.is_beginning,
        )


def has_started(summary: ApplicationSummary) -> bool:
    """True if an application's ApplicationMaster runs, as its state tells."""
    return summary.state.value not in _NOT_RUNNING


def memory_seconds(document: ApplicationDocument) -> int:
    """Memory times time that an application has used so far, in MiB x s; 0 if its document does not tell."""
    return whole(_amounts(document).memorySeconds)


def _amounts(document: ApplicationDocument) -> _Amounts:
    try:
        return _AMOUNTS.decode(document.raw)
    except msgspec.MsgspecError:
        return _Amounts()


_MOST = 1000
"""As a policy may name; of more, the first ones in the order of their paths."""


class UnnamedQueues:
    """Completes policies by the queues that sub-clusters have and a policy does not name.

    Args:
        defaults: What these do; where nothing is held, spanned or ordered, policies stay as they are.
    """

    def __init__(self, view: FederationView, clock: Clock, defaults: QueueDefaults) -> None:
        self._view = view
        self._clock = clock
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
        now_s = self._clock.now_s()
        told = {each: self._view.look(each, now_s).queues for each in self._view.subclusters}
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
