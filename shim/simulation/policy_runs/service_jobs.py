"""Services with constraints among them, beside tasks: stores, training and caches on nodes of 16 GB and 8 cores."""

from shim.scheduling.tag_constraints import NO_MOST, TagConstraint, TagCount
from shim.simulation.engine import seeded
from shim.simulation.policy_runs.jobs import ModelledSite, PolicyJob, StageTasks

__all__ = ["service_jobs"]

_NODE = (16, 8)
_KEEP_FREE = (2, 1)
_TASKS, _TASK_S = 30, 10.0
_TASKS_PART = 0.2
_RUN_S = (600.0, 1800.0)
_TOGETHER = 5
"""Services of one burst: they come within a second."""
_SHAPES = ((10, (2, 1), "store"), (8, (8, 2), "train"), (5, (4, 1), "cache"))


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
    n_others = int(_TASKS_PART * span_s * n_nodes * _NODE[1] / (_TASKS * _TASK_S))
    for _ in range(n_others):
        durations = tuple(_TASK_S * rng.uniform(0.5, 1.5) for _ in range(_TASKS))
        jobs.append(PolicyJob(rng.uniform(0.0, span_s), (StageTasks((1, 1), durations, _TASK_S),)))
    site = ModelledSite(n_nodes, _NODE, rack_size=10, constraints=tuple(constraints), keep_free=_KEEP_FREE)
    return sorted(jobs, key=lambda job: job.arrival_s), site
