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


def forward_packing(graph, share, *, needs=None):
    """(start, stage) of every task, packed one at a time: the best fit first, and all of its stage that fits."""
    needs = graph.needs if needs is None else needs
    free, now, ends, placed = np.array(share, dtype=float), 0.0, [], []
    waiting, unfinished = graph.tasks.tolist(), graph.tasks.tolist()
    while True:
        left = [
            s for s in range(graph.n_stages) if waiting[s] and not any(unfinished[p] for p in np.flatnonzero(needs[s]))
        ]
        while fitting := [s for s in left if np.all(graph.demand[s] <= free + EPSILON)]:
            stage = max(fitting, key=lambda s: (float(graph.demand[s] @ free), -s))
            left.remove(stage)
            while waiting[stage] and np.all(graph.demand[stage] <= free + EPSILON):
                free -= graph.demand[stage]
                waiting[stage] -= 1
                placed.append((now, stage))
                ends.append((now + float(graph.duration[stage]), stage))
        if not ends:
            return placed
        now = min(end for end, _ in ends)
        for end, stage in [each for each in ends if each[0] <= now]:
            ends.remove((end, stage))
            unfinished[stage] -= 1
            free += graph.demand[stage]


def backward_packing(graph, share, makespan):
    """(start, stage) of every task, packed from the end; None if that is longer than the makespan."""
    turned = forward_packing(graph, share, needs=graph.needs.T)
    starts = [(makespan - at - float(graph.duration[stage]), stage) for at, stage in turned]
    return None if min(start for start, _ in starts) < -EPSILON else starts


def equal_dominant_shares(mean_demand, capacity):
    """Shares of jobs, by raising all dominant shares alike until a resource is used up."""
    fraction = np.asarray(mean_demand) / np.asarray(capacity)
    direction = fraction / fraction.max(axis=1)[:, None]
    low, high = 0.0, 1.0
    for _ in range(60):
        level = (low + high) / 2
        low, high = (level, high) if (level * direction.sum(axis=0) <= 1).all() else (low, level)
    return low * direction * np.asarray(capacity)


def lent_tasks(jobs, capacity, now):
    """Tasks of each job and stage that start on leftover, one at a time, the job with the least work left first."""
    tasks = [
        [(max(0.0, start - now), stage) for start, stage, count in job.plan.groups() for _ in range(count)]
        for job in jobs
    ]
    granted = [np.zeros(job.graph.n_stages, dtype=int) for job in jobs]

    def fits(begin, end, demand):
        every = [
            (start, start + float(job.graph.duration[stage]), job.graph.demand[stage], stage)
            for job, its in zip(jobs, tasks, strict=True)
            for start, stage in its
        ]
        return np.all(least_room(capacity, every, begin, end) >= demand - EPSILON)

    def free_now():
        used = [
            job.graph.demand[s] for job, its in zip(jobs, tasks, strict=True) for start, s in its if start <= EPSILON
        ]
        return np.asarray(capacity) - sum(used, np.zeros(len(capacity)))

    def work(number):
        graph = jobs[number].graph
        return float((graph.tasks * graph.duration @ graph.demand).sum()), number

    for number in sorted(range(len(jobs)), key=work):
        graph, its = jobs[number].graph, tasks[number]
        left = [
            s
            for s in range(graph.n_stages)
            if not graph.needs[s].any() and any(e[1] == s and e[0] > EPSILON for e in its)
        ]
        while left:
            free = free_now()
            stage = max(left, key=lambda s: (float(graph.demand[s] @ free), -s))
            left.remove(stage)
            later = sorted((each for each in its if each[1] == stage and each[0] > EPSILON), reverse=True)
            for start, _ in later if np.all(graph.demand[stage] <= free + EPSILON) else ():
                if not fits(0.0, min(float(graph.duration[stage]), start), graph.demand[stage]):
                    break
                its.remove((start, stage))
                its.append((0.0, stage))
                granted[number][stage] += 1
    return granted


def _nothing_runs():
    class Nothing:
        run_stage = run_count = run_rest = ()

    return Nothing()
