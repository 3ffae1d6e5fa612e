"""Stages that may be put off without harm, by the order in which engines serve them."""

import numpy as np

from altruism import PlannedJob
from shim.domain.job_graphs import StagesOfJob

__all__ = ["may_wait"]


def may_wait(stages: StagesOfJob, planned: PlannedJob) -> list[bool]:
    """Tell of each stage if it may be put off.

    Args:
        stages: Of the job.
        planned: The job, and what of it runs.
    """
    above = _nothing_runs_below(planned)
    return _served_last(stages, planned, above) if stages.reuses_containers else above


def _nothing_runs_below(planned: PlannedJob) -> list[bool]:
    """Find stages of which no descendant runs: an engine would kill that for them."""
    graph = planned.graph
    runs = np.zeros(graph.n_stages, dtype=np.bool_)
    runs[planned.progress.run_stage] = True
    below = np.zeros(graph.n_stages, dtype=np.bool_)  # whether something runs below each stage
    for stage in reversed(graph.order):
        children = graph.needs[:, stage]
        below[stage] = bool((runs[children] | below[children]).any())
    return [not each for each in below.tolist()]


def _served_last(stages: StagesOfJob, planned: PlannedJob, is_free: list[bool]) -> list[bool]:
    """Take out stages that the engine serves before another one that could begin.

    The job's own containers, as they come free, go to the waiting stage of the smallest priority number. Were that put
    off, the others would begin only after it, however early they are needed: the job's promise would be lost.
    """
    waiting, unfinished = planned.progress.waiting, planned.progress.unfinished()
    could_begin = [
        waiting[stage] > 0 and not unfinished[planned.graph.needs[stage]].any()
        for stage in range(planned.graph.n_stages)
    ]
    last = max((priority for priority, stage in stages.by_priority.items() if could_begin[stage]), default=0)
    latest = {stage: priority for priority, stage in sorted(stages.by_priority.items())}
    return [free and latest.get(stage, last) >= last for stage, free in enumerate(is_free)]
