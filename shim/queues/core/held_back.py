"""Containers of each ask that a job does not ask for as yet, by the tasks that its plan puts off.

Most engines ask for containers of a stage. Spark asks for executors, each of which runs tasks of any stage: there the
plan gives a number of executors, and what is asked for beyond it waits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from altruism import PlannedJob
from fairness import FloatArray
from shim.domain.allocations import AskKey
from shim.domain.job_graphs import StagesOfJob
from shim.domain.resources import ResourceVector


def held_back(
    stages: StagesOfJob, asks: Mapping[AskKey, int], containers: int, planned: PlannedJob, put_off: Sequence[int]
) -> dict[AskKey, int]:
    """Find the containers that are not to be asked for; asks of which nothing waits have no row.

    Args:
        asks: Containers of each ask that no scheduler has granted.
    """
    if stages.slots:
        return _of_executors(stages.slots, asks, containers, planned, put_off)
    waiting = planned.progress.waiting.tolist()
    asked = [0] * len(waiting)
    for key, count in asks.items():
        asked[stages.by_priority[key.priority]] += count
    # more asks than tasks are left are for attempts beside those that run (speculation): nothing of them is planned
    allowed = [
        max(0, waits - off) + max(0, wants - waits) for waits, off, wants in zip(waiting, put_off, asked, strict=True)
    ]
    found: dict[AskKey, int] = {}
    for key, count in sorted(asks.items(), key=lambda each: each[0].priority):
        stage = stages.by_priority[key.priority]
        out = count if key.priority in stages.urgent or not put_off[stage] else min(count, allowed[stage])
        allowed[stage] = max(0, allowed[stage] - out)
        if count > out:
            found[key] = count - out
    return found


def held_ahead(
    stages: StagesOfJob,
    form: AskKey | None,
    sizes: Sequence[ResourceVector],
    asks: Mapping[AskKey, int],
    planned: PlannedJob,
    put_off: Sequence[int],
) -> dict[AskKey, int]:
    """Find what is not to be asked for of stages that cannot begin as yet.

    What such a stage asks for when it begins would be granted before the next look.

    Args:
        form: Any ask that the job made: others of it are taken to be alike but for priority and size.
    """
    if form is None or stages.slots:
        return {}
    waiting, runnable = planned.progress.waiting.tolist(), planned.runnable()
    has_asked = {stages.by_priority[key.priority] for key, count in asks.items() if count}
    found: dict[AskKey, int] = {}
    ordinary = {stage: at for at, stage in sorted(stages.by_priority.items()) if at not in stages.urgent}
    for stage, priority in ordinary.items():
        if stage not in runnable and stage not in has_asked and put_off[stage]:
            key = replace(form, priority=priority, resource=sizes[stage])
            found[key] = min(put_off[stage], waiting[stage])
    return found


def _of_executors(
    slots: int, asks: Mapping[AskKey, int], containers: int, planned: PlannedJob, put_off: Sequence[int]
) -> dict[AskKey, int]:
    """The same, of executors: those that have nothing to run by any plan are the engine's own business."""
    progress, runnable = planned.progress, planned.runnable()
    waits = int(progress.waiting[runnable].sum())
    later = sum(put_off[stage] for stage in runnable)
    running, asked = int(progress.run_count.sum()), sum(asks.values())
    of_all, now = -(-(running + waits) // slots), -(-(running + waits - later) // slots)
    idle = max(0, containers + asked - of_all)
    left = asked - min(asked, max(0, now - containers) + idle)
    found: dict[AskKey, int] = {}
    for key, count in sorted(asks.items(), key=lambda each: -each[0].priority):
        if left and count:
            found[key] = min(count, left)
            left -= found[key]
    return found


def by_stage(
    stages: StagesOfJob, held: Mapping[AskKey, int], planned: PlannedJob, put_off: Sequence[int]
) -> dict[int, int]:
    """Containers that are put off, by the position of their stage; see `held_back`."""
    counts: dict[int, int] = {}
    if not stages.slots:
        for key, count in held.items():
            stage = stages.by_priority[key.priority]
            counts[stage] = counts.get(stage, 0) + count
        return counts
    left = sum(held.values())
    for stage in reversed(planned.runnable()):  # for others no executor is asked for
        count = min(left, -(-put_off[stage] // stages.slots))
        if count:
            counts[stage] = count
            left -= count
    return counts


def held_part(stages: StagesOfJob, containers: int, planned: PlannedJob) -> FloatArray:
    if stages.slots and planned.graph.n_stages:
        held: FloatArray = containers * stages.slots * planned.graph.demand[0]
        return held
    return planned.progress.held(planned.graph)


def given_part(
    stages: StagesOfJob,
    asks: Mapping[AskKey, int],
    held: Mapping[AskKey, int],
    planned: PlannedJob,
    share: FloatArray,
    has: FloatArray,
) -> float:
    """The part of its share that it neither holds nor asks for because it puts that off, of the dominant resource."""
    off, out = np.zeros(2), np.zeros(2)
    for key, count in asks.items():
        stage = 0 if stages.slots else stages.by_priority[key.priority]
        demand, later = max(1, stages.slots) * planned.graph.demand[stage], held.get(key, 0)
        off += later * demand
        out += (count - later) * demand
    unused = np.maximum(share - has - out, 0.0)
    return float(np.minimum(unused, off).max())
