"""Rules of a Local Master at their boundaries: times, lives, preemption, and who is offered what."""

import pytest

from shim.domain.messages import Bid, BidLine, EndingKind, InconsistencyKind, PreemptionRequest, ReportRequest
from shim.domain.resources import Need
from shim.scheduling.local_master.events import (
    HeartbeatDue,
    LocalMasterTick,
    NodeChanged,
    NodeSpec,
    StartTask,
    StopTask,
)
from tests.support.local_master_conversation import FOUR_SLOTS, SLOT, Conversation, a_bid, a_launch

GPU = frozenset({"label:gpu"})


@pytest.fixture
def talk():
    return Conversation(offers=True)


@pytest.fixture
def quiet():
    """Nothing is offered."""
    return Conversation(offers=False)


# ---------------------------------------------------------------------- times


@pytest.mark.parametrize(
    ("settings", "at_s", "is_over"),
    [
        ({}, 6.0, False),
        ({}, 6.1, True),
        ({"answer_within_s": 2.0}, 3.0, False),
        ({"answer_within_s": 2.0}, 3.1, True),
    ],
)
def test_an_offer_and_a_held_launch_last_as_long_as_an_answer_may_take(settings, at_s, is_over):
    talk = Conversation(offers=True, **settings)
    talk.request("gb", a_launch(1, 3, is_held=True), at_s=1.0)
    talk.hear(a_bid("ga", 3), at_s=1.0)
    talk.hear(Bid("ga", 1, 2, ()), at_s=1.0)
    talk.give(LocalMasterTick(at_s))
    assert talk.master.truth.free_of(0) == ((1,) if is_over else (0,))
    assert talk.master.truth.free_of(3) == ((1,) if is_over else (0,))


def test_a_launch_that_was_started_is_held_no_longer(quiet):
    quiet.request("ga", a_launch(1, 0, is_held=True), at_s=1.0)
    quiet.request("ga", starts=(1, 7), at_s=4.0)
    assert quiet.request("ga", starts=(1,), at_s=5.0) == [], "it is started once"
    quiet.give(LocalMasterTick(100.0))
    assert quiet.master.truth.free_of(0) == (0,)
    quiet.end("ga", 1, at_s=104.0)
    assert quiet.reports["ga"].ended[0].ran_for_s == 100.0, "since its start, not since its capacity was kept"


def test_a_launch_that_runs_is_neither_started_anew_nor_given_up(quiet):
    quiet.request("ga", a_launch(1, 0), at_s=1.0)
    assert quiet.request("ga", starts=(1,), at_s=2.0) == []
    quiet.give(LocalMasterTick(100.0))
    assert quiet.master.truth.free_of(0) == (0,)
    quiet.end("ga", 1, at_s=101.0)
    assert quiet.reports["ga"].ended[0].ran_for_s == 100.0


def test_start_and_cancel_concern_launches_of_their_sender_alone(quiet):
    quiet.request("ga", a_launch(1, 0, is_held=True))
    assert quiet.request("gb", starts=(1,)) == []
    quiet.request("gb", cancels=(1,))
    assert quiet.master.truth.free_of(0) == (0,)


# ---------------------------------------------------------------------- lives


def test_a_new_life_ends_the_offers_and_held_launches_of_its_own_master_only(talk):
    talk.request("ga", a_launch(1, 0, is_held=True), a_launch(2, 1))
    talk.request("gb", a_launch(1, 2, is_held=True))
    talk.hear(a_bid("gb", 3, version=5))
    talk.hear(ReportRequest("ga", 2))
    assert sorted(talk.master.truth.running) == [("ga", 2), ("gb", 1)]
    assert [talk.master.truth.free_of(node) for node in range(4)] == [(1,), (0,), (0,), (0,)]
    talk.hear(ReportRequest("gb", 2))
    assert [talk.master.truth.free_of(node) for node in range(4)] == [(1,), (0,), (1,), (1,)]
    assert talk.reports["gb"].bid_version == 0


def test_a_first_life_that_is_not_the_first_has_nothing_to_forget():
    talk = Conversation(offers=True, is_known=False)
    talk.hear(Bid("ga", 6, 1, (BidLine((0, 0, 1), SLOT, 1),)))
    assert [offer.node for offer in talk.reports["ga"].offers] == [0]
    assert talk.reports["ga"].to_incarnation == 6


def test_what_an_older_life_says_is_dropped_and_the_same_life_goes_on(talk):
    talk.hear(ReportRequest("ga", 2))
    talk.request("ga", a_launch(1, 0), incarnation=2, sequence=1)
    talk.hear(ReportRequest("ga", 1))
    assert talk.reports == {}
    assert talk.request("ga", a_launch(1, 0), incarnation=2, sequence=1) == [], "seen already: the life is not new"


def test_a_bid_of_a_repeated_request_counts_but_its_launches_do_not(talk):
    talk.request("ga", a_launch(1, 0))
    assert talk.request("ga", a_launch(2, 1), sequence=1, bid=a_bid("ga", 3)) == []
    assert talk.reports["ga"].bid_version == 1


# ---------------------------------------------------------------------- launches


