"""Medea in a queue of real clusters: services in rounds, whole and by their constraints, tasks at once."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shim.domain.allocations import PlacementConstraint, TagBound, TaggedSpot
from shim.domain.ids import ContainerId, NodeId
from shim.domain.placement_rules import NodeGroup, OperatorConstraint, PlacementRules, read_wish
from shim.domain.resources import ResourceVector
from shim.scheduling.policies.medea import MedeaRules, placement_of
from shim.scheduling.solvers import mixed_integer
from shim.scheduling.tag_constraints import NO_MOST, TagConstraint, TagCount, TaggedContainers, service_facts
from tests.support.examples import examples
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
)

ROUND_S = MedeaRules().every_s
WEB, CACHE = frozenset({"web"}), frozenset({"cache"})
APART = PlacementConstraint(WEB, b"apart", most_a_node=1, is_local=True, choices=((TagBound("web", most=0),),))
NEAR_WEB = PlacementConstraint(
    CACHE, b"near", needs=WEB, is_local=True, choices=((TagBound("web", least=1, is_rack=True),),)
)
TWO_A_RACK = PlacementConstraint(WEB, b"two", is_local=True, choices=((TagBound("web", most=1, is_rack=True),),))


def service(wanted, placement=APART, size=1, number=-1, **more):
    key = replace(a_key(size), placement=placement, allocation_request_id=number)
    if placement.most_a_node is not None:
        more = {"most_at": {EAST: 2 * placement.most_a_node, WEST: 2 * placement.most_a_node}} | more
    return a_request(wanted, key, **more)


def a_round(table, capacity, at_s=ROUND_S):
    """Plans of a round, with a solver's answer."""
    stated = table.state_problems(capacity, "medea", at_s)
    assert stated is not None, "a round is due"
    solved = {at: mixed_integer(each.arrays, 10.0) for at, each in stated.problems.items()}
    return table.plan(capacity, "medea", at_s + 0.5, stated=replace(stated, answers=solved))


def started(plans, attempt=FIRST):
    return [dict(plan.starts) for plan in plans[attempt]]


def test_a_service_waits_for_its_round_and_is_then_spread_as_its_constraint_wants_it():
    table, room = a_table(first=service(4)), a_capacity([8, 8], [8, 8])
    (plan,) = table.plan(room, "medea", 1.0)[FIRST]
    assert (plan.starts, plan.may_queue, plan.rule) == ({}, frozenset(), "medea")
    assert "in the next round" in plan.reason
    assert table.again_at_s == ROUND_S
    assert table.state_problems(room, "medea", 1.0) is None, "no round, no problem"
    (plan,) = a_round(table, room)[FIRST]
    assert plan.starts == {EAST: 2, WEST: 2}


def test_by_the_heuristics_alone_a_round_is_the_same_to_the_constraint():
    (plan,) = a_table(first=service(4)).plan(a_capacity([8, 8], [8, 8]), "medea", ROUND_S)[FIRST]
    assert (plan.starts, plan.made_by) == ({EAST: 2, WEST: 2}, "greedy")


def test_tasks_go_at_once_and_while_the_solver_has_the_services():
    table, room = a_table(first=service(4), second=a_request(3)), a_capacity([8, 8], [8, 8])
    assert sum(sum(each.values()) for each in started(table.plan(room, "medea", 1.0), SECOND)) == 3
    plans = table.plan(room, "medea", ROUND_S, is_solving=True)
    assert sum(sum(each.values()) for each in started(plans, SECOND)) == 3
    (plan,) = plans[FIRST]
    assert (plan.starts, plan.may_queue) == ({}, frozenset())
    assert "in rounds" in plan.reason
    assert started(a_round(table, room)) == [{EAST: 2, WEST: 2}], "its round is not over"


def test_what_one_application_newly_asks_for_by_itself_waits_for_the_queues_round():
    table, room = a_table(first=service(4)), a_capacity([8, 8], [8, 8])
    (plan,) = table.plan(room, "medea", ROUND_S, only=FIRST)[FIRST]
    assert (plan.starts, plan.may_queue) == ({}, frozenset())
    assert started(table.plan(room, "medea", ROUND_S)) == [{EAST: 2, WEST: 2}]


def test_a_service_that_has_no_places_whole_is_let_to_the_schedulers_if_nobody_else_waits():
    table, room = a_table(first=service(5)), a_capacity([8, 8], [8, 8])
    (plan,) = table.plan(room, "medea", ROUND_S)[FIRST]
    assert (plan.starts, plan.may_queue) == ({}, BOTH)
    table.put(FIRST, [service(5, queued={EAST: 3, WEST: 2})], (), ROUND_S)
    (plan,) = table.plan(room, "medea", ROUND_S + 1.0)[FIRST]
    assert plan.may_queue == BOTH, "what waits there is not withdrawn for each round"
    table.put(SECOND, [a_request(1)], (), ROUND_S)
    (plan,) = table.plan(room, "medea", 2.0 * ROUND_S)[FIRST]
    assert (plan.starts, plan.may_queue) == ({}, frozenset())
    assert "no place for all containers of this service together" in plan.reason


