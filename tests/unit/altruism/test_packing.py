from itertools import product
from operator import mul

import numpy as np
import pytest
from hypothesis import given

from altruism import Progress, StageGraph, pack_forward, stage_ranks
from altruism.packing import _launches, alignment
from tests.unit.altruism.strategies import stage_graphs

SHARE = np.array([0.5, 0.5])


@given(stage_graphs(n_resources=2, largest=0.5))
def test_an_order_is_given_only_where_it_packs_shorter_than_the_packers_own(graph):
    start = Progress.at_start(graph)
    ranks = stage_ranks(graph, SHARE)
    if ranks is not None:
        assert pack_forward(graph, start, SHARE, rank=ranks).makespan < pack_forward(graph, start, SHARE).makespan


def test_a_long_chain_goes_before_wide_branches_that_pack_better():
    """The packer takes the branch first; then the chain of 3 s begins late."""
    needs = np.zeros((4, 4), dtype=bool)
    needs[2, 1] = needs[3, 2] = True
    graph = StageGraph.of(needs, [3, 1, 1, 1], [[1.0], [0.9], [0.9], [0.9]], [1.0, 2.0, 2.0, 2.0])
    two = np.array([1.0])
    assert pack_forward(graph, Progress.at_start(graph), two).makespan == 9
    assert stage_ranks(graph, two) is None  # nothing fits beside anything: every order takes as long

    beside = StageGraph.of(needs, [3, 1, 1, 1], [[0.5], [0.4], [0.4], [0.4]], [1.0, 2.0, 2.0, 2.0])
    assert pack_forward(beside, Progress.at_start(beside), two).makespan == 7
    ranks = stage_ranks(beside, two)
    assert pack_forward(beside, Progress.at_start(beside), two, rank=ranks).makespan == 6


def test_a_job_that_fits_nowhere_has_no_order():
    graph = StageGraph.of([[False]], [1], [[0.6, 0.1]], [1.0])
    assert stage_ranks(graph, SHARE) is None


def slow_launches(demand, runnable, waiting, free, rank):
    """The slow twin of `_launches`: one task a turn, in whole 64ths; a stage is launched as a whole before the next."""
    launched, left, current = {}, list(runnable), None
    while True:
        fitting = [stage for stage in left if waiting[stage] and fits_beside(demand[stage], free)]
        if current not in fitting:
            if current is not None:
                left.remove(current)
            if not fitting:
                return list(launched.items())
            scores = {stage: sum(map(mul, demand[stage], free)) for stage in fitting}
            current = min(fitting, key=lambda stage: (rank[stage], -scores[stage], stage))
        waiting[current] -= 1
        free = [each - taken for each, taken in zip(free, demand[current], strict=True)]
        launched[current] = launched.get(current, 0) + 1


def fits_beside(demand, free):
    return all(not need or need <= left for need, left in zip(demand, free, strict=True))


AMOUNTS = [(0, 0), (16, 0), (0, 32), (16, 16), (32, 8), (8, 32), (64, 64), (24, 40)]


@pytest.mark.parametrize("rank", [None, [0.0, 0.0, 0.0], [2.0, 1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 3.0, 3.0]])
@pytest.mark.parametrize("free", [(64, 64), (32, 48), (8, 8), (0, 64), (-8, 64)])
def test_what_is_launched_is_what_the_slow_twin_launches(rank, free):
    for demand in product(AMOUNTS[1:], repeat=3):
        for runnable in ([0, 1, 2], [2, 0], [1], []):
            waiting, slowly, left = [1, 2, 5], [1, 2, 5], [each / 64 for each in free]
            shares = [[each / 64 for each in row] for row in demand]
            found = _launches(shares, runnable, waiting, left, alignment, rank)
            slow = slow_launches(demand, runnable, slowly, list(free), rank or [0.0] * 3)
            assert (found, waiting) == (slow, slowly), (demand, runnable)
            taken = [sum(demand[stage][at] * count for stage, count in slow) for at in range(2)]
            assert [64 * each for each in left] == [each - took for each, took in zip(free, taken, strict=True)]


def test_tasks_that_need_nothing_are_launched_all_at_once():
    waiting, free = [3, 4], [0.0, 0.5]
    assert _launches([[0.0, 0.0], [0.0, 0.25]], [0, 1], waiting, free, alignment, None) == [(1, 2), (0, 3)]
    assert (waiting, free) == ([0, 2], [0.0, 0.0])


def test_what_has_ended_may_have_been_larger_than_the_share():
    graph = StageGraph.of([[False, False], [True, False]], [2, 1], [[0.9], [0.4]], [1.0, 2.0])
    half = np.array([0.5])
    assert pack_forward(graph, Progress.of([1, 1]), half) is None
    packing = pack_forward(graph, Progress.of([0, 1]), half)
    assert (packing.makespan, packing.groups()) == (2.0, [(0.0, 1, 1)])
    running = pack_forward(graph, Progress.of([0, 1], [0], [2], [3.0]), half)
    assert (running.makespan, running.groups()) == (5.0, [(3.0, 1, 1)])
