"""Recurring queries with deadlines beside other work, on a pool that is sometimes slower than in former runs.

A query's former runs give its stages and their tasks' times. The run itself is off: all tasks by a factor of the
cluster, and in six of ten runs a stretch of 12 in 100 of them is 2.5 times slower: three
tenths of the time to the deadline. Deadlines are 1.1 times what the
former run took on 15 containers.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from shim.scheduling.completion_table import build_forecast, simulate_run
from shim.scheduling.former_runs import FormerStage
from shim.simulation.dag_jobs import QueryStage, read_tpch
from shim.simulation.engine import seeded
from shim.simulation.policy_runs.jobs import ModelledSite, PolicyJob, StageTasks

__all__ = ["drawn_queries", "query_jobs", "tpch_jobs"]

_QUERIES = tuple(f"tpch-100g-{number}" for number in (3, 5, 8, 9, 17))
_CLUSTER_LN = (0.1, 0.35)
_IS_HIT, _HIT_PART, _HIT_FACTOR = 0.6, 0.12, 2.5
_DEADLINE_FACTOR, _DEADLINE_CONTAINERS = 1.1, 15
_QUERY_PART = 0.4
"""Of the load; the rest is of jobs without a deadline."""
_OTHER_S = 10.0
_EXECUTORS = 20
_GRANT_S = 0.5
"""From the end of a task to the next one in its container: half a cycle, which former runs had too."""


def tpch_jobs(file: Path, seed: int, n_jobs: int, n_nodes: int, load: float) -> tuple[list[PolicyJob], ModelledSite]:
    """Five queries of TPC-H at 100 GB from a file of measured graphs, each several times."""
    graphs = read_tpch(file)
    return query_jobs({name: _former(graphs[name]) for name in _QUERIES}, seed, n_jobs, n_nodes, load)


def _former(stages: Sequence[QueryStage]) -> tuple[FormerStage, ...]:
    """The samples of each stage: those with 20 executors, or the nearest number that any were measured with."""
    found = []
    for stage in stages:
        waves = (stage.measured.rest, stage.measured.first, stage.measured.fresh)
        counts = sorted({each for wave in waves for each in wave}, key=lambda each: (abs(each - _EXECUTORS), each))
        samples = next(sample for each in counts if (sample := [ms for wave in waves for ms in wave.get(each, ())]))
        found.append(FormerStage(tuple(max(1.0, ms) / 1000.0 for ms in samples), stage.tasks, stage.needs))
    return tuple(found)


def drawn_queries(seed: int, n_jobs: int, n_nodes: int, load: float) -> tuple[list[PolicyJob], ModelledSite]:
    """The same with three queries that are drawn."""
    rng = seeded(seed, "queries")
    former = {}
    for name in ("first", "second", "third"):
        sizes = [rng.randint(20, 150) for _ in range(rng.randint(2, 6))]
        former[name] = tuple(
            FormerStage(tuple(rng.uniform(2.0, 12.0) for _ in range(size)), size, (number - 1,) if number else ())
            for number, size in enumerate(sizes)
        )
    return query_jobs(former, seed, n_jobs, n_nodes, load)


def query_jobs(
    former: Mapping[str, tuple[FormerStage, ...]], seed: int, n_jobs: int, n_nodes: int, load: float
) -> tuple[list[PolicyJob], ModelledSite]:
    """As many queries as jobs, beside jobs of 60 tasks of 10 s; nodes have one place each."""
    rng = seeded(seed, "query jobs")
    names = sorted(former)
    seen = {name: tuple(_as_seen(stage) for stage in former[name]) for name in names}
    known = {name: build_forecast(seen[name], max(n_nodes, 2), rng.randrange) for name in names}
    former_s = {name: simulate_run(seen[name], _DEADLINE_CONTAINERS, rng.randrange).ends_s for name in names}
    chosen = [names[number % len(names)] for number in range(n_jobs)]
    drawn = [_run_of(rng, former[name]) for name in chosen]
    span_s = sum(stage.work_s for name in chosen for stage in former[name]) / (load * _QUERY_PART * n_nodes)
    jobs = [
        PolicyJob(at_s, stages, at_s + _DEADLINE_FACTOR * former_s[name], forecast=known[name])
        for name, stages in zip(chosen, drawn, strict=True)
        for at_s in (rng.uniform(0.0, span_s),)
    ]
    n_others = math.ceil((1.0 - _QUERY_PART) * load * n_nodes * span_s / (60 * _OTHER_S))
    for _ in range(n_others):
        durations = tuple(_OTHER_S * rng.uniform(0.5, 1.5) for _ in range(60))
        jobs.append(PolicyJob(rng.uniform(0.0, span_s), (StageTasks((1,), durations, _OTHER_S),)))
    return sorted(jobs, key=lambda job: job.arrival_s), ModelledSite(n_nodes, (1,))


def _as_seen(stage: FormerStage) -> FormerStage:
    return replace(stage, durations_s=tuple(each + _GRANT_S for each in stage.durations_s))


def _run_of(rng: random.Random, stages: tuple[FormerStage, ...]) -> tuple[StageTasks, ...]:
    factor = math.exp(rng.gauss(*_CLUSTER_LN))
    n_tasks = sum(stage.n_tasks for stage in stages)
    begin = rng.uniform(0.0, (1.0 - _HIT_PART) * n_tasks) if rng.random() < _IS_HIT else math.inf
    number, found = 0, []
    for stage in stages:
        durations = []
        for _ in range(stage.n_tasks):
            is_hit = begin <= number < begin + _HIT_PART * n_tasks
            durations.append(rng.choice(stage.durations_s) * factor * (_HIT_FACTOR if is_hit else 1.0))
            number += 1
        mean_s = stage.work_s / stage.n_tasks
        found.append(StageTasks((1,), tuple(durations), mean_s, stage.parents))
    return tuple(found)
