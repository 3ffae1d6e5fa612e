"""One sub-cluster as the federation view knows it: the values that it hands out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from shim.domain.ids import SubClusterId
from shim.domain.queues import QueueReport, SchedulerType, parent_of
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import HaState, NodeReport, SubClusterState


class Part(Enum):
    """Part of a sub-cluster that is polled; the value is the name in `SubClusterReport.documents`."""

    INFO = "info"
    METRICS = "metrics"
    NODES = "nodes"
    SCHEDULER = "scheduler"
    APPLICATIONS = "apps"


@dataclass(frozen=True, slots=True)
class PartDocument:
    """A sub-cluster's own answer for one part.

    Attributes:
        raw: The whole JSON answer.
        as_of_s: When it was asked for; seconds since the epoch.
    """

    raw: bytes
    as_of_s: float


PlacementKind = tuple[str, int, int]
"""Queue as submitted, memory in MiB and virtual cores: thousands of placements between two polls are of a few kinds."""


@dataclass(frozen=True, slots=True)
class PendingPlacement:
    """An application that was sent to a sub-cluster and that no report of it can show yet.

    Attributes:
        queue: As submitted; empty for the default queue.
        resource: Of the ApplicationMaster's container.
        at_s: When it was placed; seconds since the epoch.
    """

    queue: str
    resource: ResourceVector
    at_s: float

    @property
    def kind(self) -> PlacementKind:
        """The properties that the placement's weight depends on."""
        return self.queue, self.resource.memory_mib, self.resource.vcores


@dataclass(frozen=True, slots=True)
class PartitionNodes:
    """RUNNING nodes of one node partition.

    Attributes:
        freest: The most that some node has free, type by type: what is more fits on none.
    """

    nodes: tuple[NodeReport, ...]
    freest: ResourceVector


@dataclass(frozen=True, slots=True)
class SubClusterView:
    """One sub-cluster as it is known now; what `home.choose_home` looks at.

    Attributes:
        age_s: Since its newest report began; infinite if there is none.
        failure: Why the polls since that report failed; empty if none did.
        running: How many live applications it holds.
        placements: How many of each kind were sent there since the last report that could show them.
        version: Hadoop's version.
        pending: What leaf queues wait for, together; memory and virtual cores alone.
        waiting_applications: Those of leaf queues whose ApplicationMasters have not started.
        partitions: RUNNING nodes by the label of their partition; None to look at each node.
        awaits_nodes: Whether its ResourceManager has restarted, and many of its nodes are not back yet.
        left_out: Rows that it told and that are more than is taken in of one sub-cluster, by what they are of.
        short_names: The queues that share the last part of their path, by that part; None to look at each queue.
    """

    subcluster: SubClusterId
    state: SubClusterState
    age_s: float
    failure: str = ""
    ha_state: HaState | None = None
    started_on_ms: int = 0
    version: str = ""
    scheduler: str = ""
    clock_skew_s: float = 0.0
    capacity: ResourceVector = field(default_factory=ResourceVector)
    used: ResourceVector = field(default_factory=ResourceVector)
    maximum_allocation: ResourceVector = field(default_factory=ResourceVector)
    nodes: tuple[NodeReport, ...] = ()
    queues: Mapping[str, QueueReport] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    running: int = 0
    placements: Mapping[PlacementKind, int] = field(default_factory=dict)
    pending: ResourceVector = field(default_factory=ResourceVector)
    waiting_applications: int = 0
    short_names: Mapping[str, Sequence[QueueReport]] | None = None
    awaits_nodes: bool = False
    left_out: Mapping[str, int] = field(default_factory=dict)
    partitions: Mapping[str, PartitionNodes] | None = None


def by_short_name(queues: Mapping[str, QueueReport]) -> dict[str, list[QueueReport]]:
    """Queues by the last part of their path, in the order in which they were told."""
    names: dict[str, list[QueueReport]] = {}
    for path, queue in queues.items():
        names.setdefault(path.rpartition(".")[2], []).append(queue)
    return names


def find_queue(subcluster: SubClusterView, name: str) -> QueueReport | None:
    """The queue that a submission's queue name means there, by the rules of that scheduler.

    A capacity scheduler takes a full path or the name of a leaf; a fair scheduler reads `x` as `root.x` and makes the
    queues that it lacks; a fifo scheduler has one queue for everything. A queue that would be made is reported as its
    nearest existing parent.
    """
    if subcluster.scheduler == "fifoScheduler":
        return next(iter(subcluster.queues.values()), None)
    exact = subcluster.queues.get(name)
    if exact is not None:
        return exact
    if subcluster.scheduler == SchedulerType.FAIR:
        full = name if name.startswith("root.") else f"root.{name}"
        return subcluster.queues.get(full) or subcluster.queues.get(parent_of(full, subcluster.queues))
    names = by_short_name(subcluster.queues) if subcluster.short_names is None else subcluster.short_names
    short = names.get(name)
    if short:
        return next((queue for queue in short if queue.is_leaf), short[0])
    parent = subcluster.queues.get(name.rpartition(".")[0])
    return parent if parent is not None and parent.creates_children else None
