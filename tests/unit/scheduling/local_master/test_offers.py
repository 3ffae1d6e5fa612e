import pytest

from shim.domain.capacity_bids import CapacityBid, CapacityBidLine, OfferCounts
from shim.domain.ids import GlobalMasterId, NodeId, SubClusterId
from shim.domain.launches import ConflictKind, ContainerKind, LaunchProposal
from shim.domain.messages import Bid, BidLine
from shim.domain.queues import QueueReport, QueueState
from shim.domain.resources import Need, ResourceVector
from shim.domain.subclusters import NodeReport
from shim.scheduling.local_master.events import NodeSpec
from shim.scheduling.local_master.offers import BIDS_LAST_S, BidBook, CapacityOffers, Winner, divide_nodes
from shim.scheduling.local_master.tentative_allocations import TentativeAllocations
from shim.scheduling.local_master.verify import Truth

SLOT = Need((1,))
GPU = Need((1,), frozenset({"label:gpu"}))


def a_bid(name, rank, need=SLOT, version=1, count=5, incarnation=1):
    return Bid(name, incarnation, version, (BidLine((0, 0, rank), need, count),))


def a_bid_of_both(name, long_rank, short_rank):
    """A bid for long tasks and for short ones."""
    lines = [BidLine((0, 0, long_rank), SLOT, 1, is_long=True), BidLine((0, 0, short_rank), SLOT, 1)]
    return Bid(name, 1, 1, tuple(sorted(lines, key=lambda line: line.rank)))


def a_winner(global_master, key):
    return Winner(global_master, key)


@pytest.fixture
def truth():
    return Truth([NodeSpec((1,)), NodeSpec((1,), frozenset({"label:gpu"}))], ("ga", "gb"), 1)


@pytest.mark.parametrize(
    ("bids", "node", "released_by", "winner"),
    [
        ([], 0, None, None),
        ([a_bid("ga", 5)], 1, None, a_winner("ga", None)),
        ([a_bid("ga", 5), a_bid("gb", 3)], 0, None, a_winner("gb", (0, 0, 5))),
        ([a_bid("gb", 5), a_bid("ga", 5)], 0, None, a_winner("ga", (0, 0, 5))),
        ([a_bid("ga", 5), a_bid("gb", 5)], 1, None, a_winner("gb", (0, 0, 5))),
        ([a_bid("gc", 5), a_bid("gd", 5)], 0, "gd", a_winner("gd", (0, 0, 5))),
        ([a_bid("ga", 1, GPU), a_bid("gb", 9)], 0, None, a_winner("gb", None)),
        ([a_bid("ga", 1, GPU), a_bid("gb", 9)], 1, None, a_winner("ga", (0, 0, 9))),
    ],
)
def test_capacity_goes_where_it_is_needed_most_then_to_its_owner_then_back(truth, bids, node, released_by, winner):
    book = BidBook()
    for bid in bids:
        book.place(bid)
    assert book.best_for(truth, node, released_by) == winner


def test_an_older_bid_never_replaces_a_newer_one(truth):
    book = BidBook()
    assert book.place(a_bid("ga", 5, version=2))
    assert not book.place(a_bid("ga", 1, version=1))
    assert book.best_for(truth, 0, None) == a_winner("ga", None)
    assert book.place(Bid("ga", 2, 1, ()))
    assert book.is_empty
    assert book.version_of("ga") == 1


def test_one_waiting_task_draws_one_offer(truth):
    book = BidBook()
    book.place(a_bid("ga", 1, count=1))
    book.place(a_bid("gb", 2))
    book.unanswered["ga"] = 1
    assert book.best_for(truth, 0, None) == a_winner("gb", None)


def test_who_went_away_wants_nothing():
    book = BidBook()
    book.place(a_bid("ga", 1))
    book.forget("ga")
    assert book.is_empty
    assert book.version_of("ga") == 0


