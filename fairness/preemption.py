"""Choice of victims when somebody entitled waits: few, cheap, and only from those who borrowed."""

from dataclasses import dataclass

import numpy as np

from fairness.arrays import BoolArray, FloatArray, IntArray, expect_shape, ratio
from fairness.shares import dominant_share

_ROUNDING = 1e-9
_TRIES = 8


@dataclass(frozen=True, slots=True)
class PreemptionProblem:
    """Running containers, and what their queues should hold.

    Attributes
    ----------
    size : float64 array of shape (n_containers, n_resources)
    queue : int64 array of shape (n_containers,)
        Row of the queue that holds each container.
    cluster : int64 array of shape (n_containers,)
    lost_work : float64 array of shape (n_containers,)
        What is lost if it ends now, in any unit (container-seconds).
    may_preempt : bool array of shape (n_containers,)
        False for ApplicationMasters, and for queues with `disable_preemption`.
    used, entitlement : float64 arrays of shape (n_queues, n_resources)
    capacity : float64 array of shape (n_resources,)

    Raises
    ------
    ShapeMismatchError
        If axes differ.
    """

    size: FloatArray
    queue: IntArray
    cluster: IntArray
    lost_work: FloatArray
    may_preempt: BoolArray
    used: FloatArray
    entitlement: FloatArray
    capacity: FloatArray

    def __post_init__(self) -> None:
        n_containers = self.queue.shape[0]
        n_resources = self.capacity.shape[0]
        expect_shape("size", self.size, (n_containers, n_resources))
        for name, array in (
            ("cluster", self.cluster),
            ("lost_work", self.lost_work),
            ("may_preempt", self.may_preempt),
        ):
            expect_shape(name, array, (n_containers,))
        expect_shape("used", self.used, (self.used.shape[0], n_resources))
        expect_shape("entitlement", self.entitlement, self.used.shape)


def choose_victims(problem: PreemptionProblem, needed: FloatArray) -> IntArray:
    """Containers whose end makes room for `needed`.

    One cluster is enough if any one can be: the one with the fewest victims, then the least lost work, then the lower
    index. Otherwise victims come from all clusters. No queue falls below the dominant share it is entitled to, and no
    victim is superfluous: without any one of them the need would not be met.

    Parameters
    ----------
    problem : PreemptionProblem
    needed : float64 array of shape (n_resources,)

    Returns
    -------
    int64 array of shape (n_victims,)
        Sorted rows. Empty if nothing is needed, or if no choice is found that meets the need: a partial sacrifice helps
        nobody. The search is greedy, so where containers differ in size it may take more than the fewest, or miss one.

    Raises
    ------
    ShapeMismatchError
        If axes differ.

    Source: Megha, algorithm 2 (only from queues above their share); cf. YARN's FifoCandidatesSelector.
    """
    expect_shape("needed", needed, problem.capacity.shape)
    nobody = np.empty(0, dtype=np.int64)
    may = problem.may_preempt
    plans = [
        _victims_among(problem, np.flatnonzero(may & (problem.cluster == cluster)), needed)
        for cluster in np.unique(problem.cluster[may])
    ]
    met = [plan for plan in plans if plan is not None]
    if met:
        return min(met, key=lambda plan: (plan.size, float(problem.lost_work[plan].sum())))
    everywhere = _victims_among(problem, np.flatnonzero(may), needed)
    return nobody if everywhere is None else everywhere


def _victims_among(problem: PreemptionProblem, candidates: IntArray, needed: FloatArray) -> IntArray | None:
    """Greedy choice, then every victim that turns out superfluous is spared, the dearest first.

    A large victim may leave its queue with too little to give for the rest, where smaller ones would have been enough:
    so a choice that did not come to an end is made again without its first victim.
    """
    left = candidates
    for _ in range(_TRIES):
        if (problem.size[left].sum(axis=0) < needed * (1 - _ROUNDING)).any():
            return None
        chosen, missing = _taken_greedily(problem, left, needed)
        if not (missing > needed * _ROUNDING).any():
            return _without_superfluous(problem, np.array(chosen, dtype=np.int64), needed)
        if not chosen:
            return None
        left = left[left != chosen[0]]
    return None


def _taken_greedily(
    problem: PreemptionProblem, candidates: IntArray, needed: FloatArray
) -> tuple[list[int], FloatArray]:
    """Candidates that give most of what is missing, the cheapest among equals, and what they give in all."""
    used, missing = problem.used.copy(), needed.astype(np.float64, copy=True)
    floor = dominant_share(problem.entitlement, problem.capacity)
    chosen: list[int] = []
    left = candidates
    while (missing > needed * _ROUNDING).any():
        left = left[_stays_entitled(problem, used, floor, left)]
        useful = ratio(np.minimum(problem.size[left], missing), needed[None, :]).sum(axis=1)
        if not (useful > 0).any():
            break
        best = np.lexsort((left, problem.lost_work[left], -useful))[0]
        victim = int(left[best])
        chosen.append(victim)
        used[problem.queue[victim]] -= problem.size[victim]
        missing = np.maximum(missing - problem.size[victim], 0.0)
        left = np.delete(left, best)
    return chosen, missing


def _stays_entitled(problem: PreemptionProblem, used: FloatArray, floor: FloatArray, candidates: IntArray) -> BoolArray:
    """True for each candidate whose queue would still hold its entitlement without it."""
    queues = problem.queue[candidates]
    after = np.maximum(used[queues] - problem.size[candidates], 0.0)
    return dominant_share(after, problem.capacity) >= floor[queues] - _ROUNDING


def _without_superfluous(problem: PreemptionProblem, chosen: IntArray, needed: FloatArray) -> IntArray:
    """Spare whom the rest can replace."""
    freed = problem.size[chosen].sum(axis=0)
    kept = np.ones(chosen.size, dtype=np.bool_)
    for position in np.argsort(-problem.lost_work[chosen], kind="stable"):
        without = freed - problem.size[chosen[position]]
        if (without >= needed * (1 - _ROUNDING)).all():
            kept[position] = False
            freed = without
    return np.sort(chosen[kept])
