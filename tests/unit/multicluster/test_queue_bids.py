from shim.domain.ids import GlobalMasterId, SubClusterId
from shim.domain.launches import ContainerKind
from shim.domain.resources import ResourceVector
from shim.multicluster.queue_bids import QueueBids
from shim.scheduling.global_master.capacity_bids import CapacityBidder, WaitingDemand
from tests.doubles.clock import FakeClock

EAST, WEST = SubClusterId("east"), SubClusterId("west")


class Waits:
    """In the place of a queue's table: two containers wait, wherever the queue is."""

    def waiting_demand(self, names, standing, at_s):
        del at_s
        return {
            name: [WaitingDemand((0, standing, 0), ContainerKind(queue, ResourceVector(1024, 1)), 2)]
            for name, queue in names.items()
        }


class Told:
    """In the place of `LaunchService`: the bids that go out."""

    def __init__(self):
        self.bids = []

    def bid(self, subcluster, bid):
        self.bids.append((subcluster, [(line.rank, line.count, line.queue, line.term) for line in bid.lines]))


def looked(several, queue_at):
    """Bids after one look, and after another for which there is nobody else."""
    told, is_several = Told(), [several]
    bids = QueueBids(
        CapacityBidder(GlobalMasterId("gm/a"), 1),
        (EAST, WEST),
        standing_of=len,
        term_of=lambda _: 7,
        are_several=lambda: is_several[0],
        clock=FakeClock(),
    )
    bids.look("root.a", Waits(), queue_at, told)
    first, told.bids = told.bids, []
    is_several[0] = False
    bids.look("root.a", Waits(), queue_at, told)
    return first, told.bids


def test_each_local_master_hears_what_waits_for_it_in_its_own_words_under_the_fence_of_the_queue():
    first, then = looked(several=True, queue_at=lambda name: "root.a" if name == EAST else None)
    assert first == [(EAST, [((0, 6, 0), 2, "root.a", 7)])], "a sub-cluster without the queue is not asked for room"
    assert then == [(EAST, [])], "who is alone takes his bid back"


def test_a_queue_is_outbid_where_another_has_less_for_its_share():
    bids = QueueBids(
        CapacityBidder(GlobalMasterId("gm/a"), 1),
        (EAST, WEST),
        standing_of=lambda _: 5,
        term_of=lambda _: 7,
        are_several=lambda: True,
        clock=FakeClock(),
    )

    class Ranks:
        """In the place of `LaunchService`: the best bids of others."""

        def __init__(self, **ranks):
            self.ranks = ranks

        def best_of_others(self, subcluster):
            return self.ranks.get(subcluster)

    assert bids.outbid_at("root.a", Ranks(east=(4, 0, 0), west=(5, -1, -9))) == {EAST}
    assert bids.outbid_at("root.a", Ranks()) == frozenset()


def test_where_there_is_no_other_global_master_nobody_bids():
    assert looked(several=False, queue_at=lambda _: "root.a") == ([], [])
