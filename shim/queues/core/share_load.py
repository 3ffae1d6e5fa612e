"""Holdings and demands of each queue of the policy over all sub-clusters, measured from what polls told.

Work that an application is expected to be, learnt from those like it that have ended.

Work is memory times time, in MiB x s, as ResourceManagers report it of each application (`memorySeconds`): so it is
learnt of every application that ends, whoever submitted it and whether its calls came through Heddle. What recurs has
the same queue, user, type and name but for dates and long numbers in it, or else but for all numbers. An expectation is
the mean of the recurring job's runs, of which the newest counts half, drawn towards the mean of jobs that are alike but
for numbers, and that towards the mean of its queue, each time as if half a run of that size had been seen: what nobody
has seen counts as one of the queue's mean, behind the small ones that are known and before the large ones.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from shim.domain.ids import SubClusterId
from shim.domain.queues import FederatedQueue, QueueReport, SharePolicy
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import Admission, SubClusterState
from shim.federation.core.federation_view import SubClusterView
from shim.scheduling.durations import wider_key

_NOTHING = ResourceVector()
_ANY_NUMBER = 2**31
_NEARLY_FULL = 0.75
"""Part of a sub-cluster in use while others wait for it: what has just come free is given again within a heartbeat."""
_SLOW_S = 5.0
"""Between two polls, a heartbeat of a node, and the start of a program."""
_STUCK_S = 15.0
"""An ApplicationMaster that waits for longer waits for something else than the container that comes free next."""
_FLOWING = 8
"""ApplicationMasters that may be on their way where they start without waiting, and no limit of them is told."""
_FEW = 2
"""Applications of a queue at each sub-cluster that run in any case."""
_FORGOTTEN = 200
"""Measurements, of two a second, in which most of what was learnt is forgotten."""


@dataclass(frozen=True, slots=True)
class LiveGroup:
    """Applications of one queue on one sub-cluster, or on their way to it.

    Attributes:
        queue: As their home tells it, or as submitted.
        users: How many each user has.
        user_used: What the containers of each user's applications hold, in MiB and virtual cores.
        left: Work that is expected to be left of each application, in MiB x s, in the order of arrival.
        held_mib: Memory that each holds, in the same order.
        has_started: Whether the ApplicationMaster of each has a container, in the same order.
        beginning: Work left of each that has nothing but its ApplicationMaster, and not for long: what has it for
            longer may want nothing else.
        unstarted_since_s: When their home took those that have not started, by its clock, in seconds since the epoch; 0
            if that is not told.
    """

    home: SubClusterId
    queue: str
    users: Mapping[str, int]
    user_used: Mapping[str, tuple[int, int]]
    left: Sequence[float]
    held_mib: Sequence[int]
    has_started: Sequence[bool]
    beginning: Sequence[float]
    unstarted_since_s: Sequence[float]

    @property
    def running(self) -> int:
        """Number of applications, those that have not started included."""
        return len(self.has_started)


@dataclass(slots=True)
class QueueLoad:
    """Holdings and demand of a queue. Grow while a round lets applications start.

    Attributes:
        running: Applications on sub-clusters, those that have not started included.
        unstarted: Those whose ApplicationMaster has no container yet.
        user_used: What each user's applications hold, where that is limited.
        learnt: What an application of the queue holds once it has what it wants; see `learn`.
        left: Work that is left of each application, in MiB x s.
        held_mib: Memory that each holds, in the same order.
        beginning: Work that is left of each application that begins.
        masters_room: What is left there of its share of ApplicationMasters, where a sub-cluster tells that.
        slow: Sub-clusters where one of them has waited for its container for longer than one does that only starts.
        by_arrival: Sub-clusters that serve the queue by arrival.
        behind: Those of them where one waits, not for long: all that is asked for before
            it stands before it.
    """

    used: dict[SubClusterId, ResourceVector] = field(default_factory=dict)
    pending: ResourceVector = _NOTHING
    running: int = 0
    unstarted: int = 0
    users: Counter[str] = field(default_factory=Counter)
    user_used: dict[str, ResourceVector] = field(default_factory=dict)
    learnt: ResourceVector = _NOTHING
    left: list[float] = field(default_factory=list)
    held_mib: list[int] = field(default_factory=list)
    beginning: list[float] = field(default_factory=list)
    masters_room: dict[SubClusterId, ResourceVector] = field(default_factory=dict)
    slow: frozenset[SubClusterId] = frozenset()
    by_arrival: frozenset[SubClusterId] = frozenset()
    behind: frozenset[SubClusterId] = frozenset()

    @property
    def total_used(self) -> ResourceVector:
        """Over all sub-clusters."""
        return sum(self.used.values(), start=_NOTHING)

    def typical(self, least: ResourceVector) -> ResourceVector:
        """Expected size of an application of this queue, at least this much: those that begin hold little as yet."""
        memory_mib, vcores = self._mean()
        return ResourceVector(
            max(least.memory_mib, self.learnt.memory_mib, memory_mib),
            max(least.vcores, self.learnt.vcores, vcores),
            least.others,
        )

    def learn(self) -> ResourceVector:
        """Size that this measurement teaches: at once that applications are larger, slowly that they are smaller.

        Those that have just begun, or are about to end, say little of the others.
        """
        memory_mib, vcores = self._mean()
        if self.running == self.unstarted or not memory_mib:
            return self.learnt
        return ResourceVector(_follow(self.learnt.memory_mib, memory_mib), _follow(self.learnt.vcores, vcores))

    def _mean(self) -> tuple[int, int]:
        """MiB and virtual cores of those that have started, on average."""
        started, total = max(1, self.running - self.unstarted), self.total_used
        return total.memory_mib // started, total.vcores // started

    def copy(self) -> "QueueLoad":
        """One whose starts are its own; what grows while it is measured alone, with thousands of rows, is shared."""
        return replace(self, users=Counter(self.users), user_used=dict(self.user_used))

    def start(self, user: str, resource: ResourceVector) -> None:
        """One more is on its way, whose ApplicationMaster needs this much."""
        if self.learnt == _NOTHING:
            self.learnt = resource
        self.running += 1
        self.unstarted += 1
        self.users[user] += 1


@dataclass(frozen=True, slots=True)
class FederationLoad:
    """All queues, and what there is to divide.

    Attributes:
        capacity: Of the sub-clusters that count.
        queues: By path; every queue of the policy is there.
        others_used: What queues hold that the policy does not name; `others_pending` what they want beside.
        counted: Sub-clusters that count: not silent for too long.
        idle: What each usable one has free while nothing waits there.
        is_full: Whether something waits for resources of each usable one.
        masters_at: ApplicationMasters that have no container yet at each, but for those that a limit keeps from it.
    """

    capacity: ResourceVector
    queues: Mapping[str, QueueLoad]
    others_used: ResourceVector = _NOTHING
    others_pending: ResourceVector = _NOTHING
    counted: tuple[SubClusterId, ...] = ()
    usable: tuple[SubClusterId, ...] = ()
    idle: Mapping[SubClusterId, ResourceVector] = field(default_factory=dict)
    is_full: bool = False
    masters_at: Mapping[SubClusterId, int] = field(default_factory=dict)

    def startable(self, path: str, master: ResourceVector, ahead: int) -> int:
        """ApplicationMasters of a queue that may be on their way: those that can start soon, and a few ahead.

        However much is free, no more of a queue start than its share of ApplicationMasters lets: the rest would wait
        there in the order of arrival. Where all is taken, and comes free so fast that none waits for long, as many.

        Args:
            master: Size of an ApplicationMaster.
        """
        load = self.queues[path]
        for name, free in self.idle.items():
            room = _times(master, free)
            within = _times(master, load.masters_room[name]) if name in load.masters_room else None
            if free == _NOTHING and name not in load.slow:
                room = _FLOWING if within is None else within
            ahead += room if within is None else min(room, within)
        return ahead

    def undue_startable(self, path: str, master: ResourceVector) -> int:
        """ApplicationMasters that may be on their way where jobs without a deadline are the next to start.

        One for each sub-cluster is left of what its share of them lets: who has a deadline would else wait for the end
        of a job that has none. Any number where a sub-cluster tells of no such share, or few applications run.
        """
        load = self.queues[path]
        if load.running < _FEW * len(self.usable) or any(name not in load.masters_room for name in self.usable):
            return _ANY_NUMBER
        return sum(max(0, _times(master, load.masters_room[name]) - 1) for name in self.usable)

    def left_to_masters(self, path: str) -> Mapping[SubClusterId, int]:
        """Containers that come free next at each sub-cluster and that no application of a queue is to ask for.

        One for each ApplicationMaster that waits there; all of them where it would stand behind what is asked for.
        """
        load = self.queues.get(path)
        behind = () if load is None else (name for name in load.behind if self.masters_at.get(name))
        return {**self.masters_at, **dict.fromkeys(behind, _ANY_NUMBER)}

    def by_arrival(self, path: str) -> frozenset[SubClusterId]:
        """Sub-clusters that serve a queue's applications in the order of their arrival."""
        load = self.queues.get(path)
        return frozenset() if load is None else load.by_arrival

    def copy(self) -> "FederationLoad":
        """One whose queues grow by themselves."""
        return replace(self, queues={path: load.copy() for path, load in self.queues.items()})


