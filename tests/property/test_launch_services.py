"""Services of Global Masters and the book of a Local Master, with lost frames and Global Masters that die.

*Safety*: a Local Master never promises what its cluster does not have, nor does a Global Master believe so. *In the
end*: whoever began anew knows what its predecessors were promised after one report and one rejection; and when all is
told, every book tells the same.
"""

import asyncio

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from shim.domain.ids import NodeId, SubClusterId
from shim.domain.launches import ContainerKind, LaunchNews, LaunchVerdict, Verdict
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import NodeReport
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.peers.launches import LaunchService, LaunchVerification
from tests.doubles.clock import FakeClock
from tests.doubles.reports import a_report
from tests.doubles.settings import usual
from tests.support.examples import examples

EAST = SubClusterId("east")
MASTERS = ("a", "b")
LASTS_S = 30.0
GIB = 16
KINDS = tuple(ContainerKind("root.default", ResourceVector(1024 * size, size)) for size in (1, 3))
DOCUMENTS = {"nodes": b"{}", "scheduler": b"{}"}
FATES = ("arrives", "arrives", "arrives twice", "is lost", "its answer is lost")


class Wire:
    """Implements `VerifiesLaunches`: each frame waits for its fate."""

    def __init__(self, world, sender):
        self.world = world
        self.sender = sender
        self.waiting = []

    async def verify_launches(self, subcluster, proposals, news):
        decided = asyncio.get_running_loop().create_future()
        self.waiting.append(decided)
        fate = await decided
        unheard = tuple(LaunchVerdict(subcluster, each.number, Verdict.UNVERIFIED, 0) for each in proposals)
        if fate == "is lost":
            return unheard
        verdicts = self.world.verify(self.sender, proposals, news)
        if fate == "arrives twice":
            assert self.world.verify(self.sender, proposals, news) == verdicts
        return unheard if fate == "its answer is lost" else verdicts


class GlobalMasterLife:
    """One life of a Global Master."""

    def __init__(self, world, name, life):
        self.view = FederationView((EAST,), usual(ViewSettings))
        self.wire = Wire(world, f"{name} {life}")
        self.service = LaunchService(self.view, world.clock, LASTS_S, self.wire)
        self.open = {}

    def judge(self, verdicts):
        for each in verdicts:
            wanted = self.open.get(each.number)
            if wanted is not None and each.verdict is Verdict.REJECTED:
                wanted[0] = each.accepted

    def propose(self, kind, count):
        number, _ = self.service.propose(EAST, "attempt", kind, count, self.judge)
        self.open[number] = [count, 0, 0, kind]

    def tell(self, number, *, honoured=0, withdrawn=0):
        known = self.open[number]
        known[1] += honoured
        known[2] += withdrawn
        self.service.tell(EAST, LaunchNews(number, known[1], known[2]))

    def left(self):
        """Numbers of proposals of which containers are waited for."""
        return sorted(
            number for number, (count, honoured, withdrawn, _) in self.open.items() if count > honoured + withdrawn
        )


