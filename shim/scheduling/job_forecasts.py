"""Forecast of a job by what is known of it, and the pace of its present run beside what was expected."""

from collections.abc import Sequence

from shim.scheduling.completion_table import JobForecast
from shim.scheduling.former_runs import FormerStage
from shim.scheduling.job_table import Column
from shim.scheduling.snapshot import RequestTime, Snapshot

__all__ = ["forecast_of", "slowdown_of"]

_TRUSTED_PART = 0.01
"""Of a job's work: so much counts as if it had run as expected, lest the first ends of tasks decide."""


def forecast_of(snapshot: Snapshot, job: int, row: int) -> JobForecast | None:
    """Predict by former runs; without any, by what is stated of each stage, or of the request's own tasks."""
    told = snapshot.knowledge.forecasts.get(job)
    if told is not None:
        return told
    graph = snapshot.knowledge.graphs.get(job)
    if graph is not None and all(stage.expected_s > 0.0 for stage in graph):
        return JobForecast(tuple(FormerStage((each.expected_s,), each.n_tasks, each.parents) for each in graph))
    expected_s = float(snapshot.requests.times[RequestTime.EXPECTED_S, row])
    n_tasks = int(snapshot.jobs[Column.TASKS, job])
    return JobForecast((FormerStage((expected_s,), n_tasks),)) if graph is None and expected_s > 0.0 else None


def slowdown_of(snapshot: Snapshot, job: int, finished: Sequence[int]) -> float:
    """Run time of a job's ended tasks as a multiple of what was expected of them; 1 where nothing was expected.

    Args:
        snapshot: Holds the job's graph and what its ended tasks ran in all.
        job: Row of the job.
        finished: Ended tasks by stage.
    """
    graph = snapshot.knowledge.graphs.get(job, ())
    whole_s = sum(stage.n_tasks * stage.expected_s for stage in graph)
    if len(graph) != len(finished) or whole_s <= 0.0:
        return 1.0
    ended_s = sum(done * stage.expected_s for done, stage in zip(finished, graph, strict=True))
    took_s, trusted_s = float(snapshot.jobs[Column.FINISHED_S, job]), _TRUSTED_PART * whole_s
    return (took_s + trusted_s) / (ended_s + trusted_s)
