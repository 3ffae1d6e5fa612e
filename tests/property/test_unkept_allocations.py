"""Tentative allocations that a ResourceManager does not keep: what can be had elsewhere is had in the end.

The model: two clusters, of which one may grant nothing at all, reports that come every few seconds, and attempts that
call every second. Every attempt has its own way of asking: anywhere, or at one named cluster alone.
"""

from dataclasses import dataclass, field, replace
from random import Random

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
from tests.doubles.clock import FakeClock
from tests.doubles.reports import a_report
from tests.doubles.settings import usual
from tests.support.examples import examples
from tests.support.planned import DrivenSplitter

KEY = AskKey(20, -1, is_opportunistic=False, resource=ResourceVector(1024, 1))
EAST, WEST = SubClusterId("east"), SubClusterId("west")
QUEUE = "root.default"
SIZE = 12
PATIENCE = 3
BEATS = 80


def gib(count):
    return ResourceVector(1024 * count, count)


@dataclass
class UnkeptFederation:
    """Two clusters as they are, and what is reported of them.

    Attributes:
        used: Containers that run in each.
        deaf: Clusters that grant nothing.
    """

    deaf: frozenset[SubClusterId]
    used: dict[SubClusterId, int] = field(default_factory=lambda: {EAST: 0, WEST: 0})
    number: int = 0

    def __post_init__(self):
        self.clock, self.view = FakeClock(), FederationView((EAST, WEST), usual(ViewSettings))
        self.launches = LaunchService(self.view, self.clock, 30.0)
        rng = Random(0)  # noqa: S311 - a test
        self.cycles = QueueCycles(
            self.launches, lambda _: "unordered", self.view, self.clock, rng, usual(CycleSettings)
        )
        self.report()

    def report(self):
        self.number += 1
        for name, used in self.used.items():
            node = NodeReport(NodeId(name, 1), "/r", "RUNNING", gib(SIZE), gib(used))
            told = {"polled_at_s": self.clock.wall_s, "documents": {"nodes": b"{}", "scheduler": b"{}"}}
            report = a_report(name, self.number, nodes=(node,), queues=(), **told)
            applied = self.view.apply(report)
            self.launches.reported(report, applied)
            self.cycles.reported(report, applied)

    def capacities(self, home):
        return [
            ClusterCapacity(name, is_home=name == home, free=gib(SIZE), size=gib(SIZE), largest=gib(SIZE), racks=racks)
            for name, racks in ((EAST, {EAST: "/r"}), (WEST, {WEST: "/r"}))
        ]


class Asking:
    """What one attempt wants, and is asked for where."""

    def __init__(self, world, number, home, demand):
        attempt = Attempt(ApplicationAttemptId(ApplicationId(1, number), 1), home, QUEUE, "ada")
        self.world, self.home, self.demand = world, home, demand
        self.splitter = DrivenSplitter(
            world.cycles, attempt, lambda _: QUEUE, usual(SplitSettings, move_after_beats=PATIENCE)
        )
        self.was_allocated = set()

    def beat(self):
        if not self.demand.wanted:
            return
        asked = dict(self.splitter.split(self.demand, self.world.capacities(self.home)))
        assert sum(asked.values()) <= self.demand.wanted
        assert not self.demand.is_strict or set(asked) <= set(self.demand.places)
        for told in self.splitter.decisions:
            self.was_allocated |= {verdict.subcluster for _, verdict in told.verdicts}
        starved = {name: self.demand.starved.get(name, 0) + 1 for name in asked}
        total = self.demand.wanted
        for name in tuple(asked):
            while asked[name] and name not in self.world.deaf and self.world.used[name] < SIZE:
                self.world.used[name] += 1
                asked[name] -= 1
                starved[name], total = 0, total - 1
                self.splitter.granted(KEY, name)
        places = dict.fromkeys(self.demand.places, total)
        self.demand = replace(self.demand, wanted=total, places=places, standing=asked, starved=starved)
        if not total:
            self.splitter.drop(KEY)


@settings(max_examples=examples(100), deadline=None)
@given(
    wanted=st.lists(
        st.tuples(st.sampled_from([EAST, WEST]), st.integers(1, 8), st.sampled_from([None, None, EAST, WEST])),
        min_size=1,
        max_size=5,
    ),
    deaf=st.sampled_from([(), (EAST,), (WEST,)]),
    reports_every=st.integers(1, 5),
)
def test_a_satisfiable_ask_is_granted_in_the_end_and_what_is_not_kept_is_given_up(wanted, deaf, reports_every):
    world = UnkeptFederation(frozenset(deaf))
    attempts = []
    is_any_strict = any(place for _, _, place in wanted)  # room for them is left, wherever the others go
    room = {name: 0 if name in deaf else SIZE // 2 for name in (EAST, WEST)}
    room[None] = SIZE // 2 if is_any_strict else SIZE * (2 - len(deaf))
    for number, (home, count, place) in enumerate(wanted, start=1):
        if count > room[place]:
            continue
        room[place] -= count
        demand = PendingRequest(KEY, count)
        if place is not None:
            demand = replace(demand, named={place: count}, is_strict=True, places=(place,))
        attempts.append(Asking(world, number, home, demand))
    for beat in range(BEATS):
        world.clock.wall_s += 1.0
        if beat % reports_every == 0:
            world.report()
        for attempt in attempts:
            attempt.beat()
        if attempts:
            world.cycles.cycle(QUEUE)
    assert [attempt.demand.wanted for attempt in attempts] == [0] * len(attempts)
    assert sum(world.launches.open_allocations().values()) == 0
    for attempt in attempts:
        if set(deaf) & attempt.was_allocated:
            assert attempt.splitter.repairs, "what the deaf cluster was to grant was given up"