def _follow(learnt: int, seen: int) -> int:
    return seen if seen >= learnt else learnt - max(1, (learnt - seen) // _FORGOTTEN)


def measure(
    policy: SharePolicy,
    looks: Sequence[SubClusterView],
    admissions: Mapping[SubClusterId, Admission],
    live: Iterable[LiveGroup],
    *,
    absent_after_s: float,
    withheld: ResourceVector = _NOTHING,
    now_s: float = 0.0,
) -> FederationLoad:
    """Add up what the sub-clusters told, and what applications want and no scheduler has been told (`withheld`).

    What one has that was silent for longer than `absent_after_s` is not divided. A sub-cluster that takes no new
    applications counts with what it holds, no more.
    """
    counted = [seen for seen in looks if seen.age_s <= absent_after_s]
    usable = [seen for seen in counted if seen.state is SubClusterState.RUNNING and not seen.failure]
    loads = {queue.path: QueueLoad() for queue in policy.queues}
    capacity = _NOTHING
    others = QueueLoad()
    for seen in counted:
        is_open = admissions.get(seen.subcluster, Admission.OPEN) is Admission.OPEN
        capacity += seen.capacity if is_open else _smaller(seen.used, seen.capacity)
        _take_queues(policy, seen, loads, others)
    names = {seen.subcluster: seen.clock_skew_s for seen in counted}
    unstarted: Counter[SubClusterId] = Counter()
    for group in live:
        unstarted[group.home] += len(group.unstarted_since_s)
        queue = policy.find_at(group.home, group.queue)
        if queue is None or group.home not in names:
            continue
        load = loads[queue.path]
        _take_group(load, group, limits_users=queue.user_maximum < 1)
        waited_s = [_waited_s(since_s, now_s + names[group.home]) for since_s in group.unstarted_since_s]
        if any(each_s > _SLOW_S for each_s in waited_s):
            load.slow |= {group.home}
        if any(each_s <= _STUCK_S for each_s in waited_s):
            load.behind |= {group.home} & load.by_arrival
    return FederationLoad(
        capacity,
        loads,
        others.total_used,
        others.pending,
        tuple(seen.subcluster for seen in counted),
        tuple(seen.subcluster for seen in usable),
        {seen.subcluster: _idle(seen) for seen in usable},
        all(_is_full(seen, withheld) for seen in usable),
        {seen.subcluster: max(0, unstarted[seen.subcluster] - seen.waiting_applications) for seen in counted},
    )


def _waited_s(since_s: float, now_s: float) -> float:
    """How long one has waited; nothing if that is not told."""
    return now_s - since_s if since_s > 0.0 else 0.0


def _is_full(seen: SubClusterView, withheld: ResourceVector) -> bool:
    if seen.pending.memory_mib > 0:
        return True
    return withheld.memory_mib > 0 and seen.used.dominant_share_of(seen.capacity) >= _NEARLY_FULL


def _idle(seen: SubClusterView) -> ResourceVector:
    """What is free; nothing where something waits: it will have what comes free first."""
    if seen.pending.memory_mib > 0 or seen.waiting_applications:
        return _NOTHING
    free = seen.capacity - seen.used
    return ResourceVector(max(0, free.memory_mib), max(0, free.vcores))


def _times(part: ResourceVector, whole: ResourceVector) -> int:
    """How often an amount fits into another, by memory and virtual cores."""
    return min(whole.memory_mib // max(1, part.memory_mib), whole.vcores // max(1, part.vcores))


def _take_queues(policy: SharePolicy, seen: SubClusterView, loads: Mapping[str, QueueLoad], others: QueueLoad) -> None:
    """Book the leaf queues of one sub-cluster."""
    for report in seen.queues.values():
        if not report.is_leaf:
            continue
        queue = owner_of(policy, seen.subcluster, report.path)
        load = others if queue is None else loads[queue.path]
        load.used[seen.subcluster] = load.used.get(seen.subcluster, _NOTHING) + report.used
        load.by_arrival |= set() if report.is_fair else {seen.subcluster}
        load.pending += report.pending
        room = _masters_room(report)
        if room is not None:
            load.masters_room[seen.subcluster] = load.masters_room.get(seen.subcluster, _NOTHING) + room


def _masters_room(report: QueueReport) -> ResourceVector | None:
    """What is left of a leaf's share of ApplicationMasters; None where that is not told."""
    part = report.in_partition(report.default_label)
    if part.masters.memory_mib <= 0:
        return None
    left = part.masters - part.masters_used
    return ResourceVector(max(0, left.memory_mib), max(0, left.vcores) if report.counts_all else _ANY_NUMBER)


def owner_of(policy: SharePolicy, subcluster: SubClusterId, path: str) -> FederatedQueue | None:
    """The queue of the policy that a leaf belongs to: itself, or the nearest above it."""
    return policy.owner_at(subcluster, path)


def nowhere(policy: SharePolicy, load: FederationLoad) -> tuple[str, ...]:
    """Paths of the policy's queues that no sub-cluster that counts has, by any name; nobody knows while none counts."""
    paths = [queue.path for queue in policy.queues if load.counted and not load.queues[queue.path].used]
    parents = _paths_above(
        queue.path for queue in policy.queues
    )  # all leaves below a queue may be others of the policy
    return tuple(path for path in paths if path not in parents)


def _paths_above(paths: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for path in paths:
        above = path.rpartition(".")[0]
        while above and above not in found:
            found.add(above)
            above = above.rpartition(".")[0]
    return found


def _take_group(load: QueueLoad, group: LiveGroup, *, limits_users: bool) -> None:
    load.running += group.running
    load.unstarted += len(group.unstarted_since_s)
    load.users.update(group.users)
    load.left.extend(group.left)
    load.held_mib.extend(group.held_mib)
    load.beginning.extend(group.beginning)
    if limits_users:
        for user, (memory_mib, vcores) in group.user_used.items():
            load.user_used[user] = load.user_used.get(user, _NOTHING) + ResourceVector(memory_mib, vcores)


def _smaller(one: ResourceVector, other: ResourceVector) -> ResourceVector:
    others = {name: min(amount, other.others.get(name, 0)) for name, amount in one.others.items()}
    return ResourceVector(min(one.memory_mib, other.memory_mib), min(one.vcores, other.vcores), others)


_Key = TypeVar("_Key")

_MOST_JOBS = 16 * 1024
_MOST_QUEUES = 4 * 1024
_GIB_HOUR = 1024 * 3600
_NEWEST = 0.5
_WIDER_COUNTS = 0.5
"""Runs as which the mean of what is wider counts."""
_MOST_RUNS = 1_000
"""A queue's mean follows its newest applications once it has seen so many."""


@dataclass(frozen=True, slots=True)
class ExpectedWork:
    """An expectation.

    Attributes:
        runs: Runs of the recurring job that it rests on; 0 where only the queue is known.
        of_queue: Applications of the queue that it rests on; 0 where nothing is known at all.
    """

    mib_s: float = 0.0
    runs: int = 0
    of_queue: int = 0

    @property
    def ground(self) -> str:
        """What it rests on, for people."""
        return f"its last {self.runs} runs" if self.runs else f"{self.of_queue} applications of its queue"

    def told(self) -> str:
        """Expectation and its ground, for people."""
        return f"it is expected to take {self.mib_s / _GIB_HOUR:.3g} GiB x h, by {self.ground}"


NO_EXPECTATION = ExpectedWork()


@dataclass(slots=True)
class _Mean:
    value: float = 0.0
    count: int = 0

    def take(self, value: float, least_part: float) -> None:
        """Take in one more: the newest counts at least so much."""
        self.count += 1
        self.value += (value - self.value) * max(least_part, 1.0 / self.count)

    def drawn_to(self, wider: float) -> float:
        """The mean, drawn to that of more applications: the less is known of these few, the more."""
        return (self.value * self.count + wider * _WIDER_COUNTS) / (self.count + _WIDER_COUNTS)


class WorkHistory:
    """Means of recurring jobs and of queues; those that were seen last are kept."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[tuple[str, str], _Mean] = OrderedDict()
        self._queues: OrderedDict[str, _Mean] = OrderedDict()

    def learn(self, queue: str, job_key: str, mib_s: float) -> None:
        """Learn from an application that ended.

        Args:
            job_key: By what it is known again: `recurring_key`.
        """
        if mib_s <= 0.0:
            return  # it never ran, or its ResourceManager does not say
        _mean(self._queues, queue, _MOST_QUEUES).take(mib_s, 1.0 / _MOST_RUNS)
        for each in dict.fromkeys((wider_key(job_key), job_key)):
            _mean(self._jobs, (queue, each), _MOST_JOBS).take(mib_s, _NEWEST)

    def expected(self, queue: str, job_key: str) -> ExpectedWork:
        whole, wider = self._queues.get(queue, _Mean()), wider_key(job_key)
        if not whole.count:
            return NO_EXPECTATION
        alike, own = self._jobs.get((queue, wider), _Mean()), self._jobs.get((queue, job_key), _Mean())
        mib_s = alike.drawn_to(whole.value)
        if wider != job_key:
            mib_s = own.drawn_to(mib_s)
        return ExpectedWork(mib_s, own.count or alike.count, whole.count)


def _mean(known: OrderedDict[_Key, _Mean], key: _Key, most: int) -> _Mean:
    found = known.pop(key, None) or _Mean()
    known[key] = found
    while len(known) > most:
        known.popitem(last=False)
    return found
