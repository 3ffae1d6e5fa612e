"""Reasons against a sub-cluster, each beside a plain twin, at every boundary of small amounts."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from shim.domain.ids import SubClusterId
from shim.domain.queues import PartitionReport, QueueReport, QueueUser
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import Admission, HaState, SubClusterState
from shim.domain.submissions import Candidate, HomeDecision, Refusal
from shim.federation.core.federation_view import SubClusterView
from shim.submission.core.home_refusals import refusal_of
from shim.submission.core.home_rules import (
    Effect,
    HomeReason,
    Question,
    Voice,
    _above_for_good,
    _above_for_now,
    _exceeds_users_limit,
    _fails,
    _fills_queue,
    _fills_share_of_masters,
    _fills_share_of_masters_alone,
    _fills_users_share_of_masters,
    _has_full_queue,
    _has_full_user,
    _has_no_free_node,
    _has_no_leaf,
    _is_inactive,
    _is_late,
    _is_unread,
    _never_told,
    _runs_its_most,
    _runs_nothing,
)
from tests.doubles.builders import FEDERATION_TIMESTAMP_MS, a_submission
from tests.doubles.reports import a_node_report, a_queue_report

EAST, WEST = SubClusterId("east"), SubClusterId("west")
CAPACITY, FAIR = "capacityScheduler", "fairScheduler"


def mib(memory: int, vcores: int, **others: int) -> ResourceVector:
    return ResourceVector(memory, vcores, others)


NONE = mib(0, 0)
FEW = [mib(0, 0), mib(0, 1), mib(1, 0), mib(1, 1), mib(2, 1), mib(1, 2)]
NEEDS = [mib(1, 1), mib(2, 0), mib(0, 2)]


def asking(
    queue: QueueReport | None,
    *,
    needed: ResourceVector = NEEDS[0],
    scheduler: str = CAPACITY,
    capacity: ResourceVector = NONE,
    seen: dict[str, Any] | None = None,
    **changes: Any,
) -> Question:
    queues = {} if queue is None else {queue.path: queue}
    fields: dict[str, Any] = {"queues": queues, "scheduler": scheduler, "capacity": capacity} | (seen or {})
    view = SubClusterView(EAST, SubClusterState.RUNNING, 1.0, **fields)
    submission = a_submission(resource=needed, queue="root.dev", user="alice")
    return Question(submission, view, Admission.OPEN, "root.dev", queue, **changes)


def fits(wanted: ResourceVector, room: ResourceVector, *, vcores: bool = True) -> bool:
    return wanted.memory_mib <= room.memory_mib and (not vcores or wanted.vcores <= room.vcores)


def is_within(
    wanted: ResourceVector, share: ResourceVector, scheduler: str, whole: ResourceVector, *, counts_all: bool | None
) -> bool:
    """The slow twin of `_is_within_share`."""
    if scheduler == FAIR:
        return fits(wanted, share, vcores=counts_all is not False)
    if not counts_all or whole.memory_mib == 0:
        return wanted.memory_mib <= share.memory_mib

    def part(amount: ResourceVector) -> float:
        of_vcores = amount.vcores / whole.vcores if whole.vcores else 0.0
        return max(amount.memory_mib / whole.memory_mib, of_vcores)

    return part(wanted) <= part(share)


def shown(amount: ResourceVector) -> str:
    return f"{amount.memory_mib} MiB and {amount.vcores} vcores"


@pytest.mark.parametrize("scheduler", [CAPACITY, FAIR])
@pytest.mark.parametrize("counts_all", [True, False, None])
@pytest.mark.parametrize("whole", [NONE, mib(4, 2), mib(4, 0)])
def test_the_share_of_masters_is_full_when_one_more_does_not_fit(scheduler, counts_all, whole):
    for needed, masters, used, on_way in product(NEEDS, FEW, FEW, (NONE, mib(0, 1), mib(1, 0))):
        part = PartitionReport("", mib(9, 9), masters=masters, masters_used=used)
        queue = a_queue_report("root.dev", partitions=(part,), counts_all=counts_all)
        question = asking(queue, needed=needed, scheduler=scheduler, capacity=whole, masters_on_way=on_way)
        held = used + on_way
        is_first = scheduler == CAPACITY and held == NONE
        fills = masters.memory_mib > 0 and not is_first
        fills = fills and not is_within(held + needed, masters, scheduler, whole, counts_all=counts_all)
        about = f"ApplicationMasters hold {shown(held)} of their share of queue root.dev, {shown(masters)}"
        assert _fills_share_of_masters(question) == (about if fills else None)
        alone = fills and not is_within(needed, masters, scheduler, whole, counts_all=counts_all)
        about = f"{shown(needed)} is above the share of ApplicationMasters in queue root.dev, {shown(masters)}"
        assert _fills_share_of_masters_alone(question) == (about if alone else None)


@pytest.mark.parametrize("user", ["alice", "bob"])
@pytest.mark.parametrize("counts_all", [True, False, None])
def test_a_users_share_of_masters_and_limit_are_of_that_user(user, counts_all):
    for share, of_queue, of_user, needed in product(FEW, FEW[:4], FEW, NEEDS):
        users = (QueueUser("carol", 9, mib(9, 9), mib(1, 1), mib(9, 9)), QueueUser(user, masters_used=of_user))
        part = PartitionReport("", mib(9, 9), masters_used=of_queue)
        queue = a_queue_report(
            "root.dev", partitions=(part,), users=users, masters_of_user=share, counts_all=counts_all
        )
        question = asking(queue, needed=needed, capacity=mib(4, 2))
        fills = user == "alice" and min(share.memory_mib, of_queue.memory_mib, of_user.memory_mib) > 0
        fills = fills and not is_within(of_user + needed, share, CAPACITY, mib(4, 2), counts_all=counts_all)
        about = f"ApplicationMasters of alice hold {shown(of_user)} of one user's share of queue root.dev"
        assert _fills_users_share_of_masters(question) == (f"{about}, {shown(share)}" if fills else None)
    for most, used in product(FEW, FEW):
        queue = a_queue_report("root.dev", users=(QueueUser(user, 1, used, most),), counts_all=counts_all)
        above = user == "alice" and most.memory_mib > 0 and not fits(used, most, vcores=counts_all is not False)
        about = f"user alice holds {shown(used)} in queue root.dev, above the limit of {shown(most)}"
        assert _exceeds_users_limit(asking(queue)) == (about if above else None)


@pytest.mark.parametrize("counts_all", [True, False, None])
def test_a_queue_is_full_where_one_more_does_not_fit_beside_what_it_holds(counts_all):
    for maximum, used, needed, on_way in product([None, *FEW], FEW, NEEDS, (NONE, mib(0, 1), mib(1, 0))):
        queue = a_queue_report("root.dev", partitions=(PartitionReport("", maximum, used),), counts_all=counts_all)
        wanted = used + needed + on_way
        fills = maximum is not None and maximum.memory_mib > 0
        fills = fills and not fits(wanted, maximum or NONE, vcores=counts_all is not False)
        about = f"queue root.dev holds {shown(used)} of the {shown(maximum or NONE)} that it may hold"
        found = _fills_queue(asking(queue, needed=needed, masters_on_way=on_way))
        assert found == (about if fills else None)


@pytest.mark.parametrize("counts_all", [True, False, None])
@pytest.mark.parametrize("scheduler", [CAPACITY, FAIR])
def test_a_node_is_free_that_has_room_beside_what_runs_there(counts_all, scheduler):
    queue = a_queue_report("root.dev", counts_all=counts_all)
    for needed, free, other in product([*NEEDS, mib(1, 1, gpu=1)], FEW, FEW):
        nodes = [a_node_report("n1:1", mib(3, 3)), a_node_report("n2:1", mib(4, 4))]
        used = (mib(3, 3) - free, mib(4, 4) - other)
        nodes = [replace(node, used=each) for node, each in zip(nodes, used, strict=True)]
        seen = {"nodes": tuple(nodes)}
        is_free = any(fits(needed, each, vcores=counts_all is not False) for each in (free, other))
        about = None if is_free else f"no node has {shown(needed)}"
        found = _has_no_free_node(asking(queue, needed=needed, scheduler=scheduler, seen=seen))
        assert (found is None) is (about is None), (needed, free, other)
        assert found is None or (found.startswith(str(about)) and found.endswith(" free"))


@pytest.mark.parametrize("most", [None, 0, 1, 2, 3])
@pytest.mark.parametrize("on_way", [0, 1])
def test_a_queue_and_each_above_it_run_their_most_with_those_on_their_way(most, on_way):
    for of_leaf, of_parent, of_other, limited in product((0, 1, 2), (0, 1, 3), (0, 1), ("root.a", "root.a.dev")):
        reports = [
            a_queue_report("root", is_leaf=False),
            a_queue_report("root.a", is_leaf=False, applications=of_parent),
            a_queue_report("root.a.dev", applications=of_leaf),
            a_queue_report("root.a.other", applications=of_other),
            a_queue_report("root.ab", applications=7),
        ]
        queues = {each.path: replace(each, most_running=most if each.path == limited else None) for each in reports}
        count = of_leaf if limited == "root.a.dev" else max(of_parent, of_leaf + of_other)
        question = asking(queues["root.a.dev"], seen={"queues": queues}, on_way=on_way)
        is_full = most is not None and count + on_way >= most
        about = f"queue {limited} runs {count} of {most} applications at most"
        assert _runs_its_most(question) == (about if is_full else None)
        closed = f"queue {limited} runs no application at all (its limit is 0)"
        assert _runs_nothing(question) == (closed if most == 0 else None)


@pytest.mark.parametrize("scheduler", [CAPACITY, FAIR])
@pytest.mark.parametrize("most", [0, 1, 2])
@pytest.mark.parametrize("held", [0, 1, 2, 3])
def test_a_queue_holds_its_limit_and_a_user_theirs(scheduler, most, held):
    queue = a_queue_report("root.dev", applications=held, maximum_applications=most)
    is_full = scheduler == CAPACITY and 0 < most <= held
    about = f"queue root.dev holds its limit of {most} applications"
    assert _has_full_queue(asking(queue, scheduler=scheduler)) == (about if is_full else None)
    for user in ("alice", "bob"):
        queue = a_queue_report("root.dev", users=(QueueUser(user, held),), maximum_applications_of_user=most)
        is_full = user == "alice" and 0 < most <= held
        about = f"user alice has the limit of {most} applications in queue root.dev"
        assert _has_full_user(asking(queue, scheduler=scheduler)) == (about if is_full else None)


@pytest.mark.parametrize("state", ["RUNNING", "NEW", "UNHEALTHY", "LOST", "REBOOTED", "DECOMMISSIONED"])
@pytest.mark.parametrize("awaits", [False, True])
@pytest.mark.parametrize("memory", [0, 1])
def test_a_limit_that_nodes_may_lift_is_none_for_good(state, awaits, memory):
    queue = a_queue_report("root.dev", maximum=mib(1, 1), counts_all=True)
    seen = {
        "nodes": (a_node_report(), a_node_report("n2:1", state=state)),
        "awaits_nodes": awaits,
        "queues": {"root.dev": queue},
    }
    question = asking(queue, needed=mib(2, 1), capacity=mib(memory, 1), seen=seen)
    may_lift = awaits or memory == 0 or state in {"NEW", "UNHEALTHY", "LOST", "REBOOTED"}
    about = "2 MiB and 1 vcores is above the 1 MiB and 1 vcores that queue root.dev may hold at most"
    found = _above_for_now(question), _above_for_good(question)
    assert found == ((about, None) if may_lift else (None, about))


def part_of(needed: dict[str, int]) -> Callable[[dict[str, int]], float]:
    """How much of what is needed can be had at once: the scarcest type tells."""
    wanted = {name: amount for name, amount in needed.items() if amount}
    return lambda had: min((had.get(name, 0) / amount for name, amount in wanted.items()), default=0.0)


@pytest.mark.parametrize("one", FEW)
@pytest.mark.parametrize("other", [mib(0, 0), mib(0, 2), mib(3, 0), mib(1, 1, gpu=1), mib(1, 1, gpu=3, fpga=1)])
def test_what_is_larger_than_all_that_can_be_had_is_told_with_the_largest(one, other):
    """East grants the least, west the most; north has no such queue."""
    grants = {"east": mib(1, 1), "west": mib(2, 1), "north": NONE}
    against: list[tuple[Question, HomeReason | None]] = []
    for name, most in grants.items():
        queue = None if name == "north" else a_queue_report("root.dev", maximum=mib(9, 9))
        view = SubClusterView(SubClusterId(name), SubClusterState.RUNNING, 1.0, maximum_allocation=most)
        submission = a_submission(resource=one, queue="root.dev")
        question = Question(submission, view, Admission.OPEN, "root.dev", queue, up_to=other)
        against.append((question, HomeReason("why", Effect.NEVER, Voice.TOO_LARGE)))
    decision = HomeDecision(
        None, "nowhere", (Candidate(EAST, 0.0, "it is small", 1.0), Candidate(WEST, 0.0, "so is it", 1.0))
    )
    found = refusal_of(decision, a_submission(resource=one, queue="root.dev"), "root.dev", against)
    others = dict(other.others)
    needed = {
        "memory-mb": max(one.memory_mib, other.memory_mib),
        "vcores": max(one.vcores, other.vcores),
        **others,
    }
    most = max(({"memory-mb": each.memory_mib, "vcores": each.vcores} for each in grants.values()), key=part_of(needed))
    over = next((name for name, amount in needed.items() if amount > most.get(name, amount)), "memory-mb")
    more = "".join(f", {name}: {amount}" for name, amount in others.items())
    assert found.refusal is not None
    words = found.refusal.message
    asked = f"<memory:{needed['memory-mb']}, vCores:{needed['vcores']}{more}>"
    largest = f"<memory:{most['memory-mb']}, vCores:{most['vcores']}>"
    found_words = (
        f"Requested resource type=[{over}], Requested resource={asked}, maximum allowed allocation={largest}, "
    )
    assert found_words in words
    assert words.endswith("root.dev can get in any cluster (east: it is small; west: so is it)")


VOICES = [None, Voice.HOME, Voice.NO_QUEUE, Voice.TOO_LARGE]


@pytest.mark.parametrize("named", ["", "root.dev"])
def test_who_refuses_is_who_would_in_the_best_words(named):
    """Who grants the most speaks for those that refuse; Heddle alone where every one lacks the queue."""
    submission = a_submission(resource=mib(4, 4), queue=named, user="alice")
    for voices in product(VOICES, repeat=2):
        against = []
        for name, voice, most in zip((EAST, WEST), voices, (mib(1, 1), mib(2, 2)), strict=True):
            view = SubClusterView(name, SubClusterState.RUNNING, 1.0, maximum_allocation=most)
            reason = None if voice is None else HomeReason("why", Effect.NEVER, voice)
            queue = a_queue_report("root.dev", maximum=mib(9, 9))
            against.append((Question(submission, view, Admission.OPEN, "root.dev", queue), reason))
        decision = HomeDecision(None, "nowhere", (Candidate(EAST, 0.0, "x", 1.0),))
        found = refusal_of(decision, submission, "root.dev", against)
        speakers = [name for name, voice in zip((EAST, WEST), voices, strict=True) if voice is Voice.HOME]
        if Voice.TOO_LARGE in voices:
            assert found.refusal is not None
            assert "maximum allowed allocation=<memory:2, vCores:2>" in found.refusal.message
        elif speakers:
            assert (found.refuser, found.refusal) == (speakers[-1], None)
        elif {*voices} - {None} == {Voice.NO_QUEUE} and named:
            id_ = f"application_{FEDERATION_TIMESTAMP_MS}_0001"
            words = f"Application {id_} submitted by user alice to unknown queue: root.dev (east: x)"
            assert found.refusal == Refusal("org.apache.hadoop.yarn.exceptions.YarnException", words)
        else:
            assert found == decision


@pytest.mark.parametrize("scheduler", [CAPACITY, FAIR])
@pytest.mark.parametrize("creates", [True, False])
@pytest.mark.parametrize("is_leaf", [True, False])
@pytest.mark.parametrize("name", ["root.dev", "dev", "root", "root.dev.x", "dev.x", "rootdev"])
def test_a_parent_takes_nothing_unless_it_makes_the_queue_that_is_asked_for(scheduler, creates, is_leaf, name):
    """A fair scheduler makes what is below a parent; the parent itself takes nothing there either."""
    queue = a_queue_report("root.dev", is_leaf=is_leaf, creates_children=creates)
    question = replace(asking(queue, scheduler=scheduler), queue_name=name)
    is_named = name in {"root.dev", "dev"}
    is_refused = not is_leaf and not creates and (scheduler == CAPACITY or is_named)
    assert _has_no_leaf(question) == ("queue root.dev is a parent" if is_refused else None)
    assert _has_no_leaf(replace(question, queue=None)) is None


@pytest.mark.parametrize("state", list(SubClusterState))
@pytest.mark.parametrize("ha_state", [None, HaState.ACTIVE, HaState.STANDBY, HaState.INITIALIZING])
def test_a_cluster_that_does_not_serve_is_told_by_its_state(state, ha_state):
    seen = {"state": state, "ha_state": ha_state, "age_s": 7.4, "failure": "refused"}
    question = asking(None)
    question = replace(question, subcluster=replace(question.subcluster, **seen))
    told = (_never_told(question), _is_late(question), _is_inactive(question), _fails(question))
    named = (ha_state or HaState.STOPPED).value
    assert told == (
        "has never answered (refused)" if state is SubClusterState.NEW else None,
        "last seen 7 s ago" if state is SubClusterState.LOST else None,
        f"its ResourceManager is {named}" if state is SubClusterState.RECOVERING else None,
        "does not answer now (refused)",
    )
    well = replace(question, subcluster=replace(question.subcluster, failure=""))
    assert _never_told(well) == ("has not reported yet" if state is SubClusterState.NEW else None)
    assert (_fails(well), _is_unread(well)) == (
        None,
        None if state is SubClusterState.NEW else "its queues are not known yet",
    )
