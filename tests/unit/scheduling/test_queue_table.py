"""What a cycle plans for the attempts of one queue: whose containers start where, and who may wait at a scheduler."""

from random import Random

import pytest

from shim.domain.allocations import AskKey, GangDemand, PendingRequest
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.placement_rules import NO_RULES
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import NodeReport
from shim.scheduling.capacity import Capacity, NodeCapacity
from shim.scheduling.durations import DurationModel, RecurringJobModels
from shim.scheduling.queue_table import QueueTable

EAST, WEST = SubClusterId("east"), SubClusterId("west")
BOTH = frozenset({EAST, WEST})
FIRST, SECOND, THIRD = (ApplicationAttemptId(ApplicationId(1, number), 1) for number in (1, 2, 3))


def gib(count, **others):
    return ResourceVector(1024 * count, count, others)


def a_key(size=1, *, label="", priority=20, **others):
    return AskKey(priority, -1, is_opportunistic=False, resource=gib(size, **others), label=label)


def a_request(wanted, key=None, **more):
    return PendingRequest(key or a_key(), wanted, **({"may_use": BOTH} | more))


def a_capacity(east=(), west=(), *, limits=None):
    """Free GiB of each node; a node with a label is a pair."""
    rooms = {}
    for name, nodes in ((EAST, east), (WEST, west)):
        told = [node if isinstance(node, tuple) else (node, "") for node in nodes]
        rooms[name] = NodeCapacity(name)
        rooms[name].apply(
            [
                NodeReport(
                    NodeId(f"{name}-{number}", 1),
                    f"/{name}",
                    "RUNNING",
                    gib(16),
                    gib(16 - free),
                    (label,) if label else (),
                )
                for number, (free, label) in enumerate(told)
            ]
        )
    return Capacity(rooms, {EAST: None, WEST: None} | (limits or {}))


def a_table(times_of=lambda _: None, rules=NO_RULES, **requests):
    models = RecurringJobModels(DurationModel())
    table = QueueTable((EAST, WEST), 60.0, models, lambda _: "", Random(1), times_of, rules_of=lambda: rules)  # noqa: S311 - repeats itself
    attempts = {"first": FIRST, "second": SECOND, "third": THIRD}
    for name, told in requests.items():
        table.put(attempts[name], told if isinstance(told, list) else [told], (), 0.0)
    return table


def starts(plans, attempt):
    return [dict(plan.starts) for plan in plans.get(attempt, ())]


def test_containers_start_in_proportion_to_what_is_free():
    plans = a_table(first=a_request(6)).plan(a_capacity([2], [4, 2]), "fifo", 1.0)
    assert starts(plans, FIRST) == [{EAST: 1, WEST: 5}] or starts(plans, FIRST) == [{EAST: 2, WEST: 4}]
    (plan,) = plans[FIRST]
    assert plan.capacity == {EAST: 2, WEST: 6}
    assert plan.may_queue == BOTH


def test_who_is_first_has_what_is_free_and_the_next_may_wait_nowhere():
    table = a_table(first=a_request(5), second=a_request(2))
    plans = table.plan(a_capacity([2], [1]), "fifo", 1.0)
    assert starts(plans, FIRST) == [{EAST: 2, WEST: 1}]
    assert starts(plans, SECOND) == [{}]
    (plan,) = plans[SECOND]
    assert (plan.may_queue, plan.behind) == (frozenset(), (str(FIRST.application),))
    plans = table.plan(a_capacity([2], [1]), "fewest-tasks", 1.0)
    assert starts(plans, SECOND) == [{EAST: 1, WEST: 1}]
    assert plans[FIRST][0].behind == (str(SECOND.application),)


def test_without_an_order_nobody_goes_before_another():
    plans = a_table(first=a_request(5), second=a_request(2)).plan(a_capacity([0], [0]), "unordered", 1.0)
    assert all(plan.may_queue == BOTH and not plan.behind for told in plans.values() for plan in told)


def test_room_that_the_first_cannot_use_is_the_next_one_s():
    table = a_table(first=a_request(1, a_key(4)), second=a_request(9))
    plans = table.plan(a_capacity([3, 3], [2]), "fifo", 1.0)
    assert starts(plans, FIRST) == [{}]
    assert sum(starts(plans, SECOND)[0].values()) == 8
    assert plans[SECOND][0].may_queue == frozenset()