def test_affinity_is_kept_where_the_tags_are_and_by_racks():
    table = a_table(first=service(2, NEAR_WEB, may_use=frozenset({WEST})))
    table.began(FIRST, ContainerId(FIRST, 2), 0.0, spot=TaggedSpot(NodeId("west-1", 1), APART))
    assert started(table.plan(a_capacity([8], [8, 8]), "medea", ROUND_S)) == [{WEST: 2}]
    nowhere = a_table(first=service(2, NEAR_WEB), second=a_request(1))
    (plan,) = nowhere.plan(a_capacity([8], [8, 8]), "medea", ROUND_S)[FIRST]
    assert (plan.starts, plan.may_queue) == ({}, frozenset())
    assert "keep all constraints" in plan.reason
    by_rack = a_table(first=service(4, TWO_A_RACK))
    assert started(by_rack.plan(a_capacity([8, 8], [8, 8]), "medea", ROUND_S)) == [{EAST: 2, WEST: 2}]


def test_what_is_promised_and_not_granted_yet_counts():
    table = a_table(first=service(4, tentative={EAST: 2}))
    assert started(table.plan(a_capacity([8, 8], [8, 8]), "medea", ROUND_S)) == [{WEST: 2}]


def test_the_limit_of_the_queue_is_kept_to_and_the_rest_goes_elsewhere():
    room = a_capacity([8, 8], [8, 8], limits={EAST: ResourceVector(1024, 1)})
    apart = replace(APART, most_a_node=None, choices=((TagBound("web", most=1),),))
    (starts,) = started(a_round(a_table(first=service(4, apart)), room))
    assert (sum(starts.values()), starts[WEST]) == (4, 4 - starts.get(EAST, 0))
    assert starts.get(EAST, 0) <= 1
    room = a_capacity([8, 8], [8, 8], limits={EAST: ResourceVector(1024, 1), WEST: ResourceVector(2048, 2)})
    (plan,) = a_table(first=service(4, apart)).plan(room, "medea", ROUND_S)[FIRST]
    assert plan.starts == {}, "whole or not at all"


def test_an_answer_that_the_world_has_left_behind_gives_way_to_the_plan_of_now():
    table, room = a_table(first=service(2)), a_capacity([8, 8], [8, 8])
    stated = table.state_problems(room, "medea", ROUND_S)
    assert stated is not None
    solved = replace(stated, answers={False: mixed_integer(stated.problems[False].arrays, 10.0)})
    table.put(FIRST, [service(3)], (), ROUND_S)
    (plan,) = table.plan(room, "medea", ROUND_S + 0.5, stated=solved)[FIRST]
    assert sum(plan.starts.values()) == 3


def test_an_answer_of_which_less_can_be_had_by_now_than_the_heuristics_find_gives_way_to_them():
    table, room = a_table(first=service(2)), a_capacity([8, 0], [8, 0])
    stated = table.state_problems(room, "medea", ROUND_S)
    assert stated is not None
    problem = stated.problems[False]
    answer = mixed_integer(problem.arrays, 10.0)
    found_none = replace(problem.notes, greedy=np.zeros_like(problem.notes.greedy))
    late = replace(stated, problems={False: replace(problem, notes=found_none)}, answers={False: answer})
    (plan,) = table.plan(a_capacity([0, 8], [0, 8]), "medea", ROUND_S + 0.5, stated=late)[FIRST]
    assert plan.starts == {EAST: 1, WEST: 1}, "on the other nodes"


def test_the_program_keeps_to_the_limits_of_the_queue_and_to_sub_clusters_that_may_be_asked():
    """The web is in the east, where one fits in what the queue may have: two near it are beyond that."""
    limits = {EAST: ResourceVector(1024, 1)}
    for more, wanted, found in (({}, 2, 0), ({}, 1, 1), ({"may_use": frozenset({WEST})}, 1, 0)):
        table = a_table(first=service(wanted, NEAR_WEB, **more))
        table.began(FIRST, ContainerId(FIRST, 2), 0.0, spot=TaggedSpot(NodeId("east-0", 1), APART))
        stated = table.state_problems(a_capacity([8, 8], [8, 8], limits=limits), "medea", ROUND_S)
        assert stated is not None
        problem = stated.problems[False]
        rounds = problem.notes.rounds
        placement = placement_of(problem.notes.program, rounds, mixed_integer(problem.arrays, 10.0))
        assert placement is not None, "an answer that keeps to everything"
        assert placement.sum() == found
        assert not rounds.slots_of(0, rounds.free)[~rounds.may_go[0]].any()


PLAIN_WEB = PlacementConstraint(WEB, is_local=True)


def rules_of(want, *, is_hard=False, weight=1.0, subject=WEB, groups=()):
    return PlacementRules((OperatorConstraint("it", subject, read_wish(want), weight, is_hard),), groups)


