"""Queues as a sub-cluster's scheduler reports them."""

from dataclasses import dataclass, field
from enum import Enum, StrEnum

from shim.domain.resources import ResourceVector

__all__ = ["QueueReport", "QueueState", "SchedulerType", "is_same_queue"]


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


def is_same_queue(path: str, told: str) -> bool:
    """True if a ResourceManager that names an application's queue `told` means the one with this full path.

    CapacityScheduler tells the last part alone where that is unambiguous, FairScheduler always the whole path.
    """
    return told == path or ("." not in told and path.rpartition(".")[2] == told)
