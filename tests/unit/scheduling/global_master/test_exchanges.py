"""Who is sent what, and what is counted: the exchanges of a Global Master with Local Masters one by one."""

import pytest

from shim.domain.messages import Bid, LaunchRequest, LocalMasterReport, NodeState, Occasion, Offer, ReportRequest
from shim.domain.resources import Need
from shim.scheduling.global_master.events import GlobalMasterTick, LocalMastersFound, ReportReceived, SendMessage
from shim.scheduling.policies import MEGHA
from tests.support.global_master_conversation import GlobalMasterTalk

GPU = Need((1,), frozenset({"label:gpu"}))


def sent(talk, kind):
    """Whom the last event made it send a message of a kind, and the messages."""
    return {
        effect.to: effect.message
        for effect in talk.effects
        if isinstance(effect, SendMessage) and isinstance(effect.message, kind)
    }


def receivers(talk, kind):
    return list(sent(talk, kind))


# ---------------------------------------------------------------------- offers


@pytest.mark.parametrize(
    ("wanted", "offers", "used", "declined"),
    [(2, 1, 1, 0), (2, 2, 2, 0), (1, 2, 1, 1), (0, 2, 0, 2), (0, 0, 0, 0)],
)
def test_offers_that_are_used_and_declined_are_counted(wanted, offers, used, declined):
    talk = GlobalMasterTalk(free=(0, 0, 0))
    if wanted:
        talk.submit(n_tasks=wanted)
    messages = talk.hear(offers=tuple(Offer(9 + number, number, (1,), None) for number in range(offers)))
    counters = talk.master.counters
    assert (counters.offers_used, counters.offers_declined) == (used, declined)
    requests = [message for message in messages if isinstance(message, LaunchRequest)]
    assert sum(len(request.launches) for request in requests) == used
    assert sum(len(request.declined) for request in requests) == declined


def test_counts_of_offers_add_up_over_reports():
    talk = GlobalMasterTalk(free=(0, 0, 0))
    talk.submit(n_tasks=2)
    for number in (9, 10, 11):
        talk.hear(offers=(Offer(number, 2, (1,), None),), seen_to=number - 9, nodes={2: 0})
    assert (talk.master.counters.offers_used, talk.master.counters.offers_declined) == (2, 1)


# ---------------------------------------------------------------------- who is spoken to


def test_nothing_but_the_question_for_everything_goes_to_one_that_was_not_heard_of():
    talk = GlobalMasterTalk(free=(0, 0, 0))
    talk.give(LocalMastersFound(1.0, ("lb",)))
    assert receivers(talk, ReportRequest) == ["lb"]
    talk.submit(n_tasks=2)
    assert receivers(talk, Bid) == ["la"]
    assert receivers(talk, LaunchRequest) == []
    assert not talk.master.is_filled


def test_without_waiting_work_nothing_is_bid():
    talk = GlobalMasterTalk()
    assert talk.hear(nodes={0: 1}) == []
    (request,) = talk.submit()
    assert request.bid is None, "all of it was placed, and nothing was bid before"


def test_a_policy_without_bids_sends_none():
    talk = GlobalMasterTalk(MEGHA, free=(0, 0, 0))
    assert talk.submit(n_tasks=2) == []
    assert talk.give(GlobalMasterTick(100.0)) == []


@pytest.mark.parametrize(("at_s", "is_asked"), [(2.9, False), (3.0, True), (4.9, True)])
def test_who_does_not_tell_everything_is_asked_again_after_two_seconds(at_s, is_asked):
    talk = GlobalMasterTalk()
    talk.give(LocalMastersFound(1.0, ("lb",)))
    talk.give(GlobalMasterTick(at_s))
    assert receivers(talk, ReportRequest) == (["lb"] if is_asked else [])
    if is_asked:
        talk.give(GlobalMasterTick(at_s + 1.9))
        assert receivers(talk, ReportRequest) == [], "the time begins anew"
        talk.give(GlobalMasterTick(at_s + 2.0))
        assert receivers(talk, ReportRequest) == ["lb"]


