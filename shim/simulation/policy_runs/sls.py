"""Inputs of Hadoop's Scheduler Load Simulator (SLS), and traces by Rumen, which it reads, too.

A document is a job, or says how many nodes there are. A member that would change figures and is not modelled is refused
by its name: who leaves it out has said so.

Sources: SchedulerLoadSimulator.md, `SLSConfiguration`, `SLSRunner` and `AMRunner` (`getTaskContainers`,
`getResourceForContainer`, `createAMForJob`), `RumenToSLSConverter`, `org.apache.hadoop.tools.rumen.LoggedJob`.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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


def json_documents(text: str) -> Iterable[Any]:
    """JSON documents one after another, as SLS writes them."""
    decoder, at = json.JSONDecoder(), 0
    while (at := _SPACE.match(text, at).end()) < len(text):  # type: ignore[union-attr]  # it matches anywhere
        document, at = decoder.raw_decode(text, at)
        yield document


def read_sls(documents: Iterable[Any]) -> SLSInput:
    """Read an input of SLS or a trace by Rumen.

    Raises:
        ValueError: A value cannot be, or a member is missing or not understood; it is named.
        TypeError: A value has another form; it is named.
    """
    jobs, nodes, racks, tasks = list[SLSJob](), 0, 0, 0
    for told in documents:
        document = _object(told, "a document")
        if "workloads" in document:
            raise ValueError("it describes synthetic jobs (SYNTH), which SLS draws itself: give jobs")
        if _NODES & document.keys() and "job.tasks" not in document:
            _refuse_unknown(document, _NODES, "the document of nodes")
            nodes = _whole(document, "num.nodes", 0, _MOST_NODES)
            racks = _whole(document, "num.racks", 1, _MOST_NODES)
            continue
        job = _of_rumen(document) if "jobID" in document else document
        count = max(1, _whole(job, "job.count", 1, _MOST_TASKS))
        made = [_job(job, "" if count > 1 else _text(job, "job.id", ""), len(jobs) + at) for at in range(count)]
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
    kind = _text(job, "am.type", _text(job, "yarn.sls.am.type", "mapreduce"))
    if kind not in _MASTERS:
        raise ValueError(f"{what} has am.type {kind!r}: {' and '.join(sorted(_MASTERS))} are modelled")
    tasks = tuple(_task(_object(task, f"a task of {what}"), what) for task in _list(job, "job.tasks", what))
    if not tasks:
        raise ValueError(f"{what} has no tasks")
    ended = job.get("job.end.ms")
    return SLSJob(
        name,
        _text(job, "job.queue.name", "default"),
        _text(job, "job.user", "default"),
        _seconds(job.get("job.start.ms"), f"{what} has no start that can be, but job.start.ms"),
        # 0 is what SLS takes it for where it is left out
        None if ended in (None, 0, "0") else _seconds(ended, f"{what} has no end that can be, but job.end.ms"),
        (_amount(job, "am.memory-mb"), _amount(job, "am.vcores")),
        tasks,
    )


def _task(task: Mapping[str, Any], what: str) -> SLSTask:
    _refuse_unknown(task, _OF_TASK, f"a task of {what}")
    names = ("container.start.ms", "container.end.ms", "container.duration.ms", "duration.ms")
    times = {name: _number(task[name], name) for name in names if task.get(name) is not None}
    start_ms, end_ms = times.get(names[0]), times.get(names[1])
    # it is the time that is told, and only without one the difference: as in `AMRunner`
    took_ms = times.get(names[2], times.get(names[3]))
    if took_ms is None:
        if start_ms is None or end_ms is None:
            raise ValueError(f"a task of {what} has no duration.ms, nor container.start.ms and container.end.ms")
        took_ms = end_ms - start_ms
    return SLSTask(
        _text(task, "container.type", "map"),
        start_ms,
        _seconds(took_ms, f"{what} has a container that ends before it starts, or too late: it takes"),
        (_amount(task, "container.memory-mb"), _amount(task, "container.vcores")),
        _text(task, "container.host", ""),
        max(1, _whole(task, "count", 1, _MOST_TASKS)),
    )


def _refuse_unknown(document: Mapping[str, Any], known: frozenset[str], what: str) -> None:
    for name, value in document.items():
        if name not in known and not any(value == neutral for neutral in _NEUTRAL.get(name, ())):
            told = f"{name[:80]!r} = {json.dumps(value)[:80]}"
            raise ValueError(f"{what} has {told}, which is not modelled: leave it out, or correct its name")


def _object(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"{what} is {_shown(value)}, and no object")
    return value


def _list(document: Mapping[str, Any], name: str, what: str) -> Sequence[Any]:
    value = document.get(name)
    if not isinstance(value, list):
        raise TypeError(f"{what} has no list {name}, but {_shown(value)}")
    return value


def _text(document: Mapping[str, Any], name: str, usual: str) -> str:
    """A text, or a number as one; null is as if it were left out."""
    value = document.get(name)
    if value is None:
        return usual
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise TypeError(f"{name} is {_shown(value)}, and no text")
    return str(value)


def _number(value: Any, what: str) -> float:
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{what} is {_shown(value)}, and no number") from None


def _shown(value: Any) -> str:
    try:
        return json.dumps(value)[:80]
    except RecursionError:
        return "something deep"


def _seconds(value_ms: Any, what: str) -> float:
    value_s = _number(value_ms, what) / 1000.0
    if not 0.0 <= value_s <= LONGEST_S:  # so it is not for NaN
        raise ValueError(f"{what} {value_ms!r}: milliseconds from 0 to {LONGEST_S * 1000.0:g} are")
    return value_s


def _whole(document: Mapping[str, Any], name: str, usual: int, most: int) -> int:
    """A whole number; null is as if it were left out."""
    told = document.get(name)
    value = usual if told is None else _number(told, name)
    if not 0 <= value <= most or value != int(value):
        raise ValueError(f"{name} is {_shown(told)}, and may be a whole number from 0 to {most}")
    return int(value)


def _amount(document: Mapping[str, Any], name: str) -> int:
    return max(1, _whole(document, name, _USUAL[name.partition(".")[2]], _MOST_OF_NODE))


# -- Rumen -----------------------------------------------------------------------------------------------------------


def _of_rumen(job: Mapping[str, Any]) -> Mapping[str, Any]:
    """A job of a Rumen trace as a document of SLS.

    A task takes what its last attempt took, as in `RumenToSLSConverter`; tasks without times are left out. The time of
    a reduce has the part in it that it waited for maps.
    """
    return {
        "job.id": job["jobID"],
        "job.start.ms": job.get("submitTime"),
        "job.end.ms": job.get("finishTime"),
        "job.queue.name": job.get("queue") or None,
        "job.user": job.get("user") or None,
        "job.tasks": list(_tasks_of_rumen(job)),
    }


def _tasks_of_rumen(job: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for kind, listed, memory in _PHASES:
        mib = job.get(memory)
        amount = {} if mib is None or _number(mib, memory) <= 0 else {"container.memory-mb": mib}
        for told in [] if job.get(listed) is None else _list(job, listed, "a job"):
            task = _object(told, f"a task of {listed}")
            last = _object(
                ([task] if task.get("attempts") in (None, []) else _list(task, "attempts", "a task"))[-1], "it"
            )
            start_ms, end_ms = (_number(last.get(each, -1), each) for each in ("startTime", "finishTime"))
            if start_ms > 0 and end_ms > 0:
                host = {"container.host": last["hostName"]} if isinstance(last.get("hostName"), str) else {}
                times = {"container.start.ms": start_ms, "container.end.ms": end_ms}
                yield {**times, "container.type": kind, **amount, **host}
