"""Two queues of one federation with different policies: neither takes what the other has, and both are served.

The model: two clusters of three nodes, whose ResourceManagers grant what they are asked for where it fits; reports come
every beat, ApplicationMasters call every beat. Policies that ask a solver have one, which has no answer now and then.
"""

from dataclasses import dataclass, field
from itertools import cycle
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shim.domain.allocations import AskKey, PendingRequest
from shim.domain.ids import ApplicationAttemptId, ApplicationId, NodeId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import NodeReport
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.multicluster.core import ClusterCapacity
from shim.multicluster.core.splitter import SplitSettings
from shim.multicluster.queue_cycles import CycleSettings, QueueCycles
from shim.peers.launches import LaunchService
from shim.ports.attempt_calls import Attempt
from shim.scheduling.queue_policies import QUEUE_POLICIES
from tests.doubles.clock import FakeClock
from tests.doubles.reports import a_queue_report, a_report
from tests.doubles.settings import usual
from tests.support.examples import examples
from tests.support.planned import DrivenSplitter
from tests.support.solver_in_step import SolverInStep

EAST, WEST = SubClusterId("east"), SubClusterId("west")
QUEUES = ("root.first", "root.second")
POLICIES = ("unordered", *QUEUE_POLICIES)
GIB, NODE_GIB, N_NODES = 1024, 4, 3
MOST_GIB = 8
"""What a queue may have in a cluster: each less than there is, both together more."""
ENOUGH_BEATS = 150


def gib(count):
    return ResourceVector(GIB * count, count)


@dataclass
class Running:
    queue: str
    node: int
    size: int
    until: int


@dataclass
class Application:
    """One ApplicationMaster with one kind of containers."""

    queue: str
    splitter: DrivenSplitter
    key: AskKey
    wanted: int
    host: str
    asked: dict[SubClusterId, int] = field(default_factory=dict)
    starved: dict[SubClusterId, int] = field(default_factory=dict)

    def call(self, rooms):
        if not self.wanted:
            self.splitter.drop(self.key)
            self.asked = {}
            return
        places = {self.host: self.wanted} if self.host else {}
        self.asked = dict(
            self.splitter.split(PendingRequest(self.key, self.wanted, places, starved=dict(self.starved)), rooms)
        )

    @property
    def decisions(self):
        return [(each.key, each.wanted, each.asked, each.promised) for each in self.splitter.decisions]


