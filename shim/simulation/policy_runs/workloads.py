"""Jobs for which policies differ, drawn from a seed: each kind has what one family of policies is about.

Sizes and times are close to what the papers describe; nobody's trace is in here. What a submitter states of a run time
is off by a factor that is log-normal (`_STATED_LN`).

Recurring queries with deadlines beside other work, on a pool that is sometimes slower than in former runs.

A query's former runs give its stages and their tasks' times. The run itself is off: all tasks by a factor of the
cluster, and in six of ten runs a stretch of 12 in 100 of them is 2.5 times slower: three
tenths of the time to the deadline. Deadlines are 1.1 times what the
former run took on 15 containers.

Services with constraints among them, beside tasks: drawn ones, and those of Alibaba's containers.

The drawn ones are stores, training and caches on nodes of 16 GB and 8 cores.
"""

import gzip
import math
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from shim.errors import BadRequestError
from shim.scheduling.completion_table import build_forecast, simulate_run
from shim.scheduling.former_runs import FormerStage
from shim.scheduling.policies.jockey import DeadlineRules, JockeyRules, jockey
from shim.scheduling.policies.medea import MedeaRules, medea
from shim.scheduling.policy import Policy
from shim.scheduling.service_round import PlacementWeights
from shim.scheduling.tag_constraints import NO_MOST, TagConstraint, TagCount
from shim.simulation.dag_jobs import QueryStage, read_tpch
from shim.simulation.engine import seeded
from shim.simulation.policy_runs.jobs import ModelledSite, PolicyJob, StageTasks

_NODE_SERVICES = (16, 8)
_KEEP_FREE = (2, 1)
_TASKS, _TASK_S_SERVICES = 30, 10.0
_TASKS_PART = 0.2
_RUN_S = (600.0, 1800.0)
_TOGETHER = 5
"""Services of one burst: they come within a second."""
_SHAPES_SERVICES = ((10, (2, 1), "store"), (8, (8, 2), "train"), (5, (4, 1), "cache"))
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
    mean_gb = sum(count * demand[0] for count, demand, _ in _SHAPES_SERVICES) / len(_SHAPES_SERVICES)
    gap_s = _TOGETHER * mean_gb * sum(_RUN_S) / 2 / (load * n_nodes * _NODE_SERVICES[0])
    for number in range(n_jobs):
        count, demand, kind = _SHAPES_SERVICES[number % len(_SHAPES_SERVICES)]
        own = f"app-{number}"
        run_s = rng.uniform(*_RUN_S)
        at_s = (number // _TOGETHER) * gap_s + rng.uniform(0.0, 1.0)
        jobs.append(PolicyJob(at_s, (StageTasks(demand, (run_s,) * count, run_s, tags=frozenset({kind, own})),)))
        if kind != "cache":
            constraints.append(_wants(own, own, count - 1, NO_MOST, "rack"))
    span_s = max(gap_s, (n_jobs // _TOGETHER) * gap_s)
    jobs += _tasks_beside(rng, span_s, int(_TASKS_PART * span_s * n_nodes * _NODE_SERVICES[1]), (1, 1))
    site = ModelledSite(n_nodes, _NODE_SERVICES, rack_size=10, constraints=tuple(constraints), keep_free=_KEEP_FREE)
    return sorted(jobs, key=lambda job: job.arrival_s), site


def _tasks_beside(rng: random.Random, span_s: float, work_s: int, demand: tuple[int, ...]) -> list[PolicyJob]:
    jobs = []
    for _ in range(int(work_s / (_TASKS * _TASK_S_SERVICES))):
        durations = tuple(_TASK_S_SERVICES * rng.uniform(0.5, 1.5) for _ in range(_TASKS))
        jobs.append(PolicyJob(rng.uniform(0.0, span_s), (StageTasks(demand, durations, _TASK_S_SERVICES),)))
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


# Policies with other rules, for comparison in simulation alone: what a part of a policy is worth.

_PUBLISHED = DeadlineRules(hysteresis=0.2)

VARIANTS: Mapping[str, Policy] = MappingProxyType(
    {
        policy.name: policy
        for policy in (
            jockey(JockeyRules(_PUBLISHED, keeps_pace=False, trusted_pace=math.inf), "jockey-published"),
            jockey(JockeyRules(_PUBLISHED, uses_table=False, keeps_pace=False, trusted_pace=math.inf), "jockey-amdahl"),
            jockey(JockeyRules(uses_table=False), "jockey-amdahl-paced"),
            jockey(JockeyRules(adapts=False), "jockey-once"),
            jockey(JockeyRules(fixed=15), "jockey-15"),
            medea(MedeaRules(weights=PlacementWeights()), "medea-published"),
            medea(MedeaRules(solves=False), "medea-heuristics"),
            medea(MedeaRules(every_s=0.0, orders=("arrival",), solves=False), "medea-one-by-one"),
            medea(MedeaRules(every_s=0.0, orders=("arrival",), solves=False, knows_cardinality=False), "medea-kube"),
            medea(MedeaRules(orders=("no-constraints",), solves=False), "medea-blind"),
        )
    }
)
"""Jockey with the paper's control loop, and that with Amdahl's estimate; Heddle's loop with Amdahl's estimate; with its
first allocation kept; with 15 containers for each deadline. Medea with the paper's weights; without its program; with
each container as it comes; the same with affinity and anti-affinity alone, as Kubernetes has them; without a look at
constraints."""
