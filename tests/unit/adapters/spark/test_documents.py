"""What a driver tells of its stages: which job runs, which stages wait for which, and when that is not known."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.spark.documents import ExecutorRow, JobRow, StageRow, decoded, spark_stages, stages_now
from shim.domain.job_graphs import TaskCounts
from shim.errors import MalformedJobGraphError

JOB = JobRow(2, (4, 5, 6, 7))
LOGGED = spark_stages(
    2, [(4, "scan", 8), (5, "scan", 4), (6, "join", 4), (7, "write", 1)], {6: [4, 5], 7: [6]}, 0, "log"
)


def row(stage, status, tasks=8, active=0, done=0, **more):
    return StageRow(stage, status, tasks, active, done, **more)


def test_by_the_event_log_several_stages_may_run_and_those_that_are_not_told_of_are_over():
    rows = [row(5, "ACTIVE", 4, 2, 1, name="scan"), row(6, "PENDING", 4), row(7, "PENDING", 1)]
    now = stages_now([JOB], rows, 2, LOGGED)
    assert now.stages == replace(LOGGED, slots=2)
    assert [stage.name for stage in now.stages.graph.stages] == ["scan", "scan (2)", "join", "write"]
    assert now.stages.graph.stages[2].waits_for == (0, 1)
    assert now.counts == (TaskCounts(8, 0, 8), TaskCounts(4, 2, 1), TaskCounts(4, 0, 0), TaskCounts(1, 0, 0))
    assert stages_now([JOB], rows, 2, now.stages).stages is now.stages, "nothing has changed"


def test_without_an_event_log_a_job_is_known_while_one_stage_runs_for_which_all_others_wait():
    rows = [row(4, "ACTIVE", 8, 3, 2, name="scan"), row(6, "PENDING", 4, name="join"), row(7, "PENDING", 1, name="out")]
    first = stages_now([JobRow(2, (4, 6, 7))], rows, 1, None)
    assert [(stage.name, stage.waits_for) for stage in first.stages.graph.stages] == [
        ("scan", ()),
        ("join", (0,)),
        ("out", (1,)),
    ]
    later = [row(6, "ACTIVE", 4, 4, name="join"), row(7, "PENDING", 1, name="out")]
    second = stages_now([JobRow(2, (4, 6, 7))], later, 1, first.stages)
    assert second.stages is first.stages, "a stage that is over keeps its name and place"
    assert second.counts[0] == TaskCounts(8, 0, 8)


@pytest.mark.parametrize(
    ("jobs", "rows", "reason"),
    [
        ([], [], "no job"),
        ([JOB, JobRow(3, (8,))], [], "several jobs"),
        ([JOB], [row(4, "ACTIVE"), row(5, "ACTIVE"), row(6, "PENDING")], "wait for which"),
        ([JOB], [row(6, "PENDING")], "none of its stages runs"),
        ([JOB], [row(4, "ACTIVE", resourceProfileId=1)], "several sizes"),
    ],
    ids=["idle", "threads", "no edges", "between stages", "profiles"],
)
def test_what_cannot_be_known_is_said(jobs, rows, reason):
    assert reason in stages_now(jobs, rows, 1, None)


def test_the_log_of_another_job_tells_nothing_of_this_one():
    assert "wait for which" in stages_now([replace_job(3)], [row(4, "ACTIVE"), row(5, "ACTIVE")], 1, LOGGED)


def replace_job(number):
    return JobRow(number, JOB.stageIds)


def test_of_a_stage_that_is_run_again_the_newest_attempt_counts():
    rows = [row(4, "ACTIVE", 8, 1, 7), row(4, "ACTIVE", 2, 1, 0, attemptId=1)]
    assert stages_now([JobRow(0, (4,))], rows, 1, None).counts == (TaskCounts(2, 1, 0),)


def test_more_tasks_at_once_than_are_followed_are_refused():
    with pytest.raises(MalformedJobGraphError, match="at once"):
        stages_now([JOB], [row(4, "ACTIVE", 100_000, 20_001)], 1, None)


@pytest.mark.parametrize("tasks", [-1, 1_000_001, 10**18])
def test_no_stage_has_more_tasks_than_any_plan(tasks):
    with pytest.raises(MalformedJobGraphError, match="tasks"):
        stages_now([JOB], [row(6, "ACTIVE", tasks)], 1, LOGGED)


@pytest.mark.parametrize(
    ("rows", "parents", "message"),
    [
        ([(1, "a", 1), (1, "b", 1)], {}, "named twice"),
        ([(1, "a", 1)], {1: [2]}, "no job"),
        ([(1, "a", -1)], {}, "tasks"),
        ([(number, "a", 1) for number in range(1_001)], {}, "1000 stages"),
        ([(1, "a", 1), (2, "b", 1)], {1: [2], 2: [1]}, "cycle"),
    ],
    ids=["twice", "nowhere", "below zero", "too many", "cycle"],
)
def test_what_is_no_graph_is_refused(rows, parents, message):
    with pytest.raises(MalformedJobGraphError, match=message):
        spark_stages(1, rows, parents, 1, "here")


@given(st.binary(max_size=60) | st.just(b"[" * 100_000))
def test_any_bytes_are_a_document_or_refused(body):
    for kind in (tuple[JobRow, ...], tuple[StageRow, ...], tuple[ExecutorRow, ...]):
        try:
            decoded(body, kind)
        except MalformedJobGraphError:
            continue


def test_the_driver_is_no_executor():
    told = decoded(b'[{"id":"driver","maxTasks":8},{"id":"1","maxTasks":2,"totalCores":2}]', tuple[ExecutorRow, ...])
    assert [each.slots for each in told] == [0, 2]
