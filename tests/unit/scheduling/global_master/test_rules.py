"""Rules of a Global Master at their boundaries: times, lives, offers, gangs, preemption."""

import dataclasses

import pytest

from shim.domain.ids import GlobalMasterId
from shim.domain.messages import (
    Bid,
    Ending,
    EndingKind,
    InconsistencyKind,
    LaunchRejected,
    Offer,
    ReportRequest,
    RunningLaunch,
    TaskRef,
)
from shim.scheduling.global_master.events import GlobalMasterTick, JobWithdrawn, LocalMastersFound, TaskSettled
from shim.scheduling.policies import MEGHA
from tests.support.global_master_conversation import SLOT, GlobalMasterTalk

ASKED = [ReportRequest(GlobalMasterId("ga"), 1)]


@pytest.fixture
def talk():
    """Policy without bids."""
    return GlobalMasterTalk(MEGHA)


@pytest.fixture
def bidder():
    """Nothing is free, and offers are asked for."""
    return GlobalMasterTalk(free=(0, 0, 0))


def free(talk):
    return [talk.master.view.free_of(talk.master.view.row_of("la", node))[0] for node in range(3)]


# ---------------------------------------------------------------------- times


@pytest.mark.parametrize(
    ("options", "at_s", "is_repeated"),
    [({}, 2.9, False), ({}, 3.0, True), ({"answer_within_s": 5.0}, 5.9, False), ({"answer_within_s": 5.0}, 6.0, True)],
)
def test_what_was_sent_is_sent_again_as_soon_as_an_answer_is_due(options, at_s, is_repeated):
    talk = GlobalMasterTalk(MEGHA, **options)
    (request,) = talk.submit(at_s=1.0)
    talk.hear(at_s=1.0, sequence=9)
    again = [dataclasses.replace(request, heard_to=1), *ASKED]
    assert sorted(map(str, talk.give(GlobalMasterTick(at_s)))) == (sorted(map(str, again)) if is_repeated else [])
    assert talk.give(GlobalMasterTick(at_s)) == [], "sent just now"


def test_each_request_is_repeated_with_what_has_been_heard_since(talk):
    (first,) = talk.submit("a")
    (second,) = talk.submit("b")
    talk.hear(at_s=1.5, seen_to=0, seen_beyond=(2,))
    assert talk.give(GlobalMasterTick(3.0)) == [dataclasses.replace(first, heard_to=2)]
    talk.hear(at_s=3.0, seen_to=2)
    assert talk.give(GlobalMasterTick(30.0)) == []
    assert (first.sequence, second.sequence) == (1, 2)


@pytest.mark.parametrize(("at_s", "is_renewed"), [(2.9, False), (3.0, True)])
def test_a_bid_that_no_report_knows_of_is_renewed_after_two_seconds_then_four(bidder, at_s, is_renewed):
    bidder.submit(at_s=1.0)
    assert [bid.version for bid in bidder.give(GlobalMasterTick(at_s))] == ([2] if is_renewed else [])
    if is_renewed:
        assert bidder.give(GlobalMasterTick(6.9)) == []
        assert [bid.version for bid in bidder.give(GlobalMasterTick(7.0))] == [3]


def test_a_report_that_knows_an_older_bid_does_not_stop_its_renewal(bidder):
    bidder.submit(at_s=1.0)
    bidder.give(GlobalMasterTick(3.0))
    bidder.hear(at_s=3.0, bid_version=1)
    assert [bid.version for bid in bidder.give(GlobalMasterTick(7.0))] == [3]
    bidder.hear(at_s=7.0, bid_version=3)
    assert bidder.give(GlobalMasterTick(100.0)) == []


# ---------------------------------------------------------------------- reports


def test_a_report_of_another_life_or_for_another_is_not_heard(talk):
    talk.full((1, 1, 1), incarnation=3, sequence=1)
    talk.hear(incarnation=2, sequence=9, nodes={0: 0})
    talk.hear(incarnation=3, to_incarnation=2, sequence=2, nodes={0: 0})
    assert free(talk) == [1, 1, 1]
    assert talk.effects == []


