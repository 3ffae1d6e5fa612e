"""Queues as a sub-cluster's scheduler reports them.

The policy of shares: which queues divide the federation, how, and who is put into which. Values only.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import Enum, StrEnum
from types import MappingProxyType

from shim.domain.ids import SubClusterId
from shim.domain.placement_rules import NO_RULES, PlacementRules
from shim.domain.resources import ResourceVector


class SchedulerType(StrEnum):
    """Schedulers that Heddle tells apart, by the `type` of their document; every other one is taken as a FIFO."""

    CAPACITY = "capacityScheduler"
    FAIR = "fairScheduler"


class QueueState(Enum):
    """State of a queue; Hadoop's `QueueState`."""

    RUNNING = "RUNNING"
    DRAINING = "DRAINING"
    STOPPED = "STOPPED"


@dataclass(frozen=True, slots=True)
class PartitionReport:
    """A queue's part of one node partition, as a capacity scheduler tells it.

    Attributes:
        label: Of the partition; empty for the nodes without one.
        maximum: Most that the queue may hold of it; None where that is not told.
        masters: Most that its ApplicationMasters may hold together; empty where that is not told.
    """

    label: str
    maximum: ResourceVector | None = None
    used: ResourceVector = field(default_factory=ResourceVector)
    masters: ResourceVector = field(default_factory=ResourceVector)
    masters_used: ResourceVector = field(default_factory=ResourceVector)


@dataclass(frozen=True, slots=True)
class QueueUser:
    """One user's part of a leaf of a capacity scheduler.

    Attributes:
        used: What they hold; `most` is the limit, empty where it is not told: who holds more is given nothing more.
    """

    name: str
    applications: int = 0
    used: ResourceVector = field(default_factory=ResourceVector)
    most: ResourceVector = field(default_factory=ResourceVector)
    masters_used: ResourceVector = field(default_factory=ResourceVector)


@dataclass(frozen=True, slots=True)
class QueueReport:
    """One queue of one sub-cluster.

    Attributes:
        path: Full path, `root.prod`.
        is_leaf: Whether applications can be submitted to it.
        capacity: Guaranteed amount, in the resources of the whole sub-cluster.
        pending: Asked for and not granted; `pending_containers` is how many containers that are, 0 if it is not told.
        labels: Node labels that the queue may ask for; `*` for all.
        applications: How many applications it holds; `maximum_applications` is the limit, 0 for none.
        waiting_applications: Those of them whose ApplicationMasters have not started.
        creates_children: Whether a leaf below it is made when an application asks for one.
        maximum_allocation: Largest container that it grants; empty where that is not told.
        partitions: Its parts of the node partitions; empty where only `maximum` and `used` are told.
        most_running: How many of its applications may run at once, the rest waits; None for no limit.
        maximum_applications_of_user: How many one user may have there; 0 for no limit.
        masters_of_user: Most that one user's ApplicationMasters may hold together; empty where that is not told.
        counts_all: Whether its limits are of every resource type, or of memory alone; None where that is not told.
        is_fair: Whether its applications are ordered by what they hold, the least first; else by arrival.
    """

    path: str
    state: QueueState
    is_leaf: bool
    capacity: ResourceVector
    maximum: ResourceVector
    used: ResourceVector
    pending: ResourceVector = field(default_factory=ResourceVector)
    labels: tuple[str, ...] = ()
    applications: int = 0
    maximum_applications: int = 0
    creates_children: bool = False
    pending_containers: int = 0
    waiting_applications: int = 0
    maximum_allocation: ResourceVector = field(default_factory=ResourceVector)
    partitions: tuple[PartitionReport, ...] = ()
    default_label: str = ""
    most_running: int | None = None
    users: tuple[QueueUser, ...] = ()
    maximum_applications_of_user: int = 0
    masters_of_user: ResourceVector = field(default_factory=ResourceVector)
    counts_all: bool | None = None
    is_fair: bool = False

    def in_partition(self, label: str) -> PartitionReport:
        """Its part of a partition; where partitions are not told, `maximum` and `used` are of the one without label."""
        told = next((each for each in self.partitions if each.label == label), None)
        if told is not None:
            return told
        return PartitionReport(label) if label else PartitionReport("", self.maximum, self.used)


def is_same_queue(path: str, told: str) -> bool:
    """True if a ResourceManager that names an application's queue `told` means the one with this full path.

    CapacityScheduler tells the last part alone where that is unambiguous, FairScheduler always the whole path.
    """
    return told == path or ("." not in told and path.rpartition(".")[2] == told)


EVERYBODY = ("*",)
_DEEP = 32
"""Levels of queues that nobody has."""
QueueOrder = str
"""`fifo`; `users`, the user who holds least goes first; `work`, who is expected to be the least work does."""
UNORDERED = "unordered"
ContainerOrder = str
"""`UNORDERED` leaves it to the sub-clusters; else a policy of `queue_policies.queue_policy`."""


