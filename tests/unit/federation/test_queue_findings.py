"""What queues' settings cost, by histories whose cost is known."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shim.domain.resources import ResourceVector
from shim.federation.queue_findings import (
    EndedApplication,
    QueueFacts,
    is_notable,
    order_cost_s,
    queue_findings,
    start_cost,
)
from tests.support.examples import examples

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


def parts_alike(work):
    """The mean from arrival to end where all that are there have the same speed: a slow twin, turn by turn."""
    waiting, left, took, now = sorted(work), {}, [], Fraction(0)
    while waiting or left:
        if not left:
            now = max(now, Fraction(waiting[0][0]))
        while waiting and waiting[0][0] <= now:
            arrived_s, alone_s = waiting.pop(0)
            left[len(waiting), arrived_s] = Fraction(alone_s)
        step = min(left.values()) * len(left)
        if waiting:
            step = min(step, waiting[0][0] - now)
        speed, now = Fraction(1, len(left)), now + step
        left = {key: rest - step * speed for key, rest in left.items()}
        took += [now - key[1] for key, rest in left.items() if rest == 0]
        left = {key: rest for key, rest in left.items() if rest > 0}
    return float(sum(took) / len(took))


def by_arrival(work):
    """The same where who came first has all: those that came before, what they left, then one's own."""
    free, took = 0, []
    for arrived_s, alone_s in sorted(work):
        free = max(free, arrived_s) + alone_s
        took.append(free - arrived_s)
    return sum(took) / len(took)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9)), min_size=1, max_size=8))
@settings(max_examples=examples(100))
def test_the_cost_of_an_order_is_that_of_its_slow_twin(work):
    history = [EndedApplication(arrived_s, arrived_s, arrived_s + 1.0, alone_s * MIB) for arrived_s, alone_s in work]
    assert order_cost_s(history, MIB) == pytest.approx(by_arrival(work) - parts_alike(work))


def starts_alike(ended):
    """The slow twin of `start_cost`, half a second at a time; all times are whole seconds."""
    most = waited = seen = 0
    for half in range(200):
        at = half / 2 + 0.25
        running = sum(each.launched_s < at < each.ended_s for each in ended)
        waits = any(each.arrived_s + 3 < at < each.launched_s for each in ended)
        most, waited, seen = max(most, running), waited + waits, seen + running * waits
    if not waited or seen / waited < 0.96 * most:
        return 0.0, 0
    return sum(each.launched_s - each.arrived_s for each in ended) / len(ended), most


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(1, 30)), min_size=1, max_size=4),
    st.integers(0, 2),
)
@settings(max_examples=examples(200))
def test_the_cost_of_starts_is_that_of_its_slow_twin(times, alike):
    history = [EndedApplication(a, a + wait, a + wait + run, MIB) for a, wait, run in times]
    history += [EndedApplication(0, 20 * turn, 20 * turn + 20, MIB) for turn in range(alike + 1)]
    assert start_cost(history) == pytest.approx(starts_alike(history))


@pytest.mark.parametrize(
    ("cost_s", "took_s", "is_told"),
    [(1.0, 10.0, True), (0.99, 1.0, False), (1.0, 10.1, False), (10.0, 100.0, True), (9.9, 100.0, False)],
)
def test_a_cost_of_a_second_and_a_tenth_of_what_it_took_is_worth_a_line(cost_s, took_s, is_told):
    assert is_notable(cost_s, took_s) is is_told


@pytest.mark.parametrize(
    ("most_running", "master_mib", "masters_mib", "has_room"),
    [
        (None, 100.0, 251, True),  # two hold 200, of which 0.8 is 200.8
        (None, 100.0, 250, False),
        (None, 0.0, 250, False),
        (None, 100.0, 0, False),
        (3, 100.0, 1000, True),
        (2, 100.0, 1000, False),
        (1, 100.0, 1000, False),
    ],
)
def test_more_masters_have_room_if_neither_their_memory_nor_their_number_is_used_up(
    most_running, master_mib, masters_mib, has_room
):
    queue = replace(QUEUE, most_running=most_running, master_mib=master_mib, masters=ResourceVector(masters_mib, 1))
    assert queue.has_room_for_masters(2) is has_room


