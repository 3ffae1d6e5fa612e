"""The Global Master by itself: reports and jobs in, messages out."""

import dataclasses

import pytest

from shim.domain.messages import (
    Bid,
    Ending,
    EndingKind,
    InconsistencyKind,
    LaunchRejected,
    LaunchRequest,
    Offer,
    ReportRequest,
    RunningLaunch,
    TaskRef,
)
from shim.scheduling.global_master.events import (
    GlobalMasterTick,
    JobWithdrawn,
    LocalMastersFound,
    SendMessage,
    TaskSettled,
)
from shim.scheduling.global_master.machine import GlobalMaster
from shim.scheduling.policies import HEDDLE, MEGHA
from shim.simulation.engine import seeded
from tests.support.global_master_conversation import SLOT, GlobalMasterTalk


@pytest.fixture
def talk():
    return GlobalMasterTalk()


def test_a_new_master_asks_every_cluster_for_everything():
    master = GlobalMaster("ga", MEGHA, n_resources=1, rng=seeded(1, "test"))
    effects = master.handle(LocalMastersFound(0.0, ("la", "lb")))
    assert effects == [SendMessage(name, ReportRequest("ga", 1)) for name in ("la", "lb")]
    assert not master.is_filled


def test_tasks_go_to_internal_nodes_first_in_one_request(talk):
    (request,) = talk.submit(n_tasks=3)
    assert isinstance(request, LaunchRequest)
    assert sorted(launch.node for launch in request.launches[:2]) == [0, 1]
    assert request.launches[2].node == 2
    assert talk.master.counters.repartitions == 1
    assert len({launch.number for launch in request.launches}) == 3


def test_what_was_rejected_is_matched_again_on_the_fresh_state():
    talk = GlobalMasterTalk(MEGHA, free=(1, 0, 0))
    (request,) = talk.submit()
    number = request.launches[0].number
    (again,) = talk.hear(seen_to=1, rejected=(LaunchRejected(number, InconsistencyKind.INTERNAL),), nodes={0: 0, 2: 1})
    assert again.launches[0].node == 2
    assert talk.master.counters.inconsistencies == {InconsistencyKind.INTERNAL: 1}


def test_a_report_that_crossed_a_launch_does_not_make_its_node_free_again(talk):
    talk.submit(n_tasks=2)
    assert talk.hear(nodes={0: 1, 1: 1, 2: 0}) == []
    assert [talk.master.view.free_of(row) for row in range(3)] == [(0,), (0,), (0,)]


def test_waiting_work_bids_and_an_offer_is_used():
    talk = GlobalMasterTalk(free=(0, 0, 0))
    (bid,) = talk.submit(n_tasks=2)
    assert isinstance(bid, Bid)
    assert (bid.lines[0].need, bid.lines[0].count) == (SLOT, 2)
    (request,) = talk.hear(offers=(Offer(9, 2, (1,), None),), bid_version=1)
    assert (request.launches[0].node, request.launches[0].offer) == (2, 9)
    assert request.bid.lines[0].count == 1


def test_an_offer_that_the_runner_up_needs_more_is_declined_with_the_true_bid():
    talk = GlobalMasterTalk(free=(0, 0, 0))
    talk.submit(n_tasks=2)
    (request,) = talk.hear(offers=(Offer(9, 2, (1,), (0, 0, -50)),))
    assert (request.launches, request.declined) == ((), (9,))
    assert request.bid.lines[0].count == 2


def test_an_offer_without_need_is_declined_with_an_empty_bid(talk):
    (request,) = talk.hear(offers=(Offer(9, 2, (1,), None),))
    assert (request.declined, request.bid.lines) == ((9,), ())


def test_a_more_urgent_job_renews_the_bid_and_a_less_urgent_one_does_not():
    talk = GlobalMasterTalk(free=(0, 0, 0))
    talk.submit("large", n_tasks=100)
    assert talk.submit("larger", n_tasks=200) == []
    talk.master._core.tokens = 1.0
    (bid,) = talk.submit("small")
    assert isinstance(bid, Bid)
    assert talk.submit("smaller", estimate_s=0.1) == []


