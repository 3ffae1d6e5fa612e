"""Containers on their way back: until when each counts, for whom room is being made, and what leaves each queue."""

import pytest

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.preemption import HeldContainer, PreemptionStage, ShareSnapshot
from shim.domain.resources import ResourceVector
from shim.queues.core.preemption import Victim, Victims

EAST, WEST = SubClusterId("east"), SubClusterId("west")
UNIT = ResourceVector(1024, 1)


def a_victim(number, *, at=EAST, on=EAST, queue="root.b", taker="root.a", group="", **more):
    name = ContainerId(ApplicationAttemptId(ApplicationId(1, 1), 1), number)
    held = HeldContainer(name, queue, on, NodeId("n", 1), UNIT, 90.0)
    return Victim(held, taker, group or f"g{number}", at, since_s=95.0, changed_s=95.0, **more)


def of(*victims, settle_s=5.0):
    made = Victims(settle_s, stuck_s=30.0)
    for victim in victims:
        made.add(victim)
    return made


def snapshot(at_s, *victims, as_of_s=None):
    held = tuple(victim.container for victim in victims)
    return ShareSnapshot(at_s, UNIT, containers=held, as_of_s={} if as_of_s is None else dict.fromkeys([EAST], as_of_s))


def numbers(victims):
    return [each.container.id.number for each in victims]


def test_a_victim_is_known_until_it_has_been_gone_for_long_enough():
    stays, goes = a_victim(2), a_victim(3)
    victims = of(stays, goes)
    victims.follow(snapshot(100.0, stays, goes))
    assert (len(victims), numbers(victims.active())) == (2, [2, 3])
    victims.follow(snapshot(101.0, stays))
    assert (len(victims), numbers(victims.active()), goes.gone_s) == (2, [2], 101.0)
    victims.follow(snapshot(105.9, stays))
    assert (len(victims), goes.gone_s) == (2, 101.0), "since it was first not held"
    victims.follow(snapshot(106.0, stays))
    assert (len(victims), goes.container.id in victims, stays.container.id in victims) == (1, False, True)
    victims.remove(stays.container.id)
    assert len(victims) == 0


def test_what_is_released_or_gone_can_be_spared_no_more():
    stages = [PreemptionStage.ASKED, PreemptionStage.DEMANDED, PreemptionStage.RELEASED]
    victims = of(*(a_victim(number, stage=stage) for number, stage in enumerate(stages, 2)), a_victim(9, gone_s=99.0))
    assert numbers(victims.dearest(100.0)) == [2, 3]
    assert numbers(victims.active()) == [2, 3, 4]


def test_room_is_being_made_for_one_container_by_each_group():
    victims = of(
        a_victim(2, group="both"), a_victim(3, group="both"), a_victim(4, gone_s=99.0), a_victim(5, taker="root.c")
    )
    assert victims.coming("root.a", 100.0, with_gone=True) == {EAST: 2}
    assert victims.coming("root.a", 100.0, with_gone=False) == {EAST: 1}


def test_what_waits_on_one_cluster_moves_to_where_its_victims_are():
    victims = of(
        a_victim(2, on=WEST, group="both"),
        a_victim(3, on=WEST, group="both"),
        a_victim(4, on=WEST),
        a_victim(5),
        a_victim(6, at=WEST, on=WEST),
        a_victim(7, at=WEST, on=EAST),
        a_victim(8, on=WEST, taker="root.c"),
    )
    assert victims.moving("root.a", EAST) == {WEST: 2}
    assert victims.moving("root.a", WEST) == {EAST: 1}


@pytest.mark.parametrize(("as_of_s", "counts"), [(98.9, True), (99.0, True), (99.1, False), (None, True)])
def test_what_has_gone_leaves_its_queue_until_a_report_shows_it(as_of_s, counts):
    victims = of(a_victim(2), a_victim(3), a_victim(4, gone_s=99.0), a_victim(5, queue="root.c"))
    now = snapshot(100.0, as_of_s=as_of_s)
    assert victims.leaving(now) == {"root.b": UNIT.times(3 if counts else 2), "root.c": UNIT}
