"""Where asks go: first where the nodes are, then where there is room, and on from where nothing comes."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.allocations import AskKey, PendingRequest
from shim.domain.ids import SubClusterId
from shim.domain.resources import ResourceVector
from shim.multicluster.core import CapacitySplitter, ClusterCapacity

EAST, WEST, NORTH = SubClusterId("east"), SubClusterId("west"), SubClusterId("north")
KEY = AskKey(20, -1, is_opportunistic=False, resource=ResourceVector(1024, 1))


def gib(count: int) -> ResourceVector:
    return ResourceVector(1024 * count, count)


def a_room(name=EAST, free=10, **more):
    values = {"is_home": name == EAST, "free": gib(free), "size": gib(20), "largest": gib(10), "racks": {}} | more
    return ClusterCapacity(name, **values)


def a_demand(total=10, **more):
    return PendingRequest(KEY, total, **more)


def split(demand, *capacities, move_after_beats=3):
    return dict(CapacitySplitter(move_after_beats).split(demand, capacities))


def test_what_is_asked_for_is_split_by_free_room():
    assert split(a_demand(8), a_room(EAST, 10), a_room(WEST, 30)) == {EAST: 2, WEST: 6}


def test_weights_of_the_queue_bend_the_split_and_zero_is_never():
    capacities = [a_room(EAST, 10), a_room(WEST, 10, weight=3.0), a_room(NORTH, 10, weight=0.0)]
    assert split(a_demand(8), *capacities) == {EAST: 2, WEST: 6}


def test_what_nothing_is_free_for_waits_in_proportion_to_the_sizes():
    capacities = [a_room(EAST, 0, size=gib(10)), a_room(WEST, 0, size=gib(30))]
    assert split(a_demand(8), *capacities) == {EAST: 2, WEST: 6}


def test_free_room_is_filled_before_anything_waits():
    assert split(a_demand(9), a_room(EAST, 1), a_room(WEST, 8)) == {EAST: 1, WEST: 8}


def test_asks_for_hosts_go_to_the_cluster_of_the_hosts():
    capacities = [a_room(EAST, 10, racks={"e1": "/r"}), a_room(WEST, 1, racks={"w1": "/r", "w2": "/r"})]
    demand = a_demand(4, named={"w1": 2, "w2": 2, "/r": 4})
    assert split(demand, *capacities) == {WEST: 4}


def test_strict_asks_go_nowhere_else_and_unknown_names_are_the_homes():
    capacities = [a_room(EAST, 10, racks={"e1": "/re"}), a_room(WEST, 10, racks={"w1": "/rw"})]
    assert split(a_demand(3, named={"w1": 3}, is_strict=True), *capacities) == {WEST: 3}
    assert split(a_demand(3, named={"/rw": 3}, is_strict=True), *capacities) == {WEST: 3}
    assert split(a_demand(3, named={"nobody": 3}, is_strict=True), *capacities) == {EAST: 3}
    assert split(a_demand(4, named={"e1": 1, "w1": 3}, is_strict=True), *capacities) == {EAST: 1, WEST: 3}


@pytest.mark.parametrize(
    "flaw",
    [
        {"is_open": False},
        {"largest": ResourceVector(512, 1)},
        {"largest": ResourceVector(4096, 1, {"gpu": 0})},
    ],
)
def test_a_cluster_that_cannot_have_it_gets_nothing(flaw):
    key = replace(KEY, resource=ResourceVector(1024, 1, {"gpu": 1}))
    capacities = [a_room(EAST, 1), a_room(WEST, 50, **flaw)]
    assert split(PendingRequest(key, 5), *capacities) == {EAST: 5}


def test_labels_must_be_there_and_opportunistic_containers_stay_at_home():
    labelled = PendingRequest(replace(KEY, label="ssd"), 4)
    assert split(labelled, a_room(EAST), a_room(WEST, labels=frozenset({"ssd"}))) == {WEST: 4}
    assert split(labelled, a_room(EAST, labels=frozenset("*")), a_room(WEST)) == {EAST: 4}
    assert split(PendingRequest(replace(KEY, is_opportunistic=True), 4), a_room(EAST, 0), a_room(WEST, 50)) == {EAST: 4}


def test_where_nobody_can_have_it_the_home_says_so():
    demand = PendingRequest(replace(KEY, resource=gib(500)), 2)
    assert split(demand, a_room(EAST), a_room(WEST)) == {EAST: 2}
    assert split(a_demand(2, refused=frozenset({WEST})), a_room(EAST, 0), a_room(WEST, 50)) == {EAST: 2}


def test_what_stands_stays_and_only_the_difference_is_placed():
    capacities = [a_room(EAST, 0), a_room(WEST, 50)]
    assert split(a_demand(10, standing={EAST: 6}), *capacities) == {EAST: 6, WEST: 4}


def test_less_is_taken_from_where_there_is_least_room():
    capacities = [a_room(EAST, 1), a_room(WEST, 50)]
    assert split(a_demand(5, standing={EAST: 4, WEST: 4}), *capacities) == {EAST: 1, WEST: 4}


def test_asks_that_starve_move_as_far_as_there_is_room_elsewhere():
    capacities = [a_room(EAST, 0), a_room(WEST, 4)]
    waiting = a_demand(6, standing={EAST: 6}, starved={EAST: 2})
    assert split(waiting, *capacities) == {EAST: 6}
    assert split(replace(waiting, starved={EAST: 3}), *capacities) == {EAST: 2, WEST: 4}
    assert split(replace(waiting, starved={EAST: 9}), a_room(EAST, 0), a_room(WEST, 0)) == {EAST: 6}


names = st.sampled_from([EAST, WEST, NORTH])
counts = st.dictionaries(names, st.integers(0, 30), max_size=3)


@given(
    total=st.integers(0, 60),
    standing=counts,
    starved=counts,
    free=st.tuples(*[st.integers(0, 40)] * 3),
    weights=st.tuples(*[st.sampled_from([0.0, 0.5, 1.0, 3.0])] * 3),
    places=st.dictionaries(st.sampled_from(["e1", "w1", "w2", "/r", "nobody"]), st.integers(0, 20)),
    is_strict=st.booleans(),
)
def test_the_parts_always_add_up(total, standing, starved, free, weights, places, is_strict):
    racks = ({"e1": "/r"}, {"w1": "/r", "w2": "/r"}, {})
    capacities = [
        a_room(name, free[at], weight=weights[at], racks=racks[at]) for at, name in enumerate((EAST, WEST, NORTH))
    ]
    demand = PendingRequest(KEY, total, named=places, is_strict=is_strict, standing=standing, starved=starved)
    parts = split(demand, *capacities)
    assert sum(parts.values()) == total
    assert all(count > 0 for count in parts.values()) or total == 0
