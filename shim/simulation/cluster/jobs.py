"""Jobs for modelled clusters: stages of tasks, as MapReduce and DAG engines run them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from shim.domain.resources import ResourceVector
from shim.simulation.traces import Workload

_TASK = ResourceVector(1024, 1)
_MASTER = ResourceVector(512, 1)


@dataclass(frozen=True, slots=True)
class ModelledStage:
    """Tasks that may run at the same time.

    Attributes:
        durations_s: How long each task's program runs; known to nobody but the container that runs it.
        hosts: For each task the hosts that have its data; empty where no task has any.
        elsewhere: Run time of a task on another host than those, as a multiple.
        asks: Whether its master asks for these hosts before others, for them alone (`relaxLocality` off), or for any.
    """

    durations_s: tuple[float, ...]
    needs: tuple[int, ...] = ()
    size: ResourceVector = _TASK
    hosts: tuple[tuple[str, ...], ...] = ()
    elsewhere: float = 1.0
    asks: Literal["soft", "hard", "none"] = "soft"

    def takes_s(self, task: int, host: str) -> float:
        is_near = not self.hosts or not self.hosts[task] or host in self.hosts[task]
        return self.durations_s[task] * (1.0 if is_near else self.elsewhere)


@dataclass(frozen=True, slots=True)
class ModelledJob:
    """One application.

    Attributes:
        arrival_s: When its client submits it, in virtual time.
        master: Size of its ApplicationMaster.
        deadline_s: Seconds from its submission to its deadline; 0 for none.
        gang: How many of its first containers it must have together; 0 where each is by itself.
        gang_s: How long a part of them is held at most.
        keeps_containers: Whether its containers outlive an attempt of it.
        tags: Further tags of its application.
    """

    name: str
    arrival_s: float
    stages: tuple[ModelledStage, ...]
    user: str = "alice"
    queue: str = "root.default"
    master: ResourceVector = _MASTER
    keeps_containers: bool = False
    most_attempts: int = 2
    deadline_s: int = 0
    gang: int = 0
    gang_s: int = 120
    tags: tuple[str, ...] = ()

    @property
    def tasks(self) -> int:
        return sum(len(stage.durations_s) for stage in self.stages)

    @property
    def longest_path_s(self) -> float:
        """No run of it can be shorter: each stage's longest task, along the longest chain of needs."""
        ends_s: list[float] = []
        for stage in self.stages:
            begins_s = max((ends_s[before] for before in stage.needs), default=0.0)
            ends_s.append(begins_s + max(stage.durations_s, default=0.0))
        return max(ends_s)


def jobs_of(
    workload: Workload,
    *,
    queues: Iterable[str] = ("root.default",),
    users: Iterable[str] = ("alice",),
    size: ResourceVector = _TASK,
    master: ResourceVector = _MASTER,
) -> tuple[ModelledJob, ...]:
    """A workload of the simulator as applications of one stage, dealt to queues and users in turn."""
    paths, names = tuple(queues), tuple(users)
    return tuple(
        ModelledJob(
            name=f"job-{job.index}",
            arrival_s=job.arrival_s,
            stages=(ModelledStage(job.durations_s, size=size),),
            user=names[job.index % len(names)],
            queue=paths[job.index % len(paths)],
            master=master,
        )
        for job in workload.jobs
    )
