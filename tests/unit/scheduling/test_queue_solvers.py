"""Policies of queues that count shares or ask a solver, and answers that come after the world has moved on."""

from dataclasses import replace

import pytest

from shim.domain.allocations import PlacementConstraint, TaggedSpot
from shim.domain.ids import ContainerId, NodeId
from shim.domain.wishes import JobTimes, JobWishes
from shim.scheduling.solvers import SOLVERS
from tests.unit.scheduling.test_queue_table import (
    EAST,
    FIRST,
    SECOND,
    THIRD,
    WEST,
    a_capacity,
    a_key,
    a_request,
    a_table,
    gib,
    starts,
)

ONE_EACH = ([1], [1])


def solved(stated):
    """Problems with the answers of the real solvers."""
    answers = {which: SOLVERS[each.solver](each.arrays, 20.0) for which, each in stated.problems.items()}
    return replace(stated, answers=answers)


def planned(table, capacity, order, at_s):
    """A cycle as it is when the solver answers at once."""
    return table.plan(capacity, order, at_s, stated=solved(table.state_problems(capacity, order, at_s)))


def begin(table, attempt, count, size, *, since_s=0.0):
    for number in range(count):
        table.began(attempt, ContainerId(attempt, number + 2), since_s, gib(size))


# ---------------------------------------------------------------------- shares


def test_whose_dominant_share_is_least_is_next():
    table = a_table(first=a_request(1), second=a_request(1))
    begin(table, FIRST, 3, 1)
    begin(table, SECOND, 2, 2)
    for attempt, count in ((FIRST, 1), (SECOND, 0)):
        plans = table.plan(a_capacity([1]), "drf", 1.0)
        assert [sum(starts(plans, each)[0].values()) for each in (FIRST, SECOND)] == [count, 1 - count]
        begin(table, attempt, 5, 1, since_s=1.0)


def test_what_has_ended_is_held_no_more():
    table = a_table(first=a_request(1), second=a_request(1))
    begin(table, FIRST, 2, 2)
    begin(table, SECOND, 1, 2)
    for number in range(2):
        table.ended(FIRST, ContainerId(FIRST, number + 2), 5.0, is_whole=True)
    plans = table.plan(a_capacity([1]), "drf", 6.0)
    assert starts(plans, FIRST) == [{EAST: 1}]
    assert starts(plans, SECOND) == [{}]


# ---------------------------------------------------------------------- Quincy


def two_with_data(first_at_s=0.0):
    """The first may have either host, the second only the one that the first is served at."""
    table = a_table()
    table.put(FIRST, [a_request(1, named={"east-0": 1, "west-0": 1})], (), first_at_s)
    table.put(SECOND, [a_request(1, named={"east-0": 1})], (), first_at_s)
    return table


def test_a_flow_serves_both_at_their_data_where_greed_serves_one():
    greedy = two_with_data().plan(a_capacity(*ONE_EACH), "quincy", 1.0)
    assert (starts(greedy, FIRST), starts(greedy, SECOND)) == ([{EAST: 1}], [{}])
    assert greedy[SECOND][0].made_by == "greedy"
    plans = planned(two_with_data(), a_capacity(*ONE_EACH), "quincy", 1.0)
    assert (starts(plans, FIRST), starts(plans, SECOND)) == ([{WEST: 1}], [{EAST: 1}])
    assert plans[SECOND][0].hosts == {EAST: {"east-0": 1}}
    assert plans[SECOND][0].made_by == "exact"


def test_a_place_away_from_the_data_is_taken_once_waiting_costs_more():
    table = a_table(first=a_request(1, named={"west-0": 1}), second=a_request(1, a_key(2)))
    capacity = a_capacity([1], [0])
    began_s = {}
    for at_s in range(1, 60):
        (plan,) = table.plan(capacity, "quincy", float(at_s))[FIRST]
        if plan.starts:
            began_s[at_s] = plan.starts
            break
        assert plan.reason == "waiting costs less by now than any place that is free"
    assert began_s == {5: {EAST: 1}}, "20 units for each GB, 0.125 GB, half a unit a second: 5 s"


def test_without_named_places_or_room_no_solver_is_asked():
    assert a_table(first=a_request(1)).state_problems(a_capacity(*ONE_EACH), "quincy", 1.0) is None
    assert two_with_data().state_problems(a_capacity([0], [0]), "quincy", 1.0) is None
    assert two_with_data().state_problems(a_capacity(*ONE_EACH), "fifo", 1.0) is None
    assert two_with_data().state_problems(a_capacity(*ONE_EACH), "unordered", 1.0) is None