def test_twenty_that_ended_are_enough_and_what_took_no_time_is_none_of_them():
    odd = replace(GIANT_FIRST[0], ended_s=GIANT_FIRST[0].arrived_s)
    assert "its last 20," in told(replace(QUEUE, ended=[*GIANT_FIRST[:20], odd]))["order of a queue"][0]


def test_an_order_costs_no_more_than_applications_took():
    quick = [replace(each, ended_s=each.arrived_s + 2.0) for each in GIANT_FIRST]
    message, _ = told(replace(QUEUE, ended=quick))["order of a queue"]
    assert "which took 2 s in the mean, that costs about 2 s of each" in message


def test_the_advice_names_what_masters_may_hold_where_that_is_told():
    for scheduler in ("capacityScheduler", "fairScheduler"):
        queue = replace(QUEUE, scheduler=scheduler, ended=two_at_once(30))
        assert "at present" not in told(queue)["starts in a queue"][1]
        assert "(at present 1 MiB)" in told(replace(queue, masters=ResourceVector(1, 1)))["starts in a queue"][1]
    assert (
        "max-parallel-apps" not in told(replace(QUEUE, ended=two_at_once(30), most_running=3))["starts in a queue"][1]
    )


def test_starts_that_cost_a_small_part_of_what_applications_take_are_not_told():
    history = [ended(0.0, 2000.0, waited_s=0.0), ended(0.0, 2000.0, waited_s=100.0)] * 15
    assert start_cost(history) == (0.0, 0), "all run at once in the end"
    brief = [ended(1000.0 * turn, 1000.0, waited_s=10.0 if turn else 0.0, took_s=1010.0) for turn in range(30)]
    cost_s, limit = start_cost(brief)
    assert (round(cost_s), limit) == (10, 1)
    assert "starts in a queue" not in told(replace(QUEUE, ended=brief, is_fair=True)), "a hundredth of what they take"


def test_a_queue_of_a_single_mebibyte_costs_what_its_work_says():
    history = [EndedApplication(0.0, 0.0, 1.0, 1), EndedApplication(0.0, 0.0, 1.0, 3)]
    assert order_cost_s(history, 1) == pytest.approx((1 + 4) / 2 - (2 + 4) / 2)


@pytest.mark.parametrize("waits_s", [0, 2, 3, 4, 5])
@pytest.mark.parametrize("second", [(0, 0, 1), (0, 4, 1), (0, 7, 3), (2, 5, 9), (4, 3, 20), (10, 0, 5)])
@pytest.mark.parametrize("third", [(0, 4, 8), (1, 9, 2), (8, 0, 1), (20, 6, 1)])
def test_the_cost_of_starts_is_that_of_its_slow_twin_whoever_waits_first(waits_s, second, third):
    for run_s in (1, 4, 20):
        times = [(0, waits_s, run_s), second, third]
        history = [EndedApplication(a, a + wait, a + wait + run, MIB) for a, wait, run in times]
        assert start_cost(history) == pytest.approx(starts_alike(history)), times
        history += [EndedApplication(0, 20 * turn, 20 * turn + 20, MIB) for turn in range(3)]
        assert start_cost(history) == pytest.approx(starts_alike(history)), times


@pytest.mark.parametrize(("beside", "is_limit"), [(22, False), (23, False), (24, True), (25, True)])
def test_a_limit_is_what_nearly_as_many_run_at_as_ever_ran(beside, is_limit):
    """25 ran once, for a second; while one waits, `beside` run."""
    once = [EndedApplication(100.0, 100.0, 101.0, MIB)] * 25
    waits = [EndedApplication(0.0, 0.0, 20.0, MIB)] * beside + [EndedApplication(3.0, 16.0, 17.0, MIB)]
    assert start_cost(once + waits) == (
        (pytest.approx(13.0 / (26 + beside)), max(25, beside + 1)) if is_limit else (0.0, 0)
    )
