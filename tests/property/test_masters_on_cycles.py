"""Several Global Masters plan for queues of their own, on views of their own; Local Masters verify.

The model: two clusters, reports that reach each Global Master when they please, and ResourceManagers that grant what is
asked for while there is room. *Safety*: Local Masters never accept more than is free by their own report. *Liveness*: a
rejection is an event of the next cycle, so that everybody is served in the end and no tentative allocation stays.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, replace
from random import Random

from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from shim.domain.allocations import AskKey, PendingRequest
from shim.domain.ids import ApplicationAttemptId, ApplicationId, NodeId, SubClusterId
from shim.domain.launches import Verdict
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import NodeReport
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.multicluster.core import ClusterCapacity
from shim.multicluster.core.splitter import SplitSettings
from shim.multicluster.queue_cycles import CycleSettings, QueueCycles
from shim.peers.launches import LaunchService, LaunchVerification
from shim.ports.attempt_calls import Attempt
from tests.doubles.clock import FakeClock
from tests.doubles.reports import a_report
from tests.doubles.settings import usual
from tests.support.examples import examples
from tests.support.planned import DrivenSplitter

EAST, WEST = CLUSTERS = SubClusterId("east"), SubClusterId("west")
KEY = AskKey(20, -1, is_opportunistic=False, resource=ResourceVector(1024, 1))
SIZE = 6
MOST_BEATS = 150


def gib(count):
    return ResourceVector(1024 * count, count)


class LocalMasters:
    """Two clusters with the books of their Local Masters; `used` is what really runs, each for `lasts` beats."""

    def __init__(self, lasts):
        self.lasts = lasts
        self.beat = 0
        self.ends = []
        self.clock = FakeClock()
        self.view = FederationView(CLUSTERS, usual(ViewSettings))
        self.books = {name: LaunchVerification(name, self.view, self.clock, 30.0) for name in CLUSTERS}
        self.used = Counter()
        self.number = 0

    def run(self, name):
        """A container is granted."""
        self.used[name] += 1
        self.ends.append((self.beat + self.lasts, name))

    def pass_a_beat(self):
        """A second passes; containers end."""
        self.beat += 1
        self.clock.wall_s += 1.0
        self.used.subtract(name for at, name in self.ends if at <= self.beat)
        self.ends = [(at, name) for at, name in self.ends if at > self.beat]

    def report(self):
        """What both ResourceManagers show now; their own Local Masters have it at once."""
        self.number += 1
        told = {"polled_at_s": self.clock.wall_s, "documents": {"nodes": b"{}", "scheduler": b"{}"}, "queues": ()}
        reports = []
        for name in CLUSTERS:
            node = NodeReport(NodeId(name, 1), "/r", "RUNNING", gib(SIZE), gib(self.used[name]))
            reports.append(a_report(name, self.number, nodes=(node,), **told))
        for each in reports:
            self.books[each.subcluster].reported(each, self.view.apply(each))
        return reports


@dataclass
class Links:
    """Implements `VerifiesLaunches` for one Global Master."""

    sender: str
    masters: LocalMasters

    async def verify_launches(self, subcluster, proposals, news):
        await asyncio.sleep(0)
        local = self.masters.books[subcluster]
        local.verify(self.sender, (), news)
        room = local.book.room(proposals[0].kind) if proposals else 0
        verdicts = local.verify(self.sender, proposals, ())
        assert sum(each.accepted for each in verdicts) <= room, "a Local Master accepts no more than it has"
        return verdicts


class PlanningMaster:
    """A Global Master that owns one queue, in which one application waits."""

    def __init__(self, number, wanted, masters):
        self.queue = f"root.q{number}"
        self.masters = masters
        self.view = FederationView(CLUSTERS, usual(ViewSettings))
        links = Links(f"gm/{number} 1", masters)
        self.launches = LaunchService(self.view, masters.clock, 30.0, links, links.sender)
        rng = Random(number)  # noqa: S311 - a test
        settings_ = usual(CycleSettings)
        self.cycles = QueueCycles(self.launches, lambda _: "fifo", self.view, masters.clock, rng, settings_)
        attempt = Attempt(ApplicationAttemptId(ApplicationId(1, number), 1), EAST, self.queue, "ada")
        self.splitter = DrivenSplitter(
            self.cycles, attempt, lambda _: self.queue, usual(SplitSettings, move_after_beats=3)
        )
        self.demand = PendingRequest(KEY, wanted)
        self.asked = Counter()

    def hear(self, reports):
        for each in reports:
            self.launches.reported(each, self.view.apply(each))
            self.launches.claims_reported(each.subcluster, self.masters.books[each.subcluster].claims())

    def call(self):
        """The ApplicationMaster calls, and says what it lacks."""
        if not self.demand.wanted:
            self.splitter.drop(KEY)
            self.asked = Counter()
            return
        rooms = [ClusterCapacity(name, is_home=name == EAST, size=gib(SIZE), largest=gib(SIZE)) for name in CLUSTERS]
        self.asked = Counter(self.splitter.split(self.demand, rooms))
        assert sum(self.asked.values()) <= self.demand.wanted, "each container is asked for in one place"

    def be_granted(self):
        """ResourceManagers grant what is asked for, while there is room."""
        starved = {name: self.demand.starved.get(name, 0) + 1 for name in self.asked}
        for name in tuple(self.asked):
            while self.asked[name] and self.masters.used[name] < SIZE:
                self.masters.run(name)
                self.asked[name] -= 1
                starved[name] = 0
                self.demand = replace(self.demand, wanted=self.demand.wanted - 1)
                self.splitter.granted(KEY, name)
        self.demand = replace(self.demand, standing=dict(+self.asked), starved=starved)


async def settle():
    for _ in range(6):
        await asyncio.sleep(0)


async def play(wants, hears, lasts):
    """Play until everybody is served; return how many proposals were rejected."""
    local = LocalMasters(lasts)
    masters = [PlanningMaster(number, wanted, local) for number, wanted in enumerate(wants, start=1)]
    for beat in range(MOST_BEATS):
        local.pass_a_beat()
        reports = local.report()
        for number, each in enumerate(masters):
            if beat % hears[number] == 0:
                each.hear(reports)
        for each in masters:
            each.call()
        await settle()
        for each in masters:
            each.be_granted()
        await settle()
        for each in masters:
            each.cycles.cycle(each.queue)
        await settle()
        if not any(each.demand.wanted for each in masters):
            break
    assert not any(each.demand.wanted for each in masters), "everybody is served"
    for each in masters:
        each.call()
    await settle()
    assert not any(each.open for each in local.books.values()), "nothing stays allocated"
    for each in masters:
        await each.launches.close()
    verdicts = sum((each.launches.verdicts for each in masters), Counter())
    return sum(count for (_, verdict), count in verdicts.items() if verdict is Verdict.REJECTED)


@settings(max_examples=examples(60), deadline=None)
@given(
    wants=st.lists(st.integers(1, 2 * SIZE), min_size=2, max_size=4),
    hears=st.lists(st.integers(1, 4), min_size=4, max_size=4),
    lasts=st.integers(1, 6),
)
@example(wants=[12, 12], hears=[1, 4, 1, 1], lasts=6)
def test_masters_that_plan_on_their_own_views_are_served_in_the_end(wants, hears, lasts):
    rejections = asyncio.run(play(wants, hears, lasts))
    event("rejected" if rejections else "no collision")


def test_two_masters_that_plan_for_the_same_room_collide_and_what_was_rejected_is_placed_again():
    assert asyncio.run(play([2 * SIZE, 2 * SIZE], [1, 1], lasts=2)) > 0
