"""Offers to Global Masters that say things once, twice, late or never, and die: no room is kept twice, nor for ever.

*Safety*: what is promised and offered is never more than the newest report has room for; no offer outlives its time;
whoever is not offered room never has what is offered to another. *The best first*: after a report nobody is offered
room while a better bid goes without. *Nobody starves*: whoever keeps on bidding is offered room, whatever better bids
there are that take nothing.
"""

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from shim.domain.capacity_bids import CapacityBid, CapacityBidLine
from shim.domain.ids import GlobalMasterId, NodeId, SubClusterId
from shim.domain.launches import ConflictKind, ContainerKind, LaunchNews, LaunchProposal
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import NodeReport
from shim.scheduling.local_master.offers import CapacityOffers
from shim.scheduling.local_master.tentative_allocations import TentativeAllocations
from tests.support.examples import examples

MASTERS = tuple(GlobalMasterId(name) for name in ("gm/a", "gm/b", "gm/c"))
NODES, SIZE = 3, 8
OFFER_S = 2.0
KINDS = tuple(ContainerKind("root.default", ResourceVector(size, size)) for size in (1, 3))
ranks = st.tuples(st.integers(-1, 0), st.integers(0, 8), st.integers(-5, 5))
lines = st.builds(CapacityBidLine, ranks, st.sampled_from(KINDS), st.integers(0, 20), term=st.integers(0, 2))


class Offers(RuleBasedStateMachine):
    """A Local Master's book and offers, and Global Masters."""

    @initialize()
    def start(self):
        self.book = TentativeAllocations(SubClusterId("east"), 20.0)
        self.offers = CapacityOffers(self.book, OFFER_S)
        self.now_s = 1000.0
        self.used = [0] * NODES
        self.lives = dict.fromkeys(MASTERS, 1)
        self.versions = dict.fromkeys(MASTERS, 0)
        self.number = 0
        self.promised = {}
        self.bids = []
        self.a_report_arrives()

    def sender(self, name):
        return f"{name} {self.lives[name]}"

    @rule(name=st.sampled_from(MASTERS), what=st.lists(lines, max_size=3))
    def bids_for_room(self, name, what):
        self.versions[name] += 1
        bid = CapacityBid(name, self.lives[name], self.versions[name], tuple(sorted(what, key=lambda line: line.rank)))
        self.bids.append(bid)
        self.offers.place(bid, self.now_s)

    @rule(pick=st.integers(0, 99))
    def an_old_bid_arrives_again(self, pick):
        if self.bids:
            before = self.offers.told(self.now_s)
            self.offers.place(self.bids[pick % len(self.bids)], self.now_s)
            assert self.offers.told(self.now_s) == before

    @rule(name=st.sampled_from(MASTERS))
    def a_global_master_begins_anew(self, name):
        self.lives[name] += 1
        self.versions[name] = 0

    @rule(name=st.sampled_from(MASTERS), kind=st.sampled_from(KINDS), count=st.integers(1, 9))
    def proposes(self, name, kind, count):
        self.number += 1
        told = self.offers.told(self.now_s).offers
        to_others = sum(each.count for each in told if each.to != self.sender(name))
        verdict = self.book.propose(self.sender(name), LaunchProposal(self.number, "x", kind, count), self.now_s)
        self.promised[self.sender(name), self.number] = [verdict.accepted, kind]
        left = self.offers.told(self.now_s).offers
        assert sum(each.count for each in left if each.to != self.sender(name)) == to_others, "others keep theirs"
        if verdict.conflict is ConflictKind.OFFERED:
            assert to_others, "there is somebody to whom it is offered"

    @rule(pick=st.integers(0, 99), is_granted=st.booleans(), node=st.integers(0, NODES - 1))
    def something_becomes_of_a_promise(self, pick, is_granted, node):
        if self.promised:
            (sender, number), (accepted, kind) = sorted(self.promised.items(), key=str)[pick % len(self.promised)]
            del self.promised[sender, number]
            if is_granted:
                held = self.used[node] + accepted * kind.resource.vcores
                self.used[node] = min(SIZE, held)
            self.book.tell(sender, LaunchNews(number, *((accepted, 0) if is_granted else (0, accepted))), self.now_s)

    @rule(node=st.integers(0, NODES - 1), held=st.integers(0, SIZE))
    def others_use_the_cluster(self, node, held):
        self.used[node] = held

    @rule(for_s=st.sampled_from([0.5, 1.0, OFFER_S, 11.0]))
    def time_passes(self, for_s):
        self.now_s += for_s

    @rule()
    def a_report_arrives(self):
        self.now_s += 0.25
        nodes = tuple(
            NodeReport(NodeId(f"n{row}", 1), "/r", "RUNNING", ResourceVector(SIZE, SIZE), ResourceVector(used, used))
            for row, used in enumerate(self.used)
        )
        self.book.apply(nodes, {}, self.now_s)
        self.offers.decide(self.now_s)

    @invariant()
    def no_more_is_kept_than_there_is(self):
        if hasattr(self, "book"):
            self.book.check()

    @invariant()
    def no_offer_outlives_its_time(self):
        if hasattr(self, "book"):
            told = self.offers.told(self.now_s).offers
            assert all(0.0 < each.for_s <= OFFER_S for each in told)

    @invariant()
    def all_that_was_offered_is_accounted_for(self):
        if not hasattr(self, "book"):
            return
        told = self.offers.told(self.now_s)
        for to, counts in told.counts.items():
            stand = sum(each.count for each in told.offers if each.to == to)
            assert counts.made == counts.taken + counts.returned + counts.expired + stand

    @invariant()
    def nobody_is_offered_more_than_he_bids_for(self):
        if not hasattr(self, "book"):
            return
        newest = {bid.global_master: bid for bid in sorted(self.bids, key=lambda bid: (bid.incarnation, bid.version))}
        for name, bid in newest.items():
            stand = sum(each.count for each in self.book.offered.standing if each.to == f"{name} {bid.incarnation}")
            assert stand <= sum(line.count for line in bid.lines)