@pytest.mark.parametrize(
    ("want", "groups"),
    [
        ("..1 web in cluster", ()),
        ("..1 web in rack", ()),
        ("..1 web in side", (NodeGroup("side", (("e", ("east-*",)), ("w", ("WEST-0", "west-1")))),)),
        ("9 db in node or ..1 web in cluster and 0 db in rack", ()),
    ],
)
def test_what_an_operator_wants_spreads_a_service_that_wants_nothing(want, groups):
    table = a_table(rules=rules_of(want, groups=groups), first=service(4, PLAIN_WEB))
    assert started(a_round(table, a_capacity([8, 8], [8, 8]))) == [{EAST: 2, WEST: 2}]


@pytest.mark.parametrize("weight", [1e-3, 1.0, 1e6])
def test_nobody_waits_for_what_is_soft_and_what_is_hard_is_kept(weight):
    for is_hard, found in ((False, 4), (True, 0)):
        rules = rules_of("..1 web in cluster", is_hard=is_hard, weight=1.0 if is_hard else weight)
        room = a_capacity([8, 8], [1])
        table = a_table(rules=rules, first=service(4, PLAIN_WEB), second=a_request(1))
        (starts,) = started(a_round(table, room))
        assert sum(starts.values()) == found


def test_what_runs_of_others_counts_for_an_operators_constraint():
    table = a_table(rules=rules_of("0 db in cluster", is_hard=True), first=service(2, PLAIN_WEB))
    database = PlacementConstraint(frozenset({"db"}), is_local=True)
    table.began(SECOND, ContainerId(SECOND, 2), 0.0, spot=TaggedSpot(NodeId("east-0", 1), database))
    assert started(a_round(table, a_capacity([8, 8], [8, 8]))) == [{WEST: 2}]


def test_facts_are_tags_as_they_are_and_of_their_application():
    app = FIRST.application
    others = TagBound("db", most=0, whose="all"), TagBound("x", most=2, whose="app-id/application_9_1")
    mixed = replace(APART, choices=((*others, TagBound("y", most=0, whose="not-self")),))
    unjudged = PlacementConstraint(frozenset({"odd"}), b"attribute")
    plain = PlacementConstraint()
    asks = [(FIRST, service(1, each), row) for row, each in enumerate((APART, mixed, unjudged, plain))]
    spots = {FIRST: [TaggedSpot(NodeId("e", 1), APART)] * 2 + [TaggedSpot(NodeId("gone", 1), APART)]}
    facts = service_facts([*asks, (FIRST, a_request(1), 9)], spots, [NodeId("w", 1), NodeId("e", 1)])
    web = frozenset({"web", f"{app}/web"})
    assert facts.tags == {0: web, 1: web, 2: frozenset({"odd", f"{app}/odd"})}
    assert facts.running == (TaggedContainers(1, web, 2),)
    subject, own = frozenset({f"{app}/web"}), TagCount(frozenset({f"{app}/web"}), 0, 0)
    strangers = TagCount(frozenset({"db"}), 0, 0), TagCount(frozenset({"application_9_1/x"}), 0, 2)
    assert facts.constraints == (TagConstraint(subject, ((own,),)), TagConstraint(subject, (strangers,)))
    assert NO_MOST not in {count.most for each in facts.constraints for choice in each.any_of for count in choice}


@settings(max_examples=examples(40), deadline=None)
@given(
    free=st.lists(st.integers(0, 4), min_size=4, max_size=4),
    wanted=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    most=st.integers(1, 2),
    held=st.lists(st.integers(0, 3), max_size=3),
    solves=st.booleans(),
)
def test_a_service_starts_whole_or_not_and_no_cluster_has_more_than_its_nodes_may_have(
    free, wanted, most, held, solves
):
    nodes = [NodeId(f"{name}-{number}", 1) for name in ("east", "west") for number in range(2)]
    placement = replace(APART, most_a_node=most, choices=((TagBound("web", most=most - 1),),))
    table, there = a_table(), Counter(held)
    for number, at in enumerate(held):
        table.began(FIRST, ContainerId(FIRST, number + 2), 0.0, spot=TaggedSpot(nodes[at], placement))
    most_at = {EAST: max(0, 2 * most - there[0] - there[1]), WEST: max(0, 2 * most - there[2] - there[3])}
    asks = [service(count, placement, number=number, most_at=most_at) for number, count in enumerate(wanted)]
    table.put(FIRST, asks, (), 0.0)
    room = a_capacity(free[:2], free[2:])
    due = solves and table.state_problems(room, "medea", ROUND_S) is not None
    found = started(a_round(table, room) if due else table.plan(room, "medea", ROUND_S))
    total = Counter()
    for each in found:
        total.update(each)
    assert sum(total.values()) in {0, sum(wanted)}
    for name, at in ((EAST, (0, 1)), (WEST, (2, 3))):
        assert total[name] <= sum(min(free[row], max(0, most - there[row])) for row in at)
