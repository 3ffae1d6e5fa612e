"""Jobs for which policies differ, drawn from a seed: each kind has what one family of policies is about.

Sizes and times are close to what the papers describe; nobody's trace is in here. What a submitter states of a run time
is off by a factor that is log-normal (`_STATED_LN`).
"""

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from shim.errors import BadRequestError
from shim.simulation.engine import seeded
from shim.simulation.policy_runs.jobs import ModelledSite, PolicyJob, StageTasks
from shim.simulation.policy_runs.query_jobs import drawn_queries
from shim.simulation.policy_runs.service_jobs import service_jobs

__all__ = [
    "KINDS_OF_JOBS",
    "Maker",
    "data_jobs",
    "deadline_jobs",
    "graph_jobs",
    "jobs_of_kind",
    "swim_jobs",
    "vector_jobs",
]

_STATED_LN = 0.3
_REPLICAS = 3
_WITH_DEADLINE = 0.7
_SLOTS = 2
_TASK_S = 20.0
_BLOCK_BYTES = 128 << 20
_MAPS = (1, 1, 1, 2, 2, 3, 5, 10, 10, 25, 50, 100, 200)
_LONGEST_LINE = 400
_MOST_MAPS = 2000


def _spread(rng: random.Random, mean_s: float, width: float = 0.2) -> float:
    return mean_s * rng.uniform(1.0 - width, 1.0 + width)


def _stated(rng: random.Random, mean_s: float) -> float:
    return mean_s * math.exp(rng.gauss(0.0, _STATED_LN))


def _map_stage(rng: random.Random, n_maps: int, site: ModelledSite) -> StageTasks:
    places = tuple(tuple(rng.sample(range(site.n_nodes), min(_REPLICAS, site.n_nodes))) for _ in range(n_maps))
    durations = tuple(_spread(rng, _TASK_S) for _ in range(n_maps))
    return StageTasks((1,), durations, _stated(rng, _TASK_S), places=places)


def _arrivals(rng: random.Random, work_s: float, n_jobs: int, n_slots: int, load: float) -> list[float]:
    gap_s, at_s, found = work_s / (load * n_slots) / n_jobs, 0.0, []
    for _ in range(n_jobs):
        at_s += rng.expovariate(1.0 / gap_s)
        found.append(at_s)
    return found


def data_jobs(seed: int, n_jobs: int, n_nodes: int, load: float) -> tuple[list[PolicyJob], ModelledSite]:
    """Maps over files of three replicas: most jobs are small, most tasks are of large ones."""
    rng = seeded(seed, "data jobs")
    site = ModelledSite(n_nodes, (_SLOTS,))
    sizes = [rng.choice(_MAPS) for _ in range(n_jobs)]
    arrivals = _arrivals(rng, sum(sizes) * _TASK_S, n_jobs, n_nodes * _SLOTS, load)
    jobs = [PolicyJob(at_s, (_map_stage(rng, size, site),)) for at_s, size in zip(arrivals, sizes, strict=True)]
    return jobs, site


