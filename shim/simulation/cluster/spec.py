"""Specification of a modelled cluster: nodes, queues, and how long its steps take."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from shim.domain.ids import NodeId, SubClusterId
from shim.domain.resources import ResourceVector

_PORT = 45454


@dataclass(frozen=True, slots=True)
class NodeManagerSpec:
    """One NodeManager.

    Attributes:
        label: Its partition; empty for the default one.
    """

    id: NodeId
    size: ResourceVector
    rack: str = "/default-rack"
    label: str = ""


@dataclass(frozen=True, slots=True)
class QueueSpec:
    """A leaf queue of the CapacityScheduler, directly below `root`.

    Attributes:
        percent: Capacity, of the cluster.
        most_percent: Maximum capacity, of the cluster.
        user_limit_percent: What each of several users is guaranteed of the queue at least.
        user_limit_factor: What one user may have at most, in capacities of the queue.
        am_share: Part of the queue that ApplicationMasters may have (`maximum-am-resource-percent`).
        ordering: Order of the queue's attempts (`ordering-policy`): `fifo` by arrival, or `fair` by the memory that
            each holds, the least first.
    """

    percent: float = 100.0
    most_percent: float = 100.0
    user_limit_percent: float = 100.0
    user_limit_factor: float = 1.0
    am_share: float = 0.1
    ordering: Literal["fifo", "fair"] = "fifo"


@dataclass(frozen=True, slots=True)
class Timing:
    """Durations of steps, in seconds, and how much one step does.

    The defaults are Hadoop's, where it has one; `launch_s` and `master_start_s` are assumed, not measured.

    Attributes:
        node_heartbeat_s: Of NodeManagers (`yarn.resourcemanager.nodemanagers.heartbeat-interval-ms`).
        off_switch_each: Containers without locality that one heartbeat of a node allocates
            (`per-node-heartbeat.maximum-offswitch-assignments`).
        most_each: Containers that one heartbeat of a node allocates at all
            (`per-node-heartbeat.maximum-container-assignments`).
        locality_delay: Heartbeats for which an ask with hosts skips nodes that are none of them
            (`yarn.scheduler.capacity.node-locality-delay`).
        launch_s: From the order to start a container to the first step of its program.
        master_start_s: From the first step of an ApplicationMaster's program to its registration.
        recovery_s: From the start of a ResourceManager to its first allocation
            (`work-preserving-recovery.scheduling-wait-ms`).
        master_expiry_s: An ApplicationMaster that says nothing for this long has failed
            (`yarn.am.liveness-monitor.expiry-interval-ms`).
        node_expiry_s: The same of NodeManagers (`yarn.nm.liveness-monitor.expiry-interval-ms`).
        allocation_expiry_s: A granted container that is not launched within this time is taken back
            (`yarn.resourcemanager.rm.container-allocation.expiry-interval-ms`).
    """

    node_heartbeat_s: float = 1.0
    off_switch_each: int = 1
    most_each: int = 100
    locality_delay: int = 40
    launch_s: float = 0.3
    master_start_s: float = 1.5
    recovery_s: float = 10.0
    master_expiry_s: float = 600.0
    node_expiry_s: float = 600.0
    allocation_expiry_s: float = 600.0


def _default_queue() -> Mapping[str, QueueSpec]:
    return MappingProxyType({"root.default": QueueSpec()})


@dataclass(frozen=True, slots=True)
class ModelledClusterSpec:
    """A cluster.

    Attributes:
        queues: Leaf queues by their full path.
        epoch: `yarn.resourcemanager.epoch`; 0 for none.
        recovers: Whether the ResourceManager knows its applications after a restart.
        scheduler: `capacity`, or `fair` for a FairScheduler: it orders each queue's applications by what they hold.
    """

    name: SubClusterId
    nodes: tuple[NodeManagerSpec, ...]
    queues: Mapping[str, QueueSpec] = field(default_factory=_default_queue)
    epoch: int = 0
    recovers: bool = True
    timing: Timing = Timing()
    scheduler: Literal["capacity", "fair"] = "capacity"

    @property
    def capacity(self) -> ResourceVector:
        return sum((node.size for node in self.nodes), ResourceVector())

    @classmethod
    def even(
        cls,
        name: str,
        *,
        nodes: int,
        size: ResourceVector,
        racks: int = 1,
        epoch: int = 0,
        queues: Mapping[str, QueueSpec] | None = None,
        timing: Timing | None = None,
        scheduler: Literal["capacity", "fair"] = "capacity",
    ) -> "ModelledClusterSpec":
        """A cluster of equal nodes, dealt to racks in turn.

        Args:
            name: Of the cluster; its nodes are called `NAME-n1` and so on.
            racks: How many; one is Hadoop's `/default-rack`.
        """
        made = tuple(
            NodeManagerSpec(
                NodeId(f"{name}-n{number + 1}", _PORT),
                size,
                rack="/default-rack" if racks == 1 else f"/rack{number % racks + 1}",
            )
            for number in range(nodes)
        )
        known = queues or _default_queue()
        return cls(SubClusterId(name), made, known, epoch=epoch, timing=timing or Timing(), scheduler=scheduler)
