import pytest

from shim.domain.messages import Need, NodeState
from shim.scheduling.global_master.match import NodeChoice
from shim.scheduling.global_master.repartition import PartitionChoice, PartitionSearch
from shim.scheduling.global_master.view import GlobalView
from shim.simulation.engine import seeded

SLOT = Need((1,))


@pytest.fixture
def view():
    view = GlobalView("ga", 1)
    for name in ("la", "lb", "lc"):
        nodes = [NodeState(node, (1,), frozenset({f"host:{name}{node}"})) for node in range(2)]
        view.replace_cluster(name, nodes, ("ga", "gb"), 1)
    return view


def fill(view, search, need=SLOT):
    while (match := search.find_match(view, need)) is not None:
        view.take(match.row, need.demand)
        yield (*view.place_of(match.row), match.is_repartition)


@pytest.mark.parametrize("choice", PartitionChoice)
def test_internal_partitions_come_first_then_external_ones_are_borrowed(view, choice):
    search = PartitionSearch(choice, NodeChoice.RANDOM_START, seeded(1, "test"))
    found = list(fill(view, search))
    assert sorted(found[:3]) == [("la", 0, False), ("lb", 0, False), ("lc", 0, False)]
    assert sorted(found[3:]) == [("la", 1, True), ("lb", 1, True), ("lc", 1, True)]


def test_round_robin_goes_from_cluster_to_cluster(view):
    search = PartitionSearch(PartitionChoice.ROUND_ROBIN, NodeChoice.LEAST_SPECIAL, seeded(1, "test"))
    found = [name for name, _, _ in fill(view, search)]
    assert (found[:3], sorted(found[3:])) == (["la", "lb", "lc"], ["la", "lb", "lc"])


def test_random_starts_differ_between_global_masters(view):
    def first(seed):
        search = PartitionSearch(PartitionChoice.RANDOM, NodeChoice.RANDOM_START, seeded(seed, "test"))
        return search.find_match(view, SLOT).row

    assert len({first(seed) for seed in range(20)}) == 3


def test_every_partition_is_searched_for_a_picky_task(view):
    search = PartitionSearch(PartitionChoice.RANDOM, NodeChoice.RANDOM_START, seeded(1, "test"))
    for name in ("la", "lb", "lc"):
        for node in range(2):
            match = search.find_match(view, Need((1,), frozenset({f"host:{name}{node}"})))
            assert view.place_of(match.row) == (name, node)
            assert match.is_repartition is (node == 1)
    assert search.find_match(view, Need((1,), frozenset({"host:x"}))) is None