@dataclass(frozen=True, slots=True)
class FederatedQueue:
    """One queue over all sub-clusters.

    Attributes:
        path: Full path, `root.prod`.
        weight: Its part, relative to its siblings'; None if it takes no part in the shares.
        guaranteed: Part of the federation that it gets before weights count.
        maximum: Part of the federation that it never exceeds.
        max_applications: Running and waiting ones; 0 for no limit, like the other counts.
        max_running: Those on sub-clusters.
        user_maximum: Part of the federation that one user never exceeds in it.
        submit: Users, `group:NAME`, or `*`.
        administer: Who may submit too, and end others' applications that wait in it.
        preemptable: Whether its containers are asked back, and its asks held back, while another queue waits for its
            share; `preempted_per_minute` is how many containers at most.
        names: What sub-clusters call it that call it otherwise.
        span: Whether one application of it may hold containers of several sub-clusters.
        spans_by_need: Whether one may that waits at its home, among sub-clusters that share a file system.
        reads_asks: Whether asks of those that stay at home are read and put in order, too, where `containers` has one.
        prefers: How much its applications prefer a sub-cluster then; 1 for those that are not in here.
        containers: Which of its applications has containers first, of those whose asks Heddle reads: a policy, with
            parameters.
        shadow: A policy that plans beside `containers`, only to be compared; `none` for no such.
        containers_up_to: Memory in MiB of the largest containers that its applications ask for; 0 if nobody says.
        deadline: What becomes of a submission whose deadline cannot be met: `warn` takes it, `refuse` does not.
        altruism: Probability with which a job of it puts off what it does not need now; 0 for never.
        altruism_order: Who gets what others put off first: a value of `altruism.LeftoverOrder`.
        altruism_packer: How plans order stages: `tetris` what fits best goes first, `graphene` as packs shortest.
        altruism_slack: Part of its remaining time that a job gives up.
        altruism_shadow: Whether it is only told what would be put off.
    """

    path: str
    weight: float | None = None
    guaranteed: float = 0.0
    maximum: float = 1.0
    max_applications: int = 0
    max_running: int = 0
    max_user_applications: int = 0
    max_user_running: int = 0
    user_maximum: float = 1.0
    order: QueueOrder = "fifo"
    submit: tuple[str, ...] = EVERYBODY
    administer: tuple[str, ...] = ()
    preemptable: bool = False
    preempted_per_minute: int = 20
    names: Mapping[SubClusterId, str] = field(default_factory=lambda: MappingProxyType({}))
    span: bool = False
    spans_by_need: bool = False
    reads_asks: bool = False
    prefers: Mapping[SubClusterId, float] = field(default_factory=lambda: MappingProxyType({}))
    containers: ContainerOrder = UNORDERED
    shadow: str = "none"
    containers_up_to: int = 0
    deadline: str = "warn"
    altruism: float = 0.0
    altruism_order: str = "srtf"
    altruism_packer: str = "tetris"
    altruism_slack: float = 0.0
    altruism_shadow: bool = False

    @property
    def is_read(self) -> bool:
        """True if calls of its ApplicationMasters are read: they may span, or their asks may be held back."""
        is_ordered = self.reads_asks and self.containers != UNORDERED
        may_span = self.span or self.spans_by_need
        return may_span or is_ordered or (self.preemptable and self.is_sharing) or self.altruism > 0.0

    @property
    def orders_asks(self) -> bool:
        """True if what its applications ask for is served by another order than that of their arrival."""
        return self.is_read and self.containers not in {UNORDERED, "fifo"}

    @property
    def acts_on_nothing(self) -> bool:
        """True if it has a policy for its containers, and no ApplicationMaster of it is read."""
        return self.containers not in {UNORDERED, AUTOMATIC.containers} and not self.is_read

    @property
    def no_effect(self) -> str:
        policy = self.containers.partition(":")[0]
        told = f'containers = "{policy}" of queue {self.path} would act on nothing'
        return f"{told}, as no ApplicationMaster of it is read: set span = true for it, or leave containers out"

    @property
    def is_sharing(self) -> bool:
        return self.weight is not None

    def name_at(self, subcluster: SubClusterId) -> str:
        return self.names.get(subcluster, self.path)


@dataclass(frozen=True, slots=True)
class QueueDefaults:
    """What a queue does that does not say otherwise.

    Attributes:
        order: As of `FederatedQueue`, like the others.
    """

    order: QueueOrder = "fifo"
    containers: ContainerOrder = UNORDERED
    spans_by_need: bool = False
    reads_asks: bool = False

    def queue(self, path: str) -> FederatedQueue:
        return FederatedQueue(path, **asdict(self))


PLAIN = QueueDefaults()
"""Nothing is held, spanned or ordered."""
AUTOMATIC = QueueDefaults("work", "learnt-work", spans_by_need=True, reads_asks=True)
"""What pays where there are several sub-clusters (docs/operators/defaults.md)."""


@dataclass(frozen=True, slots=True)
class QueueMapping:
    """Rule that puts applications into a queue; an empty field fits everybody.

    Attributes:
        application: Name of the application, with `*` and `?`.
    """

    queue: str
    user: str = ""
    group: str = ""
    application: str = ""
    overrides: bool = False