def test_an_ending_is_told_to_the_submitter_once(talk):
    (request,) = talk.submit()
    launch = request.launches[0]
    ending = Ending(launch.number, launch.task, EndingKind.FINISHED, 3.0)
    talk.hear(seen_to=1, ended=(ending,), nodes={launch.node: 1})
    assert talk.effects == [TaskSettled(TaskRef("job", 0), EndingKind.FINISHED)]
    talk.full((1, 1, 1), ended=(ending,))
    assert talk.effects == []


def test_after_a_gap_everything_is_asked_for_once_and_nothing_is_believed(talk):
    assert talk.hear(sequence=7, nodes={0: 0}) == [ReportRequest("ga", 1)]
    assert talk.hear(sequence=8, nodes={0: 0}) == []
    assert talk.master.view.free_of(0) == (1,)
    talk.full((0, 1, 1), sequence=9)
    assert talk.master.view.free_of(0) == (0,)
    talk.hear(sequence=8, nodes={0: 1})
    assert talk.master.view.free_of(0) == (0,)


def test_reports_for_an_earlier_life_are_not_believed():
    talk = GlobalMasterTalk(incarnation=2, free=(1, 1, 1))
    assert not talk.master.is_filled
    talk.full((1, 1, 1), to_incarnation=2)
    assert talk.master.is_filled


def test_what_is_not_answered_is_sent_again(talk):
    (request,) = talk.submit()
    assert talk.give(GlobalMasterTick(2.0)) == []
    assert talk.give(GlobalMasterTick(3.5)) == [dataclasses.replace(request, heard_to=1)]
    talk.hear(at_s=4.0, seen_to=1)
    assert talk.give(GlobalMasterTick(9.0)) == []


def test_a_bid_that_no_report_knows_of_is_sent_again_ever_less_often():
    talk = GlobalMasterTalk(free=(0, 0, 0))
    talk.submit()
    sent = [second for second in range(1, 40) if talk.give(GlobalMasterTick(float(second)))]
    assert 2 <= len(sent) <= 6
    talk.hear(at_s=40.0, bid_version=talk.master._core.links["la"].bid.version)
    assert talk.give(GlobalMasterTick(500.0)) == []


def test_a_new_life_of_a_cluster_starts_over_and_lost_requests_wait_again(talk):
    (request,) = talk.submit(n_tasks=2)
    kept, lost = request.launches
    running = RunningLaunch(kept.number, kept.node, SLOT, kept.task, "", 1.0)
    (again,) = talk.full((0, 1, 0), at_s=2.0, incarnation=2, sequence=1, running=(running,))
    assert (again.sequence, again.to_incarnation) == (1, 2)
    assert [launch.task for launch in again.launches] == [lost.task]


def test_a_full_report_without_a_confirmed_launch_lets_its_task_wait_again(talk):
    talk.submit()
    talk.hear(seen_to=1, nodes={0: 0})
    (again,) = talk.full((1, 1, 1), at_s=2.0, seen_to=1)
    assert again.launches[0].task == TaskRef("job", 0)


def test_a_new_life_adopts_what_runs():
    talk = GlobalMasterTalk(incarnation=2)
    launch = RunningLaunch(5, 0, SLOT, TaskRef("old", 3), "", 1.0)
    talk.full((0, 1, 1), to_incarnation=2, running=(launch,))
    assert talk.master.adopted == {5: launch}
    talk.hear(to_incarnation=2, ended=(Ending(5, launch.task, EndingKind.FINISHED, 9.0),))
    assert talk.effects == [TaskSettled(launch.task, EndingKind.FINISHED)]
    assert talk.master.adopted == {}


