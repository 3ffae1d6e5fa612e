"""Reports of a Local Master, compared field by field: what each occasion tells, once, and to whom."""

import pytest

from shim.domain.messages import (
    Bid,
    Ending,
    EndingKind,
    InconsistencyKind,
    LaunchRejected,
    LocalMasterReport,
    NodeState,
    Occasion,
    Offer,
    ReportRequest,
    RunningLaunch,
    TaskRef,
)
from shim.domain.resources import Need
from shim.scheduling.local_master.events import (
    GlobalMastersChanged,
    HeartbeatDue,
    LocalMasterTick,
    NodeChanged,
    NodeSpec,
)
from tests.support.local_master_conversation import SLOT, Conversation, a_bid, a_launch

GPU = frozenset({"label:gpu"})
NODES = (NodeSpec((4, 2)), NodeSpec((2, 2), GPU))
BIG = Need((3, 1))
SMALL = Need((1, 1))
HUGE = Need((99, 1))


@pytest.fixture
def talk():
    """Two nodes of two resource types, one for each Global Master; nobody has been heard of."""
    return Conversation(offers=True, nodes=NODES, is_known=False)


def a_report(sequence, occasion, **content):
    return LocalMasterReport("la", 1, 1, sequence, occasion, **content)


def full(sequence, occasion, free, **content):
    nodes = tuple(NodeState(node, amounts, NODES[node].properties) for node, amounts in enumerate(free))
    return a_report(sequence, occasion, is_full=True, nodes=nodes, owners=("ga", "gb"), **content)


def test_nothing_is_said_to_one_that_has_not_been_heard_of(talk):
    talk.give(HeartbeatDue(1.0))
    assert talk.reports == {}
    talk.hear(ReportRequest("ga", 1))
    assert talk.reports == {"ga": full(1, Occasion.ANSWER, [(4, 2), (2, 2)])}
    talk.give(HeartbeatDue(2.0))
    assert talk.reports == {"ga": a_report(2, Occasion.HEARTBEAT)}


def test_a_first_report_is_full_whatever_it_is_for(talk):
    talk.request("ga", a_launch(1, 0, BIG, queue="q"), wants_verdict=True)
    running = (RunningLaunch(1, 0, BIG, TaskRef("job", 1), "q", 0.0),)
    assert talk.reports == {
        "ga": full(1, Occasion.VERDICT, [(1, 1), (2, 2)], running=running, queue_usage=(("q", (3, 1)),), seen_to=1)
    }


def test_a_full_report_lists_what_the_asking_master_runs_and_what_all_queues_hold(talk):
    talk.request("ga", a_launch(1, 0, BIG, queue="q"), a_launch(2, 1, SMALL, queue="r", is_held=True), at_s=3.0)
    talk.request("gb", a_launch(1, 1, SMALL, queue="q"), at_s=4.0)
    talk.request("gb", a_launch(2, 0, SMALL, queue="idle"), at_s=4.0)
    talk.end("gb", 2, at_s=5.0)
    talk.hear(ReportRequest("ga", 1), at_s=6.0)
    assert talk.reports["ga"].running == (
        RunningLaunch(1, 0, BIG, TaskRef("job", 1), "q", 3.0),
        RunningLaunch(2, 1, SMALL, TaskRef("job", 2), "r", 3.0),
    )
    assert talk.reports["ga"].queue_usage == (("q", (4, 2)), ("r", (1, 1)))
    assert list(talk.reports) == ["ga"]


def test_a_later_report_lists_changed_nodes_only_and_queues_only_with_a_heartbeat(talk):
    for name in ("ga", "gb"):
        talk.hear(ReportRequest(name, 1))
    talk.request("ga", a_launch(1, 0, BIG, queue="q"), wants_verdict=True)
    assert talk.reports == {"ga": a_report(2, Occasion.VERDICT, seen_to=1, nodes=(NodeState(0, (1, 1)),))}
    talk.give(HeartbeatDue(2.0))
    usage = (("q", (3, 1)),)
    assert talk.reports == {
        "ga": a_report(3, Occasion.HEARTBEAT, seen_to=1, queue_usage=usage),
        "gb": a_report(2, Occasion.HEARTBEAT, nodes=(NodeState(0, (1, 1)),), queue_usage=usage),
    }


