"""Jobs and nodes as the runs of policies model them."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shim.scheduling.completion_table import JobForecast
from shim.scheduling.snapshot import IntArray
from shim.scheduling.tag_constraints import TagConstraint


@dataclass(frozen=True, slots=True)
class StageTasks:
    """Tasks of one stage.

    Attributes:
        demand: Amount of each resource type for one task.
        durations_s: True run time of each task at its data; only the model reads it.
        stated_s: What the submitter states of one task's run time; 0 for nothing.
        parents: Numbers of the stages that end before it begins.
        places: Rows of the nodes that hold the data of each task; empty where nothing is preferred.
        tags: Of containers of a long-running service; empty for tasks.
    """

    demand: tuple[int, ...]
    durations_s: tuple[float, ...]
    stated_s: float = 0.0
    parents: tuple[int, ...] = ()
    places: tuple[tuple[int, ...], ...] = ()
    is_gang: bool = False
    tags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PolicyJob:
    """A job: its stages, and when it has to be done.

    Attributes:
        deadline_s: Absolute; infinite for none.
        forecast: What former runs of such a job tell; None for a job that never ran.
    """

    arrival_s: float
    stages: tuple[StageTasks, ...]
    deadline_s: float = math.inf
    queue: int = -1
    forecast: JobForecast | None = None

    @property
    def work_s(self) -> float:
        """Time of all tasks, at their data."""
        return sum(sum(stage.durations_s) for stage in self.stages)

    @property
    def n_tasks(self) -> int:
        return sum(len(stage.durations_s) for stage in self.stages)


@dataclass(frozen=True)
class ModelledSite:
    """Nodes of one cluster.

    Attributes:
        n_nodes: How many there are, `rack_size` in each rack.
        constraints: What services want of their places; `keep_free` is what a node should keep for tasks.
        rack_factor: Run time in the rack of the data, as a multiple of that at the data; `far_factor` elsewhere.
    """

    n_nodes: int
    capacity: tuple[int, ...]
    rack_size: int = 20
    rack_factor: float = 1.2
    far_factor: float = 2.0
    constraints: tuple[TagConstraint, ...] = ()
    keep_free: tuple[int, ...] = ()

    @cached_property
    def racks(self) -> IntArray:
        """Number of each node's rack: int64 array of shape (n_nodes,)."""
        return np.arange(self.n_nodes, dtype=np.int64) // self.rack_size

    def distance(self, places: tuple[int, ...], node: int) -> int:
        """From the nearest of some places to a node: 0 at it, 1 in its rack, 2 elsewhere."""
        if node in places:
            return 0
        return 1 if any(self.racks[each] == self.racks[node] for each in places) else 2
