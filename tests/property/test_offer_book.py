"""A book of offers beside a plain model of it: for whom room is kept, until when, and what became of it.

The model counts containers, and adds up the room of each node by itself. *Nothing is lost*: what was offered to
somebody stands, was taken, was returned, or has expired. *No room twice*: offers and what is promised beside them never
hold more of a node than it has. *Others keep theirs*: what is done with one's offers changes no other's.
"""

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from shim.domain.capacity_bids import CapacityOffer, OfferCounts
from shim.domain.ids import NodeId, SubClusterId
from shim.domain.launches import ContainerKind
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import NodeReport
from shim.scheduling.capacity import NodeCapacity
from shim.scheduling.local_master.tentative_allocations import OfferBook
from tests.support.examples import examples

NODES, SIZE = 3, 6
SENDERS = st.sampled_from(["gm/a 1", "gm/b 1"])
KINDS = {size: ContainerKind("root.default", ResourceVector(size, size)) for size in (1, 3)}
SIZES = st.sampled_from(sorted(KINDS))
UNTIL_S = st.sampled_from([2.0, 5.0])
COUNTS = st.integers(1, 2 * SIZE)


class Offers(RuleBasedStateMachine):
    """A book, the nodes that it offers, and promises that others were given on them."""

    @initialize(used=st.lists(st.integers(0, SIZE), min_size=NODES, max_size=NODES))
    def start(self, used):
        self.nodes = NodeCapacity(SubClusterId("east"))
        self.now_s = 0.0
        self.book = OfferBook(self.nodes, lambda: None)
        self.promised: list[tuple[int, dict[int, int]]] = []
        self.made: Counter[str] = Counter()
        self.report(used)

    def report(self, used):
        self.used = list(used)
        self.nodes.apply(
            [
                NodeReport(
                    NodeId(f"n{row}", 1), "/r", "RUNNING", ResourceVector(SIZE, SIZE), ResourceVector(held, held)
                )
                for row, held in enumerate(used)
            ]
        )

    def standing(self, *, without=""):
        """Containers that are offered, by whom they are for, kind and time."""
        found = Counter()
        for each in self.book.standing:
            if each.to != without:
                found[each.to, each.kind, each.until_s] += each.count
        return found

    def room(self, row):
        """What is left of a node by the model's own sums."""
        offered = sum(each.places.get(row, 0) * each.kind.resource.vcores for each in self.book.standing)
        return SIZE - self.used[row] - offered - sum(places.get(row, 0) * size for size, places in self.promised)

    @rule(to=SENDERS, size=SIZES, count=COUNTS, for_s=UNTIL_S)
    def offers_what_there_is(self, to, size, count, for_s):
        slots = [max(0, self.room(row)) // size for row in range(NODES)]
        places: dict[int, int] = {}
        for row, most in enumerate(slots):
            if here := min(most, count - sum(places.values())):
                places[row] = here
        if places:
            before = self.standing()
            self.book.make(to, KINDS[size], places, self.now_s + for_s)
            made = sum(places.values())
            assert self.standing() - before == Counter({(to, KINDS[size], self.now_s + for_s): made})
            self.made[to] += made

    @rule(to=SENDERS, size=SIZES, wanted=COUNTS)
    def somebody_is_promised_what_he_was_offered_and_more(self, to, size, wanted):
        kind = KINDS[size]
        others, before = self.standing(without=to), self.book.left_to(to)[kind]
        lifted = self.book.lift(to)
        assert not self.book.left_to(to)
        places = self.nodes.take(kind, wanted)
        used = sum(places.values())
        assert used >= min(wanted, before), "at least what was offered has room"
        self.promised.append((size, places))
        taken = self.fate(to).taken
        self.book.put_back(lifted, kind, used)
        assert self.standing(without=to) == others
        assert self.fate(to).taken - taken == min(used, before)
        assert self.book.left_to(to)[kind] <= before - min(used, before)

    @rule(to=SENDERS, size=SIZES, most=st.integers(0, SIZE))
    def somebody_wants_less(self, to, size, most):
        others, before = self.standing(without=to), self.book.left_to(to)
        self.book.trim(to, {KINDS[size]: most})
        assert self.standing(without=to) == others
        assert self.book.left_to(to) == Counter({KINDS[size]: min(most, before[KINDS[size]])}) + Counter()

    @rule(to=SENDERS)
    def somebody_is_no_more(self, to):
        others = self.standing(without=to)
        self.book.forget(to)
        assert self.standing() == others
        assert to not in self.book.counts
        self.made[to] = 0

    @rule(for_s=st.sampled_from([1.0, 3.0]))
    def time_passes(self, for_s):
        self.now_s += for_s
        before = self.standing()
        self.book.expire(self.now_s)
        assert self.standing() == Counter({what: count for what, count in before.items() if what[2] > self.now_s})

    @rule(used=st.lists(st.integers(0, SIZE), min_size=NODES, max_size=NODES))
    def a_report_tells_what_the_nodes_hold_and_promises_are_among_it(self, used):
        before = self.standing()
        self.promised.clear()
        self.report(used)
        self.book.lay_again()
        assert self.standing() <= before, "what has no room any more ends, and nothing is offered anew"

    @precondition(lambda self: not self.promised)
    @rule()
    def a_copy_that_is_told_offers_as_much(self):
        told = self.book.told(self.now_s)
        nodes = NodeCapacity(SubClusterId("east"))
        nodes.apply(self.nodes.reports)
        copy = OfferBook(nodes, lambda: None)
        copy.believe((CapacityOffer("gm/z 9", KINDS[1], 1, 1.0),), 0.0)
        copy.believe(told.offers, self.now_s)
        assert copy.left_to("gm/z 9") == Counter(), "what is told stands, and nothing else"
        for to in self.made:
            assert copy.left_to(to) <= self.book.left_to(to)
        nodes.check((each.kind, each.places) for each in copy.standing)

    @rule(size=SIZES, count=COUNTS)
    def somebody_asks_what_there_would_be_without_offers(self, size, count):
        free = [SIZE - self.used[row] - sum(p.get(row, 0) * each for each, p in self.promised) for row in range(NODES)]
        left = self.nodes.left.copy()
        assert self.book.has_room_besides(KINDS[size], count) == (sum(max(0, each) // size for each in free) >= count)
        assert (self.nodes.left == left).all(), "it was only asked"

    def fate(self, to):
        return self.book.counts.get(to, OfferCounts())

    @invariant()
    def every_offer_has_a_fate(self):
        for to, made in self.made.items():
            fate, left = self.fate(to), self.book.left_to(to).total()
            assert fate.made == made
            assert fate.made == fate.taken + fate.returned + fate.expired + left
            assert self.book.to_others(to) == self.standing(without=to).total()

    @invariant()
    def no_room_is_kept_twice(self):
        for row in range(NODES):
            assert self.room(row) == self.nodes.left[row][0] == self.nodes.left[row][1]
            assert self.room(row) >= 0
        assert all(each.count for each in self.book.standing), "none is kept without a place"


TestOfferBook = Offers.TestCase
TestOfferBook.settings = settings(max_examples=examples(60), stateful_step_count=30, deadline=None)
