"""Jobs of a pool: drawn from seeds, or read from public traces."""

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from statistics import fmean

import numpy as np

from altruism import StageGraph
from fairness import FloatArray
from scripts.papers.generated import generated_queries, generated_resource_jobs
from shim.simulation.dag_jobs import DagJob, ResourceJob, read_alibaba, read_arrivals, read_tpch

_STEP_S = 0.5
"""Task times of queries are rounded to this, so that tasks end together and a run has thousands of looks, not more."""
_MEASURED_WITH = 10  # executors: overall means of TPC-H's stages are 1.8 times too long


@dataclass(frozen=True, slots=True, eq=False)
class PoolJob:
    """One job.

    Attributes:
        graph: As it is; demands are parts of the pool.
        believed: As the policy is told.
    """

    name: str
    arrival_s: float
    graph: StageGraph
    believed: StageGraph

    @classmethod
    def known(cls, name: str, arrival_s: float, graph: StageGraph) -> "PoolJob":
        """Build a job of which everything is known."""
        return cls(name, arrival_s, graph, graph)


def _graph(
    needs: Sequence[Sequence[int]], tasks: Sequence[int], demand: Sequence[Sequence[float]], seconds: Sequence[float]
) -> StageGraph:
    edges = np.zeros((len(tasks), len(tasks)), dtype=np.bool_)
    for child, parents in enumerate(needs):
        edges[child, list(parents)] = True
    return StageGraph.of(edges, tasks, demand, seconds)


def work_of(graph: StageGraph) -> FloatArray:
    """Pool-seconds of each resource."""
    work: FloatArray = (graph.tasks * graph.duration) @ graph.demand
    return work


def arriving(jobs: Sequence[PoolJob], rng: Random, load: float) -> list[PoolJob]:
    """Let jobs arrive by a Poisson process: their work is `load` of what the pool does meanwhile."""
    gap_s = float(np.sum([work_of(job.graph) for job in jobs], axis=0).max()) / len(jobs) / load
    at_s, spread = 0.0, list[PoolJob]()
    for job in jobs:
        spread.append(replace(job, arrival_s=at_s))
        at_s += rng.expovariate(1 / gap_s)
    return spread


def misjudged(jobs: Sequence[PoolJob], factor: float) -> list[PoolJob]:
    """Let the policy be told durations that are wrong by a factor; what runs is as before."""
    return [
        replace(job, believed=StageGraph.of(job.graph.needs, job.graph.tasks, job.graph.demand, seconds))
        for job in jobs
        for seconds in [job.graph.duration * factor]
    ]


# ---------------------------------------------------------------------------------------------- TPC-H


def _query(job: DagJob, slots: int, drawn: Random | None, resources: int) -> PoolJob:
    """A query whose tasks take one slot each, and of each further resource 0.05 to 1 of 2 / slots, as drawn."""
    stages = job.stages
    exact = [fmean(stage.measured.rest.get(_MEASURED_WITH) or (stage.mean_ms,)) / 1000 for stage in stages]
    seconds = [max(_STEP_S, round(each / _STEP_S) * _STEP_S) for each in exact]
    further = range(0 if drawn is None else resources - 1)
    demand = [
        (1 / slots, *(drawn.uniform(0.05, 1.0) * 2 / slots for _ in further if drawn is not None)) for _ in stages
    ]
    graph = _graph([stage.needs for stage in stages], [stage.tasks for stage in stages], demand, seconds)
    return PoolJob.known(job.name, job.arrival_ms / 1000, graph)


def queries(rng: Random, n_jobs: int, slots: int, *, resources: int = 1) -> list[PoolJob]:
    """Queries drawn in the shape of TPC-H's, all at once."""
    drawn = generated_queries(rng, n_jobs=n_jobs, mean_gap_s=0.0)
    return [_query(job, slots, rng, resources) for job in drawn]


def tpch_jobs(
    folder: Path,
    arrivals: str,
    draw: str | None,
    n_jobs: int,
    slots: int,
    *,
    drawn: Random | None = None,
    resources: int = 2,
    numbers: Container[int] = range(1, 23),
) -> list[PoolJob]:
    """The first queries of a draw of Decima's arrivals (`decima_seed_*`), with TPC-H's measured stages.

    Args:
        folder: Of the data.
        arrivals: Which of them.
        draw: Which seed of theirs; None for the only one.
        n_jobs: How many.
        slots: Of the pool.
        drawn: Draws what tasks take of further resources; None for slots alone.
        resources: How many there are then.
        numbers: Queries that are taken, 1 to 22.
    """
    graphs = read_tpch(folder / "tpch_dags_full.json.gz")
    every = read_arrivals(folder / f"decima_seed_{arrivals}.json.gz", draw, graphs)
    taken = [job for job in every if int(job.name.rpartition("-")[2]) in numbers]
    return [_query(job, slots, drawn, resources) for job in taken[:n_jobs]]


