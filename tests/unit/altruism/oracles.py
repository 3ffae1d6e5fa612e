"""Slow twins of the kernels: one task at a time, by the definition."""

import math
from itertools import pairwise

import numpy as np

from altruism import Packing, Progress, pack_forward

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


def latest_starts(graph, share, makespan, packing, beside=()):
    """Whether no single task of a packing could start later, the others and what is beside staying where they are.

    Gives the first (stage, start, later start) that could, or None.
    """
    tasks = intervals(graph, _nothing_runs(), packing)
    for index, (start, end, demand, stage) in enumerate(tasks):
        others = [*tasks[:index], *tasks[index + 1 :], *((*each[:3], -1) for each in beside)]
        bound = min([makespan] + [b for b, _, _, of in others if of >= 0 and graph.needs[of, stage]])
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


def lent_tasks(jobs, capacity, now, *, order="srtf", strict=True, lead=0.0):
    """Tasks of each job and stage that start on leftover, one at a time, in the order that is named."""
    plans = [
        [(max(0.0, start - now), stage, start - now) for start, stage, count in job.plan.groups() for _ in range(count)]
        for job in jobs
    ]
    held = [[each for each in plan if strict or each[2] <= lead + EPSILON] for plan in plans]
    granted = [np.zeros(job.graph.n_stages, dtype=int) for job in jobs]

    def least(begin, end):
        every = [
            (start, start + float(job.graph.duration[stage]), job.graph.demand[stage], stage)
            for job, its in zip(jobs, held, strict=True)
            for start, stage, _ in its
        ]
        running = [each for job in jobs for each in intervals(job.graph, job.progress, _NO_PACKING)]
        return least_room(capacity, every + running, begin, end)

    def later_of(number, stage):
        return sorted((each for each in plans[number] if each[1] == stage and each[2] > lead + EPSILON), reverse=True)

    def is_runnable(number, stage):
        job = jobs[number]
        unfinished = job.progress.unfinished()
        return job.progress.waiting[stage] and not unfinished[np.flatnonzero(job.graph.needs[stage])].any()

    def lend(number, stage):
        job = jobs[number]
        duration, demand = float(job.graph.duration[stage]), job.graph.demand[stage]
        for each in later_of(number, stage):
            if not np.all(least(0.0, min(duration, each[2]) if strict else duration) >= demand - EPSILON):
                return
            if strict:
                held[number].remove(each)
            held[number].append((0.0, stage, 0.0))
            granted[number][stage] += 1

    work = [_work_left(job) for job in jobs]
    rows = [
        (number, stage)
        for number, job in enumerate(jobs)
        for stage in range(job.graph.n_stages)
        if is_runnable(number, stage) and later_of(number, stage)
    ]

    def key(row):
        number, stage = row
        fit = -float(jobs[number].graph.demand[stage] @ least(0.0, 1e-6))
        starts = later_of(number, stage)[-1][2]
        return {
            "packing": (fit, work[number], number, stage),
            "srtf": (work[number], number, fit, stage),
            "planned": (work[number], number, starts, stage),
        }[order]

    while rows:
        best = min(rows, key=key)
        rows.remove(best)
        lend(*best)
    return granted


def adopted_plans(jobs, proposals, capacity, now):
    """Plans that are adopted, the job with the least work left first; the room of all is looked at from the start."""
    plans = [job.plan for job in jobs]

    def lowest():
        tasks = [
            (max(0.0, start), max(0.0, start) + seconds, demand, stage)
            for job, plan in zip(jobs, plans, strict=True)
            for start, seconds, demand, stage in _planned(job, plan, now)
        ]
        running = [each for job in jobs for each in intervals(job.graph, job.progress, _NO_PACKING)]
        last = max((end for _, end, *_ in tasks + running), default=0.0) + 1.0
        return least_room(capacity, tasks + running, 0.0, last)

    for at in sorted(range(len(jobs)), key=lambda at: (_work_left(jobs[at]), at)):
        before, kept = lowest(), plans[at]
        plans[at] = proposals[at]
        if not (lowest() >= np.minimum(before, 0.0) - EPSILON).all():
            plans[at] = kept
    return plans


def _planned(job, plan, now):
    return [
        (start - now, float(job.graph.duration[stage]), job.graph.demand[stage], stage)
        for start, stage, count in plan.groups()
        for _ in range(count)
    ]


def _work_left(job):
    """Demand x seconds of each task that waits or runs."""
    size = job.graph.demand.sum(axis=1)
    waiting = sum(job.progress.waiting[stage] * job.graph.duration[stage] * size[stage] for stage in job.graph.order)
    runs = zip(job.progress.run_stage, job.progress.run_count, job.progress.run_rest, strict=True)
    return float(waiting + sum(count * rest * size[stage] for stage, count, rest in runs))


_NO_PACKING = Packing.of(0.0, ())


def best_order(graph, share):
    """What `stage_ranks` looks for, by the definition: of the orders of Graphene's idea the first that is shortest."""
    start = Progress.at_start(graph)
    stages = range(graph.n_stages)
    tasks, seconds, demand = graph.tasks.tolist(), graph.duration.tolist(), graph.demand.tolist()

    def path(stage):
        return seconds[stage] + max((path(child) for child in stages if graph.needs[child, stage]), default=0.0)

    def before(stage):
        return {stage}.union(*(before(parent) for parent in stages if graph.needs[stage, parent]))

    ancestors = [before(stage) for stage in stages]
    longest = [path(stage) for stage in stages]

    def fragments(stage):
        """How well a stage fills its share: work by the resource it needs most, against the waves that it takes."""
        wide = max(1.0, min(part // needed for needed, part in zip(demand[stage], share, strict=True)))
        work = tasks[stage] * seconds[stage] * max(n / part for n, part in zip(demand[stage], share, strict=True))
        return work / (math.ceil(tasks[stage] / wide) * seconds[stage])

    orders = [[-each for each in longest]]
    for least in range(11):
        for most in range(11):
            hard = {s for s in stages if seconds[s] / max(seconds) >= least / 10 or fragments(s) <= most / 10}
            between = {s for s in stages if ancestors[s] & hard and any(s in ancestors[other] for other in hard)}
            needed = {s for s in stages if any(s in ancestors[other] for other in between)}
            turn = 2 * max(*longest, 1.0)
            orders.append(
                [(0.0 if s in needed else 2.0 if ancestors[s] & between else 1.0) * turn - longest[s] for s in stages]
            )
    best, found = pack_forward(graph, start, share).makespan, None
    for ranks in map(list, dict.fromkeys(map(tuple, orders))):
        if (packing := pack_forward(graph, start, share, rank=ranks)).makespan < best:
            best, found = packing.makespan, ranks
    return found


def _nothing_runs():
    class Nothing:
        run_stage = run_count = run_rest = ()

    return Nothing()
