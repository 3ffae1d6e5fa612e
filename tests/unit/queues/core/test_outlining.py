"""Graphs as policies read them, from what was seen of a job's stages."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.ids import ApplicationAttemptId, ApplicationId
from shim.domain.job_graphs import JobGraph, Stage, StagesOfJob
from shim.domain.resources import ResourceVector
from shim.queues.core.job_watch import JobRun, StageRun, StageSeen
from shim.queues.core.outlining import former_stages, outlined
from shim.scheduling.former_runs import FormerStage

JOB = ApplicationAttemptId(ApplicationId(1, 1), 1)
SEEN = StageSeen(
    waiting=0, running_since_s=(), ended=0, seconds=None, times_from="", n_times=0, size=ResourceVector(1024, 2)
)
# a join whose position is before that of what it waits for, as engines may number them
JOIN = StagesOfJob(
    JobGraph.of("join", (Stage("join", 1, 0, 0, (1, 2), (1, 2)), Stage("left", 4, 0, 0), Stage("right", 2, 0, 0))),
    {10: 0, 20: 1, 30: 2},
)


def test_parents_come_first_and_asks_find_their_stages():
    seen = (replace(SEEN, tasks=1), replace(SEEN, tasks=4, ended=3), replace(SEEN, tasks=2, ended=5))
    found = outlined(JOIN, seen)
    assert [(stage.n_tasks, stage.parents) for stage in found.stages] == [(4, ()), (2, ()), (1, (0, 1))]
    assert found.finished == (3, 2, 0), "attempts beside those that ended are none of the stage's tasks"
    assert found.by_priority == {10: 2, 20: 0, 30: 1}
    assert {stage.demand for stage in found.stages} == {(1024, 2)}


@pytest.mark.parametrize(
    ("waiting", "running", "ended", "tasks"), [(3, 2, 1, 6), (None, 0, 0, 1), (0, 0, 0, 1), (None, 2, 0, 2)]
)
def test_a_stage_of_which_its_engine_has_not_decided_has_the_tasks_that_were_heard_of(waiting, running, ended, tasks):
    seen = replace(SEEN, waiting=waiting, running_since_s=(0.0,) * running, ended=ended)
    one = StagesOfJob(JobGraph.of("one", (Stage("map", None, 0, 0),)), {20: 0})
    assert [stage.n_tasks for stage in outlined(one, (seen,)).stages] == [tasks]


def test_times_that_are_not_known_are_taken_to_be_as_the_others():
    seen = (replace(SEEN, tasks=1), replace(SEEN, tasks=4, seconds=8.0), replace(SEEN, tasks=2, seconds=24.0))
    found, nothing = outlined(JOIN, seen), outlined(JOIN, (SEEN,) * 3)
    assert [stage.expected_s for stage in found.stages] == pytest.approx([8.0, 2**4.5, 16.0])
    assert {stage.expected_s for stage in nothing.stages} == {1.0}
    assert (found.has_times, nothing.has_times) == (True, False)


def test_a_run_is_kept_with_the_parents_first_and_the_longest_of_many_times():
    many = tuple(float(number) for number in range(1, 101))
    runs = (StageRun((7.0,), 1, 3.0, 50.0, 57.0), StageRun(many, 100, 9.0, 0.0, 40.0), StageRun((2.0,) * 2, 2, 0, 0, 2))
    join, left, right = (former_stages(JobRun(JOB, JOIN, runs))[at] for at in (2, 0, 1))
    assert join == FormerStage((7.0,), 1, (0, 1), 3.0, 50.0, 57.0)
    assert (len(left.durations_s), left.longest_s, left.n_tasks, right.parents) == (32, 100.0, 100, ())
    assert left.work_s == pytest.approx(sum(many), rel=0.05)


@given(st.floats(1e-3, 1e6), st.floats(0.9, 1.1))
def test_a_time_is_rounded_by_a_fifth_at_most_so_that_small_changes_make_no_new_plan(seconds, factor):
    one = StagesOfJob(JobGraph.of("one", (Stage("map", 1, 0, 0),)), {20: 0})
    first, second = (
        outlined(one, (replace(SEEN, tasks=1, seconds=each),)).stages[0].expected_s
        for each in (seconds, seconds * factor)
    )
    assert first / 1.2 <= seconds <= first * 1.2 or seconds * factor < 1e-3
    assert max(first, second) / min(first, second) < 1.5


def test_asks_for_executors_are_of_no_stage():
    assert outlined(replace(JOIN, slots=2), (SEEN,) * 3) is None
