"""The Local Master by itself: one event in, these effects out."""

import pytest

from shim.domain.messages import (
    Bid,
    EndingKind,
    InconsistencyKind,
    LaunchRequest,
    Occasion,
    PreemptionRequest,
    ReportRequest,
)
from shim.scheduling.local_master.events import (
    GlobalMastersChanged,
    HeartbeatDue,
    LocalMasterTick,
    NodeChanged,
    NodeSpec,
    StartTask,
    StopTask,
)
from tests.support.local_master_conversation import SLOT, Conversation, a_bid, a_launch


@pytest.fixture
def talk():
    return Conversation(offers=True)


def test_the_first_answer_tells_everything(talk):
    talk.hear(ReportRequest("ga", 1))
    report = talk.reports["ga"]
    assert report.is_full
    assert report.occasion is Occasion.ANSWER
    assert [state.free for state in report.nodes] == [(1,)] * 4
    assert report.owners == ("ga", "ga", "gb", "gb")


def test_a_launch_that_fits_starts_and_one_that_does_not_is_rejected_with_the_fresh_state(talk):
    started = talk.request("ga", a_launch(1, 0), a_launch(2, 2))
    assert started == [StartTask("ga", a_launch(1, 0)), StartTask("ga", a_launch(2, 2))]
    assert talk.reports == {}
    assert talk.request("gb", a_launch(1, 2), a_launch(2, 0), a_launch(3, 3)) == [StartTask("gb", a_launch(3, 3))]
    report = talk.reports["gb"]
    assert [(r.number, r.kind) for r in report.rejected] == [
        (1, InconsistencyKind.INTERNAL),
        (2, InconsistencyKind.EXTERNAL),
    ]
    assert {state.node: state.free for state in report.nodes} == {0: (0,), 2: (0,), 3: (0,)}
    assert report.seen_to == 1


def test_acceptance_is_answered_when_that_is_wanted(talk):
    talk.request("ga", a_launch(1, 0), wants_verdict=True)
    assert talk.reports["ga"].occasion is Occasion.VERDICT
    assert talk.reports["ga"].rejected == ()


def test_a_repeated_request_is_executed_once_and_answered_again(talk):
    talk.request("ga", a_launch(1, 0), a_launch(2, 0))
    assert talk.request("ga", a_launch(1, 0), a_launch(2, 0), sequence=1) == []
    assert [rejection.number for rejection in talk.reports["ga"].rejected] == [2]


def test_what_was_heard_is_not_said_again(talk):
    talk.request("ga", a_launch(1, 0), a_launch(2, 0))
    heard_to = talk.reports["ga"].sequence
    talk.request("ga", sequence=1, heard_to=heard_to)
    assert talk.reports["ga"].rejected == ()


@pytest.mark.parametrize(
    "content", [{"incarnation": 1}, {"incarnation": 2, "to_incarnation": 7}], ids=["old sender", "other receiver"]
)
def test_requests_of_or_for_another_life_are_dropped(talk, content):
    talk.hear(ReportRequest("ga", 2))
    assert talk.request("ga", a_launch(1, 0), **content) == []
    assert talk.master.truth.running == {}


def test_a_stranger_is_not_listened_to(talk):
    assert talk.hear(ReportRequest("gx", 1)) == []
    assert talk.reports == {}


def test_a_freed_borrowed_slot_goes_back_to_the_knowledge_of_its_owner(talk):
    talk.request("ga", a_launch(1, 3))
    talk.end("ga", 1)
    assert talk.reports["ga"].occasion is Occasion.COMPLETION
    assert talk.reports["ga"].ended[0].ran_for_s == 1.0
    assert talk.reports["gb"].occasion is Occasion.CHANGE
    assert talk.reports["gb"].nodes[-1].free == (1,)


def test_without_offers_only_the_launching_master_hears_of_a_freed_slot():
    talk = Conversation(offers=False)
    talk.request("ga", a_launch(1, 3))
    talk.end("ga", 1)
    assert list(talk.reports) == ["ga"]


