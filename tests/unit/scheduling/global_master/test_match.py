import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.messages import Need, NodeState
from shim.scheduling.global_master.match import NodeChoice, match_in_partition, pick_bit
from shim.scheduling.global_master.view import GlobalView
from shim.simulation.engine import seeded

GPU = frozenset({"label:gpu"})


@pytest.mark.parametrize(("bits", "start", "picked"), [(0b1010, 0, 1), (0b1010, 2, 3), (0b1010, 4, 1), (0b1, 9, 0)])
def test_the_next_set_bit_is_picked_round_the_end(bits, start, picked):
    assert pick_bit(bits, start) == picked


@given(st.integers(1, 2**70), st.integers(0, 80))
def test_the_picked_bit_is_set_and_no_set_bit_lies_between(bits, start):
    picked = pick_bit(bits, start)
    assert bits >> picked & 1
    if picked >= start:
        assert not bits >> start & ((1 << (picked - start)) - 1)
    else:
        assert not bits >> start


@pytest.fixture
def view():
    view = GlobalView("ga", 1)
    nodes = [NodeState(0, (2,), GPU), NodeState(1, (1,), frozenset()), NodeState(2, (0,), frozenset())]
    view.replace_cluster("la", nodes, ("ga",) * 3, 1)
    return view


@pytest.mark.parametrize(
    ("need", "node"),
    [
        (Need((1,)), 1),
        (Need((2,)), 0),
        (Need((1,), GPU), 0),
        (Need((3,)), None),
        (Need((1,), frozenset({"host:x"})), None),
    ],
)
def test_the_least_special_node_that_satisfies_the_need_is_taken(view, need, node):
    row = match_in_partition(view, need, view.shape_of(need.demand), 0, seeded(1, "test"), NodeChoice.LEAST_SPECIAL)
    assert (None if row < 0 else view.place_of(row)[1]) == node


def test_random_starts_spread_over_all_nodes_that_match(view):
    rng = seeded(1, "test")
    shape = view.shape_of((1,))
    rows = {match_in_partition(view, Need((1,)), shape, 0, rng, NodeChoice.RANDOM_START) for _ in range(50)}
    assert {view.place_of(row)[1] for row in rows} == {0, 1}
