"""Services with constraints among them, beside tasks: drawn ones, and those of Alibaba's containers.

The drawn ones are stores, training and caches on nodes of 16 GB and 8 cores.
"""

import gzip
import random
from collections import Counter
from pathlib import Path

from shim.errors import BadRequestError
from shim.scheduling.tag_constraints import NO_MOST, TagConstraint, TagCount
from shim.simulation.engine import seeded
from shim.simulation.policy_runs.jobs import ModelledSite, PolicyJob, StageTasks

__all__ = ["alibaba_services", "service_jobs"]

_NODE = (16, 8)
_KEEP_FREE = (2, 1)
_TASKS, _TASK_S = 30, 10.0
_TASKS_PART = 0.2
_RUN_S = (600.0, 1800.0)
_TOGETHER = 5
"""Services of one burst: they come within a second."""
_SHAPES = ((10, (2, 1), "store"), (8, (8, 2), "train"), (5, (4, 1), "cache"))
_MACHINE = (96,)
"""Cores of Alibaba's machines; the file has nothing else of them."""
_MACHINES_IN_RACK = 40
_FIELDS = 11
_MOST_CONTAINERS = 200
_TIED = 0.3
"""Part of the services that want a rack with the service before them."""


def _wants(subject: str, tag: str, least: int, most: int, group: str) -> TagConstraint:
    return TagConstraint(frozenset({subject}), ((TagCount(frozenset({tag}), least, most, group),),))


_SHARED = (
    _wants("store", "store", 0, 1, "node"),
    _wants("train", "train", 0, 3, "node"),
    _wants("cache", "cache", 0, 0, "node"),
    _wants("cache", "store", 1, NO_MOST, "rack"),
)


def service_jobs(seed: int, n_jobs: int, n_nodes: int, load: float) -> tuple[list[PolicyJob], ModelledSite]:
    """As many services as jobs, in bursts of five, each of them in one rack if it can be, beside jobs of 30 tasks.

    At most two stores, four training containers and one cache are wanted on a node, and caches near a store. The load
    is the part of the memory that services want.
    """
    rng = seeded(seed, "service jobs")
    jobs, constraints = list[PolicyJob](), list(_SHARED)
    mean_gb = sum(count * demand[0] for count, demand, _ in _SHAPES) / len(_SHAPES)
    gap_s = _TOGETHER * mean_gb * sum(_RUN_S) / 2 / (load * n_nodes * _NODE[0])
    for number in range(n_jobs):
        count, demand, kind = _SHAPES[number % len(_SHAPES)]
        own = f"app-{number}"
        run_s = rng.uniform(*_RUN_S)
        at_s = (number // _TOGETHER) * gap_s + rng.uniform(0.0, 1.0)
        jobs.append(PolicyJob(at_s, (StageTasks(demand, (run_s,) * count, run_s, tags=frozenset({kind, own})),)))
        if kind != "cache":
            constraints.append(_wants(own, own, count - 1, NO_MOST, "rack"))
    span_s = max(gap_s, (n_jobs // _TOGETHER) * gap_s)
    jobs += _tasks_beside(rng, span_s, int(_TASKS_PART * span_s * n_nodes * _NODE[1]), (1, 1))
    site = ModelledSite(n_nodes, _NODE, rack_size=10, constraints=tuple(constraints), keep_free=_KEEP_FREE)
    return sorted(jobs, key=lambda job: job.arrival_s), site


def _tasks_beside(rng: random.Random, span_s: float, work_s: int, demand: tuple[int, ...]) -> list[PolicyJob]:
    jobs = []
    for _ in range(int(work_s / (_TASKS * _TASK_S))):
        durations = tuple(_TASK_S * rng.uniform(0.5, 1.5) for _ in range(_TASKS))
        jobs.append(PolicyJob(rng.uniform(0.0, span_s), (StageTasks(demand, durations, _TASK_S),)))
    return jobs


def alibaba_services(
    file: Path, seed: int, n_jobs: int, n_nodes: int, load: float
) -> tuple[list[PolicyJob], ModelledSite]:
    """Applications drawn from a file of Alibaba's containers, in bursts of five, beside jobs of 30 tasks of four cores.

    Sizes and cores are the file's; it has no constraints, so that these are given: no two containers of a service on a
    node, as 93 % of the file's applications are; every other service at most a third of it in a rack; three of ten in
    racks with a container of the service before them.

    Raises:
        BadRequestError: If the file is not of this form.
    """
    rng = seeded(seed, "alibaba services")
    shapes = _shapes_in(file, n_nodes)
    chosen = [rng.choice(shapes) for _ in range(n_jobs)]
    cores = sum(count * size for count, size in chosen) / n_jobs
    gap_s = _TOGETHER * cores * sum(_RUN_S) / 2 / (load * n_nodes * _MACHINE[0])
    jobs, constraints = list[PolicyJob](), list[TagConstraint]()
    for number, (count, size) in enumerate(chosen):
        own, before, run_s = f"app-{number}", f"app-{number - 1}", rng.uniform(*_RUN_S)
        stage = StageTasks((size,), (run_s,) * count, run_s, tags=frozenset({own}))
        jobs.append(PolicyJob((number // _TOGETHER) * gap_s + rng.uniform(0.0, 1.0), (stage,)))
        constraints.append(_wants(own, own, 0, 0, "node"))
        if number % 2:
            constraints.append(_wants(own, own, 0, count // 3, "rack"))
        if number % _TOGETHER and rng.random() < _TIED:
            constraints.append(_wants(own, before, 1, NO_MOST, "rack"))
    span_s = max(gap_s, (n_jobs // _TOGETHER) * gap_s)
    jobs += _tasks_beside(rng, span_s, int(_TASKS_PART * span_s * n_nodes * _MACHINE[0] / 4), (4,))
    site = ModelledSite(n_nodes, _MACHINE, rack_size=_MACHINES_IN_RACK, constraints=tuple(constraints), keep_free=(8,))
    return sorted(jobs, key=lambda job: job.arrival_s), site


def _shapes_in(file: Path, n_nodes: int) -> list[tuple[int, int]]:
    """Containers and cores of one of them, of each application with two or more that the nodes have room for."""
    counts, cores = Counter[str](), dict[str, int]()
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            fields = line.split(" ")
            if len(fields) != _FIELDS or not fields[4].isdecimal():
                raise BadRequestError(f"{file}: not a line of Alibaba's containers: {line[:80]!r}")
            counts[fields[9]] += 1
            cores.setdefault(fields[9], min(int(fields[4]), _MACHINE[0]))
    most = min(n_nodes // 2, _MOST_CONTAINERS)
    return [(count, cores[name]) for name, count in sorted(counts.items()) if 1 < count <= most]