def test_a_new_life_is_believed_from_its_full_report_on_and_asked_for_it_once(talk):
    assert talk.hear(incarnation=2, sequence=5, nodes={0: 0}, at_s=1.0) == ASKED
    assert talk.hear(incarnation=2, sequence=6, nodes={0: 0}, at_s=1.5) == []
    assert free(talk) == [1, 1, 1]
    assert talk.give(GlobalMasterTick(2.9)) == []
    assert talk.give(GlobalMasterTick(3.0)) == ASKED
    talk.full((0, 1, 1), incarnation=2, sequence=7)
    assert free(talk) == [0, 1, 1]
    assert talk.give(GlobalMasterTick(100.0)) == [], "it has come"
    (request,) = talk.submit()
    assert (request.to_incarnation, request.heard_to, request.sequence) == (2, 7, 1)


def test_a_cluster_that_was_not_announced_is_asked_for_everything():
    talk = GlobalMasterTalk(MEGHA)
    assert talk.give(LocalMastersFound(1.0, ("la", "lb"))) == [*ASKED, *ASKED]
    assert [effect.to for effect in talk.effects] == ["la", "lb"]
    assert not talk.master.is_filled


def test_a_repeated_or_overtaken_report_changes_nothing_but_its_offers_are_declined(bidder):
    bidder.submit()
    bidder.hear(nodes={})
    (request,) = bidder.hear(sequence=2, nodes={0: 1}, offers=(Offer(5, 0, (1,), None), Offer(6, 1, (1,), None)))
    assert (request.declined, request.launches) == ((5, 6), ())
    assert free(bidder) == [0, 0, 0]
    asked, request = sorted(
        bidder.hear(sequence=9, offers=(Offer(7, 0, (1,), None),)), key=lambda m: type(m).__name__, reverse=True
    )
    assert (asked, request.declined) == (ASKED[0], (7,))
    assert request.bid.lines == (), "offers could not be told from older ones"


def test_offers_on_nodes_that_are_not_known_are_declined_and_counted(bidder):
    bidder.submit(n_tasks=3)
    (request,) = bidder.hear(offers=(Offer(1, 7, (1,), None), Offer(2, 0, (1,), None)))
    assert request.declined == (1,)
    assert [(launch.offer, launch.node) for launch in request.launches] == [(2, 0)]
    (request,) = bidder.hear(offers=(Offer(3, 1, (1,), (-99,)),))
    counters = bidder.master.counters
    assert (counters.offers_used, counters.offers_declined, counters.matches, counters.repartitions) == (1, 2, 1, 0)


def test_a_full_report_puts_back_only_confirmed_launches_of_its_own_cluster(talk):
    talk.full((1, 1, 0), sequence=2)
    talk.give(LocalMastersFound(1.0, ("lb",)))
    (request,) = talk.submit(n_tasks=2)
    assert talk.full((1, 1, 0), seen_to=0) == [], "on their way"
    talk.hear(seen_to=1, nodes={0: 0, 1: 0})
    first, second = request.launches
    running = (RunningLaunch(first.number, first.node, SLOT, first.task, "", 1.0),)
    (again,) = talk.full((0, 1, 0), seen_to=1, running=running)
    assert [launch.task for launch in again.launches] == [second.task]
    assert talk.master.adopted == {}


def test_an_end_is_settled_once_by_its_kind_and_of_a_stranger_not_at_all(talk):
    (request,) = talk.submit(n_tasks=2)
    one, other = request.launches
    ended = (Ending(one.number, one.task, EndingKind.FINISHED, 2.0), Ending(99, TaskRef("x", 1), EndingKind.LOST, 1.0))
    talk.hear(seen_to=1, ended=ended)
    assert talk.effects == [TaskSettled(one.task, EndingKind.FINISHED)]
    (again,) = talk.hear(ended=(Ending(other.number, other.task, EndingKind.LOST, 1.0),), nodes={0: 1})
    assert talk.effects[0] == TaskSettled(other.task, EndingKind.LOST)
    assert again.launches[0].task == other.task


def test_seen_launches_count_as_arrived_and_those_on_their_way_stay_subtracted(talk):
    talk.submit("a")
    talk.submit("b")
    taken = sorted(set(range(3)) - {node for node in range(3) if free(talk)[node]})
    assert len(taken) == 2
    talk.hear(seen_to=1, nodes=dict.fromkeys(range(3), 1))
    assert sum(free(talk)) == 2, "the first is in what the report tells, the second is not"
    talk.hear(seen_to=2, nodes=dict.fromkeys(range(3), 1))
    assert free(talk) == [1, 1, 1]


