"""An application that once ran, what its history tells of it, and how it is modelled."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from shim.domain.queues import is_same_queue
from shim.domain.resources import ResourceVector
from shim.errors import BadRequestError
from shim.simulation.cluster.jobs import ModelledJob, ModelledStage

MOST_TASKS = 200_000
"""Containers of a replay."""
_LEAST_WIDTH = 0.1
SHORTEST_S = 0.1
"""Time that any task takes at least."""


@dataclass(frozen=True, slots=True)
class PastJob:
    """One application of a history.

    Attributes:
        queue: As the history names it: a full path or a leaf.
        arrival_s: When it was submitted, from the first submission of the history.
        stages: Its tasks, where the history tells them; else it is modelled by its amounts.
        run_s: From the launch of its ApplicationMaster to its end.
        mib_s: Memory times seconds of all its containers, with its ApplicationMaster; `vcore_s` likewise.
        waited_s: From its submission to the launch of its ApplicationMaster; None if the history does not tell.
        took_s: From its submission to its end; None likewise.
        master: Size of its ApplicationMaster, where the history tells it.
    """

    name: str
    queue: str
    user: str
    arrival_s: float
    stages: tuple[ModelledStage, ...] = ()
    run_s: float = 0.0
    mib_s: float = 0.0
    vcore_s: float = 0.0
    waited_s: float | None = None
    took_s: float | None = None
    master: ResourceVector | None = None

    @property
    def container(self) -> ResourceVector:
        """Size of its containers, if amounts are all that is known: of one vcore, its ApplicationMaster's too."""
        if self.stages:
            return max((stage.size for stage in self.stages), key=lambda size: size.memory_mib)
        memory_mib = max(1, round(self.mib_s / max(self.vcore_s, self.run_s, SHORTEST_S)))
        return ResourceVector(memory_mib, 1)


@dataclass(frozen=True, slots=True)
class RecordedHistory:
    """Applications by their submission.

    Attributes:
        left_out: Why some of its applications are not in `jobs`, and how many.
        assumptions: What had to be assumed, in sentences.
    """

    jobs: tuple[PastJob, ...]
    assumptions: tuple[str, ...]
    left_out: tuple[tuple[str, int], ...] = ()

    @property
    def queues(self) -> tuple[str, ...]:
        """Full paths of the queues that it names; a leaf is taken for one below `root`."""
        return tuple(sorted({job.queue if "." in job.queue else f"root.{job.queue}" for job in self.jobs}))


def full_path(queue: str, leaves: Sequence[str]) -> str:
    """The one leaf queue of the clusters that a history's name means.

    Raises:
        BadRequestError: If there is none, or there are several.
    """
    found = [path for path in leaves if is_same_queue(path, queue)]
    if len(found) == 1:
        return found[0]
    why = f"is {' and '.join(found)}" if found else "is in none"
    raise BadRequestError(f"queue {queue!r} of the history {why} of the clusters; they have {', '.join(leaves)}")


def modelled(
    jobs: Sequence[PastJob],
    leaves: Sequence[str],
    *,
    startup_s: float,
    task_s: float = 0.0,
    lengths_s: Mapping[str, float] = MappingProxyType({}),
) -> tuple[ModelledJob, ...]:
    """The applications as modelled clusters run them.

    Args:
        jobs: As `RecordedHistory` has them.
        leaves: Leaf queues of the clusters.
        startup_s: What an application of one task takes from its launch to its end, without the task.
        task_s: Length of a task of an application of which only amounts are known; 0 for its whole run.
        lengths_s: The same of single applications, by name.

    Raises:
        BadRequestError: If a queue is unknown, or there are more containers than a replay may have.
    """
    made = tuple(
        ModelledJob(
            name=job.name,
            arrival_s=job.arrival_s,
            stages=job.stages or (_stage_of(job, startup_s, lengths_s.get(job.name, task_s)),),
            user=job.user,
            queue=full_path(job.queue, leaves),
            master=job.master or _master_of(job),
        )
        for job in jobs
    )
    tasks = sum(job.tasks for job in made)
    if tasks > MOST_TASKS:
        raise BadRequestError(f"the history has {tasks} containers, a replay at most {MOST_TASKS}: take fewer (--jobs)")
    return made


def _master_of(job: PastJob) -> ResourceVector:
    size = job.container
    return ResourceVector(max(1, size.memory_mib // 2), 1) if not job.stages and _is_alone(job) else size


def _is_alone(job: PastJob) -> bool:
    """True if hardly more ran than the ApplicationMaster."""
    return job.vcore_s < (1.0 + _LEAST_WIDTH) * job.run_s


def _stage_of(job: PastJob, startup_s: float, task_s: float) -> ModelledStage:
    """Containers with the work of an application, beside its ApplicationMaster.

    With `task_s` of 0 they begin together, and the longest ends when the application did: it is as wide as it was in
    the mean, and never done sooner than it once was after its launch.
    """
    longest_s = max(SHORTEST_S, job.run_s - startup_s)
    each_s = min(longest_s, task_s) if task_s > 0.0 else longest_s
    if _is_alone(job):
        return ModelledStage((each_s,), size=_master_of(job))
    work_s = job.vcore_s - job.run_s
    whole, rest_s = divmod(work_s, each_s)
    if not math.isfinite(whole) or whole > MOST_TASKS:
        raise BadRequestError(f"{job.name} has more than {MOST_TASKS} containers; is its time right?")
    durations = (each_s,) * int(whole) + ((rest_s,) if rest_s > SHORTEST_S or not whole else ())
    return ModelledStage(durations, size=job.container)
