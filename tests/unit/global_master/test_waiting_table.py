"""Who of a queue's applications goes first with containers."""

from dataclasses import replace

import pytest

from shim.domain.allocations import AskKey
from shim.domain.ids import ApplicationAttemptId, ApplicationId, SubClusterId
from shim.domain.launches import Waiting
from shim.domain.resources import ResourceVector
from shim.global_master.waiting_table import WaitingTable

EAST, WEST = SubClusterId("east"), SubClusterId("west")
BOTH = frozenset({EAST, WEST})
KEY = AskKey(20, -1, is_opportunistic=False, resource=ResourceVector(1024, 1))
OTHER_KEY = replace(KEY, priority=10)
OLD, MIDDLE, YOUNG = (ApplicationAttemptId(ApplicationId(1, number), 1) for number in (1, 2, 3))


def waiting(count, **more):
    return Waiting(**({"wanted": count, "unpromised": count, "subclusters": BOTH} | more))


def a_table(**counts):
    """A table in which the three want so many, told youngest first."""
    table = WaitingTable(overtaken_s=60.0)
    for attempt, name in ((YOUNG, "young"), (MIDDLE, "middle"), (OLD, "old")):
        if name in counts:
            table.tell(attempt, KEY, waiting(counts[name]), 0.0)
    return table


def before(table, attempt, order="fewest-tasks", subcluster=EAST, at_s=1.0):
    return [(each.attempt, each.count) for each in table.before(attempt, subcluster, order, at_s)]


@pytest.mark.parametrize(
    ("order", "expected"),
    [("fifo", [(OLD, 5), (MIDDLE, 2)]), ("fewest-tasks", [])],
)
def test_each_order_is_that_of_the_simulator(order, expected):
    assert before(a_table(old=5, middle=2, young=1), YOUNG, order) == expected


def test_of_equals_the_older_goes_first():
    table = a_table(old=2, middle=2, young=2)
    assert before(table, YOUNG) == [(OLD, 2), (MIDDLE, 2)]
    assert before(table, OLD) == []


def test_containers_that_an_attempt_holds_count_as_its_tasks():
    table = a_table(old=1, young=2)
    table.tell(OLD, KEY, waiting(1, held=5), 0.0)
    assert before(table, YOUNG) == []
    assert before(table, OLD) == [(YOUNG, 2)]
    table.tell(OLD, OTHER_KEY, waiting(1, held=5), 0.0)
    table.tell(OLD, OTHER_KEY, Waiting(), 0.0)
    assert before(table, YOUNG) == [], "it still holds five"


def test_only_what_nobody_has_promised_and_could_be_had_there_is_in_the_way():
    table = a_table(old=3, young=9)
    table.tell(OLD, KEY, waiting(3, unpromised=2, subclusters=frozenset({WEST})), 0.0)
    assert before(table, YOUNG, subcluster=WEST) == [(OLD, 2)]
    assert before(table, YOUNG) == []
    table.tell(OLD, KEY, waiting(3, unpromised=0), 0.0)
    assert before(table, YOUNG, subcluster=WEST) == []


def test_what_is_promised_is_in_the_way_where_it_is_promised_until_it_is_granted():
    table = a_table(old=3, young=9)
    table.tell(OLD, KEY, waiting(3, unpromised=0, promised_at=frozenset({WEST})), 0.0)
    assert before(table, YOUNG, subcluster=WEST) == [(OLD, 0)]
    assert before(table, YOUNG) == []
    table.tell(OLD, KEY, Waiting(), 0.0)
    assert before(table, YOUNG, subcluster=WEST) == []


def test_an_attempt_that_is_silent_or_has_left_holds_nobody_up():
    table = a_table(old=1, young=9)
    assert before(table, YOUNG, at_s=14.0)
    assert not before(table, YOUNG, at_s=16.0)
    table.tell(OLD, KEY, waiting(1), 16.0)
    assert before(table, YOUNG, at_s=17.0)
    table.leave(OLD)
    assert not before(table, YOUNG, at_s=17.0)
    table.leave(OLD)
    table.tell(OLD, KEY, Waiting(), 17.0)
    assert not before(table, YOUNG, at_s=17.0)


def test_who_was_overtaken_for_too_long_goes_first_until_it_is_granted_something():
    table = WaitingTable(overtaken_s=60.0)
    for at_s in (0.0, 50.0, 59.0, 61.0):
        table.tell(OLD, KEY, waiting(9, withheld=9 if at_s < 60.0 else 0), at_s)
        table.tell(YOUNG, KEY, waiting(1), at_s)
        assert before(table, OLD, at_s=at_s) == ([] if at_s > 60.0 else [(YOUNG, 1)])
    assert before(table, YOUNG, at_s=61.0) == [(OLD, 9)]
    table.granted(YOUNG, 61.0)
    assert before(table, OLD, at_s=61.0) == []
    table.granted(OLD, 61.0)
    assert before(table, OLD, at_s=61.0) == [(YOUNG, 1)]
