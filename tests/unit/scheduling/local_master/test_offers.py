import pytest

from shim.domain.messages import Bid, BidLine
from shim.domain.resources import Need
from shim.scheduling.local_master.events import NodeSpec
from shim.scheduling.local_master.offers import BidBook, Winner, divide_nodes
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
