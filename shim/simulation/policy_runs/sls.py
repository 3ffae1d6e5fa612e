"""Inputs of Hadoop's Scheduler Load Simulator (SLS), and traces by Rumen, which it reads, too.

A document is a job, or says how many nodes there are. A member that would change figures and is not modelled is refused
by its name: who leaves it out has said so.

Sources: SchedulerLoadSimulator.md, `SLSConfiguration`, `SLSRunner` and `AMRunner` (`getTaskContainers`,
`getResourceForContainer`, `createAMForJob`), `RumenToSLSConverter`, `org.apache.hadoop.tools.rumen.LoggedJob`.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from shim.simulation.policy_runs.jobs import PolicyJob, StageTasks
from shim.simulation.traces import LONGEST_S

MOST_BYTES = 64 << 20
"""A history may have."""
_SPACE = re.compile(r"\s*")
_MOST_OF_NODE = 1 << 40
_MOST_TASKS = 1_000_000
"""Tasks of all jobs of an input."""
_MOST_NODES = 20_000
_USUAL = {"memory-mb": 1024, "vcores": 1}
"""A container, and an ApplicationMaster, whose size is not told (`yarn.sls.container.*`)."""
_MASTERS = frozenset({"mapreduce", "dag"})
_NODES = frozenset({"num.nodes", "num.racks"})
_OF_JOB = frozenset(
    {
        *("am.type", "yarn.sls.am.type", "job.start.ms", "job.end.ms", "job.queue.name", "job.id", "job.user"),
        *("job.count", "job.tasks", "am.memory-mb", "am.vcores"),
    }
)
_OF_TASK = frozenset(
    {
        *("count", "container.host", "container.start.ms", "container.end.ms", "duration.ms", "container.duration.ms"),
        *("container.priority", "container.type", "container.memory-mb", "container.vcores"),
    }
)
_NEUTRAL: Mapping[str, frozenset[object]] = {
    "container.execution.type": frozenset({"GUARANTEED"}),
    "container.allocation.id": frozenset({-1, "-1"}),
    "container.request.delay": frozenset({0, "0"}),
    "job.label": frozenset({"", None}),
}
"""Members whose value changes nothing, if it is one of these."""
_PHASES = (("map", "mapTasks", "jobMapMB"), ("reduce", "reduceTasks", "jobReduceMB"))


@dataclass(frozen=True, slots=True)
class SLSTask:
    """Equal tasks.

    Attributes:
        kind: Type of the container, `map` unless it is told.
        start_ms: When they were started; None if only their time is told.
        demand: MiB and virtual cores of each.
    """

    kind: str
    start_ms: float | None
    duration_s: float
    demand: tuple[int, int]
    host: str
    count: int


@dataclass(frozen=True, slots=True)
class SLSJob:
    """A job.

    Attributes:
        arrival_s: When it is submitted; `ended_s` when it once ended, None if that is not told.
        master: MiB and virtual cores of its ApplicationMaster.
    """

    name: str
    queue: str
    user: str
    arrival_s: float
    ended_s: float | None
    master: tuple[int, int]
    tasks: tuple[SLSTask, ...]


@dataclass(frozen=True, slots=True)
class SLSInput:
    """Jobs in the order of the input.

    Attributes:
        nodes: How many the input asks for; 0 if it does not say. `racks` likewise.
    """

    jobs: tuple[SLSJob, ...]
    nodes: int = 0
    racks: int = 0

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names of the nodes at which containers once ran."""
        return tuple(sorted({task.host for job in self.jobs for task in job.tasks if task.host}))


def json_documents(text: str) -> Iterable[Mapping[str, Any]]:
    """JSON objects one after another, as SLS writes them."""
    decoder, at = json.JSONDecoder(), 0
    while (at := _SPACE.match(text, at).end()) < len(text):  # type: ignore[union-attr]  # it matches anywhere
        document, at = decoder.raw_decode(text, at)
        yield document


def read_sls(documents: Iterable[Mapping[str, Any]]) -> SLSInput:
    """Read an input of SLS or a trace by Rumen.

    Raises:
        ValueError: A value cannot be, or a member is not understood; it is named.
        KeyError: A member is missing.
        TypeError: A document or a list is none.
    """
    jobs, nodes, racks, tasks = list[SLSJob](), 0, 0, 0
    for document in documents:
        if "workloads" in document:
            raise ValueError("it describes synthetic jobs (SYNTH), which SLS draws itself: give jobs")
        if _NODES & document.keys() and "job.tasks" not in document:
            _refuse_unknown(document, _NODES, "the document of nodes")
            nodes = _whole(document, "num.nodes", 0, _MOST_NODES)
            racks = _whole(document, "num.racks", 1, _MOST_NODES)
            continue
        job = _of_rumen(document) if "jobID" in document else document
        count = max(1, _whole(job, "job.count", 1, _MOST_TASKS))
        made = [_job(job, "" if count > 1 else str(job.get("job.id", "")), len(jobs) + at) for at in range(count)]
        tasks += count * sum(task.count for task in made[0].tasks)
        if tasks > _MOST_TASKS:
            raise ValueError(f"there are more than {_MOST_TASKS} tasks")
        jobs += made
    return SLSInput(tuple(jobs), nodes, racks)