def test_other_properties_of_a_node_are_told_once_to_everybody(talk):
    for name in ("ga", "gb"):
        talk.hear(ReportRequest(name, 1))
    talk.give(NodeChanged(1.0, 1, NodeSpec((3, 3), frozenset({"label:x"}))))
    changed = (NodeState(1, (3, 3), frozenset({"label:x"})),)
    assert talk.reports == {"gb": a_report(2, Occasion.CHANGE, nodes=changed)}
    talk.request("gb", a_launch(1, 1, SMALL))
    talk.give(HeartbeatDue(2.0))
    usage = (("", (1, 1)),)
    assert talk.reports == {
        "ga": a_report(2, Occasion.HEARTBEAT, nodes=(NodeState(1, (2, 2), frozenset({"label:x"})),), queue_usage=usage),
        "gb": a_report(3, Occasion.HEARTBEAT, nodes=(NodeState(1, (2, 2)),), queue_usage=usage, seen_to=1),
    }


def test_rejections_and_endings_are_told_once_and_again_until_they_are_acknowledged(talk):
    talk.hear(ReportRequest("ga", 1))
    talk.request("ga", a_launch(1, 0, BIG), a_launch(2, 0, BIG), a_launch(3, 1, BIG))
    rejected = (LaunchRejected(2, InconsistencyKind.INTERNAL), LaunchRejected(3, InconsistencyKind.EXTERNAL))
    assert talk.reports["ga"].rejected == rejected
    assert talk.reports["ga"].nodes == (NodeState(0, (1, 1)), NodeState(1, (2, 2)))
    talk.end("ga", 1, at_s=2.5)
    ended = (Ending(1, TaskRef("job", 1), EndingKind.FINISHED, 2.5),)
    assert (talk.reports["ga"].rejected, talk.reports["ga"].ended) == ((), ended)
    assert talk.reports["ga"].occasion is Occasion.COMPLETION
    talk.hear(ReportRequest("ga", 1))
    assert (talk.reports["ga"].rejected, talk.reports["ga"].ended) == (rejected, ended)
    again = talk.reports["ga"].sequence
    talk.request("ga", sequence=1, heard_to=again - 1)
    assert (talk.reports["ga"].rejected, talk.reports["ga"].ended) == (rejected, ended), "not heard yet"
    talk.request("ga", sequence=1, heard_to=again + 1)
    assert (talk.reports["ga"].rejected, talk.reports["ga"].ended) == ((), ())


def test_requests_beyond_a_gap_are_named_in_order(talk):
    talk.hear(ReportRequest("ga", 1))
    for sequence in (1, 4, 3):
        talk.request("ga", sequence=sequence)
    talk.give(HeartbeatDue(1.0))
    assert (talk.reports["ga"].seen_to, talk.reports["ga"].seen_beyond) == (1, (3, 4))
    talk.request("ga", sequence=2)
    talk.give(HeartbeatDue(2.0))
    assert (talk.reports["ga"].seen_to, talk.reports["ga"].seen_beyond) == (4, ())


def test_an_offer_is_told_once_with_the_version_of_the_bid(talk):
    for name in ("ga", "gb"):
        talk.hear(ReportRequest(name, 1))
    talk.hear(a_bid("ga", 3, version=7, count=1, need=BIG))
    offered = (Offer(1, 0, (4, 2), None),)
    assert talk.reports == {
        "ga": a_report(2, Occasion.OFFER, offers=offered, bid_version=7, nodes=(NodeState(0, (0, 0)),))
    }
    talk.give(HeartbeatDue(1.0))
    assert talk.reports == {
        "ga": a_report(3, Occasion.HEARTBEAT, bid_version=7, waited_s=1.0),
        "gb": a_report(2, Occasion.HEARTBEAT, nodes=(NodeState(0, (0, 0)),), rival=(0, 0, 3), waited_s=1.0),
    }