def test_a_freed_slot_is_kept_for_the_best_bidder_and_named_with_the_runner_up(talk):
    talk.request("ga", *(a_launch(node + 1, node) for node in range(4)))
    talk.hear(a_bid("ga", 7))
    talk.hear(a_bid("gb", 3))
    talk.end("ga", 1)
    (offer,) = talk.reports["gb"].offers
    assert (offer.node, offer.room, offer.runner_up) == (0, (1,), (0, 0, 7))
    assert talk.reports["ga"].nodes[-1].free == (0,)
    assert talk.request("gb", a_launch(1, 0, offer=offer.number)) == [
        StartTask("gb", a_launch(1, 0, offer=offer.number))
    ]


def test_a_declined_offer_goes_to_the_next_bidder(talk):
    talk.request("ga", *(a_launch(node + 1, node) for node in range(4)))
    talk.hear(a_bid("ga", 7))
    talk.hear(a_bid("gb", 3))
    talk.end("ga", 1)
    number = talk.reports["gb"].offers[0].number
    talk.request("gb", declined=(number,), bid=Bid("gb", 1, 2, ()))
    assert talk.reports["ga"].offers[0].node == 0


def test_a_bid_draws_what_is_vacant_own_partition_first(talk):
    talk.hear(a_bid("gb", 3, count=3))
    assert [offer.node for offer in talk.reports["gb"].offers] == [2, 3, 0]


def test_a_launch_that_meets_an_offer_of_its_node_uses_it(talk):
    talk.hear(a_bid("ga", 3))
    (offer,) = talk.reports["ga"].offers
    assert len(talk.request("ga", a_launch(1, offer.node))) == 1


def test_an_offer_that_nobody_answers_expires(talk):
    talk.hear(a_bid("ga", 3))
    talk.give(LocalMasterTick(4.0))
    assert talk.master.truth.free_of(0) == (0,)
    talk.hear(Bid("ga", 1, 2, ()), at_s=4.0)
    talk.give(LocalMasterTick(6.0))
    assert talk.master.truth.free_of(0) == (1,)


def test_a_held_launch_starts_when_its_gang_is_complete(talk):
    assert talk.request("ga", a_launch(1, 0, is_held=True), wants_verdict=True) == []
    assert talk.master.truth.free_of(0) == (0,)
    assert talk.request("ga", starts=(1,)) == [StartTask("ga", a_launch(1, 0, is_held=True))]


def test_a_held_launch_is_given_up_when_it_is_cancelled_or_forgotten(talk):
    talk.request("ga", a_launch(1, 0, is_held=True), a_launch(2, 1, is_held=True))
    talk.request("ga", cancels=(1,))
    assert talk.master.truth.free_of(0) == (1,)
    talk.give(LocalMasterTick(6.0))
    assert talk.master.truth.free_of(1) == (1,)
    assert [rejection.number for rejection in talk.reports["ga"].rejected] == [2]


def test_a_new_life_of_a_global_master_adopts_what_runs_and_loses_what_was_held(talk):
    talk.request("ga", a_launch(1, 0), a_launch(2, 1, is_held=True))
    talk.hear(ReportRequest("ga", 2))
    report = talk.reports["ga"]
    assert [launch.number for launch in report.running] == [1]
    assert report.nodes[1].free == (1,)


def test_a_lost_node_loses_its_tasks_and_has_nothing_to_give_until_it_is_back(talk):
    talk.request("ga", a_launch(1, 0))
    talk.give(NodeChanged(2.0, 0, None))
    assert talk.reports["ga"].ended[0].kind is EndingKind.LOST
    assert talk.master.truth.free_of(0) == (0,)
    talk.give(NodeChanged(3.0, 0, NodeSpec((2,), frozenset({"label:x"}))))
    talk.give(HeartbeatDue(4.0))
    assert talk.master.truth.free_of(0) == (2,)


def test_a_heartbeat_tells_everybody_only_what_changed(talk):
    talk.request("ga", a_launch(1, 0))
    talk.give(HeartbeatDue(30.0))
    assert {name: [state.node for state in report.nodes] for name, report in talk.reports.items()} == {
        "ga": [0],
        "gb": [0],
    }
    talk.give(HeartbeatDue(60.0))
    assert [report.nodes for report in talk.reports.values()] == [(), ()]


