from dataclasses import replace

import pytest

from shim.domain.messages import InconsistencyKind, LaunchRejected, NodeState
from shim.domain.resources import Need
from shim.scheduling.cycle import run_cycle
from shim.scheduling.global_master.core import Core
from shim.scheduling.global_master.events import JobRequest, TaskGroup
from shim.scheduling.global_master.links import LocalMasterLink
from shim.scheduling.global_master.machine import carry_out, commit, order_now, repair, take_snapshot
from shim.scheduling.policies import MEGHA
from shim.scheduling.policy import Ordering, QueueOrder, first_come, least_share
from shim.simulation.engine import seeded

SLOT, GPU = Need((1,)), Need((1,), frozenset({"label:gpu"}))


def a_core(policy=MEGHA, **shares):
    core = Core(
        "ga",
        policy,
        n_resources=1,
        rng=seeded(1, "test"),
        incarnation=1,
        queue_shares=shares or {"poor": 0.5, "greedy": 0.5},
    )
    for name in ("la", "lb"):
        core.links[name] = LocalMasterLink(incarnation=1)
        core.view.replace_cluster(name, [NodeState(node, (1,), frozenset()) for node in range(2)], ("ga", "gb"), 1)
    return core


@pytest.fixture
def core():
    return a_core()


def add(core, name, n_tasks, need=SLOT, **content):
    return core.book.add(JobRequest(name, (TaskGroup(need, tuple(range(n_tasks))),), **content), 0.0)


def decide(core):
    plan = run_cycle(take_snapshot(core, 0.0), core.policy, core.state)
    carry_out(core, plan, 0.0)
    return plan


def in_order(core):
    return [core.book.by_request[row][0].request.job for row in order_now(core, 0.0).rows]


def test_queues_below_their_share_go_first(core):
    core.links["la"].queue_usage = {"greedy": (9,)}
    add(core, "large", 9, queue="poor")
    add(core, "small", 1, queue="greedy")
    assert in_order(core) == ["large", "small"]
    core.links["la"].queue_usage = {}
    core.policy = replace(MEGHA, ordering=Ordering(first_come, queues=QueueOrder.NONE))
    assert in_order(core) == ["large", "small"]


def test_the_first_in_order_is_placed_first_and_what_finds_no_node_lets_the_others_go_on(core):
    add(core, "picky", 1, GPU)
    add(core, "job", 3)
    decide(core)
    assert sorted(placed.job.request.job for placed in core.book.placed.values()) == ["job"] * 3


def test_one_request_for_each_local_master_that_got_a_match(core):
    add(core, "job", 4)
    decide(core)
    commit(core, 0.0)
    requests = [effect.message for effect in core.effects]
    assert [len(request.launches) for request in requests] == [2, 2]
    assert [request.sequence for request in requests] == [1, 1]
    commit(core, 0.0)
    assert len(core.effects) == 2


def test_rejected_tasks_wait_again_and_are_counted_by_kind(core):
    job = add(core, "job", 2)
    decide(core)
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
    decide(core)
    commit(core, 0.0)
    assert core.effects == []


def test_who_holds_least_is_next_by_dominant_shares(core):
    core.policy = replace(MEGHA, ordering=Ordering(least_share, reads_shares=True))
    add(core, "first", 3)
    add(core, "second", 3)
    launched = []
    for row in range(4):
        launched.append(in_order(core)[0])
        job = core.book.jobs[launched[-1]]
        core.view.take(row, SLOT.demand)
        core.launch(job, job.groups[0], row, 0.0)
    assert launched == ["first", "second", "first", "second"]


def test_queues_are_ordered_by_how_far_below_their_share_they_are_and_jobs_in_them_by_the_policy():
    core = a_core(
        replace(MEGHA, ordering=replace(MEGHA.ordering, queues=QueueOrder.MOST_OWED_FIRST)),
        poor=0.5,
        poorer=0.4,
        rich=0.1,
    )
    core.links["la"].queue_usage = {"poor": (3,), "poorer": (1,), "rich": (6,)}
    add(core, "rich", 1, queue="rich")
    add(core, "poor", 1, queue="poor")
    add(core, "large", 9, queue="poorer")
    add(core, "small", 2, queue="poorer")
    assert in_order(core) == ["small", "large", "poor", "rich"]


def test_what_is_asked_back_counts_as_given_until_the_next_word_of_usage(core):
    core.links["la"].queue_usage = {"greedy": (4,)}
    core.view.free[:] = 0
    core.view.replace_cluster("la", [NodeState(node, (0,), frozenset()) for node in range(2)], ("ga", "gb"), 2)
    core.view.replace_cluster("lb", [NodeState(node, (0,), frozenset()) for node in range(2)], ("ga", "gb"), 2)
    add(core, "job", 9, queue="poor")
    assert [wish.victim for wish in decide(core).take_backs] == [1, 1]
    assert [wish.victim_queue for wish in core.drafts["la"].preemptions] == ["greedy", "greedy"]
    assert decide(core).take_backs == []


def test_a_policy_may_leave_queues_alone(core):
    core.policy = replace(MEGHA, ordering=Ordering(first_come, queues=QueueOrder.NONE))
    core.links["la"].queue_usage = {"greedy": (9,)}
    add(core, "first", 9, queue="greedy")
    add(core, "second", 1, queue="poor")
    assert in_order(core) == ["first", "second"]