class Federation:
    def __init__(self, policies, drawn, has_answer=lambda: True, shadow="none"):
        self.clock = FakeClock()
        self.view = FederationView((EAST, WEST), usual(ViewSettings))
        self.launches = LaunchService(self.view, self.clock, 30.0)
        orders = dict(zip(QUEUES, policies, strict=True))
        settings = usual(CycleSettings, starvation_s=20.0)
        rng, self.solver = Random(0), SolverInStep(has_answer)  # noqa: S311 - a test
        self.cycles = QueueCycles(
            self.launches,
            orders.get,
            self.view,
            self.clock,
            rng,
            settings,
            solve=self.solver.solve,
            shadow_of=lambda _: shadow,
        )
        self.running = {EAST: [], WEST: []}
        self.beats = 0
        self.report()
        self.applications = []
        for number, (queue, size, wanted, node) in enumerate(drawn):
            attempt = Attempt(ApplicationAttemptId(ApplicationId(1, number + 1), 1), EAST, QUEUES[queue], "ada")
            splitter = DrivenSplitter(
                self.cycles, attempt, lambda _, path=QUEUES[queue]: path, usual(SplitSettings, move_after_beats=3)
            )
            key = AskKey(20, -1, is_opportunistic=False, resource=gib(size))
            host = "" if node is None else f"{(EAST, WEST)[node % 2]}{node // 2}"
            self.applications.append(Application(QUEUES[queue], splitter, key, wanted, host))

    @property
    def rooms(self):
        racks = {name: {f"{name}{node}": "/r" for node in range(N_NODES)} for name in (EAST, WEST)}
        return [
            ClusterCapacity(name, is_home=name == EAST, size=gib(12), largest=gib(4), racks=racks[name])
            for name in (EAST, WEST)
        ]

    def used(self, name, *, queue=None, node=None):
        found = (each for each in self.running[name] if queue in (None, each.queue) and node in (None, each.node))
        return sum(each.size for each in found)

    def report(self):
        self.clock.wall_s += 1.0
        for name in (EAST, WEST):
            nodes = tuple(
                NodeReport(NodeId(f"{name}{node}", 1), "/r", "RUNNING", gib(NODE_GIB), gib(self.used(name, node=node)))
                for node in range(N_NODES)
            )
            queues = tuple(
                a_queue_report(path, maximum=gib(MOST_GIB), used=gib(self.used(name, queue=path))) for path in QUEUES
            )
            documents = {"nodes": b"{}", "scheduler": b"{}"}
            told = a_report(
                name, self.beats + 1, polled_at_s=self.clock.wall_s, nodes=nodes, queues=queues, documents=documents
            )
            applied = self.view.apply(told)
            self.launches.reported(told, applied)
            self.cycles.reported(told, applied)

    def beat(self):
        """Calls, one cycle of each queue, grants, ends, a report."""
        self.beats += 1
        for each in self.applications:
            each.call(self.rooms)
        for queue in QUEUES:
            if any(each.queue == queue for each in self.applications):
                self.cycle(queue)
        for name in (EAST, WEST):
            for each in self.applications:
                self.grant(name, each)
            self.running[name] = [each for each in self.running[name] if each.until > self.beats]
        self.report()

    def cycle(self, queue):
        """A cycle of a queue changes nothing that the other one has, and promises no more than there is."""
        others = [each for each in self.applications if each.queue != queue]
        before = [each.decisions for each in others]
        self.solver.run_cycle(self.cycles, queue)
        assert [each.decisions for each in others] == before
        for path in QUEUES:
            capacity = self.launches.capacity(lambda _, path=path: path)
            assert all((room.left >= 0).all() for room in capacity.nodes.values())
            assert all(left is None or left.memory_mib >= 0 for left in capacity.queue_left.values())

    def grant(self, name, application):
        """Grant what is asked for, at a pinned host if there is one, where it fits."""
        size, before = application.key.resource.memory_mib // GIB, application.wanted
        while application.asked.get(name, 0) and application.wanted:
            pins = application.splitter.splitter.pins(application.key).get(name, {})
            is_bound = sum(pins.values()) >= application.asked[name]
            nodes = [node for node in range(N_NODES) if not is_bound or pins.get(f"{name}{node}")]
            free = (node for node in nodes if NODE_GIB - self.used(name, node=node) >= size)
            node = next(free, None)
            if node is None or self.used(name, queue=application.queue) + size > MOST_GIB:
                break
            self.running[name].append(Running(application.queue, node, size, self.beats + 3))
            application.asked[name] -= 1
            application.wanted -= 1
            application.splitter.granted(application.key, name, f"{name}{node}")
        if application.wanted < before:
            application.starved[name] = 0
        elif application.asked.get(name):
            application.starved[name] = application.starved.get(name, 0) + 1


applications = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from([1, 1, 2, 4]),
        st.integers(1, 8),
        st.one_of(st.none(), st.integers(0, 2 * N_NODES - 1)),
    ),
    min_size=1,
    max_size=6,
)


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=examples(25), deadline=None)
@given(other=st.sampled_from(POLICIES), drawn=applications, answers=st.lists(st.booleans(), min_size=1, max_size=4))
def test_neither_queue_takes_from_the_other_and_everybody_is_served(policy, other, drawn, answers):
    federation = Federation((policy, other), drawn, cycle(answers).__next__)
    while any(each.wanted for each in federation.applications) and federation.beats < ENOUGH_BEATS:
        federation.beat()
    assert [each.wanted for each in federation.applications] == [0] * len(drawn)


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=examples(8), deadline=None)
@given(shadow=st.sampled_from(sorted(QUEUE_POLICIES)), drawn=applications)
def test_a_policy_in_the_shadow_changes_nothing(policy, shadow, drawn):
    alone, shadowed = (Federation((policy, policy), drawn, shadow=each) for each in ("none", shadow))
    for _ in range(25):
        alone.beat()
        shadowed.beat()
        assert shadowed.running == alone.running
        for one, other in zip(alone.applications, shadowed.applications, strict=True):
            assert one.decisions == other.decisions
