"""Containers that are not asked for: of a stage, or executors of which a plan needs fewer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from altruism import JobPlan, PlannedJob, Progress, StageGraph
from altruism.packing import Packing
from shim.domain.allocations import AskKey
from shim.domain.job_graphs import JobGraph, Stage, StagesOfJob
from shim.domain.resources import ResourceVector
from shim.queues.core.held_back import by_stage, given_part, held_ahead, held_back, held_part

UNIT = ResourceVector(1024, 1)


def key(priority):
    return AskKey(priority, -1, is_opportunistic=False, resource=UNIT)


def planned(waiting, running=(), needs=None):
    """A job of stages with so many tasks that wait, and that run."""
    n_stages = len(waiting)
    running = [*running, *[0] * (n_stages - len(running))]
    edges = np.zeros((n_stages, n_stages), dtype=np.bool_) if needs is None else np.array(needs, dtype=np.bool_)
    tasks = [waits + runs for waits, runs in zip(waiting, running, strict=True)]
    graph = StageGraph.of(edges, tasks, [[0.01, 0.01]] * n_stages, [1.0] * n_stages)
    rows = [(stage, count) for stage, count in enumerate(running) if count]
    progress = Progress.of(waiting, [stage for stage, _ in rows], [count for _, count in rows], [1.0] * len(rows))
    return PlannedJob(graph, progress, JobPlan(0.0, 1.0, Packing.of(1.0, [])))


def stages(n_stages, slots=0):
    made = [Stage(f"s{number}", None, 1, 1) for number in range(n_stages)]
    return StagesOfJob(JobGraph.of("job", made), {number + 1: number for number in range(n_stages)}, slots=slots)


def test_attempts_beside_those_that_run_go_out():
    """All tasks of the stage run or have ended: the one ask is a speculative attempt's, and no plan knows it."""
    assert held_back(stages(1), {key(1): 1}, 0, planned([0], [1]), [0]) == {}
    assert held_back(stages(1), {key(1): 5}, 0, planned([4], [1]), [3]) == {key(1): 3}


def test_of_fewer_asks_than_tasks_only_what_is_more_than_may_start_waits():
    assert held_back(stages(1), {key(1): 10}, 0, planned([20]), [12]) == {key(1): 2}


CHAIN = [[False, False], [True, False]]


def test_what_a_stage_will_ask_for_waits_before_it_asks():
    """Its containers would be granted before the next look."""
    size = ResourceVector(512, 2)
    ahead = held_ahead(stages(2), key(1), [UNIT, size], {key(1): 3}, planned([3, 5], needs=CHAIN), [1, 4])
    assert ahead == {AskKey(2, -1, is_opportunistic=False, resource=size): 4}


@pytest.mark.parametrize(
    ("form", "asks", "waiting", "off", "slots"),
    [
        (None, {}, [3, 5], [0, 4], 0),  # what its asks look like is not known
        (key(1), {key(2): 5}, [3, 5], [0, 4], 0),  # it asks: `held_back` has it
        (key(1), {}, [0, 5], [0, 4], 0),  # it could begin now: it is not about to ask
        (key(1), {}, [3, 5], [2, 0], 0),  # nothing of it is put off
        (key(1), {}, [3, 5], [0, 4], 2),  # executors are of no stage
    ],
)
def test_nothing_else_waits_before_it_is_asked_for(form, asks, waiting, off, slots):
    assert held_ahead(stages(2, slots=slots), form, [UNIT, UNIT], asks, planned(waiting, needs=CHAIN), off) == {}


def test_tasks_that_failed_before_do_not_wait_ahead_either():
    of_both = StagesOfJob(stages(2).graph, {1: 0, 2: 1, 3: 1}, frozenset({3}))
    ahead = held_ahead(of_both, key(1), [UNIT, UNIT], {}, planned([3, 5], needs=CHAIN), [0, 4])
    assert ahead == {key(2): 4}


@pytest.mark.parametrize(
    ("asked", "has", "waiting", "running", "off", "held"),
    [
        (5, 1, 10, 2, 8, 4),  # 2 run and 2 start: two executors of two tasks; one is there
        (5, 1, 10, 2, 0, 0),
        (5, 4, 10, 2, 8, 2),  # six would do for all of nine: three of those asked for are idle by any plan
        (3, 9, 0, 2, 0, 0),
        (1, 1, 2, 2, 2, 1),
    ],
)
def test_executors_beyond_what_the_plan_needs_now_wait(asked, has, waiting, running, off, held):
    found = held_back(stages(1, slots=2), {key(0): asked}, has, planned([waiting], [running]), [off])
    assert sum(found.values()) == held


def test_stages_that_cannot_begin_ask_for_no_executors():
    job = planned([4, 100], needs=[[False, False], [True, False]])
    assert held_back(stages(2, slots=1), {key(0): 4}, 0, job, [2, 100]) == {key(0): 2}
    assert by_stage(stages(2, slots=1), {key(0): 2}, job, [2, 100]) == {0: 2}, "shown as of the stage that could begin"


@given(
    asked=st.integers(0, 20),
    has=st.integers(0, 20),
    waiting=st.integers(0, 30),
    running=st.integers(0, 30),
    slots=st.integers(0, 4),
    data=st.data(),
)
def test_nothing_waits_that_is_not_put_off_and_never_more_than_is_asked_for(asked, has, waiting, running, slots, data):
    off = data.draw(st.integers(0, waiting))
    job, of = planned([waiting], [running]), stages(1, slots=slots)
    asks = {key(1): asked}
    found = held_back(of, asks, has, job, [off])
    assert 0 <= sum(found.values()) <= min(asked, off)
    assert held_back(of, asks, has, job, [0]) == {}


def test_what_executors_hold_and_leave_is_counted_by_executors():
    job, of = planned([10], [2]), stages(1, slots=2)
    has = held_part(of, 3, job)
    assert has == pytest.approx([0.06, 0.06])
    assert given_part(of, {key(0): 5}, {key(0): 4}, job, np.array([0.2, 0.2]), has) == pytest.approx(0.08)
    assert given_part(of, {key(0): 5}, {key(0): 4}, job, np.array([0.1, 0.1]), has) == pytest.approx(0.02)