# ---------------------------------------------------------------------------------------------- batch jobs


def _batch(job: ResourceJob, machines: float) -> PoolJob:
    stages = job.stages
    demand = [tuple(part / machines for part in stage.demand) for stage in stages]
    graph = _graph(
        [stage.needs for stage in stages],
        [stage.tasks for stage in stages],
        demand,
        [stage.duration_s for stage in stages],
    )
    return PoolJob.known(job.name, 0.0, graph)


def batch_jobs(rng: Random, n_jobs: int, machines: float) -> list[PoolJob]:
    """Jobs drawn in the shape of Alibaba's, all at once."""
    return [_batch(job, machines) for job in generated_resource_jobs(rng, n_jobs=n_jobs)]


def alibaba_jobs(file: Path, n_jobs: int, machines: float, *, skip: int = 0) -> list[PoolJob]:
    """The jobs of Alibaba's trace from number `skip` on, on machines of 96 cores, all at once."""
    return [_batch(job, machines) for job in read_alibaba(file, skip + n_jobs)[skip:]]


# --------------------------------------------------------------------------------------------- where leftover is plenty


def joining_jobs(rng: Random, n_jobs: int, slots: int) -> list[PoolJob]:
    """Jobs with a long chain beside short branches that are joined at the end: the branches can wait.

    Tasks ask for two resources, some mostly for one and some mostly for the other.
    """
    return [_joining(f"join-{number}", rng, slots) for number in range(n_jobs)]


def _joining(name: str, rng: Random, slots: int) -> PoolJob:
    scale, length, branches = rng.lognormvariate(0.0, 0.8), rng.randint(3, 5), rng.randint(2, 4)
    needs: list[tuple[int, ...]] = [(stage - 1,) if stage else () for stage in range(length)]
    tasks = [max(1, round(scale * rng.uniform(1, 3))) for _ in range(length)]
    seconds = [rng.uniform(20, 60) for _ in range(length)]
    for _ in range(branches):
        needs.append(())
        tasks.append(max(1, round(scale * rng.uniform(10, 40))))
        seconds.append(rng.uniform(5, 20))
    needs.append(tuple(range(length - 1, length + branches)))
    tasks.append(max(1, round(scale * 3)))
    seconds.append(rng.uniform(5, 15))
    if rng.random() < 0.5:  # noqa: PLR2004 - whoever goes by the order of the stages shall not always be lucky
        needs, tasks, seconds = _branches_first(length, branches, tasks, seconds)
    tilts = [rng.choice((0.2, 0.5, 0.8)) for _ in needs]
    return PoolJob.known(
        name, 0.0, _graph(needs, tasks, [(tilt / slots, (1 - tilt) / slots) for tilt in tilts], seconds)
    )


def _branches_first(
    length: int, branches: int, tasks: Sequence[int], seconds: Sequence[float]
) -> tuple[list[tuple[int, ...]], list[int], list[float]]:
    """The same job with the stages of the branches before those of the chain."""
    order = [*range(length, length + branches), *range(length), length + branches]
    needs: list[tuple[int, ...]] = [()] * (branches + 1)
    needs += [(stage - 1,) for stage in range(branches + 1, branches + length)]
    needs.append((*range(branches), branches + length - 1))
    return needs, [tasks[stage] for stage in order], [seconds[stage] for stage in order]


def map_reduce_jobs(rng: Random, n_jobs: int, slots: int) -> list[PoolJob]:
    """Jobs of two stages, a third of them with maps alone, sizes as different as Facebook's."""
    jobs: list[PoolJob] = []
    for number in range(n_jobs):
        maps = min(300, max(1, round(rng.lognormvariate(2.5, 1.3))))
        has_reduces = rng.random() < 2 / 3
        needs: list[tuple[int, ...]] = [(), (0,)] if has_reduces else [()]
        tasks = [maps, max(1, maps // 5)][: len(needs)]
        seconds = [rng.lognormvariate(3.0, 0.6), rng.lognormvariate(3.6, 0.6)][: len(needs)]
        demand = [(1 / slots, 1 / slots), (1 / slots, 2 / slots)][: len(needs)]
        jobs.append(PoolJob.known(f"mapreduce-{number}", 0.0, _graph(needs, tasks, demand, seconds)))
    return jobs
