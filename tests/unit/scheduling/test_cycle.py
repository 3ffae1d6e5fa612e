"""The cycle on snapshots made by hand: two clusters of nodes with memory and cores, requests of one or more jobs."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shim.domain.resources import Need
from shim.scheduling.cycle import CycleState, partial_gangs, run_cycle, without_gangs, without_grants
from shim.scheduling.node_index import Cell, index_nodes
from shim.scheduling.plan import NO_TURNS, Plan, PlannedGrant, Reason, ReasonCode
from shim.scheduling.policies.megha import MEGHA
from shim.scheduling.policies.orders import FEWEST_TASKS, FIFO
from shim.scheduling.queue_policies import QUEUE_POLICIES
from shim.scheduling.snapshot import (
    Clusters,
    Column,
    JobTable,
    OfferedCapacity,
    Preferred,
    Queues,
    RequestClass,
    RequestColumn,
    RequestTable,
    Scope,
    Snapshot,
)
from shim.simulation.engine import seeded
from tests.support.cycle_scenes import CycleScene
from tests.support.examples import examples

SMALL, LARGE = Need((1, 1)), Need((4, 2))


class Scene:
    """Clusters of equal nodes, jobs and their requests."""

    def __init__(self, *free, nodes_each=2, weights=(1.0, 1.0, 1.0)):
        self.jobs, self.requests = JobTable(), RequestTable()
        cells = [Cell(cluster, cluster * nodes_each, nodes_each, weights[cluster]) for cluster in range(len(free))]
        self.nodes = index_nodes(np.repeat(np.array(free, dtype=np.int64), nodes_each, axis=0), cells)

    def ask(self, count, need=SMALL, *, n_tasks=None, priority=0, arrived_s=0.0, queue=-1, **request):
        job = self.jobs.add()
        for column, value in (
            (Column.TASKS, n_tasks or count),
            (Column.WAITING, count),
            (Column.PRIORITY, priority),
            (Column.ARRIVED_S, arrived_s),
            (Column.QUEUE, queue),
        ):
            self.jobs.put(column, job, value)
        return self.requests.add(job, need, count, **request)

    def decide(self, policy=FEWEST_TASKS, **parts):
        snapshot = Snapshot(0.0, self.nodes, self.jobs.all_columns, self.requests.requests(), **parts)
        before = self.nodes.free.copy()
        plan = run_cycle(snapshot, policy, CycleState(seeded(1, "test")))
        assert (self.nodes.free == before).all()
        return plan


def granted(plan):
    return {(grant.request, grant.place): grant.count for grant in plan.grants}


def test_a_request_is_spread_over_clusters_by_their_room():
    scene = Scene((6, 6), (2, 2))
    job = scene.ask(8)
    assert granted(scene.decide()) == {(job, 0): 6, (job, 1): 2}


def test_weights_pull_and_a_weight_of_nothing_closes_a_cluster():
    scene = Scene((6, 6), (6, 6), (6, 6), weights=(2.0, 1.0, 0.0))
    job = scene.ask(6)
    assert granted(scene.decide()) == {(job, 0): 4, (job, 1): 2}


def test_the_first_in_order_has_what_is_scarce():
    scene = Scene((2, 2))
    large, small = scene.ask(9), scene.ask(3)
    assert granted(scene.decide(FEWEST_TASKS)) == {(small, 0): 3, (large, 0): 1}
    assert granted(scene.decide(FIFO)) == {(large, 0): 4}


def test_priority_of_the_job_goes_before_the_key_and_altruistic_requests_go_last():
    scene = Scene((1, 1))
    scene.ask(1, request_class=RequestClass.ALTRUISTIC, priority=9)
    large, important = scene.ask(5), scene.ask(9, priority=1)
    assert scene.decide().turns.rows[:2] == [important, large]
    assert granted(scene.decide()) == {(important, 0): 2}


def test_what_needs_much_leaves_pieces_to_what_needs_little():
    scene = Scene((5, 5))
    large, small = scene.ask(9, LARGE, n_tasks=1), scene.ask(9)
    assert granted(scene.decide()) == {(large, 0): 2, (small, 0): 2}


def test_a_job_asks_in_the_order_of_its_own_priorities():
    scene = Scene((1, 1))
    job = scene.jobs.add()
    late = scene.requests.add(job, SMALL, 2, priority=20)
    early = scene.requests.add(job, SMALL, 1, priority=10)
    assert granted(scene.decide()) == {(early, 0): 1, (late, 0): 1}


def test_named_places_come_first_and_alone_if_they_are_strict():
    scene = Scene((3, 3), (3, 3))
    scene.nodes.racks = np.array([0, 1, 2, 2])
    node, rack, strict = scene.ask(2), scene.ask(3), scene.ask(9)
    scene.requests.prefer(node, [Preferred(Scope.NODE, 2, 2)])
    scene.requests.prefer(rack, [Preferred(Scope.RACK, 1, 3), Preferred(Scope.CLUSTER, 0, 3)])
    scene.requests.prefer(strict, [Preferred(Scope.NODE, 3, 9)], is_strict=True)
    plan = scene.decide()
    assert granted(plan) == {(node, 1): 2, (rack, 0): 3, (strict, 1): 3}
    assert [grant.reason.code for grant in plan.grants] == [ReasonCode.PREFERRED] * 3
    assert [(hold.request, hold.count, hold.reason.code) for hold in plan.holds] == [(strict, 6, ReasonCode.LIMITED)]


@pytest.mark.parametrize(("scope", "place"), [(Scope.NODE, 2), (Scope.RACK, 1), (Scope.CLUSTER, 1)])
def test_a_place_gets_no_more_than_are_wanted_there_and_the_rest_is_spread(scope, place):
    scene = Scene((12, 12), (2, 2))
    scene.nodes.racks = np.array([0, 0, 1, 1])
    job = scene.ask(4)
    scene.requests.prefer(job, [Preferred(scope, place, 1)])
    told = [(grant.place, grant.count, grant.reason.code) for grant in scene.decide().grants]
    assert told == [(1, 1, ReasonCode.PREFERRED), (0, 3, ReasonCode.ROOM)]


def test_a_request_goes_to_the_open_clusters_that_it_may_go_to():
    scene = Scene((4, 4), (4, 4), (4, 4))
    job = scene.ask(9, clusters=0b011)
    clusters = Clusters(("a", "b", "c"), np.zeros(3), np.array([False, True, True]))
    assert granted(scene.decide(clusters=clusters)) == {(job, 1): 8}


def test_a_queue_has_no_more_in_a_cluster_than_its_limit_leaves():
    scene = Scene((4, 4), (4, 4))
    first, second = scene.ask(4, queue=0), scene.ask(9, queue=0)
    limits = np.array([[[5, -1], [-1, -1]]])
    queues = Queues(("q",), np.ones(1), np.zeros((1, 2)), np.zeros((1, 2, 2)), np.full(2, 16.0), np.zeros(1), limits)
    plan = scene.decide(queues=queues)
    assert sum(grant.count for grant in plan.grants if grant.place == 0) == 5
    assert sum(grant.count for grant in plan.grants if grant.place == 1) == 8
    assert sum(grant.count for grant in plan.grants if grant.request == first) == 4
    assert [hold.request for hold in plan.holds] == [] or plan.holds[0].request == second


@pytest.mark.parametrize(("count", "is_placed"), [(3, True), (4, False)])
@pytest.mark.parametrize("policy", [FEWEST_TASKS, MEGHA], ids=lambda policy: policy.name)
def test_a_gang_is_placed_whole_over_clusters_or_not_at_all(policy, count, is_placed):
    scene = Scene((1, 1), (1, 1), nodes_each=2)
    one, other = scene.ask(1, gang=7), scene.ask(count, gang=7)
    waiting = scene.ask(9, n_tasks=99)
    plan = scene.decide(policy)
    got = {request: sum(grant.count for grant in plan.grants if grant.request == request) for request in (one, other)}
    assert got == ({one: 1, other: count} if is_placed else {one: 0, other: 0})
    assert sum(grant.count for grant in plan.grants if grant.request == waiting) == (0 if is_placed else 4)
    if not is_placed:
        assert plan.holds[0].reason.text == "all 5 of its containers start together or none does; there was room for 4"


def test_offered_room_goes_to_the_first_in_order_unless_the_runner_up_needs_it_more():
    scene = Scene((0, 0))
    job = scene.ask(3)
    kept, outbid = OfferedCapacity(1, 0, (2, 2)), OfferedCapacity(2, 1, (2, 2), runner_up=(-5, 0, 0))
    plan = scene.decide(MEGHA, offers=(outbid, kept))
    assert [(grant.request, grant.count, grant.offer, grant.place) for grant in plan.grants] == [(job, 2, 1, 0)]
    assert (plan.declined, plan.used_offers) == ([2], 1)


def test_room_in_pieces_that_are_too_small_is_no_room():
    """After the first two, the cluster has room for one more in sum, and on no node."""
    scene = Scene((3, 3))
    first, second, third = scene.ask(1, Need((2, 1))), scene.ask(1, Need((2, 2))), scene.ask(1, Need((2, 1)))
    assert granted(scene.decide(FIFO)) == {(first, 0): 1, (second, 0): 1}
    assert scene.requests.count(third) == 1


def test_what_is_asked_back_is_asked_where_the_queue_still_holds_most():
    scene = Scene((0, 0), (0, 0))
    scene.ask(9, queue=0)
    held_at = np.array([[[0, 0], [0, 0]], [[3, 3], [2, 2]]], dtype=float)
    queues = Queues(("poor", "greedy"), np.full(2, 0.5), held_at.sum(axis=1), held_at, np.full(2, 5.0), np.zeros(2))
    plan = scene.decide(MEGHA, queues=queues)
    assert [(wish.victim, wish.cluster) for wish in plan.take_backs] == [(1, 0), (1, 0)]
    queues = Queues(
        ("poor", "greedy"), np.full(2, 0.5), held_at.sum(axis=1) * 2, held_at, np.full(2, 10.0), np.zeros(2)
    )
    plan = scene.decide(MEGHA, queues=queues)
    assert [wish.cluster for wish in plan.take_backs] == [0, 0, 1, 0, 1]
    assert "queue greedy holds more than its share, and queue poor less" in plan.take_backs[0].reason.text


def test_without_room_nothing_is_looked_at():
    scene = Scene((0, 0))
    scene.ask(3)
    plan = scene.decide()
    assert (plan.grants, plan.turns) == ((), NO_TURNS)


@settings(max_examples=examples(60))
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=3),
    st.lists(
        st.tuples(st.integers(1, 30), st.sampled_from([SMALL, LARGE, Need((2, 0)), Need((0, 3))]), st.integers(0, 2)),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from([FIFO, FEWEST_TASKS, MEGHA]),
)
def test_a_plan_gives_no_node_away_twice_and_leaves_nothing_idle_that_the_first_could_use(free, asks, policy):
    scene = Scene(*free, nodes_each=3)
    for count, need, gang in asks:
        scene.ask(count, need, gang=gang)
    plan = scene.decide(policy)
    counts = plan.granted()
    used = np.zeros((len(free), 2), dtype=np.int64)
    for grant in plan.grants:
        cluster = grant.place if grant.scope is Scope.CLUSTER else grant.place // 3
        used[cluster] += np.array(asks[grant.request][1].demand) * grant.count
    assert (used <= 3 * np.array(free)).all()
    assert all(counts.get(row, 0) <= count for row, (count, _, _) in enumerate(asks))
    if plan.turns.rows:
        first = plan.turns.rows[0]
        count, need, gang = asks[first]
        fits = sum(
            min(have // amount for have, amount in zip(room, need.demand, strict=True) if amount) for room in free
        )
        assert gang or counts.get(first, 0) == min(count, 3 * fits)


KEEPS_HALF = replace(MEGHA, commitment=replace(MEGHA.commitment, kept_for_short=0.5))


def a_long_job(scene, count):
    """A request of a job that has had a task of a hundred seconds."""
    request = scene.ask(count, n_tasks=count + 1)
    job = int(scene.requests.requests().numbers[RequestColumn.JOB, request])
    scene.jobs.put(Column.FINISHED, job, 1.0)
    scene.jobs.put(Column.EXPECTED_S, job, 100.0)
    return request


def counts(plan):
    """How many of each request are granted."""
    return dict(plan.granted())


def test_long_tasks_leave_the_last_nodes_to_short_ones_that_come_later():
    scene = Scene((1, 1), (1, 1))
    long = a_long_job(scene, 3)
    assert counts(scene.decide(KEEPS_HALF, long_from_s=50.0)) == {long: 2}
    short = scene.ask(9)
    assert counts(scene.decide(KEEPS_HALF, long_from_s=50.0)) == {long: 2, short: 2}


@pytest.mark.parametrize("settings_", [(MEGHA, 50.0), (KEEPS_HALF, 200.0), (KEEPS_HALF, float("inf"))])
def test_they_have_all_where_nothing_is_kept_or_they_are_not_known_to_be_long(settings_):
    policy, long_from_s = settings_
    scene = Scene((1, 1), (1, 1))
    long = a_long_job(scene, 4)
    assert counts(scene.decide(policy, long_from_s=long_from_s)) == {long: 4}


KEEPS_MOST = replace(MEGHA, commitment=replace(MEGHA.commitment, kept_for_short=0.75))


@pytest.mark.parametrize(
    ("count", "ran_s", "placed"),
    [
        pytest.param(2, 60.0, 1, id="it has run for long"),
        pytest.param(2, 40.0, 2, id="it may be short, as most are"),
        pytest.param(4, 40.0, 1, id="it may be short, and is too large to be tried whole"),
    ],
)
def test_before_a_task_has_ended_its_age_tells_and_how_many_wait(count, ran_s, placed):
    scene = Scene((1, 1), (1, 1))
    request = a_long_job(scene, count)
    job = int(scene.requests.requests().numbers[RequestColumn.JOB, request])
    for column, value in ((Column.FINISHED, 0.0), (Column.RUNNING, 1.0), (Column.STARTED_S, -ran_s)):
        scene.jobs.put(column, job, value)
    assert counts(scene.decide(KEEPS_MOST, long_from_s=50.0)) == {request: placed}


def test_what_is_offered_for_short_tasks_long_ones_leave():
    scene = Scene((0, 0))
    a_long_job(scene, 1)
    offers = (OfferedCapacity(1, 0, (1, 1), is_for_short=True),)
    assert scene.decide(KEEPS_HALF, offers=offers, long_from_s=50.0).declined == [1]
    short = scene.ask(1)
    assert counts(scene.decide(KEEPS_HALF, offers=offers, long_from_s=50.0)) == {short: 1}


ROOM = Reason(ReasonCode.ROOM)


def a_scene():
    """Two nodes of two slots; a gang of three and two, and two that are by themselves."""
    scene = CycleScene([[2], [2]])
    rows = [scene.ask(3, gang=7), scene.ask(2, gang=7), scene.ask(2)]
    return scene.snapshot(), rows


def test_a_gang_that_lacks_one_container_is_partial_and_one_that_is_all_granted_is_not():
    snapshot, rows = a_scene()
    some = [PlannedGrant(rows[0], 3, Scope.NODE, 0, ROOM), PlannedGrant(rows[1], 1, Scope.NODE, 0, ROOM)]
    assert partial_gangs(Plan(some), snapshot) == {7}
    assert partial_gangs(Plan([*some, PlannedGrant(rows[1], 1, Scope.NODE, 0, ROOM)]), snapshot) == set()


def test_what_is_granted_of_a_partial_gang_is_held_with_the_reason():
    snapshot, rows = a_scene()
    plan = Plan([PlannedGrant(rows[0], 3, Scope.NODE, 0, ROOM), PlannedGrant(rows[2], 1, Scope.NODE, 0, ROOM)])
    left = without_grants(plan, snapshot, {7})
    assert [grant.request for grant in left.grants] == [rows[2]]
    assert {hold.request: hold.count for hold in left.holds} == {rows[0]: 3, rows[1]: 2}
    assert left.holds[0].reason.text == "all 5 of its containers start together or none does; there was room for 3"
    assert without_grants(plan, snapshot, frozenset()) is plan


def test_a_snapshot_without_a_gang_has_the_others():
    snapshot, rows = a_scene()
    assert without_gangs(snapshot, {7}).requests.live.tolist() == [rows[2]]


@pytest.mark.parametrize("name", sorted(QUEUE_POLICIES))
def test_no_policy_of_queues_grants_a_part_and_what_a_gang_leaves_is_the_others(name):
    scene = CycleScene([[2], [2]])
    rows = [scene.ask(3, gang=7), scene.ask(2, gang=7), scene.ask(2)]
    granted = scene.decide(QUEUE_POLICIES[name]).granted()
    assert rows[0] not in granted
    assert rows[1] not in granted
    assert granted.get(rows[2], 0) == 2

    scene = CycleScene([[2], [3]])
    rows = [scene.ask(3, gang=7), scene.ask(2, gang=7)]
    granted = scene.decide(QUEUE_POLICIES[name]).granted()
    assert [granted.get(row, 0) for row in rows] == [3, 2]
