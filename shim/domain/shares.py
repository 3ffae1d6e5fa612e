"""The policy of shares: which queues divide the federation, how, and who is put into which. Values only."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from shim.domain.ids import SubClusterId
from shim.domain.queues import is_same_queue

__all__ = [
    "EVERYBODY",
    "UNORDERED",
    "ContainerOrder",
    "FederatedQueue",
    "QueueMapping",
    "QueueOrder",
    "SharePolicy",
    "parent_of",
]

EVERYBODY = ("*",)
_DEEP = 32
"""Levels of queues that nobody has."""
QueueOrder = str
"""`fifo`, or `users`: the user who holds least goes first."""
UNORDERED = "unordered"
ContainerOrder = str
"""`UNORDERED` leaves it to the sub-clusters; else one of `shim.global_master.waiting_table.CONTAINER_ORDERS`."""


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
        prefers: How much its applications prefer a sub-cluster then; 1 for those that are not in here.
        containers: Which of its applications has containers first, of those whose asks Heddle reads.
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
    prefers: Mapping[SubClusterId, float] = field(default_factory=lambda: MappingProxyType({}))
    containers: ContainerOrder = UNORDERED

    @property
    def is_sharing(self) -> bool:
        """Whether it takes part in the shares."""
        return self.weight is not None

    def name_at(self, subcluster: SubClusterId) -> str:
        """What a sub-cluster calls it."""
        return self.names.get(subcluster, self.path)


@dataclass(frozen=True, slots=True)
class QueueMapping:
    """Who is put into which queue; what is empty fits everybody.

    Attributes:
        application: Name of the application, with `*` and `?`.
        overrides: Whether it counts also for submissions that name a queue.
    """

    queue: str
    user: str = ""
    group: str = ""
    application: str = ""
    overrides: bool = False


@dataclass(frozen=True, slots=True)
class SharePolicy:
    """All of it.

    Attributes:
        version: Counts the policies that were applied; 0 is the one of the configuration file.
    """

    queues: tuple[FederatedQueue, ...] = ()
    mappings: tuple[QueueMapping, ...] = ()
    version: int = 0

    @property
    def sharing(self) -> tuple[FederatedQueue, ...]:
        """Queues that take part in the shares."""
        return tuple(queue for queue in self.queues if queue.is_sharing)

    @property
    def spanning(self) -> tuple[FederatedQueue, ...]:
        """Queues whose applications may hold containers of several sub-clusters."""
        return tuple(queue for queue in self.queues if queue.span)

    def spans_otherwise(self, other: "SharePolicy") -> tuple[str, ...]:
        """Paths of the queues that span in one of two policies alone."""
        ours, theirs = ({queue.path for queue in policy.spanning} for policy in (self, other))
        return tuple(sorted(ours ^ theirs))

    def find(self, told: str) -> FederatedQueue | None:
        """The queue that a full path or its last part names, or the nearest above that path."""
        by_path = {queue.path: queue for queue in self.queues}
        above = by_path.get(told) or by_path.get(parent_of(told, by_path))
        return above or next((queue for queue in self.queues if is_same_queue(queue.path, told)), None)

    def name_at(self, subcluster: SubClusterId, told: str) -> str:
        """What a sub-cluster calls the queue that a full path or its last part names; as told, if that is no other."""
        found = self.find(told)
        return found.names.get(subcluster, told) if found and is_same_queue(found.path, told) else told

    def find_at(self, subcluster: SubClusterId, told: str) -> FederatedQueue | None:
        """The queue whose applications a sub-cluster tells of under this name."""
        return next((queue for queue in self.queues if is_same_queue(queue.name_at(subcluster), told)), None)


def parent_of(path: str, known: Collection[str]) -> str:
    """The nearest queue above a path that is known; empty for the federation itself.

    A path from outside may have as many parts as a request has bytes: only what is no longer than a known one is tried.
    """
    if path.count(".") > _DEEP:
        longest = max(map(len, known), default=0)
        path = path if len(path) <= longest else path[: longest + 1]
    while path:
        path = path.rpartition(".")[0]
        if path in known:
            return path
    return ""