def test_everybody_is_told_for_how_long_somebody_has_bid_without_a_break(talk):
    for name in ("ga", "gb"):
        talk.hear(ReportRequest(name, 1))
    some, nothing = a_bid("ga", 3, need=HUGE).lines, ()
    waited_s = []
    for bidder, version, lines, at_s in (
        ("gb", 1, nothing, 3.0),
        ("ga", 1, some, 5.0),
        ("gb", 2, some, 6.0),
        ("ga", 2, nothing, 8.0),
        ("gb", 3, nothing, 9.0),
        ("ga", 3, some, 11.0),
    ):
        talk.hear(Bid(bidder, 1, version, lines), at_s=at_s)
        talk.give(HeartbeatDue(at_s + 0.5))
        waited_s.append({report.waited_s for report in talk.reports.values()})
    assert waited_s == [{0.0}, {0.5}, {1.5}, {3.5}, {0.0}, {0.5}]


def test_what_a_master_learnt_is_passed_on_only_to_those_that_have_been_heard_of(talk):
    talk.hear(ReportRequest("ga", 1))
    talk.request("ga", learnt=(1.0, 2.0))
    talk.hear(ReportRequest("gb", 1))
    assert talk.reports["gb"].learnt == ()
    talk.request("ga", learnt=(3.0,))
    talk.request("ga", learnt=(4.0,))
    talk.give(HeartbeatDue(1.0))
    assert {name: report.learnt for name, report in talk.reports.items()} == {"ga": (), "gb": (3.0, 4.0)}


def test_an_answer_is_an_answer_though_something_else_was_to_be_told_first(talk):
    for name in ("ga", "gb"):
        talk.hear(ReportRequest(name, 1))
    talk.request("ga", a_launch(1, 0, BIG))
    talk.give(GlobalMastersChanged(1.0, ("ga", "gb")))
    assert {name: report.occasion for name, report in talk.reports.items()} == dict.fromkeys(
        ("ga", "gb"), Occasion.ANSWER
    )
    talk.request("ga", a_launch(2, 0, SMALL, is_held=True))
    talk.end("ga", 1)
    assert talk.reports["ga"].occasion is Occasion.COMPLETION, "of two occasions the first"


def test_a_master_that_is_gone_is_told_nothing_and_its_offers_and_held_launches_are_over(talk):
    for name in ("ga", "gb"):
        talk.hear(ReportRequest(name, 1))
    talk.request("gb", a_launch(1, 1, SMALL), a_launch(2, 1, SMALL, is_held=True))
    talk.hear(a_bid("gb", 3, need=BIG))
    assert talk.master.truth.free_of(0) == (0, 0)
    talk.give(GlobalMastersChanged(1.0, ("gc", "ga")))
    assert list(talk.reports) == ["ga"]
    assert talk.reports["ga"].owners == ("gc", "ga")
    assert [talk.master.truth.free_of(node) for node in (0, 1)] == [(4, 2), (1, 1)], "what runs goes on"
    talk.end("gb", 1)
    assert list(talk.reports) == ["ga"], "the owner, as the one that launched it is gone"
    talk.hear(ReportRequest("gb", 1))
    assert talk.reports == {}
    talk.hear(ReportRequest("gc", 4))
    assert (talk.reports["gc"].to_incarnation, talk.reports["gc"].sequence) == (4, 1)


def test_an_end_that_is_told_twice_or_of_a_stranger_changes_nothing(talk):
    talk.hear(ReportRequest("ga", 1))
    talk.request("ga", a_launch(1, 0, SMALL))
    talk.end("ga", 1)
    assert talk.end("ga", 1) == talk.end("gb", 9) == []
    assert talk.reports == {}


def test_a_later_life_of_the_local_master_says_so():
    talk = Conversation(offers=True, incarnation=3)
    assert talk.reports["gb"].incarnation == 3
    assert talk.request("ga", a_launch(1, 0, SLOT), to_incarnation=1) == []
    assert len(talk.request("ga", a_launch(1, 0, SLOT), to_incarnation=3)) == 1


def test_a_held_launch_that_is_given_up_is_rejected_as_of_ones_own_partition(talk):
    talk.hear(ReportRequest("ga", 1))
    talk.request("ga", a_launch(1, 1, SMALL, is_held=True))
    talk.give(LocalMasterTick(6.0))
    assert talk.reports["ga"].rejected == (LaunchRejected(1, InconsistencyKind.INTERNAL),)
    assert talk.reports["ga"].occasion is Occasion.VERDICT
    assert talk.reports["ga"].nodes == (NodeState(1, (2, 2)),)
