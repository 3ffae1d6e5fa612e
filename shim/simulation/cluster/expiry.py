"""Expiry in a ResourceManager of what was silent for too long.

Sources: `AMLivelinessMonitor`, `NMLivelinessMonitor`, `ContainerAllocationExpirer`.
"""

from collections.abc import Mapping

from shim.domain.ids import ContainerId, NodeId
from shim.simulation.cluster.applications import Application, ModelledContainerState
from shim.simulation.cluster.spec import Timing

__all__ = ["is_silent", "silent_nodes", "unused_containers"]


def silent_nodes(heard_s: Mapping[NodeId, float], now_s: float, timing: Timing) -> list[NodeId]:
    """Nodes that have not sent a heartbeat for too long.

    Args:
        heard_s: The time of each node's last heartbeat.
        now_s: The time.
        timing: How long is too long.
    """
    return [node for node, at_s in heard_s.items() if now_s - at_s > timing.node_expiry_s]


def is_silent(application: Application, now_s: float, timing: Timing) -> bool:
    """True if an application's ApplicationMaster was started, and says nothing."""
    if application.is_over:
        return False
    attempt = application.attempt
    is_started = attempt.is_registered or attempt.master is not None
    return is_started and now_s - attempt.heard_s > timing.master_expiry_s


def unused_containers(application: Application, now_s: float, timing: Timing) -> list[ContainerId]:
    """Containers that an ApplicationMaster was given and that no node was told to start.

    Source: `RMContainerImpl` registers with `ContainerAllocationExpirer` when a container is acquired.
    """
    return [
        name
        for name, held in application.live.items()
        if held.state is ModelledContainerState.ACQUIRED
        and not held.is_master
        and now_s - held.since_s > timing.allocation_expiry_s
    ]