def test_who_is_granted_nothing_though_there_is_capacity_holds_nobody_up_there():
    table = a_table(first=a_request(3, avoided=BOTH, unresponsive=frozenset({EAST})), second=a_request(1))
    plans = table.plan(a_capacity([2], []), "fifo", 1.0)
    assert starts(plans, FIRST) == [{}], "nothing new where nothing is granted"
    assert starts(plans, SECOND) == [{EAST: 1}]
    assert plans[SECOND][0].may_queue == {EAST}


def test_what_is_allocated_tentatively_is_waited_for_and_not_placed_again():
    request = a_request(2, tentative={EAST: 2})
    plans = a_table(first=request, second=a_request(1)).plan(a_capacity([1], [1]), "fifo", 1.0)
    assert starts(plans, FIRST) == [{}]
    assert plans[SECOND][0].may_queue == {WEST}, "at east the first would be served later"


def test_what_waits_in_a_queue_is_allocated_where_it_waits():
    plans = a_table(first=a_request(2, queued={WEST: 2})).plan(a_capacity([8], [2]), "fifo", 1.0)
    assert starts(plans, FIRST) == [{WEST: 2}]


def test_named_hosts_come_first_and_strict_ones_alone():
    local = a_request(2, local={WEST: 1, EAST: 0})
    assert starts(a_table(first=local).plan(a_capacity([9], [1]), "fifo", 1.0), FIRST) == [{WEST: 1, EAST: 1}]
    strict = a_request(9, places=("east-1", "/west"))
    assert starts(a_table(first=strict).plan(a_capacity([8, 2], [1, 2]), "fifo", 1.0), FIRST) == [{EAST: 2, WEST: 3}]
    table = a_table(first=strict, second=a_request(1, places=("/west", "east-1")))
    table.put(SECOND, [], [a_key()], 0.5)
    for at_s in (1.0, 2.0):  # whoever else named the places, and whatever is reported
        assert sum(starts(table.plan(a_capacity([8, 2], [1, 2]), "fifo", at_s), FIRST)[0].values()) == 5


def test_nodes_with_a_label_are_for_those_who_ask_for_it_and_count_in_no_limit():
    gpu = a_key(label="gpu")
    table = a_table(first=[a_request(9), a_request(9, gpu)])
    capacity = a_capacity([4, (3, "gpu")], [], limits={EAST: gib(2)})
    plans = {plan.key: dict(plan.starts) for plan in table.plan(capacity, "fifo", 1.0)[FIRST]}
    assert plans == {a_key(): {EAST: 2}, gpu: {EAST: 3}}


def test_a_limit_of_the_queue_is_shared_by_its_attempts():
    table = a_table(first=a_request(3), second=a_request(9))
    plans = table.plan(a_capacity([9], [], limits={EAST: gib(5)}), "fifo", 1.0)
    assert (starts(plans, FIRST), starts(plans, SECOND)) == ([{EAST: 3}], [{EAST: 2}])


def test_a_type_that_a_cluster_does_not_tell_of_is_not_held_against_it():
    capacity = a_capacity([4], [4])
    node = NodeReport(NodeId("west-0", 1), "/west", "RUNNING", gib(16, gpu=2), gib(12, gpu=0))
    capacity.nodes[WEST].apply([node])
    plans = a_table(first=a_request(9, a_key(gpu=1))).plan(capacity, "fifo", 1.0)
    assert starts(plans, FIRST) == [{EAST: 4, WEST: 2}]


def test_priorities_order_the_requests_of_one_attempt():
    table = a_table(first=[a_request(2, a_key(priority=20)), a_request(2, a_key(priority=5))])
    plans = {plan.key.priority: sum(plan.starts.values()) for plan in table.plan(a_capacity([3]), "fifo", 1.0)[FIRST]}
    assert plans == {5: 2, 20: 1}


def test_a_cluster_that_the_queue_prefers_gets_more():
    plans = a_table(first=a_request(6, weights={WEST: 2.0})).plan(a_capacity([6], [6]), "fifo", 1.0)
    assert starts(plans, FIRST) == [{EAST: 2, WEST: 4}]


