"""Documents of a Spark driver's web service, the application's own word, and what they say of the job that runs.

Source: `org.apache.spark.status.api.v1` of Spark 3.5 (`JobData`, `StageData`, `ExecutorSummary`): counts and states of
stages, but not which waits for which. That is in the event log alone; without it a job is known only while one of its
stages runs: all others then wait for that one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TypeVar

import msgspec

from shim.domain.job_graphs import CountedStages, JobGraph, Stage, StagesOfJob, TaskCounts
from shim.errors import MalformedJobGraphError
from shim.protocol.wire_values import UNREADABLE

MAX_STAGES = 1_000
MAX_TASKS = 1_000_000
_MOST_RUNNING = 20_000
_MOST_NAME = 200
_ACTIVE = "ACTIVE"
_DRIVER = "driver"
_CHAINED = "the driver's web service"
_Document = TypeVar("_Document")


class JobRow(msgspec.Struct):
    """A job of a driver, by Spark's names."""

    jobId: int  # noqa: N815 - Spark's name
    stageIds: tuple[int, ...]  # noqa: N815 - Spark's name


class StageRow(msgspec.Struct):
    """A stage, by Spark's names."""

    stageId: int  # noqa: N815 - Spark's name
    status: str
    numTasks: int  # noqa: N815 - Spark's name
    numActiveTasks: int = 0  # noqa: N815 - Spark's name
    numCompletedIndices: int = 0  # noqa: N815 - Spark's name
    attemptId: int = 0  # noqa: N815 - Spark's name
    name: str = ""
    resourceProfileId: int = 0  # noqa: N815 - Spark's name


class ExecutorRow(msgspec.Struct):
    """An executor, by Spark's names."""

    id: str
    maxTasks: int = 0  # noqa: N815 - Spark's name

    @property
    def slots(self) -> int:
        """Tasks that it runs at once; none if it is the driver."""
        return 0 if self.id == _DRIVER else self.maxTasks


def decoded(body: bytes, kind: type[_Document]) -> _Document:
    """Read a document.

    Raises:
        MalformedJobGraphError: It is none of this kind.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except UNREADABLE as error:
        raise MalformedJobGraphError("the driver's web service answers with what is no document of Spark") from error


def spark_stages(
    job: int, rows: Sequence[tuple[int, str, int]], parents: Mapping[int, Sequence[int]], slots: int, source: str
) -> StagesOfJob:
    """Build the graph of a job.

    Args:
        rows: Id, name and tasks of each stage.
        slots: Tasks that run at once in each executor; 0 if that is not known as yet.
        source: Where it was learnt, for people.

    Raises:
        MalformedJobGraphError: It is no graph, or too large.
    """
    if len(rows) > MAX_STAGES or any(not 0 <= tasks <= MAX_TASKS for _, _, tasks in rows):
        raise MalformedJobGraphError(f"a Spark job has more than {MAX_STAGES} stages or {MAX_TASKS} tasks in one")
    position = {id_: at for at, (id_, _, _) in enumerate(rows)}
    if len(position) < len(rows) or any(each not in position for edges in parents.values() for each in edges):
        raise MalformedJobGraphError("stages of a Spark job are named twice, or wait for stages of no job")
    names = _distinct([name for _, name, _ in rows])
    waits = [tuple(sorted(position[each] for each in parents.get(id_, ()))) for id_, _, _ in rows]
    stages = [
        Stage(name, tasks, 0, 0, waits_for, waits_for)
        for name, (_, _, tasks), waits_for in zip(names, rows, waits, strict=True)
    ]
    graph = JobGraph.of(f"job {job}", stages)
    return StagesOfJob(
        graph, position, source=source, reuses_containers=True, part=job + 1, has_parts=True, slots=slots
    )


def _distinct(names: Sequence[str]) -> list[str]:
    """Tell stages of one name apart: runs of a program have them in the same order."""
    found: list[str] = []
    seen: dict[str, int] = {}
    for name in names:
        short = name[:_MOST_NAME] or "stage"
        seen[short] = seen.get(short, 0) + 1
        found.append(short if seen[short] == 1 else f"{short} ({seen[short]})")
    return found


def stages_now(
    jobs: Sequence[JobRow], rows: Sequence[StageRow], slots: int, known: StagesOfJob | None
) -> CountedStages | str:
    """Return what runs of an application.

    Args:
        slots: Tasks that run at once in each executor.
        known: Of it, perhaps by its event log.

    Returns:
        The job and its counts; why it cannot be told which stages wait for which.
    """
    if len(jobs) != 1:
        return "its driver runs several jobs at once" if jobs else "its driver runs no job now"
    ids = set(jobs[0].stageIds)
    latest = {row.stageId: row for row in sorted(rows, key=lambda each: each.attemptId) if row.stageId in ids}
    if any(row.resourceProfileId for row in latest.values()):
        return "its stages ask for executors of several sizes"
    if any(not 0 <= row.numTasks <= MAX_TASKS for row in latest.values()):
        raise MalformedJobGraphError(f"the driver tells of a stage of more than {MAX_TASKS} tasks")
    if sum(max(0, row.numActiveTasks) for row in latest.values()) > _MOST_RUNNING:
        raise MalformedJobGraphError(f"the driver tells of more than {_MOST_RUNNING} tasks at once")
    stages = _known_or_chain(jobs[0], latest, slots, known)
    if isinstance(stages, str):
        return stages
    order = sorted(stages.by_priority, key=stages.by_priority.__getitem__)
    graph = stages.graph.stages
    return CountedStages(stages, tuple(_counted(latest.get(id_), graph[at]) for at, id_ in enumerate(order)))


def _known_or_chain(
    job: JobRow, latest: Mapping[int, StageRow], slots: int, known: StagesOfJob | None
) -> StagesOfJob | str:
    mine = known if known is not None and known.part == job.jobId + 1 else None
    if mine is not None and mine.source != _CHAINED and set(mine.by_priority) == set(job.stageIds):
        return mine if mine.slots == slots else replace(mine, slots=slots)
    running = [id_ for id_, row in latest.items() if row.status == _ACTIVE]
    if len(running) != 1:
        return "which of its stages wait for which is not known" if running else "none of its stages runs now"
    over = sorted(set(job.stageIds) - set(latest))
    before = {} if mine is None else {id_: mine.graph.stages[at] for id_, at in mine.by_priority.items()}
    rows: list[tuple[int, str, int]] = []
    for id_ in (*over, *running, *sorted(set(latest) - set(running))):
        seen, was = latest.get(id_), before.get(id_)
        name = seen.name if seen is not None else "" if was is None else was.name
        tasks = seen.numTasks if seen is not None else 0 if was is None or was.tasks is None else was.tasks
        rows.append((id_, name, tasks))
    chain = {after[0]: [earlier[0]] for earlier, after in pairwise(rows)}
    made = spark_stages(job.jobId, rows, chain, slots, _CHAINED)
    return mine if mine is not None and mine.is_same_as(made) else made


def _counted(row: StageRow | None, stage: Stage) -> TaskCounts:
    """Count a stage; one that neither runs nor waits is over, or was not needed."""
    if row is None:
        return TaskCounts(stage.tasks, 0, stage.tasks or 0)
    return TaskCounts(row.numTasks, max(0, row.numActiveTasks), max(0, row.numCompletedIndices))
