"""Containers that an attempt has: sums that are kept, not counted anew."""

from shim.domain.allocations import PlacementConstraint, TaggedSpot
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from shim.domain.resources import ResourceVector
from shim.scheduling.global_master.held_containers import HeldContainers

ATTEMPT = ApplicationAttemptId(ApplicationId(1, 1), 1)
FIRST, SECOND = (ContainerId(ATTEMPT, number) for number in (2, 3))


def test_sums_follow_what_comes_and_goes():
    held = HeldContainers()
    held.put(FIRST, 10.0, ResourceVector(1024, 1))
    held.put(SECOND, 20.0, ResourceVector(2048, 2))
    assert (len(held), held.began_in_all_s, held.resource) == (2, 30.0, ResourceVector(3072, 3))
    assert held.pop(FIRST) == 10.0
    assert held.pop(FIRST) is None
    assert (len(held), held.began_in_all_s, held.resource) == (1, 20.0, ResourceVector(2048, 2))
    assert list(held.of_known_size()) == [(20.0, ResourceVector(2048, 2), None)]


def test_what_is_said_twice_counts_once_and_a_size_may_come_later():
    held = HeldContainers()
    held.put(FIRST, 10.0, None)
    assert list(held.of_known_size()) == []
    for since_s in (10.0, 8.0):
        held.put(FIRST, since_s, ResourceVector(1024, 1))
    assert (len(held), held.began_in_all_s, held.resource) == (1, 8.0, ResourceVector(1024, 1))
    held.pop(FIRST)
    assert (len(held), held.began_in_all_s, held.resource) == (0, 0.0, ResourceVector())


def test_the_node_of_each_is_told_and_only_those_with_tags_count_as_tagged():
    held, node = HeldContainers(), NodeId("east-1", 45454)
    tagged = TaggedSpot(node, PlacementConstraint(tags=frozenset({"hb"})))
    held.put(FIRST, 10.0, ResourceVector(1024, 1), TaggedSpot(node, PlacementConstraint()))
    held.put(SECOND, 20.0, ResourceVector(1024, 1), tagged)
    assert [spot for _, _, spot in held.of_known_size()] == [node, node]
    assert held.tagged() == (tagged,)
    held.pop(SECOND)
    assert held.tagged() == ()
