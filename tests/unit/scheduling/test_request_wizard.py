"""Expressions that the wizard makes of deadlines, preferences and budgets."""

import math

import pytest

from shim.domain.wishes import GangShape, JobWishes
from shim.scheduling.request_wizard import PlanHorizon, SpaceTimeRequest, expression_of, value_of_end
from shim.scheduling.strl import Linear, Most, NodesFor, Smallest, Total

WINDOW = PlanHorizon((0, 1, 2), 3, 10.0, 1000.0, 200.0)
NOW = PlanHorizon((0,), 1, 10.0, 0.0, 0.0)


def a_request(**changes):
    told = {"count": 4, "is_gang": False, "duration_s": 10.0, "slowdown": 2.0, "preferred": (1,), "anywhere": (0, 1)}
    told["fits_now"] = (9, 9)
    return SpaceTimeRequest(**({"tag": 7, "size": (1.0,)} | told | changes))


def leaves(expression):
    if isinstance(expression, NodesFor):
        return [expression]
    if isinstance(expression, Linear):
        return [expression.nodes]
    return [leaf for part in expression.parts for leaf in leaves(part)]


def test_containers_are_worth_more_where_they_run_as_long_as_they_should():
    found = expression_of(a_request(), WINDOW)
    assert isinstance(found, Total)
    assert [(leaf.partitions, leaf.start, leaf.length) for leaf in leaves(found)] == [
        (partitions, start, length) for start in (0, 1, 2) for partitions, length in (((1,), 1), ((0,), 2))
    ]
    near, far, later, *_ = (leaf.value for leaf in leaves(found))
    assert near == pytest.approx(1.0 - 10.0 / 200.0)
    assert far == pytest.approx(1.0 - 20.0 / 200.0)
    assert later == pytest.approx(far), "to wait for ten seconds is as good as to run ten seconds longer"


def test_without_time_a_place_is_worth_its_speed():
    near, far = leaves(expression_of(a_request(weight=3.0), NOW))
    assert (near.value, far.value, near.start, far.start) == (3.0, 1.5, 0, 0)
    (only,) = leaves(expression_of(a_request(preferred=()), NOW))
    assert (only.partitions, only.value) == ((0, 1), 1.0)


def test_a_gang_is_had_whole_at_preferred_nodes_or_anywhere():
    found = expression_of(a_request(is_gang=True, fits_now=(3, 0)), WINDOW)
    assert isinstance(found, Most)
    assert [(leaf.partitions, leaf.start, leaf.length, leaf.count) for leaf in leaves(found)] == [
        ((1,), 1, 1, 4),
        ((0, 1), 1, 2, 4),
        ((1,), 2, 1, 4),
        ((0, 1), 2, 2, 4),
    ]


def test_a_gang_in_one_cluster_may_be_in_any_and_elsewhere_takes_longer():
    shaped = JobWishes(shape=GangShape.ONE_CLUSTER)
    request = a_request(is_gang=True, preferred=(), clusters=((0,), (1,)), wishes=shaped)
    found = expression_of(request, PlanHorizon((0,), 3, 10.0, 1000.0, 200.0))
    assert [(leaf.partitions, leaf.length) for leaf in leaves(found)] == [((0,), 1), ((1,), 1), ((0, 1), 2)]


def test_a_gang_that_spreads_has_a_part_in_each_cluster_at_once():
    shaped = JobWishes(shape=GangShape.SPREAD)
    request = a_request(count=5, is_gang=True, preferred=(), clusters=((0,), (1,)), wishes=shaped)
    spread, together = expression_of(request, PlanHorizon((0,), 3, 10.0, 1000.0, 200.0)).parts
    assert isinstance(spread, Smallest)
    assert [(leaf.partitions, leaf.count) for leaf in spread.parts] == [((0,), 3), ((1,), 2)]
    assert together.value < spread.parts[0].value


def test_nothing_starts_beyond_the_window():
    assert expression_of(a_request(is_gang=True, fits_now=(0, 0)), NOW) is None
    assert expression_of(a_request(fits_now=(0, 0)), NOW) is None
    assert len(leaves(expression_of(a_request(), PlanHorizon((0, 1, 2), 1, 10.0, 0.0, 100.0)))) == 2


def test_so_many_start_now_as_nodes_have_room_for_each_worth_the_same():
    near, far = leaves(expression_of(a_request(fits_now=(2, 1)), NOW))
    assert (near.count, near.value, far.count, far.value) == (1, 0.25, 2, 0.25)


@pytest.mark.parametrize(
    ("ends_s", "value"), [(10.0, 3000.0), (50.0, 3000.0), (80.0, 2000.0), (110.0, 2.0 * 0.45), (300.0, 2.0e-3)]
)
def test_after_its_deadline_a_budget_melts_while_that_is_tolerated(ends_s, value):
    wishes = JobWishes(budget=2.0, tolerance_s=60.0, penalty=1.0)
    request = a_request(left_s=50.0, wishes=wishes, weight=2.0)
    assert value_of_end(request, ends_s, WINDOW) == pytest.approx(value, rel=0.02)


def test_what_has_no_deadline_is_worth_less_the_later_it_ends_and_a_larger_budget_more():
    values = [
        value_of_end(a_request(weight=weight), ends_s, WINDOW) for weight in (1.0, 3.0) for ends_s in (0.0, 100.0)
    ]
    assert values == pytest.approx([1.0, 0.5, 3.0, 1.5])
    assert math.isinf(a_request().left_s)
