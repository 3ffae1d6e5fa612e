"""Policies without a plan: whoever is next by an order gets what fits, until nothing more does."""

import heapq
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from altruism import stage_ranks
from fairness import FloatArray
from scripts.papers.dag_pool.pool import LiveJob

_ROUNDING = 1e-9
_Launches = list[tuple[LiveJob, int, int]]


class GreedyPolicy:
    """Launches by an order of `GREEDY_ORDERS`; it knows the work that is left, and nothing of the graph's future.

    Args:
        order: A key of `GREEDY_ORDERS`.
    """

    def __init__(self, order: str) -> None:
        self._decide = GREEDY_ORDERS[order]()

    def launches(self, jobs: Sequence[LiveJob], free: FloatArray, now_s: float) -> _Launches:
        """See `PoolPolicy`."""
        return self._decide(jobs, free.copy(), now_s)

    def next_look_s(self, now_s: float) -> float:  # noqa: ARG002 - the form of the port
        """See `PoolPolicy`."""
        return float("inf")


def _fits(demand: FloatArray, free: FloatArray) -> int:
    needed = demand > 0
    return max(0, int(((free + _ROUNDING)[needed] // demand[needed]).min()))


def _work(job: LiveJob, now_s: float) -> float:
    return job.progress(now_s).remaining_work(job.graph)


def _fair(jobs: Sequence[LiveJob], free: FloatArray, _: float) -> _Launches:
    """Progressive filling: a task of the job with the smallest dominant share; stages breadth first."""
    found: _Launches = []
    heap = [(float(job.held.max()), job.number) for job in jobs]
    heapq.heapify(heap)
    by_number = {job.number: job for job in jobs}
    held = {job.number: job.held.copy() for job in jobs}
    left = {job.number: [[stage, int(job.waiting[stage])] for stage in job.runnable()] for job in jobs}
    while heap:
        _, number = heapq.heappop(heap)
        job = by_number[number]
        row = next((row for row in left[number] if row[1] and _fits(job.graph.demand[row[0]], free)), None)
        if row is None:
            continue
        row[1] -= 1
        demand = job.graph.demand[row[0]]
        free -= demand
        held[number] += demand
        found.append((job, row[0], 1))
        heapq.heappush(heap, (float(held[number].max()), number))
    return found


def _shortest(jobs: Sequence[LiveJob], free: FloatArray, now_s: float) -> _Launches:
    """All to the job with the least work left; of its stages the one with the longest path behind it."""
    found: _Launches = []
    for job in sorted(jobs, key=lambda job: (_work(job, now_s), job.number)):
        if not (free > _ROUNDING).all():
            break
        path = _paths(job)
        for stage in sorted(job.runnable(), key=lambda stage: -path[stage]):
            count = min(int(job.waiting[stage]), _fits(job.graph.demand[stage], free))
            if count:
                free -= count * job.graph.demand[stage]
                found.append((job, stage, count))
    return found


def _paths(job: LiveJob) -> FloatArray:
    path, needs = job.graph.duration.copy(), job.graph.needs
    for stage in reversed(job.graph.order):
        path[stage] += (path * needs[:, stage]).max(initial=0.0)
    return path


def _packed(jobs: Sequence[LiveJob], free: FloatArray, now_s: float) -> _Launches:
    """Tetris without its fairness knob: alignment less the remaining work, both by their means."""
    return _by_score(jobs, free, now_s, lambda _job, _stage: 1.0, 1.0)


class _Graphene:
    """Graphene online: alignment by the place in the job's own order, less a little of the remaining work."""

    def __init__(self) -> None:
        self._ranks: dict[int, list[float]] = {}

    def __call__(self, jobs: Sequence[LiveJob], free: FloatArray, now_s: float) -> _Launches:
        for job in jobs:
            if job.number not in self._ranks:
                self._ranks[job.number] = _places(job, free.size)
        return _by_score(jobs, free, now_s, lambda job, stage: self._ranks[job.number][stage], 0.2)


def _places(job: LiveJob, n_resources: int) -> list[float]:
    """1 for the stage that goes first, down to 1 / n."""
    ranks = stage_ranks(job.graph, np.ones(n_resources)) or [-path for path in _paths(job).tolist()]
    order = sorted(range(len(ranks)), key=lambda stage: ranks[stage])
    return [1.0 - order.index(stage) / len(order) for stage in range(len(order))]


def _by_score(
    jobs: Sequence[LiveJob],
    free: FloatArray,
    now_s: float,
    place: Callable[[LiveJob, int], float],
    weight_of_work: float,
) -> _Launches:
    """Launch what scores best, a stage at a time: place x alignment less weighted remaining work."""
    rows = [(job, stage) for job in jobs for stage in job.runnable()]
    if not rows:
        return []
    demand = np.array([job.graph.demand[stage] for job, stage in rows])
    each_work = {job.number: _work(job, now_s) for job in jobs}
    work = np.array([each_work[job.number] for job, _ in rows])
    places = np.array([place(job, stage) for job, stage in rows])
    found: _Launches = []
    is_left = np.ones(len(rows), dtype=np.bool_)
    while True:
        fitting = is_left & (demand <= free + _ROUNDING).all(axis=1)
        if not fitting.any():
            return found
        alignment = demand @ free
        even = alignment[fitting].mean() / max(work[fitting].mean(), _ROUNDING)
        score = np.where(fitting, places * alignment - weight_of_work * even * work, -np.inf)
        best = int(score.argmax())
        job, stage = rows[best]
        count = min(int(job.waiting[stage]), _fits(demand[best], free))
        free -= count * demand[best]
        is_left[best] = False
        found.append((job, stage, count))


GREEDY_ORDERS: Mapping[str, Callable[[], Callable[[Sequence[LiveJob], FloatArray, float], _Launches]]] = {
    "drf": lambda: _fair,
    "srtf": lambda: _shortest,
    "tetris": lambda: _packed,
    "graphene": _Graphene,
}
"""Orders by name: work-conserving DRF, the bound on completion times, and the two packers."""