def test_who_has_told_everything_is_not_asked_again():
    talk = GlobalMasterTalk()
    talk.give(GlobalMasterTick(1000.0))
    assert receivers(talk, ReportRequest) == []


# ---------------------------------------------------------------------- properties of nodes


def changes(talk, *nodes):
    talk.sequence += 1
    report = LocalMasterReport(
        "la", sequence=talk.sequence, occasion=Occasion.VERDICT, nodes=nodes, incarnation=1, to_incarnation=1
    )
    return [each for each in talk.give(ReportReceived(1.0, report)) if isinstance(each, LaunchRequest)]


def test_a_node_that_gets_a_property_takes_work_for_it_and_one_that_loses_it_does_not():
    talk = GlobalMasterTalk(free=(0, 1, 0))
    assert not [each for each in talk.submit("picky", n_tasks=2, need=GPU) if isinstance(each, LaunchRequest)]
    (request,) = changes(talk, NodeState(1, (1,), frozenset({"label:gpu"})))
    assert [launch.node for launch in request.launches] == [1]
    assert changes(talk, NodeState(0, (1,))) == [], "nothing was said of its properties: it has none"
    assert changes(talk, NodeState(1, (2,), frozenset())) == []
    (again,) = changes(talk, NodeState(0, (1,), frozenset({"label:gpu"})))
    assert [launch.node for launch in again.launches] == [0]


@pytest.mark.parametrize("owners", [("ga", "ga", "gb"), ("gb", "ga", "ga"), ("ga", "ga", "ga")])
def test_a_full_report_that_lays_nodes_out_anew_takes_work_by_their_properties_of_now(owners):
    talk = GlobalMasterTalk(free=(1, 1, 1))
    assert not [each for each in talk.submit("picky", need=GPU) if isinstance(each, LaunchRequest)]
    talk.sequence += 1
    properties = (frozenset(), frozenset({"label:gpu"}), frozenset())
    report = LocalMasterReport(
        "la",
        sequence=talk.sequence,
        occasion=Occasion.ANSWER,
        is_full=True,
        nodes=tuple(NodeState(node, (1,), each) for node, each in enumerate(properties)),
        owners=owners,
        incarnation=1,
        to_incarnation=1,
    )
    talk.give(ReportReceived(1.0, report))
    assert [launch.node for launch in sent(talk, LaunchRequest)["la"].launches] == [1]


def test_a_cluster_that_is_found_later_takes_work_that_nothing_before_could():
    talk = GlobalMasterTalk(free=(1, 1, 1))
    assert not [each for each in talk.submit("picky", need=GPU) if isinstance(each, LaunchRequest)]
    report = LocalMasterReport(
        "lb",
        sequence=1,
        occasion=Occasion.ANSWER,
        is_full=True,
        nodes=(NodeState(0, (1,), frozenset()), NodeState(1, (1,), frozenset({"label:gpu"}))),
        owners=("ga", "gb"),
        incarnation=1,
        to_incarnation=1,
    )
    talk.give(ReportReceived(1.0, report))
    assert receivers(talk, LaunchRequest) == ["lb"]
    assert [launch.node for launch in sent(talk, LaunchRequest)["lb"].launches] == [1]


# ---------------------------------------------------------------------- what was asked back


def asks_back(talk):
    return [wish.victim_queue for request in sent(talk, LaunchRequest).values() for wish in request.preemptions]


def test_what_is_launched_on_an_offer_is_not_counted_as_asked_back_besides():
    """The queue may have more than one of five: it holds the first by the offer, and asks again for the second."""
    talk = GlobalMasterTalk(free=(0, 0, 0), queue_shares={"poor": 0.6, "greedy": 0.4})
    talk.hear(queue_usage=(("greedy", (5,)),))
    talk.submit("first", queue="poor")
    assert asks_back(talk) == ["greedy"]
    talk.hear(offers=(Offer(9, 2, (1,), None),))
    assert len(sent(talk, LaunchRequest)["la"].launches) == 1
    talk.submit("second", queue="poor")
    assert asks_back(talk) == ["greedy"]
