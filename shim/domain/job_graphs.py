"""The graph of a running job: what an adapter can know of its stages, whatever engine it runs on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shim.errors import MalformedJobGraphError


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of alike tasks: a vertex of Tez, the maps or reduces of MapReduce, a stage of Spark.

    Attributes:
        name: Unique in its graph.
        tasks: Number of tasks; None as long as the engine has not decided.
        memory_mib: Memory of one task's container.
        vcores: Virtual cores of one task's container.
        waits_for: Positions of the stages that have to end first (barriers).
        sources: Positions of all stages that feed this one, barriers or not.
    """

    name: str
    tasks: int | None
    memory_mib: int
    vcores: int
    waits_for: tuple[int, ...] = ()
    sources: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class JobGraph:
    """Stages in the order of their engine's numbers; build with `of`, which checks.

    Attributes:
        distances: Edges on the longest way from a root, of each stage.
    """

    name: str
    stages: tuple[Stage, ...]
    distances: tuple[int, ...]

    @classmethod
    def of(cls, name: str, stages: Sequence[Stage]) -> "JobGraph":
        """Check and build a graph.

        Raises:
            MalformedJobGraphError: If two stages have one name, or stages feed each other in a cycle.
        """
        names = [stage.name for stage in stages]
        if len(set(names)) < len(names):
            twice = sorted({each for each in names if names.count(each) > 1})
            raise MalformedJobGraphError(f"job graph {name!r} has several stages of the name {twice[0]!r}")
        return cls(name, tuple(stages), _distances(name, stages))


@dataclass(frozen=True, slots=True)
class StagesOfJob:
    """The stages of a job, and which of them an ask is for.

    Attributes:
        urgent: Priorities of tasks that failed before: they are never put off.
        source: Where it was learnt, for people.
        reuses_containers: Whether the engine runs further tasks in a container, those of the smallest priority number
            first, whatever was asked for by which ask.
        part: Number of the part of the application that this is, if it has several one after the other: a DAG of a Tez
            session, a job of a Spark driver.
        has_parts: Whether others may follow. Which one runs is known by its counts alone: without them the job is
            unknown.
        slots: Tasks that run at once in each container, of whatever stage; then asks are for containers, and
            `by_priority` tells in which order stages are served. 0 where an ask is for the tasks of one stage.
    """

    graph: JobGraph
    by_priority: Mapping[int, int]
    urgent: frozenset[int] = frozenset()
    source: str = ""
    reuses_containers: bool = False
    part: int = 1
    has_parts: bool = False
    slots: int = 0

    def is_same_as(self, other: "StagesOfJob") -> bool:
        return self.part == other.part and self.graph == other.graph and self.slots == other.slots


@dataclass(frozen=True, slots=True)
class TaskCounts:
    """Tasks of a stage, as the job's ApplicationMaster counts them.

    Attributes:
        total: All of them; None as long as the engine has not decided.
        succeeded: Ended well.
    """

    total: int | None
    running: int
    succeeded: int


@dataclass(frozen=True, slots=True)
class CountedStages:
    """Stages with their counts."""

    stages: StagesOfJob
    counts: tuple[TaskCounts, ...]


def _distances(name: str, stages: Sequence[Stage]) -> tuple[int, ...]:
    """Edges on the longest way from a root, found without recursion: a graph from outside may be deep."""
    feeds: list[list[int]] = [[] for _ in stages]
    missing = [len(stage.sources) for stage in stages]
    for position, stage in enumerate(stages):
        for source in stage.sources:
            feeds[source].append(position)
    distances, ready = [0] * len(stages), [position for position, count in enumerate(missing) if not count]
    done = 0
    while ready:
        position = ready.pop()
        done += 1
        for child in feeds[position]:
            distances[child] = max(distances[child], distances[position] + 1)
            missing[child] -= 1
            if not missing[child]:
                ready.append(child)
    if done < len(stages):
        raise MalformedJobGraphError(f"job graph {name!r} has stages that feed each other in a cycle")
    return tuple(distances)