def test_a_rejected_launch_is_counted_and_its_node_is_as_reported(talk):
    (request,) = talk.submit()
    node = request.launches[0].node
    rejected = (LaunchRejected(request.launches[0].number, InconsistencyKind.EXTERNAL),)
    talk.hear(seen_to=1, rejected=rejected, nodes={0: 0, 1: 0, 2: 0})
    assert free(talk) == [0, 0, 0]
    assert talk.master.counters.inconsistencies == {InconsistencyKind.EXTERNAL: 1}
    (again,) = talk.hear(nodes={node: 1})
    assert again.launches[0].task == request.launches[0].task


# ---------------------------------------------------------------------- gangs and withdrawal


def test_a_gang_starts_when_the_last_of_it_is_confirmed_and_once(talk):
    (request,) = talk.submit(n_tasks=2, is_gang=True)
    numbers = [launch.number for launch in request.launches]
    rejected = (LaunchRejected(numbers[1], InconsistencyKind.INTERNAL),)
    (again,) = talk.hear(seen_to=1, rejected=rejected, nodes={0: 0, 1: 0, 2: 1})
    assert (again.starts, len(again.launches), again.launches[0].is_held) == ((), 1, True)
    (starts,) = talk.hear(seen_to=2, nodes={2: 0})
    assert sorted(starts.starts) == sorted([numbers[0], again.launches[0].number])
    assert talk.hear(seen_to=3) == []


def test_a_job_that_is_no_gang_asks_for_no_verdict_where_acceptance_is_not_answered(talk):
    (request,) = talk.submit(n_tasks=2)
    assert request.wants_verdict is MEGHA.commitment.answers_acceptance
    assert not any(launch.is_held for launch in request.launches)
    assert talk.give(JobWithdrawn(2.0, "job")) == []
    assert talk.give(JobWithdrawn(2.0, "unknown")) == []


# ---------------------------------------------------------------------- preemption


def test_a_queue_that_was_asked_back_borrows_nothing_for_ten_seconds():
    talk = GlobalMasterTalk(MEGHA, free=(1, 1, 0), queue_shares={"poor": 0.9, "greedy": 0.1})
    (request,) = talk.submit("first", n_tasks=2, queue="greedy")
    launch = request.launches[0]
    usage = (("greedy", (2,)),)
    talk.hear(seen_to=1, nodes={0: 0, 1: 0}, queue_usage=usage)
    ended = (Ending(launch.number, launch.task, EndingKind.PREEMPTED, 0.0),)
    assert talk.hear(at_s=20.0, ended=ended, nodes={launch.node: 1}) == []
    assert talk.effects == [TaskSettled(launch.task, EndingKind.PREEMPTED)]
    assert talk.give(GlobalMasterTick(29.9)) == []
    (again,) = talk.give(GlobalMasterTick(30.0))
    assert [each.task for each in again.launches] == [launch.task]


def test_what_was_asked_back_is_asked_anew_after_the_next_word_of_usage_only():
    talk = GlobalMasterTalk(MEGHA, free=(0, 0, 0), queue_shares={"poor": 0.5, "greedy": 0.5})
    usage = (("greedy", (3,)),)
    talk.hear(queue_usage=usage)
    (request,) = talk.submit(n_tasks=1, queue="poor")
    assert [(wish.victim_queue, wish.need) for wish in request.preemptions] == [("greedy", SLOT)]
    assert talk.hear(seen_to=1) == []
    (again,) = talk.hear(queue_usage=usage)
    assert len(again.preemptions) == 1


def test_the_first_bid_tells_who_bids_of_which_life():
    bidder = GlobalMasterTalk(free=(0, 0, 0), incarnation=4)
    bidder.full((0, 0, 0), to_incarnation=4)
    (bid,) = bidder.submit(n_tasks=2)
    assert isinstance(bid, Bid)
    assert (bid.global_master, bid.incarnation, bid.version) == ("ga", 4, 1)
    (request,) = bidder.hear(to_incarnation=4, nodes={0: 1})
    assert [launch.number for launch in request.launches] == [(4 << 40) + 1]
    assert (request.incarnation, request.bid.version) == (4, 2)
