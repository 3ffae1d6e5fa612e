"""Jobs that once ran, and the facts that their history tells: `.tr` traces, and the input of Hadoop's simulator (SLS).

What a stage's tasks took in the mean counts as stated, as if former runs had told it.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shim.config.text_files import text_of
from shim.errors import BadRequestError
from shim.scheduling.policy import Fact
from shim.simulation.policy_runs.jobs import ModelledSite, PolicyJob, StageTasks
from shim.simulation.policy_runs.rumen import sls_document
from shim.simulation.traces import LONGEST_S, read_trace

__all__ = ["MOST_BYTES", "History", "json_documents", "pool_for", "read_history", "sls_job"]

MOST_BYTES = 64 << 20
"""A history may have."""
_RACK = 20
_SPACE = re.compile(r"\s*")
_MOST_NODES = 20_000
_MOST_OF_NODE = 1 << 40
_MiB_OF_VCORE = 4096
_DEMAND = (1024, 1)
"""MiB and vcores of a container whose size SLS's input does not tell, as SLS has it."""


@dataclass(frozen=True, slots=True)
class History:
    """Jobs by arrival, and the facts that their history tells.

    Attributes:
        hosts: Names of the nodes that it names; a place is the row of one.
    """

    jobs: tuple[PolicyJob, ...]
    facts: frozenset[Fact]
    hosts: tuple[str, ...] = ()


def read_history(file: Path, first_jobs: int) -> History:
    """Read the first jobs of a history; `*.json` is SLS's input, anything else a trace.

    Raises:
        BadRequestError: If the file cannot be read or has no jobs.
    """
    if file.suffix != ".json":
        found = read_trace(file, first_jobs=first_jobs).jobs
        traced = (PolicyJob(job.arrival_s, (StageTasks((1,), job.durations_s, job.estimate_s),)) for job in found)
        return History(tuple(traced), frozenset({Fact.ESTIMATES}))
    try:
        told = [sls_document(job) for job in json_documents(text_of(file, MOST_BYTES))]
        hosts = {name: None for job in told for task in job["job.tasks"] if (name := task.get("container.host"))}
        rows = {name: row for row, name in enumerate(sorted(hosts))}
        jobs = tuple(sls_job(job, rows) for job in told[:first_jobs])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise BadRequestError(f"{file} is no input of SLS: {type(error).__name__}: {error}") from error
    if not jobs:
        raise BadRequestError(f"{file} holds no job")
    facts = {Fact.ESTIMATES, Fact.DAG, Fact.VECTORS} | ({Fact.LOCALITY} if rows else set())
    return History(tuple(sorted(jobs, key=lambda job: job.arrival_s)), frozenset(facts), tuple(rows))


def json_documents(text: str) -> Iterable[Mapping[str, Any]]:
    """JSON objects one after another, as SLS writes them."""
    decoder, at = json.JSONDecoder(), 0
    while (at := _SPACE.match(text, at).end()) < len(text):  # type: ignore[union-attr]  # it matches anywhere
        document, at = decoder.raw_decode(text, at)
        yield document


def sls_job(job: Mapping[str, Any], rows: Mapping[str, int]) -> PolicyJob:
    """A stage for each type of container, in the order of their first start; each waits for the one before.

    Args:
        job: A document of SLS's input.
        rows: Nodes by their names; places that are none of them are left out.
    """
    stages: dict[str, list[Mapping[str, Any]]] = {}
    for task in sorted(job["job.tasks"], key=lambda task: float(task["container.start.ms"])):
        stages.setdefault(str(task.get("container.type", "task")), []).append(task)
    if not stages:
        raise ValueError(f"job {job.get('job.id')} has no tasks")
    found = []
    for number, tasks in enumerate(stages.values()):
        times = [(float(task["container.end.ms"]) - float(task["container.start.ms"])) / 1000.0 for task in tasks]
        if not all(0.0 <= time_s <= LONGEST_S for time_s in times):
            raise ValueError(f"job {job.get('job.id')} has a container that ends before it starts, or too late")
        sizes = zip(("container.memory", "container.vcores"), _DEMAND, strict=True)
        demand = tuple(min(_MOST_OF_NODE, max(1, int(tasks[0].get(name, usual)))) for name, usual in sizes)
        places = tuple((rows[host],) if (host := str(task.get("container.host"))) in rows else () for task in tasks)
        parents = (number - 1,) if number else ()
        mean_s = sum(times) / len(times)
        found.append(StageTasks(demand, tuple(times), mean_s, parents, places if any(places) else ()))
    arrival_s = float(job["job.start.ms"]) / 1000.0
    if not 0.0 <= arrival_s <= LONGEST_S:  # so it is not for NaN
        raise ValueError(f"job {job.get('job.id')} has no start between 0 and {LONGEST_S:g} s")
    return PolicyJob(arrival_s, tuple(found))


def pool_for(history: History, n_nodes: int, load: float) -> ModelledSite:
    """Nodes for a history: as many as are wanted, or as make its work a part of the capacity while its jobs arrive.

    A node has 8 places, or 8 vcores with 4 GiB each; larger where a container asks for more.
    """
    most = [max(sizes) for sizes in zip(*(stage.demand for job in history.jobs for stage in job.stages), strict=True)]
    usual = (8,) if len(most) == 1 else (8 * _MiB_OF_VCORE, 8)
    capacity = tuple(max(pair) for pair in zip(usual, most, strict=True))
    span_s = max(1.0, history.jobs[-1].arrival_s - history.jobs[0].arrival_s)
    used = [
        sum(sum(stage.durations_s) * stage.demand[kind] for job in history.jobs for stage in job.stages) / size
        for kind, size in enumerate(capacity)
    ]
    n_nodes = n_nodes or min(_MOST_NODES, max(1, math.ceil(max(used) / (load * span_s))))
    return ModelledSite(max(n_nodes, len(history.hosts)), capacity, _RACK)
