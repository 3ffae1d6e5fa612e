"""Requests with placement constraints in a queue's cycle: nobody is promised more than the constraint leaves."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.allocations import PlacementConstraint, TagBound, TaggedSpot
from shim.domain.ids import ContainerId, NodeId
from shim.scheduling.queue_policies import QUEUE_POLICIES
from tests.unit.scheduling.test_queue_table import (
    BOTH,
    EAST,
    FIRST,
    SECOND,
    WEST,
    a_capacity,
    a_key,
    a_request,
    a_table,
    starts,
)

WEB = frozenset({"web"})
APART = PlacementConstraint(WEB, b"apart", most_a_node=1, is_local=True, choices=((TagBound("web", most=0),),))
ORDERS = [name for name, policy in QUEUE_POLICIES.items() if not policy.placement.samples and name != "medea"]


def apart(wanted, number=-1, *, east=2, west=2, most_a_node=1, **more):
    key = replace(a_key(), placement=replace(APART, most_a_node=most_a_node), allocation_request_id=number)
    return a_request(wanted, key, most_at={EAST: east, WEST: west}, **more)


def started(plans, attempt=FIRST):
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
    table.began(FIRST, ContainerId(FIRST, 2), 0.0, spot=TaggedSpot(NodeId("east-0", 1), APART))
    assert started(table.plan(a_capacity([8, 8, 0], [8, 8]), "fifo", 1.0)) == {EAST: 1, WEST: 1}


def test_containers_with_other_tags_or_of_others_do_not_count():
    table = a_table(first=apart(9))
    spot = TaggedSpot(NodeId("east-0", 1), PlacementConstraint(frozenset({"db"})))
    table.began(FIRST, ContainerId(FIRST, 2), 0.0, spot=spot)
    table.began(SECOND, ContainerId(SECOND, 2), 0.0, spot=TaggedSpot(NodeId("east-0", 1), APART))
    assert started(table.plan(a_capacity([8, 8], [8, 8]), "fifo", 1.0)) == {EAST: 2, WEST: 2}


def test_requests_for_one_container_each_share_what_the_constraint_leaves():
    table = a_table()
    promised = apart(1, 0, tentative={EAST: 1})
    table.put(FIRST, [promised, *(apart(1, number) for number in range(1, 6))], (), 0.0)
    assert started(table.plan(a_capacity([8, 8], [8, 8]), "fifo", 1.0)) == {EAST: 1, WEST: 2}


def test_what_no_node_is_left_for_holds_nobody_up_and_is_told_so():
    table = a_table(first=apart(6, tentative={EAST: 2, WEST: 2}), second=a_request(4))
    plans = table.plan(a_capacity([1, 1], [0, 0]), "fifo", 1.0)
    assert started(plans, SECOND) == {EAST: 2}
    (second,), (first,) = plans[SECOND], plans[FIRST]
    assert second.may_queue == frozenset(), "the first is promised something at both"
    assert "no node that its placement constraint leaves" in first.reason
    table.put(FIRST, [apart(2, east=0, west=0)], (), 1.0)
    (second,) = table.plan(a_capacity([0, 0], [0, 0]), "fifo", 2.0)[SECOND]
    assert second.may_queue == BOTH


def test_capacity_is_told_as_far_as_the_constraint_leaves_it():
    (plan,) = a_table(first=apart(9)).plan(a_capacity([8, 8], [8]), "fifo", 1.0)[FIRST]
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
        table.began(FIRST, ContainerId(FIRST, number + 2), 0.0, spot=TaggedSpot(nodes[at], APART))
    there = Counter(nodes[at] for at in held)
    most_at = {"east": 2 * most - sum(at < 2 for at in held), "west": 2 * most - sum(at >= 2 for at in held)}
    most_at = {name: max(0, count) for name, count in most_at.items()}
    requests = [apart(count, number, **most_at, most_a_node=most) for number, count in enumerate(wanted)]
    table.put(FIRST, requests, (), 0.0)
    found = started(table.plan(a_capacity(free[:2], free[2:]), order, 1.0))
    for name, at in ((EAST, (0, 1)), (WEST, (2, 3))):
        assert found.get(name, 0) <= sum(min(free[row], max(0, most - there[nodes[row]])) for row in at)