def test_whoever_is_silent_gets_nothing_new_and_stands_in_nobody_s_way():
    table = a_table(first=a_request(2), second=a_request(1))
    table.heard(SECOND, 19.0)
    plans = table.plan(a_capacity([2]), "fifo", 20.0)
    assert FIRST not in plans
    assert plans[SECOND][0].may_queue == BOTH


def test_who_was_overtaken_for_too_long_goes_first_until_he_is_granted_something():
    table = a_table(first=a_request(5))
    table.put(SECOND, [a_request(1)], (), 65.0)
    table.heard(FIRST, 70.0)
    assert starts(table.plan(a_capacity([1]), "fewest-tasks", 70.0), FIRST) == [{EAST: 1}]
    table.granted(FIRST, EAST, 71.0)
    assert starts(table.plan(a_capacity([1]), "fewest-tasks", 72.0), SECOND) == [{EAST: 1}]


def test_what_comes_between_cycles_is_planned_by_itself_behind_those_that_wait():
    table = a_table(first=a_request(5))
    table.plan(a_capacity([2]), "fewest-tasks", 1.0)
    table.put(SECOND, [a_request(1)], (), 1.1)
    plans = table.plan(a_capacity([2]), "fewest-tasks", 1.1, only=SECOND)
    assert set(plans) == {SECOND}
    assert starts(plans, SECOND) == [{EAST: 1}], "what the last cycle left is free"
    assert table.plan(None, "fewest-tasks", 1.1, only=SECOND)[SECOND][0].starts == {}


@pytest.mark.parametrize(("wanted", "may_queue"), [(1, BOTH), (9, frozenset())])
def test_what_no_cycle_knew_takes_its_place_in_line_at_once(wanted, may_queue):
    table = a_table(first=a_request(5))
    table.plan(a_capacity(), "fewest-tasks", 1.0)
    table.put(SECOND, [a_request(wanted)], (), 1.1)
    assert table.plan(None, "fewest-tasks", 1.1, only=SECOND)[SECOND][0].may_queue == may_queue


def test_what_a_cycle_knew_stays_where_that_cycle_had_it():
    table = a_table(first=a_request(5), second=a_request(9))
    table.plan(a_capacity(), "fewest-tasks", 1.0)
    table.put(SECOND, [a_request(1)], (), 1.1)
    assert table.plan(None, "fewest-tasks", 1.1, only=SECOND)[SECOND][0].may_queue == frozenset()


@pytest.mark.parametrize("leaves", [True, False])
def test_who_leaves_or_wants_nothing_is_forgotten(leaves):
    table = a_table(first=a_request(5), second=a_request(1))
    table.began(FIRST, ContainerId(FIRST, 2), 1.0)
    table.ended(FIRST, ContainerId(FIRST, 2), 2.0, is_whole=True)
    if leaves:
        table.leave(FIRST)
    else:
        table.put(FIRST, [], [a_key()], 1.0)
    plans = table.plan(a_capacity([0]), "fifo", 2.5)
    assert FIRST not in plans or not plans[FIRST]
    assert plans[SECOND][0].may_queue == BOTH
    assert not table.others_wait(SECOND)
    table.leave(SECOND)
    assert not table.is_waiting


def test_an_order_by_learnt_durations_tells_what_it_expects():
    table = a_table(first=a_request(4), second=a_request(4))
    for attempt, lasts_s in ((FIRST, 60.0), (SECOND, 2.0)):
        for number in range(2, 6):
            container = ContainerId(attempt, number)
            table.began(attempt, container, 100.0 - lasts_s)
            table.ended(attempt, container, 100.0, is_whole=True)
        table.heard(attempt, 100.0)
    plans = table.plan(a_capacity([2]), "learnt-work", 100.0)
    assert starts(plans, SECOND) == [{EAST: 2}]
    assert plans[FIRST][0].estimate.work_s == pytest.approx(240.0)


def test_a_policy_in_the_shadow_hands_nothing_on_to_the_one_in_force():
    table = a_table(first=a_request(1, named={"west-0": 1}), second=a_request(1, a_key(2)))
    capacity = a_capacity([1], [0])
    table.plan(capacity, "fifo", 1.0)
    held = table.plan_in_shadow(capacity, "delay", 1.0)
    assert "waits for one of its named places" in held[FIRST][0].reason
    assert table.again_at_s is None
    table.plan(capacity, "delay", 1.0)
    assert table.again_at_s is not None


