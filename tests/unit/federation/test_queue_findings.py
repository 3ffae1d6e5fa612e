"""What queues' settings cost, by histories whose cost is known."""

from dataclasses import replace

import pytest

from shim.domain.resources import ResourceVector
from shim.federation.queue_findings import EndedApplication, QueueFacts, order_cost_s, queue_findings, start_cost

MIB = 1000
"""Memory of the queues: an application of 1,000 MiB x s takes it for a second."""


def ended(arrived_s, work_s, *, waited_s=0.0, took_s=None):
    launched_s = arrived_s + waited_s
    ended_s = launched_s + work_s if took_s is None else arrived_s + took_s
    return EndedApplication(arrived_s, launched_s, ended_s, work_s * MIB)


GIANT_FIRST = [ended(0.0, 90.0), *(ended(1.0, 1.0, took_s=90.0 + number) for number in range(1, 31))]
"""Thirty of a second behind one of a minute and a half."""
ALIKE = [ended(0.0, 10.0, took_s=10.0 * number) for number in range(1, 31)]
QUEUE = QueueFacts("root.etl", "capacityScheduler", is_fair=False, maximum_mib=MIB)


def told(queue):
    return {found.check: (found.message, found.advice) for found in queue_findings("east", [queue])}


def test_the_cost_of_an_order_is_what_equal_parts_would_save():
    arrival = (90.0 + sum(90.0 - 1.0 + number for number in range(1, 31))) / 31
    shared = (120.0 + 30 * (1.0 + 30.0 - 1.0 + 1.0)) / 31  # the thirty end together once each has had its second
    assert order_cost_s(GIANT_FIRST, MIB) == pytest.approx(arrival - shared, abs=1.0)
    assert order_cost_s(GIANT_FIRST, 1000 * MIB) == pytest.approx(0.0, abs=0.1)
    assert order_cost_s(ALIKE, MIB) < -100.0  # who is alike loses by parts


@pytest.mark.parametrize(
    ("scheduler", "advice"),
    [
        ("capacityScheduler", "yarn.scheduler.capacity.root.etl.ordering-policy to fair"),
        ("fairScheduler", "schedulingPolicy of root.etl to fair"),
        ("fifoScheduler", "a CapacityScheduler"),
    ],
)
def test_a_queue_by_arrival_is_told_its_cost_where_jobs_are_mixed(scheduler, advice):
    queue = replace(QUEUE, scheduler=scheduler, ended=GIANT_FIRST)
    message, mend = told(queue)["order of a queue"]
    assert "root.etl" in message
    assert "its last 31, which took 105 s in the mean, that costs about 70 s of each" in message
    assert advice in mend


@pytest.mark.parametrize(
    "queue",
    [
        replace(QUEUE, ended=GIANT_FIRST, is_fair=True),
        replace(QUEUE, ended=ALIKE),
        replace(QUEUE, ended=GIANT_FIRST[:19]),
        replace(QUEUE, ended=GIANT_FIRST, maximum_mib=1000 * MIB),
        replace(QUEUE, ended=[replace(each, ended_s=each.arrived_s) for each in GIANT_FIRST]),
    ],
    ids=["it is fair", "all are alike", "few ended", "there is room for all", "no times"],
)
def test_a_queue_is_told_nothing_where_its_order_costs_nothing(queue):
    assert "order of a queue" not in told(queue)


def two_at_once(count):
    """Applications of 20 s that arrive at once, two of which run at any time."""
    return [ended(0.0, 20.0, waited_s=20.0 * (number // 2)) for number in range(count)]


def test_starts_cost_what_launches_wait_where_as_many_run_all_the_while():
    cost_s, limit = start_cost(two_at_once(30))
    assert (cost_s, limit) == (pytest.approx(140.0), 2)
    message, advice = told(replace(QUEUE, ended=two_at_once(30), masters=ResourceVector(512, 1)))["starts in a queue"]
    assert "runs 2 applications at once" in message
    assert "about 140 s of each" in message
    assert "root.etl.maximum-am-resource-percent (at present 512 MiB)" in advice


def test_what_limits_starts_is_named_as_its_scheduler_calls_it():
    limited = replace(QUEUE, ended=two_at_once(30), most_running=2, master_mib=1.0, masters=ResourceVector(512, 1))
    assert "max-parallel-apps of root.etl" in told(limited)["starts in a queue"][1]
    fair = replace(limited, scheduler="fairScheduler")
    assert "maxRunningApps of root.etl" in told(fair)["starts in a queue"][1]
    assert "maxAMShare of root.etl" in told(replace(fair, most_running=None, master_mib=256.0))["starts in a queue"][1]


@pytest.mark.parametrize(
    "queue",
    [
        replace(QUEUE, ended=two_at_once(30), masters=ResourceVector(512, 1), master_mib=100.0),
        replace(QUEUE, ended=[ended(20.0 * number, 20.0, waited_s=2.0) for number in range(30)]),
        replace(QUEUE, ended=[*two_at_once(30), *(ended(1000.0, 5.0) for _ in range(9))]),
    ],
    ids=["masters of that size have room", "a heartbeat each", "more have run at once"],
)
def test_starts_cost_nothing_where_no_number_keeps_them_waiting(queue):
    assert "starts in a queue" not in told(queue)
