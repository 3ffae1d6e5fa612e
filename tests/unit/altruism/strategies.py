"""Random jobs for the properties: small graphs of stages whose tasks fit into an equal share."""

import numpy as np
from hypothesis import strategies as st

from altruism import Progress, StageGraph


@st.composite
def stage_graphs(draw, n_resources=1, largest=0.9):
    """A job of 1 to 6 stages of 1 to 5 tasks, the demand of each below `largest`."""
    n_stages = draw(st.integers(1, 6))
    needs = [
        [child > parent and draw(st.integers(0, 9)) < 4 for parent in range(n_stages)] for child in range(n_stages)
    ]
    demand = [[draw(st.integers(2, 90)) / 100 * largest for _ in range(n_resources)] for _ in range(n_stages)]
    tasks = draw(st.lists(st.integers(1, 5), min_size=n_stages, max_size=n_stages))
    duration = draw(st.lists(st.integers(1, 6), min_size=n_stages, max_size=n_stages))
    return StageGraph.of(needs, tasks, demand, duration)


@st.composite
def exact_jobs(draw, n_jobs=1):
    """Jobs on two resources whose sums are exact: demands are 64ths, of 1 / n_jobs at most."""
    jobs = []
    for _ in range(n_jobs):
        shape = draw(stage_graphs(n_resources=2))
        demand = [[draw(st.integers(1, 64 // n_jobs)) / 64 for _ in range(2)] for _ in range(shape.n_stages)]
        jobs.append(StageGraph.of(shape.needs, shape.tasks, demand, shape.duration))
    return jobs


@st.composite
def jobs_with_capacity(draw):
    """Two to four jobs and a capacity of ones: no task is larger than an equal share."""
    n_jobs, n_resources = draw(st.integers(2, 4)), draw(st.integers(1, 2))
    return [draw(stage_graphs(n_resources, 1.0 / n_jobs)) for _ in range(n_jobs)], [1.0] * n_resources


def drawn_graph(generator, *, stages=(1, 6), edges=0.4, tasks=5, most=21, longest=6):
    """A job as `exact_jobs` has them, of a seeded generator: where a rare case must come in every run."""
    n_stages = int(generator.integers(stages[0], stages[1] + 1))
    needs = np.tril(generator.random((n_stages, n_stages)) < edges, -1)
    demand = generator.integers(1, most + 1, (n_stages, 2)) / 64
    counts, halves = generator.integers(1, tasks + 1, n_stages), generator.integers(1, longest + 1, n_stages)
    return StageGraph.of(needs, counts, demand, halves / 2)


def drawn_progress(generator, graph, share):
    """How far a job may be: some ended, some tasks run that fit into a share, and nothing before its parents."""
    waiting, free, rows = graph.tasks.copy(), np.array(share, dtype=float), []
    for stage in graph.order:
        if waiting[np.flatnonzero(graph.needs[stage])].any() or any(graph.needs[stage, row[0]] for row in rows):
            continue
        waiting[stage] -= generator.integers(0, waiting[stage] + 1)
        while waiting[stage] and (graph.demand[stage] <= free).all() and generator.random() < 0.5:
            free -= graph.demand[stage]
            waiting[stage] -= 1
            rows.append((stage, 1, int(generator.integers(1, 9)) / 4))
    return Progress.of(waiting, *([row[at] for row in rows] for at in range(3)))
