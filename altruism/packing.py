"""Packings of a job into its share: forward from now, and backward from its end.

Source: Grandl, Chowdhury, Akella, Ananthanarayanan, Altruistic Scheduling in Multi-Resource Clusters, OSDI 2016,
section 3.2.2; the packer is the dot product of Grandl et al., Multi-Resource Packing for Cluster Schedulers, 2014.
"""

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import mul
from typing import TypeAlias

import numpy as np

from altruism.amounts import EPSILON, Amounts, how_many_fit
from altruism.graph import Progress, StageGraph
from altruism.profile import RoomProfile
from fairness.arrays import FloatArray, IntArray

__all__ = ["Packer", "Packing", "alignment", "pack_backward", "pack_forward", "reserved"]

Packer: TypeAlias = Callable[[Amounts, Amounts], float]
"""Score of one task's demand in what is free; the highest is launched first."""


@dataclass(frozen=True, slots=True, eq=False)
class Packing:
    """Starts of the waiting tasks of a job; the tasks of a stage that start together are one group.

    Attributes
    ----------
    makespan : float
        Seconds from now until the last task has ended, those that run already included.
    start : float64 array of shape (n_groups,)
        Seconds from now.
    stage, count : int64 arrays of shape (n_groups,)
        Stage and number of tasks of each group.
    """

    makespan: float
    start: FloatArray
    stage: IntArray
    count: IntArray

    @classmethod
    def of(cls, makespan: float, groups: Sequence[tuple[float, int, int]]) -> "Packing":
        """Build from (start, stage, count) of each group; sorted, and alike groups joined."""
        joined: dict[tuple[float, int], int] = {}
        for start, stage, count in sorted(groups):
            joined[start, stage] = joined.get((start, stage), 0) + count
        return cls(
            makespan,
            np.array([start for start, _ in joined], dtype=np.float64),
            np.array([stage for _, stage in joined], dtype=np.int64),
            np.array(list(joined.values()), dtype=np.int64),
        )

    def groups(self) -> list[tuple[float, int, int]]:
        """(start, stage, count) of each group, by start."""
        return list(zip(self.start.tolist(), self.stage.tolist(), self.count.tolist(), strict=True))

    def starting_by(self, at_s: float, n_stages: int) -> IntArray:
        """Tasks of each stage that start at `at_s` seconds from now or before, of shape (n_stages,)."""
        due = self.start <= at_s + EPSILON
        return np.bincount(self.stage[due], weights=self.count[due], minlength=n_stages).astype(np.int64)


def alignment(demand: Amounts, free: Amounts) -> float:
    """Tetris' alignment score: the dot product of demand and what is free."""
    return float(sum(map(mul, demand, free)))


def pack_forward(
    graph: StageGraph,
    progress: Progress,
    share: FloatArray,
    *,
    score: Packer = alignment,
    rank: Sequence[float] | None = None,
) -> Packing | None:
    """Pack what waits of a job into its share from now on, as early as it goes, the best score first.

    Parameters
    ----------
    graph, progress
        The job. What runs holds its demand until its expected end, even beyond the share.
    share : float64 array of shape (n_resources,)
        What the job may use at each moment.
    score : Packer
        Who goes first among the runnable stages; equal scores go by stage.
    rank : sequence of float, optional
        A number for each stage that comes before the score, the smaller first: see `stage_ranks`.

    Returns
    -------
    Packing or None
        None if a waiting task is larger than the share.
    """
    if (graph.demand[progress.waiting > 0] > share + EPSILON).any():
        return None
    demand, durations = graph.demand.tolist(), graph.duration.tolist()
    free = (share - progress.held(graph)).tolist()
    waiting, unfinished = progress.waiting.tolist(), progress.unfinished().tolist()
    ends = [
        (rest, stage, count)
        for rest, stage, count in zip(
            progress.run_rest.tolist(), progress.run_stage.tolist(), progress.run_count.tolist(), strict=True
        )
        if count
    ]
    heapq.heapify(ends)
    parents, groups, now_s = graph.parents(), list[tuple[float, int, int]](), 0.0
    while True:
        runnable = [
            stage
            for stage in range(graph.n_stages)
            if waiting[stage] and not any(unfinished[parent] for parent in parents[stage])
        ]
        for stage, count in _launches(demand, runnable, waiting, free, score, rank):
            groups.append((now_s, stage, count))
            heapq.heappush(ends, (now_s + durations[stage], stage, count))
        if not ends:
            return Packing.of(now_s, groups)
        now_s = ends[0][0]
        while ends and ends[0][0] <= now_s + EPSILON:
            _, stage, count = heapq.heappop(ends)
            unfinished[stage] -= count
            _take(free, demand[stage], -count)


