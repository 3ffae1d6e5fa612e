import numpy as np
from hypothesis import given

from altruism import Progress, StageGraph, pack_forward, stage_ranks
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