@pytest.mark.parametrize(
    ("node", "kind"),
    [(-1, InconsistencyKind.EXTERNAL), (4, InconsistencyKind.EXTERNAL), (0, InconsistencyKind.INTERNAL)],
)
def test_a_rejection_comes_with_the_node_if_there_is_one(quiet, node, kind):
    quiet.request("gb", a_launch(1, 0))
    quiet.give(HeartbeatDue(1.0))
    quiet.request("ga", a_launch(1, node))
    report = quiet.reports["ga"]
    assert [rejection.kind for rejection in report.rejected] == [kind]
    assert [state.node for state in report.nodes] == ([node] if node == 0 else [])


def test_a_launch_uses_only_what_is_kept_for_its_sender_and_on_its_node(talk):
    talk.hear(a_bid("ga", 3, count=2))
    assert [offer.node for offer in talk.reports["ga"].offers] == [0, 1]
    assert talk.request("gb", a_launch(1, 0)) == []
    assert talk.reports["gb"].rejected[0].number == 1
    talk.request("ga", a_launch(1, 1), bid=a_bid("ga", 3, version=2, count=1))
    assert talk.master.truth.free_of(0) == (0,), "the other offer is kept on"
    assert sorted(talk.master.truth.running) == [("ga", 1)]


def test_what_is_left_of_an_offer_is_offered_again():
    talk = Conversation(offers=True, nodes=[NodeSpec((4,)), NodeSpec((1,))])
    talk.hear(a_bid("ga", 3))
    talk.request("ga", a_launch(1, 0, offer=1), bid=a_bid("ga", 3, version=2, count=5))
    assert [(offer.node, offer.room) for offer in talk.reports["ga"].offers] == [(0, (3,)), (1, (1,))]


def test_an_offer_can_be_declined_by_its_holder_alone_and_once(talk):
    talk.hear(a_bid("ga", 3))
    talk.request("gb", declined=(1, 9))
    assert talk.master.truth.free_of(0) == (0,)
    talk.request("ga", declined=(1, 1, 9), bid=Bid("ga", 1, 2, ()))
    assert talk.master.truth.free_of(0) == (1,)


# ---------------------------------------------------------------------- who is offered what


def test_a_bid_for_nothing_or_an_older_one_draws_no_offer(talk):
    talk.hear(a_bid("ga", 3, version=2))
    talk.hear(a_bid("ga", 1, version=1, count=4))
    assert talk.reports == {}
    talk.hear(Bid("ga", 1, 3, ()))
    assert talk.reports == {}
    talk.hear(a_bid("ga", 1, version=3, count=4))
    assert talk.reports == {}, "of the same version"


def test_where_nothing_is_free_a_bid_waits_until_something_is(talk):
    talk.request("gb", *(a_launch(node + 1, node) for node in range(4)))
    talk.request("ga", bid=a_bid("ga", 3))
    assert talk.reports == {}
    talk.end("gb", 4)
    assert [offer.node for offer in talk.reports["ga"].offers] == [3]


def test_a_bid_that_rides_along_is_offered_what_is_vacant(talk):
    talk.request("ga", a_launch(1, 0), bid=a_bid("ga", 3, count=2))
    assert [offer.node for offer in talk.reports["ga"].offers] == [1, 2]


def test_among_equals_the_one_that_released_a_slot_is_offered_it_unless_the_owner_bids():
    talk = Conversation(offers=True, nodes=FOUR_SLOTS[:2])
    talk.request("gb", a_launch(1, 0), a_launch(2, 1))
    for name in ("ga", "gb"):
        talk.hear(a_bid(name, 3, count=2))
    talk.end("gb", 1)
    assert [offer.node for offer in talk.reports["ga"].offers] == [0], "the owner"
    talk.master.truth.owners = ("gc", "gc")
    talk.end("gb", 2)
    assert [offer.node for offer in talk.reports["gb"].offers] == [1], "the one that released it"


def test_what_comes_free_of_a_declined_offer_counts_as_released_by_its_holder():
    talk = Conversation(offers=True, nodes=FOUR_SLOTS[:2])
    talk.master.truth.owners = ("gc", "gc")
    talk.request("ga", a_launch(1, 0), a_launch(2, 1))
    talk.hear(a_bid("gb", 1))
    talk.end("ga", 1)
    talk.hear(a_bid("ga", 3))
    talk.request("gb", declined=(1,), bid=a_bid("gb", 3, version=2))
    assert [offer.node for offer in talk.reports["gb"].offers] == [0]


def test_an_expired_offer_was_released_by_nobody():
    talk = Conversation(offers=True, nodes=FOUR_SLOTS[:1])
    talk.master.truth.owners = ("gc",)
    talk.hear(a_bid("gb", 1))
    talk.hear(a_bid("ga", 1))
    talk.give(LocalMasterTick(6.0))
    assert [offer.node for offer in talk.reports["ga"].offers] == [0], "the first of equals"