def test_a_heartbeat_is_left_out_for_whom_there_was_a_report_since_the_one_before():
    talk = Conversation(offers=True, beats_when_quiet=True)
    talk.give(HeartbeatDue(30.0))
    assert talk.reports == {}, "both have just been told everything"
    talk.request("ga", a_launch(1, 0, queue="etl"), a_launch(2, 1, queue="etl"))
    talk.end("ga", 1, at_s=40.0)
    assert talk.reports["ga"].queue_usage == (("etl", (1,)),), "what the heartbeat would have told"
    talk.end("ga", 2, at_s=41.0)
    assert talk.reports["ga"].queue_usage == (), "told once"
    talk.give(HeartbeatDue(60.0))
    assert {name: [state.node for state in report.nodes] for name, report in talk.reports.items()} == {"gb": [0, 1]}
    talk.give(HeartbeatDue(90.0))
    assert set(talk.reports) == {"ga", "gb"}, "nobody goes without one twice"


def test_preemption_takes_the_youngest_task_of_the_victim_and_offers_its_room(talk):
    talk.request("ga", a_launch(1, 0, queue="greedy"))
    talk.master.handle(LocalMasterTick(1.0))
    talk.hear(Bid("ga", 1, 1, ()), at_s=1.0)
    talk.sequences["ga"] += 1
    late = LaunchRequest("ga", 1, 1, 2, 0, launches=(a_launch(2, 1, queue="greedy"),))
    talk.hear(late, at_s=1.0)
    effects = talk.request("gb", preemptions=(PreemptionRequest("greedy", SLOT, (0, 0, 1)),))
    assert effects == [StopTask("ga", 2, 1)]
    assert talk.reports["ga"].ended[0].kind is EndingKind.PREEMPTED
    assert talk.reports["gb"].offers[0].node == 1


def test_preemption_of_a_queue_that_holds_nothing_is_not_done(talk):
    assert talk.request("gb", preemptions=(PreemptionRequest("greedy", SLOT, (0, 0, 1)),)) == []


def test_other_global_masters_divide_the_nodes_anew(talk):
    talk.request("gb", a_launch(1, 3))
    talk.give(GlobalMastersChanged(1.0, ("ga", "gc")))
    assert talk.master.truth.owners == ("ga", "ga", "gc", "gc")
    assert talk.reports["ga"].is_full
    talk.end("gb", 1)
    assert talk.master.truth.free_of(3) == (1,)


def test_what_one_learns_the_others_hear_once(talk):
    talk.request("ga", learnt=(3.0, 4.0))
    talk.give(HeartbeatDue(30.0))
    assert (talk.reports["gb"].learnt, talk.reports["ga"].learnt) == ((3.0, 4.0), ())
    talk.give(HeartbeatDue(60.0))
    assert talk.reports["gb"].learnt == ()


def test_an_offer_that_was_answered_makes_room_for_the_next(talk):
    talk.request("ga", *(a_launch(node + 1, node) for node in range(4)))
    talk.hear(a_bid("gb", 3))
    for place in range(3):
        talk.end("ga", place + 1)
        (offer,) = talk.reports["gb"].offers
        talk.request("gb", a_launch(place + 1, offer.node, offer=offer.number), bid=a_bid("gb", 3, version=place + 2))


def test_the_last_free_nodes_are_offered_to_short_tasks_alone():
    talk = Conversation(offers=True, kept_for_short=0.25)  # one of four
    talk.request("ga", *(a_launch(number, number) for number in range(4)))
    talk.hear(a_bid("gb", 1, count=4, is_long=True))
    talk.end("ga", 0)
    assert "gb" not in talk.reports
    talk.end("ga", 1)
    assert [(offer.node, offer.is_for_short) for offer in talk.reports["gb"].offers] == [(1, False)]
    talk.hear(a_bid("ga", 9))
    assert [(offer.node, offer.is_for_short) for offer in talk.reports["ga"].offers] == [(0, True)]
