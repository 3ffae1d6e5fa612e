"""A Local Master's promises, with everything lost, repeated or in disorder: nothing is promised twice.

The model: a cluster whose nodes hold what was granted, reports that are old when they arrive, and Global Masters that
say things once, twice, late or never.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from shim.domain.ids import NodeId, SubClusterId
from shim.domain.launches import ContainerKind, LaunchNews, LaunchProposal, Verdict
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import NodeReport
from shim.scheduling.local_master.tentative_allocations import TentativeAllocations
from tests.support.examples import examples

EAST = SubClusterId("east")
MASTERS = ("gm/a", "gm/b", "gm/c")
LASTS_S = 20.0
NODE = ResourceVector(8, 8)
KINDS = tuple(
    ContainerKind("root.default", ResourceVector(size, size), label) for size in (1, 3, 5) for label in ("", "gpu")
)
KINDS += tuple(
    ContainerKind("root.default", ResourceVector(size, size), label, places)
    for size, label, places in ((3, "", ("n1",)), (1, "", ("n0", "n2")), (1, "", ("/r",)), (1, "gpu", ("n0",)))
)
LABELS = ((), (), ("gpu",))


class TentativeAllocationsMachine(RuleBasedStateMachine):
    """The book, the cluster, and the wires between the book and those who propose."""

    @initialize()
    def start(self):
        self.book = TentativeAllocations(EAST, LASTS_S)
        self.log = []
        self.now_s = 1000.0
        self.used = [0] * len(LABELS)
        self.numbers = dict.fromkeys(MASTERS, 0)
        self.wire = []
        self.delivered = []
        self.promised = {}
        self.news = {}
        self._report(self._look())

    def _do(self, method, *arguments):
        self.log.append((method, arguments))
        return getattr(self.book, method)(*arguments)

    def _look(self):
        nodes = tuple(
            NodeReport(NodeId(f"n{row}", 1), "/r", "RUNNING", NODE, ResourceVector(used, used), LABELS[row])
            for row, used in enumerate(self.used)
        )
        return nodes, {}, self.now_s

    def _report(self, look):
        self._do("apply", *look)

    def _deliver(self, message):
        kind, sender, content = message
        if kind == "news":
            self._do("tell", sender, content, self.now_s)
            return
        self._do("expire", self.now_s)
        before, room = self.book.open, self.book.room(content.kind)
        verdict = self._do("propose", sender, content, self.now_s)
        key = (sender, content.number)
        if key in self.promised:
            assert verdict.accepted == self.promised[key], "a repeated proposal has the first answer"
            return
        self.promised[key] = verdict.accepted
        came_late = verdict.accepted == 0 and key in self.news  # its end was told before its beginning
        assert came_late or verdict.accepted == min(room, content.count)
        assert self.book.open == before + verdict.accepted
        assert (verdict.verdict is Verdict.ACCEPTED) == (verdict.accepted >= content.count)

    @rule(master=st.sampled_from(MASTERS), kind=st.sampled_from(KINDS), count=st.integers(1, 6))
    def proposes(self, master, kind, count):
        self.numbers[master] += 1
        self.wire.append(("proposal", master, LaunchProposal(self.numbers[master], "attempt", kind, count)))

    @precondition(lambda self: self.wire)
    @rule(pick=st.integers(0, 99), fate=st.sampled_from(["arrives", "arrives", "arrives twice", "is lost"]))
    def a_message(self, pick, fate):
        message = self.wire.pop(pick % len(self.wire))
        for _ in range({"arrives": 1, "arrives twice": 2, "is lost": 0}[fate]):
            self._deliver(message)
            self.delivered.append(message)

    @precondition(lambda self: self.delivered)
    @rule(pick=st.integers(0, 99))
    def an_old_message_arrives_again(self, pick):
        self._deliver(self.delivered[pick % len(self.delivered)])

    @precondition(lambda self: any(self.promised.values()))
    @rule(pick=st.integers(0, 99), granted=st.booleans(), count=st.integers(1, 3), node=st.integers(0, 2))
    def something_becomes_of_a_promise(self, pick, granted, count, node):
        held = sorted(key for key, accepted in self.promised.items() if accepted)
        key = held[pick % len(held)]
        honoured, withdrawn = self.news.get(key, (0, 0))
        count = min(count, self.promised[key] - honoured - withdrawn)
        if count <= 0:
            return
        if granted:  # the ResourceManager puts them where it likes
            honoured += count
            self.used[node] = min(NODE.memory_mib, self.used[node] + count)
        else:
            withdrawn += count
        self.news[key] = (honoured, withdrawn)
        self.wire.append(("news", key[0], LaunchNews(key[1], honoured, withdrawn)))

    @rule(node=st.integers(0, 2), held=st.integers(0, 8))
    def others_use_the_cluster(self, node, held):
        self.used[node] = held

    @rule(kind=st.sampled_from(KINDS), node=st.integers(0, 2))
    def something_is_granted_that_nobody_promised(self, kind, node):
        room, size = self.book.room(kind), kind.resource.memory_mib
        self.used[node] = min(NODE.memory_mib, self.used[node] + size)
        self._do("took", "attempt", kind, self.now_s)
        assert self.book.room(kind) == max(0, room - 1)

    @invariant()
    def nothing_is_lost_that_was_not_promised(self):
        for (master, number), accepted in getattr(self, "promised", {}).items():
            assert 0 <= self.book.lost(master, number) <= accepted

    @rule(late=st.booleans())
    def a_report_arrives(self, late):
        look = self._look()
        if not late:
            self._report(look)
        self.now_s += 0.5
        if late:
            self._report(look)
            self._report(look)

    @rule(for_s=st.sampled_from([0.1, 1.0, 25.0]))
    def time_passes(self, for_s):
        self.now_s += for_s

    @invariant()
    def nothing_is_promised_twice(self):
        if hasattr(self, "book"):
            self.book.check()

    def teardown(self):
        if not hasattr(self, "book"):
            return
        self._replays_alike()
        # when everybody is silent, everything that is free can be had again
        self.now_s += LASTS_S + 1
        self.used = [0] * len(LABELS)
        self._report(self._look())
        self._do("expire", self.now_s)
        assert self.book.open == 0
        assert [self.book.room(kind) for kind in KINDS] == [16, 8, 4, 2, 2, 1, 2, 8, 16, 0]

    def _replays_alike(self):
        again = TentativeAllocations(EAST, LASTS_S)
        for method, arguments in self.log:
            getattr(again, method)(*arguments)
        assert [again.room(kind) for kind in KINDS] == [self.book.room(kind) for kind in KINDS]
        assert again.open == self.book.open


TestPromises = TentativeAllocationsMachine.TestCase
TestPromises.settings = settings(max_examples=examples(150), stateful_step_count=30, deadline=None)