def test_a_gang_that_does_not_fit_at_once_takes_nothing():
    talk = GlobalMasterTalk(MEGHA)
    assert talk.submit(n_tasks=4, is_gang=True) == []
    assert talk.master.view.has_room_for((1,))


def test_a_gang_is_held_and_started_together():
    talk = GlobalMasterTalk(MEGHA)
    (request,) = talk.submit(n_tasks=3, is_gang=True)
    assert all(launch.is_held for launch in request.launches)
    assert request.wants_verdict
    (starts,) = talk.hear(seen_to=1, nodes={0: 0, 1: 0, 2: 0})
    assert sorted(starts.starts) == sorted(launch.number for launch in request.launches)


def test_a_higher_priority_is_placed_first():
    talk = GlobalMasterTalk(free=(0, 0, 0))
    talk.submit("small")
    talk.submit("important", n_tasks=50, priority=9)
    (request,) = talk.hear(nodes={0: 1})
    assert [launch.task.job for launch in request.launches] == ["important"]


def test_a_withdrawn_job_gives_up_what_it_holds_and_waits_no_more():
    talk = GlobalMasterTalk(MEGHA, free=(1, 1, 0))
    (request,) = talk.submit(n_tasks=2, is_gang=True)
    talk.hear(
        seen_to=1,
        rejected=(LaunchRejected(request.launches[1].number, InconsistencyKind.INTERNAL),),
        nodes={0: 0, 1: 0},
    )
    (cancel,) = talk.give(JobWithdrawn(2.0, "job"))
    assert cancel.cancels == (request.launches[0].number,)
    assert talk.hear(nodes={2: 1}) == []


def test_a_queue_below_its_share_asks_the_greediest_one_back():
    talk = GlobalMasterTalk(MEGHA, free=(0, 0, 0), queue_shares={"poor": 0.5, "greedy": 0.5})
    talk.hear(queue_usage=(("greedy", (3,)),))
    (request,) = talk.submit(queue="poor")
    assert request.preemptions[0].victim_queue == "greedy"
    assert talk.submit("another", queue="poor") == []


def test_a_queue_that_holds_its_share_waits():
    talk = GlobalMasterTalk(MEGHA, free=(0, 0, 0), queue_shares={"poor": 0.5, "greedy": 0.5})
    talk.hear(queue_usage=(("greedy", (3,)),))
    assert talk.submit(queue="greedy") == []


def test_what_was_learnt_is_told_with_the_next_request_only():
    talk = GlobalMasterTalk(HEDDLE)
    (request,) = talk.submit(n_tasks=2)
    launch = request.launches[0]
    talk.hear(seen_to=1, ended=(Ending(launch.number, launch.task, EndingKind.FINISHED, 3.0),), nodes={launch.node: 1})
    (second,) = talk.submit("second")
    assert second.learnt == (3.0,)
    (third,) = talk.submit("third")
    assert third.learnt == ()
    talk.hear(learnt=(8.0, 9.0))
    assert talk.master._core.book.durations.observed == 3


@pytest.mark.parametrize(
    ("nobody_waited_at_s", "waited_s", "first"), [(1.0, 999.5, "untried"), (1.0, 0.0, "long"), (999.999, 999.5, "long")]
)
def test_the_rest_of_a_job_of_long_tasks_waits_for_one_that_may_be_short_where_a_queue_lasts(
    nobody_waited_at_s, waited_s, first
):
    talk = GlobalMasterTalk(HEDDLE)
    (request,) = talk.submit("long", n_tasks=6)
    talk.submit("untried", n_tasks=6, at_s=2.0)
    talk.hear(nobody_waited_at_s, seen_to=1, learnt=(1.0,) * 10)
    launch = request.launches[0]
    ended = (Ending(launch.number, launch.task, EndingKind.FINISHED, 999.0),)
    (again,) = talk.hear(at_s=1000.0, ended=ended, nodes={launch.node: 1}, waited_s=waited_s)
    assert [launch.task.job for launch in again.launches] == [first]
