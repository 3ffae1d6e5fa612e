"""The worlds that a calibration compares, row by row: what stands before the clusters, and by which policy."""

from dataclasses import dataclass

from shim.domain.resources import ResourceVector

CONTAINER = ResourceVector(256, 1)
"""Of tasks and of ApplicationMasters: nodes have room for a whole number of either."""
NODES = 2
"""Of each of two clusters; one cluster over all nodes has twice as many."""
_PLACES = 10

NODE_OVERRIDES = {
    "yarn-site.xml": {
        "yarn.nodemanager.resource.memory-mb": str(CONTAINER.memory_mib * _PLACES),
        "yarn.nodemanager.resource.cpu-vcores": str(4 * _PLACES),
    },
    "capacity-scheduler.xml": {
        "yarn.scheduler.capacity.root.queues": "default",
        "yarn.scheduler.capacity.root.default.capacity": "100",
        "yarn.scheduler.capacity.maximum-am-resource-percent": "0.4",
    },
}
"""Configuration of the lab's clusters that is not the lab's own."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row.

    Attributes:
        containers: Order of the queue of Heddle; empty where no Heddle stands before the clusters.
        clusters: How many; 1 is one CapacityScheduler over all nodes.
    """

    name: str
    containers: str = ""
    clusters: int = 2

    @property
    def sections(self) -> str:
        """Sections of Heddle's configuration, beside those of addresses and of security."""
        return f'[[queue]]\nname = "root.default"\nspan = true\norder = "fifo"\ncontainers = "{self.containers}"\n'


ROWS = {
    row.name: row
    for row in (
        Row("heddle, fewest-tasks", "fewest-tasks"),
        Row("heddle, fifo", "fifo"),
        Row("heddle, unordered", "unordered"),
        Row("heddle, tetris", "tetris"),
        Row("each cluster by itself"),
        Row("one cluster", clusters=1),
    )
}
