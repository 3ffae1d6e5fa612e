import math

import numpy as np
import pytest

from shim.scheduling.durations import DurationModel
from shim.scheduling.policy import (
    estimated_work,
    fewest_unfinished,
    first_come,
    learnt_work,
    least_share,
)
from shim.scheduling.snapshot import Column, JobTable, Snapshot, expect_durations


def a_table(*jobs):
    table = JobTable()
    for job in jobs:
        row = table.add()
        for column, value in job.items():
            table.put(column, row, value)
        table.set_waiting(row, is_waiting=True)
    return table


def keys_of(kernel, table, now_s=0.0):
    rows = table.waiting_rows()
    return kernel(Snapshot.of_jobs(table, rows, now_s), rows).tolist()


def test_kernels_see_what_the_table_holds():
    table = a_table(
        {Column.TASKS: 9, Column.WAITING: 4, Column.FINISHED: 3, Column.ESTIMATE_S: 2.0, Column.ARRIVED_S: 5.0},
        {Column.TASKS: 2, Column.WAITING: 2, Column.ESTIMATE_S: 7.0, Column.ARRIVED_S: 6.0},
    )
    assert keys_of(first_come, table) == [5.0, 6.0]
    assert keys_of(fewest_unfinished, table) == [6.0, 2.0]
    assert keys_of(estimated_work, table) == [8.0, 14.0]


def learnt_keys_of(table, durations, now_s, horizon_s=math.inf):
    expect_durations(table, durations, now_s, horizon_s=horizon_s)
    return keys_of(learnt_work, table, now_s)


def some_durations():
    durations = DurationModel()
    for duration_s in (1.0, 10.0, 100.0):
        durations.observe(duration_s)
    return durations


def test_learnt_work_grows_while_nothing_ends_and_stays_when_enough_is_known():
    running = {Column.TASKS: 10, Column.WAITING: 5, Column.RUNNING: 5, Column.STARTED_S: 0.0}
    known = {Column.TASKS: 10, Column.WAITING: 5, Column.FINISHED: 5, Column.FINISHED_S: 15.0}
    table = a_table(running, known)
    early, late = (learnt_keys_of(table, some_durations(), now_s) for now_s in (1.0, 50.0))
    assert late[0] > early[0]
    assert late[1] == early[1] == 15.0


def test_a_job_that_has_not_begun_is_tried_before_the_rest_of_one_that_has():
    durations = some_durations()
    table = a_table({Column.TASKS: 10, Column.WAITING: 10}, {Column.TASKS: 10, Column.WAITING: 9, Column.RUNNING: 1})
    untried, begun = learnt_keys_of(table, durations, 1.0)
    assert untried == durations.trial_work(np.array([10.0]))[0] < begun


def test_in_a_short_queue_what_counts_is_how_many_slots_a_job_wants():
    done = {Column.TASKS: 99, Column.FINISHED: 5}
    few_long, many_short = (
        {Column.WAITING: 3, Column.FINISHED_S: 500.0},
        {Column.WAITING: 20, Column.FINISHED_S: 25.0},
    )
    table = a_table(done | few_long, done | many_short)
    keys = {horizon_s: learnt_keys_of(table, some_durations(), 1.0, horizon_s) for horizon_s in (2.0, 50.0, math.inf)}
    assert keys == {2.0: [6.0, 40.0], 50.0: [150.0, 100.0], math.inf: [300.0, 100.0]}
    assert [table.get(Column.EXPECTED_S, row) for row in range(2)] == [100.0, 5.0], "none of that is what is expected"


def test_an_expectation_holds_until_tasks_have_run_a_while_longer():
    durations = some_durations()
    table = a_table({Column.TASKS: 2, Column.WAITING: 1, Column.RUNNING: 1, Column.STARTED_S: 0.0})
    at_100_s, at_101_s, at_110_s = (learnt_keys_of(table, durations, now_s) for now_s in (100.0, 101.0, 110.0))
    assert at_100_s == at_101_s < at_110_s


@pytest.mark.parametrize("kernel", [first_come, fewest_unfinished, estimated_work, learnt_work, least_share])
def test_no_jobs_have_no_keys(kernel):
    assert keys_of(kernel, JobTable()) == []
