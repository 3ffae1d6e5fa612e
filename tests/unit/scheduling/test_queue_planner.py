"""Who may wait in a scheduler's queue: the first in line, and as many after it as come free before they were told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.ids import ApplicationAttemptId, ApplicationId, SubClusterId
from shim.scheduling.queue_planner import ComingFree, FirstInLine, Spot
from shim.scheduling.queue_table import Turnover

EAST, WEST = SubClusterId("east"), SubClusterId("west")
AT_EAST, AT_BOTH = Spot(frozenset({EAST}), ""), Spot(frozenset({EAST, WEST}), "")
FIRST, SECOND, THIRD, NEW = (ApplicationAttemptId(ApplicationId(1, number), 1) for number in (1, 2, 3, 4))


def line(soon, *waiting, by_arrival=()):
    found = FirstInLine(soon, by_arrival)
    for attempt, spot, count in waiting:
        found.note(attempt, spot, count)
    return found


@pytest.mark.parametrize(
    ("soon", "counts", "may"),
    [
        ({}, (1, 1, 1), [FIRST]),
        ({EAST: 0.9}, (1, 1, 1), [FIRST]),
        ({EAST: 1.0}, (1, 1, 1), [FIRST]),
        ({EAST: 2.0}, (1, 1, 1), [FIRST, SECOND]),
        ({EAST: 2.9}, (1, 1, 1), [FIRST, SECOND]),
        ({EAST: 3.0}, (1, 1, 1), [FIRST, SECOND, THIRD]),
        ({EAST: 3.0}, (3, 1, 1), [FIRST]),
        ({EAST: 4.0}, (3, 1, 1), [FIRST, SECOND]),
        ({WEST: 9.0}, (1, 1, 1), [FIRST]),
    ],
)
def test_those_may_wait_before_whom_less_is_wanted_than_comes_free_soon(soon, counts, may):
    found = line(soon, *zip((FIRST, SECOND, THIRD), (AT_EAST,) * 3, counts, strict=True))
    assert [each for each in (FIRST, SECOND, THIRD) if found.may_queue(each, AT_EAST)] == may


def test_what_is_new_may_wait_where_those_before_it_leave_something():
    assert line({EAST: 3.0}, (FIRST, AT_EAST, 2)).may_queue(NEW, AT_BOTH) == {EAST, WEST}
    assert line({EAST: 2.0}, (FIRST, AT_EAST, 2)).may_queue(NEW, AT_BOTH) == {WEST}


@pytest.mark.parametrize(
    ("by_arrival", "order", "may"),
    [
        ((), (NEW, FIRST, SECOND), [NEW, FIRST, SECOND]),
        ((WEST,), (NEW, FIRST, SECOND), [NEW, FIRST, SECOND]),
        ((EAST,), (NEW, FIRST, SECOND), [NEW]),
        ((EAST,), (SECOND, FIRST, NEW), [SECOND, NEW]),
        ((EAST,), (FIRST, SECOND, NEW), [FIRST, SECOND, NEW]),
    ],
)
def test_where_arrival_decides_nobody_waits_who_would_be_served_before_those_that_go_first(by_arrival, order, may):
    found = line({EAST: 9.0}, *((each, AT_EAST, 1) for each in order), by_arrival=by_arrival)
    assert [each for each in order if found.may_queue(each, AT_EAST)] == may
    assert all(bool(found.at_most(each, AT_EAST)) == (each in may) for each in order)


def test_what_is_asked_anew_is_not_served_before_those_in_line_that_came_later():
    found = line({EAST: 9.0, WEST: 9.0}, (THIRD, AT_EAST, 1), by_arrival=(EAST, WEST))
    assert found.may_queue(FIRST, AT_BOTH) == {WEST}
    assert found.may_queue(NEW, AT_BOTH) == {EAST, WEST}
    assert found.may_queue(THIRD, AT_BOTH) == {EAST, WEST}


def test_a_request_that_may_go_to_several_is_counted_in_parts():
    found = line({EAST: 3.0, WEST: 3.0}, (FIRST, AT_BOTH, 4), (SECOND, AT_EAST, 1))
    assert found.may_queue(SECOND, AT_EAST) == {EAST}
    assert found.may_queue(THIRD, AT_BOTH) == {WEST}


def test_further_requests_of_who_is_first_are_not_behind_its_own():
    found = line({}, (FIRST, AT_EAST, 5), (FIRST, AT_EAST, 5), (SECOND, AT_EAST, 1))
    assert found.may_queue(FIRST, AT_EAST) == {EAST}
    assert found.may_queue(SECOND, AT_EAST) == frozenset()


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.floats(0.0, 30.0))
def test_whoever_may_wait_is_within_reach_and_nobody_before_it_may_not(counts, soon):
    attempts = [ApplicationAttemptId(ApplicationId(1, number), 1) for number in range(len(counts))]
    found = line({EAST: soon}, *((attempt, AT_EAST, count) for attempt, count in zip(attempts, counts, strict=True)))
    may = [bool(found.may_queue(attempt, AT_EAST)) for attempt in attempts]
    assert may == sorted(may, reverse=True)
    assert may[0]
    last = sum(may) - 1
    assert last == 0 or sum(counts[:last]) < soon


@pytest.mark.parametrize(
    ("soon", "counts", "most"),
    [
        ({}, (5, 5), (1, 0)),
        ({EAST: 3.9}, (5, 5), (3, 0)),
        ({EAST: 8.0}, (5, 5), (8, 3)),
        ({EAST: 20.0}, (5, 5), (20, 15)),
    ],
)
def test_nobody_asks_a_scheduler_for_more_than_comes_free_beyond_what_those_before_want(soon, counts, most):
    found = line(soon, *zip((FIRST, SECOND), (AT_EAST,) * 2, counts, strict=True))
    assert tuple(found.at_most(each, AT_EAST).get(EAST, 0) for each in (FIRST, SECOND)) == most


def test_what_is_new_asks_for_what_those_in_line_leave():
    assert line({EAST: 5.0}, (FIRST, AT_EAST, 2)).at_most(NEW, AT_BOTH) == {EAST: 3, WEST: 1}
    assert line({EAST: 2.0}, (FIRST, AT_EAST, 2)).at_most(NEW, AT_EAST) == {}


def test_what_comes_free_is_given_in_turn_and_once():
    coming = ComingFree({EAST: 3.9, WEST: 2.0})
    assert coming.is_any
    assert coming.take(AT_EAST, 2) == {EAST: 2}
    assert coming.take(AT_BOTH, 9) == {WEST: 2, EAST: 1}
    assert coming.take(AT_BOTH, 1) == {}
    assert not ComingFree({EAST: 0.9}).is_any
    assert ComingFree({EAST: 0.9}).take(AT_EAST, 1) == {}


def test_nodes_of_each_label_have_a_line_of_their_own():
    coming = ComingFree({EAST: 2.0})
    assert coming.take(Spot(frozenset({EAST}), "gpu"), 2) == {EAST: 2}
    assert coming.take(AT_EAST, 1) == {EAST: 1}


# ---------------------------------------------------------------------- how fast


def turnover(ends=(), **grants):
    """By when containers ended, and when each cluster granted some."""
    found = Turnover()
    for name, times in grants.items():
        for at_s in times:
            found.granted(SubClusterId(name), at_s)
    for at_s in ends:
        found.ended(at_s)
    return found


def test_what_comes_free_soon_is_four_seconds_of_the_last_ten():
    each_second = [float(at_s) for at_s in range(100, 110)]
    found = turnover(each_second, east=each_second)
    assert found.soon(109.0) == {EAST: pytest.approx(4.0)}
    assert found.soon(115.0) == {EAST: pytest.approx(2.0)}
    assert found.soon(121.0) == {EAST: 0.0}
    assert turnover().soon(1.0) == {}


def test_room_that_was_free_before_tells_nothing_of_what_comes_free():
    assert turnover(east=[1.0] * 10).soon(1.0) == {EAST: 0.0}
    assert turnover([1.0], east=[1.0] * 10).soon(1.0) == {EAST: pytest.approx(0.4)}
    assert turnover([1.0] * 30, east=[1.0] * 10).soon(1.0) == {EAST: pytest.approx(4.0)}, "no more than was granted"


def test_what_ends_is_taken_to_have_been_where_schedulers_grant():
    found = turnover([1.0] * 6, east=[1.0] * 10, west=[1.0] * 2)
    assert found.soon(1.0) == {EAST: pytest.approx(2.0), WEST: pytest.approx(0.4)}


def test_of_a_flood_a_part_is_remembered_and_its_rate_is_that_of_the_part():
    each = [number / 1000 for number in range(5000)]
    assert turnover(each, east=each).soon(4.999)[EAST] == pytest.approx(4000.0, rel=0.01)
