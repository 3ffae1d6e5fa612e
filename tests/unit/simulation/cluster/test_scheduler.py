"""The model of the CapacityScheduler: pace, locality, limits, and never more than there is."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shim.domain.allocations import ANY, Ask, AskKey
from shim.domain.ids import ApplicationAttemptId, ApplicationId
from shim.domain.resources import ResourceVector
from shim.simulation.cluster.scheduler import CapacityScheduler
from shim.simulation.cluster.spec import ModelledClusterSpec, QueueSpec, Timing
from tests.support.examples import examples

ONE = ResourceVector(1024, 1)
KEY = AskKey(1, -1, is_opportunistic=False, resource=ONE)


def attempt(number=1):
    return ApplicationAttemptId(ApplicationId(1, number), 1)


def made(nodes=2, racks=1, queues=None, size=None, **timing):
    spec = ModelledClusterSpec.even(
        "east",
        nodes=nodes,
        racks=racks,
        size=size or ResourceVector(8192, 8),
        queues=queues or {"root.default": QueueSpec()},
        timing=Timing(**timing),
    )
    scheduler = CapacityScheduler(spec)
    for node in spec.nodes:
        scheduler.add_node(node)
    return scheduler, [node.id for node in spec.nodes]


def given_in(scheduler, node, count=1):
    return [len(scheduler.heartbeat(node)) for _ in range(count)]


def test_a_heartbeat_gives_one_container_that_has_no_locality():
    scheduler, (first, second) = made()
    scheduler.add(attempt(), "root.default", "alice")
    scheduler.ask(attempt(), [Ask(KEY, ANY, 5)])
    assert given_in(scheduler, first, 2) == [1, 1]
    assert given_in(scheduler, second, 4) == [1, 1, 1, 0]


def test_a_heartbeat_gives_all_that_is_asked_for_on_its_host():
    scheduler, (first, second) = made(locality_delay=40)
    scheduler.add(attempt(), "root.default", "alice")
    scheduler.ask(attempt(), [Ask(KEY, ANY, 5), Ask(KEY, "/default-rack", 5), Ask(KEY, first.host, 5)])
    assert given_in(scheduler, first) == [5]
    assert given_in(scheduler, second) == [0]


def test_a_rack_gives_what_its_hosts_were_asked_for():
    scheduler, nodes = made(nodes=3, racks=3)
    scheduler.add(attempt(), "root.default", "alice")
    scheduler.ask(attempt(), [Ask(KEY, ANY, 2), Ask(KEY, "/rack2", 2)])
    assert given_in(scheduler, nodes[0]) == [0]
    assert given_in(scheduler, nodes[1]) == [2]


def test_places_are_waited_for_as_many_heartbeats_as_the_delay_says():
    scheduler, nodes = made(nodes=3, racks=3, locality_delay=2)
    scheduler.add(attempt(), "root.default", "alice")
    scheduler.ask(attempt(), [Ask(KEY, ANY, 1), Ask(KEY, nodes[2].host, 1)])
    assert given_in(scheduler, nodes[0], 3) == [0, 0, 1]


def test_strict_asks_are_given_at_their_place_alone():
    scheduler, nodes = made(nodes=3, racks=3, locality_delay=0)
    scheduler.add(attempt(), "root.default", "alice")
    rows = [Ask(KEY, ANY, 2, relaxes=False), Ask(KEY, "/rack3", 2, relaxes=False), Ask(KEY, nodes[2].host, 2)]
    scheduler.ask(attempt(), rows)
    assert given_in(scheduler, nodes[0], 3) == [0, 0, 0]
    assert given_in(scheduler, nodes[2]) == [2]


def test_one_user_has_at_most_the_queue_times_its_factor_and_the_container_that_reaches_it():
    queues = {"root.a": QueueSpec(percent=25.0, user_limit_factor=1.0), "root.b": QueueSpec(percent=75.0)}
    scheduler, (first, second) = made(queues=queues)
    scheduler.add(attempt(), "root.a", "alice")
    scheduler.ask(attempt(), [Ask(KEY, ANY, 16)])
    total = sum(given_in(scheduler, first, 10) + given_in(scheduler, second, 10))
    assert total == 4 + 1
    scheduler.add(attempt(2), "root.a", "bob")
    scheduler.ask(attempt(2), [Ask(KEY, ANY, 16)])
    assert given_in(scheduler, second) == [1]


def test_a_queue_has_at_most_its_maximum():
    queues = {"root.a": QueueSpec(percent=25.0, most_percent=50.0, user_limit_factor=10.0), "root.b": QueueSpec(75.0)}
    scheduler, (first, second) = made(queues=queues)
    scheduler.add(attempt(), "root.a", "alice")
    scheduler.ask(attempt(), [Ask(KEY, ANY, 16)])
    assert sum(given_in(scheduler, first, 10) + given_in(scheduler, second, 10)) == 8
    assert scheduler.headroom(attempt()) == ResourceVector(0, 0)


def test_the_queue_that_uses_least_of_its_capacity_goes_first():
    queues = {"root.a": QueueSpec(percent=75.0), "root.b": QueueSpec(percent=25.0)}
    scheduler, (first, _) = made(queues=queues)
    for number, path in enumerate(queues, start=1):
        scheduler.add(attempt(number), path, "alice")
        scheduler.ask(attempt(number), [Ask(KEY, ANY, 16)])
    order = [scheduler.heartbeat(first)[0].attempt for _ in range(8)]
    assert order.count(attempt(1)) == 6


@pytest.mark.parametrize(("ordering", "of_the_second"), [("fifo", 0), ("fair", 4)])
def test_the_ordering_policy_says_which_attempt_of_a_queue_goes_first(ordering, of_the_second):
    scheduler, (first, _) = made(queues={"root.default": QueueSpec(ordering=ordering)})
    for number in (1, 2):
        scheduler.add(attempt(number), "root.default", "alice")
        scheduler.ask(attempt(number), [Ask(KEY, ANY, 16)])
    order = [scheduler.heartbeat(first)[0].attempt for _ in range(8)]
    assert order.count(attempt(2)) == of_the_second


@pytest.mark.parametrize("ordering", ["fifo", "fair"])
def test_an_application_goes_before_those_with_later_ids_though_its_attempt_came_after_theirs(ordering):
    scheduler, (first, _) = made(queues={"root.default": QueueSpec(ordering=ordering)})
    for number in (2, 1):
        scheduler.add(attempt(number), "root.default", "alice")
        scheduler.ask(attempt(number), [Ask(KEY, ANY, 1)])
    assert [scheduler.heartbeat(first)[0].attempt for _ in range(2)] == [attempt(1), attempt(2)]


def test_by_the_fair_policy_what_ended_counts_no_more():
    scheduler, (first, second) = made(queues={"root.default": QueueSpec(ordering="fair")})
    for number, count in ((1, 3), (2, 2)):
        scheduler.add(attempt(number), "root.default", "alice")
        scheduler.ask(attempt(number), [Ask(KEY, ANY, count)])
    given_before = [scheduler.heartbeat(first)[0] for _ in range(3)]  # 1, 2, 1
    for each in given_before:
        if each.attempt == attempt(1):
            scheduler.release(each.node, "root.default", "alice", each.attempt.application, each.key.resource)
    assert scheduler.heartbeat(second)[0].attempt == attempt(1)


def test_application_masters_are_held_to_their_part_but_for_the_first():
    scheduler, _ = made(queues={"root.default": QueueSpec(am_share=0.1)})
    large = ResourceVector(2048, 1)
    assert scheduler.may_start_master("root.default", large)
    scheduler.reserve_master("root.default", large)
    assert not scheduler.may_start_master("root.default", ONE)
    scheduler.release_master("root.default", large)
    assert scheduler.may_start_master("root.default", ONE)


def test_a_blacklisted_host_gives_nothing():
    scheduler, (first, second) = made()
    scheduler.add(attempt(), "root.default", "alice")
    scheduler.ask(attempt(), [Ask(KEY, ANY, 2)])
    scheduler.blacklist(attempt(), [first.host], [])
    assert given_in(scheduler, first) == [0]
    assert given_in(scheduler, second) == [1]
    scheduler.blacklist(attempt(), [], [first.host])
    assert given_in(scheduler, first) == [1]


SIZES = st.sampled_from([ResourceVector(512, 1), ONE, ResourceVector(3000, 1), ResourceVector(1024, 5)])
ROWS = st.tuples(st.integers(1, 4), SIZES, st.integers(0, 6), st.sampled_from([ANY, "east-n1", "/rack1"]))


@settings(max_examples=examples(60))
@given(st.lists(ROWS, max_size=12), st.lists(st.integers(0, 2), max_size=30), st.randoms(use_true_random=False))
def test_nothing_is_ever_given_beyond_a_node_or_a_count(rows, beats, rng):
    queues = {"root.a": QueueSpec(40.0, 80.0, user_limit_factor=3.0), "root.b": QueueSpec(60.0)}
    scheduler, nodes = made(nodes=3, racks=2, queues=queues, size=ResourceVector(6000, 6), locality_delay=1)
    for number in range(1, 5):
        scheduler.add(attempt(number), ("root.a", "root.b")[number % 2], f"u{number}")
    asked = {}
    for number, size, count, place in rows:
        key = AskKey(1, -1, is_opportunistic=False, resource=size)
        if place != ANY:
            scheduler.ask(attempt(number), [Ask(key, ANY, count), Ask(key, place, count)])
        else:
            scheduler.ask(attempt(number), [Ask(key, ANY, count)])
        asked[number, size] = count
    held = []
    for beat in beats:
        for one in scheduler.heartbeat(nodes[beat]):
            held.append(one)
            asked[one.attempt.application.sequence, one.key.resource] -= 1
        if held and rng.random() < 0.3:
            gone = held.pop(rng.randrange(len(held)))
            number = gone.attempt.application.sequence
            scheduler.release(
                gone.node, ("root.a", "root.b")[number % 2], f"u{number}", gone.attempt.application, gone.key.resource
            )
        for node in nodes:
            mine = sum((one.key.resource for one in held if one.node == node), ResourceVector())
            assert scheduler.nodes[node].used == mine
            assert mine.fits_in(ResourceVector(6000, 6))
        for path, queue in scheduler.queues.items():
            assert queue.used == sum(queue.users.values(), ResourceVector())
            assert queue.used.fits_in(scheduler.share(queue.spec.most_percent)), path
    assert all(count >= 0 for count in asked.values())


def test_an_unknown_queue_is_a_mistake_of_the_caller():
    scheduler, _ = made()
    with pytest.raises(KeyError):
        scheduler.add(attempt(), "root.nowhere", "alice")
