"""Bounds of placement constraints less what a cycle has granted.

Requests with placement constraints in a queue's cycle: nobody is promised more than the constraint leaves.
"""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.allocations import PlacementConstraint, TagBound, TaggedSpot
from shim.domain.ids import ContainerId, NodeId
from shim.scheduling.queue_policies import QUEUE_POLICIES
from shim.scheduling.tag_constraints import TagBounds, TagHeadroom
from tests.unit.scheduling.test_queue_table import (
    BOTH,
    EAST,
    SECOND,
    WEST,
    a_capacity,
    a_key,
    a_request,
    a_table,
    starts,
)
from tests.unit.scheduling.test_queue_table import (
    FIRST as FIRST_ONE,
)

FIRST, ITS_KIN, OTHER, UNBOUNDED = range(4)


@pytest.fixture
def headroom():
    """Two clusters of two nodes each: the first cluster is bounded below its nodes, the second above."""
    clusters, nodes = np.array([1, 9]), np.array([2, 2, 3, 4])
    return TagHeadroom({row: TagBounds(kin, clusters, nodes) for row, kin in ((FIRST, 7), (ITS_KIN, 7), (OTHER, 8))})


def test_a_node_has_no_more_than_its_cluster_and_itself_may_have(headroom):
    assert [headroom.at(FIRST, cluster, node) for cluster, node in ((0, 0), (0, 1), (1, 2), (1, 3))] == [1, 1, 3, 4]


def test_what_one_is_granted_its_kin_have_less(headroom):
    headroom.take(FIRST, 1, 2, node=3)
    headroom.take(FIRST, 0, 1)
    assert headroom.at_clusters(ITS_KIN).tolist() == [0, 7]
    assert headroom.at_nodes(ITS_KIN).tolist() == [2, 2, 3, 2]
    assert headroom.at(ITS_KIN, 0, 0) == 0
    assert headroom.at_clusters(OTHER).tolist() == [1, 9]
    headroom.take(ITS_KIN, 1, -1, node=3)
    assert headroom.at(FIRST, 1, 3) == 3, "what is taken back is free again"


def test_room_of_cells_is_bounded_by_that_of_their_cluster(headroom):
    clusters, room = np.array([1, 0, 1]), np.array([4, 4, 20])
    assert headroom.within(FIRST, clusters, room).tolist() == [4, 1, 9]
    headroom.take_of_cells(FIRST, clusters, np.array([2, 1, 1]))
    assert headroom.at_clusters(FIRST).tolist() == [0, 6]


def test_who_is_not_bounded_has_all_the_room_and_changes_nothing(headroom):
    assert UNBOUNDED not in headroom
    headroom.take(UNBOUNDED, 0, 1, node=0)
    headroom.take_of_cells(UNBOUNDED, np.array([0]), np.array([1]))
    assert headroom.within(UNBOUNDED, np.array([0]), np.array([50])).tolist() == [50]
    assert headroom.at(FIRST, 0, 0) == 1


def test_a_bound_that_is_exceeded_leaves_nothing(headroom):
    headroom.take(FIRST, 0, 5, node=0)
    assert (headroom.at_clusters(FIRST)[0], headroom.at_nodes(FIRST)[0]) == (0, 0)


WEB = frozenset({"web"})
APART = PlacementConstraint(WEB, b"apart", most_a_node=1, is_local=True, choices=((TagBound("web", most=0),),))
ORDERS = [name for name, policy in QUEUE_POLICIES.items() if not policy.placement.samples and name != "medea"]


def apart(wanted, number=-1, *, east=2, west=2, most_a_node=1, **more):
    key = replace(a_key(), placement=replace(APART, most_a_node=most_a_node), allocation_request_id=number)
    return a_request(wanted, key, most_at={EAST: east, WEST: west}, **more)


def started(plans, attempt=FIRST_ONE):
    found = Counter()
    for each in starts(plans, attempt):
        found.update(each)
    return dict(+found)


@pytest.mark.parametrize("order", ORDERS)
def test_by_every_policy_no_cluster_is_promised_more_than_its_nodes_may_have(order):
    plans = a_table(first=apart(9)).plan(a_capacity([8, 8], [8, 8, 0]), order, 1.0)
    assert started(plans) == {EAST: 2, WEST: 2}, "eight fit on each node"


