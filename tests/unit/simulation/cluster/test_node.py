"""A modelled NodeManager: when it sends heartbeats."""

import asyncio

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from shim.domain.resources import ResourceVector
from shim.simulation.cluster.node import KILLED_EXIT_STATUS, NodeManager
from shim.simulation.cluster.spec import NodeManagerSpec, Timing
from shim.simulation.virtual_time import VirtualClock, run_in_virtual_time

FIRST, SECOND = (ContainerId(ApplicationAttemptId(ApplicationId(1, 1), 1), number) for number in (1, 2))


class RecordingTracker:
    """A ResourceManager that notes when it was told what."""

    def __init__(self):
        self.clock, self.life, self.heard, self.orders = VirtualClock(), 1, [], []

    def enter(self, node):  # noqa: ARG002 - the form of the port
        self.heard.append((round(self.clock.now_s(), 1), "enters"))

    def beat(self, node):
        self.heard.append((round(self.clock.now_s(), 1), dict(node.ended)))
        node.ended.clear()
        told, self.orders = self.orders, []
        return told


def heard(story, until_s):
    """What is told by a node that sends a heartbeat every ten seconds, the first after two."""
    tracker = RecordingTracker()
    spec = NodeManagerSpec(NodeId("n1", 1), ResourceVector(4096, 4))
    node = NodeManager(spec, Timing(node_heartbeat_s=10.0, launch_s=0.5), tracker)

    async def main():
        began_s = tracker.clock.now_s()
        node.begin(2.0)
        await asyncio.sleep(3.0)
        await story(node, tracker)
        await asyncio.sleep(began_s + until_s - tracker.clock.now_s())
        tracker.heard = [(round(at_s - began_s, 1), what) for at_s, what in tracker.heard]

    run_in_virtual_time(main())
    return tracker.heard


def test_a_container_that_ended_is_told_of_at_once_and_the_interval_begins_anew():
    async def story(node, tracker):
        node.start(FIRST, 3.5, life=1)

    assert heard(story, 28.0) == [(2.0, "enters"), (7.0, {FIRST: 0}), (17.0, {}), (27.0, {})]


def test_several_that_end_at_one_time_are_told_of_together():
    async def story(node, tracker):
        node.start(FIRST, 3.5, life=1)
        node.start(SECOND, 3.5, life=1)

    assert heard(story, 16.0) == [(2.0, "enters"), (7.0, {FIRST: 0, SECOND: 0})]


def test_what_is_stopped_at_a_heartbeat_is_told_of_by_the_next_at_once():
    async def story(node, tracker):
        node.start(FIRST, 100.0, life=1)
        tracker.orders = [FIRST]

    assert heard(story, 21.0) == [(2.0, "enters"), (12.0, {}), (12.0, {FIRST: KILLED_EXIT_STATUS})]


def test_while_the_resource_manager_is_away_the_next_heartbeat_tells_of_it():
    async def story(node, tracker):
        node.start(FIRST, 3.5, life=1)
        tracker.life = None
        await asyncio.sleep(9.0)  # a heartbeat comes to nothing meanwhile
        tracker.life = 1

    assert heard(story, 23.0) == [(2.0, "enters"), (22.0, {FIRST: 0})]
