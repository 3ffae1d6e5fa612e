import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.messages import NodeState
from shim.domain.resources import Need
from shim.scheduling.global_master.view import GlobalView
from shim.scheduling.placements import CellSearch, CycleState, pick_bit
from shim.simulation.engine import seeded

SLOT = Need((1,))
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


def search_in(view, seed=1):
    return CellSearch(view, CycleState(seeded(seed, "test")))


@pytest.fixture
def cluster():
    view = GlobalView("ga", 1)
    nodes = [NodeState(0, (2,), GPU), NodeState(1, (1,), frozenset()), NodeState(2, (0,), frozenset())]
    view.replace_cluster("la", nodes, ("ga",) * 3, 1)
    return view


@pytest.fixture
def clusters():
    view = GlobalView("ga", 1)
    for name in ("la", "lb", "lc"):
        nodes = [NodeState(node, (1,), frozenset({f"host:{name}{node}"})) for node in range(2)]
        view.replace_cluster(name, nodes, ("ga", "gb"), 1)
    return view


def found_in(view, search, count=99, need=SLOT):
    return [(*view.place_of(grant.place), grant.is_borrowed) for grant in search.fill(7, need, count)]


@pytest.mark.parametrize(
    ("need", "nodes"),
    [
        (Need((1,)), {0, 1}),
        (Need((2,)), {0}),
        (Need((1,), GPU), {0}),
        (Need((3,)), {None}),
        (Need((1,), frozenset({"host:x"})), {None}),
    ],
)
def test_a_node_that_satisfies_the_need_is_taken(cluster, need, nodes):
    row, _ = search_in(cluster).find(need)
    assert (None if row < 0 else cluster.place_of(row)[1]) in nodes


def test_random_starts_spread_over_all_nodes_that_match(cluster):
    search = search_in(cluster)
    assert {cluster.place_of(search.find(SLOT)[0])[1] for _ in range(50)} == {0, 1}


def test_internal_cells_come_first_then_external_ones_are_borrowed(clusters):
    found = found_in(clusters, search_in(clusters))
    assert sorted(found[:3]) == [("la", 0, False), ("lb", 0, False), ("lc", 0, False)]
    assert sorted(found[3:]) == [("la", 1, True), ("lb", 1, True), ("lc", 1, True)]


def test_random_starts_differ_between_global_masters(clusters):
    assert len({search_in(clusters, seed=seed).find(SLOT)[0] for seed in range(20)}) == 3


def test_every_cell_is_searched_for_a_picky_task(clusters):
    search = search_in(clusters)
    for name in ("la", "lb", "lc"):
        for node in range(2):
            row, is_borrowed = search.find(Need((1,), frozenset({f"host:{name}{node}"})))
            assert clusters.place_of(row) == (name, node)
            assert is_borrowed is (node == 1)
    assert search.find(Need((1,), frozenset({"host:x"})))[0] < 0


def test_what_a_cycle_takes_is_gone_for_every_demand_and_the_view_stays(cluster):
    search = search_in(cluster)
    search.take(cluster.row_of("la", 0), (1,))
    assert search.find(Need((2,)))[0] < 0
    assert len(search.fill(7, SLOT, 9)) == 2
    assert cluster.free.sum() == 3
    assert cluster.has_room_for((2,))


def test_what_is_undone_is_free_again(cluster):
    search = search_in(cluster)
    search.fill(7, Need((2,)), 1)
    mark = search.mark()
    assert len(search.fill(7, SLOT, 9)) == 1
    search.undo(mark)
    assert len(search.fill(7, SLOT, 9)) == 1
    assert search.find(Need((2,)))[0] < 0
