"""The graph of a job as scheduling policies read it, from what was seen of its stages."""

import math
from collections.abc import Sequence

from shim.domain.job_graphs import StagesOfJob
from shim.queues.core.job_watch import StageSeen
from shim.scheduling.knowledge import StageOutline

_STEPS_AN_OCTAVE = 2
_UNKNOWN_S = 1.0

OutlinedStages = tuple[tuple[StageOutline, ...], tuple[int, ...], dict[int, int]]
"""Stages with parents first, ended tasks of each, and the stage of each priority of asks."""


def outlined(stages: StagesOfJob, seen: Sequence[StageSeen]) -> OutlinedStages | None:
    """Outline a job; None where asks are for no stage (executors of Spark).

    Where nothing is known of a stage's times they are taken to be as those of the others. Expected times are rounded to
    half octaves: a job is planned anew where they changed by much, and not with each task that ends.
    """
    if stages.slots:
        return None
    graph = stages.graph
    order = sorted(range(len(graph.stages)), key=lambda number: (graph.distances[number], number))
    place = {number: at for at, number in enumerate(order)}
    known = [each.seconds for each in seen if each.seconds is not None]
    usual_s = sum(known) / len(known) if known else _UNKNOWN_S
    found = tuple(
        StageOutline(
            n_tasks=_tasks(seen[number]),
            expected_s=_rounded(seen[number].seconds or usual_s),
            demand=(seen[number].size.memory_mib, seen[number].size.vcores),
            parents=tuple(sorted(place[each] for each in graph.stages[number].sources)),
        )
        for number in order
    )
    finished = tuple(min(seen[number].ended, outline.n_tasks) for number, outline in zip(order, found, strict=True))
    return found, finished, {priority: place[number] for priority, number in stages.by_priority.items()}


def _tasks(seen: StageSeen) -> int:
    """All tasks of a stage; those that were reported, as long as its engine has not decided."""
    if seen.tasks is not None:
        return max(1, seen.tasks)
    return max(1, (seen.waiting or 0) + len(seen.running_since_s) + seen.ended)


def _rounded(seconds: float) -> float:
    return float(2.0 ** (round(math.log2(max(seconds, 1e-3)) * _STEPS_AN_OCTAVE) / _STEPS_AN_OCTAVE))