TestOffers = Offers.TestCase
TestOffers.settings = settings(max_examples=examples(60), stateful_step_count=30, deadline=None)


def a_cluster(free):
    nodes = tuple(
        NodeReport(
            NodeId(f"n{row}", 1), "/r", "RUNNING", ResourceVector(SIZE, SIZE), ResourceVector(*[SIZE - count] * 2)
        )
        for row, count in enumerate(free)
    )
    book = TentativeAllocations(SubClusterId("east"), 20.0)
    return book, CapacityOffers(book, OFFER_S), nodes


@settings(max_examples=examples(80), deadline=None)
@given(
    free=st.lists(st.integers(0, SIZE), min_size=1, max_size=4),
    wants=st.lists(st.tuples(ranks, st.integers(1, 12)), min_size=2, max_size=4),
)
def test_nobody_is_offer_book_while_a_better_bid_goes_without(free, wants):
    book, offers, nodes = a_cluster(free)
    for number, (rank, count) in enumerate(wants):
        offers.place(CapacityBid(GlobalMasterId(f"gm/{number}"), 1, 1, (CapacityBidLine(rank, KINDS[0], count),)), 10.0)
    book.apply(nodes, {}, 10.0)
    offers.decide(10.0)
    had = [sum(book.offered.left_to(f"gm/{number} 1").values()) for number in range(len(wants))]
    assert sum(had) == min(sum(free), sum(count for _, count in wants)), "no room is left while somebody wants it"
    for number, (rank, count) in enumerate(wants):
        if had[number] < count:
            assert not any(had[other] for other, (its, _) in enumerate(wants) if its > rank)


@settings(max_examples=examples(40), deadline=None)
@given(n_better=st.integers(1, 3), every_s=st.sampled_from([0.5, 1.0, 3.0]))
def test_whoever_keeps_on_bidding_is_offer_book_though_better_bids_take_nothing(n_better, every_s):
    book, offers, nodes = a_cluster([4])
    now_s, last_s = 10.0, 10.0
    for number in range(200):
        for better in range(n_better):
            line = CapacityBidLine((0, 0, better), KINDS[0], 9)
            offers.place(CapacityBid(GlobalMasterId(f"gm/{better}"), 1, number + 1, (line,)), now_s)
        offers.place(
            CapacityBid(GlobalMasterId("gm/z"), 1, number + 1, (CapacityBidLine((0, 8, 9), KINDS[0], 4),)), now_s
        )
        book.apply(nodes, {}, now_s)
        offers.decide(now_s)
        left = book.offered.left_to("gm/z 1")
        if left:
            last_s = now_s
            verdict = book.propose("gm/z 1", LaunchProposal(number, "z", KINDS[0], 4), now_s)
            book.tell("gm/z 1", LaunchNews(number, 0, verdict.accepted), now_s)
        assert now_s - last_s <= 4 * n_better * (OFFER_S + every_s)
        now_s += every_s
