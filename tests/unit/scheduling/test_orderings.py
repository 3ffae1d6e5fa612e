import numpy as np
import pytest

from shim.scheduling.durations import DurationModel
from shim.scheduling.job_table import Column, JobTable, backlog_horizon_s, expect_durations
from shim.scheduling.orderings import (
    estimated_work,
    fewest_unfinished,
    first_come,
    learnt_work,
    least_share,
    pressing_work,
)
from shim.scheduling.snapshot import Snapshot


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


def learnt_keys_of(table, durations, now_s):
    expect_durations(table, durations, now_s)
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


def test_an_expectation_holds_until_tasks_have_run_a_while_longer():
    durations = some_durations()
    table = a_table({Column.TASKS: 2, Column.WAITING: 1, Column.RUNNING: 1, Column.STARTED_S: 0.0})
    at_100_s, at_101_s, at_110_s = (learnt_keys_of(table, durations, now_s) for now_s in (100.0, 101.0, 110.0))
    assert at_100_s == at_101_s < at_110_s


def pressing_keys_of(table, durations, now_s):
    expect_durations(table, durations, now_s, horizon_s=backlog_horizon_s(table.all_columns))
    return keys_of(pressing_work, table, now_s)


def a_job(waiting, task_s, running=0.0):
    finished = {Column.FINISHED: 5, Column.FINISHED_S: 5 * task_s, Column.EXPECTED_S: task_s}
    return {Column.TASKS: waiting + 5, Column.WAITING: waiting, Column.RUNNING: running, **finished}


def test_in_a_short_backlog_tasks_count_alike_and_in_a_long_one_by_how_long_they_run():
    few_long, many_short = a_job(10, 100.0), a_job(50, 10.0)
    busy = a_table(few_long, many_short, {Column.RUNNING: 1000.0, **a_job(1, 1.0, 1000.0)})
    scarce = a_table(few_long, many_short, {Column.RUNNING: 10.0, **a_job(1, 1.0, 10.0)})
    keys = pressing_keys_of(busy, some_durations(), 0.0)
    assert keys[0] < keys[1]  # fewest tasks: 10 of them before 50
    assert keys[1] == pytest.approx(50 * 10.0)
    assert keys[0] < 10 * 100.0
    assert pressing_keys_of(scarce, some_durations(), 0.0)[:2] == [1000.0, 500.0]  # least work


def test_a_trial_counts_no_task_for_longer_than_the_backlog_lasts():
    durations = some_durations()
    for n_tasks in (1.0, 10.0, 1000.0):
        tasks = np.array([n_tasks])
        assert durations.trial_work(tasks, 2.0)[0] <= n_tasks * 2.0
        assert durations.trial_work(tasks, 2.0)[0] < durations.trial_work(tasks)[0]
        assert durations.trial_work(tasks, 1e9)[0] == durations.trial_work(tasks)[0]


@pytest.mark.parametrize(
    "kernel", [first_come, fewest_unfinished, estimated_work, learnt_work, least_share, pressing_work]
)
def test_no_jobs_have_no_keys(kernel):
    assert keys_of(kernel, JobTable()) == []