def _launches(
    demand: Sequence[Amounts],
    runnable: list[int],
    waiting: list[int],
    free: list[float],
    score: Packer,
    rank: Sequence[float] | None,
) -> list[tuple[int, int]]:
    """Launch what fits of the runnable stages, (stage, count) each; `waiting` and `free` are brought up to date."""
    launched: list[tuple[int, int]] = []
    left = list(runnable)
    ranks = rank or [0.0] * len(demand)
    while True:
        fitting = [(stage, fit) for stage in left if (fit := how_many_fit(demand[stage], free))]
        if not fitting:
            return launched
        stage, fit = max(fitting, key=lambda each: (-ranks[each[0]], score(demand[each[0]], free), -each[0]))
        count = min(waiting[stage], fit)
        waiting[stage] -= count
        _take(free, demand[stage], count)
        launched.append((stage, count))
        left.remove(stage)


def _take(free: list[float], demand: Amounts, count: int) -> None:
    for resource, amount in enumerate(demand):
        free[resource] -= count * amount


def pack_backward(
    graph: StageGraph,
    progress: Progress,
    share: FloatArray,
    makespan: float,
    *,
    score: Packer = alignment,
    rank: Sequence[float] | None = None,
) -> Packing | None:
    """Pack what waits of a job from its end backwards, so that each task starts late.

    The graph of what waits is turned around and packed forward; a task's start is ``makespan - start there -
    duration``.

    Parameters
    ----------
    graph, progress, share, score, rank
        As of `pack_forward`; what goes first there goes last here.
    makespan : float
        Seconds from now until the job has to have ended.

    Returns
    -------
    Packing or None
        None if the reversed packing is longer than `makespan` (packing is a heuristic: in some 6 % of random graphs it
        is longer than the forward one), or collides with what runs.

    Source: Carbyne, section 3.2.2, step (b) and (c).
    """
    turned = None if rank is None else [-each for each in rank]
    reverse = pack_forward(graph.reversed(), Progress.of(progress.waiting), share, score=score, rank=turned)
    if reverse is None or reverse.makespan > makespan + EPSILON:
        return None
    duration = graph.duration.tolist()
    groups = [(max(0.0, makespan - at - duration[stage]), stage, count) for at, stage, count in reverse.groups()]
    packing = Packing.of(makespan, groups)
    return None if _collides(graph, progress, share, packing) else packing


def _collides(graph: StageGraph, progress: Progress, share: FloatArray, packing: Packing) -> bool:
    """True if a packing starts a child before a running parent ends, or needs room that running tasks still hold."""
    counts, rests = progress.run_count, progress.run_rest
    for start, stage, _ in packing.groups():
        of_parents = graph.needs[stage, progress.run_stage] & (counts > 0)
        if of_parents.any() and rests[of_parents].max() > start + EPSILON:
            return True
    _, free = RoomProfile.of(share, *reserved(graph, progress, packing)).steps()
    return bool((free < -EPSILON).any())


def reserved(
    graph: StageGraph, progress: Progress, packing: Packing, *, until_s: float = math.inf
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Present and planned use of a job, as reservations for `RoomProfile.of`.

    Parameters
    ----------
    graph, progress, packing
        The job and its plan; starts before now count as now.
    until_s : float
        Seconds from now; what starts later is left out.

    Returns
    -------
    start, end : float64 arrays of shape (n_reservations,)
    amount : float64 array of shape (n_reservations, n_resources)
    """
    counts = packing.start <= until_s + EPSILON
    start, stage = np.maximum(packing.start[counts], 0.0), packing.stage[counts]
    return (
        np.concatenate([np.zeros(progress.run_rest.size), start]),
        np.concatenate([progress.run_rest, start + graph.duration[stage]]),
        np.concatenate(
            [
                progress.run_count[:, None] * graph.demand[progress.run_stage],
                packing.count[counts, None] * graph.demand[stage],
            ]
        ),
    )
