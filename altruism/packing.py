"""Packings of a job into its share: forward from now, and backward from its end.

Source: Grandl, Chowdhury, Akella, Ananthanarayanan, Altruistic Scheduling in Multi-Resource Clusters, OSDI 2016,
section 3.2.2; the packer is the dot product of Grandl et al., Multi-Resource Packing for Cluster Schedulers, 2014.

An order of a job's stages by how hard they are to pack, for use in `pack_forward`.

After Grandl et al., Graphene: Packing and Dependency-Aware Scheduling for Data-Parallel Clusters (OSDI 2016), as far as
its idea is known to work on stages of alike tasks: troublesome stages first, with what they need before them. Different
from there: whole stages instead of tasks, and list packing instead of placing into an empty space.
"""

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import mul
from typing import TypeAlias

import numpy as np

from altruism.graph import Progress, StageGraph
from altruism.profile import EPSILON, Amounts, RoomProfile, how_many_fit
from fairness.arrays import BoolArray, FloatArray, IntArray

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


_STEPS = tuple(step / 10 for step in range(11))


def stage_ranks(graph: StageGraph, share: FloatArray) -> list[float] | None:
    """Find the order of stages whose packing into a share is shortest.

    Tried are: the packer's own choice, the longest path first, and for each set of troublesome stages those with what
    they need first, then what is unordered with them, then what needs them; in each the longest path first.

    Parameters
    ----------
    graph : StageGraph
        The job.
    share : float64 array of shape (n_resources,)
        What it may use at each moment.

    Returns
    -------
    list of float, one for each stage, or None
        The smaller first; None where the packer's own choice is as good as any.
    """
    start = Progress.at_start(graph)
    own = pack_forward(graph, start, share)
    if own is None:
        return None
    longest, reach = _longest_paths(graph), _reaches(graph)
    by_path = [-each for each in longest]
    best, ranks = own.makespan, None
    for candidate in [by_path, *(_ranked(reach, chosen, longest) for chosen in _troublesome(graph, share, reach))]:
        found = pack_forward(graph, start, share, rank=candidate)
        if found is not None and found.makespan < best:
            best, ranks = found.makespan, candidate
    return ranks


def _longest_paths(graph: StageGraph) -> list[float]:
    """Seconds from the start of each stage to the end of the job along its longest path."""
    path, children = graph.duration.tolist(), graph.children()
    for stage in reversed(graph.order):
        path[stage] += max((path[child] for child in children[stage]), default=0.0)
    return list(path)


def _reaches(graph: StageGraph) -> BoolArray:
    """``reach[descendant, ancestor]``, each stage its own."""
    reach: BoolArray = np.eye(graph.n_stages, dtype=np.bool_)
    for stage in graph.order:
        reach[stage] |= reach[graph.needs[stage]].any(axis=0)
    return reach


def _troublesome(graph: StageGraph, share: FloatArray, reach: BoolArray) -> list[BoolArray]:
    """Sets of stages that are long, or hard to pack, by each threshold; with all that is between two of them."""
    long = graph.duration / max(float(graph.duration.max(initial=0.0)), 1e-12)
    wide = np.maximum(np.floor((share / np.maximum(graph.demand, 1e-12)).min(axis=1)), 1.0)
    work = graph.tasks * graph.duration * (graph.demand / np.maximum(share, 1e-12)).max(axis=1)
    easy = work / np.maximum(np.ceil(graph.tasks / wide) * graph.duration, 1e-12)
    found: dict[bytes, BoolArray] = {}
    for least in _STEPS:
        for most in _STEPS:
            chosen = (long >= least) | (easy <= most)
            closed = np.asarray(reach[:, chosen].any(axis=1) & reach[chosen].any(axis=0), dtype=np.bool_)
            found.setdefault(closed.tobytes(), closed)
    return list(found.values())


def _ranked(reach: BoolArray, chosen: BoolArray, longest: list[float]) -> list[float]:
    before = np.asarray(reach[chosen].any(axis=0), dtype=np.bool_)
    after = np.asarray(reach[:, chosen].any(axis=1), dtype=np.bool_) & ~chosen
    scale = 2 * max([*longest, 1.0])
    return [
        (0.0 if before[stage] else 2.0 if after[stage] else 1.0) * scale - path for stage, path in enumerate(longest)
    ]
