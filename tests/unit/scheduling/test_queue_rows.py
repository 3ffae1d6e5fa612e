"""What it costs to read data across sub-clusters, in the cost matrix and in the plans of every policy."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shim.domain.allocations import GangDemand
from shim.domain.file_systems import FileSystems
from shim.domain.ids import NodeId, SubClusterId
from shim.domain.subclusters import NodeReport
from shim.scheduling.capacity import Capacity, NodeCapacity
from shim.scheduling.durations import DurationModel, RecurringJobModels
from shim.scheduling.queue_policies import QUEUE_POLICIES
from shim.scheduling.queue_table import QueueTable
from shim.scheduling.reading_costs import NOTHING_SHARED, DataRules, ReadingCost, reading_costs, waits_s
from tests.support.examples import examples
from tests.unit.scheduling.test_queue_table import FIRST, SECOND, a_request, gib

EAST, NORTH, WEST = SubClusterId("east"), SubClusterId("north"), SubClusterId("west")
ALL = (EAST, NORTH, WEST)
SHARED = FileSystems({WEST: frozenset({"hdfs://nn"}), NORTH: frozenset({"hdfs://nn"})})
WAITS = DataRules(SHARED, read_across_s=10.0)
BY_ROOM = ("fifo", "fair", "drf", "learnt-work", "tetris", "quincy", "jockey", "tetrisched", "omega")
"""Policies that are to be told by clusters alone; `delay` waits for hosts of its own."""

bools = st.lists(st.booleans(), min_size=3, max_size=3)


def a_capacity(**free):
    """Free GiB of each node."""
    rooms = {name: NodeCapacity(name) for name in ALL}
    for name, room in rooms.items():
        told = free.get(name, ())
        room.apply(
            [
                NodeReport(NodeId(f"{name}-{number}", 1), f"/{name}", "RUNNING", gib(16), gib(16 - each), ())
                for number, each in enumerate(told)
            ]
        )
    return Capacity(rooms, dict.fromkeys(ALL))


def a_table(data=NOTHING_SHARED, **requests):
    models = RecurringJobModels(DurationModel())
    table = QueueTable(ALL, 60.0, models, lambda _: "", Random(1), data=data)  # noqa: S311 - repeats itself
    for name, request in requests.items():
        table.put({"first": FIRST, "second": SECOND}[name], [request], (), 0.0)
    return table


def with_data(wanted, at="west", count=None, **more):
    host = SubClusterId(at)
    named = count or wanted
    return a_request(wanted, may_use=frozenset(ALL), local={host: named}, named={f"{at}-0": named}, **more)


def the_plan(table, capacity, policy="fifo", at_s=1.0):
    table.heard(FIRST, at_s)
    (plan,) = table.plan(capacity, policy, at_s)[FIRST]
    return plan


@given(st.lists(bools, min_size=1, max_size=4), st.lists(bools, min_size=3, max_size=3))
def test_costs_go_from_where_data_is_over_shared_file_systems_to_all_others(holds, shares):
    held = np.array(holds)
    systems = FileSystems({name: frozenset(own) for name, own in zip(ALL, shares, strict=True)})
    costs = reading_costs(held, DataRules(systems).costs_between(ALL))
    for row, told in enumerate(held):
        for cluster, name in enumerate(ALL):
            shared = any(told[other] and ALL[other] in systems.shared_with(name) for other in range(3))
            expected = ReadingCost.SHARED if shared else ReadingCost.ACROSS
            assert costs[row, cluster] == (ReadingCost.HERE if told[cluster] or not told.any() else expected)


SECONDS = st.one_of(st.just(0.0), st.floats(0.01, 3600.0))


@given(st.lists(bools, min_size=1, max_size=4), st.lists(SECONDS, min_size=6, max_size=6), SECONDS)
@settings(max_examples=examples(100))
def test_each_pair_costs_what_operators_say_and_the_nearest_holder_counts(holds, told_s, otherwise_s):
    held, pairs = np.array(holds), [(one, other) for one in ALL for other in ALL if one != other]
    said: dict[SubClusterId, dict[SubClusterId, float]] = {}
    for (reader, holder), seconds in list(zip(pairs, told_s, strict=True))[:4]:  # of two nothing is said
        said.setdefault(reader, {})[holder] = seconds
    rules = DataRules(read_across_s=otherwise_s, reads_from_s=said)
    waits = waits_s(reading_costs(held, rules.costs_between(ALL)))
    for row, told in enumerate(held):
        for cluster, name in enumerate(ALL):
            expected = [0.0] if told[cluster] or not told.any() else []
            expected += [said.get(name, {}).get(ALL[other], otherwise_s) for other in range(3) if told[other]]
            assert waits[row, cluster] == pytest.approx(min(expected), abs=0.0021)


@pytest.mark.parametrize("policy", BY_ROOM)
def test_a_request_starts_in_the_cluster_of_its_data_though_its_host_is_full(policy):
    capacity = a_capacity(east=[8], north=[8], west=[0, 4])
    plan = the_plan(a_table(first=with_data(4)), capacity, policy, at_s=6.0)
    assert dict(plan.starts) == {WEST: 4}


@pytest.mark.parametrize("policy", BY_ROOM)
def test_the_cluster_that_shares_the_file_system_goes_before_the_others(policy):
    capacity = a_capacity(east=[8], north=[8], west=[0])
    plan = the_plan(a_table(DataRules(SHARED), first=with_data(4)), capacity, policy, at_s=6.0)
    assert dict(plan.starts) == {NORTH: 4}


@pytest.mark.parametrize("policy", BY_ROOM)
def test_nobody_reads_across_before_the_bound_nor_waits_longer_than_it(policy):
    table, capacity = a_table(WAITS, first=with_data(4)), a_capacity(east=[8], north=[0], west=[0])
    early = the_plan(table, capacity, policy, at_s=9.5)
    assert not early.starts
    assert early.may_queue <= {NORTH, WEST}
    assert table.again_at_s is not None
    assert table.again_at_s <= 10.0
    assert dict(the_plan(table, capacity, policy, at_s=10.0).starts) == {EAST: 4}


PAIRS = DataRules(read_across_s=60.0, reads_from_s={EAST: {WEST: 10.0}, NORTH: {WEST: 5.0}})


@pytest.mark.parametrize("policy", BY_ROOM)
def test_clusters_open_one_after_the_other_by_what_each_pair_costs(policy):
    table = a_table(PAIRS, first=with_data(4))
    capacity = a_capacity(east=[8], north=[0], west=[0])
    for at_s, may in ((4.0, {WEST}), (6.0, {WEST, NORTH})):
        plan = the_plan(table, capacity, policy, at_s=at_s)
        assert not plan.starts
        assert plan.may_queue <= may
    assert dict(the_plan(table, capacity, policy, at_s=10.0).starts) == {EAST: 4}


@pytest.mark.parametrize("policy", BY_ROOM)
def test_of_clusters_that_have_to_read_across_the_cheapest_has_the_containers(policy):
    rules = DataRules(reads_from_s={EAST: {WEST: 5.0}, NORTH: {WEST: 1.0}})
    plan = the_plan(a_table(rules, first=with_data(4)), a_capacity(east=[8], north=[8], west=[0]), policy, at_s=6.0)
    assert dict(plan.starts) == {NORTH: 4}


def test_what_is_said_is_when_the_next_cluster_opens():
    plan = the_plan(a_table(PAIRS, first=with_data(4)), a_capacity(east=[8]))
    assert plan.reason == "read_across_s: it waits up to 4.0 s for room near its data (west)"
    plan = the_plan(a_table(PAIRS, first=with_data(4)), a_capacity(east=[8]), at_s=7.0)
    assert plan.reason == "read_across_s: it waits up to 3.0 s for room near its data (north, west)"


def test_the_reason_names_the_rule_while_a_request_waits():
    plan = the_plan(a_table(WAITS, first=with_data(4)), a_capacity(east=[8]))
    assert plan.reason == "read_across_s: it waits up to 9.0 s for room near its data (north, west)"
    assert plan.may_queue == {NORTH, WEST}


@pytest.mark.parametrize(
    "request_",
    [
        with_data(4, count=2),
        with_data(4, gang=GangDemand(4)),
        with_data(4, avoided=frozenset({NORTH, WEST})),
        a_request(4, may_use=frozenset({EAST}), named={"west-0": 4}),
        a_request(4, may_use=frozenset(ALL)),
    ],
    ids=["some name nothing", "a gang", "near it starves", "near it is closed", "nothing named"],
)
def test_who_has_nothing_to_wait_for_starts_at_once(request_):
    plan = the_plan(a_table(WAITS, first=request_), a_capacity(east=[8]))
    assert dict(plan.starts) == {EAST: 4}


def test_one_that_waits_for_its_data_holds_nobody_up():
    table = a_table(WAITS, first=with_data(4), second=a_request(4, may_use=frozenset(ALL)))
    for policy in ("fifo", "omega", "tetris"):
        plans = table.plan(a_capacity(east=[8]), policy, 1.0)
        assert [dict(plan.starts) for plan in plans[SECOND]] == [{EAST: 4}]


def test_replicas_in_two_clusters_are_divided_between_them():
    """Each block is in both: counted twice, all would go to the first alone."""
    request = a_request(4, may_use=frozenset(ALL), local={EAST: 4, WEST: 4})
    plan = the_plan(a_table(first=request), a_capacity(east=[8], north=[8], west=[8]))
    assert dict(plan.starts) == {EAST: 2, WEST: 2}


free = st.lists(st.integers(0, 6), max_size=3)


@settings(max_examples=examples(60), deadline=None)
@given(st.sampled_from(sorted(set(QUEUE_POLICIES) - {"medea"})), st.integers(1, 12), free, free, free)
def test_without_named_data_every_policy_plans_as_before(policy, wanted, east, north, west):
    capacity, request = a_capacity(east=east, north=north, west=west), a_request(wanted, may_use=frozenset(ALL))
    before = a_table(first=request).plan(capacity, policy, 1.0)
    assert a_table(WAITS, first=request).plan(capacity, policy, 1.0) == before


@settings(max_examples=examples(60), deadline=None)
@given(st.sampled_from(BY_ROOM), st.integers(1, 12), free, free, free, st.sampled_from([1.0, 30.0]))
def test_a_cheaper_cluster_with_room_is_never_passed_by(policy, wanted, east, north, west, at_s):
    capacity = a_capacity(east=east, north=north, west=west)
    starts = the_plan(a_table(WAITS, first=with_data(wanted)), capacity, policy, at_s).starts
    rooms = {WEST: sum(west), NORTH: sum(north), EAST: sum(east)}
    for place, name in enumerate(rooms):
        if starts.get(name):
            assert all(starts.get(cheaper, 0) == rooms[cheaper] for cheaper in list(rooms)[:place])
    assert at_s >= 10.0 or EAST not in starts