def test_an_answer_is_for_the_policy_with_the_parameters_that_it_had():
    table, spec = two_with_data(), "quincy:wait_cost=1.0"
    stated = solved(table.state_problems(a_capacity(*ONE_EACH), spec, 1.0))
    assert stated.order == spec
    made_by = []
    for order in (spec, "quincy"):
        plans = table.plan(a_capacity(*ONE_EACH), order, 1.0, stated=stated)
        made_by.append({plan.made_by for told in plans.values() for plan in told})
    assert made_by == [{"exact"}, {"greedy"}]


def granted(plans):
    return {attempt: sum(sum(each.values()) for each in starts(plans, attempt)) for attempt in plans}


def test_a_row_that_stands_for_another_request_by_now_has_nothing_of_the_answer():
    table = two_with_data()
    stated = solved(table.state_problems(a_capacity(*ONE_EACH), "quincy", 1.0))
    table.leave(FIRST)
    table.put(THIRD, [a_request(1, named={"east-0": 1})], (), 2.0)
    plans = table.plan(a_capacity(*ONE_EACH), "quincy", 2.0, stated=stated)
    assert granted(plans) == {SECOND: 1, THIRD: 0}
    assert starts(plans, SECOND) == [{EAST: 1}]


def test_an_answer_grants_no_more_than_is_free_and_wanted_when_it_comes():
    table = two_with_data()
    stated = solved(table.state_problems(a_capacity([2], [2]), "quincy", 1.0))
    assert granted(table.plan(a_capacity([0], [0]), "quincy", 2.0, stated=stated)) == {FIRST: 0, SECOND: 0}
    table.put(FIRST, [a_request(1, tentative={EAST: 1}, named={"east-0": 1, "west-0": 1})], (), 2.0)
    assert granted(table.plan(a_capacity([2], [2]), "quincy", 2.0, stated=stated)) == {FIRST: 0, SECOND: 1}


@pytest.mark.parametrize("change", ["nodes", "order", "no answer", "rubbish"])
def test_an_answer_to_another_question_is_not_looked_at(change):
    table = two_with_data()
    stated = solved(table.state_problems(a_capacity(*ONE_EACH), "quincy", 1.0))
    capacity = a_capacity([1], [1, 0]) if change == "nodes" else a_capacity(*ONE_EACH)
    stated = {
        "nodes": stated,
        "order": replace(stated, order="tetrisched"),
        "no answer": replace(stated, answers={}),
        "rubbish": replace(stated, answers={False: "?"}),
    }[change]
    plans = table.plan(capacity, "quincy", 1.0, stated=stated)
    assert plans[FIRST][0].made_by == "greedy"
    assert (starts(plans, FIRST), starts(plans, SECOND)) == ([{EAST: 1}], [{}])


def test_an_attempt_that_is_silent_by_the_time_of_the_answer_has_nothing():
    table = two_with_data()
    stated = solved(table.state_problems(a_capacity(*ONE_EACH), "quincy", 1.0))
    table.heard(SECOND, 20.0)
    plans = table.plan(a_capacity(*ONE_EACH), "quincy", 20.0, stated=stated)
    assert granted(plans) == {SECOND: 1}


# ---------------------------------------------------------------------- TetriSched


def due(deadlines):
    at_s = {attempt.application: deadline_s for attempt, deadline_s in deadlines.items()}
    return lambda application: JobTimes(0.0, at_s.get(application, 0.0))


def taught(table, attempt, ran_for_s, at_s):
    """Four containers of an attempt have run for so long."""
    for number in range(4):
        container = ContainerId(attempt, number + 100)
        table.began(attempt, container, at_s - ran_for_s, gib(1))
        table.ended(attempt, container, at_s, is_whole=True)


def test_who_can_still_meet_its_deadline_goes_before_best_effort():
    table = a_table(due({SECOND: 100.0}), first=a_request(4), second=a_request(2))
    plans = planned(table, a_capacity([1], [1]), "tetrisched", 1.0)
    assert granted(plans) == {FIRST: 0, SECOND: 2}


def one_that_is_due_beside_one_in_its_way(wanted, due_s=200.0):
    """The second is due by then and wants so many; the first, of 40 s each, wants one. Two of 2 GiB end at 52 s."""
    table = a_table(due({SECOND: due_s}))
    taught(table, FIRST, 40.0, 41.0)
    taught(table, THIRD, 40.0, 41.0)
    begin(table, THIRD, 2, 2, since_s=12.0)
    table.put(FIRST, [a_request(1)], (), 41.0)
    table.put(SECOND, [a_request(wanted, a_key(2))], (), 41.0)
    return table