def swim_jobs(file: Path, seed: int, n_jobs: int, n_nodes: int) -> tuple[list[PolicyJob], ModelledSite]:
    """The first jobs of a SWIM file: job, arrival in s, gap, and bytes of input, shuffle and output, by tabs.

    The file has no places of blocks: they are drawn. A job has at most 2,000 maps, of 128 MB each.

    Raises:
        BadRequestError: If a line is none of SWIM's.
    """
    rng, site, jobs = seeded(seed, "swim"), ModelledSite(n_nodes, (_SLOTS,)), list[PolicyJob]()
    with file.open(encoding="utf-8") as lines:
        while len(jobs) < n_jobs and (line := lines.readline(_LONGEST_LINE)):
            fields = line.split()
            try:
                at_s, n_bytes = float(fields[1]), int(fields[3])
            except (ValueError, IndexError):
                raise BadRequestError(f"{file}: line {len(jobs) + 1} is no job of SWIM: {line[:60]!r}") from None
            n_maps = min(_MOST_MAPS, max(1, -(-n_bytes // _BLOCK_BYTES)))
            jobs.append(PolicyJob(at_s, (_map_stage(rng, n_maps, site),)))
    return jobs, site


_SHAPES = ((1, 1), (1, 4), (4, 1), (2, 6), (6, 2), (3, 3))
_NODE = (16, 16)


def graph_jobs(seed: int, n_jobs: int, n_nodes: int, load: float) -> tuple[list[PolicyJob], ModelledSite]:
    """Graphs of three to nine stages with demands of two resources, some of them long, some hard to pack."""
    rng = seeded(seed, "graph jobs")
    return _arriving(rng, [_graph(rng, n_nodes) for _ in range(n_jobs)], n_nodes, load)


def _graph(rng: random.Random, n_nodes: int) -> tuple[StageTasks, ...]:
    stages: list[StageTasks] = []
    for number in range(rng.randint(3, 9)):
        mean_s = rng.choice((4.0, 8.0, 10.0, 20.0, 60.0))
        n_tasks = rng.randint(1, max(2, n_nodes))
        parents = tuple(sorted(rng.sample(range(number), min(number, rng.choice((0, 1, 1, 2))))))
        durations = tuple(_spread(rng, mean_s) for _ in range(n_tasks))
        stages.append(StageTasks(rng.choice(_SHAPES), durations, _stated(rng, mean_s), parents))
    return tuple(stages)


def vector_jobs(seed: int, n_jobs: int, n_nodes: int, load: float) -> tuple[list[PolicyJob], ModelledSite]:
    """The same without edges: one stage each, of one of six shapes of two resources."""
    rng = seeded(seed, "vector jobs")
    drawn = [_graph(rng, n_nodes)[-1:] for _ in range(n_jobs)]
    return _arriving(rng, [(replace(stage, parents=()),) for (stage,) in drawn], n_nodes, load)


def _arriving(
    rng: random.Random, drawn: list[tuple[StageTasks, ...]], n_nodes: int, load: float
) -> tuple[list[PolicyJob], ModelledSite]:
    work = [sum(sum(each.durations_s) * max(each.demand) / max(_NODE) for each in stages) for stages in drawn]
    arrivals = _arrivals(rng, sum(work), len(drawn), n_nodes, load)
    return [PolicyJob(at_s, stages) for at_s, stages in zip(arrivals, drawn, strict=True)], ModelledSite(n_nodes, _NODE)


def deadline_jobs(seed: int, n_jobs: int, n_nodes: int, load: float) -> tuple[list[PolicyJob], ModelledSite]:
    """Gangs of one stage; seven of ten have a deadline at 1.5 to 4 times their run time."""
    rng = seeded(seed, "deadline jobs")
    shapes = [(rng.randint(1, max(1, n_nodes // 2)), rng.choice((10.0, 20.0, 40.0, 60.0))) for _ in range(n_jobs)]
    arrivals = _arrivals(rng, sum(count * mean_s for count, mean_s in shapes), n_jobs, n_nodes, load)
    jobs = []
    for at_s, (count, mean_s) in zip(arrivals, shapes, strict=True):
        deadline_s = at_s + mean_s * rng.uniform(1.5, 4.0) if rng.random() < _WITH_DEADLINE else math.inf
        durations = tuple(_spread(rng, mean_s, 0.1) for _ in range(count))
        jobs.append(PolicyJob(at_s, (StageTasks((1,), durations, mean_s * 1.1, is_gang=True),), deadline_s))
    return jobs, ModelledSite(n_nodes, (1,))


Maker = Callable[[int, int, int, float], tuple[list[PolicyJob], ModelledSite]]

KINDS_OF_JOBS: Mapping[str, Maker] = MappingProxyType(
    {
        "data": data_jobs,
        "vectors": vector_jobs,
        "graphs": graph_jobs,
        "deadlines": deadline_jobs,
        "queries": drawn_queries,
        "services": service_jobs,
    }
)
"""By name: from a seed, a number of jobs, a number of nodes and a load to jobs and the site that they run on."""


def jobs_of_kind(kind: str) -> Maker:
    """Find the function that draws jobs of a kind.

    Raises:
        BadRequestError: If there is none of this name.
    """
    if kind not in KINDS_OF_JOBS:
        raise BadRequestError(f"there is no kind {kind!r} of jobs: choose one of {', '.join(KINDS_OF_JOBS)}")
    return KINDS_OF_JOBS[kind]
