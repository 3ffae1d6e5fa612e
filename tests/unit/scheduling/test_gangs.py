"""Gangs in plans: all of one is granted, or nothing, whichever policy places it."""

import pytest

from shim.scheduling.gangs import partial_gangs, without_gangs, without_grants
from shim.scheduling.plan import Plan, PlannedGrant, Reason, ReasonCode
from shim.scheduling.queue_policies import QUEUE_POLICIES
from shim.scheduling.snapshot import Scope
from tests.support.cycle_scenes import CycleScene

ROOM = Reason(ReasonCode.ROOM)


def a_scene():
    """Two nodes of two slots; a gang of three and two, and two that are by themselves."""
    scene = CycleScene([[2], [2]])
    rows = [scene.ask(3, gang=7), scene.ask(2, gang=7), scene.ask(2)]
    return scene.snapshot(), rows


def test_a_gang_that_lacks_one_container_is_partial_and_one_that_is_all_granted_is_not():
    snapshot, rows = a_scene()
    some = [PlannedGrant(rows[0], 3, Scope.NODE, 0, ROOM), PlannedGrant(rows[1], 1, Scope.NODE, 0, ROOM)]
    assert partial_gangs(Plan(some), snapshot) == {7}
    assert partial_gangs(Plan([*some, PlannedGrant(rows[1], 1, Scope.NODE, 0, ROOM)]), snapshot) == set()


def test_what_is_granted_of_a_partial_gang_is_held_with_the_reason():
    snapshot, rows = a_scene()
    plan = Plan([PlannedGrant(rows[0], 3, Scope.NODE, 0, ROOM), PlannedGrant(rows[2], 1, Scope.NODE, 0, ROOM)])
    left = without_grants(plan, snapshot, {7})
    assert [grant.request for grant in left.grants] == [rows[2]]
    assert {hold.request: hold.count for hold in left.holds} == {rows[0]: 3, rows[1]: 2}
    assert left.holds[0].reason.text == "all 5 of its containers start together or none does; there was room for 3"
    assert without_grants(plan, snapshot, frozenset()) is plan


def test_a_snapshot_without_a_gang_has_the_others():
    snapshot, rows = a_scene()
    assert without_gangs(snapshot, {7}).requests.live.tolist() == [rows[2]]


@pytest.mark.parametrize("name", sorted(QUEUE_POLICIES))
def test_no_policy_of_queues_grants_a_part_and_what_a_gang_leaves_is_the_others(name):
    scene = CycleScene([[2], [2]])
    rows = [scene.ask(3, gang=7), scene.ask(2, gang=7), scene.ask(2)]
    granted = scene.decide(QUEUE_POLICIES[name]).granted()
    assert rows[0] not in granted
    assert rows[1] not in granted
    assert granted.get(rows[2], 0) == 2

    scene = CycleScene([[2], [3]])
    rows = [scene.ask(3, gang=7), scene.ask(2, gang=7)]
    granted = scene.decide(QUEUE_POLICIES[name]).granted()
    assert [granted.get(row, 0) for row in rows] == [3, 2]
