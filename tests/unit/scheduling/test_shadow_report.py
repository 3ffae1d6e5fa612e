"""Differences between plans in force and those of another policy."""

import pytest

from shim.domain.allocations import AskKey, RequestPlan
from shim.domain.ids import ApplicationAttemptId, ApplicationId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.scheduling.shadow_report import MOST_REMEMBERED, DifferenceKind, ShadowReport, differences

EAST, WEST = SubClusterId("east"), SubClusterId("west")
FIRST, SECOND = (ApplicationAttemptId(ApplicationId(1, number), 1) for number in (1, 2))
KEY = AskKey(20, -1, is_opportunistic=False, resource=ResourceVector(1024, 1))


def plans(first=None, second=None):
    told = {FIRST: first, SECOND: second}
    return {attempt: (RequestPlan(KEY, starts),) for attempt, starts in told.items() if starts is not None}


def a_report():
    return ShadowReport("fifo", "delay", 1.0)


@pytest.mark.parametrize(
    ("in_force", "shadow", "kind"),
    [
        ({EAST: 2}, {EAST: 1}, DifferenceKind.HELD),
        ({EAST: 2}, {}, DifferenceKind.HELD),
        ({}, {WEST: 1}, DifferenceKind.GRANTED),
        ({EAST: 1}, {EAST: 1, WEST: 1}, DifferenceKind.GRANTED),
        ({EAST: 2}, {EAST: 1, WEST: 1}, DifferenceKind.OTHER_CLUSTER),
    ],
)
def test_each_request_differs_by_what_would_start_of_it(in_force, shadow, kind):
    (found,) = differences(plans(in_force), plans(shadow), 7.0)
    assert (found.kind, found.attempt, found.key, found.at_s) == (kind, FIRST, KEY, 7.0)
    assert (found.in_force, found.shadow) == (in_force, shadow)


def test_the_same_plans_do_not_differ_nor_does_what_only_one_of_them_looks_at():
    assert not list(differences(plans({EAST: 1}, {}), plans({EAST: 1}, {}), 7.0))
    assert not list(differences(plans({EAST: 1}, {EAST: 1}), plans({EAST: 1}), 7.0))
    assert not list(differences(plans(), plans(), 7.0))


def test_the_order_differs_where_another_is_first_in_line():
    turned = dict(reversed(plans({}, {}).items()))
    (found,) = differences(plans({}, {}), turned, 7.0)
    assert (found.kind, found.attempt, found.key) == (DifferenceKind.ORDER, SECOND, None)
    assert found.in_force_why == f"{FIRST.application} is first"
    assert found.shadow_why == f"{SECOND.application} is first"


def test_both_reasons_are_told():
    waits = RequestPlan(KEY, reason="it waits for one of its named places")
    behind = RequestPlan(KEY, behind=("app1", "app2", "app3"))
    for first, second, why, other in (
        (RequestPlan(KEY, {EAST: 1}), waits, "there is room", "it waits for one of its named places"),
        (behind, RequestPlan(KEY, {EAST: 1}), "behind app1, app2", "there is room"),
        (RequestPlan(KEY), RequestPlan(KEY, {EAST: 1}), "no room is left for it", "there is room"),
    ):
        (found,) = differences({FIRST: (first,)}, {FIRST: (second,)}, 1.0)
        assert (found.in_force_why, found.shadow_why) == (why, other)


def test_a_difference_counts_once_for_as_long_as_it_stands():
    report = a_report()
    for _ in range(3):
        report.compare(plans({EAST: 1}), plans({}), 2.0)
    assert (report.cycles, report.counts[DifferenceKind.HELD], len(report.newest)) == (3, 1, 1)
    report.compare(plans({EAST: 1}), plans({EAST: 1}), 3.0)
    report.compare(plans({EAST: 1}), plans({}), 4.0)
    assert report.counts[DifferenceKind.HELD] == 2
    report.compare(plans({EAST: 1}), plans({WEST: 1}), 5.0)
    assert report.counts == {DifferenceKind.HELD: 2, DifferenceKind.OTHER_CLUSTER: 1}
    assert [each.at_s for each in report.newest] == [2.0, 4.0, 5.0]


def test_only_the_newest_are_remembered():
    report = a_report()
    for number in range(2 * MOST_REMEMBERED):
        attempt = ApplicationAttemptId(ApplicationId(1, number), 1)
        report.compare({attempt: (RequestPlan(KEY, {EAST: 1}),)}, {attempt: (RequestPlan(KEY),)}, float(number))
    assert report.counts[DifferenceKind.HELD] == 2 * MOST_REMEMBERED
    assert len(report.newest) == MOST_REMEMBERED
    assert report.newest[-1].at_s == 2 * MOST_REMEMBERED - 1
