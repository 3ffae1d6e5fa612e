"""Slow twins of the kernels: one task at a time, by the definition."""

from itertools import pairwise

import numpy as np

EPSILON = 1e-9


def intervals(graph, progress, packing):
    """(start, end, demand, stage) of every task, those that run first."""
    running = [
        (0.0, float(rest), graph.demand[stage], int(stage))
        for stage, count, rest in zip(progress.run_stage, progress.run_count, progress.run_rest, strict=True)
        for _ in range(int(count))
    ]
    planned = [
        (start, start + float(graph.duration[stage]), graph.demand[stage], stage)
        for start, stage, count in packing.groups()
        for _ in range(count)
    ]
    return running + planned


def usage_is_within(share, tasks):
    """Whether the tasks' sum is below the share at every time at which it can rise."""
    for at in {start for start, *_ in tasks}:
        used = sum(demand for start, end, demand, _ in tasks if start <= at + EPSILON and end > at + EPSILON)
        if np.any(used > np.asarray(share) + 1e-6):
            return False
    return True


def precedence_is_kept(graph, tasks):
    """Whether no task starts before all tasks of all parents have ended."""
    ends = [max((end for _, end, _, of in tasks if of == stage), default=0.0) for stage in range(graph.n_stages)]
    return all(
        start >= ends[parent] - 1e-6
        for start, _, _, stage in tasks
        for parent in np.flatnonzero(graph.needs[stage])
        if start > 0
    )


def is_greedy(graph, share, packing):
    """Whether at no time something runnable was left waiting that would have fitted."""
    tasks = [
        (start, start + float(graph.duration[stage]), stage)
        for start, stage, count in packing.groups()
        for _ in range(count)
    ]
    for at in {0.0} | {end for _, end, _ in tasks}:
        used = sum(
            (graph.demand[s] for b, e, s in tasks if b <= at + EPSILON and e > at + EPSILON), np.zeros(len(share))
        )
        for start, _, stage in tasks:
            is_ready = all(e <= at + EPSILON for _, e, s in tasks if graph.needs[stage, s])
            if start > at + EPSILON and is_ready and np.all(used + graph.demand[stage] <= np.asarray(share) - 1e-6):
                return False
    return True


def latest_starts(graph, share, makespan, packing):
    """Whether no single task of a packing could start later, the others staying where they are.

    Gives the first (stage, start, later start) that could, or None.
    """
    tasks = intervals(graph, _nothing_runs(), packing)
    for index, (start, end, demand, stage) in enumerate(tasks):
        others = tasks[:index] + tasks[index + 1 :]
        bound = min([makespan] + [b for b, _, _, of in others if graph.needs[of, stage]])
        length = end - start
        for later in {bound - length} | {b - length for b, *_ in others}:
            moved = [*others, (later, later + length, demand, stage)]
            if start + 1e-6 < later <= bound - length + EPSILON and usage_is_within(share, moved):
                return stage, start, later
    return None


def least_room(capacity, tasks, begin, end):
    """The least free amount of each resource on [begin, end), by looking at each time between two changes."""
    times = sorted({begin, end} | {t for s, e, *_ in tasks for t in (s, e) if begin < t < end})
    free = [
        np.asarray(capacity, dtype=float)
        - sum((d for s, e, d, _ in tasks if s < (a + b) / 2 < e), np.zeros(len(capacity)))
        for a, b in pairwise(times)
    ]
    return np.min(free, axis=0)


def _nothing_runs():
    class Nothing:
        run_stage = run_count = run_rest = ()

    return Nothing()