class _QueuesByName:
    """Queues of a policy by the names that one sub-cluster, or the policy itself, has for them.

    Two queues may have one name at a sub-cluster: whether the first or the last of them counts depends on the question.
    """

    def __init__(self, named: Iterable[tuple[str, FederatedQueue]]) -> None:
        self._first: dict[str, tuple[int, FederatedQueue]] = {}
        self._first_leaf: dict[str, tuple[int, FederatedQueue]] = {}
        self._last: dict[str, FederatedQueue] = {}
        for number, (name, queue) in enumerate(named):
            self._first.setdefault(name, (number, queue))
            self._first_leaf.setdefault(name.rpartition(".")[2], (number, queue))
            self._last[name] = queue
        self._longest = max(map(len, self._last), default=0)

    def exact(self, name: str) -> FederatedQueue | None:
        found = self._first.get(name)
        return None if found is None else found[1]

    def last(self, name: str) -> FederatedQueue | None:
        return self._last.get(name)

    def above(self, path: str) -> FederatedQueue | None:
        return self._last.get(_nearest_above(path, self._last, self._longest))

    def same(self, told: str) -> FederatedQueue | None:
        """The first queue that `is_same_queue` takes for the one that a ResourceManager names."""
        found = self._first.get(told)
        leaf = None if "." in told else self._first_leaf.get(told)
        if found is None or (leaf is not None and leaf[0] < found[0]):
            found = leaf
        return None if found is None else found[1]


@dataclass(frozen=True, slots=True)
class SharePolicy:
    """All of it.

    Attributes:
        rules: What operators want of the places of containers, whatever the queue.
        version: Counts the policies that were applied; 0 is the one of the configuration file.
    """

    queues: tuple[FederatedQueue, ...] = ()
    mappings: tuple[QueueMapping, ...] = ()
    rules: PlacementRules = NO_RULES
    version: int = 0
    _by_name: _QueuesByName = field(init=False, repr=False, compare=False)
    _by_name_at: dict[SubClusterId, _QueuesByName] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Index the queues: a look-up by name must not cost a step for each of them."""
        object.__setattr__(self, "_by_name", _QueuesByName((queue.path, queue) for queue in self.queues))
        object.__setattr__(self, "_by_name_at", {})

    @property
    def sharing(self) -> tuple[FederatedQueue, ...]:
        return tuple(queue for queue in self.queues if queue.is_sharing)

    @property
    def spanning(self) -> tuple[FederatedQueue, ...]:
        """Queues whose applications may hold containers of several sub-clusters, as somebody ordered."""
        return tuple(queue for queue in self.queues if queue.span)

    def with_queues(self, queues: Iterable[FederatedQueue]) -> "SharePolicy":
        """The same with further queues behind its own."""
        return replace(self, queues=(*self.queues, *queues))

    def spans_otherwise(self, other: "SharePolicy") -> tuple[str, ...]:
        """Paths of the queues that span in one of two policies alone."""
        ours, theirs = ({queue.path for queue in policy.spanning} for policy in (self, other))
        return tuple(sorted(ours ^ theirs))

    def find(self, told: str) -> FederatedQueue | None:
        """The queue that a full path or its last part names, or the nearest above that path."""
        found = self._by_name
        return found.exact(told) or found.above(told) or found.same(told)

    def name_at(self, subcluster: SubClusterId, told: str) -> str:
        """Name at a sub-cluster of the queue that a full path or its last part names; as told, if that is no other."""
        found = self.find(told)
        return found.names.get(subcluster, told) if found and is_same_queue(found.path, told) else told

    def find_at(self, subcluster: SubClusterId, told: str) -> FederatedQueue | None:
        """The queue whose applications a sub-cluster tells of under this name."""
        return self._names_at(subcluster).same(told)

    def owner_at(self, subcluster: SubClusterId, path: str) -> FederatedQueue | None:
        """The queue that a leaf of a sub-cluster belongs to: itself, or the nearest above it."""
        found = self._names_at(subcluster)
        return found.last(path) or found.above(path)

    def _names_at(self, subcluster: SubClusterId) -> _QueuesByName:
        found = self._by_name_at.get(subcluster)
        if found is None:
            named = ((queue.name_at(subcluster), queue) for queue in self.queues)
            found = self._by_name_at[subcluster] = _QueuesByName(named)
        return found


def parent_of(path: str, known: Collection[str]) -> str:
    """The nearest queue above a path that is known; empty for the federation itself.

    A path from outside may have as many parts as a request has bytes: only what is no longer than a known one is tried.
    """
    longest = max(map(len, known), default=0) if path.count(".") > _DEEP else len(path)
    return _nearest_above(path, known, longest)


def _nearest_above(path: str, known: Collection[str], longest: int) -> str:
    """As `parent_of`, where the length of the longest path that is known is at hand."""
    if path.count(".") > _DEEP:
        path = path if len(path) <= longest else path[: longest + 1]
    while path:
        path = path.rpartition(".")[0]
        if path in known:
            return path
    return ""
