"""Stages that may be put off without harm, by the order in which engines serve them."""

from altruism import PlannedJob
from shim.domain.job_graphs import StagesOfJob

__all__ = ["may_wait"]


def may_wait(stages: StagesOfJob, planned: PlannedJob) -> list[bool]:
    """Tell of each stage if it may be put off.

    Args:
        stages: Of the job.
        planned: The job, and what of it runs.
    """
    above = _nothing_runs_below(stages, planned)
    return _served_last(stages, planned, above) if stages.reuses_containers else above


def _nothing_runs_below(stages: StagesOfJob, planned: PlannedJob) -> list[bool]:
    """Find stages of which no descendant runs: an engine would kill that for them."""
    runs = set(planned.progress.run_stage.tolist())
    above: set[int] = set()  # whatever has a descendant that runs
    for stage in reversed(planned.graph.order):
        if stage in runs or stage in above:
            above.update(stages.graph.stages[stage].waits_for)
    return [stage not in above for stage in range(planned.graph.n_stages)]


def _served_last(stages: StagesOfJob, planned: PlannedJob, is_free: list[bool]) -> list[bool]:
    """Take out stages that the engine serves before another one that could begin.

    The job's own containers, as they come free, go to the waiting stage of the smallest priority number. Were that put
    off, the others would begin only after it, however early they are needed: the job's promise would be lost.
    """
    runnable = planned.runnable()
    last = max((priority for priority, stage in stages.by_priority.items() if stage in runnable), default=0)
    latest = {stage: priority for priority, stage in sorted(stages.by_priority.items())}
    return [free and latest.get(stage, last) >= last for stage, free in enumerate(is_free)]