def test_each_offer_of_a_node_that_changes_ends_and_its_new_room_is_offered(talk):
    talk.hear(a_bid("ga", 3, count=2))
    talk.give(NodeChanged(1.0, 1, NodeSpec((3,))))
    (offer,) = talk.reports["ga"].offers
    assert (offer.number, offer.node, offer.room) == (3, 1, (3,))
    assert talk.master.truth.free_of(0) == (0,)


def test_a_node_that_changes_keeps_its_tasks_and_one_that_goes_loses_only_its_own(quiet):
    quiet.request("ga", a_launch(1, 0), a_launch(2, 1))
    quiet.give(NodeChanged(1.0, 0, NodeSpec((2,))))
    assert quiet.reports == {}
    assert quiet.master.truth.free_of(0) == (1,)
    quiet.give(NodeChanged(3.0, 0, None))
    assert [(ending.number, ending.kind, ending.ran_for_s) for ending in quiet.reports["ga"].ended] == [
        (1, EndingKind.LOST, 3.0)
    ]
    assert quiet.master.truth.capacity[0] == (0,)
    assert sorted(quiet.master.truth.running) == [("ga", 2)]


# ---------------------------------------------------------------------- preemption


def wish(need=SLOT, queue="greedy"):
    return PreemptionRequest(queue, need, (0, 0, 1))


@pytest.mark.parametrize(
    ("need", "stopped"),
    [
        (Need((2, 1)), [3]),
        (Need((2, 2)), [3]),
        (Need((3, 1)), [3]),
        (Need((4, 1)), []),
        (Need((1, 3)), []),
        (Need((1, 1), GPU), [2]),
        (Need((1, 1), frozenset(), GPU), [3]),
        (Need((1, 1), frozenset({"label:other"})), []),
    ],
    ids=["youngest", "with what is free", "exactly", "too much", "too many", "property", "avoided", "nowhere"],
)
def test_preemption_takes_the_youngest_whose_node_then_has_room_and_will_do(need, stopped):
    talk = Conversation(offers=True, nodes=[NodeSpec((3, 2)), NodeSpec((2, 1), GPU), NodeSpec((3, 2))])
    each = Need((2, 1))
    talk.request("ga", a_launch(1, 0, each, queue="greedy"), at_s=1.0)
    talk.request("ga", a_launch(2, 1, each, queue="greedy"), at_s=2.0)
    talk.request("ga", a_launch(3, 2, each, queue="greedy"), at_s=3.0)
    effects = talk.request("gb", preemptions=(wish(need),), at_s=4.0)
    assert effects == [StopTask("ga", number, number - 1) for number in stopped]
    if stopped:
        (ending,) = talk.reports["ga"].ended
        assert (ending.number, ending.kind, ending.ran_for_s) == (stopped[0], EndingKind.PREEMPTED, 0.0)
        (offer,) = talk.reports["gb"].offers
        assert (offer.node, offer.room, offer.runner_up) == (
            stopped[0] - 1,
            talk.master.truth.capacity[offer.node],
            None,
        )
    assert len(talk.master.truth.running) == 3 - len(stopped)


def test_preemption_leaves_other_queues_and_held_launches_alone(quiet):
    quiet.request("ga", a_launch(1, 0, queue="modest"), a_launch(2, 1, queue="greedy", is_held=True))
    assert quiet.request("gb", preemptions=(wish(),)) == []
    assert len(quiet.master.truth.running) == 2


def test_each_wish_takes_one(quiet):
    quiet.request("ga", a_launch(1, 0, queue="greedy"), a_launch(2, 1, queue="greedy"))
    assert quiet.request("gb", preemptions=(wish(), wish())) == [StopTask("ga", 2, 1), StopTask("ga", 1, 0)]


# ---------------------------------------------------------------------- books


def test_an_offer_may_keep_nothing_of_a_type():
    talk = Conversation(offers=True, nodes=[NodeSpec((2, 0))])
    talk.hear(a_bid("ga", 3, need=Need((1, 0))))
    assert [offer.room for offer in talk.reports["ga"].offers] == [(2, 0)]


def test_launches_of_both_masters_may_have_the_same_number(quiet):
    assert quiet.request("ga", a_launch(1, 0)) == [StartTask("ga", a_launch(1, 0))]
    assert quiet.request("gb", a_launch(1, 1)) == [StartTask("gb", a_launch(1, 1))]


def test_only_a_newer_bid_that_wants_something_draws_what_is_vacant(quiet):
    """Nothing is offered when it comes free: a node stays vacant though a bid could use it."""
    for number in range(4):
        quiet.request("gb", a_launch(number, number))
    quiet.hear(a_bid("ga", 3, version=2, count=4))
    quiet.end("gb", 3)
    said = []
    for version in (1, 2):
        quiet.hear(a_bid("ga", 3, version=version, count=4))
        said.append(quiet.reports)
    quiet.hear(Bid("gb", 1, 1, ()))
    said.append(quiet.reports)
    for bid in (None, Bid("gb", 1, 2, ())):
        quiet.request("gb", bid=bid)
        said.append(quiet.reports)
    assert [report.offers for reports in said for report in reports.values() if report.offers] == []
    quiet.hear(a_bid("ga", 3, version=3, count=4))
    assert [offer.node for offer in quiet.reports["ga"].offers] == [3]
