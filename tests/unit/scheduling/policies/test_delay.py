"""Delay scheduling: its formulas to the digit, its waits, and its cycles against the published loop."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shim.scheduling.locality import longest_wait_s
from shim.scheduling.plan import ReasonCode
from shim.scheduling.policies.delay import DELAY, DelayRules, delay_scheduling
from tests.support.cycle_scenes import CycleScene
from tests.support.examples import examples


def by_skips(node, rack=0):
    return delay_scheduling(DelayRules(math.inf, math.inf, node, rack))


def test_the_longest_wait_has_the_published_digits():
    assert longest_wait_s(23.105, 1.0, 800) == pytest.approx(0.0289, abs=5e-5)


@pytest.mark.parametrize(("skips", "ends_at"), [(2, 2), (3, 3)])
def test_a_job_is_passed_by_so_often_and_then_starts_where_it_is(skips, ends_at):
    scene = CycleScene([[0]] * 4)
    first = scene.ask(1, nodes=[(3, 1)])
    second = scene.ask(9, nodes=[(node, 9) for node in range(4)], arrived_s=1.0)
    started = []
    for node in range(4):
        scene.free[:] = 0
        scene.free[node] = 1
        started += scene.carry_out(by_skips(skips), float(node))
    expected = [(first if node == ends_at else second, node, 1) for node in range(4)]
    assert started == expected


def test_a_start_at_the_data_sets_a_job_back_to_waiting():
    scene = CycleScene([[1]] + [[0]] * 3)
    request = scene.ask(5, nodes=[(3, 5)])
    assert scene.carry_out(by_skips(0)) == [(request, 0, 1)]
    scene.free[3] = 1
    assert scene.carry_out(by_skips(2)) == [(request, 3, 1)]
    scene.free[1] = 1
    assert scene.carry_out(by_skips(2)) == []
    assert scene.carry_out(by_skips(2)) == []
    assert scene.carry_out(by_skips(2)) == [(request, 1, 1)]


def test_after_a_far_start_nothing_waits_anew():
    scene = CycleScene([[1]] + [[0]] * 3)
    request = scene.ask(5, nodes=[(3, 5)])
    assert scene.carry_out(by_skips(0)) == [(request, 0, 1)]
    scene.free[1] = 1
    assert scene.carry_out(by_skips(9)) == [(request, 1, 1)]


def test_first_the_node_then_the_rack_then_anywhere_by_seconds():
    scene = CycleScene([[0], [1], [1]], racks=[0, 0, 1])
    request = scene.ask(2, nodes=[(0, 2)], racks=[(0, 2)])
    held = scene.decide(DELAY, 10.0)
    assert not held.grants
    assert [(hold.count, hold.until_s, hold.reason.code) for hold in held.holds] == [
        (2, 15.0, ReasonCode.WAITS_FOR_PLACE)
    ]
    assert "10.0 s more at most" in held.holds[0].reason.text
    assert scene.carry_out(DELAY, 14.9) == []
    assert scene.carry_out(DELAY, 15.0) == [(request, 1, 1)]
    assert scene.carry_out(DELAY, 19.9) == []
    assert scene.carry_out(DELAY, 20.1) == [(request, 2, 1)]


def test_nobody_waits_who_names_no_place_and_short_tasks_wait_half_of_their_time():
    scene = CycleScene([[0], [1]])
    short = scene.ask(1, nodes=[(0, 1)], expected_s=4.0)
    assert scene.carry_out(DELAY, 0.0) == []
    assert scene.carry_out(DELAY, 1.9) == []
    assert scene.carry_out(DELAY, 2.0) == [(short, 1, 1)]
    scene.free[1] = 1
    anywhere = scene.ask(1)
    assert scene.carry_out(DELAY, 3.0) == [(anywhere, 1, 1)]


def test_a_strict_request_never_starts_elsewhere():
    scene = CycleScene([[0], [4]])
    scene.ask(1, nodes=[(0, 1)], strict=True)
    assert scene.carry_out(DELAY, 0.0) == []
    assert scene.carry_out(DELAY, 1e6) == []


def test_a_later_request_in_the_same_row_waits_by_itself():
    scene = CycleScene([[0], [1]])
    row = scene.ask(1, nodes=[(0, 1)])
    scene.decide(DELAY, 0.0)
    scene.requests.remove(row)
    again = scene.ask(1, nodes=[(0, 1)], arrived_s=9.0)
    assert again == row
    assert scene.carry_out(DELAY, 11.0) == []


def published_loop(asks, offers, skips):
    """Algorithm 2 of the paper, one slot after another, without racks; job after job in fixed order."""
    left = [count for count, _ in asks]
    passed, is_free = [0] * len(asks), [False] * len(asks)
    started = []
    for node in offers:
        for job, (_, hosts) in enumerate(asks):
            if not left[job]:
                continue
            is_local = node in hosts
            if is_local or is_free[job] or passed[job] >= skips:
                left[job] -= 1
                passed[job], is_free[job] = 0, not is_local
                started.append((job, node))
                break
            passed[job] += 1
    return started


@settings(max_examples=examples(150), deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 4), st.sets(st.integers(0, 4), min_size=1)), min_size=1, max_size=4),
    st.lists(st.integers(0, 4), max_size=16),
    st.integers(0, 4),
)
def test_one_slot_after_another_it_does_what_the_published_loop_does(asks, offers, skips):
    scene = CycleScene([[0]] * 5)
    rows = [
        scene.ask(count, nodes=[(node, 9) for node in sorted(hosts)], arrived_s=float(position))
        for position, (count, hosts) in enumerate(asks)
    ]
    started = []
    for step, node in enumerate(offers):
        scene.free[:] = 0
        scene.free[node] = 1
        started += [(rows.index(row), place) for row, place, _ in scene.carry_out(by_skips(skips), float(step))]
    assert started == published_loop(asks, offers, skips)