def test_what_runs_is_expected_to_come_free_so_that_a_start_is_planned_ahead():
    table = one_that_is_due_beside_one_in_its_way(3, 65.0)
    assert granted(table.plan(a_capacity([2], [0]), "tetrisched", 42.0)) == {FIRST: 0, SECOND: 1}
    plans = planned(table, a_capacity([1, 1], [0]), "tetrisched", 42.0)
    assert granted(plans) == {FIRST: 0, SECOND: 0}, "what is left would be in the way of the three that are due"
    assert plans[SECOND][0].reason == "a later start is worth more to all together"
    assert table.again_at_s > 42.0


def test_a_small_container_counts_as_what_it_takes_and_starts_beside_larger_ones_that_are_due_later():
    table = one_that_is_due_beside_one_in_its_way(2)
    plans = planned(table, a_capacity([1], [0]), "tetrisched", 42.0)
    assert granted(plans) == {FIRST: 1, SECOND: 0}


def test_what_fits_nowhere_as_a_whole_starts_as_far_as_there_is_room():
    table = a_table(due({FIRST: 60.0}), first=a_request(100))
    plans = planned(table, a_capacity([1], [2]), "tetrisched", 1.0)
    assert granted(plans) == {FIRST: 3}


@pytest.mark.parametrize(("deadline_s", "is_asked"), [(0.0, False), (60.0, True), (0.5, False)])
def test_a_solver_is_asked_only_while_a_deadline_is_to_be_met(deadline_s, is_asked):
    table = a_table(due({SECOND: deadline_s}), first=a_request(2), second=a_request(2))
    assert (table.state_problems(a_capacity([1], [0]), "tetrisched", 1.0) is not None) is is_asked
    table.put(FIRST, [a_request(2, gang="all")], (), 1.0)
    assert table.state_problems(a_capacity([1], [0]), "tetrisched", 1.0) is not None, "a gang's start is planned, too"


def test_a_solver_has_nothing_to_say_while_nothing_is_free():
    table = a_table(due({FIRST: 60.0}), first=a_request(2))
    assert table.state_problems(a_capacity([0], [0]), "tetrisched", 1.0) is None


def test_a_start_that_was_planned_for_another_request_is_nobodys():
    table = a_table(due({FIRST: 12.0, SECOND: 100.0}))
    table.put(FIRST, [a_request(1)], (), 0.0)
    table.put(SECOND, [a_request(1)], (), 0.0)
    capacity = a_capacity([1], [0])
    stated = solved(table.state_problems(capacity, "tetrisched", 1.0))
    table.leave(FIRST)
    table.put(THIRD, [a_request(1)], (), 1.5)
    assert granted(table.plan(capacity, "tetrisched", 2.0, stated=stated)) == {SECOND: 1, THIRD: 0}


# ---------------------------------------------------------------------- places that are preferred


def wishing(wishes):
    return lambda _: JobTimes(0.0, 0.0, wishes)


def one_whose_host_is_taken(slowdown):
    """The first wants a container at `east-0`, where one of the third's runs until 52 s; elsewhere is room."""
    table = a_table(wishing(JobWishes(slowdown=slowdown)))
    for attempt in (FIRST, THIRD):
        taught(table, attempt, 40.0, 41.0)
    at = TaggedSpot(NodeId("east-0", 1), PlacementConstraint())
    table.began(THIRD, ContainerId(THIRD, 2), 12.0, gib(1), at)
    table.put(FIRST, [a_request(1, named={"east-0": 1})], (), 41.0)
    return table


@pytest.mark.parametrize(("slowdown", "expected"), [(1.1, {WEST: 1}), (2.0, {})])
def test_a_host_that_comes_free_soon_is_waited_for_by_who_would_lose_more_elsewhere(slowdown, expected):
    table = one_whose_host_is_taken(slowdown)
    plan = planned(table, a_capacity([0], [1]), "tetrisched", 42.0)[FIRST][0]
    assert dict(plan.starts) == expected
    assert bool(plan.reason == "a later start is worth more to all together") is not bool(expected)
    assert dict(planned(table, a_capacity([0], [1]), "alsched", 42.0)[FIRST][0].starts) == {WEST: 1}


def test_what_is_placed_at_a_named_host_is_asked_for_there():
    table = one_whose_host_is_taken(2.0)
    plan = table.plan(a_capacity([1], [1]), "alsched", 42.0)[FIRST][0]
    assert (dict(plan.starts), plan.hosts) == ({EAST: 1}, {EAST: {"east-0": 1}})


def test_what_is_new_waits_for_the_cycle_though_nobody_else_waits():
    table = one_whose_host_is_taken(2.0)
    for order, count in (("tetrisched", 0), ("alsched", 0), ("alsched:solves=false", 1), ("quincy", 1)):
        plans = table.plan(a_capacity([1], [1]), order, 42.0, only=FIRST)
        assert granted(plans) == {FIRST: count}
