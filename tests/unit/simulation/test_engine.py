"""The engine: order, time, stopping, and refusals."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.errors import InvariantViolationError
from shim.simulation.engine import Engine, seeded


@given(st.lists(st.integers(0, 5), max_size=40))
def test_actions_run_by_time_and_then_by_the_order_of_putting(times):
    engine = Engine()
    ran = []
    for number, at_s in enumerate(times):
        engine.at(float(at_s), ran.append, (at_s, number))
    engine.run()
    assert ran == sorted(ran)
    assert engine.actions_run == len(times)
    assert len(engine) == 0


def test_an_action_may_put_another_one_at_the_same_instant():
    engine = Engine(start_s=3.0)
    ran = []
    engine.at(3.0, lambda: (ran.append("first"), engine.after(0.0, ran.append, "child")))
    engine.at(3.0, ran.append, "second")
    engine.run()
    assert ran == ["first", "second", "child"]
    assert engine.now_s == 3.0


@pytest.mark.parametrize("at_s", [0.9, -1.0, math.nan])
def test_the_past_is_refused(at_s):
    engine = Engine(start_s=1.0)
    with pytest.raises(InvariantViolationError, match="put at"):
        engine.at(at_s, print)


@pytest.mark.parametrize("delay_s", [-1e-9, math.nan])
def test_a_negative_delay_is_refused(delay_s):
    with pytest.raises(InvariantViolationError, match="zero or more"):
        Engine().after(delay_s, print)


def test_a_run_ends_at_its_limit_and_can_go_on():
    engine = Engine()
    ran = []
    for at_s in (1.0, 2.0, 3.0):
        engine.at(at_s, ran.append, at_s)
    engine.run(until_s=2.5)
    assert (ran, engine.now_s, len(engine)) == ([1.0, 2.0], 2.5, 1)
    engine.run()
    assert (ran, engine.now_s) == ([1.0, 2.0, 3.0], 3.0)


def test_stop_ends_a_run_after_the_present_action():
    engine = Engine()
    ran = []
    engine.at(1.0, lambda: (engine.stop(), ran.append("stopped")))
    engine.at(2.0, ran.append, "later")
    engine.run()
    assert ran == ["stopped"]


def test_each_purpose_has_a_random_source_of_its_own():
    assert seeded(1, "network").random() == seeded(1, "network").random()
    assert seeded(1, "network").random() != seeded(1, "probes").random()
    assert seeded(1, "network").random() != seeded(2, "network").random()
