"""Gangs among the attempts of a queue: what is a part, and what never fits."""

import pytest

from shim.domain.allocations import AskKey, GangDemand, PendingRequest
from shim.domain.ids import SubClusterId
from shim.domain.resources import ResourceVector
from shim.scheduling.queue_planner import could_ever_start, partial_rows

EAST, WEST = SubClusterId("east"), SubClusterId("west")
SMALL = ResourceVector(1024, 1)


def a_request(wanted, gang=5, **more):
    gang = GangDemand(gang) if gang else None
    return PendingRequest(AskKey(1, -1, is_opportunistic=False, resource=SMALL), wanted, gang=gang, **more)


@pytest.mark.parametrize(
    ("starts", "partial"),
    [
        ({0: {EAST: 3}, 1: {EAST: 1, WEST: 1}}, []),
        ({0: {EAST: 3}, 1: {WEST: 1}}, [0, 1]),
        ({1: {EAST: 2}}, [0, 1]),
        ({}, []),
        ({2: {EAST: 1}}, []),
    ],
)
def test_a_gang_of_which_a_part_would_start_is_partial(starts, partial):
    rows = [(a_request(3), 0), (a_request(2), 1), (a_request(4, gang=0), 2)]
    assert list(partial_rows(rows, starts)) == partial


def test_what_is_allocated_by_now_is_not_waited_for():
    assert not partial_rows([(a_request(3, tentative={EAST: 2}), 0)], {0: {WEST: 1}})


@pytest.mark.parametrize(("total", "could"), [(SMALL.times(5), True), (SMALL.times(4), False)])
def test_a_gang_larger_than_all_nodes_never_starts(total, could):
    assert could_ever_start([a_request(3), a_request(2), a_request(90, gang=0)], total) is could
    assert not could_ever_start([a_request(3, gang=0)], total)
