"""Queues as a Global Master sees them at a moment: what each holds, where, and who borrows nothing."""

from dataclasses import replace

import pytest

from shim.domain.messages import NodeState, PreemptionRequest
from shim.domain.resources import Need
from shim.scheduling.global_master.core import Core
from shim.scheduling.global_master.events import JobRequest, TaskGroup
from shim.scheduling.global_master.links import LocalMasterLink
from shim.scheduling.global_master.machine import local_master_of, take_snapshot
from shim.scheduling.policies import HEDDLE, MEGHA
from shim.scheduling.snapshot import Column
from shim.simulation.engine import seeded

SHARES = {"a": 0.5, "b": 0.3, "c": 0.2}
NEED = Need((2, 1))


@pytest.fixture
def core():
    """Two clusters of a node each; a job of queue `a` waits, so that queues are looked at."""
    core = Core("ga", MEGHA, n_resources=2, rng=seeded(1, "test"), incarnation=1, queue_shares=SHARES)
    for name, free in (("la", (5, 4)), ("lb", (3, 2))):
        core.links[name] = LocalMasterLink(incarnation=1)
        core.view.replace_cluster(name, [NodeState(0, free, frozenset())], ("ga",), 1)
    core.book.add(JobRequest("job", (TaskGroup(NEED, (0, 1, 2)),), queue="a"), 0.0)
    return core


def queues(core, now_s=0.0):
    return take_snapshot(core, now_s).queues


def test_the_whole_is_what_is_free_and_what_all_hold(core):
    core.links["la"].queue_usage = {"b": (1, 1), "stranger": (10, 10)}
    core.links["lb"].queue_usage = {"b": (2, 0), "c": (4, 4)}
    seen = queues(core)
    assert seen.total.tolist() == [8 + 1 + 10 + 2 + 4, 6 + 1 + 10 + 0 + 4]
    assert seen.held.tolist() == [[0, 0], [3, 1], [4, 4]]
    assert seen.held_at.tolist() == [[[0, 0], [0, 0]], [[1, 1], [2, 0]], [[0, 0], [4, 4]]]
    assert seen.share.tolist() == list(SHARES.values())


def test_what_was_launched_here_is_known_better_than_what_was_told(core):
    core.links["la"].queue_usage = {"a": (9, 9), "b": (1, 1)}
    job = core.book.jobs["job"]
    core.launch(job, job.groups[0], 0, 0.0)
    assert queues(core).held.tolist() == [[2, 1], [1, 1], [0, 0]]


@pytest.mark.parametrize(("taker", "gains"), [("a", [2, 1]), ("", [0, 0])])
def test_what_is_asked_back_counts_as_gone_there_and_for_its_taker_as_had(core, taker, gains):
    core.links["lb"].queue_usage = {"b": (6, 6)}
    core.links["lb"].asked_back = [(PreemptionRequest("b", NEED, (0,)), taker)]
    seen = queues(core)
    assert seen.held.tolist() == [gains, [4, 5], [0, 0]]
    assert seen.held_at[1].tolist() == [[0, 0], [4, 5]]


@pytest.fixture
def learner():
    """Two clusters that have been heard of; a job whose tasks take 100 s waits, after five of them have ended."""
    core = Core("ga", HEDDLE, n_resources=2, rng=seeded(1, "test"), incarnation=1, queue_shares={})
    core.links |= {name: LocalMasterLink(incarnation=1) for name in ("la", "lb")}
    job = core.book.add(JobRequest("job", (TaskGroup(NEED, (0, 1, 2)),)), 0.0)
    for column, value in ((Column.FINISHED, 5.0), (Column.FINISHED_S, 500.0)):
        core.book.table.put(column, job.row, value)
    return core


def counted_s(core, now_s):
    (row,) = core.book.table.waiting_rows()
    return take_snapshot(core, now_s).jobs[Column.COUNTED_S, row]


def test_no_task_counts_for_longer_than_twice_what_somebody_has_waited(learner):
    learner.nobody_bid_at_s = 8.0
    assert counted_s(learner, 9.0) == 2.0
    assert counted_s(learner, 16.0) == 16.0
    assert counted_s(learner, 1000.0) == 100.0


def test_where_room_is_kept_for_short_tasks_each_counts_in_full(learner):
    for duration_s in (*[1.0] * 90, *[100.0] * 10):
        learner.book.durations.observe(duration_s)
    learner.nobody_bid_at_s = 8.0
    assert counted_s(learner, 9.0) == 100.0


def test_an_order_without_a_horizon_counts_each_task_in_full(learner):
    learner.policy = replace(HEDDLE, ordering=replace(HEDDLE.ordering, has_horizon=False))
    assert counted_s(learner, 0.0) == 100.0


def test_a_queue_that_was_asked_back_is_patient_until_its_time(core):
    core.patient_until_s = {"b": 10.0}
    assert queues(core, 9.9).is_patient.tolist() == [False, True, False]
    assert queues(core, 10.0).is_patient.tolist() == [False, False, False]


def test_clusters_stand_in_the_order_of_their_links(core):
    assert [local_master_of(core, column) for column in (0, 1)] == ["la", "lb"]


def test_of_the_offers_that_came_as_many_wishes_are_over_as_there_are_offers():
    wishes = [(PreemptionRequest(queue, NEED, (0,)), "a") for queue in ("b", "c", "b")]
    link = LocalMasterLink(asked_back=list(wishes))
    link.note_offers(2)
    assert [taker for _, taker in link.asked_back] == ["", "", "a"]
    link.note_offers(1)
    assert [taker for _, taker in link.asked_back] == ["", "", ""]
    link.note_preempted("c")
    assert [wish.victim_queue for wish, _ in link.asked_back] == ["b", "b"]
    link.note_preempted("b")
    link.note_preempted("stranger")
    assert [wish.victim_queue for wish, _ in link.asked_back] == ["b"]
