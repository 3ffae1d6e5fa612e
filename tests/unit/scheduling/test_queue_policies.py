"""Policies of the registry in a queue of real clusters: which may be had, and what a cycle plans by them."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.config.policy_files import parse_policy
from shim.domain.allocations import GangDemand
from shim.domain.ids import ContainerId, NodeId
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import NodeReport
from shim.domain.wishes import JobTimes
from shim.errors import ConfigError
from shim.scheduling.capacity import NamedPlaces
from shim.scheduling.durations import DurationModel, RecurringJobModels
from shim.scheduling.job_outlines import JobOutline
from shim.scheduling.knowledge import StageOutline
from shim.scheduling.queue_policies import QUEUE_POLICIES, SHADOW_POLICIES, queue_rejection
from shim.scheduling.queue_table import QueueTable
from shim.scheduling.registry import KINDS
from shim.scheduling.snapshot import Scope
from tests.unit.scheduling.test_queue_table import (
    BOTH,
    EAST,
    FIRST,
    SECOND,
    THIRD,
    WEST,
    a_capacity,
    a_key,
    a_request,
    a_table,
    starts,
)


def only(plans, attempt):
    (plan,) = plans[attempt]
    return plan


def test_a_queue_may_have_what_needs_no_more_than_it_tells():
    assert set(QUEUE_POLICIES) == {
        "fifo",
        "fair",
        "fewest-tasks",
        "learnt-work",
        "drf",
        "delay",
        "tetris",
        "graphene",
        "carbyne",
        "jockey",
        "quincy",
        "alsched",
        "tetrisched",
        "medea",
        "sparrow",
        "omega",
    }
    for name in KINDS:
        assert bool(queue_rejection(name)) == (name not in QUEUE_POLICIES)
    assert queue_rejection("no such policy") == ""


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("megha", "it needs masters that launch"),
    ],
)
def test_what_a_queue_cannot_have_is_refused_with_the_line_the_reason_and_what_it_can(name, why):
    with pytest.raises(
        ConfigError, match=rf"a.toml:3: .*{name}.* cannot be had: .*{why}.*choose one of auto, unordered"
    ):
        parse_policy(f'[[queue]]\nname = "root.a"\ncontainers = "{name}"\n', source="a.toml")


@pytest.mark.parametrize("name", [name for name in QUEUE_POLICIES if name != "sparrow"])
def test_every_one_of_them_starts_what_there_is_room_for_and_names_itself(name):
    plans = a_table(first=a_request(3), second=a_request(3)).plan(a_capacity([2], [2]), name, 1.0)
    assert sum(sum(each.values()) for attempt in (FIRST, SECOND) for each in starts(plans, attempt)) == 4
    assert {plan.rule for told in plans.values() for plan in told} == {name}


@pytest.mark.parametrize("name", ["sparrow", "omega"])
def test_what_draws_at_random_is_no_shadow_as_a_difference_would_say_nothing(name):
    assert name not in SHADOW_POLICIES
    with pytest.raises(ConfigError, match="it draws at random"):
        parse_policy(f'[[queue]]\nname = "root.a"\nshadow = "{name}"\n', source="a.toml")


# ---------------------------------------------------------------------- graphene by the graphs that were read

LONG_STAGE, SHORT_STAGE = 30, 20
"""Priorities of asks."""
OUTLINE = JobOutline(
    stages=(StageOutline(4, 1.0, (1024, 1)), StageOutline(4, 16.0, (1024, 1))),
    finished=(0, 0),
    by_priority={SHORT_STAGE: 0, LONG_STAGE: 1},
    weights={0: 0.5, 1: 1.0},
)


def a_table_of_stages(outline_of):
    """One attempt that asks for both stages, the short one first as its engine does."""
    models = RecurringJobModels(DurationModel())
    table = QueueTable((EAST, WEST), 60.0, models, lambda _: "", Random(1), outline_of=outline_of)  # noqa: S311
    keys = [a_key(priority=priority) for priority in (SHORT_STAGE, LONG_STAGE)]
    table.put(FIRST, [a_request(4, key) for key in keys], (), 0.0)
    return table


def started(plans):
    return {plan.key.priority: sum(plan.starts.values()) for plan in plans[FIRST]}


@pytest.mark.parametrize(("weights", "first"), [({0: 0.5, 1: 1.0}, LONG_STAGE), ({0: 1.0, 1: 0.5}, SHORT_STAGE)])
def test_by_graphene_the_stage_that_its_plan_wants_earlier_goes_first(weights, first):
    outline = replace(OUTLINE, weights=weights)
    found = started(a_table_of_stages({FIRST: outline}.get).plan(a_capacity([2], [1]), "graphene", 1.0))
    assert found == {SHORT_STAGE: 0, LONG_STAGE: 0} | {first: 3}


def test_by_graphene_a_scheduler_is_asked_for_the_stage_that_is_wanted_first_and_for_the_others_after_it():
    """Its own order is that of the priorities."""
    table = a_table_of_stages({FIRST: OUTLINE}.get)
    told = {plan.key.priority: plan for plan in table.plan(a_capacity([0], [0]), "graphene", 1.0)[FIRST]}
    assert {at: plan.may_queue for at, plan in told.items()} == {SHORT_STAGE: frozenset(), LONG_STAGE: BOTH}
    assert "its plan wants earlier" in told[SHORT_STAGE].reason
    table.put(FIRST, [], [a_key(priority=LONG_STAGE)], 1.0)
    assert only(table.plan(a_capacity([0], [0]), "graphene", 2.0), FIRST).may_queue == BOTH


def test_by_graphene_a_job_whose_graph_is_not_known_and_an_ask_of_no_stage_are_served_too():
    for outline in (None, replace(OUTLINE, by_priority={LONG_STAGE: 1})):
        table = a_table_of_stages({FIRST: outline}.get)
        assert started(table.plan(a_capacity([8], [8]), "graphene", 1.0)) == {SHORT_STAGE: 4, LONG_STAGE: 4}


def test_stages_have_nothing_of_a_resource_that_their_engines_do_not_tell():
    table = a_table_of_stages({FIRST: OUTLINE}.get)
    table.put(SECOND, [a_request(1, a_key(gpu=1))], (), 0.0)
    assert sum(started(table.plan(a_capacity([8], [8]), "graphene", 1.0)).values()) == 8


# ---------------------------------------------------------------------- sparrow and omega over sub-clusters


def test_by_sparrow_nothing_is_started_and_the_schedulers_that_were_drawn_are_asked_for_all():
    table = a_table(first=a_request(3), second=a_request(9))
    plans = table.plan(a_capacity([0], [0]), "sparrow", 1.0)
    for attempt in (FIRST, SECOND):
        plan = only(plans, attempt)
        assert (plan.starts, plan.may_queue, plan.is_late_bound) == ({}, BOTH, True), "whatever is free"
        assert "east and west, as drawn" in plan.reason


def test_by_sparrow_one_scheduler_is_asked_where_there_is_no_other():
    plan = only(a_table(first=a_request(3, may_use=frozenset({EAST}))).plan(None, "sparrow", 1.0), FIRST)
    assert (plan.may_queue, plan.is_late_bound) == ({EAST}, False)


def test_by_sparrow_asks_for_named_places_alone_go_where_these_are_and_gangs_start_whole():
    strict = a_table(first=a_request(3, places=("e1",))).plan(a_capacity([4], [4]), "sparrow", 1.0)
    assert (only(strict, FIRST).may_queue, only(strict, FIRST).is_late_bound) == (BOTH, False)
    table = a_table(first=a_request(4, gang=GangDemand(4)), second=a_request(4))
    plans = table.plan(a_capacity([2], [2]), "sparrow", 1.0)
    assert starts(plans, FIRST) == [{EAST: 2, WEST: 2}]
    assert only(plans, FIRST).may_queue == frozenset()
    assert only(plans, SECOND).starts == {}


def test_by_omega_what_is_planned_twice_on_the_same_view_seldom_goes_to_the_same_nodes():
    table, found = a_table(first=a_request(2)), set()
    for at_s in range(8):
        plan = only(table.plan(a_capacity([1] * 8, [1] * 8), "omega", float(at_s)), FIRST)
        assert sum(plan.starts.values()) == 2
        found.add(tuple(sorted(plan.starts.items())))
    assert len(found) > 1


# ---------------------------------------------------------------------- deadlines


def due(deadlines):
    """Deadlines by attempt, of applications that were submitted when time began."""
    at_s = {attempt.application: deadline_s for attempt, deadline_s in deadlines.items()}
    return lambda application: JobTimes(0.0, at_s.get(application, 0.0))


def test_who_has_a_deadline_goes_first_and_the_nearer_one_before_the_other():
    table = a_table(due({SECOND: 900.0, THIRD: 300.0}), first=a_request(4), second=a_request(4), third=a_request(4))
    plans = table.plan(a_capacity([3], [3]), "jockey", 1.0)
    assert [sum(starts(plans, each)[0].values()) for each in (FIRST, SECOND, THIRD)] == [0, 2, 4]
    assert only(plans, SECOND).reason.startswith("its deadline takes 4 containers")


def test_a_deadline_counts_from_when_a_report_tells_it():
    told = {}
    table = a_table(told.get, first=a_request(4), second=a_request(4))

    def started(at_s):
        plans = table.plan(a_capacity([4]), "jockey", at_s)
        return [sum(starts(plans, each)[0].values()) for each in (FIRST, SECOND)]

    assert started(1.0) == [4, 0]
    told |= {FIRST.application: JobTimes(0.0), SECOND.application: JobTimes(0.0, 300.0)}
    assert started(2.0) == [0, 4]


def test_who_is_well_in_time_takes_what_its_deadline_takes_and_leaves_the_rest():
    table = a_table(due({SECOND: 10_000.0}), first=a_request(8), second=a_request(8))
    for number in range(8):
        container = ContainerId(SECOND, number + 2)
        table.began(SECOND, container, 1.0)
        table.ended(SECOND, container, 11.0, is_whole=True)  # of ten seconds each: eight more are soon done
    table.heard(SECOND, 12.0)
    plans = table.plan(a_capacity([4], [4]), "jockey", 12.0)
    assert [sum(starts(plans, each)[0].values()) for each in (FIRST, SECOND)] == [7, 1]


def test_a_deadline_that_is_near_takes_more_containers_than_one_that_is_far():
    taken = []
    for deadline_s in (60.0, 120.0, 400.0):
        table = a_table(due({SECOND: deadline_s}), first=a_request(16), second=a_request(16))
        for number in range(8):
            container = ContainerId(SECOND, number + 2)
            table.began(SECOND, container, 1.0)
            table.ended(SECOND, container, 11.0, is_whole=True)
        table.heard(SECOND, 12.0)
        plans = table.plan(a_capacity([8], [8]), "jockey", 12.0)
        taken.append(sum(starts(plans, SECOND)[0].values()))
    assert taken == sorted(taken, reverse=True)
    assert taken[0] > taken[-1]


def test_a_job_that_ran_before_counts_from_its_begin_on_what_its_deadline_takes():
    models, times = RecurringJobModels(DurationModel()), due({SECOND: 2_000.0})
    table = QueueTable((EAST, WEST), 60.0, models, lambda app: str(app != THIRD.application), Random(1), times)  # noqa: S311 - repeats itself
    for number in range(8):
        table.began(FIRST, ContainerId(FIRST, number + 2), 1.0)
        table.ended(FIRST, ContainerId(FIRST, number + 2), 101.0, is_whole=True)
    table.leave(FIRST)
    table.put(SECOND, [a_request(2)], (), 110.0)
    table.put(THIRD, [a_request(8)], (), 110.0)
    plans = table.plan(a_capacity([4], [4]), "jockey", 110.0)
    taken = sum(starts(plans, SECOND)[0].values())
    assert taken == 1, "eight of 100 s in 1890 s, though it has asked for two so far"
    assert sum(starts(plans, THIRD)[0].values()) == 7


@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3000)), min_size=3, max_size=3),
    st.integers(0, 6),
    st.integers(0, 6),
    st.integers(0, 8),
)
def test_by_jockey_nothing_is_started_twice_or_beyond_what_is_free_or_left_idle(jobs, east, west, ended):
    names = dict(zip((FIRST, SECOND, THIRD), jobs, strict=True))
    table = a_table(due({attempt: float(deadline_s) for attempt, (_, deadline_s) in names.items()}))
    for number in range(ended):
        table.began(FIRST, ContainerId(FIRST, number + 2), 1.0)
        table.ended(FIRST, ContainerId(FIRST, number + 2), 9.0, is_whole=True)
    for attempt, (count, _) in names.items():
        if count:
            table.put(attempt, [a_request(count)], (), 10.0)
    plans = table.plan(a_capacity([east], [west]), "jockey", 10.0)
    started = {each: sum(sum(at.values()) for at in starts(plans, each)) for each in plans}
    assert all(started[each] <= names[each][0] for each in started)
    assert sum(started.values()) == min(east + west, sum(count for count, _ in jobs))
    assert all(
        plan.starts.get(EAST, 0) <= east and plan.starts.get(WEST, 0) <= west
        for told in plans.values()
        for plan in told
    )


def test_what_is_left_is_known_from_the_first_container_that_has_ended():
    table = a_table(first=a_request(6), second=a_request(1))
    assert table.work_left(FIRST) is None
    for number in range(2):
        table.began(FIRST, ContainerId(FIRST, number + 2), 1.0)
    table.ended(FIRST, ContainerId(FIRST, 2), 9.0, is_whole=False)
    assert table.work_left(FIRST) is None, "one that was taken away teaches nothing"
    table.ended(FIRST, ContainerId(FIRST, 3), 11.0, is_whole=True)
    table.began(FIRST, ContainerId(FIRST, 4), 11.0)
    left = table.work_left(FIRST)
    assert (left.containers, left.running, left.runs) == (7, 1, 0)
    assert left.container_s == pytest.approx(10.0, rel=0.5)
    table.leave(FIRST)
    assert table.work_left(FIRST) is None


def test_earlier_runs_tell_what_has_not_been_asked_for_yet():
    models = RecurringJobModels(DurationModel())
    table = QueueTable((EAST, WEST), 60.0, models, lambda _: "alice job #", Random(1))  # noqa: S311 - repeats itself
    for number in range(8):
        table.began(FIRST, ContainerId(FIRST, number + 2), 1.0)
        table.ended(FIRST, ContainerId(FIRST, number + 2), 11.0, is_whole=True)
    table.leave(FIRST)
    table.put(SECOND, [a_request(2)], (), 20.0)
    left = table.work_left(SECOND)
    assert (left.containers, left.runs) == (8, 1)


# ---------------------------------------------------------------------- delay scheduling


def test_a_container_starts_at_a_named_host_of_any_cluster_and_is_for_that_host():
    table = a_table(first=a_request(3, named={"west-1": 2, "east-0": 1, "/west": 2, "/east": 1}))
    plan = only(table.plan(a_capacity([4, 4], [4, 4]), "delay", 1.0), FIRST)
    assert dict(plan.starts) == {EAST: 1, WEST: 2}
    assert plan.hosts == {EAST: {"east-0": 1}, WEST: {"west-1": 2}}


def test_who_finds_no_room_at_its_hosts_waits_here_for_node_then_rack_then_anything():
    table = a_table(first=a_request(2, named={"west-0": 2}), second=a_request(1))
    in_the_rack, elsewhere = a_capacity([3], [0, 1]), a_capacity([3], [0, 0])
    seen = {}
    for at_s in (1.0, 5.9, 6.0, 10.9, 11.0):
        plans = table.plan(in_the_rack if at_s <= 6.0 else elsewhere, "delay", at_s)
        assert starts(plans, SECOND) == [{EAST: 1}], "nobody waits for who waits on purpose"
        plan = only(plans, FIRST)
        seen[at_s] = dict(plan.starts)
        assert plan.hosts == {}
        assert plan.may_queue == frozenset(), "a scheduler would start it anywhere"
        if at_s < 6.0:
            assert plan.reason.startswith("it waits for one of its named places")
            assert table.again_at_s == 6.0
    assert seen == {1.0: {}, 5.9: {}, 6.0: {WEST: 1}, 10.9: {}, 11.0: {EAST: 2}}


def test_waits_are_those_that_the_queue_has_set():
    table = a_table(first=a_request(2, named={"west-0": 2}), second=a_request(1))
    for at_s, expected in ((1.0, {}), (3.9, {}), (4.0, {EAST: 2})):
        plan = only(table.plan(a_capacity([3], [0, 0]), "delay:node_s=2:rack_s=1", at_s), FIRST)
        assert (dict(plan.starts), plan.rule) == (expected, "delay")


def test_hosts_that_no_cluster_has_are_not_waited_for():
    table = a_table(first=a_request(2, named={"elsewhere": 2, "/default-rack": 2}))
    plan = only(table.plan(a_capacity([1], [1]), "delay", 1.0), FIRST)
    assert sum(plan.starts.values()) == 2
    assert table.again_at_s is None


def test_waits_of_requests_with_a_label_are_kept_beside_the_others():
    gpu = a_key(label="gpu")
    table = a_table(first=[a_request(1, named={"west-0": 1}), a_request(1, gpu, named={"west-1": 1})])
    for at_s, expected in ((1.0, 0), (5.0, 0), (11.5, 2)):
        plans = table.plan(a_capacity([1, (1, "gpu")], [0, (0, "gpu")]), "delay", at_s)
        assert sum(sum(each.values()) for each in starts(plans, FIRST)) == expected


def test_a_clock_that_is_set_back_makes_no_wait_longer():
    table = a_table(first=a_request(1, named={"west-0": 1}))
    capacity = a_capacity([1], [0])
    for at_s, expected in ((5000.0, {}), (100.0, {}), (109.9, {}), (110.0, {EAST: 1})):
        table.heard(FIRST, at_s)
        assert dict(only(table.plan(capacity, "delay", at_s), FIRST).starts) == expected


def test_what_comes_between_cycles_waits_for_the_next_if_others_wait_and_forgets_nobody_s_wait():
    table = a_table(first=a_request(1, named={"west-0": 1}), second=a_request(1))
    capacity = a_capacity([1], [0])
    table.plan(a_capacity([0], [0]), "delay", 0.5)
    table.plan(capacity, "delay", 1.0)
    assert only(table.plan(capacity, "delay", 2.0, only=SECOND), SECOND).starts == {}
    table.leave(SECOND)
    assert dict(only(table.plan(capacity, "delay", 11.0), FIRST).starts) == {EAST: 1}


def test_racks_of_one_name_in_two_clusters_are_two():
    def node(host, rack="/default-rack"):
        return NodeReport(NodeId(host, 1), rack, "RUNNING", ResourceVector(), ResourceVector())

    places = NamedPlaces.of([[node("e0"), node("e1", "/r1")], [node("w0"), node("w1"), node("w1")]])
    assert places.racks.tolist() == [0, 1, 2, 2, 2]

    def told(**named):
        found = places.preferred({name.replace("_", "/"): count for name, count in named.items()})
        return {(each.scope, each.place): each.count for each in found}

    assert told(e0=2) == {(Scope.NODE, 0): 2, (Scope.RACK, 0): 2}
    named = places.preferred({"w1": 1, "/default-rack": 1})
    assert {(each.scope, each.place) for each in named} == {(Scope.NODE, 3), (Scope.NODE, 4), (Scope.RACK, 2)}
    assert {each.place for each in places.preferred({"/default-rack": 1})} == {0, 2}
    assert {each.place for each in places.preferred({"e0": 1, "/r1": 1}) if each.scope is Scope.RACK} == {0, 1}
    assert places.preferred({"nobody": 3}) == ()


# ---------------------------------------------------------------------- Tetris


def test_tetris_fills_a_node_with_what_lines_up_best():
    wide, deep = a_key(1, priority=3), a_key(1, priority=3)
    wide, deep = (
        each.__class__(3, -1, is_opportunistic=False, resource=ResourceVector(*amounts))
        for each, amounts in ((wide, (1024, 6)), (deep, (6 * 1024, 1)))
    )
    capacity = a_capacity([7])
    plans = a_table(first=a_request(9, wide), second=a_request(9, deep)).plan(capacity, "tetris", 1.0)
    assert (starts(plans, FIRST), starts(plans, SECOND)) == ([{EAST: 1}], [{EAST: 1}])
    assert only(plans, FIRST).hosts is None, "schedulers pick the nodes"


def test_what_a_policy_did_not_choose_waits_here_unless_there_is_nobody_to_choose_among():
    alone = only(a_table(first=a_request(3)).plan(a_capacity([1]), "tetris", 1.0), FIRST)
    assert (alone.may_queue, alone.reason) == (BOTH, "")
    plan = only(a_table(first=a_request(3), second=a_request(3)).plan(a_capacity([1]), "tetris", 1.0), SECOND)
    assert plan.may_queue == frozenset()
    assert "best choice" in plan.reason
    unserved = a_request(3, avoided=frozenset({WEST}))
    plans = a_table(first=unserved, second=a_request(3)).plan(a_capacity([0]), "tetris", 1.0)
    assert only(plans, FIRST).may_queue == {WEST}, "its scheduler knows something that no report tells"


@pytest.mark.parametrize("name", ["tetris", "quincy", "jockey"])
def test_what_comes_between_cycles_starts_at_once_where_others_wait_for_grants_alone(name):
    table = a_table(first=a_request(2, tentative={EAST: 2}), second=a_request(1))
    plan = only(table.plan(a_capacity([1], [1]), name, 1.0, only=SECOND), SECOND)
    assert sum(plan.starts.values()) == 1
    table.put(FIRST, [a_request(3, tentative={EAST: 2})], (), 1.0)
    assert not only(table.plan(a_capacity([1], [1]), name, 1.0, only=SECOND), SECOND).starts


@pytest.mark.parametrize("name", ["delay", "tetris"])
def test_who_was_overtaken_for_too_long_goes_first_and_may_wait_at_schedulers(name):
    table = a_table(first=a_request(1, a_key(4), named={"east-0": 1}))
    for at_s in (0.5, 61.0):
        table.put(SECOND, [a_request(9)], (), at_s)
        table.put(THIRD, [a_request(9)], (), at_s)
        table.heard(FIRST, at_s)
        plans = table.plan(a_capacity([1], [1]), name, at_s)
        assert only(plans, FIRST).may_queue == (BOTH if at_s > 60.0 else frozenset())
        assert only(plans, THIRD).may_queue == frozenset()
    plans = table.plan(a_capacity([4], [0]), name, 61.5)
    assert starts(plans, FIRST) == [{EAST: 1}]


@pytest.mark.parametrize("name", ["delay", "tetris", "jockey"])
def test_of_who_was_overtaken_for_too_long_no_scheduler_is_asked_for_more_than_one_container(name):
    table = a_table(first=a_request(9), second=a_request(9))
    for at_s in (0.5, 61.0):
        table.put(SECOND, [a_request(9)], (), at_s)
        table.heard(FIRST, at_s)
        plans = table.plan(a_capacity([0], [0]), name, at_s)
    assert (only(plans, FIRST).may_queue, only(plans, FIRST).at_most) == (BOTH, {EAST: 1, WEST: 1})
    assert only(plans, SECOND).may_queue == frozenset(), "it is asked for again when the first has its grant"


def test_nobody_is_overtaken_for_too_long_while_a_deadline_is_to_be_met():
    table = a_table(due({SECOND: 100.0}), first=a_request(9), second=a_request(9))
    for at_s, asked in ((0.5, frozenset()), (61.0, frozenset()), (101.0, BOTH)):
        table.put(SECOND, [a_request(9)], (), at_s)
        table.heard(FIRST, at_s)
        assert only(table.plan(a_capacity([0], [0]), "jockey", at_s), FIRST).may_queue == asked, at_s


def test_what_is_learnt_of_durations_is_told_to_the_policy():
    table = a_table(first=a_request(4), second=a_request(4))
    for attempt, lasts_s in ((FIRST, 600.0), (SECOND, 2.0)):
        for number in range(2, 6):
            container = ContainerId(attempt, number)
            table.began(attempt, container, 1000.0 - lasts_s)
            table.ended(attempt, container, 1000.0, is_whole=True)
        table.heard(attempt, 1000.0)
    plans = table.plan(a_capacity([2]), "tetris", 1000.0)
    assert (starts(plans, FIRST), starts(plans, SECOND)) == ([{}], [{EAST: 2}])
    assert only(plans, FIRST).estimate is None, "it is no order by work"
    table.granted(SECOND, EAST, 1000.0)
    plans = table.plan(a_capacity([2]), "tetris", 1000.5)
    assert (starts(plans, FIRST), starts(plans, SECOND)) == ([{EAST: 2}], [{}]), "the other was overtaken for too long"