def test_room_for_short_tasks_goes_to_the_best_bid_for_those_whatever_else_is_bid_for(truth):
    for book, winner in (
        (BidBook(0), Winner("ga", (0, 0, 3))),
        (BidBook(2), Winner("gb", (0, 0, 9), is_for_short=True)),
    ):
        book.place(a_bid_of_both("ga", 1, 9))
        book.place(a_bid_of_both("gb", 3, 5))
        assert book.best_for(truth, 0, None) == winner


def test_nobody_wins_room_for_short_tasks_who_has_long_ones_alone(truth):
    book = BidBook(2)
    book.place(Bid("ga", 1, 1, (BidLine((0, 0, 1), SLOT, 1, is_long=True),)))
    assert book.best_for(truth, 0, None) is None


@pytest.mark.parametrize(
    ("n_nodes", "owners", "divided"),
    [
        (4, ("a", "b"), ("a", "a", "b", "b")),
        (5, ("a", "b"), ("a", "a", "a", "b", "b")),
        (1, ("a", "b"), ("a",)),
        (0, ("a",), ()),
    ],
)
def test_nodes_are_divided_into_contiguous_ranges_of_almost_equal_size(n_nodes, owners, divided):
    assert divide_nodes(n_nodes, owners) == divided


def test_nobody_cannot_own_nodes():
    with pytest.raises(ValueError, match="no Global Masters"):
        divide_nodes(3, ())


A, B = GlobalMasterId("gm/a"), GlobalMasterId("gm/b")
OFFER_S = 2.0


def gib(count: int) -> ResourceVector:
    return ResourceVector(1024 * count, count)


def a_kind(size: int = 1, queue: str = "root.prod", label: str = "") -> ContainerKind:
    return ContainerKind(queue, gib(size), label)


