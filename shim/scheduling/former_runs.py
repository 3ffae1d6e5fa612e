"""Former runs of a job as a measure of its next one: indicators of progress, and Amdahl's estimate of what is left.

f_s is the part of a stage's tasks that have ended, T_s its tasks' time in all, Q_s the time that they queued, l_s its
longest task, L_s the longest path of such tasks after it.

Source: Ferguson et al., "Jockey: Guaranteed Job Latency in Data Parallel Clusters", EuroSys 2012, sections 4.1 to 4.3.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

Parts = Sequence[float]
"""f_s by stage, 0 to 1."""


@dataclass(frozen=True, slots=True)
class FormerStage:
    """A stage of a former run.

    Attributes:
        durations_s: What its tasks took, failed ones not counted: a sample, of one at least.
        queued_s: How long its tasks were ready and waited, in all.
        begins_s: From the begin of the run to that of the stage; `ends_s` likewise to its end.
        parents: Numbers of the stages that end before it begins; smaller than its own.
    """

    durations_s: tuple[float, ...]
    n_tasks: int
    parents: tuple[int, ...] = ()
    queued_s: float = 0.0
    begins_s: float = 0.0
    ends_s: float = 0.0

    @property
    def work_s(self) -> float:
        return self.n_tasks * sum(self.durations_s) / len(self.durations_s)

    @property
    def longest_s(self) -> float:
        return max(self.durations_s)


_SAME_SIZE = 0.2
"""Part by which a stage may have more or fewer tasks than in the former run, which then still counts as it is."""


def of_size(stages: Sequence[FormerStage], tasks: Sequence[int]) -> tuple[FormerStage, ...]:
    """Give a former run as one of so many tasks in each stage; the same where no number differs by more than a fifth.

    Other tasks are taken to run as long, and to queue as long, each.
    """
    counts = [(stage, max(1, count)) for stage, count in zip(stages, tasks, strict=True)]
    if all(abs(count - stage.n_tasks) <= _SAME_SIZE * stage.n_tasks for stage, count in counts):
        return tuple(stages)
    return tuple(
        replace(stage, n_tasks=count, queued_s=stage.queued_s * count / max(1, stage.n_tasks))
        for stage, count in counts
    )


def paths_behind_s(parents: Sequence[Sequence[int]], lengths_s: Sequence[float]) -> list[float]:
    """Seconds from the end of each stage to the end of the job along its longest path.

    Args:
        parents: Of each stage; each stage comes after its parents.
        lengths_s: What each stage takes.
    """
    behind = [0.0] * len(lengths_s)
    for number in range(len(lengths_s) - 1, -1, -1):
        for parent in parents[number]:
            behind[parent] = max(behind[parent], lengths_s[number] + behind[number])
    return behind


def critical_path_s(stages: Sequence[FormerStage], parts: Parts) -> float:
    """Rest of the longest path, in seconds: no allocation makes it shorter."""
    after = paths_behind_s([stage.parents for stage in stages], [stage.longest_s for stage in stages])
    left = [
        (1.0 - part) * stage.longest_s + path
        for stage, part, path in zip(stages, parts, after, strict=True)
        if part < 1.0
    ]
    return max(left, default=0.0)


def amdahl_s(stages: Sequence[FormerStage], parts: Parts, allocation: int) -> float:
    """Estimate what is left without a simulation: the longest path, and all work shared by the containers."""
    work_s = sum((1.0 - part) * stage.work_s for stage, part in zip(stages, parts, strict=True))
    return critical_path_s(stages, parts) + work_s / max(1, allocation)


def _weighed(weight: Callable[[FormerStage], float]) -> Callable[[Sequence[FormerStage], Parts], float]:
    def indicator(stages: Sequence[FormerStage], parts: Parts) -> float:
        weights = [weight(stage) for stage in stages]
        total = sum(weights)
        return sum(part * each for part, each in zip(parts, weights, strict=True)) / total if total else 0.0

    return indicator


def _critical_path(stages: Sequence[FormerStage], parts: Parts) -> float:
    whole_s = critical_path_s(stages, [0.0] * len(stages))
    return 1.0 - critical_path_s(stages, parts) / whole_s if whole_s else 0.0


def _earliest_stage(stages: Sequence[FormerStage], parts: Parts) -> float:
    whole_s = max(stage.ends_s for stage in stages)
    reached = (
        stage.begins_s + part * (stage.ends_s - stage.begins_s)
        for stage, part in zip(stages, parts, strict=True)
        if part < 1.0
    )
    return min(reached, default=whole_s) / whole_s if whole_s else 0.0


INDICATORS: Mapping[str, Callable[[Sequence[FormerStage], Parts], float]] = MappingProxyType(
    {
        "work-with-queueing": _weighed(lambda stage: stage.work_s + stage.queued_s),
        "work": _weighed(lambda stage: stage.work_s),
        "tasks": _weighed(lambda stage: float(stage.n_tasks)),
        "critical-path": _critical_path,
        "earliest-stage": _earliest_stage,
    }
)
"""By name: from the stages of a former run and the parts that have ended to progress, 0 to 1."""
