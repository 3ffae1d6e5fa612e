"""The graph of a job as scheduling policies read it, from what was seen of its stages."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shim.domain.job_graphs import JobGraph, StagesOfJob
from shim.queues.core.job_watch import JobRun, StageSeen
from shim.scheduling.former_runs import FormerStage
from shim.scheduling.knowledge import StageOutline

_STEPS_AN_OCTAVE = 2
_UNKNOWN_S = 1.0

_MOST_SAMPLES, _SAMPLES_IN_ALL = 32, 1600
"""Times that are kept of a stage of a run, and of all of its stages together."""


@dataclass(frozen=True, slots=True)
class OutlinedStages:
    """What is seen of a job, in the form that policies read.

    Attributes:
        stages: Parents first.
        finished: Ended tasks of each.
        by_priority: The stage of each priority of asks.
        has_times: Whether anything is known of how long its tasks run.
        ran_s: What the ended tasks of each stage ran in this run, in the mean; 0 where none was timed.
    """

    stages: tuple[StageOutline, ...]
    finished: tuple[int, ...]
    by_priority: Mapping[int, int]
    has_times: bool
    ran_s: tuple[float, ...]


def outlined(stages: StagesOfJob, seen: Sequence[StageSeen]) -> OutlinedStages | None:
    """Outline a job; None where asks are for no stage (executors of Spark).

    Where nothing is known of a stage's times they are taken to be as those of the others. Expected times are rounded to
    half octaves: a job is planned anew where they changed by much, and not with each task that ends.
    """
    if stages.slots:
        return None
    graph, order = stages.graph, parents_first(stages.graph)
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
    by_priority = {priority: place[number] for priority, number in stages.by_priority.items()}
    return OutlinedStages(found, finished, by_priority, bool(known), tuple(seen[number].ran_s for number in order))


def former_stages(run: JobRun) -> tuple[FormerStage, ...]:
    """Give a run in the form that predictions are made from; stages go as in `outlined`."""
    graph, order = run.stages.graph, parents_first(run.stages.graph)
    place = {number: at for at, number in enumerate(order)}
    most = max(1, min(_MOST_SAMPLES, _SAMPLES_IN_ALL // max(1, len(order))))
    return tuple(
        FormerStage(
            durations_s=_samples(run.runs[number].seconds, most),
            n_tasks=run.runs[number].tasks,
            parents=tuple(sorted(place[each] for each in graph.stages[number].sources)),
            queued_s=run.runs[number].queued_s,
            begins_s=run.runs[number].begins_s,
            ends_s=run.runs[number].ends_s,
        )
        for number in order
    )


def parents_first(graph: JobGraph) -> list[int]:
    """Order the stages of a graph so that each comes after those that feed it."""
    return sorted(range(len(graph.stages)), key=lambda number: (graph.distances[number], number))


def _samples(seconds: Sequence[float], most: int) -> tuple[float, ...]:
    """So many of some times at most, the longest among them; what is left out lies between those that are kept."""
    ordered = sorted(round(each, 3) for each in seconds)
    if len(ordered) <= most:
        return tuple(ordered)
    step = len(ordered) / most
    return tuple(ordered[math.ceil((number + 1) * step) - 1] for number in range(most))


def _tasks(seen: StageSeen) -> int:
    """All tasks of a stage; those that were reported, as long as its engine has not decided."""
    if seen.tasks is not None:
        return max(1, seen.tasks)
    return max(1, (seen.waiting or 0) + len(seen.running_since_s) + seen.ended)


def _rounded(seconds: float) -> float:
    return float(2.0 ** (round(math.log2(max(seconds, 1e-3)) * _STEPS_AN_OCTAVE) / _STEPS_AN_OCTAVE))
