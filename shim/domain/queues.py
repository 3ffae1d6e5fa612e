"""Queues as a sub-cluster's scheduler reports them."""

from dataclasses import dataclass, field
from enum import Enum, StrEnum

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
        used: What it holds of it.
        masters: Most that its ApplicationMasters may hold together; empty where that is not told.
        masters_used: What they hold.
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
        applications: How many the user has there.
        used: What they hold; `most` is the limit, empty where it is not told: who holds more is given nothing more.
        masters_used: What the ApplicationMasters of them hold.
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
        maximum: Most that it may hold.
        used: What it holds.
        pending: Asked for and not granted; `pending_containers` is how many containers that are, 0 if it is not told.
        labels: Node labels that the queue may ask for; `*` for all.
        applications: How many applications it holds; `maximum_applications` is the limit, 0 for none.
        waiting_applications: Those of them whose ApplicationMasters have not started.
        creates_children: Whether a leaf below it is made when an application asks for one.
        maximum_allocation: Largest container that it grants; empty where that is not told.
        partitions: Its parts of the node partitions; empty where only `maximum` and `used` are told.
        default_label: Partition of what names none.
        most_running: How many of its applications may run at once, the rest waits; None for no limit.
        users: Those who have applications there.
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