class LaunchServices(RuleBasedStateMachine):
    """Two Global Masters, one Local Master, one node."""

    @initialize()
    def start(self):
        self.loop = asyncio.new_event_loop()
        self.clock = FakeClock()
        self.truth = FederationView((EAST,), usual(ViewSettings))
        self.local_master = LaunchVerification(EAST, self.truth, self.clock, LASTS_S)
        self.used = 0
        self.reports = 0
        self.lives = 0
        self.masters = {}
        for name in MASTERS:
            self.begin(name)
        self.report(self.truth, *(master.view for master in self.masters.values()))

    def begin(self, name):
        self.lives += 1
        self.clock.wall_s += 0.01
        self.masters[name] = GlobalMasterLife(self, name, self.lives)

    def verify(self, sender, proposals, news):
        return self.local_master.verify(sender, proposals, news)

    def run(self, act):
        async def acting():
            act()
            for _ in range(5):
                await asyncio.sleep(0)

        self.loop.run_until_complete(acting())

    def report(self, *views):
        self.reports += 1
        self.clock.wall_s += 0.5
        node = NodeReport(
            NodeId("e1", 1),
            "/r",
            "RUNNING",
            ResourceVector(1024 * GIB, GIB),
            ResourceVector(1024 * self.used, self.used),
        )
        told = a_report(
            "east", self.reports, polled_at_s=self.clock.wall_s, nodes=(node,), documents=DOCUMENTS, queues=()
        )
        for view in views:
            view.apply(told)
        self.clock.wall_s += 0.01

    @rule(name=st.sampled_from(MASTERS), kind=st.sampled_from(KINDS), count=st.integers(1, 12))
    def proposes(self, name, kind, count):
        self.run(lambda: self.masters[name].propose(kind, count))

    @rule(name=st.sampled_from(MASTERS), fate=st.sampled_from(FATES), pick=st.integers(0, 99))
    def a_frame(self, name, fate, pick):
        waiting = self.masters[name].wire.waiting
        if waiting:
            decided = waiting.pop(pick % len(waiting))
            self.run(lambda: decided.set_result(fate))

    @rule(name=st.sampled_from(MASTERS), pick=st.integers(0, 99), is_granted=st.booleans())
    def something_becomes_of_a_proposal(self, name, pick, is_granted):
        master = self.masters[name]
        left = master.left()
        if not left:
            return
        number = left[pick % len(left)]
        size = master.open[number][3].resource.vcores
        if not is_granted:
            self.run(lambda: master.tell(number, withdrawn=1))
        elif self.used + size <= GIB:
            self.used += size
            self.run(lambda: master.tell(number, honoured=1))

    @precondition(lambda self: self.used)
    @rule()
    def a_container_ends(self):
        self.used -= 1

    @rule(whose=st.sampled_from([*MASTERS, "the Local GlobalMasterLife", "everybody"]))
    def a_report_arrives(self, whose):
        views = {name: master.view for name, master in self.masters.items()} | {
            "the Local GlobalMasterLife": self.truth
        }
        self.report(*(views.values() if whose == "everybody" else (views[whose],)))

    @rule(name=st.sampled_from(MASTERS))
    def a_global_master_is_killed(self, name):
        self.kill(name)
        self.report(self.truth, *(master.view for master in self.masters.values()))
        self.it_knows_what_others_were_promised(self.masters[name])

    def kill(self, name):
        self.loop.run_until_complete(self.masters[name].service.close())
        self.begin(name)

    def it_knows_what_others_were_promised(self, master):
        """One that begins anew, after a report that everybody has and a rejection."""
        self.run(lambda: master.propose(KINDS[0], GIB + 1))
        self.run(lambda: master.wire.waiting.pop().set_result("arrives"))
        assert self.rooms(master.service.room) == self.rooms(lambda _, kind: self.local_master.book.room(kind))

    def rooms(self, room):
        return [room(EAST, kind) for kind in KINDS]

    @invariant()
    def nobody_allocations_what_is_not_there(self):
        if hasattr(self, "masters"):
            self.local_master.book.check()
            for master in self.masters.values():
                master.service._books[EAST].book.check()

    def teardown(self):
        if not hasattr(self, "masters"):
            return
        for name in MASTERS:
            self.kill(name)
        self.clock.wall_s += LASTS_S + 1.0
        self.report(self.truth, *(master.view for master in self.masters.values()))
        free = GIB - self.used
        for master in self.masters.values():
            assert self.rooms(master.service.room) == [free, free // 3]
            assert master.service.open_allocations() == {EAST: 0}
        assert self.rooms(lambda _, kind: self.local_master.book.room(kind)) == [free, free // 3]
        self.loop.close()


TestDesks = LaunchServices.TestCase
TestDesks.settings = settings(max_examples=examples(100), stateful_step_count=30, deadline=None)
