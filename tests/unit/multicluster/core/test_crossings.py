"""Ways between clusters that applications take by themselves: tried by one container, and left where they fail."""

from itertools import count

import pytest

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, SubClusterId
from shim.multicluster.core.crossings import Crossings, is_failure

EAST, WEST, NORTH = SubClusterId("east"), SubClusterId("west"), SubClusterId("north")
NUMBERS = count(2)


def a_container(application: int = 1) -> ContainerId:
    return ContainerId(ApplicationAttemptId(ApplicationId(1, application), 1), next(NUMBERS))


def crossings() -> Crossings:
    return Crossings({EAST: frozenset({WEST}), WEST: frozenset({EAST}), NORTH: frozenset[SubClusterId]()}.__getitem__)


def ends(ways: Crossings, at: SubClusterId, *statuses: int, first: int = 1, now_s: float = 0.0) -> None:
    """Containers of as many applications of `east` end there."""
    for application, status in enumerate(statuses, start=first):
        ways.ended(EAST, at, a_container(application), status, now_s)


def proven() -> Crossings:
    ways = crossings()
    ends(ways, WEST, 0)
    return ways


def test_nothing_crosses_to_where_no_file_system_is_shared():
    assert crossings().reach(NORTH, 0.0) == {}


def test_one_container_tries_and_all_may_follow_once_it_has_ended_well():
    ways, first = crossings(), a_container()
    assert ways.reach(EAST, 0.0) == {WEST: True}
    ways.granted(EAST, WEST, first, 1.0)
    assert ways.reach(EAST, 1.0) == {}, "it is under way"
    ways.ended(EAST, WEST, first, 0, 2.0)
    assert ways.reach(EAST, 2.0) == {WEST: False}
    assert ways.reach(WEST, 2.0) == {EAST: True}, "the way back is another"


def test_a_first_container_that_runs_on_has_found_what_it_needs():
    ways = crossings()
    ways.granted(EAST, WEST, a_container(), 0.0)
    assert ways.reach(EAST, 10.0) == {}
    assert ways.reach(EAST, 10.1) == {WEST: False}


def test_a_first_container_that_was_given_back_has_tried_nothing():
    ways, first = crossings(), a_container()
    ways.granted(EAST, WEST, first, 0.0)
    ways.ended(EAST, WEST, first, -100, 0.0)
    assert ways.reach(EAST, 0.0) == {WEST: True}


@pytest.mark.parametrize(("there", "stops"), [((1, 1), False), ((1, 1, -1000), True), ((1, 1, 143), False)])
def test_where_containers_fail_nothing_crosses_any_more(there, stops):
    ways = proven()
    ends(ways, WEST, *there)
    assert (ways.reach(EAST, 1.0) == {}) is stops
    assert [(each.home, each.elsewhere, each.failed, each.ended) for each in ways.stopped()] == (
        [(EAST, WEST, 3, 4)] if stops else []
    )


def test_as_many_failures_as_at_home_stop_nothing():
    ways = proven()
    ends(ways, EAST, *[1, 0] * 10, first=100)
    ends(ways, WEST, *[1, 0] * 10)
    assert ways.reach(EAST, 1.0) == {WEST: False}


def test_what_fails_at_home_too_says_nothing_of_the_way():
    ways = proven()
    ends(ways, EAST, 1, *[0] * 99)
    for _ in range(9):
        ways.ended(EAST, WEST, a_container(1), 1, 0.0)
    assert ways.reach(EAST, 1.0) == {WEST: False}


def test_a_way_that_is_stopped_is_tried_anew_after_an_hour():
    ways = proven()
    ends(ways, WEST, 1, 1, 1, now_s=10.0)
    assert "3 of 4 of their containers failed there" in str(ways.stopped()[0])
    assert ways.reach(EAST, 3610.0) == {}
    assert ways.reach(EAST, 3610.1) == {WEST: True}
    assert ways.stopped() == ()


def test_what_a_session_takes_is_measured_within_bounds():
    ways = crossings()
    before = ways.session_s
    ways.took(before + 1.0)
    assert ways.session_s == pytest.approx(before + 0.2)
    for _ in range(100):
        ways.took(1e9)
    assert ways.session_s == pytest.approx(30.0, abs=0.01)


@pytest.mark.parametrize(
    ("status", "failed"),
    [(0, False), (1, True), (143, False), (137, False), (-1000, True), (-101, True), (-100, False), (-102, False)],
)
def test_which_ends_are_failures(status, failed):
    assert is_failure(status) is failed
