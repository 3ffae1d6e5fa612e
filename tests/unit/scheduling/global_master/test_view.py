import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shim.domain.messages import NodeState
from shim.domain.resources import Need
from shim.errors import InvariantViolationError
from shim.scheduling.global_master.view import GlobalView
from shim.scheduling.node_index import pack_bits
from tests.support.examples import examples

GPU = frozenset({"label:gpu"})
BIG = frozenset({"label:gpu", "rack:r1"})


@pytest.fixture
def view():
    view = GlobalView("ga", 2)
    nodes = [NodeState(0, (4, 4), GPU), NodeState(1, (4, 4), frozenset()), NodeState(2, (8, 1), BIG)]
    view.replace_cluster("la", nodes, ("ga", "ga", "gb"), 1)
    view.replace_cluster("lb", [NodeState(0, (2, 2), frozenset())], ("ga",), 1)
    return view


def test_bits_are_the_flags_in_order():
    assert pack_bits(np.array([True, False, True])) == 0b101
    assert pack_bits(np.zeros(0, dtype=np.bool_)) == 0


def test_rows_of_a_partition_stand_together_with_the_least_special_node_first(view):
    assert [view.place_of(row) for row in range(4)] == [("la", 1), ("la", 0), ("la", 2), ("lb", 0)]
    assert view.row_of("la", 0) == 1
    assert view.row_of("la", 9) == -1
    assert view.row_of("lx", 0) == -1
    assert view.internal_mask == 0b101
    assert view.local_masters() == ("la", "lb")


def test_a_shape_knows_where_it_fits_and_follows_every_change(view):
    shape = view.shape_of((4, 2))
    assert [partition.fits[shape] for partition in view.cells] == [0b11, 0, 0]
    view.take(0, (1, 0))
    assert view.cells[0].fits[shape] == 0b10
    view.apply_node(2, NodeState(2, (8, 2)), 2)
    assert view.open_masks[shape] == 0b011
    assert view.versions[2] == 2
    view.check()


def test_reported_amounts_are_less_what_is_on_its_way(view):
    view.take(0, (3, 3))
    view.apply_node(0, NodeState(1, (4, 4)), 2)
    assert view.free_of(0) == (1, 1)
    view.settle(0, (3, 3))
    view.apply_node(0, NodeState(1, (1, 1)), 3)
    assert view.free_of(0) == (1, 1)
    view.take(0, (1, 1))
    view.give_back(0, (1, 1))
    assert view.free_of(0) == (1, 1)
    view.check()


@pytest.mark.parametrize(
    ("need", "bits"),
    [
        (Need((1, 1)), [0b11, 0b1, 0b1]),
        (Need((1, 1), GPU), [0b10, 0b1, 0]),
        (Need((1, 1), BIG), [0, 0b1, 0]),
        (Need((1, 1), frozenset({"host:nowhere"})), [0, 0, 0]),
        (Need((1, 1), frozenset(), GPU), [0b01, 0, 0b1]),
    ],
)
def test_eligible_nodes_have_what_is_required_and_lack_what_is_avoided(view, need, bits):
    assert [view.eligible(need, index) for index in range(3)] == bits


def test_properties_may_change(view):
    need = Need((1, 1), frozenset({"tag:hbase"}))
    assert view.eligible(need, 0) == 0
    view.apply_node(0, NodeState(1, (4, 4), frozenset({"tag:hbase"})), 2)
    assert view.eligible(need, 0) == 0b01
    assert view.properties_of(0) == {"tag:hbase"}
    view.apply_node(0, NodeState(1, (4, 4), frozenset()), 3)
    assert view.eligible(need, 0) == 0


def test_new_owners_lay_the_rows_anew_and_keep_what_is_on_its_way(view):
    view.take(view.row_of("la", 1), (3, 3))
    nodes = [NodeState(0, (4, 4), GPU), NodeState(1, (4, 4), frozenset()), NodeState(2, (8, 1), BIG)]
    view.replace_cluster("la", nodes, ("gb", "gb", "ga"), 5)
    assert view.free_of(view.row_of("la", 1)) == (1, 1)
    assert view.free_of(view.row_of("lb", 0)) == (2, 2)
    assert view.cells[view.cell_of(view.row_of("la", 2))].owner == "ga"
    view.check()
    assert len(view) == 4


def test_a_full_report_with_the_same_frame_writes_amounts_only(view):
    partitions = view.cells
    nodes = [NodeState(0, (0, 0), GPU), NodeState(1, (1, 1), frozenset()), NodeState(2, (8, 1), BIG)]
    view.replace_cluster("la", nodes, ("ga", "ga", "gb"), 2)
    assert view.cells is partitions
    assert view.free_of(view.row_of("la", 0)) == (0, 0)


def test_more_shapes_than_are_kept_are_computed_again(view):
    for amount in range(100):
        view.shape_of((amount, 1))
    assert view.has_room_for((8, 1))
    assert not view.has_room_for((9, 1))
    view.check()


def test_a_launch_that_is_settled_twice_is_noticed(view):
    view.settle(0, (1, 1))
    with pytest.raises(InvariantViolationError, match="settled twice"):
        view.check()


@settings(deadline=None, max_examples=examples(60))
@given(
    changes=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(0, 9)), max_size=20),
    shapes=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=5),
)
def test_bits_always_agree_with_the_arrays(changes, shapes):
    view = GlobalView("ga", 2)
    states = [NodeState(node, (5, 5), frozenset()) for node in range(4)]
    view.replace_cluster("la", states, ("ga", "ga", "gb", "gb"), 1)
    for position, (row, memory, cores) in enumerate(changes):
        view.shape_of(shapes[position % len(shapes)])
        view.apply_node(row, NodeState(row, (memory, cores)), position)
    view.check()
    for demand in shapes:
        assert view.has_room_for(demand) == bool((view.free >= demand).all(axis=1).any())
