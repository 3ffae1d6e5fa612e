from dataclasses import replace

import pytest

from shim.domain.messages import InconsistencyKind, LaunchRejected, Need, NodeState
from shim.scheduling.global_master.core import Core
from shim.scheduling.global_master.cycle import commit, entitle, order, place, repair, run_cycle, take_snapshot
from shim.scheduling.global_master.events import JobRequest, TaskGroup
from shim.scheduling.global_master.links import Link
from shim.scheduling.global_master.ordering import first_come, least_share
from shim.scheduling.global_master.recipe import QueueOrder
from shim.scheduling.policies import MEGHA
from shim.simulation.engine import seeded

SLOT, GPU = Need((1,)), Need((1,), frozenset({"label:gpu"}))


@pytest.fixture
def core():
    core = Core(
        "ga", MEGHA, n_resources=1, rng=seeded(1, "test"), incarnation=1, queue_shares={"poor": 0.5, "greedy": 0.5}
    )
    for name in ("la", "lb"):
        core.links[name] = Link(incarnation=1)
        core.view.replace_cluster(name, [NodeState(node, (1,), frozenset()) for node in range(2)], ("ga", "gb"), 1)
    return core


def add(core, name, n_tasks, need=SLOT, **content):
    return core.book.add(JobRequest(name, (TaskGroup(need, tuple(range(n_tasks))),), **content), 0.0)


def test_a_snapshot_knows_which_needs_can_be_placed_at_all(core):
    add(core, "job", 1)
    add(core, "big", 1, Need((9,)))
    assert take_snapshot(core, 0.0).placeable == {SLOT}


def test_queues_below_their_share_go_first(core):
    core.links["la"].queue_usage = {"greedy": (9,)}
    add(core, "large", 9, queue="poor")
    add(core, "small", 1, queue="greedy")
    assert [turn.job.request.job for turn in order(core, 0.0)] == ["small", "large"]
    entitle(core)
    assert [turn.job.request.job for turn in order(core, 0.0)] == ["large", "small"]


def test_the_first_in_order_is_placed_first_and_what_finds_no_node_lets_the_others_go_on(core):
    add(core, "picky", 1, GPU)
    add(core, "job", 3)
    place(core, order(core, 0.0), take_snapshot(core, 0.0))
    assert sorted(placed.job.request.job for placed in core.book.placed.values()) == ["job"] * 3


def test_one_request_for_each_local_master_that_got_a_match(core):
    add(core, "job", 4)
    run_cycle(core, 0.0)
    commit(core, 0.0)
    requests = [effect.message for effect in core.effects]
    assert [len(request.launches) for request in requests] == [2, 2]
    assert [request.sequence for request in requests] == [1, 1]
    commit(core, 0.0)
    assert len(core.effects) == 2


def test_rejected_tasks_wait_again_and_are_counted_by_kind(core):
    job = add(core, "job", 2)
    run_cycle(core, 0.0)
    numbers = list(core.book.placed)
    repair(
        core,
        [LaunchRejected(numbers[0], InconsistencyKind.EXTERNAL), LaunchRejected(12345, InconsistencyKind.INTERNAL)],
    )
    assert job.n_waiting == 1
    assert core.counters.inconsistencies == {InconsistencyKind.EXTERNAL: 1}


def test_nothing_is_sent_to_a_local_master_that_was_never_heard_of(core):
    core.links["la"].incarnation = core.links["lb"].incarnation = 0
    add(core, "job", 1)
    run_cycle(core, 0.0)
    commit(core, 0.0)
    assert core.effects == []


def test_who_holds_least_is_next_by_dominant_shares(core):
    core.recipe = replace(MEGHA, ordering=least_share, reads_shares=True)
    add(core, "first", 3)
    add(core, "second", 3)
    launched = []
    for _ in range(4):
        turn = order(core, 0.0)[0]
        launched.append(turn.job.request.job)
        match = core.search.find_match(core.view, SLOT)
        core.launch(turn.job, turn.job.groups[0], match.row, 0.0)
    assert launched == ["first", "second", "first", "second"]


def test_queues_are_ordered_by_how_far_below_their_share_they_are_and_jobs_in_them_by_the_recipe(core):
    core.recipe = replace(MEGHA, queues=QueueOrder.MOST_OWED_FIRST)
    core.queue_shares = {"poor": 0.5, "poorer": 0.4, "rich": 0.1}
    core.links["la"].queue_usage = {"poor": (3,), "poorer": (1,), "rich": (6,)}
    add(core, "rich", 1, queue="rich")
    add(core, "poor", 1, queue="poor")
    add(core, "large", 9, queue="poorer")
    add(core, "small", 2, queue="poorer")
    entitle(core)
    assert [turn.job.request.job for turn in order(core, 0.0)] == ["small", "large", "poor", "rich"]


def test_a_recipe_may_leave_queues_alone(core):
    core.recipe = replace(MEGHA, queues=QueueOrder.NONE, ordering=first_come)
    core.links["la"].queue_usage = {"greedy": (9,)}
    add(core, "first", 9, queue="greedy")
    add(core, "second", 1, queue="poor")
    entitle(core)
    assert [turn.job.request.job for turn in order(core, 0.0)] == ["first", "second"]
