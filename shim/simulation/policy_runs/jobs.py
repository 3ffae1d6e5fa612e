"""Jobs and nodes as the runs of policies model them."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shim.scheduling.completion_table import JobForecast
from shim.scheduling.snapshot import IntArray

__all__ = ["ModelledSite", "PolicyJob", "StageTasks"]


@dataclass(frozen=True, slots=True)
class StageTasks:
    """Tasks of one stage.

    Attributes:
        demand: Amount of each resource type for one task.
        durations_s: True run time of each task at its data; only the model reads it.
        stated_s: What the submitter states of one task's run time; 0 for nothing.
        parents: Numbers of the stages that end before it begins.
        places: Rows of the nodes that hold the data of each task; empty where nothing is preferred.
        is_gang: Whether all of its tasks start together or none does.
    """

    demand: tuple[int, ...]
    durations_s: tuple[float, ...]
    stated_s: float = 0.0
    parents: tuple[int, ...] = ()
    places: tuple[tuple[int, ...], ...] = ()
    is_gang: bool = False


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
        """Tasks of all stages."""
        return sum(len(stage.durations_s) for stage in self.stages)


@dataclass(frozen=True)
class ModelledSite:
    """Nodes of one cluster.

    Attributes:
        capacity: What each of the nodes has.
        n_nodes: How many there are, `rack_size` in each rack.
        rack_factor: Run time in the rack of the data, as a multiple of that at the data; `far_factor` elsewhere.
    """

    n_nodes: int
    capacity: tuple[int, ...]
    rack_size: int = 20
    rack_factor: float = 1.2
    far_factor: float = 2.0

    @cached_property
    def racks(self) -> IntArray:
        """Number of each node's rack: int64 array of shape (n_nodes,)."""
        return np.arange(self.n_nodes, dtype=np.int64) // self.rack_size
