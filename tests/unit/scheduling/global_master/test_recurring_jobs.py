"""What applications that are alike have taught."""

from dataclasses import replace

import numpy as np
import pytest

from shim.domain.deadlines import WorkLeft
from shim.scheduling.durations import DurationModel
from shim.scheduling.global_master.recurring_jobs import (
    FormerRun,
    FormerRuns,
    RecurringJobModels,
    recurring_key,
    wider_key,
    work_left,
)
from tests.doubles.reports import a_document

SUMMARY = a_document(1, "east").summary
NOBODY = np.zeros(1)


def expected(model):
    return model.expected(NOBODY, NOBODY, NOBODY, NOBODY).item()


@pytest.mark.parametrize(
    ("one", "other", "is_alike"),
    [
        ({"name": "load 2026-11-21"}, {"name": "load 2026-12-02"}, True),
        ({"name": "load_20261121_0300"}, {"name": "load_20261202_1200"}, True),
        ({"name": "load 21.11.2026"}, {"name": "load 2.12.2026"}, True),
        ({"name": "load 03:15:22"}, {"name": "load 12:00:01"}, True),
        ({"name": "load 2026-11-21T03:15:22"}, {"name": "load 2026-12-02T12:00:01"}, True),
        ({"name": "job-00017"}, {"name": "job-00018"}, True),
        ({"name": "etl-7-20261121"}, {"name": "etl-7-20261202"}, True),
        ({"name": "etl-7-20261121"}, {"name": "etl-9-20261121"}, False),
        ({"name": "q3"}, {"name": "q4"}, False),
        ({"name": "load"}, {"name": "sort"}, False),
        ({"user": "ada"}, {"user": "bob"}, False),
        ({"application_type": "SPARK"}, {"application_type": "TEZ"}, False),
    ],
)
def test_applications_are_alike_by_user_type_and_name_without_dates_and_long_numbers(one, other, is_alike):
    assert (recurring_key(replace(SUMMARY, **one)) == recurring_key(replace(SUMMARY, **other))) == is_alike


def test_what_was_never_seen_is_known_by_those_that_are_alike_but_for_numbers():
    seen, new, other = "ada SPARK etl-7-#", "ada SPARK etl-9-#", "ada SPARK sort-9-#"
    assert [wider_key(each) for each in (seen, "ada7 SPARK etl", "kin 7")] == [
        "ada SPARK etl-#-#",
        "ada7 SPARK etl",
        "kin 7",
    ]
    models, runs = RecurringJobModels(DurationModel()), FormerRuns()
    for _ in range(5):
        models.observe(seen, 10.0)
        models.observe("bob SPARK giant", 1000.0)
    runs.observe("root.a", seen, 4, 8.0)
    assert expected(models.model(seen)) < expected(models.model(new)) < expected(models.model(other))
    assert (models.observed(new), models.observed(other)) == (5, 0)
    assert runs.of("root.a", new) == FormerRun(4, 2.0, 1)
    assert runs.of("root.a", other) is None


def test_a_job_key_is_known_by_a_few_runs_and_begins_from_its_queue():
    recurring_jobs = RecurringJobModels(DurationModel())
    for _ in range(50):
        recurring_jobs.observe("long", 1000.0)
    assert recurring_jobs.model("short") is recurring_jobs.queue
    assert expected(recurring_jobs.queue) == pytest.approx(1000.0, rel=0.1)
    recurring_jobs.observe("short", 10.0)
    once = expected(recurring_jobs.model("short"))
    for _ in range(4):
        recurring_jobs.observe("short", 10.0)
    assert 100.0 < expected(recurring_jobs.model("short")) < once < 1000.0, "the queue weighs as much as one of five"
    assert (recurring_jobs.observed("short"), recurring_jobs.observed("long"), recurring_jobs.observed("")) == (
        5,
        50,
        0,
    )


