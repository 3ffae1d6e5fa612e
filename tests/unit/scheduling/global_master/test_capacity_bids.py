from shim.domain.capacity_bids import CapacityBidLine
from shim.domain.ids import GlobalMasterId, SubClusterId
from shim.domain.launches import ContainerKind
from shim.domain.resources import ResourceVector
from shim.scheduling.global_master.capacity_bids import (
    HOLDS_ITS_PART,
    CapacityBidder,
    WaitingDemand,
    is_better,
    rank_among_queues,
    standing_of,
)

EAST, WEST = SubClusterId("east"), SubClusterId("west")
SMALL, LARGE = (ContainerKind("root.a", ResourceVector(1024 * size, size)) for size in (1, 4))


def a_bidder():
    return CapacityBidder(GlobalMasterId("gm/a"), 7)


def waiting(rank, count, kind=SMALL):
    return WaitingDemand((0, 8, rank), kind, count)


def test_queues_with_least_for_their_share_go_first_then_those_overtaken_for_too_long_then_those_who_wait_longest():
    ranks = [
        rank_among_queues(is_overdue=False, standing=0, waited_s=0.0),
        rank_among_queues(is_overdue=True, standing=3, waited_s=0.0),
        rank_among_queues(is_overdue=False, standing=3, waited_s=90.0),
        rank_among_queues(is_overdue=False, standing=3, waited_s=2.0),
        rank_among_queues(is_overdue=True, standing=8, waited_s=900.0),
        rank_among_queues(is_overdue=False, standing=16, waited_s=900.0),
    ]
    assert ranks == sorted(ranks)
    assert len(set(ranks)) == len(ranks)


def test_a_standing_tells_eighths_of_a_queues_share():
    assert [standing_of(used, 0.4) for used in (0.0, 0.049, 0.05, 0.2, 0.399, 0.4, 0.9)] == [0, 0, 1, 4, 7, 8, 18]
    assert standing_of(0.0, 0.0) == HOLDS_ITS_PART, "a queue without a share is owed nothing"


def test_only_a_queue_that_has_less_for_its_share_is_better():
    assert is_better(rank_among_queues(is_overdue=False, standing=2, waited_s=0.0), 3)
    assert not is_better(rank_among_queues(is_overdue=True, standing=3, waited_s=900.0), 3)


def test_a_bid_tells_each_kind_once_with_its_best_rank_over_all_queues():
    bidder = a_bidder()
    bidder.put("root.a", 3, {EAST: [waiting(5, 2), waiting(2, 1), waiting(4, 1, LARGE)], WEST: [waiting(5, 2)]})
    bidder.put("root.b", 4, {EAST: [waiting(1, 6)]})
    bid = bidder.next_bid(EAST, 10.0)
    assert (bid.global_master, bid.incarnation, bid.version) == ("gm/a", 7, 1)
    assert bid.lines == (
        CapacityBidLine((0, 8, 1), SMALL, 6, "root.b", 4),
        CapacityBidLine((0, 8, 2), SMALL, 3, "root.a", 3),
        CapacityBidLine((0, 8, 4), LARGE, 1, "root.a", 3),
    )


def test_a_bid_is_told_when_it_changed_and_again_in_time_and_at_last_that_nothing_is_wanted():
    bidder = a_bidder()
    assert bidder.next_bid(EAST, 10.0) is None, "who never wanted anything says nothing"
    bidder.put("root.a", 0, {EAST: [waiting(5, 2)]})
    assert bidder.next_bid(EAST, 10.0).version == 1
    assert bidder.next_bid(EAST, 12.9) is None
    assert bidder.next_bid(EAST, 13.0).version == 2
    bidder.put("root.a", 0, {EAST: [waiting(5, 3)]})
    assert bidder.next_bid(EAST, 13.1).version == 3
    bidder.put("root.a", 0, {EAST: []})
    assert (bidder.next_bid(EAST, 13.2).lines, bidder.next_bid(EAST, 99.0)) == ((), None)
    assert bidder.next_bid(WEST, 13.2) is None
