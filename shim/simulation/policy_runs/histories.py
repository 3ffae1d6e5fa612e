"""Jobs that once ran, and the facts that their history tells: `.tr` traces, and the input of Hadoop's simulator (SLS).

What a stage's tasks took in the mean counts as stated, as if former runs had told it.
"""

import math
from dataclasses import dataclass
from pathlib import Path

from shim.config.text_files import text_of
from shim.errors import BadRequestError
from shim.scheduling.policy import Fact
from shim.simulation.policy_runs.jobs import ModelledSite, PolicyJob, StageTasks
from shim.simulation.policy_runs.sls import json_documents, policy_job, read_sls
from shim.simulation.traces import read_trace

MOST_BYTES = 64 << 20
"""A history may have."""
_RACK = 20
_MOST_NODES = 20_000
_MiB_OF_VCORE = 4096


@dataclass(frozen=True, slots=True)
class History:
    """Jobs by arrival, and the facts that their history tells.

    Attributes:
        hosts: Names of the nodes that it names; a place is the row of one.
        nodes: How many nodes it asks for; 0 if it does not say. `racks` likewise.
    """

    jobs: tuple[PolicyJob, ...]
    facts: frozenset[Fact]
    hosts: tuple[str, ...] = ()
    nodes: int = 0
    racks: int = 0


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
        told = read_sls(json_documents(text_of(file, MOST_BYTES)))
        rows = {name: row for row, name in enumerate(told.hosts)}
        jobs = tuple(policy_job(job, rows) for job in told.jobs[:first_jobs])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise BadRequestError(f"{file} is no input of SLS: {type(error).__name__}: {error}") from error
    if not jobs:
        raise BadRequestError(f"{file} holds no job")
    facts = {Fact.ESTIMATES, Fact.DAG, Fact.VECTORS} | ({Fact.LOCALITY} if rows else set())
    ordered = tuple(sorted(jobs, key=lambda job: job.arrival_s))
    return History(ordered, frozenset(facts), told.hosts, told.nodes, told.racks)


def pool_for(history: History, n_nodes: int, load: float) -> ModelledSite:
    """Nodes for a history: as many as are wanted, or as it asks for, else as its work at a load takes.

    The load is the part of the capacity that its jobs are while they arrive. A node has 8 places, or 8 vcores with
    4 GiB each; larger where a container asks for more.
    """
    most = [max(sizes) for sizes in zip(*(stage.demand for job in history.jobs for stage in job.stages), strict=True)]
    usual = (8,) if len(most) == 1 else (8 * _MiB_OF_VCORE, 8)
    capacity = tuple(max(pair) for pair in zip(usual, most, strict=True))
    span_s = max(1.0, history.jobs[-1].arrival_s - history.jobs[0].arrival_s)
    used = [
        sum(sum(stage.durations_s) * stage.demand[kind] for job in history.jobs for stage in job.stages) / size
        for kind, size in enumerate(capacity)
    ]
    n_nodes = n_nodes or history.nodes or min(_MOST_NODES, max(1, math.ceil(max(used) / (load * span_s))))
    n_nodes = max(n_nodes, len(history.hosts))
    return ModelledSite(n_nodes, capacity, -(-n_nodes // history.racks) if history.racks else _RACK)
