"""The worlds that a calibration compares, row by row: what stands before the clusters, and by which policy."""

from collections.abc import Mapping
from dataclasses import dataclass

from shim.domain.resources import ResourceVector

CONTAINER = ResourceVector(256, 1)
"""Of tasks and of ApplicationMasters: nodes have room for a whole number of either."""
NODES = 2
"""Of each of two clusters; one cluster over all nodes has twice as many."""
PLACES = 10
"""Containers on a node."""

NODE_OVERRIDES = {
    "yarn-site.xml": {
        "yarn.nodemanager.resource.memory-mb": str(CONTAINER.memory_mib * PLACES),
        "yarn.nodemanager.resource.cpu-vcores": str(4 * PLACES),
    },
    "capacity-scheduler.xml": {
        "yarn.scheduler.capacity.root.queues": "default",
        "yarn.scheduler.capacity.root.default.capacity": "100",
        "yarn.scheduler.capacity.maximum-am-resource-percent": "0.4",
    },
}
ORDERING = "yarn.scheduler.capacity.root.default.ordering-policy"


@dataclass(frozen=True, slots=True)
class Row:
    """One row.

    Attributes:
        containers: Order of the queue of Heddle; empty where no Heddle stands before the clusters, or one as installed.
        clusters: How many; 1 is one CapacityScheduler over all nodes.
        ordering: `ordering-policy` of the clusters' queue.
        order: In which applications start.
        is_installed: Whether a Heddle stands before them of which nothing is configured but them, and that they have
            files in common.
    """

    name: str
    containers: str = ""
    clusters: int = 2
    ordering: str = "fifo"
    order: str = "fifo"
    is_installed: bool = False

    @property
    def is_heddle(self) -> bool:
        """True if a Heddle stands before the clusters."""
        return self.is_installed or bool(self.containers)

    @property
    def overrides(self) -> Mapping[str, Mapping[str, str]]:
        """Configuration of the lab's clusters that is not the lab's own."""
        queues = NODE_OVERRIDES["capacity-scheduler.xml"] | {ORDERING: self.ordering}
        return NODE_OVERRIDES | {"capacity-scheduler.xml": queues}

    @property
    def sections(self) -> str:
        """Sections of Heddle's configuration, beside those of addresses and of security."""
        if self.is_installed:
            return ""
        return (
            f'[[queue]]\nname = "root.default"\nspan = true\norder = "{self.order}"\ncontainers = "{self.containers}"\n'
        )


ONE_FAIR = "one fair cluster"
ROWS = {
    row.name: row
    for row in (
        Row("heddle, fewest-tasks", "fewest-tasks"),
        Row("heddle, fifo", "fifo"),
        Row("heddle, unordered", "unordered"),
        Row("heddle, tetris", "tetris"),
        Row("each cluster by itself"),
        Row("one cluster", clusters=1),
        Row("heddle as installed, fifo clusters", is_installed=True),
        Row("heddle as installed, fair clusters", is_installed=True, ordering="fair"),
        Row(ONE_FAIR, clusters=1, ordering="fair"),
    )
}