def test_the_named_cluster_is_filled_first():
    plans = a_table(first=apart(3, local={EAST: 3})).plan(a_capacity([8, 8], [8, 8]), "fifo", 1.0)
    assert started(plans) == {EAST: 2, WEST: 1}


def test_nodes_without_room_count_for_none_and_nodes_that_have_one_for_no_more():
    table = a_table(first=apart(9, east=3, west=1))
    table.began(FIRST_ONE, ContainerId(FIRST_ONE, 2), 0.0, spot=TaggedSpot(NodeId("east-0", 1), APART))
    assert started(table.plan(a_capacity([8, 8, 0], [8, 8]), "fifo", 1.0)) == {EAST: 1, WEST: 1}


def test_containers_with_other_tags_or_of_others_do_not_count():
    table = a_table(first=apart(9))
    spot = TaggedSpot(NodeId("east-0", 1), PlacementConstraint(frozenset({"db"})))
    table.began(FIRST_ONE, ContainerId(FIRST_ONE, 2), 0.0, spot=spot)
    table.began(SECOND, ContainerId(SECOND, 2), 0.0, spot=TaggedSpot(NodeId("east-0", 1), APART))
    assert started(table.plan(a_capacity([8, 8], [8, 8]), "fifo", 1.0)) == {EAST: 2, WEST: 2}


def test_requests_for_one_container_each_share_what_the_constraint_leaves():
    table = a_table()
    promised = apart(1, 0, tentative={EAST: 1})
    table.put(FIRST_ONE, [promised, *(apart(1, number) for number in range(1, 6))], (), 0.0)
    assert started(table.plan(a_capacity([8, 8], [8, 8]), "fifo", 1.0)) == {EAST: 1, WEST: 2}


def test_what_no_node_is_left_for_holds_nobody_up_and_is_told_so():
    table = a_table(first=apart(6, tentative={EAST: 2, WEST: 2}), second=a_request(4))
    plans = table.plan(a_capacity([1, 1], [0, 0]), "fifo", 1.0)
    assert started(plans, SECOND) == {EAST: 2}
    (second,), (first,) = plans[SECOND], plans[FIRST_ONE]
    assert second.may_queue == frozenset(), "the first is promised something at both"
    assert "no node that its placement constraint leaves" in first.reason
    table.put(FIRST_ONE, [apart(2, east=0, west=0)], (), 1.0)
    (second,) = table.plan(a_capacity([0, 0], [0, 0]), "fifo", 2.0)[SECOND]
    assert second.may_queue == BOTH


def test_capacity_is_told_as_far_as_the_constraint_leaves_it():
    (plan,) = a_table(first=apart(9)).plan(a_capacity([8, 8], [8]), "fifo", 1.0)[FIRST_ONE]
    assert plan.capacity == {EAST: 2, WEST: 1}


@given(
    free=st.lists(st.integers(0, 3), min_size=4, max_size=4),
    most=st.integers(1, 3),
    wanted=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    held=st.lists(st.integers(0, 3), max_size=4),
    order=st.sampled_from(ORDERS),
)
def test_whatever_is_free_and_there_a_cluster_gets_no_more_than_its_nodes_can_have(free, most, wanted, held, order):
    table = a_table(second=a_request(1))
    nodes = [NodeId(f"{name}-{number}", 1) for name in ("east", "west") for number in range(2)]
    for number, at in enumerate(held):
        table.began(FIRST_ONE, ContainerId(FIRST_ONE, number + 2), 0.0, spot=TaggedSpot(nodes[at], APART))
    there = Counter(nodes[at] for at in held)
    most_at = {"east": 2 * most - sum(at < 2 for at in held), "west": 2 * most - sum(at >= 2 for at in held)}
    most_at = {name: max(0, count) for name, count in most_at.items()}
    requests = [apart(count, number, **most_at, most_a_node=most) for number, count in enumerate(wanted)]
    table.put(FIRST_ONE, requests, (), 0.0)
    found = started(table.plan(a_capacity(free[:2], free[2:]), order, 1.0))
    for name, at in ((EAST, (0, 1)), (WEST, (2, 3))):
        assert found.get(name, 0) <= sum(min(free[row], max(0, most - there[nodes[row]])) for row in at)