class Desk:
    """A Local Master's book and its offers, at a time that tests set."""

    def __init__(self, offer_s: float = OFFER_S) -> None:
        self.book = TentativeAllocations(SubClusterId("east"), 30.0)
        self.offers = CapacityOffers(self.book, offer_s)
        self.at_s = 100.0
        self.version = self.number = 0

    def report(self, *free: int, most: int = 100, labels: tuple[str, ...] = ()) -> None:
        nodes = tuple(
            NodeReport(NodeId(f"n{row}", 1), "/r", "RUNNING", gib(8), gib(8 - count), labels)
            for row, count in enumerate(free)
        )
        queues = {
            path: QueueReport(
                path=path, state=QueueState.RUNNING, is_leaf=True, capacity=gib(most), maximum=gib(most), used=gib(0)
            )
            for path in ("root.prod", "root.dev")
        }
        self.book.apply(nodes, queues, self.at_s)
        self.offers.decide(self.at_s)
        self.book.check()

    def bid(
        self,
        name: GlobalMasterId,
        rank: int,
        count: int,
        *,
        kind: ContainerKind | None = None,
        life: int = 1,
        term: int = 0,
        version: int = 0,
    ) -> None:
        self.version += 1
        line = CapacityBidLine((0, 8, rank), kind or a_kind(), count, "root.prod", term)
        self.offers.place(CapacityBid(name, life, version or self.version, (line,) if count else ()), self.at_s)
        self.book.check()

    def propose(self, name: GlobalMasterId, count: int, *, life: int = 1) -> tuple[int, ConflictKind | None]:
        self.number += 1
        proposal = LaunchProposal(self.number, "attempt", a_kind(), count)
        verdict = self.book.propose(f"{name} {life}", proposal, self.at_s)
        self.book.check()
        return verdict.accepted, verdict.conflict

    def offered(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for each in self.offers.told(self.at_s).offers:
            found[each.to] = found.get(each.to, 0) + each.count
        return found


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_room_is_kept_for_the_best_bid_and_what_is_left_for_the_next(desk):
    desk.bid(A, 5, 6)
    desk.bid(B, 3, 2)
    desk.report(3, 2)
    assert desk.offered() == {"gm/b 1": 2, "gm/a 1": 3}


def test_another_is_rejected_while_the_offer_stands_and_the_best_bidder_is_not(desk):
    desk.bid(A, 5, 6)
    desk.bid(B, 3, 6)
    desk.report(4)
    assert desk.propose(A, 2) == (0, ConflictKind.OFFERED)
    assert desk.propose(B, 3) == (3, None)
    assert desk.offered() == {"gm/b 1": 1}
    assert desk.offers.told(desk.at_s).counts["gm/b 1"] == OfferCounts(made=4, taken=3)


def test_a_rejection_says_whose_the_room_is(desk):
    desk.bid(A, 5, 6)
    desk.bid(B, 3, 6)
    desk.report(4)
    verdict = desk.book.propose("gm/a 1", LaunchProposal(7, "attempt", a_kind(), 2), desk.at_s)
    assert verdict.reason == "room for 0 of 2; 0 are promised to others; 4 are offered to others, whose bids are better"
    assert verdict.promised == (), "what is offered is told apart: its time is short"


def test_an_offer_ends_by_itself_and_the_next_best_has_the_room(desk):
    desk.bid(A, 5, 6)
    desk.bid(B, 3, 6)
    desk.report(4)
    desk.at_s += OFFER_S - 0.01
    assert desk.propose(A, 1) == (0, ConflictKind.OFFERED)
    desk.at_s += 0.01
    assert desk.propose(A, 1) == (1, None)
    desk.report(4)
    assert desk.offered() == {"gm/a 1": 3}, "whoever left an offer is passed over"
    assert desk.offers.told(desk.at_s).counts["gm/b 1"] == OfferCounts(made=4, expired=4)


def test_whoever_leaves_offers_again_is_passed_over_for_longer_until_he_takes_one(desk):
    def wait():
        begun_s = desk.at_s
        while "gm/b 1" not in desk.offered():
            desk.at_s += 0.5
            desk.bid(A, 5, 1)
            desk.bid(B, 3, 6)
            desk.report(4)
        return desk.at_s - begun_s

    waits = []
    for _ in range(3):
        desk.bid(B, 3, 6)
        waits.append(wait())
        desk.at_s += OFFER_S
    assert waits == [0.5, 2.5, 4.5]
    wait()
    desk.propose(B, 2)
    desk.at_s += OFFER_S
    assert wait() <= OFFER_S + 0.5


def test_of_equal_bids_each_has_its_part_of_the_nodes(desk):
    desk.bid(A, 3, 9)
    desk.bid(B, 3, 9)
    desk.report(2, 2, 2, 1)
    assert desk.offered() == {"gm/a 1": 4, "gm/b 1": 3}


def test_the_part_of_whoever_wants_less_goes_to_the_other(desk):
    desk.bid(A, 3, 1)
    desk.bid(B, 3, 9)
    desk.report(2, 2)
    assert desk.offered() == {"gm/a 1": 1, "gm/b 1": 3}


def test_one_bidder_alone_is_offered_nothing(desk):
    desk.bid(A, 3, 9)
    desk.report(4)
    assert desk.offered() == {}
    desk.bid(B, 3, 0)
    desk.at_s += 1.0
    desk.report(4)
    assert desk.offered() == {}, "nor if the other wants nothing"


def test_no_offers_are_made_where_they_are_off():
    desk = Desk(offer_s=0.0)
    desk.bid(A, 5, 6)
    desk.bid(B, 3, 6)
    desk.report(4)
    assert desk.offered() == {}


def test_a_later_bid_gives_back_what_it_does_not_want_any_more(desk):
    desk.bid(A, 5, 6)
    desk.bid(B, 3, 6)
    desk.report(4)
    desk.bid(B, 3, 1)
    assert desk.offered() == {"gm/b 1": 1}
    assert desk.offers.told(desk.at_s).counts["gm/b 1"] == OfferCounts(made=4, returned=3)
    assert desk.propose(A, 4) == (3, ConflictKind.OFFERED)


def test_an_older_bid_changes_nothing(desk):
    desk.bid(A, 5, 6)
    desk.bid(B, 3, 6, version=9)
    desk.bid(B, 9, 6, version=8)
    desk.report(4)
    assert desk.offered() == {"gm/b 1": 4}


def test_the_bid_of_a_later_life_takes_the_place_of_what_the_earlier_one_was_offered(desk):
    desk.bid(A, 5, 2)
    desk.bid(B, 3, 6)
    desk.report(4)
    desk.bid(B, 3, 6, life=2, version=1)
    assert desk.offered() == {}
    desk.at_s += 1.0
    desk.report(4)
    assert desk.offered() == {"gm/b 2": 4}
    desk.bid(B, 1, 6, life=1, version=99)
    assert desk.offered() == {"gm/b 2": 4}, "what an earlier life says is not heard"


def test_a_bid_for_a_queue_that_another_has_taken_over_is_not_heard(desk):
    desk.bid(A, 5, 6, term=7)
    desk.bid(B, 3, 6, term=6)
    desk.report(4)
    assert desk.offered() == {"gm/a 1": 4}


def test_bids_end_with_those_who_made_them(desk):
    desk.bid(B, 3, 6)
    desk.at_s += BIDS_LAST_S + 0.1
    desk.bid(A, 5, 6)
    desk.report(4)
    assert desk.offered() == {}


def test_a_queue_is_offered_no_more_than_it_may_have(desk):
    desk.bid(A, 5, 6, kind=a_kind(queue="root.dev"))
    desk.bid(B, 3, 6)
    desk.report(8, most=3)
    assert desk.offered() == {"gm/b 1": 3, "gm/a 1": 3}


def test_nodes_of_another_label_are_offered_to_nobody(desk):
    desk.bid(A, 5, 6)
    desk.bid(B, 3, 6)
    desk.report(8, labels=("gpu",))
    assert desk.offered() == {}


def test_an_offer_for_which_a_report_shows_no_room_is_one_no_more(desk):
    desk.bid(A, 5, 6)
    desk.bid(B, 3, 6)
    desk.report(4)
    desk.at_s += 0.5
    desk.report(1)
    assert desk.offered() == {"gm/b 1": 1}


def standing(desk):
    """Whose bids are told, with what ranks them."""
    return {each.to: each.rank[-1] for each in desk.offers.told(desk.at_s).bids}


def test_bids_for_more_than_is_offered_are_told(desk):
    desk.bid(A, 5, 6)
    desk.bid(B, 3, 2)
    desk.report(3)
    assert desk.offered() == {"gm/b 1": 2, "gm/a 1": 1}
    assert standing(desk) == {"gm/a 1": 5}, "the other is offered all that it wants"


def test_a_bid_is_told_no_more_while_its_offers_are_left_or_when_it_is_old(desk):
    desk.bid(A, 5, 6)
    desk.bid(B, 3, 6)
    desk.report(4)
    assert standing(desk) == {"gm/a 1": 5, "gm/b 1": 3}
    desk.at_s += OFFER_S
    desk.report(4)
    assert standing(desk) == {"gm/a 1": 5}, "whoever leaves what it is offered bars nobody"
    desk.at_s += BIDS_LAST_S + 0.1
    assert standing(desk) == {}


@pytest.mark.parametrize("kind", [a_kind(size=9), a_kind(label="gpu")])
def test_a_bid_for_what_no_node_could_hold_is_not_told(desk, kind):
    desk.bid(A, 5, 6)
    desk.bid(B, 3, 6, kind=kind)
    desk.report(4)
    assert standing(desk) == {"gm/a 1": 5}


def test_a_bid_of_a_queue_at_its_limit_is_not_told(desk):
    desk.bid(A, 5, 6, kind=a_kind(queue="root.dev"))
    desk.bid(B, 3, 6)
    desk.report(8, most=3)
    assert desk.offered() == {"gm/b 1": 3, "gm/a 1": 3}
    assert standing(desk) == {}


def test_no_bids_are_told_where_offers_are_off():
    desk = Desk(offer_s=0.0)
    desk.bid(A, 5, 6)
    desk.report(4)
    assert standing(desk) == {}


def test_whoever_has_never_bid_is_not_known(desk):
    desk.bid(A, 5, 6)
    assert desk.offers.knows("gm/a 1")
    assert not desk.offers.knows("gm/a 2")
    assert not desk.offers.knows("gm/b 1")