def a_part(wanted, gang, key=None, **more):
    return a_request(wanted, key, gang=GangDemand(gang), **more)


def test_a_gang_starts_where_the_whole_of_it_fits_over_the_clusters_and_waits_at_no_scheduler():
    parts = [a_part(3, 5), a_part(2, 5, a_key(2))]
    plans = a_table(first=parts).plan(a_capacity([4], [3]), "fifo", 1.0)
    assert sum(sum(each.values()) for each in starts(plans, FIRST)) == 5
    plans = a_table(first=parts).plan(a_capacity([4], [2]), "fifo", 1.0)
    assert starts(plans, FIRST) == [{}, {}]
    assert {plan.may_queue for plan in plans[FIRST]} == {frozenset()}
    assert plans[FIRST][0].reason == "all 5 of its containers start together or none does; there was room for 4"


def test_what_a_gang_has_no_use_for_starts_others():
    table = a_table(first=a_part(5, 5), second=a_request(2))
    plans = table.plan(a_capacity([2], [2]), "fifo", 1.0)
    assert starts(plans, FIRST) == [{}]
    assert sum(starts(plans, SECOND)[0].values()) == 2


def test_a_gang_over_nodes_with_a_label_and_without_starts_whole_or_not_at_all():
    parts = [a_part(1, 2), a_part(1, 2, a_key(label="gpu"))]
    plans = a_table(first=parts).plan(a_capacity([4], [(4, "gpu")]), "fifo", 1.0)
    assert starts(plans, FIRST) == [{EAST: 1}, {WEST: 1}]
    plans = a_table(first=parts).plan(a_capacity([4], [4]), "fifo", 1.0)
    assert starts(plans, FIRST) == [{}, {}]


@pytest.mark.parametrize("order", ["fifo", "", "fewest-tasks"])
def test_room_is_kept_free_for_a_gang_that_was_overtaken_too_long_but_not_for_ever(order):
    table = a_table(first=a_part(5, 5))
    for second in range(0, 240, 10):  # something small comes all the time, and takes what has come free
        at_s = float(second)
        table.heard(FIRST, at_s)
        table.put(SECOND, [a_request(1)], (), at_s)
        table.granted(SECOND, EAST, at_s)
        plans = table.plan(a_capacity([2], [1]), order, at_s)
        is_kept = 60 <= second < 120 or second >= 180
        assert sum(starts(plans, SECOND)[0].values()) == (0 if is_kept else 1), second
        if is_kept:
            assert plans[SECOND][0].may_queue == frozenset()
            assert "room is kept free for the gang of application_1_0001" in plans[SECOND][0].reason
    assert starts(table.plan(a_capacity([3], [2]), order, 240.0), FIRST)[0] != {}


def test_no_room_is_kept_free_for_a_gang_that_is_larger_than_all_nodes():
    table = a_table(first=a_part(50, 50))
    table.plan(a_capacity([2], [1]), "fifo", 0.0)
    table.heard(FIRST, 90.0)
    table.put(SECOND, [a_request(1)], (), 90.0)
    plans = table.plan(a_capacity([2], [1]), "fifo", 90.0)
    assert sum(starts(plans, SECOND)[0].values()) == 1


@pytest.mark.parametrize("only", [0, 62, 63, 99])
def test_a_hundred_clusters_are_told_apart(only):
    names = [SubClusterId(f"c{number}") for number in range(100)]
    models = RecurringJobModels(DurationModel())
    table = QueueTable(names, 60.0, models, lambda _: "", Random(1), rules_of=lambda: NO_RULES)  # noqa: S311 - repeats itself
    node = NodeReport(NodeId("n", 1), "/r", "RUNNING", gib(16), gib(8), ())
    rooms = {name: NodeCapacity(name) for name in names}
    for room in rooms.values():
        room.apply([node])
    table.put(FIRST, [a_request(100, may_use=frozenset(names))], (), 0.0)
    table.put(SECOND, [a_request(5, may_use=frozenset({names[only]}))], (), 0.0)
    plans = table.plan(Capacity(rooms, dict.fromkeys(names)), "fewest-tasks", 1.0)
    assert starts(plans, SECOND) == [{names[only]: 5}]
    (first,) = starts(plans, FIRST)
    assert sum(first.values()) == 100
