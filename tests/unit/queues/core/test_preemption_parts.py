"""Parts of preemption one by one: what fits, whose loss costs most, and for how many room is being made."""

import pytest

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.preemption import HeldContainer, PreemptionStage
from shim.domain.resources import ResourceVector
from shim.queues.core.preemption import Victim, Victims
from shim.queues.core.preemption_sizes import count_fitting

EAST, WEST = SubClusterId("east"), SubClusterId("west")
UNIT = ResourceVector(1000, 1)


@pytest.mark.parametrize(
    ("memory", "vcores", "count"), [(0, 9, 0), (500, 9, 0), (502, 9, 1), (1500, 9, 1), (1502, 9, 2), (9000, 2, 2)]
)
def test_more_than_half_of_a_container_counts_as_one_and_half_of_one_does_not(memory, vcores, count):
    assert count_fitting(ResourceVector(memory, vcores), UNIT) == count


def test_without_slack_only_whole_containers_fit():
    assert count_fitting(ResourceVector(1999, 9), UNIT, slack=0.0) == 1


def a_victim(number, *, since_s=0.0, memory=1024, stage=PreemptionStage.ASKED, changed_s=0.0, gone_s=None, at=EAST):
    container = ContainerId(ApplicationAttemptId(ApplicationId(1, 1), 1), number)
    held = HeldContainer(container, "root.b", WEST, NodeId("n", 1), ResourceVector(memory, 1), since_s)
    return Victim(held, "root.a", f"g{number}", at, since_s=since_s, changed_s=changed_s, stage=stage, gone_s=gone_s)


def of(*victims, settle_s=5.0, stuck_s=30.0):
    made = Victims(settle_s, stuck_s)
    for victim in victims:
        made.add(victim)
    return made


def test_those_whose_loss_costs_most_are_spared_first():
    young, old, large = a_victim(2, since_s=90.0), a_victim(3, since_s=10.0), a_victim(4, since_s=70.0, memory=8192)
    same = a_victim(1, since_s=90.0)
    found = of(young, old, large, same).dearest(100.0)
    assert [each.container.id.number for each in found] == [4, 3, 1, 2]


def test_a_release_that_is_stuck_makes_room_for_nobody():
    released = {"stage": PreemptionStage.RELEASED, "changed_s": 100.0}
    victims = of(a_victim(2, **released), a_victim(3, changed_s=0.0), a_victim(4, **released, at=WEST))
    assert victims.coming("root.a", 129.9, with_gone=False) == {EAST: 2, WEST: 1}
    assert victims.coming("root.a", 130.0, with_gone=False) == {EAST: 1}, "what is only asked back may take its time"
    assert victims.coming("root.c", 100.0, with_gone=False) == {}