def test_a_queue_begins_from_all_others():
    everything = DurationModel()
    one, other = RecurringJobModels(everything), RecurringJobModels(everything)
    one.observe("", 100.0)
    assert expected(other.queue) == pytest.approx(expected(everything), rel=1e-6)
    assert (one.queue.observed, other.queue.observed, other.observed_in_all) == (1, 0, 1)


def test_only_so_many_job_key_are_kept():
    recurring_jobs = RecurringJobModels(DurationModel())
    for number in range(1100):
        recurring_jobs.observe(f"kin {number}", 1.0)
    assert recurring_jobs.observed("kin 0") == 0
    assert recurring_jobs.observed("kin 1099") == 1


# ---------------------------------------------------------------------- former runs


def test_the_last_run_is_known_by_queue_and_key_with_how_many_there_were():
    runs = FormerRuns()
    runs.observe("root.a", "job", 4, 10.0)
    runs.observe("root.a", "job", 2, 12.0)
    runs.observe("root.b", "job", 1, 3.0)
    assert runs.of("root.a", "job") == FormerRun(containers=2, container_s=6.0, runs=2)
    assert runs.of("root.b", "job") == FormerRun(containers=1, container_s=3.0, runs=1)
    assert runs.of("root.a", "other") is None


@pytest.mark.parametrize(("job_key", "containers"), [("", 3), ("job", 0)])
def test_a_run_without_a_key_or_a_container_teaches_nothing(job_key, containers):
    runs = FormerRuns()
    runs.observe("root.a", job_key, containers, 9.0)
    assert runs.of("root.a", job_key) is None


def test_of_very_many_runs_those_that_taught_something_last_are_kept():
    runs, most = FormerRuns(), 16 * 1024
    for number in range(most):
        runs.observe("root.a", f"{number}", 1, 1.0)
    assert runs.of("root.a", "0") is not None, "just so many"
    runs.observe("root.a", "0", 1, 1.0)
    runs.observe("root.a", "new", 1, 1.0)
    assert [runs.of("root.a", key) is not None for key in ("0", "1", "2", "new")] == [True, False, True, True]


def test_of_very_many_keys_those_that_taught_something_last_are_kept():
    models = RecurringJobModels(DurationModel())
    for number in range(1024):
        models.observe(f"{number}", 1.0)
    assert models.observed("0") == 1, "just so many"
    models.observe("0", 1.0)
    models.observe("new", 1.0)
    assert [models.observed(key) for key in ("0", "1", "2", "new")] == [2, 0, 1, 1]


def test_a_queue_of_models_asks_the_runs_of_its_own_name():
    runs = FormerRuns()
    one, other = (RecurringJobModels(DurationModel(), queue, runs) for queue in ("root.a", "root.b"))
    one.observe_run("job", 5, 10.0)
    assert one.former_run("job") == FormerRun(5, 2.0, 1)
    assert other.former_run("job") is None


RUN = FormerRun(containers=10, container_s=8.0, runs=3)


@pytest.mark.parametrize(
    ("ended", "ended_s", "asked", "run", "left"),
    [
        (0, 0.0, 5, None, None),
        (2, 6.0, 5, None, WorkLeft(containers=5, container_s=3.0, running=1, runs=0)),
        (0, 0.0, 5, RUN, WorkLeft(containers=10, container_s=8.0, running=1, runs=3)),
        (1, 4.0, 5, RUN, WorkLeft(containers=9, container_s=7.0, running=1, runs=3)),
        (3, 12.0, 12, RUN, WorkLeft(containers=12, container_s=5.0, running=1, runs=3)),
        (4, 12.0, 1, RUN, WorkLeft(containers=6, container_s=3.0, running=1, runs=3)),
        (12, 24.0, 0, RUN, WorkLeft(containers=0, container_s=2.0, running=1, runs=3)),
    ],
    ids=["nothing", "own", "former", "one of four", "three of four", "enough", "more than before"],
)
def test_what_is_left_goes_by_the_former_run_while_few_have_ended(ended, ended_s, asked, run, left):
    assert work_left(ended, ended_s, 1, asked, run) == left
