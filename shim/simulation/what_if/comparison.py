"""Figures of replays by queue, side by side with what the history says really happened."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shim.simulation.cluster.spec import ModelledClusterSpec
from shim.simulation.results import Summary
from shim.simulation.what_if.past_jobs import PastJob, full_path
from shim.simulation.yarn_sim.run import ManagerTimes, YarnOutcome

ALL = "(all)"
"""Stands for all queues."""

FIGURES = (
    ("jobs", "applications"),
    ("unfinished", "not ended well"),
    ("waiting_mean_s", "waiting: mean s"),
    ("waiting_p50_s", "waiting: p50 s"),
    ("waiting_p95_s", "waiting: p95 s"),
    ("completion_mean_s", "completion: mean s"),
    ("completion_p50_s", "completion: p50 s"),
    ("completion_p95_s", "completion: p95 s"),
    ("use", "use of all memory %"),
    ("share", "share of what is used %"),
)
"""Keys of figures, and what they are called."""

Figures = dict[str, float]
"""By keys of `FIGURES`; one that is not known is missing."""


@dataclass(frozen=True, slots=True)
class ReplayMatch:
    """Nearness of a replay of the present to what happened; in seconds, over the applications known in both.

    Attributes:
        real_mean_s: Mean in the history; `replay_mean_s` that in the replay.
        error_s: Mean of the absolute differences, application by application.
    """

    jobs: int
    real_mean_s: float
    replay_mean_s: float
    error_s: float


def figures_of_history(jobs: Sequence[PastJob], leaves: Sequence[str], capacity_mib: int) -> dict[str, Figures]:
    """Take figures from a history, by full path of the queue.

    Args:
        leaves: Leaf queues of the present clusters.
    """
    used = dict.fromkeys(leaves, 0.0)
    for job in jobs:
        used[full_path(job.queue, leaves)] += job.mib_s
    ends = [job.arrival_s + job.took_s for job in jobs if job.took_s is not None]
    told = _timed(jobs, leaves, lambda job: job.waited_s, lambda job: job.took_s)
    if all(job.run_s for job in jobs):
        _add_use(told, used, capacity_mib * max(ends, default=0.0))
    return told


def figures_of_replay(
    jobs: Sequence[PastJob], leaves: Sequence[str], clusters: Sequence[ModelledClusterSpec], outcome: YarnOutcome
) -> dict[str, Figures]:
    """Take figures from a replay, by full path of the queue in the history."""
    times = outcome.times

    def told(pick: Callable[[ManagerTimes], float]) -> Callable[[PastJob], float | None]:
        return lambda job: pick(times[job.name]) if job.name in times else None

    found = _timed(jobs, leaves, told(lambda each: each.launched_s), told(lambda each: each.ended_s))
    by_name = {job.name: full_path(job.queue, leaves) for job in jobs}
    for path, figures in found.items():
        figures["unfinished"] = sum(path in (ALL, by_name[name]) for name in outcome.failed)
    used = dict.fromkeys(leaves, 0.0)
    for (_, path), mib_s in outcome.used.items():
        used[path] = used.get(path, 0.0) + mib_s
    _add_use(found, used, sum(each.capacity.memory_mib for each in clusters) * outcome.ended_s)
    return found


def _timed(
    jobs: Sequence[PastJob],
    leaves: Sequence[str],
    waited: Callable[[PastJob], float | None],
    took: Callable[[PastJob], float | None],
) -> dict[str, Figures]:
    groups: dict[str, list[PastJob]] = {ALL: list(jobs)}
    for job in jobs:
        groups.setdefault(full_path(job.queue, leaves), []).append(job)
    return {path: _of_group(group, waited, took) for path, group in sorted(groups.items())}


def _of_group(
    jobs: Sequence[PastJob], waited: Callable[[PastJob], float | None], took: Callable[[PastJob], float | None]
) -> Figures:
    figures: Figures = {"jobs": len(jobs)}
    for name, pick in (("waiting", waited), ("completion", took)):
        values = Summary.of(value for job in jobs if (value := pick(job)) is not None)
        if values.count:
            figures |= {
                f"{name}_mean_s": values.mean,
                f"{name}_p50_s": values.p50,
                f"{name}_p95_s": values.p95,
            }
    return figures


def _add_use(told: dict[str, Figures], used: Mapping[str, float], capacity_mib_s: float) -> None:
    total = sum(used.values())
    for path, mib_s in used.items():
        if path in told or mib_s:
            figures = told.setdefault(path, {"jobs": 0})
            figures["use"] = 100.0 * mib_s / capacity_mib_s if capacity_mib_s else 0.0
            figures["share"] = 100.0 * mib_s / total if total else 0.0
    told[ALL]["use"] = 100.0 * total / capacity_mib_s if capacity_mib_s else 0.0
    told[ALL]["share"] = 100.0 if total else 0.0


def match_of(jobs: Sequence[PastJob], outcome: YarnOutcome) -> dict[str, ReplayMatch]:
    """By `waiting` and `completion`; what the history does not tell is missing."""
    times = outcome.times
    known = [(job, times[job.name]) for job in jobs if job.name in times]
    pairs = {
        "waiting": [(job.waited_s, each.launched_s) for job, each in known if job.waited_s is not None],
        "completion": [(job.took_s, each.ended_s) for job, each in known if job.took_s is not None],
    }
    return {
        name: ReplayMatch(
            len(found),
            math.fsum(real_s for real_s, _ in found) / len(found),
            math.fsum(replay_s for _, replay_s in found) / len(found),
            math.fsum(abs(real_s - replay_s) for real_s, replay_s in found) / len(found),
        )
        for name, found in pairs.items()
        if found
    }


def row_of(path: str, columns: Mapping[str, Mapping[str, Figures]]) -> dict[str, Any]:
    return {"queue": path, **{name: dict(column.get(path, {})) for name, column in columns.items()}}