def policy_job(job: SLSJob, rows: Mapping[str, int]) -> PolicyJob:
    """A stage for each type of container, in the order of their first start; each waits for the one before.

    Where a start is not told, types are in the order of the input. What tasks took in the mean counts as stated, and
    the largest of a type is its size.

    Args:
        job: As it was read.
        rows: Nodes by their names; places that are none of them are left out.
    """
    ordered = list(job.tasks)
    if all(task.start_ms is not None for task in ordered):
        ordered.sort(key=lambda task: task.start_ms or 0.0)
    stages: dict[str, list[SLSTask]] = {}
    for task in ordered:
        stages.setdefault(task.kind, []).append(task)
    found = []
    for number, tasks in enumerate(stages.values()):
        times = tuple(task.duration_s for task in tasks for _ in range(task.count))
        places = tuple((rows[task.host],) if task.host in rows else () for task in tasks for _ in range(task.count))
        parents = (number - 1,) if number else ()
        demand = tuple(map(max, zip(*(task.demand for task in tasks), strict=True)))
        found.append(StageTasks(demand, times, sum(times) / len(times), parents, places if any(places) else ()))
    return PolicyJob(job.arrival_s, tuple(found))


def _job(job: Mapping[str, Any], name: str, number: int) -> SLSJob:
    name = name or str(number)
    what = f"job {name}"
    _refuse_unknown(job, _OF_JOB, what)
    kind = str(job.get("am.type", job.get("yarn.sls.am.type", "mapreduce")))
    if kind not in _MASTERS:
        raise ValueError(f"{what} has am.type {kind!r}: {' and '.join(sorted(_MASTERS))} are modelled")
    tasks = tuple(_task(task, what) for task in job["job.tasks"])
    if not tasks:
        raise ValueError(f"{what} has no tasks")
    ended = job.get("job.end.ms")
    return SLSJob(
        name,
        str(job.get("job.queue.name", "default")),
        str(job.get("job.user", "default")),
        _seconds(job["job.start.ms"], f"{what} has no start that can be, but"),
        # 0 is what SLS takes it for where it is left out
        None if ended is None or float(ended) == 0.0 else _seconds(ended, f"{what} has no end that can be, but"),
        (_amount(job, "am.memory-mb"), _amount(job, "am.vcores")),
        tasks,
    )


def _task(task: Mapping[str, Any], what: str) -> SLSTask:
    _refuse_unknown(task, _OF_TASK, f"a task of {what}")
    start, end = task.get("container.start.ms"), task.get("container.end.ms")
    told = task.get("container.duration.ms", task.get("duration.ms"))
    if told is None and (start is None or end is None):
        raise ValueError(f"a task of {what} has no duration.ms, nor container.start.ms and container.end.ms")
    # it is the time that is told, and only without one the difference: as in `AMRunner`
    took_ms = float(told) if told is not None else float(end) - float(start)  # type: ignore[arg-type]  # both are told
    return SLSTask(
        str(task.get("container.type", "map")),
        None if start is None else float(start),
        _seconds(took_ms, f"{what} has a container that ends before it starts, or too late: it takes"),
        (_amount(task, "container.memory-mb"), _amount(task, "container.vcores")),
        str(task.get("container.host") or ""),
        max(1, _whole(task, "count", 1, _MOST_TASKS)),
    )


def _refuse_unknown(document: Mapping[str, Any], known: frozenset[str], what: str) -> None:
    for name, value in document.items():
        if name not in known and not any(value == neutral for neutral in _NEUTRAL.get(name, ())):
            told = f"{name[:80]!r} = {json.dumps(value)[:80]}"
            raise ValueError(f"{what} has {told}, which is not modelled: leave it out, or correct its name")


def _seconds(value_ms: Any, what: str) -> float:
    value_s = float(value_ms) / 1000.0
    if not 0.0 <= value_s <= LONGEST_S:  # so it is not for NaN
        raise ValueError(f"{what} {value_ms!r}: milliseconds from 0 to {LONGEST_S * 1000.0:g} are")
    return value_s


def _whole(document: Mapping[str, Any], name: str, usual: int, most: int) -> int:
    value = int(str(document.get(name, usual)))
    if not 0 <= value <= most:
        raise ValueError(f"{name} is {value}, and may be 0 to {most}")
    return value


def _amount(document: Mapping[str, Any], name: str) -> int:
    return min(_MOST_OF_NODE, max(1, int(document.get(name, _USUAL[name.partition(".")[2]]))))


# -- Rumen -----------------------------------------------------------------------------------------------------------


def _of_rumen(job: Mapping[str, Any]) -> Mapping[str, Any]:
    """A job of a Rumen trace as a document of SLS.

    A task takes what its last attempt took, as in `RumenToSLSConverter`; tasks without times are left out. The time of
    a reduce has the part in it that it waited for maps.
    """
    return {
        "job.id": job["jobID"],
        "job.start.ms": job["submitTime"],
        "job.end.ms": job["finishTime"],
        "job.queue.name": job.get("queue") or "default",
        "job.user": job.get("user") or "default",
        "job.tasks": list(_tasks_of_rumen(job)),
    }


def _tasks_of_rumen(job: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for kind, listed, memory in _PHASES:
        amount = {"container.memory-mb": job[memory]} if job.get(memory, -1) > 0 else {}
        for task in job.get(listed) or ():
            last = (task.get("attempts") or [task])[-1]
            start_ms, end_ms = last.get("startTime", -1), last.get("finishTime", -1)
            if start_ms > 0 and end_ms > 0:
                host = {"container.host": last["hostName"]} if last.get("hostName") else {}
                times = {"container.start.ms": start_ms, "container.end.ms": end_ms}
                yield {**times, "container.type": kind, **amount, **host}
